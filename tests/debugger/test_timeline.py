"""The read model of a run: where rows stand, how calls and loops stand, what it counts, what damage leaves of it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.debugger.display import visible
from loopkit.debugger.nodes import CallStatus, RowKind
from loopkit.debugger.rows import row_text
from loopkit.debugger.timeline import Timeline, task_text
from loopkit.events import FACT_CLASSES
from loopkit.messages import Message, ToolCall, Usage
from loopkit.outcomes import Approve, Cancelled, Complete, Deny, Modify, Respond
from tests.debugger.playbook import Playbook, outline, texts_of
from tests.strategies import events, instances

A, B = "root/1.1#1", "root/1.2#1"


def two_researchers() -> Playbook:
    """Two parallel sub-agents of one name, whose events alternate."""
    book = Playbook().start().ask(e.ROOT, "research", "research")
    book.decide("root/1.1").decide("root/1.2").say(e.ROOT, e.ToolStarted("root/1.1"), e.ToolStarted("root/1.2"))
    book.start(A, "researcher", "cats").start(B, "researcher", "dogs")
    book.ask(B, "look", text="dogs?").ask(A, "look", text="cats?")
    book.decide("root/1.1#1/1.1").decide("root/1.2#1/1.1").run("root/1.2#1/1.1").run("root/1.1#1/1.1")
    book.ask(A, text="cats.").ask(B, text="dogs.").finish(B).finish(A)
    return book.say(e.ROOT, e.ToolReturned("root/1.2", "dogs."), e.ToolReturned("root/1.1", "cats."))


def test_rows_of_parallel_sub_agents_stand_together() -> None:
    """Sub-agents of one name are told apart by the call that started them (spec/faults.md h9)."""
    timeline = two_researchers().ask(text="both").finish().timeline
    assert outline(timeline) == [
        "» task go",
        "▪ model asks for research 2×",
        "✓ research n=1",
        "> ⇢ researcher sub-agent"[2:],
        "> » task cats",
        "> ▪ model cats?",
        "> ✓ look n=1",
        "> ▪ model cats.",
        "> ■ end complete",
        "✓ research n=2",
        "⇢ researcher sub-agent",
        "> » task dogs",
        "> ▪ model dogs?",
        "> ✓ look n=1",
        "> ▪ model dogs.",
        "> ■ end complete",
        "▪ model both",
        "■ end complete",
    ]
    assert [timeline.calls[f"root/1.{n}"].children[0].path for n in (1, 2)] == [A, B]


def test_nested_sub_agents_stand_one_level_deeper() -> None:
    inner = f"{A}/1.1#1"
    book = Playbook().start().ask(e.ROOT, "delegate", "wait").decide("root/1.1").say(e.ROOT, e.ToolStarted("root/1.1"))
    book.start(A, "middle").ask(A, "delegate").say(A, e.ToolStarted(f"{A}/1.1"))
    book.start(inner, "inner").ask(inner, text="deep").finish(inner).run("root/1.2")
    book.say(A, e.ToolReturned(f"{A}/1.1", "deep")).finish(A).say(e.ROOT, e.ToolReturned("root/1.1", "deep")).finish()
    timeline = book.timeline
    assert [row.loop.path for row in timeline.rows] == [e.ROOT] * 3 + [A] * 4 + [inner] * 4 + [A] + [e.ROOT] * 2
    assert timeline.depth == 2
    assert [loop.path for loop in timeline.loops[e.ROOT].subtree()] == [e.ROOT, A, inner]
    assert timeline.rows[-2].call is timeline.calls["root/1.2"]


def test_two_sub_agents_of_one_call_follow_each_other() -> None:
    second = "root/1.1#2"
    book = Playbook().start().ask(e.ROOT, "delegate").say(e.ROOT, e.ToolStarted("root/1.1"))
    book.start(A, "first").start(second, "second").ask(A, text="1").ask(second, text="2").ask(A, text="3")
    assert [row.loop.path for row in book.timeline.rows] == [e.ROOT] * 3 + [A] * 4 + [second] * 3


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), min_size=5, max_size=30))
def test_every_row_stands_behind_all_that_belongs_to_its_loop(turns: list[tuple[int, int]]) -> None:
    """Whatever the order in which sub-agents speak, a subtree's rows are one block, in the order they came (h9, h10)."""
    book = Playbook().start()
    speakers = [e.ROOT]
    for speaker, place in turns:
        loop = speakers[speaker % len(speakers)]
        book.ask(loop, "a", "b")
        iteration = book.events[-1].iteration
        if place in (1, 2):
            child = f"{loop}/{iteration}.{place}#1"
            book.say(loop, e.ToolStarted(child.rpartition("#")[0])).start(child, "sub")
            speakers.append(child)
    timeline = book.timeline
    for path in speakers:
        block = [
            index
            for index, row in enumerate(timeline.rows)
            if row.loop.path == path or row.loop.path.startswith(f"{path}/")
        ]
        assert block == list(range(block[0], block[-1] + 1))
        own = [row.seq for row in timeline.rows if row.loop.path == path]
        assert own == sorted(own)
    for row, before in zip(timeline.rows[1:], timeline.rows, strict=False):
        if row.kind is RowKind.AGENT:
            assert row.call is not None
            assert before.call is row.call or before.loop.path.startswith(f"{row.call.id}#")


