"""Gemini CLI sessions → neutral steps: one iteration per message of the model, its calls and their results within (formats.md §3).

A session is one document, or lines in which a message is written again whenever there is more of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loopkit.events import Failure
from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, moment, token_count
from loopkit.importers.build import build
from loopkit.importers.call_arguments import call_of, compact
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Unreadable
from loopkit.importers.steps import MAIN, Answer, Note, Prompt, Result, Step, Thread
from loopkit.messages import Image, Message, Part, Reasoning, Text, Usage
from loopkit.outcomes import DENIED_WITHOUT_REASON, Cancelled, TerminationReason

NAME = "gemini-cli"
_REFUSED = re.compile(r"\[Operation Cancelled\] Reason: User (?:did not allow|denied)")
_BY_PROGRAM = "System: "
_CANCELLED = "Request cancelled."
_FAILED = ("cancelled", "error")


def read(source: Source) -> ForeignSession:
    """Read a session, whole or line by line."""
    reader = _Reader()
    for value in _values(source):
        reader.take(value)
    reader.tell()
    thread = Thread(MAIN, NAME, reader.model, facts={"format": NAME, **reader.facts})
    built = build({MAIN: thread}, reader.steps, reader.ending)
    notices = list(dict.fromkeys([*source.notices(), *reader.notices, *built.notices]))  # a torn array is told by both
    title = as_text(reader.facts.get("summary")) or reader.title or source.path.stem
    return ForeignSession(NAME, title, NAME, reader.model, built.events, notices, built.runs)


def is_session(record: Any) -> bool:
    """Whether a value is a session of Gemini CLI, or the line that one begins with."""
    return isinstance(record, dict) and isinstance(record.get("sessionId"), str) and "projectHash" in record


def _values(source: Source) -> Iterator[Any]:
    """Yield the lines; of a document what it says of the session, and then its messages."""
    for value in source.values():
        messages = value.get("messages") if is_session(value) else None
        if isinstance(messages, list):
            yield {key: item for key, item in value.items() if key != "messages"}
            yield from messages
        else:
            yield value


@dataclass(slots=True)
class _Reader:
    """Gathers messages, the last writing of each, in the place of its first; then tells them as steps."""

    gathered: list[Note | Block] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    facts: Block = field(default_factory=dict)
    model: str | None = None
    title: str = ""
    ending: TerminationReason | Failure | None = None

    def take(self, value: Any) -> None:
        if isinstance(value, Unreadable):
            self.notices.append(value.words)
            self.gathered.append(Note(MAIN, None, "unreadable", value.facts))
        elif not isinstance(value, dict):
            self.gathered.append(Note(MAIN, None, "line that is no record", {"value": value}))
        elif isinstance(value.get("$set"), dict):
            self.facts |= value["$set"]
        elif is_session(value):
            self.facts |= value
        elif isinstance(value.get("type"), str):
            self.message(value)
        else:
            self.gathered.append(Note(MAIN, moment(value.get("timestamp")), "record", value))

    def message(self, message: Block) -> None:
        identity = as_text(message.get("id"))
        if identity and identity in self.places:
            self.gathered[self.places[identity]] = message
            return
        if identity:
            self.places[identity] = len(self.gathered)
        self.gathered.append(message)

    # ── as steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def tell(self) -> None:
        for item in self.gathered:
            if isinstance(item, Note):
                self.steps.append(item)
                continue
            at = moment(item.get("timestamp"))
            match item["type"]:
                case "user":
                    self.prompt(item, at)
                case "gemini":
                    self.answer(item, at)
                case kind:
                    self.steps.append(Note(MAIN, at, kind, item))
                    self.ends(kind, as_text(item.get("content")))

    def ends(self, kind: str, words: str) -> None:
        """Take in what a note says of the end, which it is unless the session goes on."""
        if kind == "error":
            self.ending = Failure("error", words)
        elif words.startswith(_CANCELLED):
            self.ending = Cancelled("interrupted by the user")

    def prompt(self, message: Block, at: float | None) -> None:
        parts = self.parts(message, at)
        if not parts:
            return
        said = Message("user", tuple(parts))
        own = said.text.startswith(_BY_PROGRAM)
        self.steps.append(Prompt(MAIN, at, said, NAME if own else "person", "context" if own else "task"))
        self.ending = None
        if not self.title and not own and said.text.strip():
            self.title = said.text.strip().splitlines()[0][:120]

    def answer(self, message: Block, at: float | None) -> None:
        thoughts = message.get("thoughts")
        parts: list[Part] = [
            Reasoning("\n".join(word for key in ("subject", "description") if (word := as_text(thought.get(key)))))
            for thought in (as_blocks(thoughts) if isinstance(thoughts, list) else ())
        ]
        parts += self.parts(message, at)
        listed = message.get("toolCalls")
        calls = [as_object(call) for call in listed] if isinstance(listed, list) else []
        parts += [call_of(as_text(call.get("id")), as_text(call.get("name")), call.get("args")) for call in calls]
        model = as_text(message.get("model")) or None
        self.model = self.model or model
        self.steps.append(Answer(MAIN, at, tuple(parts), _usage(message.get("tokens")), model=model))
        self.ending = None
        for call in calls:
            self.result(call, at)

    def result(self, call: Block, at: float | None) -> None:
        status = as_text(call.get("status"))
        blocks = as_blocks(call.get("result"))
        if not blocks and status not in _FAILED and status != "success":
            return
        told = [self.output(block, at) for block in blocks]
        content = "\n".join(text for text, _ in told)
        by = "person" if _REFUSED.search(content) else None
        failed = status in _FAILED or any(failed for _, failed in told)
        when = moment(call.get("timestamp")) or at
        reason = DENIED_WITHOUT_REASON if by else ""
        self.steps.append(Result(MAIN, when, as_text(call.get("id")), content, failed, by, reason))

    def output(self, block: Block, at: float | None) -> tuple[str, bool]:
        """Return what one part of a result says, and whether it says that the call failed."""
        response = as_object(block.get("functionResponse")).get("response")
        if isinstance(response, dict):
            for key in ("output", "error"):
                if isinstance(response.get(key), str):
                    return response[key], key == "error"
            return compact(response), False
        if isinstance(block.get("text"), str):
            return block["text"], False
        self.steps.append(Note(MAIN, at, "result part", block))
        return f"[{', '.join(block) or 'part'}]", False

    def parts(self, message: Block, at: float | None) -> list[Part]:
        parts: list[Part] = []
        for block in as_blocks(message.get("content")):
            inline = as_object(block.get("inlineData"))
            if isinstance(block.get("text"), str):
                parts.append(Text(block["text"]))
            elif as_text(inline.get("data")):
                parts.append(Image(as_text(inline.get("mimeType")) or "image", inline["data"]))
            else:
                self.steps.append(Note(MAIN, at, f"{message['type']} part", block))
        return parts


def _usage(value: Any) -> Usage | None:
    """Return an answer's tokens; thoughts are counted apart by this program, `Usage` counts them as output."""
    tokens = as_object(value)
    given, made = token_count(tokens, "input") + token_count(tokens, "tool"), token_count(tokens, "output")
    thought = token_count(tokens, "thoughts")
    if given + made + thought == 0:
        return None
    return Usage(given, made + thought, token_count(tokens, "cached"), reasoning_tokens=thought)
