"""The timeline of a live run, fed bit by bit, is the timeline of its recording (DESIGN §5; spec/faults.md h10)."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit import Agent, LoopDetectionConfig, ProviderError, ScriptedProvider, ToolCall, ToolLoopConfig, Usage, tool
from loopkit.debugger.session import Session
from loopkit.debugger.status import PendingDecision
from tests.debugger.live_runs import Eyes, add, assert_sound, shout
from tests.debugger.playbook import dump

CALLS = st.sampled_from(
    [
        ToolCall("same", "add", {"a": 1, "b": 2}),
        ToolCall("c", "add", {"a": "x"}),
        ToolCall("c", "shout", {"text": "hi \x1b[2J"}),
        ToolCall("c", "fail"),
        ToolCall("c", "nope", {"x": 1}),
        ToolCall("c", "add", raw_arguments="{broken", problem="not JSON"),
        ToolCall("c", "add", cut_off=True),
    ]
)
DELEGATE = ToolCall("d", "delegate")
ANSWERS = st.one_of(
    st.sampled_from(["words", "\u202e\ud800"]),
    st.lists(CALLS, min_size=1, max_size=3),
    st.lists(CALLS | st.just(DELEGATE), min_size=1, max_size=3),
)
SCRIPTS = st.lists(ANSWERS, max_size=4).flatmap(
    lambda script: st.sampled_from([[*script, "done"], script, [*script, ProviderError("down")]])
)
DECISIONS = st.lists(
    st.sampled_from(["approve", "deny", "edit", "respond", "stop", "pause", "leave"]), min_size=1, max_size=12
)


@tool
async def fail() -> str:
    """Raise."""
    raise ValueError("no")


def agent_of(script: list[Any], inner: list[Any]) -> Agent:
    @tool
    async def delegate() -> str:
        """Ask a helper."""
        helper = ScriptedProvider(inner, usage=Usage(1, 1))
        return (await Agent(helper, tools=[add, shout, fail], name="helper").run("help")).text

    return Agent(
        ScriptedProvider(script, chunk=2, usage="count"),
        tools=[add, shout, fail, delegate],
        config=ToolLoopConfig(loop_detection=LoopDetectionConfig(2)),
    )


def act(session: Session, word: str, one: PendingDecision) -> None:
    match word:
        case "deny":
            session.deny(one.call, one.version, "no \x1b")
        case "edit" if one.name == "add":
            session.edit(one.call, one.version, {"a": 5, "b": 10**30})
        case "respond":
            session.respond(one.call, one.version, "by hand", is_error=True)
        case "stop":
            session.stop("enough")
        case "pause":
            session.pause()
            session.approve(one.call, one.version)
        case _:
            session.approve(one.call, one.version)


@given(SCRIPTS, SCRIPTS, DECISIONS, st.booleans(), st.sampled_from(["asyncio", "trio"]))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_live_and_recorded_timelines_are_the_same(
    script: list[Any], inner: list[Any], words: list[str], backwards: bool, backend: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        session = Session.start(agent_of(script, inner), "go", record=path, backend=backend)
        eyes = Eyes(session)
        numbers = count()

        def look() -> bool:
            pending = session.pending()
            for one in reversed(pending) if backwards else pending:
                act(session, words[next(numbers) % len(words)], one)
                session.poll()
                if session.timeline.ended or one.call in session.timeline.waiting:
                    break
            if session.timeline.paused:
                session.step()
            return session.timeline.ended

        try:
            eyes.until(look)
            assert session.wait(10)
            session.poll()
        finally:
            session.close()
        recorded = Session.open(path)
        assert dump(recorded.timeline) == dump(session.timeline)
        assert recorded.events == session.events
        assert recorded.status().state == session.status().state
        assert recorded.status().usage == session.status().usage
        assert not [row for row in dump(session.timeline)["rows"] if "ToolReturned" in row.detail]  # type: ignore[attr-defined]  # a row of `dump` is a plain record
        assert_sound(session)
