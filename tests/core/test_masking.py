"""Old large results are left out of what the model gets, and of nothing else (spec/loop.md 2, last row)."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import events as e
from loopkit.core.config import LoopRules, ToolLoopConfig
from loopkit.core.context_tools import ResultMasking
from loopkit.core.history import History
from loopkit.core.loop import LoopCore, fold
from loopkit.messages import Message, ToolResult
from tests.core.playbook import Playbook, call

LARGE = "x" * 2000
SMALL = "x" * 1999
LEFT_OUT = "[An older result of look, about 500 tokens, is left out here.]"


def playbook(**options: Any) -> Playbook:
    return Playbook(max_iterations=10_000, masking=ResultMasking(**options))


def turn(play: Playbook, *contents: str) -> list[e.Derived]:
    """The model asks for a look for each content, and each look gives it."""
    play.reply(*[call("look", f"c{place}") for place in range(len(contents))])
    play.approve()
    news: list[e.Derived] = []
    for place, content in enumerate(contents, 1):
        news = play.end(place, content)
    return news


def results(messages: list[Message]) -> list[str]:
    return [result.content for message in messages for result in message.tool_results]


def masked(news: list[e.Derived]) -> list[tuple[str, ...]]:
    return [fact.calls for fact in news if isinstance(fact, e.ResultsMasked)]


def test_results_older_than_the_last_two_iterations_are_left_out_of_the_view_only() -> None:
    """2: masking keeps 2 iterations; the transcript keeps the originals."""
    play = playbook()
    assert masked(turn(play, LARGE)) == []
    assert masked(turn(play, LARGE)) == []
    assert results(play.request) == [LARGE, LARGE]
    news = turn(play, LARGE)
    assert [type(fact) for fact in news] == [e.IterationStarted, e.ResultsMasked, e.ModelRequested]
    assert masked(news) == [("root/1.1",)]
    assert results(play.request) == [LEFT_OUT, LARGE, LARGE]
    assert results(play.messages) == [LARGE, LARGE, LARGE]


def test_only_the_large_results_of_a_response_are_left_out() -> None:
    """2: masks results of 500 tokens and more; an error stays an error, ids stay as they are."""
    play = playbook(keep_iterations=0)
    play.reply(call("look", "same"), call("look", "same"), call("write", "other"))
    play.approve()
    play.end(1, LARGE, is_error=True)
    play.end(2, SMALL)
    news = play.end(3, "y" * 8000)
    assert masked(news) == [("root/1.1", "root/1.3")]
    assert [message.tool_results[0] for message in play.request[2:]] == [
        ToolResult("same", LEFT_OUT, is_error=True),
        ToolResult("same", SMALL),
        ToolResult("other", "[An older result of write, about 2,000 tokens, is left out here.]"),
    ]


def test_the_fingerprint_tells_views_apart() -> None:
    """The request says what it holds: with something left out it is another request."""
    plain, masking = Playbook(max_iterations=9), playbook(keep_iterations=0)
    before = [(turn(play, SMALL), play.state.fingerprint)[1] for play in (plain, masking)]
    after = [(turn(play, LARGE), play.state.fingerprint)[1] for play in (plain, masking)]
    assert before[0] == before[1]
    assert after[0] != after[1]


def test_nothing_is_left_out_unless_asked_for() -> None:
    """2: the default is None; a start without it stands in the log as it always did."""
    assert "masking" not in ToolLoopConfig().description()
    play = Playbook()
    for _ in range(5):
        turn(play, LARGE)
    assert play.request == play.messages


def test_its_settings_come_back_from_the_log() -> None:
    """2"""
    config = ToolLoopConfig(masking=ResultMasking(3, 40))
    assert LoopRules.read(config.description()).masking == ResultMasking(3, 40)
    assert LoopRules.read({}).masking is None


@pytest.mark.parametrize("field", ["keep_iterations", "minimum_tokens"])
def test_a_negative_setting_is_refused_by_name(field: str) -> None:
    """2"""
    with pytest.raises(ValueError, match=field):
        ResultMasking(**{field: -1})


def test_an_edit_of_later_messages_keeps_what_is_left_out() -> None:
    """What stands before the first changed message stays as the model knows it."""
    play = playbook(keep_iterations=1)
    for _ in range(3):
        turn(play, LARGE)
    assert results(play.request) == [LEFT_OUT, LEFT_OUT, LARGE]
    size = len(play.messages)
    play.tell(e.HistoryEdited(size, size, (Message.user("go on"),), "person"))
    assert results(play.request) == [LEFT_OUT, LEFT_OUT, LARGE]
    play.tell(e.HistoryEdited(3, 3, (Message.user("new"),), "person"))
    assert results(play.request) == [LEFT_OUT, LARGE, LARGE]
    assert fold(play.events)["root"] == play.state


def test_an_iteration_looks_at_its_own_messages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN: cost per iteration stays constant; no iteration copies or measures the whole history again.

    Two messages enter the history, two are settled; the first time the task too.
    """
    touched = 0
    append = History.append

    def counting(history: History, *messages: Message) -> History:
        nonlocal touched
        touched += len(messages)
        return append(history, *messages)

    play = playbook()
    for _ in range(40):
        turn(play, LARGE)
    core = LoopCore.started(e.ROOT, play.state.started)
    monkeypatch.setattr(History, "append", counting)
    per_turn = []
    for event in play.events[1:]:
        core.apply(event)
        if isinstance(event.fact, e.ModelRequested):
            per_turn.append(touched)
            touched = 0
            assert len(core.state.large_results) <= 2
    assert per_turn == [0, 2, 2, 5, *[4] * 37]
