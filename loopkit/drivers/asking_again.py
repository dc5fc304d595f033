"""Today's agent beside a recording: how it would start, and what its callbacks say where the recorded ones were asked.

A callback is asked once for each place, also when the doctor goes over the run again: it may count or remember.
"""

from __future__ import annotations

import json

from loopkit import events as e
from loopkit.core.config import ApprovalContext, StopContext
from loopkit.core.context_tools import PROCESSOR
from loopkit.core.loop import LoopCore
from loopkit.core.state import AskDecision, CallState, LoopState
from loopkit.drivers.changed_agent import agent_of, as_recorded
from loopkit.drivers.facts import failure_of, verdict_on
from loopkit.drivers.originals import Originals
from loopkit.drivers.parts import LoopParts
from loopkit.drivers.performing import ask_on_tool_call, ask_stop_when
from loopkit.drivers.processing import processed
from loopkit.drivers.result import response_of
from loopkit.drivers.watcher_decisions import FORBIDDEN_BY
from loopkit.encoding import encode
from loopkit.events import Event
from loopkit.outcomes import Approve, Modify, ToolApproval
from loopkit.recording.redaction.placeholders import OPENING, PLACEHOLDER


class TodaysAgent:
    """What a recording is compared with beside today's loop.

    Args:
        parts: what a run of the agent is made of, with the recorded task.
        originals: hides what the recorder hid, since recorded forms are compared.
        joined_at: number of the event with which an agent went on with what another began, or None; it is this one
            that is compared, not the one that began.
    """

    def __init__(self, parts: LoopParts, originals: Originals, joined_at: int | None = None) -> None:
        self.parts = parts
        self._originals = originals
        self._joined_at = joined_at
        self._said: dict[int, tuple[str, e.Fact | None]] = {}

    def started(self, recorded: e.LoopStarted) -> e.LoopStarted:
        """Return how its root loop starts; a loop that another agent began started as recorded."""
        if self._joined_at is not None:
            return recorded
        return self._originals.aligned(recorded, self.parts.started(None))

    async def said_of(self, core: LoopCore, event: Event) -> e.Fact | None:
        """Return what today's callback says in place of a recorded input; the input itself where none is asked.

        Returns:
            None when a callback has nothing to say any more.
        """
        known = self._said.get(event.seq)
        if known is not None and known[0] == core.state.fingerprint:
            return known[1]
        came = self._joining(event.fact) if event.seq == self._joined_at else await self._asked(core, event.fact)
        if isinstance(came, e.Input) and came is not event.fact and event.seq != self._joined_at:
            came = self._originals.aligned(event.fact, came)
            came = event.fact if same_but_for_numbers(came, event.fact) else came
        self._said[event.seq] = core.state.fingerprint, came
        return came

    def _joining(self, fact: e.Fact) -> e.Fact:
        if not isinstance(fact, e.AgentChanged):
            return fact
        came = self._originals.aligned(fact, agent_of(self.parts.started(None), fact.by))
        return fact if as_recorded(came) == as_recorded(fact) else came

    async def _asked(self, core: LoopCore, fact: e.Fact) -> e.Fact | None:
        match fact:
            case e.StopAnswered() | e.CallbackFailed("stop_when"):
                return await self._stop_when(core.state)
            case e.Decided() if self._was_after_callback(fact):
                return await self._on_tool_call(core, fact.call, fact.version, fact)
            case e.CallbackFailed("on_tool_call"):
                return await self._whoever_raises(core, fact)
            case e.ResultProcessed(call, _, processor) if processor == PROCESSOR:
                state = core.state.call_state(call)
                return (
                    None
                    if state is None
                    else await processed(self.parts.config, core.state, state, processor, self._originals)
                )
        return fact

    def _was_after_callback(self, fact: e.Decided) -> bool:
        """Say whether the callback was asked: a policy and the default decide when it had nothing to say.

        A person may have been faster, and a deny rule comes before it, so that their decisions say nothing about it.
        """
        if fact.by == "person" or fact.by.startswith(FORBIDDEN_BY):
            return False
        return fact.by == "on_tool_call" or self.parts.config.on_tool_call is not None

    async def _stop_when(self, state: LoopState) -> e.Fact:
        assert state.response is not None
        context = StopContext(
            state.iteration,
            response_of(self._originals.reply(state.response)),
            state.usage,
            state.tool_calls_executed,
            self._originals.results(state.last_tool_results),
        )
        try:
            return await ask_stop_when(self.parts.config.stop_when, context)
        except Exception as error:  # noqa: BLE001  # a callback that raises today is a difference, not our failure
            return e.CallbackFailed("stop_when", failure_of(error))

    async def _whoever_raises(self, core: LoopCore, fact: e.CallbackFailed) -> e.Fact:
        """Ask about every call that waits: which one it was does not stand in the recording."""
        said: list[e.Fact | None] = []
        for effect in sorted((wanted for wanted in core.wants if isinstance(wanted, AskDecision)), key=_position):
            said.append(await self._on_tool_call(core, effect.call, effect.version, None))
            if said[-1] == fact:
                return fact
        answers = [answer for answer in said if answer is not None]
        return answers[0] if answers else fact

    async def _on_tool_call(
        self, core: LoopCore, call_key: str, version: int, recorded: e.Decided | None
    ) -> e.Fact | None:
        call = core.state.call_state(call_key)
        if call is None or AskDecision(call_key, version) not in core.wants:
            return None
        try:
            approval = await self._approval(core.state, call)
        except Exception as error:  # noqa: BLE001  # as above
            return e.CallbackFailed("on_tool_call", failure_of(error))
        if approval is None:
            decided_elsewhere = recorded is not None and recorded.by != "on_tool_call"
            return recorded if decided_elsewhere else e.Decided(call_key, version, Approve(), "default")
        verdict = e.CallVerdict()
        if isinstance(approval, Modify):
            verdict = verdict_on(self.parts.registry, call.call.name, approval.arguments)
        return e.Decided(call_key, version, approval, "on_tool_call", verdict)

    async def _approval(self, state: LoopState, call: CallState) -> ToolApproval | None:
        if self.parts.config.on_tool_call is None:
            return None
        call = self._originals.call_state(call)
        tool = self.parts.registry.get(call.call.name)
        schema = None if tool is None else tool.definition.parameters
        messages = self._originals.messages(state.messages_so_far)
        context = ApprovalContext(state.iteration, state.path, call.key, schema, call.problems, messages)
        return await ask_on_tool_call(self.parts.config.on_tool_call, call.call, context)


def same_but_for_numbers(came: e.Fact, recorded: e.Fact) -> bool:
    """Say whether two facts differ in the numbers of placeholders at most: who saw less of the run counts otherwise."""
    if came == recorded or type(came) is not type(recorded):
        return came == recorded
    texts = [json.dumps(encode(fact), sort_keys=True, ensure_ascii=False, default=str) for fact in (came, recorded)]
    if not all(OPENING in text for text in texts):
        return False
    came_text, recorded_text = (PLACEHOLDER.sub(r"‹\1›", text) for text in texts)
    return came_text == recorded_text


def _position(effect: AskDecision) -> int:
    return int(effect.call.rpartition(".")[2])
