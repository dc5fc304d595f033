"""The options that say what a fork changes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.errors import AgentBuildError, UserError

if TYPE_CHECKING:
    from loopkit.agent import Agent
    from loopkit.outcomes import ForkEdit

_EDITS = ("approve", "deny", "arguments", "result", "tool_result", "message", "drop_message", "say", "answer")


def add_edits(parser: argparse.ArgumentParser) -> None:
    """Declare the options; a text may be `@FILE`, and none at all goes on as it was."""
    group = parser.add_argument_group("what is changed there, one thing (none: it goes on as it was)")
    change = group.add_mutually_exclusive_group()
    change.add_argument("--approve", action="store_true", help="the call runs as the model asked for it")
    change.add_argument("--deny", metavar="REASON", nargs="?", const="", help="the call does not run")
    change.add_argument("--arguments", metavar="JSON", help="the call runs with these arguments")
    change.add_argument(
        "--result", metavar="TEXT", help="the model gets this text in the tool's place, which does not run"
    )
    change.add_argument("--tool-result", metavar="TEXT", help="the call ran, and returned this text")
    change.add_argument(
        "--message", metavar=("PLACE", "TEXT"), nargs=2, help="another text of a message, counted from 0"
    )
    change.add_argument("--drop-message", metavar="PLACE", type=int, help="a message less, counted from 0")
    change.add_argument("--say", metavar="TEXT", help="one more message of the user")
    change.add_argument("--answer", metavar="TEXT", help="the model answered this")
    group.add_argument("--calls", metavar="JSON", help='with --answer: [{"name": "…", "arguments": {…}}, …]')
    group.add_argument("--error", action="store_true", help="with --result, --tool-result: it is an error")
    today = parser.add_argument_group("what is different about the agent from there on")
    today.add_argument("--system", metavar="TEXT", help="its system prompt")
    today.add_argument("--model", metavar="PROVIDER:MODEL", help="who answers, such as openai:gpt-5-mini")
    today.add_argument(
        "--set", metavar="NAME=JSON", action="append", default=[], help="a limit, such as max_iterations=20"
    )


def edit_of(options: argparse.Namespace) -> ForkEdit | None:
    """Return the edit that the options ask for, or None.

    Raises:
        UserError: an option can't be read, or doesn't go with the others.
    """
    from loopkit import outcomes
    from loopkit.messages import Message

    if options.error and options.result is None and options.tool_result is None:
        raise UserError("--error goes with --result and --tool-result")
    if options.calls is not None and options.answer is None:
        raise UserError("--calls goes with --answer")
    chosen = next((name for name in _EDITS if getattr(options, name) not in (None, False)), None)
    match chosen:
        case "approve":
            return outcomes.Approve()
        case "deny":
            return outcomes.Deny(options.deny) if options.deny else outcomes.Deny()
        case "arguments":
            return outcomes.Modify(_object("--arguments", options.arguments))
        case "result":
            return outcomes.Respond(_text(options.result), is_error=options.error)
        case "tool_result":
            return outcomes.EditResult(_text(options.tool_result), is_error=options.error)
        case "message":
            return _edit_of_message(*options.message)
        case "drop_message":
            return outcomes.EditMessage(options.drop_message, None)
        case "say":
            return outcomes.AddMessages((Message.user(_text(options.say)),))
        case "answer":
            return outcomes.EditAnswer(Message.assistant(_text(options.answer), _calls(options.calls)))
    return None


def agent_of(options: argparse.Namespace, agent: Agent) -> Agent:
    """Return the agent with what the options change about it.

    Raises:
        UserError: an option can't be read, or there is no such model or setting.
    """
    settings: dict[str, Any] = {}
    for pair in options.set:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set names a setting and its value, such as max_iterations=20, not {pair[:80]}")
        settings[name] = _json(f"--set {name}", value)
    system = None if options.system is None else _text(options.system)
    try:
        return agent.changed(provider=options.model, system=system, config=settings)
    except AgentBuildError as error:
        # what a person typed here is no fault of the agent's code
        raise UserError(str(error)) from None


def _edit_of_message(place: str, text: str) -> ForkEdit:
    from loopkit.messages import Message
    from loopkit.outcomes import EditMessage

    try:
        return EditMessage(int(place), Message.user(_text(text)))
    except ValueError:
        raise UserError(f"--message takes a place, counted from 0, and a text; {place[:80]!r} is no place") from None


def _text(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{text[1:]}: {getattr(error, 'strerror', None) or error}") from None


def _calls(text: str | None) -> list[Any]:
    from loopkit.messages import ToolCall

    calls = [] if text is None else _json("--calls", text)
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        raise UserError('--calls has to be a JSON list such as [{"name": "read_file", "arguments": {"path": "a.txt"}}]')
    return [
        ToolCall(f"edited-{number}", call["name"], call.get("arguments", {})) for number, call in enumerate(calls, 1)
    ]


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("arguments", {}), dict)


def _object(option: str, text: str) -> dict[str, Any]:
    value = _json(option, text)
    if not isinstance(value, dict):
        raise UserError(f'{option} has to be a JSON object such as \'{{"path": "a.txt"}}\', not {text[:80]}')
    return value


def _json(option: str, text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"{option} is not JSON: {error}") from None
