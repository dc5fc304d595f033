"""What a person changes while a loop stands at a gate: a result, an answer, a request, or a message more (DESIGN §5).

Each edit names what the person saw by its fingerprint. One that comes late, twice, or after something else changed what
it was about is refused, and the refusal stands in the log (spec/faults.md c).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from loopkit import events as e
from loopkit.core.editing import PERSON, answer_can_be_edited, result_can_be_edited
from loopkit.core.state import LoopState, Phase
from loopkit.debugger.standing import seen_answer, seen_result
from loopkit.drivers.changed_agent import agent_of
from loopkit.drivers.facts import verdict_on
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.errors import DecisionNotAccepted, RecordingError
from loopkit.messages import JSONObject, Message
from loopkit.tools.checks import json_problem

# ── edits: each raises DecisionNotAccepted; what is bound to something else than what is there is logged ─────────────


def edit_result(driver: LoopDriver, call: str, seen: str, content: str, *, is_error: bool) -> None:
    """Put another result in the place of one that the model has not got yet."""
    with driver.run.lock:
        state = driver.core.state
        found = state.call_state(call)
        if state.paused is None or found is None or not result_can_be_edited(state, call):
            _refuse(driver, call, "result", "the loop does not stand behind this result, or the model has got it")
        if seen_result(found) != seen:
            _refuse(driver, call, "result", "the result is not the one that was seen any more")
        _post(driver, e.ResultEdited(call, content, PERSON, is_error))


def edit_answer(driver: LoopDriver, seen: str, message: Message) -> None:
    """Put another answer in the place of what the model said, before anything follows from it."""
    if message.role != "assistant":
        raise DecisionNotAccepted(f"an answer is a message of the assistant, not of the role {message.role!r}")
    for call in message.tool_calls:
        problem = json_problem(dict(call.arguments))
        if problem is not None:
            raise DecisionNotAccepted(f"the arguments of {call.name}: {problem}")
    with driver.run.lock:
        state = driver.core.state
        target = f"{state.path}/{state.iteration}"
        if state.paused is None or not answer_can_be_edited(state):
            _refuse(driver, target, "answer", "the loop does not stand behind an answer, or something followed from it")
        if seen_answer(state) != seen:
            _refuse(driver, target, "answer", "the answer is not the one that was seen any more")
        calls = driver.run.originals.message(message).tool_calls
        verdicts = tuple(verdict_on(driver.registry, call.name, call.arguments) for call in calls)
        _post(driver, e.AnswerEdited(message, PERSON, verdicts))


def edit_request(  # one name for each part of a request
    driver: LoopDriver,
    seen: str,
    *,
    messages: Sequence[Message] | None = None,
    system: str | None = None,
    model: str | None = None,
    tools: Collection[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Change what is about to be sent, in one step."""
    with driver.run.lock:
        state = driver.core.state
        target = f"{state.path}/{state.iteration}"
        if state.paused is None or state.phase is not Phase.STARTED:
            _refuse(driver, target, "request", "the loop does not stand before a request")
        if state.fingerprint != seen:
            _refuse(driver, target, "request", "the request is not the one that was seen any more")
        facts = [*_other_agent(driver, model, tools, settings), *_other_history(state, messages, system)]
        for fact in facts:
            _post(driver, fact)


def inject(driver: LoopDriver, text: str) -> None:
    """Add a message of the user; the model gets it with its next request, behind results that are on their way."""
    with driver.run.lock:
        state = driver.core.state
        if state.phase is Phase.RESPONDED and not state.calls:
            target = f"{state.path}/{state.iteration}"
            _refuse(driver, target, "message", "the loop ends with this answer, so that no request would carry it")
        _post(driver, e.MessagesInjected((Message.user(text),), PERSON))


def _post(driver: LoopDriver, fact: e.Input) -> None:
    try:
        taken = driver.post(fact)
    except RecordingError as error:
        raise DecisionNotAccepted(f"the run has ended, its recording can't be written: {error}") from None
    if not taken:
        raise DecisionNotAccepted("nothing can be changed any more: the loop has ended")


def _refuse(driver: LoopDriver, target: str, what: str, reason: str) -> NoReturn:
    if not driver.finished:
        _post(driver, e.EditRefused(target, what, PERSON, reason))
    raise DecisionNotAccepted(reason if not driver.finished else f"{reason}: the loop has ended")


def _other_agent(
    driver: LoopDriver, model: str | None, tools: Collection[str] | None, settings: Mapping[str, Any] | None
) -> list[e.Input]:
    started = driver.core.state.started
    if model is not None and model != started.model:
        if not model.strip() or not hasattr(driver.models[0].provider, "asking"):
            raise DecisionNotAccepted("the provider of this agent can't ask another model: fork with another agent")
        started = replace(started, model=model)
    if tools is not None:
        strangers = sorted(set(tools) - set(driver.registry.names))
        if strangers:
            known = ", ".join(driver.registry.names) or "none"
            raise DecisionNotAccepted(f"the agent has no tool {strangers[0]!r}: it has {known}")
        own = {tool.name: tool for tool in (driver.core.state.before_person or started).tools}
        started = replace(started, tools=tuple(own[name] for name in driver.registry.names if name in tools))
    if settings is not None:
        started = replace(started, settings=_other_settings(started.settings, settings))
    return [] if started == driver.core.state.started else [agent_of(started, PERSON)]


def _other_settings(before: JSONObject, changes: Mapping[str, Any]) -> JSONObject:
    try:
        # a copy in the form in which the log keeps it: what the caller does to theirs later changes nothing
        plain = json.loads(json.dumps(dict(changes), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise DecisionNotAccepted(f"settings are JSON: {error}") from None
    return {name: value for name, value in {**before, **plain}.items() if value is not None}


def _other_history(state: LoopState, messages: Sequence[Message] | None, system: str | None) -> list[e.Input]:
    before = list(state.history)
    after = before if messages is None else list(messages)
    if system is not None:
        has_prompt = bool(after) and after[0].role == "system"
        after = [*([Message.system(system)] if system else ()), *after[has_prompt:]]
    if after == before:
        return []
    if not any(message.role != "system" for message in after):
        raise DecisionNotAccepted("a request needs a message beside the system prompt")
    shortest = min(len(before), len(after))
    start = next((place for place in range(shortest) if before[place] != after[place]), shortest)
    rest = shortest - start
    end = next((place for place in range(rest) if before[-1 - place] != after[-1 - place]), rest)
    stop = len(before) - end
    return [e.HistoryEdited(start, stop, tuple(after[start : len(after) - end]), PERSON)]
