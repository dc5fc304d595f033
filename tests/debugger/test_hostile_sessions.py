"""What a viewer makes of a session that is none, lies, falls silent or goes: one line, and an interface that lives on."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from loopkit.debugger import remote, wire
from loopkit.debugger.listening import listen
from loopkit.debugger.places import SocketPlace
from loopkit.debugger.remote import attach
from loopkit.debugger.session import Session
from loopkit.errors import CommandRefused, UserError
from tests.debugger.live_runs import PATIENCE, Eyes

HELLO = {"hello": "loopkit-attach", "version": 1, "run": "r", "title": "t", "viewer": 1, "report": {"running": True}}
STARTED = (
    b'{"seq":1,"t":0.0,"loop":"root","iteration":0,"type":"LoopStarted","agent":"a","messages":[],"tools":[],'
    b'"configuration":{}}\n'
)


@contextmanager
def session_that(*conversations: Callable[[socket.socket], None]) -> Iterator[SocketPlace]:
    """A place whose first viewers are each treated as told."""
    with tempfile.TemporaryDirectory() as folder:
        place = SocketPlace(Path(folder) / "x.sock")
        listener, _ = listen(place)

        def serve() -> None:
            for number, conversation in enumerate(conversations, 1):
                connection, _ = listener.accept()
                if number == len(conversations):
                    # whoever comes again finds nobody
                    listener.close()
                with connection:
                    connection.recv(1 << 16)
                    conversation(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield place
        finally:
            thread.join(PATIENCE)
        assert not thread.is_alive()


def says(*lines: object) -> Callable[[socket.socket], None]:
    """Send lines, and go."""
    data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)

    def say(connection: socket.socket) -> None:
        connection.sendall(data)

    return say


def stays(*lines: object) -> Callable[[socket.socket], None]:
    """Send lines, and read until the viewer goes."""

    def stay(connection: socket.socket) -> None:
        says(*lines)(connection)
        while connection.recv(1 << 16):
            pass

    return stay


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BETWEEN_TRIES", 0.01)
    monkeypatch.setattr(remote, "TRYING_SECONDS", 0.05)
    monkeypatch.setattr(remote, "DETACH_SECONDS", 0.05)


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\n", b"[1]\n", {"hello": "x"}, {"hello": "loopkit-attach", "version": 2},
     {"refused": "no\nentry \x1b[2J"}],
)  # fmt: skip
def test_what_does_not_answer_as_a_session_is_one_line(line: object) -> None:
    with session_that(says(line)) as place, pytest.raises(UserError) as refusal:
        attach(place)
    assert "\n" not in str(refusal.value)
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[]\n",
        b'{"seq":7,"t":0,"loop":"root","iteration":0,"type":"X"}\n',
        b'{"seq":"1"}\n',
        b'{"seq":1,"t":0,"loop":"root","iteration":0,"type":"LoopStarted"',
    ],
)
def test_a_session_that_breaks_the_protocol_is_left_with_a_word(line: bytes) -> None:
    with session_that(says(HELLO, line)) as place, closing(attach(place)) as session:
        assert session.wait(PATIENCE)
        session.poll()
        assert session.status().state == "failed"
        assert session.error.startswith(f"the connection to {place.path} was lost (")
        assert not session.running
        with pytest.raises(CommandRefused):
            session.pause()


def test_reports_and_words_of_the_wrong_kind_are_not_taken(path: Path) -> None:
    odd = [
        {"report": []},
        {"report": {"running": 5, "error": ["x"], "decides": "me", "now": "late", "stands_next": None}},
        {"loop": 3, "words": "x"},
        {"loop": "root", "more": None},
        {"answer": "x"},
        {"answer": 99, "value": 1},
        {"unheard": "of"},
        STARTED,
        {"so_far": "x"},
    ]
    with session_that(stays(HELLO, *odd)) as place, closing(attach(place)) as session:
        Eyes(session).until(lambda: session.timeline.root is not None)
        assert (session.running, session.error, session.partial(), session.watches) == (False, "", "", "nobody")


def test_a_connection_that_breaks_is_made_again_and_read_on() -> None:
    second = b'{"seq":2,"t":0.0,"loop":"root","iteration":1,"type":"IterationStarted"}\n'
    with (
        session_that(says(HELLO, STARTED), stays(HELLO, second, {"so_far": 2})) as place,
        closing(attach(place)) as session,
    ):
        Eyes(session).until(lambda: len(session.events) == 2)
        assert [event.seq for event in session.events] == [1, 2]
        assert (session.connection, session.error) == ("", "")


def test_another_run_at_the_same_place_is_not_taken_for_this_one() -> None:
    with session_that(says(HELLO), says({**HELLO, "run": "other"})) as place, closing(attach(place)) as session:
        assert session.wait(PATIENCE)
        assert "was lost" in session.error


def test_a_command_without_an_answer_is_refused_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_SECONDS", 0.1)
    with (
        session_that(stays(HELLO)) as place,
        closing(attach(place)) as session,
        pytest.raises(CommandRefused, match="not known whether this was done"),
    ):
        session.pause()


def test_a_command_that_the_connection_did_not_survive_is_not_known_to_be_done() -> None:
    def leave_after_a_command(connection: socket.socket) -> None:
        says(HELLO)(connection)
        connection.recv(1 << 16)

    with (
        session_that(leave_after_a_command) as place,
        closing(attach(place)) as session,
        pytest.raises(CommandRefused, match="not known whether this was done"),
    ):
        session.approve("root/1.1", 1)


def test_what_is_no_json_or_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LONGEST_COMMAND", 1000)
    with session_that(stays(HELLO)) as place, closing(attach(place)) as session:
        for arguments, words in (
            ({"a": object()}, "not JSON"),
            ({"a": float("nan")}, "not JSON"),
            ({"a": "x" * 2000}, "larger"),
        ):
            with pytest.raises(CommandRefused, match=words):
                session.edit("root/1.1", 1, arguments)


def test_a_run_that_ended_keeps_its_end_when_the_connection_goes() -> None:
    with (
        session_that(says(HELLO, {"report": {"ended": True, "running": False}}, {"bye": "the run has ended"})) as place,
        closing(attach(place)) as session,
    ):
        assert session.wait(PATIENCE)
        assert (session.error, session.connection) == ("", "")


def test_nothing_of_a_viewer_is_left_running() -> None:
    with session_that(stays(HELLO)) as place:
        session: Session = attach(place)
        session.close()
        session.close()
        reader = next((one for one in threading.enumerate() if one.name == "loopkit attached"), None)
        if reader is not None:
            reader.join(PATIENCE)
            assert not reader.is_alive()
