"""Claude Code sessions become timelines (formats.md §1)."""

from __future__ import annotations

import json
from pathlib import Path

from loopkit import events as e
from loopkit.debugger.nodes import CallStatus
from loopkit.messages import Image, Reasoning, StopReason
from loopkit.outcomes import Cancelled, Complete, Deny
from tests.importers.claude_lines import Lines, answer_message, call, read, text

REFUSAL = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. no file was written). "


def _notes(events: list[e.Event]) -> list[str]:
    return [event.type for event in events if isinstance(event.fact, e.Unrecognised)]


def test_lines_that_share_an_id_are_one_iteration_with_the_largest_usage(tmp_path: Path) -> None:
    """formats.md §1: one content block per line; usage is repeated on each and never summed."""
    lines = Lines()
    lines.prompt("look around")
    lines.answer("m1", {"type": "thinking", "thinking": "", "signature": "sig=="}, output=1)
    lines.answer("m1", text("I look."), output=1)
    lines.answer("m1", call("c1", command="ls"), output=40)
    lines.result("c1", "a.txt")
    last = lines.answer("m2", text("One file."), output=9)
    last["message"]["stop_reason"] = "end_turn"
    session, timeline = read(tmp_path, lines.text())
    root = timeline.root
    assert root is not None
    first, second = root.iterations
    assert first.message is not None
    assert first.message.parts[0] == Reasoning("", "sig==")
    assert first.message.text == "I look."
    assert first.stop_reason is StopReason.TOOL_CALLS
    assert second.stop_reason is StopReason.END_TURN
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_tokens) == (78, 40, 70)
    assert root.usage.output_tokens == 49
    assert [found.content for found in first.calls] == ["a.txt"]
    assert root.reason == Complete()
    assert (session.format, session.agent, session.model, session.title) == (
        "claude-code",
        "claude-code",
        "claude-test",
        "look around",
    )


def test_parallel_results_between_lines_of_one_response_stay_one_iteration(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("c1"))
    lines.result("c1", "one")
    lines.answer("m1", call("c2"))
    lines.result("c2", [text("two"), text("lines"), {"type": "tool_reference", "tool_name": "X"}])
    _, timeline = read(tmp_path, lines.text())
    root = timeline.root
    assert root is not None
    assert [len(iteration.calls) for iteration in root.iterations] == [2]
    assert [found.content for found in root.iterations[0].calls] == ["one", "two\nlines\n[tool X]"]
    assert root.reason is None, "the results still wait for an answer"


def test_times_are_seconds_since_the_first_and_never_run_backwards(tmp_path: Path) -> None:
    """formats.md §0.4: order is that of the file; timestamps run backwards in most files."""
    lines = Lines()
    lines.prompt("go", timestamp="2026-01-19T03:00:10.000Z")
    lines.answer("m1", call("c1"), timestamp="2026-01-19T03:00:12.500Z")
    lines.result("c1", "x", timestamp="2026-01-19T03:00:11.000Z")
    lines.answer("m2", text("done"), timestamp="not a time")
    session, timeline = read(tmp_path, lines.text())
    assert session.events[0].t == 0
    assert timeline.calls["root/1.1"].started_at == 2.5
    assert timeline.calls["root/1.1"].ended_at == 2.5


def test_glued_objects_on_one_line_both_survive(tmp_path: Path) -> None:
    """formats.md §1: concurrent appends without a newline."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", text("one"))
    lines.answer("m2", text("two"))
    parts = [json.dumps(record) for record in lines.records]
    _, timeline = read(tmp_path, f"{parts[0]}\n{parts[1]}{parts[2]}")
    assert timeline.root is not None
    assert len(timeline.root.iterations) == 2


def test_unreadable_lines_are_kept_with_their_place(tmp_path: Path) -> None:
    """formats.md §0.3: an "unreadable N bytes at offset" event instead of a failure."""
    lines = Lines()
    lines.prompt("go")
    first = lines.text()
    broken = '{"type":"assistant","mess\x00age'
    session, _ = read(tmp_path, first + broken + "\n" + '"a string"\n[1]\n')
    notes = [event.fact for event in session.events if isinstance(event.fact, e.Unrecognised)]
    assert notes[0].data == {"text": broken, "offset": len(first), "bytes": len(broken)}
    assert [note.data["value"] for note in notes[1:]] == ["a string", [1]]
    assert session.notices == [f"unreadable {len(broken)} bytes at offset {len(first)}"]


def test_record_glued_to_a_torn_one_is_rescued(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", text("torn"))
    lines.answer("m2", text("whole"))
    parts = [json.dumps(record) for record in lines.records]
    session, timeline = read(tmp_path, f"{parts[0]}\n{parts[1][:40]}{parts[2]}\n")
    assert timeline.root is not None
    assert [found.message.text for found in timeline.root.iterations if found.message] == ["whole"]
    assert _notes(session.events) == ["unreadable"]


def test_repeated_lines_count_once_and_are_told(tmp_path: Path) -> None:
    """formats.md §1: duplicate `uuid` after a resume."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("c1"))
    lines.records.append(lines.records[-1] | {"version": "2.1.12"})
    lines.result("c1", "x")
    session, timeline = read(tmp_path, lines.text())
    assert len(timeline.calls) == 1
    assert session.notices == ["lines that repeat an earlier one"]


