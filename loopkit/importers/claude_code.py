"""Claude Code session files → neutral steps: one iteration per response id, sub-agents as threads (formats.md §1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loopkit.errors import ImportFormatError
from loopkit.importers.blocks import (
    Block,
    as_blocks,
    as_object,
    as_text,
    content_text,
    larger_usage,
    moment,
    part_of,
)
from loopkit.importers.build import build
from loopkit.importers.claude_records import (
    AGENT_TOOLS,
    PROGRAM,
    SCRUBBED_IDS,
    background_ending,
    denial,
    note_data,
    note_name,
    note_title,
    progress_text,
    prompt_kind,
    slash_command,
    stop_reason,
    tool_call,
    usage_of,
)
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Unreadable
from loopkit.importers.steps import MAIN, Answer, Ended, Note, Progress, Prompt, Result, Step, Thread
from loopkit.importers.streams import Streams
from loopkit.messages import Message, Part, ToolCall, Usage

NAME = "claude-code"
SYNTHETIC = "<synthetic>"
_NAMED_DAMAGE = 5
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def read(source: Source) -> ForeignSession:
    """Read a session file, with the agent files that lie beside it."""
    reader = _Reader(source.path)
    reader.read_file(source, MAIN)
    threads = reader.finished_threads()
    built = build(threads, reader.streams.merged(finish=_finish))
    notices = [*source.notices(), *reader.notices(), *built.notices]
    title = reader.title or source.path.stem
    return ForeignSession(NAME, title, PROGRAM, threads[MAIN].model, built.events, notices, built.runs)


@dataclass(slots=True, eq=False)
class _Response:
    """An answer whose lines are still being gathered; they share an id, and each holds one block."""

    thread: str
    at: float | None
    parts: list[Part] = field(default_factory=list)
    usage: Usage | None = None
    raw_stop_reason: str | None = None
    model: str | None = None
    request_id: str | None = None
    place: tuple[int, int] = (0, 0)


def _finish(step: Step | _Response) -> Step:
    if not isinstance(step, _Response):
        return step
    return Answer(
        step.thread,
        step.at,
        tuple(step.parts),
        step.usage,
        stop_reason(step.raw_stop_reason),
        step.raw_stop_reason,
        step.model,
        step.request_id,
    )


@dataclass(slots=True)
class _SeenCall:
    thread: str
    arguments: Block
    is_agent: bool
    place: tuple[int, int]
    child: str | None = None
    progress: dict[str, tuple[int, int]] = field(default_factory=dict)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.streams: Streams[Step | _Response] = Streams()
        self.threads: dict[str, Thread] = {MAIN: Thread(MAIN, PROGRAM)}
        self.facts: Block = {}
        self.calls: dict[str, _SeenCall] = {}
        self.agents: dict[str, str] = {}
        self.responses: dict[tuple[str, str], _Response] = {}
        self.thread_of: dict[str, str | None] = {}
        self.seen: dict[str, Any] = {}
        self.sessions: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.title = ""
        self.title_rank = 0
        self.uuids: set[str] = set()
        self.unreadable: list[str] = []
        self.handlers: dict[str, Callable[[Block, str], None]] = {
            "assistant": self.assistant,
            "user": self.user,
            "progress": self.progress,
        }

    # ── files and lines ──────────────────────────────────────────────────────────────────────────────────────────────

    def read_file(self, source: Source, thread: str) -> None:
        found = list(source.lines())
        records = [item.value for item in found if not isinstance(item, Unreadable)]
        spoken = [item for item in records if isinstance(item, dict) and item.get("type") in ("user", "assistant")]
        all_side = thread != MAIN or all(item.get("isSidechain") is True for item in spoken)
        self.uuids.update(as_text(item.get("uuid")) for item in records if isinstance(item, dict))
        for item in found:
            if isinstance(item, Unreadable):
                self.unreadable.append(item.words)
                self.streams.add(Note(thread, None, "unreadable", item.facts))
            elif not isinstance(item.value, dict):
                self.streams.add(Note(thread, None, "line that is no record", {"value": item.value}))
            else:
                self.record(item.value, thread if all_side else None)

    def record(self, record: Block, thread: str | None) -> None:
        if self.is_repeated(record):
            self.counts["lines that repeat an earlier one"] += 1
            return
        self.note_facts(record)
        thread = thread or self.thread_of_record(record)
        handler = self.handlers.get(as_text(record.get("type")), self.note)
        if thread is None:
            self.note(record, MAIN)
        else:
            handler(record, thread)

    def is_repeated(self, record: Block) -> bool:
        uuid = as_text(record.get("uuid"))
        if not uuid:
            return False
        told = (record.get("type"), as_object(record.get("message")).get("content"), record.get("data"))
        if uuid in self.seen:
            return bool(self.seen[uuid] == told)
        self.seen[uuid] = told
        return False

    def note_facts(self, record: Block) -> None:
        session = as_text(record.get("sessionId"))
        if session:
            self.sessions.add(session)
        for key in ("sessionId", "cwd", "gitBranch", "version"):
            if key not in self.facts and isinstance(record.get(key), str):
                self.facts[key] = record[key]
        titled = note_title(record, self.uuids)
        if titled is not None and titled[0] >= self.title_rank:
            self.title_rank, self.title = titled

    def thread_of_record(self, record: Block) -> str | None:
        """Return the thread of a line of the main file, or None for a sub-agent's whose call is unknown."""
        if record.get("isSidechain") is not True:
            return MAIN
        agent, parent = as_text(record.get("agentId")), as_text(record.get("parentUuid"))
        thread = self.agents.get(agent) if agent else None
        if thread is None and parent in self.thread_of:
            thread = self.thread_of[parent]
        elif thread is None:
            thread = self.sidechain(record, agent)
        self.thread_of[as_text(record.get("uuid"))] = thread
        return thread

    def sidechain(self, record: Block, agent: str) -> str | None:
        """Start the thread of an old build's sub-agent: under the call with its prompt, else the latest free one."""
        prompt = content_text(as_object(record.get("message")).get("content"))[0].strip()
        free = [key for key, call in self.calls.items() if call.is_agent and call.child is None]
        same = [key for key in free if as_text(self.calls[key].arguments.get("prompt")).strip() == prompt]
        chosen = same[:1] or free[-1:]
        return self.child(chosen[0], agent) if chosen else None

    # ── the conversation ─────────────────────────────────────────────────────────────────────────────────────────────

    def assistant(self, record: Block, thread: str) -> None:
        message = record.get("message")
        if not isinstance(message, dict):
            self.note(record, thread)
            return
        response = self.response(record, message, thread)
        usage = usage_of(message)
        if usage is not None:
            response.usage = larger_usage(response.usage, usage)
        response.raw_stop_reason = as_text(message.get("stop_reason")) or response.raw_stop_reason
        for block in as_blocks(message.get("content")):
            if block.get("type") == "tool_use":
                self.call(tool_call(block), response)
            elif (part := part_of(block)) is not None:
                response.parts.append(part)
            else:
                self.streams.add(Note(thread, response.at, f"answer block: {as_text(block.get('type'))}", block))

    def response(self, record: Block, message: Block, thread: str) -> _Response:
        at = moment(record.get("timestamp"))
        request = as_text(record.get("requestId")) or None
        identity = as_text(message.get("id")) or request or as_text(record.get("uuid")) or f"#{len(self.responses)}"
        response = self.responses.get((thread, identity))
        if response is None:
            response = _Response(thread, at, model=as_text(message.get("model")) or None, request_id=request)
            self.responses[thread, identity] = response
            response.place = self.streams.add(response)
            known = self.threads[thread]
            if known.model is None and response.model not in (None, SYNTHETIC):
                self.threads[thread] = replace(known, model=response.model)
        elif at is not None and self.streams.latest is response:
            response.at = at
        return response

    def call(self, call: ToolCall, response: _Response) -> None:
        if call.id not in SCRUBBED_IDS and call in response.parts:
            return
        response.parts.append(call)
        is_agent = call.name in AGENT_TOOLS
        self.calls[call.id] = _SeenCall(response.thread, dict(call.arguments), is_agent, response.place)

    def user(self, record: Block, thread: str) -> None:
        message = record.get("message")
        blocks = as_blocks(as_object(message).get("content"))
        if not blocks:
            self.note(record, thread)
            return
        at = moment(record.get("timestamp"))
        parts: list[Part] = []
        for block in blocks:
            if block.get("type") == "tool_result":
                self.result(record, block, thread, at)
            elif (part := part_of(block)) is not None:
                parts.append(part)
            else:
                self.streams.add(Note(thread, at, f"user block: {as_text(block.get('type'))}", block))
        if parts:
            self.prompt(record, Message("user", tuple(parts)), thread, at)

    def prompt(self, record: Block, message: Message, thread: str, at: float | None) -> None:
        text = message.text
        by, kind = prompt_kind(record, text)
        self.streams.add(Prompt(thread, at, message, by, kind))
        if thread == MAIN and by == "person" and kind != "interrupt":
            self.note_prompt_title(text, is_task=kind == "task")
        ended = background_ending(text)
        if ended is not None and ended[0] in self.agents:
            self.streams.add(Ended(self.agents[ended[0]], at, ended[1]))

    def note_prompt_title(self, text: str, *, is_task: bool) -> None:
        """Take the first words typed as the title; a slash command only where no prompt opens the session."""
        words = text.strip().splitlines()[0][:120] if is_task and text.strip() else slash_command(text)
        opens = self.title_rank == 0 and not self.responses
        if words and (not self.title or (opens and is_task and self.title.startswith("/"))):
            self.title = words

    def result(self, record: Block, block: Block, thread: str, at: float | None) -> None:
        call = as_text(block.get("tool_use_id"))
        content, left_out = content_text(block.get("content"))
        is_error = block.get("is_error") is True
        details = as_object(record.get("toolUseResult"))
        if as_text(details.get("agentId")) and call in self.calls:
            self.agent_result(call, details, at)
        refused = denial(record, content, is_error=is_error)
        by, reason = (refused.by, refused.reason) if refused else (None, "")
        self.streams.add(Result(thread, at, call, content, is_error, by, reason))
        for other in left_out:
            self.streams.add(Note(thread, at, f"result block: {as_text(other.get('type'))}", other))

    # ── sub-agents ───────────────────────────────────────────────────────────────────────────────────────────────────

    def child(self, call_id: str, agent: str) -> str:
        """Return the thread that a call started, made when it is new."""
        call = self.calls[call_id]
        key = f"{call_id}/{agent}"
        if key not in self.threads:
            name = as_text(call.arguments.get("subagent_type")) or "agent"
            facts = {"agentId": agent} if agent else {}
            self.threads[key] = Thread(key, name, parent=call.thread, parent_call=call_id, facts=facts)
            call.child = key
            if agent:
                self.agents[agent] = key
        return key

    def agent_result(self, call_id: str, details: Block, at: float | None) -> None:
        """Take in what a call's result tells of its sub-agent, from whose own file if it is there."""
        call, agent = self.calls[call_id], as_text(details["agentId"])
        told_before = f"{call_id}/{agent}" in self.threads
        key = self.child(call_id, agent)
        known = self.threads[key]
        self.threads[key] = replace(
            known,
            agent=as_text(details.get("agentType")) or known.agent,
            model=known.model or as_text(details.get("resolvedModel")) or None,
            background=details.get("isAsync") is True or details.get("status") == "async_launched",
        )
        file = self.agent_file(agent)
        if file is not None:
            self.read_agent_file(file, key, call.place)
        elif not told_before:
            prompt = as_text(details.get("prompt")) or as_text(call.arguments.get("prompt"))
            self.streams.add(Prompt(key, at, Message.user(prompt)))
        totals = {name: value for name, value in details.items() if name not in ("content", "prompt")}
        words = "sub-agent totals" if told_before or file else "sub-agent totals; its own messages are not in this file"
        self.streams.add(Note(key, at, words, totals))

    def agent_file(self, agent: str) -> Path | None:
        """Return the file with a sub-agent's own lines, when it lies where newer builds put it."""
        if not _SAFE_ID.fullmatch(agent):
            return None
        name = f"agent-{agent}.jsonl"
        folders = (self.path.with_suffix("") / "subagents", self.path.parent)
        return next((folder / name for folder in folders if (folder / name).is_file()), None)

    def read_agent_file(self, file: Path, thread: str, place: tuple[int, int]) -> None:
        if file == self.path or self.counts[f"read {file.name}"]:
            return
        self.counts[f"read {file.name}"] += 1
        try:
            source = Source.open(file)
        except ImportFormatError as error:
            self.counts[str(error)] += 1
            return
        with self.streams.beside(place):
            self.read_file(source, thread)

    def progress(self, record: Block, thread: str) -> None:
        data = as_object(record.get("data"))
        call_id = as_text(record.get("parentToolUseID"))
        call = self.calls.get(call_id)
        if call is None:
            self.note(record, thread)
        elif data.get("type") == "agent_progress":
            self.agent_progress(record, data, call_id)
        else:
            self.tool_progress(call_id, call, data, moment(record.get("timestamp")))

    def tool_progress(self, call_id: str, call: _SeenCall, data: Block, at: float | None) -> None:
        kind = as_text(data.get("type"))
        step = Progress(call.thread, at, call_id, progress_text(data))
        if kind != "bash_progress":
            self.streams.add(step)
        elif kind in call.progress:  # each report repeats the one before: the last says it all
            self.streams.replace(call.progress[kind], step)
        else:
            call.progress[kind] = self.streams.add(step)

    def agent_progress(self, record: Block, data: Block, call_id: str) -> None:
        agent = as_text(data.get("agentId"))
        if agent and self.agent_file(agent) is not None:
            self.counts["sub-agent lines taken from its own file instead"] += 1
            return
        thread = self.child(call_id, agent)
        inner = as_object(data.get("message"))
        handler = {"assistant": self.assistant, "user": self.user}.get(as_text(inner.get("type")))
        if handler is None:
            self.note(record, thread)
        else:
            handler({"timestamp": record.get("timestamp"), **inner}, thread)

    # ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def note(self, record: Block, thread: str) -> None:
        self.streams.add(Note(thread, moment(record.get("timestamp")), note_name(record), note_data(record)))

    def finished_threads(self) -> dict[str, Thread]:
        return self.threads | {MAIN: replace(self.threads[MAIN], facts={"format": NAME, **self.facts})}

    def notices(self) -> list[str]:
        found = [f"several session ids in one file: {len(self.sessions)}"] if len(self.sessions) > 1 else []
        found += self.unreadable[:_NAMED_DAMAGE]
        if len(self.unreadable) > _NAMED_DAMAGE:
            found.append(f"unreadable bytes in {len(self.unreadable) - _NAMED_DAMAGE} more places")
        return found + [words if n == 1 else f"{words}: {n}" for words, n in self.counts.items()]
