"""Requests are data, answers are data, errors included."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopkit_notebook.request_desk import RequestDesk, editable_json
from loopkit_notebook.row_feed import RowFeed
from tests.notebook_widget.stories import PlayedSession, Story, long_story


def desk_of(story: Story) -> tuple[RequestDesk, PlayedSession]:
    session = PlayedSession(story.events)
    feed = RowFeed(session.timeline)
    feed.take(session.poll())
    return RequestDesk(session, feed), session  # type: ignore[arg-type] # has the face of a Session


def waiting_desk() -> tuple[RequestDesk, PlayedSession, dict[str, Any]]:
    story = Story().ask("I look.", {"path": "a.txt"})
    desk, session = desk_of(story)
    return desk, session, {"call": story.call(), "version": 1}


@pytest.mark.parametrize(
    ("kind", "fields", "command"),
    [
        ("approve", {}, ("approve", "root/1.1", 1)),
        ("deny", {"reason": "no"}, ("deny", "root/1.1", 1, "no")),
        ("edit", {"text": '{"path": "b"}'}, ("edit", "root/1.1", 1, {"path": "b"})),
        ("respond", {"output": "me", "is_error": True}, ("respond", "root/1.1", 1, "me", True)),
        ("pause", {}, ("pause",)),
        ("step", {}, ("step",)),
        ("next", {}, ("next_iteration",)),
        ("continue", {}, ("resume",)),
        ("stop", {}, ("stop",)),
    ],
)
def test_a_click_reaches_the_session(kind: str, fields: dict[str, Any], command: tuple[Any, ...]) -> None:
    desk, session, call = waiting_desk()
    assert desk.answer(kind, {**call, **fields})["ok"]
    assert session.commands == [command]


def test_arguments_are_judged_while_typing() -> None:
    desk, _, call = waiting_desk()
    assert desk.answer("check", {**call, "text": "{"})["problems"][0]["text"].startswith("not JSON")
    assert desk.answer("check", {**call, "text": '{"path": 1}'})["problems"] == [
        {"path": "$.path", "text": "path: a string is needed"}
    ]
    assert desk.answer("check", {**call, "text": '{"path": "b"}'})["problems"] == []


def test_invalid_arguments_never_reach_the_session() -> None:
    desk, session, call = waiting_desk()
    answer = desk.answer("edit", {**call, "text": '{"path": 1}'})
    assert not answer["ok"]
    assert answer["problems"]
    assert session.commands == []


def test_a_refused_decision_is_an_answer_in_one_line() -> None:
    desk, session, call = waiting_desk()
    session.timeline.waiting.clear()
    assert desk.answer("approve", call) == {"ok": False, "error": "root/1.1 is decided already"}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("dance", {}),
        (None, {}),
        ("approve", {}),
        ("rows", {"start": "x"}),
        ("detail", {"key": "none"}),
        ("draft", {"call": "root/9.9"}),
    ],
)
def test_nonsense_is_answered_with_an_error(kind: object, fields: dict[str, Any]) -> None:
    desk, session, _ = waiting_desk()
    answer = desk.answer(kind, fields)
    assert not answer["ok"]
    assert answer["error"]
    assert session.commands == []


def test_rows_come_in_pages() -> None:
    desk, _ = desk_of(long_story(500))
    answer = desk.answer("rows", {"start": 400, "count": 10_000})
    assert answer["total"] == 1_001
    assert answer["start"] == 400
    assert len(answer["rows"]) == 500


def test_a_big_result_comes_in_pieces_that_add_up() -> None:
    result = "0123456789" * 30_000
    story = Story().ask("I look.", {"path": "a.txt"}).run(result)
    desk, _ = desk_of(story)
    key = desk.answer("rows", {"start": 2, "count": 1})["rows"][0]["key"]
    section = next(part for part in desk.answer("detail", {"key": key})["sections"] if part["name"] == "result")
    text, hidden, start = section["text"], section["hidden"], section["next"]
    assert hidden == len(result) - len(text) > 0
    while hidden:
        piece = desk.answer("piece", {"key": key, "section": "result", "start": start})
        text, hidden, start = text + piece["text"], piece["hidden"], piece["next"]
    assert text == result


def test_the_draft_of_an_edit_means_what_the_model_asked_for() -> None:
    arguments = {"path": "\u202e\ud800é\x7f\U000e0041 <b>", "big": 12345678901234567890123}
    text = editable_json(arguments)
    assert json.loads(text) == arguments
    assert "\\u202e" in text
    assert "é" in text
    assert "12345678901234567890123" in text
    assert text.isprintable() or "\n" in text
    assert not {"\u202e", "\ud800", "\x7f", "\U000e0041"} & set(text)
