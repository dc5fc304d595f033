"""Codex session lines for tests, written from the format's facts (formats.md §2)."""

from __future__ import annotations

import json
from itertools import count
from typing import Any


class Rollout:
    """Records in file order; each call adds one with a time one second later."""

    def __init__(self, identity: str = "5e551011-0001", **meta: Any) -> None:
        self.records: list[dict[str, Any]] = []
        self._seconds = count()
        self._total = 0
        self.add("session_meta", id=identity, cwd="/w", cli_version="0.141.0", **meta)

    def add(self, kind: str, /, **payload: Any) -> dict[str, Any]:
        number = next(self._seconds)
        stamp = f"2026-06-22T12:{number // 60:02d}:{number % 60:02d}.500Z"
        self.records.append({"timestamp": stamp, "type": kind, "payload": payload})
        return payload

    def item(self, kind: str, /, **fields: Any) -> dict[str, Any]:
        return self.add("response_item", type=kind, **fields)

    def event(self, kind: str, /, **fields: Any) -> dict[str, Any]:
        return self.add("event_msg", type=kind, **fields)

    def prompt(self, words: str, *, typed: bool = True) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": words}])
        if typed:
            self.event("user_message", message=words, images=[])

    def says(self, words: str) -> None:
        self.event("agent_message", message=words)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": words}])

    def asks(self, call: str, name: str = "exec_command", **arguments: Any) -> None:
        self.item("function_call", name=name, call_id=call, arguments=json.dumps(arguments))

    def gets(self, call: str, output: Any) -> None:
        self.item("function_call_output", call_id=call, output=output)

    def tokens(self, given: int, made: int, **more: int) -> None:
        last = {"input_tokens": given, "output_tokens": made, **more}
        self._total += given + made
        self.event("token_count", info={"last_token_usage": last, "total_token_usage": {"total_tokens": self._total}})

    def text(self) -> str:
        return "".join(json.dumps(record) + "\n" for record in self.records)


def command(
    printed: str, code: int | None = 0, *, chunk: str = "a1b2c3", seconds: float = 0.1, session: int = 7
) -> str:
    """What Codex tells its model of a command; `code` None: it still runs."""
    state = f"Process running with session ID {session}" if code is None else f"Process exited with code {code}"
    return f"Chunk ID: {chunk}\nWall time: {seconds:.4f} seconds\n{state}\nOriginal token count: 3\nOutput:\n{printed}"
