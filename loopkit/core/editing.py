"""What people and commands do to a history: messages put into it, or replaced in it."""

from __future__ import annotations

from loopkit import events as e
from loopkit.core.batch import appended, last_user_message, rebuilt
from loopkit.core.state import LoopState, Phase
from loopkit.messages import Message


def messages_injected(state: LoopState, fact: e.MessagesInjected) -> LoopState:
    """Put messages into the history, behind the results when a response is being worked on."""
    if state.watch is not None and any(message.role == "user" for message in fact.messages):
        state = state.changed(watch=state.watch.restarted(), detected=None)
    state = state.changed(last_user_message=last_user_message(fact.messages, before=state.last_user_message))
    if state.response is not None or state.phase is Phase.MODEL:
        return state.changed(pending_messages=(*state.pending_messages, *fact.messages))
    if _opens_calls(fact.messages):
        return rebuilt(state, [*state.history, *fact.messages])
    return appended(state, fact.messages)


def _opens_calls(messages: tuple[Message, ...]) -> bool:
    return any(message.role == "tool" or message.tool_calls for message in messages)


def history_edited(state: LoopState, fact: e.HistoryEdited) -> LoopState:
    """Replace messages of the history."""
    messages = list(state.history)
    messages[fact.start : fact.stop] = fact.messages
    return rebuilt(state, messages)
