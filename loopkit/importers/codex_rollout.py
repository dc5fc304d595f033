"""One Codex session file read record by record: items are the truth, events add times, exit codes and endings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loopkit.events import Failure
from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, content_text, moment, part_of
from loopkit.importers.codex_items import (
    OUTPUTS,
    abort_of,
    agent_ending,
    call_of_item,
    failure_of,
    is_failed_call,
    output_of,
    prompt_kind,
    reasoning_of,
    title_of,
)
from loopkit.importers.codex_outputs import is_failure, refused_by
from loopkit.importers.codex_tokens import Response, TokenReports
from loopkit.importers.steps import Note, Prompt, Result, Step
from loopkit.importers.streams import Streams
from loopkit.messages import Message, Part
from loopkit.outcomes import DENIED_WITHOUT_REASON, Complete, TerminationReason

_FACTS = (
    "id",
    "cwd",
    "originator",
    "cli_version",
    "source",
    "model_provider",
    "parent_thread_id",
    "forked_from_id",
    "agent_role",
    "agent_nickname",
    "git",
)
_TURN_FACTS = ("effort", "approval_policy", "sandbox_policy")
# Each text stands twice: as an item, and as an event that says no more (formats.md §2).
_TWINS = {"user_message": "message", "agent_message": "message", "agent_reasoning": "text"}


@dataclass(frozen=True, slots=True)
class SubAgent:
    """A sub-agent that a call started.

    Args:
        id: its session's id, which its own file is named by.
        place: where the answer stands that asked for it.
        facts: all that the record says.
    """

    id: str
    parent: str
    call: str
    place: tuple[int, int]
    at: float | None
    facts: Block


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told of sub-agents.

    Args:
        started: a call started one.
        ended: the one with this id came to its end.
    """

    started: Callable[[SubAgent], None]
    ended: Callable[[str, float | None, TerminationReason], None]


