"""A model bound to an agent: its loop settings, its retries, and who is asked when it fails (spec/loop.md 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from loopkit.core.config import ToolLoopConfig
from loopkit.core.settings import ToolLoopSettings
from loopkit.errors import AgentBuildError
from loopkit.providers.named import provider_named
from loopkit.providers.protocol import Provider
from loopkit.providers.retrying import DEFAULT_RETRIES, RetryPolicy

MULTIPLE_CALLS = "parallel_tool_calls"


@dataclass(frozen=True, slots=True)
class ModelBinding:
    """A model and how an agent uses it; goes wherever a provider does.

    Args:
        provider: a provider, a `provider:model` string, or a provider's name with the model beside it.
        model: the model's name where `provider` is only the provider's.
        tool_loop: decides concurrency, error limit and unknown calls in place of `ToolLoopConfig`; None leaves all
            three to the configuration (spec/loop.md 8.2).
        allow_multiple_tool_calls: whether the model may ask for several calls in one response; None leaves it to the
            provider. Sent as the neutral setting `parallel_tool_calls`, which each dialect says in its own words.
        fallbacks: who is asked, in this order, when a request failed for good; each with its own retries and
            `allow_multiple_tool_calls`, followed by its own fallbacks. They run the same agent's tools, so the
            `tool_loop` of the primary holds for them as one object, and their own is ignored (spec/loop.md 8.3).
        retry: how often the same model is asked again.
    """

    provider: Provider | str
    model: str | None = None
    tool_loop: ToolLoopSettings | None = None
    allow_multiple_tool_calls: bool | None = None
    fallbacks: tuple[ModelBinding | Provider | str, ...] = ()
    retry: RetryPolicy = DEFAULT_RETRIES

    def __post_init__(self) -> None:
        if isinstance(self.fallbacks, (str, ModelBinding)):
            raise AgentBuildError("fallbacks takes several bindings: put the one into a tuple")
        object.__setattr__(self, "fallbacks", tuple(self.fallbacks))


ModelSource: TypeAlias = Provider | str | ModelBinding


@dataclass(frozen=True, slots=True)
class BoundModel:
    """One model that a loop may ask.

    Args:
        model: its name, or None when there is none to name.
        settings: what its binding adds to the request's settings.
    """

    provider: Provider
    model: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    retry: RetryPolicy = DEFAULT_RETRIES

    def asking(self, model: str) -> BoundModel:
        """Return this with another model of the same provider; a provider without `asking` stays as it is."""
        asking = getattr(self.provider, "asking", None)
        return replace(self, provider=self.provider if asking is None else asking(model), model=model)


class Bound(NamedTuple):
    """What an agent's loop runs with: the models in the order in which they are asked, and its rules."""

    models: tuple[BoundModel, ...]
    config: ToolLoopConfig


def bind(source: ModelSource, config: ToolLoopConfig | None, settings: Mapping[str, Any] | None = None) -> Bound:
    """Return the models and the configuration that a source and a configuration make together.

    Args:
        settings: the agent's, for every model.

    Raises:
        AgentBuildError: they contradict each other, or name no provider.
    """
    config = ToolLoopConfig() if config is None else config
    models = tuple(_models(source))
    if settings is not None and MULTIPLE_CALLS in settings and any(model.settings for model in models):
        raise AgentBuildError(
            f"allow_multiple_tool_calls and the setting {MULTIPLE_CALLS} say the same thing: give one of them"
        )
    tool_loop = source.tool_loop if isinstance(source, ModelBinding) else None
    return Bound(models, config if tool_loop is None else tool_loop.applied_to(config))


def _models(source: ModelSource) -> Iterator[BoundModel]:
    if not isinstance(source, ModelBinding):
        provider = _provider(source, None)
        yield BoundModel(provider, provider.model)
        return
    provider = _provider(source.provider, source.model)
    multiple = source.allow_multiple_tool_calls
    yield BoundModel(
        provider, provider.model or source.model, {} if multiple is None else {MULTIPLE_CALLS: multiple}, source.retry
    )
    for fallback in source.fallbacks:
        yield from _models(fallback)


def _provider(source: Provider | str, model: str | None) -> Provider:
    if isinstance(source, str):
        if model is not None and ":" in source:
            raise AgentBuildError(
                f"{source!r} names a model already: leave out model={model!r}, or the part behind the colon"
            )
        return provider_named(source if model is None else f"{source}:{model}")
    if not isinstance(source, Provider):
        raise AgentBuildError(
            f"{source!r} is no provider: it has no `model` and `respond` (loopkit.providers.Provider)"
        )
    if model is not None and source.model not in (None, model):
        raise AgentBuildError(f"the provider asks the model {source.model!r}, not {model!r}: leave out model=")
    return source


__all__ = ["Bound", "BoundModel", "ModelBinding", "ModelSource", "bind"]