def test_a_row_is_the_same_object_wherever_it_moves() -> None:
    """A selection is a row: what comes in above it doesn't change what is selected (spec/faults.md e23)."""
    timeline = Timeline()
    rows = timeline.rows
    seen: list[object] = []
    for event in two_researchers().events:
        timeline.apply(event)
        assert timeline.rows is rows
        assert [row for row in rows if row in seen] == seen
        seen = list(rows)


def endings() -> list[tuple[str, list[e.Fact], CallStatus]]:
    key = "root/1.1"
    asked = e.DecisionRequested(key, 1, "t")
    approved = e.Decided(key, 1, Approve(), "person")
    started = e.ToolStarted(key)
    failure = e.Failure("OSError", "gone")
    return [
        ("nothing yet", [], CallStatus.RECEIVED),
        ("asked", [asked], CallStatus.WAITING),
        ("decided", [asked, approved], CallStatus.DECIDED),
        ("started", [asked, approved, started], CallStatus.RUNNING),
        ("returned", [asked, approved, started, e.ToolReturned(key, "x")], CallStatus.DONE),
        ("said it failed", [asked, approved, started, e.ToolReturned(key, "x", True)], CallStatus.ERROR),
        ("raised", [asked, approved, started, e.ToolFailed(key, failure, "OSError: gone")], CallStatus.ERROR),
        ("timed out", [asked, approved, started, e.ToolAbandoned(key, "tool timeout", "late")], CallStatus.ABANDONED),
        (
            "denied",
            [asked, e.Decided(key, 1, Deny("no"), "person"), e.ToolSkipped(key, "denied", "no")],
            CallStatus.DENIED,
        ),
        (
            "answered",
            [asked, e.Decided(key, 1, Respond("me"), "person"), e.ToolSkipped(key, "responded", "me", False)],
            CallStatus.ANSWERED,
        ),
        ("expired", [asked, e.DecisionExpired(key, 1), e.ToolSkipped(key, "expired", "late")], CallStatus.EXPIRED),
        ("unknown", [asked, approved, e.ToolSkipped(key, "unknown tool", "no such")], CallStatus.REFUSED),
        ("invalid", [asked, approved, e.ToolSkipped(key, "invalid arguments", "no")], CallStatus.REFUSED),
        ("cut off", [e.ToolSkipped(key, "cut off", "again")], CallStatus.REFUSED),
        ("given up", [asked, e.RunStopped("person"), e.LoopFinished(Cancelled(), 1, Usage())], CallStatus.UNANSWERED),
    ]