class Rollout:
    """The reader of one file, which is one agent's session.

    Attributes:
        facts: what the file says of the session.
        first_model: the model that was asked first.
        title: what a person asked for first, or the name that the session got.
        ending: how the session ended, as far as the file says; None leaves it to the last words.
        starts: how often a session was begun or gone on with in this file.
    """

    def __init__(self, thread: str, streams: Streams[Step | Response], told: Listeners) -> None:
        self.thread = thread
        self.streams = streams
        self.told = told
        self.facts: Block = {}
        self.first_model: str | None = None
        self.title = ""
        self.ending: TerminationReason | Failure | None = None
        self.starts = 0
        self._model: str | None = None
        self._turn: Block = {}
        self._open: Response | None = None
        self._tokens = TokenReports()
        self._calls: dict[str, tuple[int, int]] = {}
        self._failed: set[str] = set()
        self._items: set[str] = set()
        self._typed: set[str] = set()

    def look_ahead(self, records: list[Any]) -> None:
        """Take in which texts stand as items, and which a person typed."""
        for record in records:
            payload = as_object(as_object(record).get("payload"))
            kind = payload.get("type")
            if kind == "user_message":
                self._typed.add(as_text(payload.get("message")).strip())
            elif kind in ("message", "reasoning"):
                blocks = [*as_blocks(payload.get("content")), *as_blocks(payload.get("summary"))]
                self._items.update(as_text(block.get("text")).strip() for block in blocks)

    def record(self, record: Block) -> None:
        """Take in one line, which is an envelope with a payload or, in old files, an item by itself."""
        at = moment(record.get("timestamp"))
        payload = record.get("payload")
        if not isinstance(payload, dict):
            if isinstance(record.get("type"), str) and "payload" not in record:
                self.item(record, at)
            elif isinstance(record.get("id"), str) and not self.starts:
                self.start(record, at)
            else:
                self.note(as_text(record.get("record_type")) or as_text(record.get("type")) or "record", record, at)
            return
        match record.get("type"):
            case "response_item":
                self.item(payload, at)
            case "event_msg":
                self.event(payload, at)
            case "session_meta":
                self.start(payload, at)
            case "turn_context":
                self.turn(payload, at)
            case "compacted":
                self.compacted(payload, at)
            case kind:
                self.note(as_text(kind) or "record", payload, at)

    def note(self, name: str, data: Block, at: float | None) -> None:
        """Keep a record as it is."""
        self.streams.add(Note(self.thread, at, name, data))

    # ── the session ──────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, meta: Block, at: float | None) -> None:
        self.starts += 1
        self._tokens = TokenReports()
        if self.starts > 1:
            self.note("session_meta", meta, at)
            return
        self.facts |= {key: meta[key] for key in _FACTS if meta.get(key) is not None}
        instructions = meta.get("base_instructions", meta.get("instructions"))
        words = instructions if isinstance(instructions, str) else as_text(as_object(instructions).get("text"))
        if words:
            self.streams.add(Prompt(self.thread, at, Message.system(words), "system", "context"))

    def turn(self, context: Block, at: float | None) -> None:
        self._model = as_text(context.get("model")) or self._model
        self.first_model = self.first_model or self._model
        self.facts |= {
            key: context[key] for key in _TURN_FACTS if key not in self.facts and context.get(key) is not None
        }
        own = {key: value for key, value in context.items() if key != "turn_id"}
        if own != self._turn:
            self._turn = own
            self.note("turn_context", context, at)

    def compacted(self, payload: Block, at: float | None) -> None:
        self._open = None
        self.note("compacted", payload, at)
        if as_text(payload.get("message")).strip():
            words = Message.user(payload["message"])
            self.streams.add(Prompt(self.thread, at, words, "compaction", "context"))

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def item(self, item: Block, at: float | None) -> None:
        call = call_of_item(item)
        kind = as_text(item.get("type"))
        if call is not None:
            response = self.response(at)
            response.parts.append(call)
            self._calls[call.id] = response.place
        elif kind == "reasoning":
            self.response(at).parts.append(reasoning_of(item))
        elif kind == "message" and item.get("role") == "assistant":
            self.words(item, at)
        elif kind == "message":
            self.prompt(item, at)
        elif kind == "agent_message":
            self.letter(item, at)
        elif kind in OUTPUTS:
            self.output(item, at)
        else:
            self.note(f"item: {kind}", item, at)

    def response(self, at: float | None) -> Response:
        """Return the answer that items belong to at the moment; what stands between answers ends one."""
        if self._open is None:
            self._open = Response(self.thread, at, self._model)
            self._open.place = self.streams.add(self._open)
            self._tokens.begun(self._open)
            self.ending = None
        return self._open

    def words(self, item: Block, at: float | None) -> None:
        response = self.response(at)
        response.parts += self.parts(item, at, "answer")

    def prompt(self, item: Block, at: float | None) -> None:
        self._open = None
        parts = self.parts(item, at, "message")
        if not parts:
            return
        if item.get("role") != "user":
            said = Message("system", tuple(parts))
            self.streams.add(Prompt(self.thread, at, said, "system", "context"))
            return
        said = Message("user", tuple(parts))
        by, kind = prompt_kind(said.text, self._typed)
        self.streams.add(Prompt(self.thread, at, said, by, kind))
        if kind == "task":
            self.ending = None
            self.title = self.title or title_of(said.text)

    def letter(self, item: Block, at: float | None) -> None:
        """Take in what one agent writes to another; it may be sealed."""
        self._open = None
        parts = self.parts(item, at, "letter")
        if parts:
            by = as_text(item.get("author")) or "agent"
            self.streams.add(Prompt(self.thread, at, Message("user", tuple(parts)), by, "context"))

    def parts(self, item: Block, at: float | None, what: str) -> list[Part]:
        parts: list[Part] = []
        for block in as_blocks(item.get("content")):
            part = part_of(block)
            if part is not None:
                parts.append(part)
            elif block.get("type") != "input_image":  # one without an address says nothing
                self.note(f"{what} block: {as_text(block.get('type'))}", block, at)
        return parts

    def output(self, item: Block, at: float | None) -> None:
        self._open = None
        call = as_text(item.get("call_id"))
        content, left_out = content_text(output_of(item))
        by = refused_by(content)
        failed = call in self._failed or is_failure(content, item.get("output"))
        reason = DENIED_WITHOUT_REASON if by == "person" else content
        self.streams.add(Result(self.thread, at, call, content, by is not None or failed, by, reason if by else ""))
        for block in left_out:
            self.note(f"output block: {as_text(block.get('type'))}", block, at)

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def event(self, event: Block, at: float | None) -> None:
        kind = as_text(event.get("type"))
        if kind in _TWINS and as_text(event.get(_TWINS[kind])).strip() in self._items:
            return
        if kind == "token_count" and self._tokens.took(event):
            self._open = None if self._tokens.close_answers else self._open
            return
        self.note(kind or "event", {key: value for key, value in event.items() if key != "type"}, at)
        self.ends(kind, event)
        call = as_text(event.get("call_id"))
        if is_failed_call(kind, event):
            self._failed.add(call)
        if kind == "thread_name_updated" and as_text(event.get("thread_name")):
            self.title = event["thread_name"]
        if kind == "collab_agent_spawn_end":
            self.agent_started(as_text(event.get("new_thread_id")), call, event, at)
        elif kind == "sub_agent_activity" and event.get("kind") == "started":
            self.agent_started(as_text(event.get("agent_thread_id")), as_text(event.get("event_id")), event, at)
        elif kind in ("collab_waiting_end", "collab_close_end"):
            self.agents_ended(event, at)

    def ends(self, kind: str, event: Block) -> None:
        """Take in what an event says of the end of a turn, which may be the session's."""
        match kind:
            case "task_started":
                self._open, self.ending = None, None
            case "task_complete":
                self._open = None
                failure = as_object(event.get("error"))
                if failure:
                    self.ending = failure_of(failure)
                elif not isinstance(self.ending, Failure):  # the event of an error is followed by this one
                    self.ending = Complete()
            case "turn_aborted":
                self._open, self.ending = None, abort_of(event)
            case "error":
                self._open, self.ending = None, failure_of(event)

    def agent_started(self, agent: str, call: str, event: Block, at: float | None) -> None:
        if agent and call in self._calls:
            self.told.started(SubAgent(agent, self.thread, call, self._calls[call], at, event))

    def agents_ended(self, event: Block, at: float | None) -> None:
        listed = event.get("agent_statuses")
        told = [as_object(one) for one in listed] if isinstance(listed, list) else []
        if as_text(event.get("receiver_thread_id")):
            told.append({"thread_id": event["receiver_thread_id"], "status": event.get("status")})
        statuses = {as_text(one.get("thread_id")): one.get("status") for one in told}
        for agent, status in (as_object(event.get("statuses")) | statuses).items():
            ending = agent_ending(status)
            if ending is not None:
                self.told.ended(agent, at, ending)
