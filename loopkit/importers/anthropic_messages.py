"""Anthropic Messages → neutral steps: role messages, responses, streams, and captures of managed sessions (formats.md §5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from loopkit.importers.anthropic_sessions import ManagedSession, captured_event
from loopkit.importers.anthropic_stream import StreamedMessage, is_piece
from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, content_text, moment, part_of
from loopkit.importers.build import build
from loopkit.importers.call_arguments import compact
from loopkit.importers.claude_records import stop_reason, tool_call, usage_of
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Unreadable
from loopkit.importers.steps import MAIN, Answer, Note, Prompt, Result, Step, Thread
from loopkit.messages import Message, Part

NAME = "anthropic-messages"
ROLES = frozenset({"system", "user", "assistant"})
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def read(source: Source) -> ForeignSession:
    """Read messages in any of the forms that they are kept in."""
    reader = _Reader()
    for value in source.values():
        reader.take(value)
    reader.close()
    session = reader.session
    facts = {"format": NAME, **reader.facts, **session.facts}
    model = reader.model or session.model
    thread = Thread(MAIN, session.agent or "agent", model, facts=facts)
    built = build({MAIN: thread}, reader.steps, session.ending)
    notices = list(dict.fromkeys([*source.notices(), *reader.notices, *built.notices]))  # a torn array is told by both
    title = reader.title or session.title or source.path.stem
    return ForeignSession(NAME, title, thread.agent, model, built.events, notices, built.runs)


def is_message(value: Any) -> bool:
    """Whether a value is a message of a known role with content."""
    return (
        isinstance(value, dict)
        and as_text(value.get("role")) in ROLES
        and isinstance(value.get("content"), (str, list))
    )


def has_blocks(value: Any) -> bool:
    """Whether a message has content as only this provider writes it."""
    content = value.get("content") if is_message(value) else None
    kinds = [as_text(as_object(block).get("type")) for block in content] if isinstance(content, list) else []
    return any(kind in CALLS or kind == "thinking" or kind.endswith("tool_result") for kind in kinds)


@dataclass(slots=True)
class _Reader:
    steps: list[Step] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    facts: Block = field(default_factory=dict)
    session: ManagedSession = field(default_factory=ManagedSession)
    streamed: StreamedMessage | None = None
    model: str | None = None
    title: str = ""

    def take(self, value: Any) -> None:
        event = captured_event(value)
        if isinstance(value, Unreadable):
            self.notices.append(value.words)
            self.steps.append(Note(MAIN, None, "unreadable", value.facts))
        elif event is not None:
            self.steps += self.session.take(*event)
        elif is_piece(value):
            self.piece(value)
        elif is_message(value):
            self.message(value)
        elif isinstance(value, dict) and isinstance(value.get("messages"), list):
            self.conversation(value)
        else:
            data = value if isinstance(value, dict) else {"value": value}
            self.steps.append(Note(MAIN, None, "item that is no message", data))

    def close(self) -> None:
        """Take in what was still under way at the end of the file."""
        if self.streamed is not None:
            self.notices.append("the stream of the last answer has no end")
            self.message(self.streamed.message())
        self.steps += self.session.close()

    def piece(self, piece: Block) -> None:
        if piece["type"] == "message_start":
            if self.streamed is not None:
                self.message(self.streamed.message())
            self.streamed = StreamedMessage(as_object(piece.get("message")))
        elif self.streamed is not None and piece["type"] == "message_stop":
            self.message(self.streamed.message())
            self.streamed = None
        elif self.streamed is not None:
            self.streamed.take(piece)
        elif piece["type"] != "ping":
            self.steps.append(Note(MAIN, None, f"piece of no message: {piece['type']}", piece))

    def conversation(self, value: Block) -> None:
        """Take in a request, or a history with what was kept beside it."""
        self.facts |= {key: item for key, item in value.items() if key not in ("messages", "system")}
        self.model = self.model or as_text(value.get("model")) or None
        words = content_text(value.get("system"))[0]
        if words:
            self.steps.append(Prompt(MAIN, None, Message.system(words), "system", "context"))
        for message in value["messages"]:
            if is_message(message):
                self.message(message)
            else:
                data = message if isinstance(message, dict) else {"value": message}
                self.steps.append(Note(MAIN, None, "item that is no message", data))

    def message(self, message: Block) -> None:
        at = moment(message.get("timestamp", message.get("created_at")))
        if message.get("role") == "assistant":
            self.answer(message, at)
        else:
            self.prompt(message, at)

    def prompt(self, message: Block, at: float | None) -> None:
        parts: list[Part] = []
        for block in as_blocks(message.get("content")):
            part = part_of(block)
            if part is not None:
                parts.append(part)
            elif as_text(block.get("type")).endswith("tool_result"):
                self.result(block, at)
            else:
                self.steps.append(Note(MAIN, at, f"message block: {as_text(block.get('type'))}", block))
        if not parts:
            return
        said = Message("system" if message["role"] == "system" else "user", tuple(parts))
        own = said.role == "system"
        self.steps.append(Prompt(MAIN, at, said, "system" if own else "person", "context" if own else "task"))
        if not own and not self.title and said.text.strip():
            self.title = said.text.strip().splitlines()[0][:120]

    def answer(self, message: Block, at: float | None) -> None:
        parts: list[Part] = []
        results: list[Block] = []
        for block in as_blocks(message.get("content")):
            kind, part = as_text(block.get("type")), part_of(block)
            if kind in CALLS:
                parts.append(tool_call(block))
            elif kind.endswith("tool_result"):
                results.append(block)
            elif part is not None:
                parts.append(part)
            else:
                self.steps.append(Note(MAIN, at, f"answer block: {kind}", block))
        model, raw = as_text(message.get("model")) or None, as_text(message.get("stop_reason")) or None
        self.model = self.model or model
        self.steps.append(Answer(MAIN, at, tuple(parts), usage_of(message), stop_reason(raw), raw, model))
        for block in results:
            self.result(block, at)

    def result(self, block: Block, at: float | None) -> None:
        """Take in a result; those of the provider's own tools are objects of their own kinds."""
        content = block.get("content")
        if block.get("type") == "tool_result":
            words, left_out = content_text(content)
        else:
            words, left_out = content if isinstance(content, str) else compact(content), []
        failed = block.get("is_error") is True or as_text(as_object(content).get("type")).endswith("_error")
        self.steps.append(Result(MAIN, at, as_text(block.get("tool_use_id")), words, failed))
        for other in left_out:
            self.steps.append(Note(MAIN, at, f"result block: {as_text(other.get('type'))}", other))
