"""Gemini CLI sessions become timelines (formats.md §3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopkit import events as e
from loopkit.debugger.nodes import LoopNode
from loopkit.importers.session import ForeignSession
from loopkit.messages import Image, Reasoning, Text
from loopkit.outcomes import Cancelled, Complete, Deny
from tests.importers.claude_lines import read

META = {"sessionId": "5e551011", "projectHash": "abc", "startTime": "2026-04-23T12:00:00.000Z"}


def message(identity: str, kind: str, content: Any, seconds: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "timestamp": f"2026-04-23T12:00:{seconds:02d}.000Z",
        "type": kind,
        "content": content,
        **more,
    }


def call(identity: str, name: str, output: Any = None, status: str = "success", **args: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"id": identity, "name": name, "args": args, "status": status}
    if output is not None:
        response = output if isinstance(output, dict) else {"output": output}
        found["result"] = [{"functionResponse": {"id": identity, "name": name, "response": response}}]
    return {**found, "timestamp": "2026-04-23T12:00:30.000Z"}


def as_lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in (META, *records))


def as_document(*messages: Any) -> str:
    return json.dumps({**META, "summary": "Reading", "messages": messages}, indent=2)


def root_of(folder: Path, content: str) -> tuple[ForeignSession, LoopNode]:
    session, timeline = read(folder, content)
    assert timeline.root is not None
    return session, timeline.root


def notes_of(session: ForeignSession) -> list[str]:
    return [event.type for event in session.events if isinstance(event.fact, e.Unrecognised)]


def conversation() -> list[dict[str, Any]]:
    tokens = {"input": 100, "output": 5, "cached": 80, "thoughts": 7, "tool": 2, "total": 114}
    thought = {"subject": "Plan", "description": "I read."}
    calls = [call("c1", "read_file", "text", path="a"), call("c2", "read_file", "more", path="b")]
    return [
        message("u1", "user", [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}]),
        message("g1", "gemini", "I look.", 5, thoughts=[thought], tokens=tokens, model="gemini-t", toolCalls=calls),
        message("g2", "gemini", "Two files.", 31, model="gemini-t", tokens={"input": 0, "output": 0}),
    ]


@pytest.mark.parametrize("written", [as_lines, as_document])
def test_a_message_of_the_model_is_an_iteration_with_its_calls_and_their_results(tmp_path: Path, written: Any) -> None:
    session, root = root_of(tmp_path, written(*conversation()))
    first, second = root.iterations
    assert first.message is not None
    assert first.message.parts[:2] == (Reasoning("Plan\nI read."), Text("I look."))
    assert [(found.name, found.arguments, found.content) for found in first.calls] == [
        ("read_file", {"path": "a"}, "text"),
        ("read_file", {"path": "b"}, "more"),
    ]
    assert first.calls[0].ended_at == 30
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_tokens) == (102, 12, 80)
    assert first.usage.reasoning_tokens == 7
    assert second.usage is None, "nothing was counted"
    assert root.started.messages[0].parts[1] == Image("image/png", "QQ==")
    assert (session.format, session.agent, session.model) == ("gemini-cli", "gemini-cli", "gemini-t")
    assert session.title == ("Reading" if written is as_document else "look")
    assert (root.reason, session.notices) == (Complete(), [])


def test_a_message_that_is_written_again_counts_once_and_the_last_wins(tmp_path: Path) -> None:
    user, first, second = conversation()
    early = {key: value for key, value in first.items() if key != "toolCalls"}
    patch = {"$set": {"lastUpdated": "2026-04-23T12:00:40.000Z", "summary": "Better title"}}
    session, root = root_of(tmp_path, as_lines(user, early, patch, first, patch, second))
    assert [len(each.calls) for each in root.iterations] == [2, 0]
    assert session.title == "Better title"
    assert root.started.configuration["lastUpdated"] == "2026-04-23T12:00:40.000Z"


def test_failures_cancellations_and_refusals_are_told_apart(tmp_path: Path) -> None:
    calls = [
        call("c1", "a", {"error": "no such file"}, "error"),
        call("c2", "a", {"error": "[Operation Cancelled] Reason: User did not allow tool call"}, "cancelled"),
        call("c3", "a", {"error": "[Operation Cancelled] Reason: User cancelled the operation."}, "cancelled"),
        call("c4", "a", None, "executing"),
        call("c5", "a", {"rows": [1]}),
    ]
    _, root = root_of(tmp_path, as_lines(message("u", "user", "go"), message("g", "gemini", "", toolCalls=calls)))
    failed, refused, cancelled, running, odd = root.iterations[0].calls
    assert (failed.is_error, failed.content) == (True, "no such file")
    assert (refused.decision, refused.decided_by, refused.executed) == (Deny(), "person", False)
    assert (cancelled.is_error, cancelled.decision) == (True, None)
    assert running.content is None
    assert (odd.content, odd.is_error) == ('{"rows": [1]}', False)


def test_the_end_is_what_was_said_last(tmp_path: Path) -> None:
    start = [message("u", "user", "go"), message("g", "gemini", "", toolCalls=[call("c", "a", "x")])]
    cancelled = message("i", "info", "Request cancelled.")
    assert root_of(tmp_path, as_lines(*start, cancelled))[1].reason == Cancelled("interrupted by the user")
    failed = message("e", "error", "quota exceeded")
    session, root = root_of(tmp_path, as_lines(*start, failed))
    assert root.failure == e.Failure("error", "quota exceeded")
    assert notes_of(session) == ["error"]
    went_on = [message("u2", "user", "again"), message("g2", "gemini", "fine")]
    assert root_of(tmp_path, as_lines(*start, cancelled, *went_on))[1].reason == Complete()


def test_what_the_program_says_as_a_user_is_not_the_persons(tmp_path: Path) -> None:
    records = [
        *conversation(),
        message("u2", "user", [{"text": "System: Please continue."}]),
        message("g3", "gemini", "ok"),
    ]
    session, _ = root_of(tmp_path, as_lines(*records))
    assert [event.fact.by for event in session.events if isinstance(event.fact, e.MessagesInjected)] == ["gemini-cli"]


def test_unknown_records_and_parts_stay_as_notes(tmp_path: Path) -> None:
    """formats.md §0.5"""
    records = [
        message("i", "info", "Update available"),
        message("u", "user", [{"text": "go"}, {"fileData": {"uri": "x"}}]),
        {"$rewindTo": "u"},
        [1],
        message("g", "gemini", "ok"),
    ]
    session, root = root_of(tmp_path, as_lines(*records) + '{"id": "g9", "ty')
    assert notes_of(session) == ["info", "user part", "record", "line that is no record", "unreadable"]
    assert (len(root.iterations), len(session.notices)) == (1, 1)
