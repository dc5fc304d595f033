"""What whoever watches a run decides on a call: what it forbids before anybody is asked, and what it decides after."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from loopkit import events as e
from loopkit.core.state import AskDecision, CallState
from loopkit.drivers.facts import verdict_on
from loopkit.errors import RecordingError
from loopkit.messages import JSONObject
from loopkit.outcomes import Approve, Modify

if TYPE_CHECKING:
    from loopkit.drivers.loop_driver import LoopDriver

FORBIDDEN_BY = "policy deny: "


def forbidden(driver: LoopDriver, effect: AskDecision, arguments: JSONObject | None = None) -> e.Decided | None:
    """Return the denial of a rule that comes before `on_tool_call` and a person, or None (DESIGN §5).

    Args:
        arguments: edited ones, which rules are asked about again; None for those of the model.
    """
    forbidding = driver.run.forbidding
    if forbidding is None:
        return None
    denied = forbidding.forbids(driver, asked_call(driver, effect.call, arguments))
    return None if denied is None else e.Decided(effect.call, effect.version, *denied)


def decided_by_watcher(driver: LoopDriver, effect: AskDecision) -> e.Decided | None:
    """Return the watcher's decision, the default where nobody watches, or None to leave it open."""
    if driver.run.watcher is None:
        return e.Decided(effect.call, effect.version, Approve(), "default")
    call = asked_call(driver, effect.call)
    decided = driver.run.watcher.decide(driver, call)
    if decided is None:
        return None
    verdict = e.CallVerdict()
    if isinstance(decided[0], Modify):
        verdict = verdict_on(driver.registry, call.call.name, decided[0].arguments)
    return e.Decided(effect.call, effect.version, decided[0], decided[1], verdict)


def stop_run_soon(driver: LoopDriver, by: str, reason: str) -> None:
    """Stop a loop's whole run from within one of its steps, once that is done; from any thread."""
    root = driver
    while root.parent is not None:
        root = root.parent

    def stop() -> None:
        # where the recording can't be written the run has ended with that
        with suppress(RecordingError):
            root.stop(by, reason)

    root.do_later(stop)


def asked_call(driver: LoopDriver, key: str, arguments: JSONObject | None = None) -> CallState:
    """Return a call with its secrets, or as it would be with other arguments."""
    call = driver.core.state.call_state(key)
    assert call is not None
    call = driver.run.originals.call_state(call)
    if arguments is None:
        return call
    return call.changed(call=replace(call.call, arguments=arguments, raw_arguments=None))
