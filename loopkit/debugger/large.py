"""A large recording as a timeline that holds what is looked at, and an outline of the rest.

It opens at once, whatever the file's size: `advance` reads on in slices, and what was read so far is shown meanwhile.
The same `advance` takes in what another process appends. Rows say the same as those of the whole run's `Timeline`.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, overload
from weakref import WeakKeyDictionary, WeakValueDictionary
from zlib import crc32

from loopkit import __version__
from loopkit import events as e
from loopkit.debugger.costs import answer_cost
from loopkit.debugger.nodes import LoopNode, Row, RowKind
from loopkit.debugger.outline import NONE, TYPECODES, VERSION, Outline
from loopkit.debugger.outline_build import OutlineBuilder, ReplacedError
from loopkit.debugger.outline_steps import STEPS
from loopkit.debugger.outline_window import OutlineWindow
from loopkit.debugger.searching import BackgroundSearch
from loopkit.debugger.timeline import Timeline
from loopkit.recording.index_file import Fingerprint, fingerprint_of, read_index, write_index
from loopkit.recording.lock import owner_of
from loopkit.recording.reader import open_lines
from loopkit.recording.search import Needle
from loopkit.recording.stored_events import EventReader, LineDecoder

LARGE_BYTES = 8_000_000
_FIRST_SLICE = 0.01
_HEAVY_BYTES = 16_000_000
_BETWEEN_LOOKS = 0.2
# a kept outline says what the steps of the loopkit that made it knew
_MEANING = f"{VERSION} {__version__} {crc32(' '.join(sorted(STEPS)).encode()):08x}"


class LargeRows(Sequence[Row]):
    """Rows in display order, each made when it is asked for; the same one as long as somebody holds it."""

    def __init__(self, timeline: LargeTimeline) -> None:
        self._timeline = timeline

    def __len__(self) -> int:
        return len(self._timeline.outline.order)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        order = self._timeline.outline.order
        if isinstance(place, slice):
            return [self._timeline.row(number) for number in order[place]]
        return self._timeline.row(order[place])

    def __iter__(self) -> Iterator[Row]:
        for place in range(len(self)):
            yield self[place]


class LargeEvents(Sequence[e.Event]):
    """Events by their place, each read from the file when it is asked for."""

    def __init__(self, timeline: LargeTimeline) -> None:
        self._timeline = timeline

    def __len__(self) -> int:
        return self._timeline.outline.events

    @overload
    def __getitem__(self, place: int) -> e.Event: ...

    @overload
    def __getitem__(self, place: slice) -> list[e.Event]: ...

    def __getitem__(self, place: int | slice) -> e.Event | list[e.Event]:
        places = range(len(self))[place]
        if isinstance(places, int):
            return self._timeline.event(places)
        return [self._timeline.event(index) for index in places]


class LargeTimeline(Timeline):
    """The timeline of a recording that is not loaded.

    Args:
        path: the recording, one of ours.
        follow: another process may go on writing it: what is open is not taken as cut off.

    Attributes:
        outline: what was read of it so far.
        events: all events that were read so far.

    Raises:
        RecordingError: it can't be read, in one line.
    """

    rows: Sequence[Row]

    def __init__(self, path: Path, *, follow: bool = False) -> None:
        super().__init__()
        self.path = path
        self.follow = follow
        self.rows = LargeRows(self)
        self.events = LargeEvents(self)
        self._open()
        self._saving: Iterator[None] | None = None
        self._fingerprint: Fingerprint | None = None
        self._builder: OutlineBuilder | None = None
        self._complete = False
        self._stale = False
        self._taken_in = 0.0
        self._told = 0
        self._known_loops: dict[str, int] = {}
        kept = None if follow or owner_of(path) is not None else read_index(path, _MEANING, TYPECODES)
        if kept is None:
            self._begin()
            self.advance(_FIRST_SLICE)
        else:
            self.outline = Outline.of(*kept)
            self._complete = True
            self._take_in()

    # ── reading on ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def complete(self) -> bool:
        """Whether everything that the file held was read; a growing file may hold more by now."""
        return self._complete

    @property
    def progress(self) -> float:
        """How much of the file was read, 0 to 1."""
        with suppress(OSError):
            return min(1.0, self.outline.size / max(1, self.path.stat().st_size))
        return 1.0

    @property
    def unsettled(self) -> bool:
        """Whether `advance` still has something to do: to read, to keep what was read, or to look for more."""
        return self.follow or not self._complete or self.keeping

    @property
    def keeping(self) -> bool:
        """Whether what was read is still being written to the cache."""
        return self._saving is not None

    def advance(self, seconds: float | None = None) -> bool:
        """Read on and say whether the rows may have changed; afterwards rows that were held may be old.

        Args:
            seconds: at most about this long; None reads all that is there.

        Raises:
            OSError: the file can't be read any more.
        """
        if self._builder is None:
            return False
        if self._saving is not None:
            self._save(seconds)
            return False
        try:
            changed = self._builder.advance(seconds)
        except ReplacedError:
            self._start_over()
            return True
        if self.follow and self._builder.ended and not changed and owner_of(self.path) is None:
            # whoever wrote it is gone: what is open now stays so
            self.follow = False
            changed = True
        completed = self._builder.ended and not self._complete
        self._complete = self._builder.ended
        if completed and not self.follow:
            self._keep()
            if seconds is None:
                self._save(None)
        self._stale |= changed or completed
        if not self._stale or not (self._complete or time.perf_counter() - self._taken_in > _BETWEEN_LOOKS):
            return False
        self._take_in()
        return True

    def _open(self) -> None:
        with open_lines(self.path) as (self.header, line, _):
            self._start = len(line)
        self._decoder = LineDecoder(self.header.format)
        self._reader = EventReader(self.path, self._decoder)

    def _begin(self) -> OutlineBuilder:
        self._complete = False
        with suppress(OSError):
            self._fingerprint = fingerprint_of(self.path)
        self._builder = OutlineBuilder(self.path, self._start, self._decoder)
        self.outline = self._builder.outline
        return self._builder

    def take_damage(self) -> list[str]:
        """Return a line on each damaged place that was found since the last time."""
        told, self._told = self._told, len(self.outline.damage)
        return self.outline.damage[told:]

    def stop_following(self) -> None:
        """Take what is open as cut off: nothing more can be read."""
        self.follow = False
        self._builder = None
        self._complete = True
        self._take_in()

    def _start_over(self) -> None:
        """Read another file, or another run, that stands in the place of the one that was opened."""
        self._reader.close()
        self._told = 0
        self._known_loops.clear()
        self._open()
        self._begin().advance(_FIRST_SLICE)
        self._take_in()

    def _keep(self) -> None:
        """Begin to write the index, unless the recording has changed since it was begun, or is small."""
        found = self._fingerprint
        if found is not None and found.size == self.outline.size >= LARGE_BYTES:
            self._saving = write_index(self.path, _MEANING, found, self.outline.columns(), self.outline.figures())

    def _save(self, seconds: float | None) -> None:
        deadline = None if seconds is None else time.perf_counter() + seconds
        for _ in self._saving or ():
            if deadline is not None and time.perf_counter() > deadline:
                return
        self._saving = None

    def _take_in(self) -> None:
        """Take the run's figures from the outline, and forget rows that later events may have changed."""
        outline = self.outline
        self._stale, self._taken_in = False, time.perf_counter()
        self._forget()
        self._alive: WeakValueDictionary[int, Row] = WeakValueDictionary()
        self._numbers: WeakKeyDictionary[Row, int] = WeakKeyDictionary()
        self.seq = outline.seq_of(outline.events - 1) if outline.events else 0
        self.t = outline.t
        self.gaps = outline.gaps
        self.warnings = outline.warnings
        self.errors = outline.errors
        self.denied = outline.denied
        self.edited = outline.edited
        self.waited_seconds = outline.waited_seconds
        self._waiting_since = outline.waiting_since
        self.root = self._window.loop(0) if len(outline.loop_start) else None
        if self.root is not None:
            self.usage = outline.total_usage()

    def _forget(self) -> None:
        self._window = OutlineWindow(
            self.outline, self.event, over=self._complete and not self.follow, known=self._known_loops
        )

    # ── what is looked at ────────────────────────────────────────────────────────────────────────────────────────────

    def event(self, place: int) -> e.Event:
        """Return the event that is the `place`-th, counted from 0."""
        return self._reader.event(self.outline.event_start[place], self.outline.length_of(place))

    def row(self, number: int) -> Row:
        """Return a row by its number in the outline."""
        row = self._alive.get(number)
        if row is None:
            if self._window.weight > _HEAVY_BYTES:
                self._forget()
            row = self._alive[number] = self._window.row(number)
            self._numbers[row] = number
        return row

    def number_of(self, row: Row) -> int | None:
        """Return the number of a row in the outline, also of one that was made before something changed."""
        known = self._numbers.get(row)
        if known is not None:
            return known
        event = self.outline.event_of(row.seq)
        same = [] if event is None else [n for n in self.outline.rows_of_event(event) if self._is(n, row)]
        return same[0] if same else None

    def _is(self, number: int, row: Row) -> bool:
        other = self.row(number)
        call, other_call = row.call, other.call
        return other.kind is row.kind and (call is None or (other_call is not None and call.id == other_call.id))

    def loop(self, number: int) -> LoopNode:
        """Return a loop by its number in the outline."""
        return self._window.loop(number)

    def loop_number(self, path: str) -> int | None:
        """Return the number of a loop that was looked at before."""
        return self._known_loops.get(path)

    def place_of_event(self, place: int) -> int:
        """Return the place of the row that shows an event."""
        outline = self.outline
        group = outline.event_group[place]
        if group == NONE:
            return 0
        fact = self.event(place).fact
        position = getattr(fact, "call", "").rpartition(".")[2]
        if position.isdecimal() and 1 <= int(position) <= outline.group_calls[group]:
            return outline.place_of_row(outline.call_row(group, int(position)))
        return outline.place_of_event(outline.group_first[group] if isinstance(fact, e.ModelReplied) else place)

    def search(self, text: str, row: Row | None) -> BackgroundSearch:
        """Begin to search the file for words, from a row on; upper and lower case are the same."""
        number = None if row is None else self.number_of(row)
        start = self._start if number is None else self.outline.event_start[self.outline.row_event[number]]
        return BackgroundSearch(self.path, Needle(text), start=start, first=self._start)

    def place_found(self, start: int) -> int | None:
        """Return the place of the row that shows the event whose line begins there; None before it was read."""
        outline = self.outline
        place = bisect_left(outline.event_start, start)
        return self.place_of_event(place) if place < outline.events else None

    def events_near(self, row: Row) -> list[e.Event]:
        """Return the events of a row's group and those that changed its calls later, in their order."""
        number = self.number_of(row)
        if number is None:
            return []
        outline = self.outline
        group = outline.event_group[outline.row_event[number]]
        loop = outline.group_loop[group]
        ends = [] if row.kind is not RowKind.OUTCOME else [outline.loop_start[loop]]
        if row.kind in (RowKind.TASK, RowKind.AGENT) and outline.loop_end[loop] != NONE:
            ends = [outline.loop_end[loop]]
        places = {*outline.events_of(group), *outline.latecomers(group), *ends}
        return [self.event(place) for place in sorted(places)]

    def close(self) -> None:
        """What is open was taken as cut off while it was read."""

    def release(self) -> None:
        """Give the file up; rows that are held stay."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    @property
    def depth(self) -> int:
        return max(self.outline.loop_level, default=0)

    @property
    def iteration_count(self) -> int:
        """Iterations of the whole tree."""
        return sum(self.outline.loop_iterations)

    @property
    def call_count(self) -> int:
        """Calls of the whole tree."""
        return sum(self.outline.loop_calls)

    @property
    def cost(self) -> float | None:
        """What all answers cost, in US dollars, or None when any part of it is unknown."""
        outline, dollars, priced = self.outline, 0.0, False
        for group, answer in enumerate(outline.group_answer):
            if not answer:
                continue
            model = outline.name(outline.group_model[group])
            cost = answer_cost(
                outline.answer_tokens(group), model or outline.name(outline.loop_model[outline.group_loop[group]])
            )
            if cost is None:
                return None
            dollars, priced = dollars + cost, True
        return dollars if priced else None

    def find_loop(self, path: str) -> LoopNode | None:
        """Return the loop with a path, the newest if there were several."""
        loops = range(len(self.outline.loop_start) - 1, -1, -1)
        return next(
            (self.loop(number) for number in loops if self.event(self.outline.loop_start[number]).loop == path), None
        )

    @property
    def agents(self) -> int:
        return len(self.outline.loop_start)
