"""Codex sessions become timelines (formats.md §2)."""

from __future__ import annotations

import json
from pathlib import Path

from loopkit import events as e
from loopkit.debugger.nodes import CallStatus, LoopNode
from loopkit.importers.session import ForeignSession
from loopkit.messages import Image, Reasoning, Text
from loopkit.outcomes import Cancelled, Complete, Deny
from tests.importers.claude_lines import read
from tests.importers.codex_lines import Rollout, command


def root_of(folder: Path, lines: Rollout) -> tuple[ForeignSession, LoopNode]:
    session, timeline = read(folder, lines.text())
    assert timeline.root is not None
    return session, timeline.root


def notes_of(session: ForeignSession) -> list[str]:
    return [event.type for event in session.events if isinstance(event.fact, e.Unrecognised)]


def test_items_between_outputs_are_one_iteration(tmp_path: Path) -> None:
    """formats.md §2: no response id, so an answer ends where an output or a user's item stands."""
    lines = Rollout(base_instructions={"text": "You are Codex."}, model_provider="openai")
    lines.add("turn_context", model="gpt-test", approval_policy="never")
    lines.prompt("look around")
    lines.item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="gAAA=")
    lines.event("agent_reasoning", text="hm")
    lines.says("I look.")
    lines.asks("c1", cmd="ls")
    lines.asks("c2", cmd="pwd")
    lines.gets("c1", command("a.txt\n"))
    lines.gets("c2", command("/w\n"))
    lines.says("One file.")
    lines.event("task_complete", last_agent_message="One file.")
    session, root = root_of(tmp_path, lines)
    first, second = root.iterations
    assert first.message is not None
    assert first.message.parts[:2] == (Reasoning("hm", encrypted="gAAA="), Text("I look."))
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("exec_command", {"cmd": "ls"}),
        ("exec_command", {"cmd": "pwd"}),
    ]
    assert [call.content for call in first.calls] == [command("a.txt\n"), command("/w\n")]
    assert (second.calls, root.reason) == ([], Complete())
    assert [message.role for message in root.started.messages] == ["system", "user"]
    assert (session.format, session.agent, session.model, session.title) == (
        "codex",
        "codex",
        "gpt-test",
        "look around",
    )
    assert root.started.configuration["cli_version"] == "0.141.0"


def test_each_text_stands_once(tmp_path: Path) -> None:
    """formats.md §2: every text is stored twice; only an event that says something of its own is kept."""
    lines = Rollout()
    lines.prompt("go")
    lines.says("done")
    lines.event("agent_message", message="never an item")
    session, root = root_of(tmp_path, lines)
    assert len(root.iterations) == 1
    assert notes_of(session) == ["agent_message"]


