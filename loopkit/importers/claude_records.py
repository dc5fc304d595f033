"""Claude Code's records one by one: what each says, without what surrounds it (formats.md §1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from loopkit.importers.blocks import Block, as_object, as_text, token_count
from loopkit.importers.call_arguments import call_of, compact
from loopkit.messages import StopReason, ToolCall, Usage
from loopkit.outcomes import DENIED_WITHOUT_REASON, Cancelled, Complete, TerminationReason

PROGRAM = "claude-code"
AGENT_TOOLS = frozenset({"Task", "Agent"})
SCRUBBED_IDS = frozenset({"", "REDACTED"})

_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "refusal": StopReason.REFUSAL,
}
# What stands on nearly every record; a note shows its own fields first.
_ENVELOPE = frozenset(
    [
        "type",
        "subtype",
        "uuid",
        "parentUuid",
        "logicalParentUuid",
        "sessionId",
        "timestamp",
        "cwd",
        "gitBranch",
        "version",
        "isSidechain",
        "agentId",
        "requestId",
        "isMeta",
        "slug",
        "promptId",
        "entrypoint",
        "permissionMode",
        "userType",
        "effort",
        "level",
    ]
)
_DENIED = re.compile(r"\s*(?:Error: )?The user doesn['\u2019]t want to (?:proceed with|take) this")
_DENIED_WITH_WORDS = re.compile(r"the user said:\s*", re.IGNORECASE)
_INTERRUPTED = "[Request interrupted by user"
_CLIENT_MARKUP = re.compile(r"\s*(?:<(?:command-|local-command-|bash-|task-notification|system-reminder)|Caveat: )")
_COMMAND_NAME = re.compile(r"<command-name>\s*([^<]{1,120}?)\s*</command-name>")
_TASK_ID = re.compile(r"<task-id>\s*([^<]*?)\s*</task-id>")
_TASK_STATUS = re.compile(r"<status>\s*([^<]*?)\s*</status>")


def usage_of(message: Block) -> Usage | None:
    """Return the tokens that one line reports, or None; lines of one answer repeat and raise them."""
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    read, written = token_count(usage, "cache_read_input_tokens"), token_count(usage, "cache_creation_input_tokens")
    # this provider counts cached input apart, `Usage` counts it in
    return Usage(
        token_count(usage, "input_tokens") + read + written, token_count(usage, "output_tokens"), read, written
    )


def stop_reason(word: str | None) -> StopReason | None:
    """Return what a raw stop reason means; None leaves it to the content."""
    return None if word is None else _STOP_REASONS.get(word, StopReason.UNKNOWN)


def tool_call(block: Block) -> ToolCall:
    """Return the call of a `tool_use` block."""
    return call_of(as_text(block.get("id")), as_text(block.get("name")), block.get("input"))


@dataclass(frozen=True, slots=True)
class Denial:
    """Who refused a call, and in which words."""

    by: str
    reason: str


def denial(record: Block, content: str, *, is_error: bool) -> Denial | None:
    """Return who refused the call that a result belongs to, or None when it ran."""
    if not is_error:
        return None
    kind = as_text(record.get("toolDenialKind"))
    if kind and "user" not in kind.lower():
        return Denial(f"policy: {kind}", content)
    if not kind and not _DENIED.match(content):
        return None
    words = _DENIED_WITH_WORDS.split(content, maxsplit=1)
    return Denial("person", words[1].strip() if len(words) > 1 else DENIED_WITHOUT_REASON)


def prompt_kind(record: Block, text: str) -> tuple[str, Literal["task", "context", "interrupt"]]:
    """Return who wrote a user message, and whether it asks for an answer."""
    if text.lstrip().startswith(_INTERRUPTED) or record.get("interruptedMessageId"):
        return "person", "interrupt"
    if record.get("isCompactSummary"):
        return "compaction", "context"
    if record.get("isMeta") or text.lstrip().startswith("<task-notification"):
        return PROGRAM, "context"
    return "person", "context" if _CLIENT_MARKUP.match(text) else "task"


def slash_command(text: str) -> str:
    """Return the slash command that a user text stands for, or nothing."""
    found = _COMMAND_NAME.search(text)
    return found[1] if found else ""


def background_ending(text: str) -> tuple[str, TerminationReason] | None:
    """Return the task id of a background agent and how it ended, when a user text is such a notification."""
    if not text.lstrip().startswith("<task-notification"):
        return None
    task, status = _TASK_ID.search(text), _TASK_STATUS.search(text)
    if task is None:
        return None
    word = status[1] if status else "completed"
    return task[1], Complete() if word == "completed" else Cancelled(word)


def note_name(record: Block) -> str:
    """Return what to call a record that is kept as a note."""
    kind = as_text(record.get("type")) or "record"
    inner = (
        as_text(record.get("subtype"))
        or as_text(record.get("operation"))
        or as_text(as_object(record.get("data")).get("type"))
        or as_text(as_object(record.get("attachment")).get("type"))
    )
    return f"{kind}: {inner}" if inner else kind


def note_data(record: Block) -> Block:
    """Return all of a record, its own fields before those that every record has."""
    own: Block = {}
    rest = dict(record)
    for key, value in record.items():
        if key in ("attachment", "data") and isinstance(value, dict) and not (value.keys() - {"type"}) & record.keys():
            own |= {name: item for name, item in value.items() if name != "type"}
            del rest[key]
        elif key not in _ENVELOPE:
            own[key] = value
    return own | rest


def progress_text(data: Block) -> str:
    """Return what a progress record reports, in one line or more."""
    match data.get("type"):
        case "bash_progress":
            return f"{data.get('elapsedTimeSeconds')} s, {data.get('totalLines')} lines: {as_text(data.get('output'))}"
        case "hook_progress":
            return f"hook {as_text(data.get('hookName'))}: {as_text(data.get('command'))}"
        case _:
            return compact(data)


def note_title(record: Block, known: set[str]) -> tuple[int, str] | None:
    """Return a title that a record gives the session and its rank, or None; a summary may be of another session."""
    match record.get("type"):
        case "custom-title":
            found = (3, as_text(record.get("customTitle")))
        case "ai-title":
            found = (2, as_text(record.get("aiTitle")) or as_text(record.get("title")))
        case "summary" if record.get("leafUuid") in known:
            found = (1, as_text(record.get("summary")))
        case _:
            return None
    return found if found[1] else None
