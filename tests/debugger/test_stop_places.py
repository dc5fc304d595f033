"""The stops of a recording are the gates that its run passed, found by the same core."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from loopkit import events as e
from loopkit.core.editing import PERSON
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.stops import Goal, Stop, StopFinder
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.importers.detect import read_session
from tests.debugger.playbook import Playbook
from tests.drivers.random_agents import Plan, agent_of, plans
from tests.drivers.random_runs import Meddler, Meddling, meddlings

RECORDINGS = Path(__file__).parents[2] / "recordings"


def stops_in(events: list[e.Event]) -> list[Stop]:
    finder = StopFinder()
    return [stop for event in events for stop in finder.take(event)]


class Asked(Meddler):
    """Somebody who meddles, and notes at which gates they were asked, after how many events."""

    def __init__(self, meddling: Meddling) -> None:
        super().__init__(meddling)
        self.gates: list[tuple[int, str, str]] = []

    def stops_at(self, loop: str, gate: str) -> str | None:
        self.gates.append((len(self.events), loop, gate))
        return super().stops_at(loop, gate)


async def asked_in(plan: Plan, meddling: Meddling) -> Asked:
    asked = Asked(meddling)
    run = Run(new_header(), watcher=asked)

    async def start() -> None:
        await run_root(run, agent_of(plan).parts("go"), driver_made=asked.take_root)

    await asked.watch(start)
    return asked


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(), meddling=meddlings())
def test_the_stops_of_a_recording_are_the_gates_its_run_was_asked_at(
    backend: str, plan: Plan, meddling: Meddling
) -> None:
    """One definition of a gate (DESIGN §1): the same gates, in the same order, after the same events."""
    asked = anyio.run(asked_in, plan, meddling, backend=backend)
    events = asked.events
    found = stops_in(events)
    gates = [(stop.place, stop.loop, f"{stop.about}.{stop.kind}") for stop in found if stop.kind != "decision"]
    assert gates == asked.gates
    decided = [event.fact.call for event in events if isinstance(event.fact, e.Decided) and event.fact.by == PERSON]
    assert [stop.about for stop in found if stop.kind == "decision"] == decided
    assert {stop.about for stop in found if stop.kind == "call" and not stop.steps} <= set(decided)


def test_stops_of_a_run_in_order() -> None:
    """Before the request, after the response, before a decision or call, after the results (spec/loop.md 3)."""
    stops = stops_in(list(open_recording(RECORDINGS / "edited-call.jsonl").events))
    assert [(stop.kind, stop.about) for stop in stops if stop.steps][:6] == [
        ("request", "root/1"),
        ("response", "root/1"),
        ("decision", "root/1.1"),
        ("result", "root/1.1"),
        ("request", "root/2"),
        ("response", "root/2"),
    ]


def test_a_session_of_another_tool_has_stops_too(tmp_path: Path) -> None:
    """It tells of no decisions, so its calls are stops of their own."""
    import json

    call = [{"id": f"c{n}", "type": "function", "function": {"name": "grep", "arguments": "{}"}} for n in (1, 2)]
    history = [
        {"role": "user", "content": "find it"},
        {"role": "assistant", "content": "I look", "tool_calls": call},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": "a lamp"} for n in (1, 2)),
        {"role": "assistant", "content": "There."},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(history))
    stops = stops_in(read_session(tmp_path / "chat.json").events)
    assert [f"{stop.about}.{stop.kind}" for stop in stops if stop.steps] == [
        "root/1.request",
        "root/1.response",
        "root/1.1.call",
        "root/1.2.call",
        "root/1.1.result",
        "root/1.2.result",
        "root/2.request",
        "root/2.response",
    ]


def test_a_damaged_run_has_the_stops_of_what_is_left() -> None:
    book = Playbook().start()
    for number in range(1, 4):
        book.ask(e.ROOT, "grep").decide(f"root/{number}.1").run(f"root/{number}.1")
    events = book.finish().events
    for gone in range(1, len(events)):
        left = [event for event in events if event.seq != gone]
        stops = stops_in(left)
        # the last of three iterations is whole wherever something is missing before it
        last = [stop.kind for stop in stops if stop.about.startswith("root/3") and stop.steps]
        assert gone > len(events) - 9 or last == ["request", "response", "decision", "result"]


@pytest.mark.parametrize(
    ("reach", "reached"),
    [
        (
            "stop",
            {"up": "request result", "here": "request result", "below": "request result", "beside": "request result"},
        ),
        ("iteration", {"up": "request", "here": "request", "below": "", "beside": ""}),
        ("into", {"up": "request", "here": "request", "below": "request result", "beside": ""}),
        ("over", {"up": "request result", "here": "request result", "below": "", "beside": ""}),
        ("out", {"up": "request result", "here": "", "below": "", "beside": ""}),
        ("continue", {"up": "", "here": "", "below": "", "beside": ""}),
    ],
)
def test_how_far_a_command_goes(reach: str, reached: dict[str, str]) -> None:
    loops = {"up": "root", "here": "root/1.1#1", "below": "root/1.1#1/2.1#1", "beside": "root/1.1#2"}
    goal = Goal(reach, loops["here"])  # type: ignore[arg-type]  # from a table
    found = {
        name: " ".join(kind for kind in ("request", "result") if goal.reached(loop, kind))
        for name, loop in loops.items()
    }
    assert found == reached