def test_unknown_records_and_blocks_stay_as_notes(tmp_path: Path) -> None:
    """formats.md §0.5: every unknown record type is kept."""
    lines = Lines()
    lines.add("queue-operation", operation="enqueue", content="later")
    lines.prompt("go")
    lines.add("brand-new", payload={"n": 10**40})
    lines.add("assistant", message="not an object")
    lines.answer("m1", {"type": "hologram", "x": 1}, text("hi"))
    lines.prompt([{"type": "document", "source": {}}])
    lines.add("attachment", attachment={"type": "task_reminder", "content": []})
    session, _ = read(tmp_path, lines.text())
    assert _notes(session.events) == [
        "queue-operation: enqueue",
        "brand-new",
        "assistant",
        "answer block: hologram",
        "user block: document",
        "attachment: task_reminder",
    ]
    new = next(event.fact for event in session.events if event.type == "brand-new")
    assert isinstance(new, e.Unrecognised)
    assert new.data["payload"] == {"n": 10**40}
    assert next(iter(new.data)) == "payload"


def test_refused_call_is_a_denial_by_the_person_in_their_words(tmp_path: Path) -> None:
    """formats.md §1, Approvals: a denial is an error result with these words."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("c1"), call("c2"), call("c3"))
    lines.result("c1", REFUSAL + "To tell you how to proceed, the user said:\nuse trash", is_error=True)
    lines.result("c2", REFUSAL + "STOP what you are doing.", is_error=True)
    lines.result("c3", "blocked", is_error=True, toolDenialKind="classifier-unavailable")
    lines.prompt([text("[Request interrupted by user for tool use]")])
    _, timeline = read(tmp_path, lines.text())
    assert timeline.denied == 3
    first, second, third = (timeline.calls[f"root/1.{place}"] for place in (1, 2, 3))
    assert (first.decision, first.decided_by, first.executed) == (Deny("use trash"), "person", False)
    assert second.decision == Deny()
    assert (third.decision, third.decided_by) == (Deny("blocked"), "policy: classifier-unavailable")
    assert timeline.root is not None
    assert timeline.root.reason == Cancelled("interrupted by the user")


def test_unanswered_call_is_a_normal_state(tmp_path: Path) -> None:
    """formats.md §0.6: calls without a result and results without a call are no errors."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("c1"))
    lines.result("never-seen", "orphan")
    lines.prompt("something else")
    lines.answer("m2", call("c1b"), call("c2"))
    lines.result("c2", "x")
    lines.answer("m3", text("done"))
    session, timeline = read(tmp_path, lines.text())
    assert timeline.calls["root/1.1"].content == "orphan", "ids fit nothing, so order decides"
    assert session.notices == ["results paired with calls by order, their ids fit no call: 1"]
    assert timeline.calls["root/2.1"].status is CallStatus.UNANSWERED
    assert timeline.errors == 0


def test_scrubbed_ids_are_paired_by_order(tmp_path: Path) -> None:
    """formats.md §0.6: linkage ids replaced by `REDACTED`."""
    lines = Lines()
    lines.prompt("go")
    for turn in ("m1", "m2"):
        lines.answer(turn, call("REDACTED", n=1), call("REDACTED", n=1))
        lines.result("REDACTED", f"{turn} a")
        lines.result("REDACTED", f"{turn} b")
    _, timeline = read(tmp_path, lines.text())
    assert [found.content for found in timeline.calls.values()] == ["m1 a", "m1 b", "m2 a", "m2 b"]


