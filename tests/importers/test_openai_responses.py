"""OpenAI responses become timelines: items, requests, responses and streams (formats.md §4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopkit import events as e
from loopkit.debugger.nodes import LoopNode
from loopkit.importers.session import ForeignSession
from loopkit.messages import Reasoning, StopReason, Text
from loopkit.outcomes import Complete, Deny
from tests.importers.claude_lines import read

USAGE = {
    "input_tokens": 30,
    "output_tokens": 9,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens_details": {"reasoning_tokens": 4},
}


def said(words: str, role: str = "assistant") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def call(identity: str, arguments: str = '{"at": 1}', name: str = "look") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{identity}", "call_id": identity, "name": name, "arguments": arguments}


def output(identity: str, content: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": content}


def items() -> list[dict[str, Any]]:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gA=="}
    return [
        said("look around", "user"),
        thought,
        said("I look."),
        call("c1"),
        call("c2", "{"),
        output("c1", "a"),
        output("c2", [{"type": "input_text", "text": "no"}]),
        said("Nothing."),
    ]


def response(*made: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1764713372, "model": "gpt-t", "usage": USAGE}
    return {**head, "status": "completed", "error": None, "output": list(made), **more}


def stream(*made: dict[str, Any], end: bool = True, whole: bool = True) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response(status="in_progress", usage=None)},
        {"type": "response.output_text.delta", "delta": "I"},
    ]
    for index, item in enumerate(made):
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    if end:
        events.append({"type": "response.completed", "response": response(*(made if whole else ()))})
    return events


def as_lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def root_of(folder: Path, content: str) -> tuple[ForeignSession, LoopNode]:
    session, timeline = read(folder, content)
    assert timeline.root is not None
    assert session.format == "openai-responses"
    return session, timeline.root


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(items(), indent=1),
        as_lines(*items()),
        json.dumps({"model": "gpt-t", "input": items()}),
        json.dumps({"model": "gpt-t", "input": items()[:-1], "output": items()[-1:]}),
    ],
    ids=["list", "lines", "request", "request with its response"],
)
def test_items_between_outputs_are_one_iteration(tmp_path: Path, content: str) -> None:
    session, root = root_of(tmp_path, content)
    first, second = root.iterations
    assert first.message is not None
    assert first.message.parts[:2] == (Reasoning("hm", encrypted="gA=="), Text("I look."))
    assert [found.content for found in first.calls] == ["a", "no"]
    assert first.calls[0].arguments == {"at": 1}
    assert [problem.message for problem in first.calls[1].problems] == ["the arguments are not valid JSON"]
    assert second.message is not None
    assert (second.message.text, root.reason, session.title) == ("Nothing.", Complete(), "look around")


def test_a_request_says_its_prompt_and_settings(tmp_path: Path) -> None:
    content = {"model": "gpt-t", "instructions": "Be brief.", "temperature": 0, "input": items()}
    session, root = root_of(tmp_path, json.dumps(content))
    assert (session.model, root.started.messages[0].text) == ("gpt-t", "Be brief.")
    assert root.started.configuration["temperature"] == 0


@pytest.mark.parametrize("whole", [True, False])
def test_a_stream_is_what_its_last_event_holds_or_else_its_finished_items(tmp_path: Path, whole: bool) -> None:
    """formats.md §4: the final event holds the whole answer, so the deltas are superfluous."""
    both = [*stream(said("I look."), call("c1"), whole=whole), *stream(said("Done."), whole=whole)]
    session, root = root_of(tmp_path, as_lines(*both))
    first, second = root.iterations
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.cache_read_tokens, first.usage.reasoning_tokens) == (30, 20, 4)
    assert (len(first.calls), first.stop_reason, first.model) == (1, StopReason.TOOL_CALLS, "gpt-t")
    assert second.message is not None
    assert (second.message.text, session.notices) == ("Done.", [])


def test_a_stream_that_breaks_off_keeps_its_finished_items(tmp_path: Path) -> None:
    session, root = root_of(tmp_path, as_lines(*stream(said("I look."), end=False)))
    assert root.iterations[0].message is not None
    assert root.iterations[0].message.text == "I look."
    assert session.notices == ["the stream of the last response has no end"]


def test_cut_and_failed_responses_say_so(tmp_path: Path) -> None:
    cut = response(said("I l"), incomplete_details={"reason": "max_output_tokens"})
    session, root = root_of(tmp_path, json.dumps(cut))
    assert (root.iterations[0].stop_reason, session.model) == (StopReason.MAX_TOKENS, "gpt-t")
    failed = response(error={"code": "server_error", "message": "later"})
    assert root_of(tmp_path, as_lines(cut, failed))[1].failure == e.Failure("server_error", "later")


def test_the_providers_own_tools_keep_their_results_in_their_calls(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = [
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "code_interpreter_call", "id": "i", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "mcp_call", "id": "m", "server_label": "s", "name": "f", "arguments": '{"x": 1}', "error": "gone"},
        {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []},
        {"type": "shell_call", "call_id": "sh", "action": {"commands": ["ls"]}},
    ]
    told = {"type": "shell_call_output", "call_id": "sh", "output": [{"stdout": "a.txt"}]}
    session, root = root_of(tmp_path, as_lines(response(*made), told))
    web, code, mcp, shell = root.iterations[0].calls
    assert (web.name, web.arguments, web.content) == ("web_search", {"type": "search", "query": "q"}, None)
    assert (code.arguments, code.content) == ({"code": "1+1"}, '[{"type": "logs", "logs": "2"}]')
    assert (mcp.name, mcp.arguments, mcp.content, mcp.is_error) == ("s.f", {"x": 1}, "gone", True)
    assert (shell.arguments, shell.content) == ({"commands": ["ls"]}, '[{"stdout": "a.txt"}]')
    assert [event.type for event in session.events if isinstance(event.fact, e.Unrecognised)] == [
        "item: mcp_list_tools"
    ]


def test_approvals_of_mcp_calls_are_a_persons(tmp_path: Path) -> None:
    """formats.md §4: `mcp_approval_request` and its response; an approved call comes again as one with its output."""
    asks = [
        {"type": "mcp_approval_request", "id": f"ask{number}", "server_label": "s", "name": "f", "arguments": "{}"}
        for number in (1, 2)
    ]
    answers = [
        {"type": "mcp_approval_response", "approval_request_id": "ask1", "approve": False, "reason": "Too dear."},
        {"type": "mcp_approval_response", "approval_request_id": "ask2", "approve": True},
    ]
    ran = {"type": "mcp_call", "id": "m", "approval_request_id": "ask2", "name": "f", "arguments": "{}", "output": "ok"}
    session, root = root_of(tmp_path, as_lines(response(*asks), *answers, response(ran, said("Done."))))
    denied, approved = root.iterations[0].calls
    assert (denied.decision, denied.decided_by, denied.executed) == (Deny("Too dear."), "person", False)
    assert (approved.content, approved.executed) == ("ok", True)
    assert [len(each.calls) for each in root.iterations] == [2, 0]
    assert session.notices == []


def test_what_is_no_item_stays_as_a_note(tmp_path: Path) -> None:
    """formats.md §0.5"""
    session, _ = root_of(tmp_path, as_lines(*items(), {"type": "hologram"}, {"no": "type"}) + '{"type": "mess')
    notes = [event.type for event in session.events if isinstance(event.fact, e.Unrecognised)]
    assert notes == ["item: hologram", "value that is no item", "unreadable"]
