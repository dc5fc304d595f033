"""Peers that send whatever they like, at whatever pace, and go at any byte: the agent and other viewers don't notice."""

from __future__ import annotations

import json
import random  # noqa: TID251  # the same noise each time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopkit import ToolCall, ToolLoopConfig, tool
from loopkit.debugger import wire
from loopkit.debugger.policy import ApproveAll
from loopkit.debugger.serving import MOST_CONNECTIONS, MOST_VIEWERS
from tests.debugger.attached import Peer, Served, served
from tests.debugger.live_runs import PATIENCE

SUM = ToolCall("c1", "add", {"a": 1, "b": 2})
HELLO = b'{"hello":"loopkit-attach","version":1}\n'


@pytest.fixture
def run(path: Path) -> Iterator[Served]:
    """A run that waits for a decision, which still comes through after whatever a test does to it."""
    with served([SUM, "done"], path) as run:
        yield run
        run.close_peers()
        session, eyes = run.attach("take over")
        eyes.until_pending()
        session.approve("root/1.1", 1)
        eyes.until_ended()
        with run.server.changed:
            assert run.server.changed.wait_for(lambda: run.server._connections == 1, PATIENCE)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"NaN\n",
        b'"text"\n',
        b"{" * 3000 + b"\n",
        b"[" * 3000 + b"\n",
        b'{"a":' * 700 + b"\n",
        b"\xff\xfe\x00\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b'{"hello":"loopkit-attach"}\n',
        b'{"hello":"loopkit-attach","version":2}\n',
        b'{"hello":"loopkit-attach","version":"1"}\n',
        b'{"hello":"loopkit-attach","version":true}\n',
        b'{"hello":"another","version":1}\n',
        b'{"hello":"loopkit-attach","version":1,"role":"owner"}\n',
        b'{"hello":"loopkit-attach","version":1,"role":["decide"]}\n',
        b'{"hello":"loopkit-attach","version":1,"after":"0"}\n',
        b'{"hello":"loopkit-attach","version":' + b"9" * 4000 + b"}\n",
        b"x" * 5000,
    ],
    ids=lambda line: repr(line[:50]),
)
def test_a_first_line_that_is_no_hello_is_refused_in_one_line(line: bytes, run: Served) -> None:
    peer = run.peer()
    peer.send(line)
    (last,) = peer.rest()
    assert set(last) == {"refused"}
    assert "\n" not in last["refused"]


@pytest.mark.parametrize("after", [-5, 10**30])
def test_a_place_in_the_events_that_is_none_is_taken_for_the_nearest(after: int, run: Served) -> None:
    peer = run.peer()
    peer.hello(after=after)
    assert next(iter(peer.next, {})).get("seq", 1) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]\n",
        b"\x00\xff\n",
        b'{"do":"pause"}\n',
        b'{"id":"1","do":"pause"}\n',
        b'{"id":1.5}\n',
        b"{" * 99 + b"\n",
    ],
)
def test_a_line_that_is_no_command_ends_the_connection_with_a_word(line: bytes, run: Served) -> None:
    peer = run.peer()
    peer.hello()
    peer.send(line)
    assert "bye" in peer.rest()[-1]


@pytest.mark.parametrize(
    "command",
    [
        {"id": 1},
        {"id": 1, "do": None},
        {"id": 1, "do": "close"},
        {"id": 1, "do": "_decide", "with": {}},
        {"id": 1, "do": "approve", "with": None},
        {"id": 1, "do": "approve", "with": {"call": "root/9.9", "version": 1}},
        {"id": 1, "do": "approve", "with": {"call": "\x1b[2J", "version": 1}},
        {"id": 1, "do": "edit", "with": {"call": "root/1.1", "version": 1, "arguments": {"a": "x"}}},
        {"id": 1, "do": "stop", "with": {"reason": 5}},
    ],
)
def test_a_command_that_can_not_be_done_is_refused_and_the_connection_stays(
    command: dict[str, object], run: Served
) -> None:
    peer = run.peer()
    peer.hello()
    peer.send(command)
    refused = peer.answer(1)["refused"]
    assert "\n" not in refused
    assert "\x1b" not in refused
    peer.send({"id": 2, "do": "ping"})
    assert peer.answer(2) == {"answer": 2, "value": None}


