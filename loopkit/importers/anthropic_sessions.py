"""Captures of Anthropic's managed sessions: lines of a method and its object, with a person's confirmations (formats.md §5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from loopkit.events import Failure
from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, content_text, moment, part_of
from loopkit.importers.call_arguments import call_of
from loopkit.importers.claude_records import usage_of
from loopkit.importers.steps import MAIN, Answer, Note, Prompt, Result, Step
from loopkit.messages import Message, Part, Reasoning, Usage
from loopkit.outcomes import DENIED_WITHOUT_REASON, Cancelled, Complete, TerminationReason

_METHOD = "client.beta.sessions."
_USES = frozenset({"agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use"})
_RESULTS = frozenset({"agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result"})


def captured_event(value: Any) -> tuple[str, Block] | None:
    """Return the method and the object of a captured line, or None when it is none."""
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)):
        return None
    if not value[0].startswith(_METHOD):
        return None
    return value[0], value[1] if isinstance(value[1], dict) else {"value": value[1]}


@dataclass(slots=True)
class ManagedSession:
    """A session read event by event; an answer is what stands between a request's start and its end.

    Attributes:
        agent, model, title, facts: what its creation says of it.
        ending: how it ended, as far as it is told.
    """

    agent: str = ""
    model: str | None = None
    title: str = ""
    facts: Block = field(default_factory=dict)
    ending: TerminationReason | Failure | None = None
    _parts: list[Part] = field(default_factory=list)
    _since: float | None = None
    _denied: dict[str, str] = field(default_factory=dict)

    def take(self, method: str, event: Block) -> list[Step]:
        """Return the steps that an event stands for."""
        if method.endswith(".create"):
            return self._created(event)
        kind, at = as_text(event.get("type")), moment(event.get("processed_at"))
        if kind in ("agent.message", "agent.thinking") or kind in _USES:
            self._say(kind, event, at)
            return []
        if kind == "span.model_request_end":
            return self._answer(usage_of({"usage": event.get("model_usage")}))
        if kind == "user.message":
            return [*self._answer(None), *self._prompt(event, at)]
        if kind in _RESULTS:
            return [*self._answer(None), self._result(event, at)]
        before = self._answer(None) if kind.startswith(("session.", "user.")) else []
        self._told(kind, event)
        return [*before, Note(MAIN, at, kind or method.rpartition(".")[2], event)]

    def close(self) -> list[Step]:
        """Return what was still under way at the end of the file."""
        return self._answer(None)

    def _created(self, event: Block) -> list[Step]:
        agent = as_object(event.get("agent"))
        self.agent, self.title = as_text(agent.get("name")), as_text(event.get("title"))
        self.model = as_text(as_object(agent.get("model")).get("id")) or as_text(agent.get("model")) or None
        self.facts = event
        words = as_text(agent.get("system"))
        return [Prompt(MAIN, None, Message.system(words), "system", "context")] if words else []

    def _say(self, kind: str, event: Block, at: float | None) -> None:
        if not self._parts:
            self._since = at
        if kind == "agent.thinking":
            self._parts.append(Reasoning(content_text(event.get("content"))[0]))
        elif kind == "agent.message":
            self._parts += [part for block in as_blocks(event.get("content")) if (part := part_of(block)) is not None]
        else:
            server, name = as_text(event.get("mcp_server_name")), as_text(event.get("name"))
            self._parts.append(
                call_of(as_text(event.get("id")), f"{server}.{name}" if server else name, event.get("input"))
            )

    def _answer(self, usage: Usage | None) -> list[Step]:
        if not self._parts:
            return []
        parts, self._parts = tuple(self._parts), []
        self.ending = None
        return [Answer(MAIN, self._since, parts, usage, model=self.model)]

    def _prompt(self, event: Block, at: float | None) -> list[Step]:
        parts = tuple(part for block in as_blocks(event.get("content")) if (part := part_of(block)) is not None)
        said = Message("user", parts)
        self.title = self.title or (said.text.strip().splitlines() or [""])[0][:120]
        self.ending = None
        return [Prompt(MAIN, at, said)] if parts else []

    def _result(self, event: Block, at: float | None) -> Result:
        call = next((event[key] for key in event if key.endswith("tool_use_id") and isinstance(event[key], str)), "")
        content = content_text(event.get("content"))[0]
        denied = self._denied.get(call)
        by = None if denied is None else "person"
        return Result(MAIN, at, call, content, event.get("is_error") is True, by, denied or "")

    def _told(self, kind: str, event: Block) -> None:
        match kind:
            case "user.tool_confirmation" if event.get("result") == "deny":
                words = as_text(event.get("deny_message")) or DENIED_WITHOUT_REASON
                self._denied[as_text(event.get("tool_use_id"))] = words
            case "session.error":
                error = as_object(event.get("error"))
                self.ending = Failure(as_text(error.get("type")) or "error", as_text(error.get("message")))
            case "session.status_idle" if as_object(event.get("stop_reason")).get("type") == "end_turn":
                self.ending = Complete()
            case "user.interrupt":
                self.ending = Cancelled("interrupted by the user")
