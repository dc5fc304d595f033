"""Events of a recording one after the other, without loading it: all there are, one by its number, or those to come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from loopkit.debugger.display import one_line
from loopkit.debugger.numbered import NumberedEvents
from loopkit.debugger.skimming import PassesOver
from loopkit.encoding import DecodingError
from loopkit.errors import UserError
from loopkit.events import ROOT, Event, LoopFailed, LoopFinished
from loopkit.recording.following import Follower
from loopkit.recording.lock import owner_of
from loopkit.recording.reader import Damage, open_lines
from loopkit.recording.stored_events import LineDecoder

_PIECE = 1 << 22


def stream_events(path: str | Path, passes_over: PassesOver | None = None) -> Iterator[Event | str]:
    """Yield a recording's events; a damaged line comes as words on what is wrong with it.

    Args:
        passes_over: says which lines are left out without being decoded.

    Raises:
        UserError: it can't be read, in one line.
    """
    with open_lines(path, passes_over) as (_, _, lines):
        for line in lines:
            if isinstance(line.content, Event):
                yield line.content
            elif isinstance(line.content, Damage):
                yield f"line {line.content.line} is damaged: {line.content.reason}"
            else:
                yield str(line.content)


def event_numbered(path: str | Path, seq: int) -> Event:
    """Return the event with a number.

    Raises:
        UserError: there is none, or the recording can't be read, in one line.
    """
    with NumberedEvents(path) as numbered, suppress(UserError):
        return numbered.event(seq)
    # the numbers may not rise
    with open_lines(path) as (header, first, _):
        decoder = LineDecoder(header.format)
    for line in _lines_that_may_be(Path(path), len(first), seq):
        try:
            event = decoder.event(line)
        except DecodingError:
            continue
        if event.seq == seq:
            return event
    for found in stream_events(path):
        if isinstance(found, Event) and found.seq == seq:
            return found
    raise UserError(f"{one_line(str(path))}: there is no event {seq} in it")


def window_of_events(path: str | Path, *, first: int | None = None, last: int | None = None) -> Iterator[Event | str]:
    """Yield a part of a recording's events without reading what stands before; a damaged line comes as words.

    Args:
        first: number of the event to begin with.
        last: how many of the last ones; `first` goes before it.

    Raises:
        UserError: it can't be read, in one line.
    """
    with NumberedEvents(path) as numbered:
        yield from numbered.from_number(first) if first is not None else numbered.last(last or 0)


def _lines_that_may_be(path: Path, start: int, seq: int) -> Iterator[bytes]:
    """The lines that begin with a number, as loopkit writes them."""
    beginning = b'{"seq":%d,' % seq
    with path.open("rb") as file:
        file.seek(start)
        while piece := file.read(_PIECE):
            piece += file.readline()
            place = 0 if piece.startswith(beginning) else piece.find(b"\n" + beginning) + 1
            if place or piece.startswith(beginning):
                yield piece[place : piece.find(b"\n", place) + 1 or len(piece)]


def follow_events(path: str | Path) -> Iterator[Event | str | None]:
    """Yield a recording's events and those that are appended to it, until its run ends or nobody writes it any more.

    None comes whenever there is nothing new: whoever follows waits a moment then. A damaged line comes as words.

    Raises:
        UserError: it can't be read, or was replaced meanwhile; in one line.
    """
    follower = Follower(Path(path))
    try:
        while True:
            # asked first: what its owner wrote before it went is then read below
            owned = owner_of(Path(path)) is not None
            found = follower.take()
            for item in found:
                if isinstance(item, Damage):
                    yield f"line {item.line} is damaged: {item.reason}"
                    continue
                yield item
                if item.loop == ROOT and isinstance(item.fact, LoopFinished | LoopFailed):
                    return
            if not found:
                if not owned:
                    return
                yield None
    finally:
        follower.close()