def test_a_line_without_an_end_is_cut_off(run: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LONGEST_COMMAND", 100_000)
    peer = run.peer()
    peer.hello()
    # a broken pipe or a reset, as the system likes
    with pytest.raises(OSError):  # noqa: PT011
        peer.send(b"x" * 100_000_000)


def test_who_drips_bytes_does_not_hold_a_place(run: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first line comes in time as a whole, or not at all."""
    monkeypatch.setattr(wire, "HELLO_SECONDS", 0.2)
    peer = run.peer()
    peer.send(HELLO[:1])
    assert peer.rest() == [{"refused": "the first line did not come in time"}]


def test_who_falls_silent_is_let_go(run: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SILENT_SECONDS", 0.2)
    peer = run.peer()
    peer.hello()
    assert "answer" not in peer.rest()[-1]
    with run.server.changed:
        assert run.server.changed.wait_for(lambda: run.server._decider is None, PATIENCE)


def test_a_conversation_may_end_at_any_byte(run: Served) -> None:
    """Also in the middle of a decision: it is taken whole or not at all."""
    decision = {"id": 1, "do": "approve", "with": {"call": "root/9.1", "version": 1}}
    conversation = HELLO + json.dumps(decision).encode() + b"\n"
    for cut in range(len(conversation) + 1):
        peer = Peer(run.place)
        peer.send(conversation[:cut])
        peer.close()


def test_noise_changes_nothing(run: Served) -> None:
    noise = random.Random(7)  # the same noise each time
    words = [
        b"{",
        b"}",
        b"[",
        b'"',
        b":",
        b",",
        b"\n",
        b'"id"',
        b'"do"',
        b'"with"',
        b"1",
        b"null",
        b"\xf0\x9f",
        b"\\u",
        b"-",
    ]
    for number in range(60):
        peer = Peer(run.place)
        if number % 2:
            peer.hello(role="watch")
        try:
            for _ in range(20):
                peer.send(b"".join(noise.choice(words) for _ in range(noise.randrange(1, 60))))
        except OSError:
            continue
        finally:
            peer.close()


def test_too_many_connections_are_closed_and_too_many_viewers_refused(run: Served) -> None:
    viewers = [run.peer() for _ in range(MOST_VIEWERS)]
    for viewer in viewers:
        viewer.hello(role="watch")
    assert "which is the most" in run.peer().hello()["refused"]
    silent = [run.peer() for _ in range(MOST_CONNECTIONS)]
    assert silent[-1].next() == {}
    for peer in (*viewers, *silent):
        peer.close()
    with run.server.changed:
        assert run.server.changed.wait_for(lambda: run.server._connections == 0, PATIENCE)


@tool(side_effect="read")
def fetch() -> str:
    """Return much."""
    return "x" * 200_000


def test_a_viewer_that_takes_nothing_holds_up_nobody(backend: str, path: Path) -> None:
    """Backpressure: its own thread waits; the agent, the recording and other viewers go on."""
    script = [[ToolCall("c", "fetch", {})] for _ in range(40)]
    config = ToolLoopConfig(max_iterations=60)
    with served([*script, "done"], path, fetch, backend=backend, stand_in=ApproveAll(), config=config) as run:
        stuck = run.peer()
        stuck.send({"hello": "loopkit-attach", "version": 1, "role": "watch"})
        session, eyes = run.attach("watch")
        eyes.until_ended()
        assert session.status().iteration == 41
        seen = session.events
        # what it missed it is told when it reads on, and again whenever it asks for it
        peer = run.peer()
        peer.hello(role="watch", after=len(seen) - 2)
        assert [peer.next()["seq"], peer.next()["seq"]] == [len(seen) - 1, len(seen)]
        received = [0]
        while received[-1] < len(seen):
            message = stuck.next()
            received += [message["seq"]] if "seq" in message else []
        assert received[1:] == [event.seq for event in seen]
