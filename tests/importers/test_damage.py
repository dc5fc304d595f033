"""Damaged and hostile files: never a crash, never a silent loss (formats.md §0.3, §0.7)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit import events as e
from tests.importers.claude_lines import Lines, answer_message, call, read, read_or_refuse, text
from tests.importers.codex_lines import Rollout, command
from tests.importers.test_anthropic_messages import as_lines as anthropic_lines
from tests.importers.test_anthropic_messages import captured, event, pieces
from tests.importers.test_anthropic_messages import conversation as conversation_in_blocks
from tests.importers.test_gemini_cli import as_lines, conversation
from tests.importers.test_openai_responses import items, stream


def _claude_bytes() -> bytes:
    lines = Lines()
    lines.prompt("Grüße")
    lines.answer("m1", text("ok"), call("t1", "Task", prompt="p", subagent_type="scout"))
    inner = {"type": "assistant", "message": answer_message("s1", call("s-c1"))}
    lines.progress("t1", type="agent_progress", agentId="a1", message=inner)
    lines.result("t1", "found", toolUseResult={"agentId": "a1"})
    lines.answer("m2", text("done"))
    return lines.text().encode()


def _chat_bytes() -> bytes:
    asks = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a":1}'}}]}
    answers = {"role": "tool", "tool_call_id": "c", "content": "x"}
    run = {"task_id": 1, "reward": 1, "traj": [{"role": "user", "content": "hi"}, asks, answers]}
    return json.dumps([run, run]).encode()


def _codex_bytes() -> bytes:
    lines = Rollout()
    lines.prompt("Grüße")
    lines.says("ok")
    lines.asks("c1", "spawn_agent", message="p")
    lines.event("collab_agent_spawn_end", call_id="c1", new_thread_id="child-0001", prompt="p")
    lines.gets("c1", command("found"))
    lines.tokens(5, 1)
    lines.event("turn_aborted", reason="interrupted")
    return lines.text().encode()


def _gemini_bytes() -> bytes:
    return as_lines(*conversation()).encode()


def _anthropic_bytes() -> bytes:
    call = event("agent.mcp_tool_use", id="t1", mcp_server_name="web", name="search", input={"q": 1})
    return (anthropic_lines(*conversation_in_blocks(), *pieces()) + captured(call)).encode()


def _responses_bytes() -> bytes:
    return anthropic_lines(*items(), *stream(*items()[1:4])).encode()


FILES = [_claude_bytes(), _chat_bytes(), _codex_bytes(), _gemini_bytes(), _anthropic_bytes(), _responses_bytes()]
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _reads_or_refuses(path: Path, data: bytes, format_name: str | None = None) -> None:
    path.write_bytes(data)
    session = read_or_refuse(path, format_name)
    assert session is None or session.events


@pytest.mark.parametrize("data", FILES)
def test_cut_at_any_place(tmp_path: Path, data: bytes) -> None:
    for end in range(0, len(data), 7):
        _reads_or_refuses(tmp_path / "f", data[:end])


@QUICK
@given(data=st.sampled_from(FILES), at=st.integers(0, 3000), garble=st.binary(max_size=6), drop=st.integers(0, 60))
def test_garbled_bytes(tmp_path: Path, data: bytes, at: int, garble: bytes, drop: int) -> None:
    place = at % len(data)
    _reads_or_refuses(tmp_path / "f", data[:place] + garble + data[place + drop :])


SCALARS: Any = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
KEYS = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "message",
        "id",
        "input",
        "tool_use_id",
        "tool_calls",
        "function",
        "arguments",
        "usage",
        "text",
        "uuid",
        "parentUuid",
        "data",
        "agentId",
        "parentToolUseID",
        "toolUseResult",
        "isSidechain",
        "timestamp",
        "sessionId",
        "traj",
        "reward",
        "messages",
        "system",
        "response",
        "object",
        "output_index",
        "item",
        "approve",
        "index",
        "content_block",
        "delta",
        "toolCalls",
        "thoughts",
        "tokens",
        "result",
        "args",
        "payload",
        "call_id",
        "output",
        "info",
        "last_token_usage",
        "new_thread_id",
        "agent_statuses",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "progress",
        "agent_progress",
        "tool_use",
        "tool_result",
        "text",
        "thinking",
        "image",
        "tool",
        "system",
        "response.created",
        "response.completed",
        "mcp_call",
        "mcp_approval_response",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "input_json_delta",
        "gemini",
        "response_item",
        "event_msg",
        "session_meta",
        "turn_context",
        "compacted",
        "function_call",
        "function_call_output",
        "web_search_call",
        "token_count",
        "collab_agent_spawn_end",
        "collab_waiting_end",
        "x",
    ]
)
ANYTHING = st.recursive(
    SCALARS | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=12
)


@QUICK
@given(
    values=st.lists(ANYTHING, max_size=5),
    name=st.sampled_from(
        ["anthropic-messages", "claude-code", "codex", "gemini-cli", "openai-chat", "openai-responses"]
    ),
)
def test_values_of_any_shape(tmp_path: Path, values: list[Any], name: str) -> None:
    text_lines = "\n".join(json.dumps(value) for value in values).encode()
    for format_name in (name, None):
        _reads_or_refuses(tmp_path / "f", text_lines, format_name)
        _reads_or_refuses(tmp_path / "f", json.dumps(values).encode(), format_name)


@QUICK
@given(
    data=st.sampled_from(
        [
            (_claude_bytes(), "claude-code"),
            (_codex_bytes(), "codex"),
            (_gemini_bytes(), "gemini-cli"),
            (anthropic_lines(*pieces()).encode(), "anthropic-messages"),
            (_responses_bytes(), "openai-responses"),
        ]
    ),
    changes=st.lists(st.tuples(st.integers(0, 3), KEYS, ANYTHING), max_size=4),
)
def test_records_with_fields_of_the_wrong_kind(
    tmp_path: Path, data: tuple[bytes, str], changes: list[tuple[int, str, Any]]
) -> None:
    records = [json.loads(line) for line in data[0].splitlines()]
    for index, key, value in changes:
        target = records[index]
        inner = target.get("message", target.get("payload"))
        if isinstance(inner, dict) and key in inner:
            target = inner
        target[key] = value
    _reads_or_refuses(tmp_path / "f", b"\n".join(json.dumps(record).encode() for record in records), data[1])


def test_hostile_characters_arrive_as_they_are(tmp_path: Path) -> None:
    words = "\x00 \x1b[31m \ud800 \u202e \u2028"
    lines = Lines()
    lines.prompt(words)
    session, _ = read(tmp_path, lines.text())
    started = session.events[0].fact
    assert isinstance(started, e.LoopStarted)
    assert started.messages[0].text == words


def test_bytes_that_are_not_utf8_are_replaced_and_told(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("a?b")
    session, _ = read(tmp_path, lines.text().encode().replace(b"a?b", b"a\xffb"))
    assert session.title == "a\ufffdb"
    assert session.notices == ["bytes that are not UTF-8 are shown as \ufffd (lines: 1)"]


def test_numbers_of_any_size_stay_exact(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    digits = "1" * 5000
    lines.answer("m1", call("c1", big=10**30, huge="HUGE", infinite="INF"))
    content = lines.text().replace('"HUGE"', digits).replace('"INF"', "[1e999, NaN]")
    session, timeline = read(tmp_path, content)
    assert timeline.calls["root/1.1"].arguments == {"big": 10**30, "huge": digits, "infinite": ["1e999", "NaN"]}
    assert session.notices == []


def test_nesting_without_end_is_unreadable_not_a_crash(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    deep = '{"type":"user","x":' + "[" * 200_000
    session, _ = read(tmp_path, lines.text() + deep)
    assert session.notices == [f"unreadable {len(deep):,} bytes at offset {len(lines.text()):,}"]


def test_long_lines_and_long_damage_are_read_in_time(tmp_path: Path) -> None:
    """formats.md §12: one 1 MB single line."""
    lines = Lines()
    lines.prompt("x" * 1_000_000)
    torn = '{"a":' * 200_000
    began = time.process_time()
    session, _ = read(tmp_path, lines.text() + torn + "\n" + "\0" * 1_000_000)
    assert time.process_time() - began < 3
    assert len(session.notices) == 2
