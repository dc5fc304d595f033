"""Anthropic messages become timelines, in each of the forms that they are kept in (formats.md §5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopkit import events as e
from loopkit.debugger.nodes import LoopNode
from loopkit.importers.session import ForeignSession
from loopkit.messages import Image, Reasoning, StopReason, Text
from loopkit.outcomes import Cancelled, Complete, Deny
from tests.importers.claude_lines import read

USAGE = {"input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": 70}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}


def use(identity: str, name: str = "look", kind: str = "tool_use", **arguments: Any) -> dict[str, Any]:
    return {"type": kind, "id": identity, "name": name, "input": arguments}


def result(identity: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def conversation() -> list[dict[str, Any]]:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    return [
        {"role": "user", "content": "look around"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "I look."}, use("c1", at=1), use("c2")]},
        {"role": "user", "content": [result("c1", "a"), result("c2", [{"type": "text", "text": "no"}], is_error=True)]},
        {"role": "assistant", "content": "Nothing."},
    ]


def request() -> dict[str, Any]:
    return {"model": "claude-t", "system": "Be brief.", "max_tokens": 9, "messages": conversation()}


def response(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-t", "usage": USAGE}
    return {**head, "content": list(content), "stop_reason": "end_turn", **more}


def as_lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def root_of(folder: Path, content: str) -> tuple[ForeignSession, LoopNode]:
    session, timeline = read(folder, content)
    assert timeline.root is not None
    assert session.format == "anthropic-messages"
    return session, timeline.root


def notes_of(session: ForeignSession) -> list[str]:
    return [event.type for event in session.events if isinstance(event.fact, e.Unrecognised)]


@pytest.mark.parametrize(
    "content",
    [json.dumps(conversation(), indent=1), as_lines(*conversation()), json.dumps(request()), as_lines(request(), {})],
    ids=["list", "lines", "request", "line of a request"],
)
def test_messages_are_iterations_with_their_results(tmp_path: Path, content: str) -> None:
    session, root = root_of(tmp_path, content)
    first, second = root.iterations
    assert first.message is not None
    assert first.message.parts[:2] == (Reasoning("hm", "sig=="), Text("I look."))
    assert [(call.content, call.is_error) for call in first.calls] == [("a", False), ("no", True)]
    assert first.calls[0].arguments == {"at": 1}
    assert second.message is not None
    assert (second.message.text, root.reason, session.title) == ("Nothing.", Complete(), "look around")


def test_a_torn_list_is_read_as_far_as_it_goes_and_told_once(tmp_path: Path) -> None:
    whole = json.dumps(conversation())
    session, root = root_of(tmp_path, whole[: whole.index('{"role": "assistant", "content": "Nothing') + 9])
    assert (len(root.iterations), notes_of(session), len(session.notices)) == (1, ["unreadable"], 1)


def test_a_request_says_its_model_and_prompt(tmp_path: Path) -> None:
    session, root = root_of(tmp_path, json.dumps(request()))
    assert (session.model, root.started.messages[0].text) == ("claude-t", "Be brief.")
    assert root.started.configuration["max_tokens"] == 9


def test_a_response_brings_the_results_of_the_providers_own_tools(tmp_path: Path) -> None:
    """formats.md §5: `server_tool_use` and its result stand in the same message."""
    found = [{"type": "web_search_result", "url": "u"}]
    failed = {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}
    answer = response(
        use("s1", "web_search", "server_tool_use", query="q"),
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
        use("s2", "web_fetch", "server_tool_use"),
        {"type": "web_fetch_tool_result", "tool_use_id": "s2", "content": failed},
        {"type": "hologram"},
        {"type": "text", "text": "Found."},
    )
    session, root = root_of(tmp_path, json.dumps(answer))
    (iteration,) = root.iterations
    first, second = iteration.calls
    assert (first.name, first.content, first.is_error) == ("web_search", json.dumps(found), False)
    assert second.is_error
    assert iteration.usage is not None
    assert (iteration.usage.input_tokens, iteration.usage.cache_read_tokens) == (75, 70)
    assert iteration.stop_reason is StopReason.END_TURN
    assert notes_of(session) == ["answer block: hologram"]


def pieces(*, end: bool = True) -> list[dict[str, Any]]:
    def start(index: int, block: dict[str, Any]) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, kind: str, **more: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}

    found: list[dict[str, Any]] = [
        {"type": "message_start", "message": response(stop_reason=None)},
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking_delta", thinking="h"),
        delta(0, "thinking_delta", thinking="m"),
        delta(0, "signature_delta", signature="sig=="),
        {"type": "ping"},
        start(1, {"type": "text", "text": ""}),
        delta(1, "text_delta", text="I lo"),
        delta(1, "text_delta", text="ok."),
        start(2, use("c1")),
        delta(2, "input_json_delta", partial_json='{"at"'),
        delta(2, "input_json_delta", partial_json=": 1}"),
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 40}},
    ]
    return [*found, {"type": "message_stop"}] if end else found


def test_a_stream_is_put_together(tmp_path: Path) -> None:
    session, root = root_of(tmp_path, as_lines(*pieces(), *pieces()))
    for iteration in root.iterations:
        assert iteration.message is not None
        assert iteration.message.parts[:2] == (Reasoning("hm", "sig=="), Text("I look."))
        assert iteration.calls[0].arguments == {"at": 1}
        assert iteration.stop_reason is StopReason.TOOL_CALLS
        assert iteration.usage is not None
        assert iteration.usage.output_tokens == 40
    assert (len(root.iterations), session.model, session.notices) == (2, "claude-t", [])


def test_a_stream_that_breaks_off_is_told_and_its_arguments_named(tmp_path: Path) -> None:
    session, root = root_of(tmp_path, as_lines(*pieces(end=False)[:-3]))
    (call,) = root.iterations[0].calls
    assert [problem.message for problem in call.problems] == ["the arguments are not valid JSON"]
    assert session.notices == ["the stream of the last answer has no end"]


def captured(*events: dict[str, Any]) -> str:
    agent = {"name": "Scout", "model": {"id": "claude-t"}, "system": "Be brief."}
    stream = [["client.beta.sessions.events.stream", event] for event in events]
    sent = ["client.beta.sessions.events.send", ["s1", {"events": []}]]
    return as_lines(["client.beta.sessions.create", {"agent": agent}], sent, *stream)


def event(kind: str, seconds: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "processed_at": f"2026-07-06T17:00:{seconds:02d}Z", **fields}


def test_a_managed_session_is_read_with_what_a_person_decided(tmp_path: Path) -> None:
    """formats.md §5: allow and deny confirmations are real approvals."""
    words = [{"type": "text", "text": "look"}]
    session, root = root_of(
        tmp_path,
        captured(
            event("user.message", content=[*words, PICTURE]),
            event("span.model_request_start", 1),
            event("agent.thinking", 1),
            event("agent.message", 2, content=words),
            event("agent.mcp_tool_use", 2, id="t1", mcp_server_name="web", name="search", input={"q": 1}),
            event("agent.tool_use", 2, id="t2", name="fetch", input={}),
            event("span.model_request_end", 3, model_usage=USAGE),
            event("user.tool_confirmation", 4, tool_use_id="t1", result="deny", deny_message="Not today."),
            event("user.tool_confirmation", 4, tool_use_id="t2", result="allow"),
            event("agent.mcp_tool_result", 5, mcp_tool_use_id="t1", is_error=True, content=words),
            event("agent.tool_result", 6, tool_use_id="t2", is_error=False, content=words),
            event("agent.message", 7, content=words),
            event("session.status_idle", 8, stop_reason={"type": "end_turn"}),
        ),
    )
    first, second = root.iterations
    denied, ran = first.calls
    assert (denied.name, denied.decision, denied.decided_by) == ("web.search", Deny("Not today."), "person")
    assert (ran.name, ran.content, ran.executed) == ("fetch", "look", True)
    assert first.usage is not None
    assert (second.calls, root.reason) == ([], Complete())
    assert root.started.messages[1].parts[1] == Image("image/png", "QQ==")
    assert (session.agent, session.model, session.title) == ("Scout", "claude-t", "look")
    assert notes_of(session)[:2] == ["send", "span.model_request_start"]


@pytest.mark.parametrize(
    ("last", "ending"),
    [
        (event("user.interrupt"), Cancelled("interrupted by the user")),
        (event("session.error", error={"type": "overloaded", "message": "later"}), e.Failure("overloaded", "later")),
        (event("session.status_idle", stop_reason={"type": "requires_action"}), None),
    ],
)
def test_how_a_managed_session_ended(tmp_path: Path, last: dict[str, Any], ending: object) -> None:
    uses = event("agent.tool_use", id="t1", name="fetch", input={})
    _, root = root_of(tmp_path, captured(event("user.message", content=[{"type": "text", "text": "go"}]), uses, last))
    assert (root.failure or root.reason) == ending
    assert len(root.iterations[0].calls) == 1
