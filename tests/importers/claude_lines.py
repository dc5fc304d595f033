"""Claude Code session lines for tests, written from the format's facts (formats.md §1)."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

from loopkit.debugger.timeline import Timeline
from loopkit.errors import ImportFormatError
from loopkit.importers.detect import read_session
from loopkit.importers.session import ForeignSession

SESSION = "5e551011"


class Lines:
    """Records in file order; each call adds one with a time one second later."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._seconds = count()

    def add(self, kind: str, **fields: Any) -> dict[str, Any]:
        number = next(self._seconds)
        record = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": SESSION,
            "isSidechain": False,
            "timestamp": f"2026-01-19T03:{number // 60:02d}:{number % 60:02d}.000Z",
            **fields,
        }
        self.records.append(record)
        return record

    def prompt(self, words: Any, **fields: Any) -> dict[str, Any]:
        return self.add("user", message={"role": "user", "content": words}, **fields)

    def answer(self, identity: str, *blocks: dict[str, Any], output: int = 1, **fields: Any) -> dict[str, Any]:
        return self.add("assistant", message=answer_message(identity, *blocks, output=output), **fields)

    def result(self, call: str, content: Any, **fields: Any) -> dict[str, Any]:
        is_error = fields.pop("is_error", None)
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": content}
        if is_error is not None:
            block["is_error"] = is_error
        return self.prompt([block], **fields)

    def progress(self, call: str, **data: Any) -> dict[str, Any]:
        return self.add("progress", parentToolUseID=call, data=data)

    def text(self) -> str:
        return "".join(json.dumps(record) + "\n" for record in self.records)


def answer_message(identity: str, *blocks: dict[str, Any], output: int = 1) -> dict[str, Any]:
    usage = {
        "input_tokens": 5,
        "output_tokens": output,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 3,
    }
    return {
        "id": identity,
        "role": "assistant",
        "model": "claude-test",
        "content": list(blocks),
        "stop_reason": None,
        "usage": usage,
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(identity: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def read(folder: Path, content: str | bytes, name: str = "session.jsonl") -> tuple[ForeignSession, Timeline]:
    """Write a file, read it as a session, and check what every session must keep to."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    session = read_session(path)
    return session, checked_timeline(session)


def read_or_refuse(path: Path, format_name: str | None = None) -> ForeignSession | None:
    """Read a file as a checked session; None when it is refused in one line. Anything else fails the test."""
    refusal = ""
    try:
        session = read_session(path, format_name)
    except ImportFormatError as error:
        refusal = str(error)
    if refusal:
        assert len(refusal.splitlines()) == 1
        return None
    checked_timeline(session)
    return session


def checked_timeline(session: ForeignSession) -> Timeline:
    """Return the timeline; numbers are gapless and times never run backwards."""
    assert [event.seq for event in session.events] == list(range(1, len(session.events) + 1))
    times = [event.t for event in session.events]
    assert times == sorted(times)
    assert times[0] >= 0
    timeline = Timeline(session.events)
    assert timeline.root is not None
    assert len(timeline.loops) == session.runs + 1
    return timeline
