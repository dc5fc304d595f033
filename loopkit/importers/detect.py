"""Which program wrote a file: told by its content, never by its name (formats.md §0)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from loopkit.errors import ImportFormatError
from loopkit.events import Fact, LoopStarted, MessagesInjected, ModelReplied
from loopkit.importers import anthropic_messages, claude_code, codex, gemini_cli, openai_chat, openai_responses
from loopkit.importers.anthropic_sessions import captured_event
from loopkit.importers.anthropic_stream import is_piece
from loopkit.importers.blocks import as_text
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Value

SAMPLE_RECORDS = 20

_CLAUDE_SPOKEN = frozenset({"user", "assistant", "system", "progress", "attachment"})
_CLAUDE_STATE = frozenset(
    [
        "summary",
        "queue-operation",
        "file-history-snapshot",
        "mode",
        "permission-mode",
        "custom-title",
        "ai-title",
        "last-prompt",
    ]
)
_CODEX_ENVELOPES = frozenset(
    [
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "inter_agent_communication_metadata",
    ]
)
# Keys that mark documents of other formats which hold role messages too.
_OTHERS = frozenset(
    [
        "trajectory",
        "trajectory_format",
        "samples",
        "steps",
        "schema_version",
        "sessionId",
        "eval",
        "observations",
        "resourceSpans",
        "run_type",
    ]
)
_OPENAI_MARKS = frozenset({"tool_calls", "tool_call_id", "function_call"})
_OPENAI_ROLES = frozenset({"tool", "function", "developer"})
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking")


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format.

    Args:
        name: what a person types to force it.
        label: what a person calls it.
        score: how sure a look at the first records is, 0 = not this one.
        read: reads the whole file.
    """

    name: str
    label: str
    score: Callable[[list[Any]], int]
    read: Callable[[Source], ForeignSession]


def read_session(path: str | Path, format: str | None = None) -> ForeignSession:  # noqa: A002 - the word people use
    """Read a session that another program recorded.

    Args:
        path: the file; its name says nothing about its format.
        format: name of a format to read it as, or None to find out.

    Raises:
        ImportFormatError: the file can't be read, or is in no format that is supported.
    """
    source = Source.open(Path(path))
    sample = sample_of(source)
    if format is not None:
        return _forced(source, _named(format))
    best = max(FORMATS, key=lambda known: known.score(sample))
    if best.score(sample) == 0:
        raise ImportFormatError(
            f"{str(path)!r} is not a session that can be read: it holds {_saw(source, sample)}; supported are {_supported()}"
        )
    return best.read(source)


def sample_of(source: Source) -> list[Any]:
    """Return the first values of a file: its lines, or the items of its one document."""
    if source.data.startswith((b"PK\x03\x04", b"SQLite format 3\0")):
        return []
    if source.is_lines:
        values = (found.value for found in source.lines() if isinstance(found, Value))
        return list(islice(values, SAMPLE_RECORDS))
    document = source.document
    return document[:SAMPLE_RECORDS] if isinstance(document, list) else [document]


def claude_code_score(sample: list[Any]) -> int:
    """Count records that Claude Code writes; one is enough, title and queue records often come first."""
    return sum(_is_claude_record(record) for record in sample if isinstance(record, dict))


def codex_score(sample: list[Any]) -> int:
    """Count Codex's envelopes; older builds are known by their first record, which has an id and a time but no type."""
    records = [record for record in sample if isinstance(record, dict)]
    envelopes = sum(
        "timestamp" in record
        and isinstance(record.get("payload"), dict)
        and as_text(record.get("type")) in _CODEX_ENVELOPES
        for record in records
    )
    return envelopes or (SAMPLE_RECORDS if records and _is_old_codex(records) else 0)


def gemini_cli_score(sample: list[Any]) -> int:
    """Know Gemini CLI by what it says of a session first."""
    return SAMPLE_RECORDS if any(gemini_cli.is_session(record) for record in sample) else 0


def anthropic_messages_score(sample: list[Any]) -> int:
    """Know Anthropic's messages by their blocks, alone, in a request or in a stream; plain words are nobody's."""
    for item in sample:
        inner = item.get("messages") if isinstance(item, dict) and not _is_other_document(item) else None
        messages = inner if isinstance(inner, list) else [item]
        if any(anthropic_messages.has_blocks(message) for message in messages):
            return SAMPLE_RECORDS - 1
        is_response = anthropic_messages.is_message(item) and item.get("type") == "message" and "stop_reason" in item
        if is_response or captured_event(item) is not None or (is_piece(item) and item["type"] != "ping"):
            return SAMPLE_RECORDS - 1
    return 0


