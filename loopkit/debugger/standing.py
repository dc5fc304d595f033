"""Where a loop stands, and what may be changed there before it goes on, as plain data (DESIGN §5)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

from loopkit.core.editing import answer_can_be_edited, result_can_be_edited
from loopkit.core.history import extend_by_message, extend_fingerprint
from loopkit.core.state import CallState, LoopState, Phase
from loopkit.messages import Message

Gate: TypeAlias = Literal["request", "response", "call", "result"]


@dataclass(frozen=True, slots=True)
class StandingResult:
    """A result that no request has carried yet.

    Args:
        seen: names this state of it in `Session.edit_result`.
    """

    call: str
    name: str
    content: str
    is_error: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A loop that stands at a gate, with what may be changed there; texts as recorded, not safe to show as they are.

    Args:
        loop: its path.
        gate: before the request, after the response, before a call or after a result.
        place: the iteration (`root/3`) or the call (`root/3.1`) of the gate.
        seen: names this state of the request, or of the answer, in `Session.edit_request` and `edit_answer`; empty where
            neither can be edited.
        messages: how many the request carries; `Session.history` returns them.
        tools: names of the tools that it offers.
        settings: its sampling and other settings.
        answer: the answer that nothing has followed from yet, or None.
        results: those that may be edited.
    """

    loop: str
    gate: Gate
    place: str
    seen: str = ""
    messages: int = 0
    model: str | None = None
    tools: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    answer: Message | None = None
    results: tuple[StandingResult, ...] = ()


def standing_of(state: LoopState) -> Standing | None:
    """Return where a loop stands and what may be changed there, or None when it goes on."""
    if state.paused is None:
        return None
    place, _, kind = state.paused.rpartition(".")
    standing = Standing(state.path, cast("Gate", kind), place, results=_results(state))
    if state.phase is Phase.STARTED:
        return replace(
            standing,
            seen=state.fingerprint,
            messages=len(state.history),
            model=state.started.model,
            tools=tuple(state.tools),
            settings=dict(state.started.settings),
        )
    if answer_can_be_edited(state):
        assert state.response is not None
        return replace(standing, seen=seen_answer(state), answer=state.response.message)
    return standing


def _results(state: LoopState) -> tuple[StandingResult, ...]:
    return tuple(
        StandingResult(call.key, call.call.name, call.content, call.is_error, seen_result(call))
        for call in state.calls
        if call.content is not None and result_can_be_edited(state, call.key)
    )


def seen_answer(state: LoopState) -> str:
    """Return what names the answer that a loop stands behind, as it is now."""
    assert state.response is not None
    return extend_by_message(f"{state.path}/{state.iteration}", state.response.message)


def seen_result(call: CallState) -> str:
    """Return what names a result, as it is now."""
    return extend_fingerprint(call.key, [call.content, call.is_error])
