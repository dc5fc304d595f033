"""Histories: cheap to grow, shared, and valid whenever they are sent (spec/loop.md 3, last part)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit import events as e
from loopkit.core.history import INTERRUPTED_CALL, History, HistoryWithTail, with_every_call_answered
from loopkit.messages import Message, ToolCall, ToolResult
from tests.core.playbook import Playbook, call


def asked(*ids: str) -> Message:
    return Message.assistant("", [ToolCall(name, "look") for name in ids])


def result(name: str, content: str = "ok") -> Message:
    return Message.tool(ToolResult(name, content))


def interrupted(name: str) -> Message:
    return Message.tool(ToolResult(name, INTERRUPTED_CALL, is_error=True))


GO = Message.user("go")


def answers_every_call(messages: list[Message]) -> bool:
    """What providers demand: the calls of a message are answered, once each, before the next message."""
    place = 0
    while place < len(messages):
        ids = sorted(call.id for call in messages[place].tool_calls)
        place += 1
        found = []
        while place < len(messages) and messages[place].role == "tool":
            found += [result.tool_call_id for result in messages[place].tool_results]
            place += 1
        if sorted(found) != ids:
            return False
    return True


# ── the view that is sent ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given_messages", "sent"),
    [
        ([GO, asked("a")], [GO, asked("a"), interrupted("a")]),
        ([GO, asked("a", "b"), result("a"), GO], [GO, asked("a", "b"), result("a"), interrupted("b"), GO]),
        (
            [GO, asked("a"), GO, asked("a"), result("a")],
            [GO, asked("a"), interrupted("a"), GO, asked("a"), result("a")],
        ),
        ([GO, asked("dup", "dup"), result("dup")], [GO, asked("dup", "dup"), result("dup"), interrupted("dup")]),
        ([GO, asked("a", "b"), result("b"), result("a")], [GO, asked("a", "b"), result("b"), result("a")]),
        (
            [GO, asked("a", "b", "c"), result("b")],
            [GO, asked("a", "b", "c"), interrupted("a"), result("b"), interrupted("c")],
        ),
        ([GO, result("a"), GO], [GO, GO]),
        ([result("a")], []),
        ([GO, asked("a"), result("a"), result("a")], [GO, asked("a"), result("a")]),
        ([GO, asked("a"), GO, result("a")], [GO, asked("a"), interrupted("a"), GO]),
        ([GO, asked("a", "b"), result("x"), result("b")], [GO, asked("a", "b"), interrupted("a"), result("b")]),
        ([], []),
    ],
    ids=[
        "killed (b1)",
        "half a batch (b2)",
        "ids repeat (b8)",
        "one id twice (b9)",
        "any order",
        "in call order",
        "its call was cut (b12)",
        "nothing but a result",
        "answered twice",
        "answered too late",
        "as many as there should be",
        "nothing",
    ],
)
def test_a_call_without_a_result_gets_a_synthetic_one(given_messages: list[Message], sent: list[Message]) -> None:
    """3, 3.14, spec/faults.md b1, b2, b8, b9, b12: one per call, in its place; a result without its call is left out."""
    assert with_every_call_answered(given_messages) == sent
    assert answers_every_call(sent)


def test_given_open_calls_are_answered_in_the_request_only() -> None:
    """3, spec/faults.md b1: not in the transcript, so that calls handed back can still be answered."""
    play = Playbook([GO, asked("a"), Message.user("and now?")])
    (request,) = play.all_of(e.ModelRequested)
    assert request.message_count == 4
    assert play.request == [GO, asked("a"), interrupted("a"), Message.user("and now?")]
    play.turn(call())
    assert play.messages[:3] == [GO, asked("a"), Message.user("and now?")]
    assert answers_every_call(play.request)
    assert len(play.request) == len(play.messages) + 1


def test_a_stopped_batch_keeps_the_results_it_has() -> None:
    """3, spec/faults.md b2: the others are answered when the history is sent again, not in the transcript."""
    play = Playbook()
    play.reply(call("look", "a"), call("write", "b"), call("ask", "c"))
    play.approve()
    play.end(2, "written")
    play.stop()
    assert play.messages[1:] == [
        Message.assistant("", [call("look", "a"), call("write", "b"), call("ask", "c")]),
        result("b", "written"),
    ]
    again = Playbook(play.messages)
    assert [message.tool_results[0].tool_call_id for message in again.request[2:]] == ["a", "b", "c"]
    assert answers_every_call(again.request)


def test_two_calls_with_one_id_get_two_results() -> None:
    """spec/faults.md b9: and nothing grows on later turns."""
    play = Playbook()
    play.reply(call("look", "dup"), call("look", "dup", n=2))
    play.approve()
    play.end(2, "two"), play.end(1, "one")
    assert [message.tool_results[0].content for message in play.request[2:]] == ["one", "two"]
    play.turn(call("look", "dup"))
    assert len(play.request) == 6
    assert answers_every_call(play.request)


def test_a_history_that_ends_in_open_calls_goes_on() -> None:
    """3"""
    play = Playbook([GO, asked("a", "b"), result("a")])
    play.turn(call())
    play.reply(text="done")
    assert answers_every_call(play.request)
    assert interrupted("b") not in play.messages


def test_an_injected_result_answers_an_open_call() -> None:
    """3: calls that were handed back can still be answered."""
    play = Playbook([GO, asked("a")], stand_at=["root/1.request"])
    play.tell(e.MessagesInjected((result("a", "at last"),), "person"))
    play.tell(e.Resumed("root/1.request", "person"))
    assert play.request == [GO, asked("a"), result("a", "at last")]
    assert play.all_of(e.ModelRequested)[0].message_count == 3


def test_an_edited_history_is_answered_again() -> None:
    """3, spec/faults.md b12: also when the edit cuts between call and result."""
    play = Playbook()
    play.turn(call("look", "a"))
    play.stop()
    play = Playbook(play.messages, stand_at=["root/1.request"])
    play.tell(e.HistoryEdited(2, 3, (), "person"))
    assert play.messages == [GO, asked("a")]
    assert play.request == [GO, asked("a"), interrupted("a")]


def test_a_fingerprint_names_the_request() -> None:
    """DESIGN §1: equal requests have equal fingerprints; settings, tools and every message count."""

    def fingerprint(play: Playbook) -> str:
        return str(play.all_of(e.ModelRequested)[-1].fingerprint)

    def told(text: str, **options: object) -> Playbook:
        return Playbook([Message.user(text)], **options)  # type: ignore[arg-type]  # options of every kind

    assert fingerprint(told("a")) == fingerprint(told("a"))
    different = [told("a"), told("b"), told("a", tools=["look"]), told("a", settings={"temperature": 0})]
    assert len({fingerprint(play) for play in different}) == len(different)


def test_a_fingerprint_of_a_grown_history_is_that_of_a_given_one() -> None:
    """DESIGN §1: the chain knows what is sent, not how it came about."""
    play = Playbook()
    play.turn(call())
    assert Playbook(play.messages).state.fingerprint == play.state.fingerprint


def test_the_words_received_before_an_interruption_are_kept() -> None:
    """9.3: without calls, so that the history stays valid."""
    play = Playbook()
    play.tell(e.RunStopped("person"), e.ModelInterrupted("stopped", Message.assistant("I was about to")))
    assert play.messages == [GO, Message.assistant("I was about to")]
    assert play.state.usage.unreported == 1


# ── the sequence ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_grown_history_leaves_the_one_before_as_it_was() -> None:
    """spec/faults.md d15: also when two grow from one."""
    base = History([GO])
    one, other = base.append(asked("a")), base.append(asked("b"))
    assert list(base) == [GO]
    assert list(one) == [GO, asked("a")]
    assert list(other) == [GO, asked("b")]
    assert one != other


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=8))
def test_any_way_of_growing_gives_the_same(pieces: list[list[int]]) -> None:
    messages = [[Message.user(str(number)) for number in piece] for piece in pieces]
    grown = History()
    snapshots = []
    for piece in messages:
        snapshots.append((grown, list(grown)))
        grown = grown.append(*piece)
    flat = [message for piece in messages for message in piece]
    assert grown == History(flat)
    assert list(grown) == flat
    assert all(list(history) == content for history, content in snapshots)
    assert flat == [grown[place] for place in range(len(grown))]
    assert grown[1:] == flat[1:]


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_history_counts_like_a_list(length: int) -> None:
    messages = [Message.user(str(number)) for number in range(length)]
    longer = History(messages).append(GO)  # the shared list holds one more than what `messages_so_far` may see
    for sequence in (History(messages), HistoryWithTail(longer, ()), HistoryWithTail(History(messages), (GO,))):
        content = list(sequence)
        assert len(sequence) == len(content)
        for place in range(-len(content) - 2, len(content) + 2):
            if -len(content) <= place < len(content):
                assert sequence[place] == content[place]
            else:
                with pytest.raises(IndexError):
                    sequence[place]
        assert list(sequence[:]) == content


def test_what_is_worked_on_stands_behind_the_history() -> None:
    """4.1: an approval's context shows the messages so far."""
    play = Playbook()
    play.reply(call(), text="looking")
    so_far = play.state.messages_so_far
    assert list(so_far) == [GO, Message.assistant("looking", [call()])]
    assert so_far[-1].text == "looking"