def openai_responses_score(sample: list[Any]) -> int:
    """Know OpenAI's Responses by their events, by whole responses, and by items with a call's id."""
    for item in sample:
        given = item.get("input") if isinstance(item, dict) else None
        items = given if isinstance(given, list) else [item]
        if openai_responses.is_stream_event(item) or openai_responses.is_response(item):
            return SAMPLE_RECORDS - 1
        if any(openai_responses.is_own_item(one) for one in items):
            return SAMPLE_RECORDS - 1
    return 0


def openai_chat_score(sample: list[Any]) -> int:
    """Tell role messages with OpenAI's marks, or without any provider's, from other formats' role messages."""
    messages: list[Any] = []
    for item in sample:
        run = openai_chat.run_of(item)
        if openai_chat.is_message(item):
            messages.append(item)
        elif run is not None and not _is_other_document(item):
            messages.extend(run.messages)
    if any(_OPENAI_MARKS & message.keys() or message["role"] in _OPENAI_ROLES for message in messages):
        return SAMPLE_RECORDS
    if any(_has_anthropic_blocks(message) for message in messages):
        return 0
    return 1 if any(message["role"] == "assistant" for message in messages) else 0


FORMATS = (
    Format(claude_code.NAME, "Claude Code sessions", claude_code_score, claude_code.read),
    Format(codex.NAME, "Codex sessions", codex_score, codex.read),
    Format(anthropic_messages.NAME, "Anthropic messages", anthropic_messages_score, anthropic_messages.read),
    Format(gemini_cli.NAME, "Gemini CLI sessions", gemini_cli_score, gemini_cli.read),
    Format(openai_responses.NAME, "OpenAI responses", openai_responses_score, openai_responses.read),
    Format(openai_chat.NAME, "OpenAI chat dumps", openai_chat_score, openai_chat.read),
)


def _is_claude_record(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or "projectHash" in record or "messages" in record:
        return False
    if isinstance(record.get("sessionId"), str) and ("parentUuid" in record or kind in _CLAUDE_SPOKEN):
        return True
    return kind in _CLAUDE_STATE and any(key in record for key in ("sessionId", "leafUuid", "messageId"))


def _is_old_codex(records: list[dict[str, Any]]) -> bool:
    first = records[0]
    if isinstance(first.get("session"), dict) and isinstance(first.get("items"), list):
        return "id" in first["session"] and "timestamp" in first["session"]
    headed = "type" not in first and isinstance(first.get("id"), str) and isinstance(first.get("timestamp"), str)
    return headed and any("record_type" in record or record.get("type") == "message" for record in records[1:])


def _is_other_document(item: dict[str, Any]) -> bool:
    info = item.get("info")
    return bool(_OTHERS & item.keys()) or (isinstance(info, dict) and "mini_version" in info)


def _has_anthropic_blocks(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    kinds = [block["type"] for block in blocks if isinstance(block, dict) and isinstance(block.get("type"), str)]
    return any(kind.endswith(_ANTHROPIC_BLOCKS) for kind in kinds)


def _forced(source: Source, known: Format) -> ForeignSession:
    session = known.read(source)
    said = (MessagesInjected, ModelReplied)
    if not any(isinstance(event.fact, said) or _opens_with_words(event.fact) for event in session.events):
        raise ImportFormatError(f"{str(source.path)!r} holds no message that can be read as {known.label}")
    return session


def _opens_with_words(fact: Fact) -> bool:
    return isinstance(fact, LoopStarted) and bool(fact.messages)


def _named(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    raise ImportFormatError(f"{name!r} is no format that can be read; supported are {_supported()}")


def _supported() -> str:
    *others, last = (f"{known.label} ({known.name})" for known in FORMATS)
    return f"{', '.join(others)} and {last}"


def _saw(source: Source, sample: list[Any]) -> str:
    """Return in a few words what a file holds; names from it are quoted, so that they can't act on a screen."""
    if source.data.startswith(b"PK\x03\x04"):
        return "a zip archive"
    if source.data.startswith(b"SQLite format 3\0"):
        return "a SQLite database"
    first = next((item for item in sample if isinstance(item, dict)), None)
    if first is None:
        return "no JSON object" if sample else "no JSON that can be read (it may be cut off or no JSON at all)"
    shape = "lines of JSON" if source.is_lines else "a JSON document"
    kind = f" of type {first['type'][:30]!r}" if isinstance(first.get("type"), str) else ""
    keys = ", ".join(repr(key[:30]) for key in list(first)[:5])
    return f"{shape}{kind} with the keys {keys}"
