"""Rows as numbered changes."""

from __future__ import annotations

from typing import Any

from loopkit import events as e
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Message, Usage
from loopkit.outcomes import Approve, Complete
from loopkit_notebook.row_feed import RowFeed, row_data, row_key
from tests.notebook_widget.stories import HOSTILE, Story, finished_story, long_story


def replica(story: Story, batch: int) -> tuple[list[dict[str, Any]], Timeline]:
    """Apply a story in batches and keep rows as a front-end does: from the changes alone."""
    timeline = Timeline()
    feed = RowFeed(timeline)
    rows: list[dict[str, Any]] = []
    for start in range(0, len(story.events), batch):
        events = story.events[start : start + batch]
        for event in events:
            timeline.apply(event)
        changes = feed.take(events)
        for index, row in changes.inserted:
            rows.insert(index, row_data(row))
        for row in changes.changed:
            at = next(index for index, known in enumerate(rows) if known["key"] == row_key(row))
            rows[at] = row_data(row)
    return rows, timeline


def story_with_parallel_agents() -> Story:
    story = Story().ask("Two helpers.", {"path": "a"}, {"path": "b"})
    for position in (1, 2):
        story.decide(Approve(), position).add(e.ToolStarted(story.call(position)))
    paths = [e.child_path(story.call(position), 1) for position in (1, 2)]
    for position, path in enumerate(paths, 1):
        story.add(e.LoopStarted("helper", (Message.user("help"),), parent_call=story.call(position)), path, 0)
    for path in (*paths, *paths):
        number = sum(event.loop == path and isinstance(event.fact, e.IterationStarted) for event in story.events) + 1
        story.add(e.IterationStarted(), path, number).add(e.ModelRequested(1, 1, "f"), path, number)
        story.add(e.ModelReplied(Message.assistant("hm")), path, number)
    for position, path in enumerate(paths, 1):
        story.add(e.LoopFinished(Complete(), 2, Usage()), path, 2)
        story.add(e.ToolReturned(story.call(position), "done"))
    return story.finish()


def test_changes_alone_give_the_rows_of_the_timeline() -> None:
    for story in (finished_story(), story_with_parallel_agents(), long_story(20)):
        for batch in (1, 3, len(story.events)):
            rows, timeline = replica(story, batch)
            assert rows == [row_data(row) for row in timeline.rows]


def test_keys_are_unique() -> None:
    story = story_with_parallel_agents()
    timeline = Timeline(story.events)
    keys = [row_key(row) for row in timeline.rows]
    assert len(set(keys)) == len(keys)


def test_a_late_event_sends_what_it_touched_only() -> None:
    """The cost of an event doesn't grow with the run."""
    story = long_story(300)
    timeline = Timeline(story.events)
    feed = RowFeed(timeline)
    feed.take(story.events)
    known = len(story.events)
    story.ask("once more", {"path": "z"})
    for event in story.events[known:]:
        timeline.apply(event)
    changes = feed.take(story.events[known:])
    assert len(changes.inserted) == 2
    assert changes.changed == []


def test_a_call_that_gets_its_result_is_a_changed_row() -> None:
    story = Story().ask("I look.", {"path": "a"})
    timeline = Timeline(story.events)
    feed = RowFeed(timeline)
    feed.take(story.events)
    known = len(story.events)
    story.decide(Approve()).run("hello")
    for event in story.events[known:]:
        timeline.apply(event)
    changed = [row_data(row) for row in feed.take(story.events[known:]).changed]
    assert ("✓", "read_file") in [(row["mark"], row["label"]) for row in changed]


def test_a_streamed_answer_stands_on_the_row_that_waits_for_it() -> None:
    story = Story()
    story.iteration = 1
    story.add(e.IterationStarted()).add(e.ModelRequested(1, 2, "f"))
    timeline = Timeline(story.events)
    feed = RowFeed(timeline)
    feed.take(story.events)
    row = feed.answering_row(e.ROOT)
    assert row is not None
    assert row_data(row, "The clock\x1b[2J")["detail"] == "The clock␛[2J"


def test_index_and_page_agree() -> None:
    story = long_story(5)
    feed = RowFeed(Timeline(story.events))
    feed.take(story.events)
    row = feed.page(4, 1)[0]
    assert feed.index(row_key(row)) == 4
    assert feed.index("no such row") is None


def test_hostile_names_stay_text() -> None:
    """spec/faults.md f11: the row holds the text; escaping it is nobody's job because it is never HTML."""
    story = finished_story(tool=HOSTILE, task=HOSTILE)
    rows, _ = replica(story, 1)
    assert {row["label"] for row in rows if row["kind"] == "call"} == {HOSTILE}