def test_a_result_that_is_injected_while_calls_run_finds_its_call_or_is_left_out() -> None:
    """3, spec/faults.md b12: whatever a person injects, and whenever, the next request is valid."""
    for injected, left in (
        (result("nobody"), 0),
        (asked("late"), 1),
        (Message.user("by the way"), 0),
    ):
        play = Playbook()
        play.reply(call("look", "a"), call("write", "b"))
        play.approve()
        play.tell(e.MessagesInjected((injected,), "person"))
        play.end(1), play.end(2)
        assert answers_every_call(play.request)
        assert injected in play.messages
        assert sum(message == interrupted("late") for message in play.request) == left


@given(
    st.lists(
        st.sampled_from([GO, asked("a"), asked("a", "b"), asked("b", "b"), result("a"), result("b"), result("c")]),
        max_size=9,
    )
)
def test_whatever_the_history_is_the_request_is_valid(messages: list[Message]) -> None:
    """3, spec/faults.md b12: and nothing else is changed: all that is valid stays, in its order."""
    sent = with_every_call_answered(messages)
    assert answers_every_call(sent)
    assert [message for message in sent if message.role != "tool"] == [m for m in messages if m.role != "tool"]
    assert with_every_call_answered(sent) == sent
    if answers_every_call([GO, *messages]) and not (messages and messages[0].role == "tool"):
        assert sent == messages