def test_polling_keeps_every_call(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c0", cmd="make", yield_time_ms=1000)
    lines.gets("c0", command("", None))
    for number in range(1, 4):
        lines.asks(f"c{number}", "write_stdin", session_id=7, chars="")
        lines.gets(f"c{number}", command("", None, chunk=f"{number:06x}"))
    _, root = root_of(tmp_path, lines)
    assert [call.name for each in root.iterations for call in each.calls] == ["exec_command", *["write_stdin"] * 3]
    assert not any(call.is_error for each in root.iterations for call in each.calls)
    assert root.reason is None, "the last output still waits for an answer"


def test_custom_and_built_in_calls(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.item("custom_tool_call", call_id="p", name="apply_patch", input="*** Begin Patch", status="completed")
    lines.item("custom_tool_call_output", call_id="p", output=[{"type": "input_text", "text": "Success."}])
    lines.item("tool_search_call", call_id="s", arguments={"query": "x"})
    lines.item("tool_search_output", call_id="s", tools=[{"name": "found"}])
    lines.item("local_shell_call", call_id="l", action={"type": "exec", "command": ["ls"]})
    lines.gets("l", {"content": "a.txt", "success": True})
    lines.item("web_search_call", id="w", status="completed", action={"type": "search", "query": "q"})
    lines.item("function_call", name="list", namespace="mail", call_id="m", arguments=None)
    lines.gets("m", {"type": "input_text", "text": "none"})
    lines.says("Done.")
    session, root = root_of(tmp_path, lines)
    calls = [call for each in root.iterations for call in each.calls]
    assert [(call.name, call.arguments) for call in calls] == [
        ("apply_patch", {"input": "*** Begin Patch"}),
        ("tool_search", {"query": "x"}),
        ("local_shell", {"type": "exec", "command": ["ls"]}),
        ("web_search", {"type": "search", "query": "q"}),
        ("mail.list", {}),
    ]
    assert [call.content for call in calls] == ["Success.", '[{"name": "found"}]', "a.txt", None, "none"]
    assert calls[3].status is CallStatus.UNANSWERED, "searches of the provider never get an output"
    assert session.notices == []


def test_failures_are_told_by_exit_codes_words_and_events(tmp_path: Path) -> None:
    """formats.md §2: exit status is usually text in the output."""
    lines = Rollout()
    lines.prompt("go")
    outputs = [
        command("no match", 1),
        '{"output":"boom","metadata":{"exit_code":2,"duration_seconds":0.1}}',
        "Exit code: 3\nWall time: 0.1 seconds\nOutput:\nboom",
        "aborted by user after 29.7s",
        "apply_patch verification failed: no such line",
        {"content": "no", "success": False},
        "an event says so",
        command("fine: Process exited with code 1"),
        '{"output":"Process exited with code 1","metadata":{"exit_code":0}}',
    ]
    for number, output in enumerate(outputs):
        lines.asks(f"c{number}", cmd=str(number))
        if number == 6:
            lines.event("mcp_tool_call_end", call_id="c6", result={"Err": "gone"})
        lines.gets(f"c{number}", output)
    _, root = root_of(tmp_path, lines)
    failed = [call.is_error for each in root.iterations for call in each.calls]
    assert failed == [True] * 7 + [False] * 2


def test_refused_calls_name_who_refused_them(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c1", cmd="rm -rf /")
    lines.gets("c1", "exec command rejected by user")
    lines.asks("c2", cmd="curl")
    lines.gets("c2", "This action was rejected due to unacceptable risk.\nReason: it sends files away.")
    _, root = root_of(tmp_path, lines)
    first, second = (each.calls[0] for each in root.iterations)
    assert (first.decision, first.decided_by, first.executed) == (Deny(), "person", False)
    assert (second.decided_by, second.executed) == ("policy: automatic review", False)


def test_tokens_belong_to_the_answer_they_follow(tmp_path: Path) -> None:
    """formats.md §2: `last_token_usage` is one answer's, `info` can be null, and reports are repeated."""
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c1", cmd="ls")
    lines.gets("c1", "x")
    lines.tokens(100, 5, cached_input_tokens=80, reasoning_output_tokens=2)
    lines.records.append(lines.records[-1])
    lines.event("token_count", info=None, rate_limits={})
    lines.says("Half.")
    lines.tokens(120, 7)
    lines.says("Done.")
    session, root = root_of(tmp_path, lines)
    usages = [each.usage for each in root.iterations]
    assert [(one.input_tokens, one.output_tokens) if one else None for one in usages] == [(100, 5), (120, 7), None]
    assert usages[0] is not None
    assert (usages[0].cache_read_tokens, usages[0].reasoning_tokens) == (80, 2)
    assert notes_of(session) == ["token_count"]


def test_tokens_of_older_builds_stand_before_their_answer(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.tokens(100, 5)
    lines.asks("c1", cmd="ls")
    lines.gets("c1", "x")
    lines.tokens(120, 7)
    lines.says("Done.")
    _, root = root_of(tmp_path, lines)
    assert [each.usage.output_tokens if each.usage else None for each in root.iterations] == [5, 7]


def test_tokens_of_a_compaction_are_no_answers(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.says("One.")
    lines.tokens(100, 5)
    lines.tokens(90, 50)
    lines.add("compacted", message="What was said so far: little.", replacement_history=[{"type": "message"}])
    lines.says("Two.")
    lines.tokens(20, 6)
    session, root = root_of(tmp_path, lines)
    assert [each.usage.output_tokens if each.usage else None for each in root.iterations] == [5, 6]
    injected = [event.fact for event in session.events if isinstance(event.fact, e.MessagesInjected)]
    assert [(fact.by, fact.messages[0].text) for fact in injected] == [("compaction", "What was said so far: little.")]
    assert notes_of(session) == ["token_count", "compacted"]


def test_what_the_program_says_as_a_user_is_not_the_persons(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("<environment_context>\n<cwd>/w</cwd>\n</environment_context>", typed=False)
    lines.prompt("# Context from my IDE setup:\n\n## My request for Codex:\nfix it\nplease")
    lines.says("Done.")
    lines.prompt("<b>bold</b>, why?")
    lines.item("message", role="developer", content=[{"type": "input_text", "text": "mode changed"}])
    lines.item("agent_message", author="helper", content=[{"type": "input_text", "text": "found it"}])
    session, root = root_of(tmp_path, lines)
    assert session.title == "fix it"
    assert len(root.started.messages) == 2
    injected = [event.fact for event in session.events if isinstance(event.fact, e.MessagesInjected)]
    assert [fact.by for fact in injected] == ["person", "system", "helper"]


def test_an_aborted_turn_is_a_cancellation_until_the_session_goes_on(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c1", cmd="sleep 99")
    lines.gets("c1", "aborted by user after 29.7s")
    lines.prompt("<turn_aborted>\nThe user interrupted.\n</turn_aborted>", typed=False)
    lines.event("turn_aborted", reason="interrupted")
    assert root_of(tmp_path, lines)[1].reason == Cancelled("interrupted by the user")
    lines.event("task_started")
    lines.prompt("try again")
    assert root_of(tmp_path, lines)[1].reason is None
    lines.says("Done.")
    lines.event("task_complete")
    assert root_of(tmp_path, lines)[1].reason == Complete()


def test_an_error_ends_the_session_unless_it_goes_on(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.event("error", message="usage limit reached", codex_error_info="usage_limit_exceeded")
    lines.event("task_complete", last_agent_message=None)
    session, root = root_of(tmp_path, lines)
    assert root.failure == e.Failure("usage_limit_exceeded", "usage limit reached")
    assert notes_of(session) == ["error", "task_complete"]
    lines.prompt("go on")
    lines.says("Here I am.")
    assert root_of(tmp_path, lines)[1].reason == Complete()


def test_pictures_of_people_and_tools(tmp_path: Path) -> None:
    lines = Rollout()
    picture = {"type": "input_image", "image_url": "data:image/png;base64,QQ=="}
    lines.item("message", role="user", content=[{"type": "input_text", "text": "see"}, picture])
    lines.asks("c1", "view_image", path="a.png")
    lines.gets("c1", [picture])
    session, root = root_of(tmp_path, lines)
    assert root.started.messages[0].parts[1] == Image("image/png", "QQ==")
    assert root.iterations[0].calls[0].content == "[image/png]"
    assert notes_of(session) == ["output block: input_image"]


def test_damaged_arguments_are_named(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.item("function_call", name="exec_command", call_id="c1", arguments='{"cmd": "l')
    _, root = root_of(tmp_path, lines)
    replied = root.iterations[0].calls[0]
    assert [problem.message for problem in replied.problems] == ["the arguments are not valid JSON"]


def test_sub_agent_without_a_file_is_shown_with_what_is_known(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c1", "spawn_agent", message="find it")
    lines.event(
        "collab_agent_spawn_end", call_id="c1", new_thread_id="child-0001", new_agent_role="scout", prompt="find it"
    )
    lines.gets("c1", '{"agent_id":"child-0001"}')
    lines.asks("c2", "wait_agent", ids=["child-0001"])
    lines.event(
        "collab_waiting_end",
        call_id="c2",
        agent_statuses=[{"thread_id": "child-0001", "status": {"completed": "found"}}],
    )
    lines.gets("c2", "found")
    lines.says("Found.")
    session, timeline = read(tmp_path, lines.text())
    child = timeline.loops["root/1.1#1"]
    assert (child.agent, child.reason) == ("scout", Complete())
    assert child.started.messages[0].text == "find it"
    assert (session.runs, timeline.depth) == (1, 1)


def test_sub_agent_is_read_from_its_own_file(tmp_path: Path) -> None:
    """formats.md §2: a child's session is a file of its own, named by its id."""
    child = Rollout("child-0001", parent_thread_id="5e551011-0001", agent_role="scout")
    child.add("turn_context", model="gpt-small")
    child.prompt("find it")
    child.asks("k1", cmd="find")
    child.gets("k1", command("a.txt"))
    child.says("It is a.txt.")
    (tmp_path / "rollout-2026-06-22T12-00-00-child-0001.jsonl").write_text(child.text())
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c1", "spawn_agent", message="find it")
    lines.event("sub_agent_activity", kind="started", event_id="c1", agent_thread_id="child-0001")
    lines.gets("c1", '{"agent_id":"child-0001"}')
    _, timeline = read(tmp_path, lines.text(), "rollout-2026-06-22T11-59-00-5e551011-0001.jsonl")
    loop = timeline.loops["root/1.1#1"]
    assert [call.content for each in loop.iterations for call in each.calls] == [command("a.txt")]
    assert loop.started.model == "gpt-small"


def test_older_builds_write_bare_items(tmp_path: Path) -> None:
    """formats.md §2, Old: a flat first line, then items without an envelope; still older ones are one document."""
    header = {"id": "5e551011", "timestamp": "2025-05-01T10:00:00.000Z", "instructions": None}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command": ["ls"]}'},
        {"type": "function_call_output", "call_id": "c", "output": "a.txt"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a.txt"}]},
    ]
    state = {"record_type": "state"}
    as_lines = "".join(json.dumps(record) + "\n" for record in [header, state, *items])
    as_document = json.dumps({"session": header, "items": items}, indent=1)
    for content in (as_lines, as_document):
        session, timeline = read(tmp_path, content)
        assert timeline.root is not None
        assert (session.format, len(timeline.root.iterations), len(timeline.calls)) == ("codex", 2, 1)
        assert timeline.root.reason == Complete()


def test_a_torn_file_is_read_to_its_end(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    lines.asks("c1", cmd="ls")
    whole = lines.text()
    lines.gets("c1", "a.txt")
    session, timeline = read(tmp_path, lines.text()[: len(whole) + 60])
    assert timeline.calls["root/1.1"].status is CallStatus.RECEIVED
    assert session.notices == [f"unreadable 60 bytes at offset {len(whole)}"]


def test_unknown_records_stay_as_notes(tmp_path: Path) -> None:
    """formats.md §0.5"""
    lines = Rollout()
    lines.add("world_state", full=True)
    lines.prompt("go")
    lines.event("brand_new", n=1)
    lines.item("ghost_snapshot", ghost_commit={})
    lines.add("session_meta", id="5e551011-0002")
    lines.says("Done.")
    session, _ = root_of(tmp_path, lines)
    assert notes_of(session) == ["world_state", "brand_new", "item: ghost_snapshot", "session_meta"]
    assert session.notices == ["begun, gone on with or forked in one file: 2 times"]


def test_a_turn_with_the_settings_of_the_one_before_says_nothing(tmp_path: Path) -> None:
    lines = Rollout()
    lines.prompt("go")
    for turn, model in enumerate(["gpt-a", "gpt-a", "gpt-b"]):
        lines.add("turn_context", turn_id=str(turn), model=model)
        lines.asks(f"c{turn}", cmd="ls")
        lines.gets(f"c{turn}", "x")
    session, root = root_of(tmp_path, lines)
    assert notes_of(session) == ["turn_context", "turn_context"]
    assert [each.model for each in root.iterations] == ["gpt-a", "gpt-a", "gpt-b"]
    assert session.model == "gpt-a"