def test_sub_agent_of_progress_records_is_a_child_loop(tmp_path: Path) -> None:
    """formats.md §1: agent_progress embeds whole messages, linked by `parentToolUseID`."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("t1", "Task", prompt="find it", subagent_type="Explore"))

    def tell(kind: str, **message: object) -> None:
        inner = {"type": kind, "message": message}
        lines.progress("t1", type="agent_progress", agentId="a1", message=inner)

    tell("user", role="user", content=[text("find it")])
    tell("assistant", **answer_message("s1", call("s-c1", "Grep")))
    lines.progress("s-c1", type="bash_progress", output="…", elapsedTimeSeconds=1, totalLines=1)
    lines.progress("s-c1", type="bash_progress", output="… …", elapsedTimeSeconds=2, totalLines=2)
    tell("user", role="user", content=[{"type": "tool_result", "tool_use_id": "s-c1", "content": "hit"}])
    tell("unheard-of")
    lines.progress("nobody", type="agent_progress", agentId="a9", message={})
    lines.result("t1", "found", toolUseResult={"agentId": "a1", "totalTokens": 7, "status": "completed"})
    lines.answer("m2", text("done"))
    session, timeline = read(tmp_path, lines.text())
    child = timeline.loops["root/1.1#1"]
    assert (child.agent, child.level, child.reason) == ("Explore", 1, Complete())
    assert child.started.messages[0].text == "find it"
    assert [found.content for found in child.iterations[0].calls] == ["hit"]
    assert child.iterations[0].calls[0].progress[0].text == "2 s, 2 lines: … …"
    assert (session.runs, timeline.depth, len(timeline.loops["root"].iterations)) == (1, 1, 2)
    assert _notes(session.events) == ["progress: agent_progress", "progress: agent_progress", "sub-agent totals"]


def test_sub_agent_that_never_reports_back_is_closed_when_the_session_goes_on(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("t1", "Task", prompt="find it"))
    inner = {"type": "assistant", "message": answer_message("s1", text("looking"))}
    lines.progress("t1", type="agent_progress", agentId="a1", message=inner)
    cut = lines.text()
    lines.prompt("never mind")
    lines.answer("m2", text("done"))
    _, timeline = read(tmp_path, lines.text())
    assert timeline.loops["root/1.1#1"].reason == Cancelled("the session went on without its result")
    assert timeline.calls["root/1.1"].status is CallStatus.UNANSWERED
    _, running = read(tmp_path, cut)
    assert not running.loops["root/1.1#1"].ended
    assert running.calls["root/1.1"].status is CallStatus.RUNNING


def test_background_sub_agent_ends_with_its_notification(tmp_path: Path) -> None:
    """formats.md §1: async agents finish later through `<task-notification>`; without lines they still are a run."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("t1", "Agent", prompt="work"), call("t2", "Agent", prompt="work too"))
    for name in ("t1", "t2"):
        lines.result(name, "launched", toolUseResult={"isAsync": True, "agentId": f"a-{name}", "prompt": "work"})
    lines.prompt("<task-notification><task-id>a-t1</task-id><status>failed</status></task-notification>")
    lines.answer("m2", text("done"))
    session, timeline = read(tmp_path, lines.text())
    assert session.runs == 2
    assert timeline.loops["root/1.1#1"].reason == Cancelled("failed")
    assert timeline.loops["root/1.2#1"].reason == Cancelled("its end is not in the session")


def test_sub_agents_own_file_is_read_in_place_of_the_progress_lines(tmp_path: Path) -> None:
    """formats.md §1: newer builds keep sub-agents in `<session>/subagents/agent-<id>.jsonl`."""
    own = Lines()
    own.prompt("find it", isSidechain=True, agentId="a1")
    own.answer("s1", call("s-c1", "Grep"), isSidechain=True, agentId="a1")
    own.result("s-c1", "hit", isSidechain=True, agentId="a1")
    own.answer("s2", text("found"), isSidechain=True, agentId="a1")
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_text(own.text())
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("t1", "Agent", prompt="find it"))
    inner = {"type": "assistant", "message": answer_message("s1", text("short form"))}
    lines.progress("t1", type="agent_progress", agentId="a1", message=inner)
    lines.result("t1", "found", toolUseResult={"agentId": "a1", "agentType": "scout", "status": "completed"})
    lines.answer("m2", text("done"))
    for record, own_record in zip(lines.records, own.records, strict=False):
        own_record["uuid"] = "own-" + record["uuid"]
    session, timeline = read(tmp_path, lines.text())
    child = timeline.loops["root/1.1#1"]
    assert child.agent == "scout"
    assert len(child.iterations) == 2
    assert len(timeline.loops["root"].iterations) == 2
    assert session.notices == ["sub-agent lines taken from its own file instead", "read agent-a1.jsonl"]
    alone, agent_timeline = read(tmp_path, own.text(), "agent-a1.jsonl")
    assert (alone.runs, len(agent_timeline.loops["root"].iterations)) == (0, 2)


