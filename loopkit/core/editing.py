"""What people and commands do to a run: to its history, its agent, an answer, a result, or a recording taken up again."""

from __future__ import annotations

from dataclasses import replace

from loopkit import events as e
from loopkit.core.batch import appended, calls_of_answer, last_user_message, past_asked, rebuilt
from loopkit.core.config import LoopRules
from loopkit.core.detection import Watch
from loopkit.core.history import extend_fingerprint, needs_pairing
from loopkit.core.state import AskStopCondition, CallPhase, CallState, Effect, LoopState, Phase, ReadClock
from loopkit.encoding import encode
from loopkit.messages import Message, Problem, ToolResult

PERSON = "person"


def messages_injected(state: LoopState, fact: e.MessagesInjected) -> LoopState:
    """Put messages into the history, behind the results when a response is being worked on."""
    if state.watch is not None and any(message.role == "user" for message in fact.messages):
        state = state.changed(watch=state.watch.restarted(), detected=None)
    state = state.changed(last_user_message=last_user_message(fact.messages, before=state.last_user_message))
    if state.response is not None or state.phase is Phase.MODEL:
        return state.changed(pending_messages=(*state.pending_messages, *fact.messages))
    if needs_pairing(fact.messages):
        return rebuilt(state, [*state.history, *fact.messages])
    return appended(state, fact.messages)


def history_edited(state: LoopState, fact: e.HistoryEdited) -> LoopState:
    """Replace messages of the history."""
    messages = list(state.history)
    messages[fact.start : fact.stop] = fact.messages
    return rebuilt(state, messages)


# ── another agent ────────────────────────────────────────────────────────────────────────────────────────────────────


def agent_changed(state: LoopState, fact: e.AgentChanged) -> LoopState:
    """Go on with other tools, limits and models; the history stays."""
    before = state.started
    started = replace(
        before,
        agent=fact.agent,
        tools=fact.tools,
        configuration=fact.configuration,
        model=fact.model,
        settings=fact.settings,
        fallbacks=fact.fallbacks,
    )
    rules = LoopRules.read(fact.configuration)
    same_models = (before.model, before.fallbacks) == (fact.model, fact.fallbacks)
    watch = state.watch
    if rules.detection != state.rules.detection:
        watch = None if rules.detection is None else Watch.of(rules.detection, fact.tools)
    state = state.changed(
        started=started,
        rules=rules,
        tools={tool.name: tool for tool in fact.tools},
        watch=watch,
        fingerprint=extend_fingerprint(
            state.fingerprint, [fact.model, fact.settings, [encode(tool) for tool in fact.tools]]
        ),
        binding=state.binding if same_models else 0,
        given_up=state.given_up if same_models else (),
    )
    before_person = (state.before_person or before) if fact.by == PERSON else None
    return state.changed(wants=_wants_of_callbacks(state), before_person=before_person)


def _wants_of_callbacks(state: LoopState) -> frozenset[Effect]:
    """Return what is wanted when a clock or `stop_when` is there now that was not before, or the reverse."""
    wants: set[Effect] = {effect for effect in state.wants if not isinstance(effect, (ReadClock, AskStopCondition))}
    if state.phase is Phase.TURN and state.rules.timeout is not None and state.clock_read_for != state.iteration + 1:
        wants.add(ReadClock(state.iteration + 1))
    if state.phase is Phase.RESPONDED and state.rules.has_stop_condition and state.stop_answer is None:
        wants.add(AskStopCondition(state.iteration))
    return frozenset(wants)


# ── an answer, a result ──────────────────────────────────────────────────────────────────────────────────────────────


def answer_can_be_edited(state: LoopState) -> bool:
    """Say whether an answer has come from which nothing followed yet."""
    return state.phase is Phase.RESPONDED and state.response is not None and state.requested == 0


def answer_edited(state: LoopState, fact: e.AnswerEdited) -> LoopState:
    """Put another answer in the model's place; loop detection keeps the model's own (as in spec/loop.md 4.3)."""
    if not answer_can_be_edited(state) or state.response is None:
        raise ValueError(f"{state.path} has no answer that can be edited")
    answer = replace(state.response, message=fact.message, verdicts=fact.verdicts)
    calls = calls_of_answer(state, fact.message, answer)
    return state.changed(response=answer, last_reply=answer, calls=calls, undecided=len(calls))


def result_can_be_edited(state: LoopState, call: str) -> bool:
    """Say whether a result has come that no request has carried yet."""
    ended = state.call_state(call)
    open_turn = state.phase in (Phase.TURN, Phase.RUNNING, Phase.DECIDING)
    return open_turn and ended is not None and ended.phase is CallPhase.ENDED and ended.content is not None


def result_edited(state: LoopState, fact: e.ResultEdited) -> LoopState:
    """Put another result in the place of one that came, also when the whole batch has entered the history."""
    call = state.call_state(fact.call)
    if call is None or not result_can_be_edited(state, fact.call):
        raise ValueError(f"{fact.call} has no result that can be edited")
    edited = call.changed(content=fact.content, is_error=fact.is_error)
    if state.response is not None:
        return state.with_call(edited)
    return _with_result_in_history(state.with_call(edited), edited)


def _with_result_in_history(state: LoopState, call: CallState) -> LoopState:
    result = call.result
    assert result is not None
    answered = [other.key for other in state.calls if other.content is not None]
    place = answered.index(call.key)
    results: list[ToolResult] = list(state.last_tool_results)
    results[place] = result
    messages = list(state.history)
    asked = max(number for number, message in enumerate(messages) if message.role == "assistant")
    messages[asked + 1 + place] = Message.tool(result)
    return rebuilt(state, messages).changed(last_tool_results=tuple(results))


# ── a recording taken up again ───────────────────────────────────────────────────────────────────────────────────────


def reopened(state: LoopState, _: e.Reopened) -> LoopState:
    """Ask again for decisions on calls that were not started yet: what was right then need not be right now."""
    again = [place for place, call in enumerate(state.calls) if call.phase is CallPhase.DECIDED]
    if not again or state.response is None:
        return state
    calls = list(state.calls)
    for place in again:
        call = calls[place]
        calls[place] = call.changed(
            phase=CallPhase.RECEIVED,
            decision=None,
            expired=False,
            version=call.version + 1,
            problems=_own(state, place),
        )
    return state.changed(
        calls=tuple(calls),
        phase=Phase.DECIDING,
        requested=past_asked(calls, 0),
        undecided=state.undecided + len(again),
    )


def _own(state: LoopState, place: int) -> tuple[Problem, ...]:
    """Return the problems of the model's own arguments: an edit of before is gone."""
    assert state.response is not None
    return calls_of_answer(state, state.response.message, state.response)[place].problems
