"""The loop's settings that a model binding carries, and how they take a configuration's place (spec/loop.md 8)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from loopkit.core.config import ToolLoopConfig
from loopkit.errors import AgentBuildError

DEFAULT_ERROR_LIMIT = 3
# what each setting decides in place of the configuration's field
_DECIDED_HERE = {
    "allow_concurrent_tool_calls": "parallel_tool_execution",
    "maximum_consecutive_errors": "maximum_consecutive_errors",
    "terminate_on_unknown_calls": "terminate_on_unknown_calls",
}


@dataclass(frozen=True, slots=True)
class ToolLoopSettings:
    """How the tools of a binding's agent run; immutable, compared and hashed by value (spec/loop.md 8.1).

    Args:
        allow_concurrent_tool_calls: calls of one response may run at the same time. Whether the model may ask for
            several is `ModelBinding.allow_multiple_tool_calls`.
        maximum_consecutive_errors: iterations in a row that may fail before the error is raised; None is 3, 0 raises
            the first.
        terminate_on_unknown_calls: end the loop when the model asks for a tool that isn't there; None is False.
    """

    allow_concurrent_tool_calls: bool = False
    maximum_consecutive_errors: int | None = None
    terminate_on_unknown_calls: bool | None = None

    def applied_to(self, config: ToolLoopConfig) -> ToolLoopConfig:
        """Return a configuration in which these settings alone decide what they are about (spec/loop.md 8.2).

        Raises:
            AgentBuildError: the configuration sets one of these too, or the error limit is negative.
        """
        defaults = {field.name: field.default for field in fields(ToolLoopConfig)}
        for name, replaced in _DECIDED_HERE.items():
            value = getattr(config, replaced)
            if value != defaults[replaced]:
                raise AgentBuildError(
                    f"ToolLoopSettings.{name} and ToolLoopConfig.{replaced}={value!r} set the same thing: "
                    "set it in one place"
                )
        limit = self.maximum_consecutive_errors
        if limit is not None and not limit >= 0:
            raise AgentBuildError(f"maximum_consecutive_errors must not be negative, it is {limit}")
        return replace(
            config,
            parallel_tool_execution=self.allow_concurrent_tool_calls,
            maximum_consecutive_errors=DEFAULT_ERROR_LIMIT if limit is None else limit,
            terminate_on_unknown_calls=bool(self.terminate_on_unknown_calls),
        )


__all__ = ["DEFAULT_ERROR_LIMIT", "ToolLoopSettings"]
