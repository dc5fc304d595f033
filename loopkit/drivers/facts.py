"""What agents' code did, as the log keeps it: exceptions and schema checks."""

from __future__ import annotations

from collections.abc import Mapping

from loopkit import events as e
from loopkit.errors import ProviderError, RecordedToolError
from loopkit.messages import JSONObject, Message, ToolDefinition
from loopkit.tools.checks import SchemaCheck
from loopkit.tools.registry import ToolRegistry


def failure_of(error: BaseException) -> e.Failure:
    """Return an exception as the log keeps it."""
    if isinstance(error, ProviderError):
        return e.Failure(type(error).__name__, str(error), error.status, error.retry_after, error.request_id)
    if isinstance(error, RecordedToolError):
        return e.Failure(error.type_name, error.message)
    try:
        words = str(error)
    except Exception as broken:  # noqa: BLE001  # a tool's exception may not even be printable
        words = f"its message can't be read ({type(broken).__name__})"
    return e.Failure(type(error).__name__, words)


def verdict_on(registry: ToolRegistry, name: str, arguments: JSONObject) -> e.CallVerdict:
    """Return the schema check of a call's arguments; an unknown tool has no schema to fail."""
    tool = registry.get(name)
    problems = () if tool is None else tool.problems(arguments)
    return e.CallVerdict(problems) if problems else e.NO_PROBLEMS


def verdicts_by_schema(tools: Mapping[str, ToolDefinition], message: Message) -> tuple[e.CallVerdict, ...]:
    """Return the schema checks of an answer's calls, in call order, against tools of which only the definitions are known."""
    checked = ((tools.get(call.name), call.arguments) for call in message.tool_calls)
    return tuple(
        e.CallVerdict() if tool is None else e.CallVerdict(SchemaCheck(tool.parameters).problems(arguments))
        for tool, arguments in checked
    )
