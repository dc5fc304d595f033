"""OpenAI Responses → neutral steps: items, requests, responses, and streams whose last event holds the whole (formats.md §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loopkit.events import Failure
from loopkit.importers.blocks import Block, as_blocks, as_object, as_text, content_text, moment, part_of, token_count
from loopkit.importers.build import build
from loopkit.importers.call_arguments import call_of, compact
from loopkit.importers.codex_items import reasoning_of
from loopkit.importers.session import ForeignSession
from loopkit.importers.source import Source, Unreadable
from loopkit.importers.steps import MAIN, Answer, Note, Prompt, Result, Step, Thread
from loopkit.messages import Message, Part, StopReason, ToolCall, Usage
from loopkit.outcomes import DENIED_WITHOUT_REASON

NAME = "openai-responses"
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_STOPS = {"max_output_tokens": StopReason.MAX_TOKENS, "content_filter": StopReason.CONTENT_FILTER}
# Where the provider's own tools keep what they gave, within their call.
_OWN_RESULTS = ("output", "outputs", "results", "result")
_OF_NO_CALL = frozenset({"id", "call_id", "type", "status", "name", "server_label", *_OWN_RESULTS, "error"})


def read(source: Source) -> ForeignSession:
    """Read items, responses or streams, one after the other."""
    reader = _Reader()
    for value in source.values():
        reader.take(value)
    reader.close()
    thread = Thread(MAIN, "agent", reader.model, facts={"format": NAME, **reader.facts})
    built = build({MAIN: thread}, [_finished(step) for step in reader.steps], reader.ending)
    notices = list(dict.fromkeys([*source.notices(), *reader.notices, *built.notices]))  # a torn array is told by both
    title = reader.title or source.path.stem
    return ForeignSession(NAME, title, "agent", reader.model, built.events, notices, built.runs)


def is_stream_event(value: Any) -> bool:
    """Whether a value is an event of a streamed response."""
    return isinstance(value, dict) and as_text(value.get("type")).startswith("response.")


def is_response(value: Any) -> bool:
    """Whether a value is a whole response."""
    return isinstance(value, dict) and value.get("object") == "response" and isinstance(value.get("output"), list)


def is_own_item(value: Any) -> bool:
    """Whether a value is an item that no other provider writes."""
    kind = as_text(as_object(value).get("type"))
    return kind in ("function_call", "function_call_output") and "call_id" in value


@dataclass(slots=True, eq=False)
class _Response:
    at: float | None
    model: str | None = None
    parts: list[Part] = field(default_factory=list)
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    raw_stop_reason: str | None = None
    id: str | None = None


def _finished(step: Step | _Response) -> Step:
    if not isinstance(step, _Response):
        return step
    return Answer(
        MAIN, step.at, tuple(step.parts), step.usage, step.stop_reason, step.raw_stop_reason, step.model, step.id
    )


@dataclass(slots=True)
class _Reader:
    steps: list[Step | _Response] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    facts: Block = field(default_factory=dict)
    model: str | None = None
    title: str = ""
    ending: Failure | None = None
    _open: _Response | None = None
    _streamed: dict[str, Block] = field(default_factory=dict)
    _head: Block | None = None
    _asked: set[str] = field(default_factory=set)

    def take(self, value: Any) -> None:
        if isinstance(value, Unreadable):
            self.notices.append(value.words)
            self.note("unreadable", value.facts)
        elif is_stream_event(value):
            self.event(value)
        elif is_response(value):
            self.response(value)
        elif isinstance(value, dict) and ("input" in value and "type" not in value):
            self.request(value)
        elif isinstance(value, dict) and (isinstance(value.get("type"), str) or isinstance(value.get("role"), str)):
            self.item(value, None)
        else:
            self.note("value that is no item", value if isinstance(value, dict) else {"value": value})

    def close(self) -> None:
        """Take in what was still under way at the end of the file."""
        if self._head is not None:
            self.notices.append("the stream of the last response has no end")
            self.response(self._head)

    def note(self, name: str, data: Block) -> None:
        self.steps.append(Note(MAIN, None, name, data))

    # ── responses ────────────────────────────────────────────────────────────────────────────────────────────────────

    def event(self, event: Block) -> None:
        """Take in an event; what the last one says whole makes the pieces before it superfluous."""
        kind, response = event["type"], as_object(event.get("response"))
        if kind == "response.created":
            self.close()
            self._head, self._streamed = response, {}
        elif kind == "response.output_item.done":
            self._streamed[str(event.get("output_index"))] = as_object(event.get("item"))
        elif kind in _ENDS:
            self.response(response)

    def response(self, response: Block) -> None:
        output = response.get("output")
        items = [as_object(item) for item in output] if isinstance(output, list) and output else []
        at = moment(response.get("completed_at")) or moment(response.get("created_at"))
        items = items or list(self._streamed.values())
        self._head, self._streamed = None, {}
        self.model = self.model or as_text(response.get("model")) or None
        made = self._open = _Response(
            at, as_text(response.get("model")) or None, id=as_text(response.get("id")) or None
        )
        self.steps.append(made)
        made.usage = _usage(response.get("usage"))
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        if reason:
            made.stop_reason, made.raw_stop_reason = _STOPS.get(reason, StopReason.UNKNOWN), reason
        self.ending = None
        for item in items:
            self.item(item, at)
        error = as_object(response.get("error"))
        if error:
            self.ending = Failure(as_text(error.get("code")) or "error", as_text(error.get("message")))
        self._open = None

    def request(self, value: Block) -> None:
        """Take in a request, with the response that may stand beside it."""
        kept = ("input", "instructions", "output", "response")
        self.facts |= {key: item for key, item in value.items() if key not in kept}
        self.model = self.model or as_text(value.get("model")) or None
        words = as_text(value.get("instructions"))
        if words:
            self.steps.append(Prompt(MAIN, None, Message.system(words), "system", "context"))
        given = value["input"]
        for item in given if isinstance(given, list) else [{"role": "user", "content": given}]:
            self.take(item)
        for made in (value.get("response"), value):
            if isinstance(made, dict) and isinstance(made.get("output"), list):
                self.response(made)

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def item(self, item: Block, at: float | None) -> None:
        kind = as_text(item.get("type")) or "message"
        if kind == "message" and item.get("role") != "assistant":
            self.prompt(item, at)
        elif kind == "message":
            self.answer(at).parts += self.parts(item)
        elif kind == "reasoning":
            self.answer(at).parts.append(reasoning_of(item))
        elif kind == "mcp_approval_request":
            self.call(item, at)
        elif kind == "mcp_approval_response":
            self.approval(item, at)
        elif kind.endswith("_call"):
            self.call(item, at)
            self.own_result(item, at)
        elif kind.endswith("_call_output"):
            self._open = None
            self.result(as_text(item.get("call_id")), item.get("output"), at)
        else:
            self.note(f"item: {kind}", item)

    def answer(self, at: float | None) -> _Response:
        """Return the answer that items belong to; one that no response says is what stands between other items."""
        if self._open is None:
            self._open = _Response(at, self.model)
            self.steps.append(self._open)
            self.ending = None
        return self._open

    def prompt(self, item: Block, at: float | None) -> None:
        self._open = None
        parts = self.parts(item)
        if not parts:
            return
        own = item.get("role") in ("system", "developer")
        said = Message("system" if own else "user", tuple(parts))
        self.steps.append(Prompt(MAIN, at, said, "system" if own else "person", "context" if own else "task"))
        if not own and not self.title and said.text.strip():
            self.title = said.text.strip().splitlines()[0][:120]

    def parts(self, item: Block) -> list[Part]:
        parts: list[Part] = []
        for block in as_blocks(item.get("content")):
            part = part_of(block)
            if part is not None:
                parts.append(part)
            else:
                self.note(f"message block: {as_text(block.get('type'))}", block)
        return parts

    def call(self, item: Block, at: float | None) -> None:
        asked = as_text(item.get("approval_request_id"))
        if not (asked and asked in self._asked):
            call = _call(item)
            self._asked.add(call.id)
            self.answer(at).parts.append(call)

    def own_result(self, item: Block, at: float | None) -> None:
        """Take in what a tool of the provider gave; it stands in the call itself."""
        found = next((item[key] for key in _OWN_RESULTS if item.get(key) is not None), None)
        error = item.get("error")
        if found is None and error is None:
            return
        asked = as_text(item.get("approval_request_id"))
        identity = asked if asked in self._asked else _call(item).id
        self.result(identity, found if error is None else error, at, failed=error is not None)

    def approval(self, item: Block, at: float | None) -> None:
        self._open = None
        if item.get("approve") is False:
            reason = as_text(item.get("reason")) or DENIED_WITHOUT_REASON
            asked = as_text(item.get("approval_request_id"))
            self.steps.append(Result(MAIN, at, asked, reason, is_error=True, denied_by="person", reason=reason))
        else:
            self.note("mcp_approval_response", item)

    def result(self, identity: str, output: Any, at: float | None, *, failed: bool = False) -> None:
        is_plain = isinstance(output, str) or (isinstance(output, list) and all(map(_is_word, output)))
        content = content_text(output)[0] if is_plain else compact(output)
        self.steps.append(Result(MAIN, at, identity, content, failed))


def _is_word(block: Any) -> bool:
    return isinstance(block, dict) and as_text(block.get("type")) in (
        "input_text",
        "output_text",
        "text",
        "input_image",
    )


def _call(item: Mapping[str, Any]) -> ToolCall:
    """Return the call of an item; what the provider's own tools ask for stands in fields of their own."""
    kind = as_text(item.get("type"))
    identity = as_text(item.get("call_id")) or as_text(item.get("id"))
    server, name = as_text(item.get("server_label")), as_text(item.get("name")) or kind.removesuffix("_call")
    arguments = item.get("arguments")
    if kind == "custom_tool_call":
        arguments = {"input": item.get("input")}
    elif arguments is None:
        own = {key: value for key, value in item.items() if key not in _OF_NO_CALL and value is not None}
        arguments = own["action"] if isinstance(own.get("action"), dict) else own
    return call_of(identity, f"{server}.{name}" if server else name, arguments)


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    given, made = as_object(value.get("input_tokens_details")), as_object(value.get("output_tokens_details"))
    return Usage(
        token_count(value, "input_tokens"),
        token_count(value, "output_tokens"),
        token_count(given, "cached_tokens"),
        reasoning_tokens=token_count(made, "reasoning_tokens"),
    )
