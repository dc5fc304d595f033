"""Codex session files → neutral steps: one iteration per run of items between outputs, sub-agents as threads (formats.md §2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopkit.errors import ImportFormatError
from loopkit.importers.blocks import as_text
from loopkit.importers.build import build
from loopkit.importers.codex_items import PROGRAM
from loopkit.importers.codex_rollout import Listeners, Rollout, SubAgent
from loopkit.importers.codex_tokens import Response
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Unreadable
from loopkit.importers.steps import MAIN, Answer, Ended, Note, Prompt, Step, Thread
from loopkit.importers.streams import Streams
from loopkit.messages import Message
from loopkit.outcomes import TerminationReason

NAME = "codex"
_NAMED_DAMAGE = 5
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{8,100}")


def read(source: Source) -> ForeignSession:
    """Read a session file, with the files of its sub-agents that lie beside it."""
    reader = _Reader(source.path)
    main = reader.read_file(source, MAIN)
    thread = replace(reader.threads[MAIN], model=main.first_model, facts={"format": NAME, **main.facts})
    reader.threads[MAIN] = thread
    built = build(reader.threads, reader.streams.merged(finish=_finish), main.ending)
    notices = list(
        dict.fromkeys([*source.notices(), *reader.notices(), *built.notices])
    )  # a torn array is told by both
    title = main.title or source.path.stem
    return ForeignSession(NAME, title, PROGRAM, thread.model, built.events, notices, built.runs)


def _finish(step: Step | Response) -> Step:
    if not isinstance(step, Response):
        return step
    return Answer(step.thread, step.at, tuple(step.parts), step.usage, model=step.model)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.streams: Streams[Step | Response] = Streams()
        self.threads: dict[str, Thread] = {MAIN: Thread(MAIN, PROGRAM)}
        self.found: list[str] = []
        self.unreadable: list[str] = []

    def read_file(self, source: Source, thread: str) -> Rollout:
        rollout = Rollout(thread, self.streams, Listeners(self.agent_started, self.agent_ended))
        values = list(_values(source))
        rollout.look_ahead(values)
        for value in values:
            if isinstance(value, Unreadable):
                self.unreadable.append(value.words)
                rollout.note("unreadable", value.facts, None)
            elif isinstance(value, dict):
                rollout.record(value)
            else:
                rollout.note("line that is no record", {"value": value}, None)
        if rollout.starts > 1:
            self.found.append(f"begun, gone on with or forked in one file: {rollout.starts} times")
        return rollout

    def agent_started(self, agent: SubAgent) -> None:
        """Open the thread of a sub-agent, from whose own file if it lies beside this one."""
        if agent.id in self.threads:
            return
        facts = agent.facts
        name = as_text(facts.get("new_agent_role")) or as_text(facts.get("new_agent_nickname")) or "agent"
        model = as_text(facts.get("model")) or None
        thread = Thread(agent.id, name, model, agent.parent, agent.call, background=True, facts={"id": agent.id})
        self.threads[agent.id] = thread
        file = self.file_of(agent.id)
        if file is None:
            self.streams.add(Prompt(agent.id, agent.at, Message.user(as_text(facts.get("prompt")))))
            self.streams.add(Note(agent.id, agent.at, "sub-agent; its own messages are not in this file", facts))
            return
        try:
            source = Source.open(file)
        except ImportFormatError as error:
            self.found.append(str(error))
            return
        with self.streams.beside(agent.place):
            child = self.read_file(source, agent.id)
        self.threads[agent.id] = replace(thread, model=child.first_model or model, facts=child.facts or thread.facts)

    def agent_ended(self, agent: str, at: float | None, reason: TerminationReason) -> None:
        if agent in self.threads:
            self.streams.add(Ended(agent, at, reason))

    def file_of(self, agent: str) -> Path | None:
        """Return the file that a sub-agent's session is in: they are named by time and id."""
        if not _SAFE_ID.fullmatch(agent):
            return None
        return next((path for path in sorted(self.path.parent.glob(f"*-{agent}.jsonl")) if path != self.path), None)

    def notices(self) -> list[str]:
        more = len(self.unreadable) - _NAMED_DAMAGE
        damage = self.unreadable[:_NAMED_DAMAGE] + ([f"unreadable bytes in {more} more places"] if more > 0 else [])
        return damage + self.found


def _values(source: Source) -> Iterator[Any]:
    """Yield the lines, or the records of the one document that the oldest builds wrote."""
    for value in source.values():
        session, items = (value.get("session"), value.get("items")) if isinstance(value, dict) else (None, None)
        if isinstance(session, dict) and isinstance(items, list):
            yield session
            yield from items
        else:
            yield value
