"""The widget's Python side, without a browser."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ipywidgets.widgets import widget as widgets

import loopkit_notebook
from loopkit.debugger.session import Session
from loopkit.errors import UserError
from loopkit.outcomes import Approve
from loopkit_notebook import RunWidget, debug, view
from loopkit_notebook.cells import CellRun
from tests.notebook_widget.stories import HOSTILE, PlayedSession, Story, finished_story, long_story


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    yield
    widgets.Widget.close_all()


class Watched(RunWidget):
    """Keeps what would go to the front-end."""

    def __init__(self, session: PlayedSession) -> None:
        self.sent: list[dict[str, Any]] = []
        super().__init__(session)  # type: ignore[arg-type] # has the face of a Session

    def send(self, content: dict[str, Any], buffers: object = None) -> None:
        json.dumps(content)
        self.sent.append(content)

    def hear(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Take a message of the front-end and return its answer."""
        self._handle_custom_msg({"kind": kind, "id": "view:1", **fields}, [])
        answers = [message for message in self.sent if message["kind"] == "answer"]
        assert answers[-1]["id"] == "view:1"
        return answers[-1]


def open_widgets() -> int:
    return len(widgets._instances)


def test_the_traits_say_what_the_run_does_and_what_waits() -> None:
    story = Story().ask("I look.", {"path": "a.txt"})
    widget = Watched(PlayedSession(story.events))
    assert widget.status["state"] == "waiting"
    assert widget.status["iteration"] == "iteration 1/10"
    assert [item["call"] for item in widget.pending] == [story.call()]
    assert widget.pending[0]["arguments"] == 'path="a.txt"'


def test_each_batch_of_events_is_one_numbered_message_with_the_new_rows() -> None:
    """spec/faults.md f15: nothing depends on a change in place."""
    story = Story()
    session = PlayedSession(story.events)
    widget = Watched(session)
    known = len(story.events)
    story.ask("I look.", {"path": "a.txt"})
    session.play(story.events[known:])
    widget.refresh()
    widget.refresh()
    updates = [message for message in widget.sent if message["kind"] == "update"]
    assert [message["revision"] for message in updates] == [1, 2]
    assert [(at, row["kind"]) for at, row in updates[1]["inserted"]] == [(1, "iteration"), (2, "call")]


def test_a_message_for_a_late_event_does_not_grow_with_the_run() -> None:
    sizes = []
    for length in (5, 500):
        story = long_story(length)
        session = PlayedSession(story.events)
        widget = Watched(session)
        known = len(story.events)
        session.play(story.ask("again", {"path": "a.txt"}).events[known:])
        widget.sent.clear()
        widget.refresh()
        sizes.append(len(json.dumps(widget.sent)))
    assert sizes[1] - sizes[0] < 40


def test_a_recorded_run_of_thousands_of_rows_is_announced_not_sent() -> None:
    widget = Watched(PlayedSession(long_story(2_500).events, live=False))
    assert widget.sent[0]["reload"]
    assert widget.sent[0]["inserted"] == []
    answer = widget.hear("rows", start=0, count=100)
    assert answer["total"] == 5_001
    assert len(answer["rows"]) == 100


def test_every_request_gets_an_answer_with_its_id() -> None:
    widget = Watched(PlayedSession(Story().ask("I look.", {"path": "a.txt"}).events))
    assert widget.hear("approve", call="root/1.1", version=1)["ok"]
    assert not widget.hear("approve", call="root/1.1")["ok"]
    assert not widget.hear("nonsense")["ok"]


def test_news_from_the_runs_thread_arrive_through_the_kernels_loop() -> None:
    story = Story()

    async def scene() -> Watched:
        session = PlayedSession(story.events)
        widget = Watched(session)
        known = len(story.events)
        story.ask("I look.", {"path": "a.txt"})
        await asyncio.to_thread(session.play, story.events[known:])
        assert widget.pending == []
        changed = asyncio.Event()
        widget.observe(lambda _: changed.set(), "pending")
        await asyncio.wait_for(changed.wait(), 5)
        return widget

    assert asyncio.run(scene()).pending[0]["call"] == "root/1.1"


def test_without_a_loop_the_widget_is_up_to_date_when_it_is_shown() -> None:
    story = Story()
    session = PlayedSession(story.events)
    widget = Watched(session)
    session.play(finished_story().events[len(story.events) :])
    assert "finished" in widget._repr_mimebundle_()[0]["text/plain"]
    assert widget.status["state"] == "finished"


def test_the_output_holds_a_view_a_table_and_a_line() -> None:
    """spec/faults.md f13, f14."""
    widget = Watched(PlayedSession(finished_story(tool=HOSTILE).events, live=False))
    data, _ = widget._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    assert "<table>" in data["text/html"]
    assert HOSTILE not in data["text/html"]
    assert data["text/plain"].startswith("loopkit run fixer · iteration 2/10 · finished")
    assert "\n" not in data["text/plain"]


def test_closing_frees_comm_layout_and_session_once() -> None:
    """spec/faults.md f9."""
    before = open_widgets()
    session = PlayedSession(finished_story().events)
    widget = Watched(session)
    assert open_widgets() == before + 2
    widget.close()
    widget.close()
    assert open_widgets() == before
    assert session.closed == 1
    widget._handle_custom_msg({"kind": "approve", "id": 1}, [])
    widget.refresh()


def test_a_closed_widget_is_not_kept_alive() -> None:
    session = PlayedSession(finished_story().events)
    widget = Watched(session)
    gone = weakref.ref(widget)
    widget.close()
    del widget
    gc.collect()
    session.play([])
    assert gone() is None


def test_running_a_cell_fifty_times_leaves_one_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    """spec/faults.md f9."""
    sessions: list[PlayedSession] = []

    def start(*_: object, **__: object) -> PlayedSession:
        sessions.append(PlayedSession(Story().ask("I look.", {"path": "a.txt"}).events))
        return sessions[-1]

    monkeypatch.setattr(Session, "start", start)
    counts = []
    for execution in range(50):
        monkeypatch.setattr(loopkit_notebook, "current_cell", lambda number=execution: CellRun("cell", str(number)))
        debug(object(), "task")  # type: ignore[arg-type] # the played session asks nothing of it
        counts.append(open_widgets())
    assert set(counts) == {counts[0]}
    assert [session.closed for session in sessions] == [1] * 49 + [0]


def test_one_run_of_a_cell_may_make_several_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "open", lambda _, whole: PlayedSession(finished_story().events, live=False))
    monkeypatch.setattr(loopkit_notebook, "current_cell", lambda: CellRun("cell", "1"))
    first, second = view("a.jsonl"), view("b.jsonl")
    assert first.comm is not None
    assert second.comm is not None


def test_a_file_that_cant_be_shown_is_one_line(tmp_path: Path) -> None:
    """IPython prints what the exception gives it in place of a traceback."""
    with pytest.raises(UserError) as caught:
        view(tmp_path / "missing.jsonl")
    lines = caught.value._render_traceback_()  # type: ignore[attr-defined]  # the hook that view sets
    assert len(lines) == 1
    assert "missing.jsonl" in lines[0]


def test_a_widget_of_a_recorded_run_offers_no_decisions() -> None:
    story = Story().ask("I look.", {"path": "a.txt"}).decide(Approve())
    widget = Watched(PlayedSession(story.events, live=False))
    assert widget.pending == []
    assert widget.status["ended"]