@pytest.mark.parametrize(
    ("words", "course", "status"), endings(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_call_stands_where_its_events_say(words: str, course: list[e.Fact], status: CallStatus) -> None:
    """Approved, denied, answered, expired and refused are different states (spec/faults.md c10, c19)."""
    timeline = Playbook().start().ask(e.ROOT, "t").say(e.ROOT, *course).timeline
    assert timeline.calls["root/1.1"].status is status
    assert list(timeline.waiting) == (["root/1.1"] if status is CallStatus.WAITING else [])


def test_it_counts_errors_refusals_edits_and_warnings() -> None:
    book = Playbook().start().ask(e.ROOT, *"abcdefg")
    book.say(e.ROOT, e.RepetitionDetected("identical batches", "a", 3, "warn", 1))
    for place in range(1, 8):
        book.say(e.ROOT, e.DecisionRequested(f"root/1.{place}", 1, "t"))
    book.say(
        e.ROOT, e.Decided("root/1.1", 1, Modify({"n": 9}), "person"), e.Decided("root/1.2", 1, Deny("no"), "person")
    )
    book.say(e.ROOT, e.ToolSkipped("root/1.2", "denied", "no"), e.ToolSkipped("root/1.3", "unknown tool", "?"))
    book.run("root/1.1").run("root/1.4", is_error=True)
    book.say(e.ROOT, e.ToolStarted("root/1.5"), e.ToolFailed("root/1.5", e.Failure("E", "x"), "E: x"))
    book.say(e.ROOT, e.ToolStarted("root/1.6"), e.ToolAbandoned("root/1.6", "tool timeout", "late"))
    book.say(e.ROOT, e.LoopFailed(e.Failure("E", "x"), 1, Usage()))
    timeline = book.timeline
    assert (timeline.errors, timeline.denied, timeline.edited, timeline.warnings) == (5, 1, 1, 1)
    assert timeline.calls["root/1.1"].effective_arguments == {"n": 9}
    assert timeline.calls["root/1.1"].arguments == {"n": 1}
    assert timeline.calls["root/1.7"].status is CallStatus.UNANSWERED


def test_own_and_subtree_tokens_stand_at_every_node() -> None:
    """The sum of all nodes' own tokens is the root's subtree, also while the run goes on (spec/faults.md h6)."""
    inner = f"{A}/1.1#1"
    book = Playbook().start().ask(e.ROOT, "d", usage=Usage(1, 2)).start(A).ask(A, "d", usage=Usage(10, 20))
    book.start(inner).ask(inner, usage=Usage(100, 200)).ask(inner, usage=None)
    book.say(A, e.IterationStarted(), e.ModelRequested(1, 1, "f"), e.ModelInterrupted("stopped"))
    timeline = Timeline()
    for event in book.events:
        timeline.apply(event)
        assert sum((loop.usage for loop in timeline.loops.values()), Usage()) == timeline.usage
        for loop in timeline.loops.values():
            assert loop.subtree_usage == sum((below.usage for below in loop.subtree()), Usage())
    assert timeline.loops[inner].usage == Usage(100, 200, unreported=1)
    assert timeline.loops[A].subtree_usage == Usage(110, 220, unreported=2)
    assert timeline.usage == timeline.loops[e.ROOT].subtree_usage == Usage(111, 222, unreported=2)


def test_waiting_is_the_time_in_which_somebody_is_waited_for() -> None:
    """Overlapping decisions and pauses count once; time that runs backwards counts nothing (spec/faults.md j18)."""
    book = Playbook().say(e.ROOT, e.LoopStarted("main", ()), e.IterationStarted(), e.ModelRequested(1, 0, "f"), t=1)
    book.say(e.ROOT, e.ModelReplied(Message.assistant("", [ToolCall("a", "t"), ToolCall("b", "t")])), t=2)
    book.say(e.ROOT, e.DecisionRequested("root/1.1", 1, "t"), e.DecisionRequested("root/1.2", 1, "t"), t=3)
    book.say(e.ROOT, e.Paused("root/1.1.call", "person"), e.Decided("root/1.1", 1, Approve(), "person"), t=5)
    book.say(e.ROOT, e.Decided("root/1.2", 1, Approve(), "person"), t=6)
    timeline = book.timeline
    assert timeline.waited_seconds == 0
    assert timeline.waiting_seconds() == 3
    assert timeline.waiting_seconds(now=10) == 7
    assert timeline.paused == [timeline.root]
    for event in book.say(e.ROOT, e.Resumed("root/1.1.call", "person"), t=8).events[-1:]:
        timeline.apply(event)
    assert timeline.waiting_seconds(now=100) == 5
    assert timeline.calls["root/1.1"].waited_seconds == 2
    for event in (
        book.say(e.ROOT, e.Paused("g.request", "person"), t=9).say(e.ROOT, e.Resumed("g", "p"), t=2).events[-2:]
    ):
        timeline.apply(event)
    assert timeline.waiting_seconds() == 5


def test_a_late_end_and_a_late_note_change_no_outcome() -> None:
    """`ToolEndedLate` may follow the end of its loop (spec/loop.md 9.3)."""
    book = Playbook().start().ask(e.ROOT, "t").say(e.ROOT, e.ToolStarted("root/1.1"), e.RunStopped("person", "enough"))
    book.say(e.ROOT, e.ToolAbandoned("root/1.1", "stopped"), e.LoopFinished(Cancelled("enough"), 1, Usage()))
    timeline = book.say(e.ROOT, e.ToolEndedLate("root/1.1", "returned")).timeline
    call = timeline.calls["root/1.1"]
    assert (call.status, call.ended_late) == (CallStatus.ABANDONED, "returned")
    assert timeline.ended
    assert outline(timeline)[-1] == "■ end stopped: enough"


def test_events_of_unknown_type_are_notes() -> None:
    """They are kept and shown raw (spec/faults.md j17)."""
    timeline = Playbook().start().say(e.ROOT, e.Unrecognised("x/custom", {"a": "\x1b[2J"})).timeline
    assert outline(timeline)[-1] == r'· note x/custom a="\u001b[2J"'


def test_a_foreign_run_goes_on_without_answers() -> None:
    """Calls that nothing answered end with their iteration (spec/formats.md §0.6)."""
    book = Playbook().start().ask(e.ROOT, "t", "t").say(e.ROOT, e.ToolReturned("root/1.1", "x")).ask(text="on").finish()
    assert [call.status for call in book.timeline.calls.values()] == [CallStatus.DONE, CallStatus.UNANSWERED]


def test_the_task_is_what_the_user_said_last() -> None:
    assert task_text([Message.user("old"), Message.assistant("hm"), Message.user("new")]) == "new"
    assert task_text([Message.system("x")]) == ""


# ── damage: what is left is shown, nothing breaks ────────────────────────────────────────────────────────────────────


def test_a_missing_start_leaves_the_rest_in_view() -> None:
    """The rest of a damaged recording is viewable (spec/faults.md j4)."""
    timeline = Timeline(two_researchers().events[1:])
    assert timeline.gaps == 1
    assert timeline.root is timeline.loops[e.ROOT]
    assert timeline.root.agent == "?"
    assert timeline.loops[A].parent is timeline.calls["root/1.1"]
    assert outline(timeline)[1:] == outline(two_researchers().timeline)[1:]


def test_a_missing_start_of_a_sub_agent_leaves_it_under_its_call() -> None:
    events = [event for event in two_researchers().events if not (event.loop == A and event.iteration == 0)]
    timeline = Timeline(events)
    assert timeline.loops[A].parent is timeline.calls["root/1.1"]
    assert timeline.loops[A].agent == "?"


def test_a_missing_iteration_is_not_taken_for_the_one_before() -> None:
    events = Playbook().start().ask(text="first").ask(text="second").finish().events
    timeline = Timeline([event for event in events if not (event.iteration == 2 and event.type == "IterationStarted")])
    assert [(it.number, it.message.text if it.message else "") for it in timeline.loops[e.ROOT].iterations] == [
        (1, "first"),
        (2, "second"),
    ]


def test_events_of_missing_calls_are_notes() -> None:
    events = Playbook().start().ask(e.ROOT, "t").decide("root/1.1").run("root/1.1", "hello").finish().events
    timeline = Timeline([event for event in events if event.type != "ModelReplied"])
    assert not timeline.calls
    assert '· note ToolReturned call="root/1.1", content="hello"' in outline(timeline)
    assert outline(timeline)[-1] == "■ end complete"


COURSE = two_researchers().ask(e.ROOT, "a", "b").run("root/2.1").finish().events


@given(st.lists(st.sampled_from(COURSE), max_size=80))
@settings(deadline=None)
def test_events_in_any_order_make_a_timeline(mixed: list[e.Event]) -> None:
    """A file may say anything: events left out, repeated or exchanged (spec/faults.md j4)."""
    timeline = Timeline(mixed)
    assert timeline.seq == (mixed[-1].seq if mixed else 0)
    assert len(outline(timeline)) == len(timeline.rows)
    assert timeline.waited_seconds >= 0


@pytest.mark.parametrize("fact_class", FACT_CLASSES.values(), ids=list(FACT_CLASSES))
def test_events_of_any_content_make_a_timeline(fact_class: type[e.Fact]) -> None:
    """Every fact of the catalogue, of loops and calls that never were, shown in safe words (spec/faults.md e6, j4)."""

    @given(events(fact=instances(fact_class)))
    @settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
    def check(event: e.Event) -> None:
        timeline = Timeline([*COURSE, event])
        assert len(outline(timeline)) == len(timeline.rows)
        for text in texts_of(map(row_text, timeline.rows)):
            assert text == visible(text)
            assert not {"\n", "\t"} & set(text)

    check()


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def work_of(events: list[e.Event]) -> int:
    """How many steps the interpreter takes to fold the events: line by line, so a scan in a loop is seen."""
    import sys

    steps = itertools.count()

    def trace(frame: object, kind: str, argument: object) -> object:
        next(steps)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]  # a tracer of the simplest kind
    try:
        Timeline(events)
    finally:
        sys.settrace(before)
    return next(steps)


def long_run(iterations: int) -> list[e.Event]:
    book = Playbook().start()
    for iteration in range(1, iterations + 1):
        book.ask(e.ROOT, "t", "t")
        for place in (1, 2):
            book.decide(f"root/{iteration}.{place}").run(f"root/{iteration}.{place}")
    return book.finish().events


def crowd(agents: int, rounds: int) -> list[e.Event]:
    """Parallel sub-agents that speak in turn."""
    book = Playbook().start().ask(e.ROOT, *["delegate"] * agents)
    paths = [f"root/1.{place}#1" for place in range(1, agents + 1)]
    for path in paths:
        book.say(e.ROOT, e.ToolStarted(path.rpartition("#")[0])).start(path)
    for number in range(1, rounds + 1):
        for path in paths:
            book.ask(path, "t").run(f"{path}/{number}.1")
    return book.events


def test_a_long_run_costs_the_same_for_every_event() -> None:
    """Time per event does not grow with the run (DESIGN §1, linear always)."""
    short, long = long_run(25), long_run(250)
    assert work_of(long) / len(long) <= 1.1 * work_of(short) / len(short)


def test_parallel_sub_agents_cost_the_same_for_every_event() -> None:
    """Rows find their place without looking at those of others, however long these have become."""
    short, long = crowd(20, 3), crowd(20, 30)
    assert work_of(long) / len(long) <= 1.1 * work_of(short) / len(short)


def test_two_hundred_sub_agents_are_folded() -> None:
    timeline = Timeline(crowd(200, 2))
    assert len(timeline.loops) == 201
    assert [row.loop.path for row in timeline.rows if row.kind is RowKind.AGENT] == [
        f"root/1.{place}#1" for place in range(1, 201)
    ]


def test_a_sub_agents_row_costs_no_walk_through_its_subtree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is drawn again and again: its totals are kept, not added up (spec/performance.md)."""
    from loopkit.debugger.nodes import LoopNode

    timeline = Playbook().start().ask(text="x").finish().timeline
    monkeypatch.setattr(LoopNode, "subtree", None)
    assert outline(timeline)[-1] == "■ end complete"
    assert timeline.root is not None
    assert isinstance(timeline.root.reason, Complete)