def test_files_of_parallel_sub_agents_are_put_in_order_of_time(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    for agent, seconds in (("a1", (10, 30)), ("a2", (20, 40))):
        own = Lines()
        for number, second in enumerate(seconds):
            at = f"2026-01-19T03:00:{second}.000Z"
            own.answer(f"s{number}", text("hm"), isSidechain=True, uuid=f"{agent}-{number}", timestamp=at)
        (folder / f"agent-{agent}.jsonl").write_text(own.text())
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("t1", "Agent"), call("t2", "Agent"))
    for name in ("1", "2"):
        details = {"agentId": f"a{name}", "status": "completed"}
        lines.result(f"t{name}", "ok", toolUseResult=details, timestamp="2026-01-19T03:01:00.000Z")
    session, timeline = read(tmp_path, lines.text())
    replies = [(event.loop, event.t) for event in session.events if isinstance(event.fact, e.ModelReplied)]
    one, two = "root/1.1#1", "root/1.2#1"
    assert replies == [("root", 1), (one, 10), (two, 20), (one, 30), (two, 40)]
    assert timeline.loops[one].reason == timeline.loops[two].reason == Complete()


def test_sidechain_lines_of_old_builds_go_under_the_call_with_their_prompt(tmp_path: Path) -> None:
    """formats.md §1: old builds put sub-agent lines into the main file with `isSidechain:true`."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("t1", "Task", prompt="first"), call("t2", "Task", prompt="second"))
    start = lines.prompt("second", isSidechain=True, parentUuid=None)
    lines.answer("s1", text("on it"), isSidechain=True, parentUuid=start["uuid"])
    lines.result("t2", "ok")
    lines.answer("m2", text("done"))
    _, timeline = read(tmp_path, lines.text())
    assert sorted(timeline.loops) == ["root", "root/1.2#1"]
    assert len(timeline.loops["root/1.2#1"].iterations) == 1
    assert timeline.loops["root/1.2#1"].reason == Complete()


def test_sidechain_without_its_call_stays_as_notes(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.answer("s1", text("whose?"), isSidechain=True, parentUuid="gone")
    lines.answer("m1", text("done"))
    session, timeline = read(tmp_path, lines.text())
    assert sorted(timeline.loops) == ["root"]
    assert _notes(session.events) == ["assistant"]


def test_later_prompts_compaction_and_program_messages_are_told_apart(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("<command-message>init</command-message><command-name>/init</command-name>")
    lines.prompt(
        [text("Analyse this."), {"type": "image", "source": {"media_type": "image/png", "data": "QQ=="}}], isMeta=True
    )
    lines.answer("m1", text("done"))
    lines.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}, parentUuid=None)
    lines.prompt("Summary so far", isCompactSummary=True)
    lines.prompt("and now?")
    session, timeline = read(tmp_path, lines.text())
    root = timeline.root
    assert root is not None
    assert session.title == "/init"
    assert [message.text for message in root.started.messages][1:] == ["Analyse this."]
    assert root.started.messages[1].parts[1] == Image("image/png", "QQ==")
    injected = [event.fact for event in session.events if isinstance(event.fact, e.MessagesInjected)]
    assert [fact.by for fact in injected] == ["compaction", "person"]
    assert "system: compact_boundary" in _notes(session.events)
    assert root.reason is None, "the last prompt still waits for an answer"


def test_titles_are_taken_by_rank_and_never_from_another_session(tmp_path: Path) -> None:
    """formats.md §1: summary records are sometimes about another session."""
    lines = Lines()
    lines.records.append({"type": "summary", "summary": "Other work", "leafUuid": "elsewhere"})
    lines.prompt("the prompt")
    assert read(tmp_path, lines.text())[0].title == "the prompt"
    lines.records.append({"type": "summary", "summary": "This work", "leafUuid": "u0"})
    assert read(tmp_path, lines.text())[0].title == "This work"
    lines.add("custom-title", customTitle="Mine")
    lines.add("ai-title", aiTitle="Generated")
    assert read(tmp_path, lines.text())[0].title == "Mine"


def test_client_made_messages_count_but_name_no_model(tmp_path: Path) -> None:
    """formats.md §1: `message.model="<synthetic>"`."""
    lines = Lines()
    lines.prompt("go")
    lines.answer("x1", text("No response requested."))["message"]["model"] = "<synthetic>"
    lines.answer("m1", text("hi"))
    session, timeline = read(tmp_path, lines.text())
    assert timeline.root is not None
    assert len(timeline.root.iterations) == 2
    assert session.model == "claude-test"


def test_picture_in_a_result_is_named_and_kept(tmp_path: Path) -> None:
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", call("c1"))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    lines.result("c1", [text("see"), picture])
    session, timeline = read(tmp_path, lines.text())
    assert timeline.calls["root/1.1"].content == "see\n[image/png]"
    kept = [event.fact for event in session.events if event.type == "result block: image"]
    assert isinstance(kept[0], e.Unrecognised)
    assert kept[0].data == picture
