"""Commands by name: what another process may ask a session for, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from loopkit import ToolCall
from loopkit.debugger.commanding import COMMANDS, REPORTED, do_command, report_of, signatures
from loopkit.debugger.session import Session
from loopkit.errors import CommandRefused, DecisionNotAccepted
from loopkit.events import Event
from tests.debugger.live_runs import assert_sound, started

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})


class Far:
    """A run of another process that answers as it is told to."""

    path: Path | None = Path("far.jsonl")
    ended = False
    has_news = False
    now = 1.5
    connection = watches = ""

    def __init__(self, answer: object = None, **told: object) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.closed = False
        self._answer = answer
        self._told = told

    def ask(self, command: str, arguments: Mapping[str, Any]) -> object:
        self.asked.append((command, arguments))
        return self._answer

    def told(self, name: str) -> object:
        return self._told.get(name)

    def on_change(self, wake: Any) -> None:
        wake()

    def take(self) -> list[Event]:
        return []

    def partial(self, loop: str) -> str:
        return f"words of {loop}"

    def wait(self, timeout: float | None) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def test_a_command_of_a_session_that_is_elsewhere_is_asked_for_there() -> None:
    far = Far()
    session = Session(remote=far)
    session.approve("root/1.1", 2)
    session.deny("root/1.2", version=1, reason="no")
    session.edit("root/1.3", 1, {"a": [1]})
    session.step()
    assert far.asked == [
        ("approve", {"call": "root/1.1", "version": 2}),
        ("deny", {"call": "root/1.2", "version": 1, "reason": "no"}),
        ("edit", {"call": "root/1.3", "version": 1, "arguments": {"a": [1]}}),
        ("step", {}),
    ]
    assert Session(remote=Far(True)).retry_recording() is True


def test_it_shows_what_is_told_from_there() -> None:
    far = Far(running=True, stands_next="at the next gate", error=7, interrupted=None)
    session = Session(remote=far)
    assert (session.live, session.running, session.stands_next) == (True, True, "at the next gate")
    assert session.partial() == "words of root"
    assert session.status().elapsed == 1.5
    # what has another shape, or is not told, is as in a session that holds nothing
    assert (session.error, session.interrupted) == ("", False)
    session.close()
    assert far.closed


def test_a_command_by_name_does_what_the_method_does(backend: str, path: Path) -> None:
    with started([[SUM, SUM], "done"], path, backend=backend) as (session, eyes):
        eyes.until_pending(2)
        do_command(session, "deny", {"call": "root/1.2", "version": 1, "reason": "not now"})
        assert do_command(session, "retry_recording", {}) is True
        assert do_command(session, "approve", {"call": "root/1.1", "version": 1}) is None
        eyes.until_ended()
        assert [call.content for call in session.timeline.calls.values()] == ["3", "not now"]
        told = report_of(session)
        assert (told["running"], told["stands_next"], told["error"], told["recording_trouble"]) == (False, "", "", "")
    assert_sound(session)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("close", {}, "there is no command close"),
        ("__init__", {}, "there is no command __init__"),
        (None, {}, "there is no command None"),
        ("a\x1b[2J", {}, "␛"),
        ("approve", {"call": "root/1.1"}, "missing a required argument"),
        ("approve", {"call": "root/1.1", "version": 1, "by": "me"}, "unexpected keyword"),
        ("approve", {"call": "root/1.1", "version": True}, "int was expected"),
        ("approve", {"call": ["root/1.1"], "version": 1}, "str was expected"),
        ("approve", [], "JSON object"),
        ("edit", {"call": "root/1.1", "version": 1, "arguments": "text"}, "dict was expected"),
        ("pause", {"self": 1}, "self"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(name: object, arguments: object, words: str, path: Path) -> None:
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        with pytest.raises(CommandRefused) as refused:
            do_command(session, name, arguments)
        assert words in str(refused.value)
        assert "\n" not in str(refused.value)
        assert len(session.pending()) == 1


def test_a_refused_decision_says_why_as_it_does_here(path: Path) -> None:
    """spec/faults.md c3: a decision is bound to its call and version."""
    with started([SUM, "done"], path) as (session, eyes):
        eyes.until_pending()
        with pytest.raises(DecisionNotAccepted, match="the call is at version 1"):
            do_command(session, "approve", {"call": "root/1.1", "version": 2})


def test_every_command_and_report_can_be_said_in_json() -> None:
    """Their types are known where they are read: a new one needs no change of the protocol."""
    told = report_of(Session())
    assert set(told) == set(REPORTED)
    assert set(signatures()) == set(COMMANDS)
    assert signatures()["deny"] == ["call", "version", "reason"]
    for name, method in COMMANDS.items():
        assert {"return", *signatures()[name]} == set(get_type_hints(method)), name
