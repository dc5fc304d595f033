"""Opens finished or unfinished runs, ours or a foreign tool's, for looking at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from loopkit.core.loop import apply_to
from loopkit.core.state import LoopState
from loopkit.debugger.large import LARGE_BYTES, LargeTimeline
from loopkit.debugger.nodes import IterationNode, LoopNode
from loopkit.debugger.timeline import Timeline
from loopkit.debugger.ways import ways_of
from loopkit.errors import ImportFormatError, RecordingError
from loopkit.events import Event
from loopkit.importers.detect import read_session
from loopkit.recording.header import FORMAT, SNIFFED_BYTES, Header, looks_like_recording
from loopkit.recording.lock import owner_of
from loopkit.recording.reader import CHANGED, read_recording

OWN_FORMAT = "loopkit"
_SLICE_SECONDS = 0.02
_ENOUGH_TO_TELL = 2


class OpenedRun:
    """One run that was recorded.

    Attributes:
        path: the file.
        header: the recording's header, None for a foreign session.
        events: all events in order.
        source_format: `loopkit`, or a foreign format's name.
        notices: one line each on what is damaged, torn or guessed.
        damaged: the first damage, in one line, or None; a torn end is none.
        title: what the run is about, empty when its format doesn't say.
    """

    def __init__(
        self,
        path: Path,
        header: Header | None,
        events: Sequence[Event],
        *,
        source_format: str = OWN_FORMAT,
        notices: Sequence[str] = (),
        damaged: str | None = None,
        title: str = "",
    ) -> None:
        self.path = path
        self.header = header
        self.events = events
        self.source_format = source_format
        self.notices = list(notices)
        self.damaged = damaged
        self.title = title

    @cached_property
    def timeline(self) -> Timeline:
        """The whole run as its read model."""
        timeline = Timeline(self.events)
        timeline.close()
        return timeline

    def loop(self, path: str) -> LoopNode | None:
        """Return a loop by its path."""
        return self.timeline.loops.get(path)

    def iteration(self, loop: LoopNode, number: int) -> IterationNode | None:
        """Return an iteration of a loop by its place among them, from 1."""
        return loop.iterations[number - 1] if 1 <= number <= len(loop.iterations) else None

    def state_at(self, seq: int) -> dict[str, LoopState]:
        """Return the state of every loop after event `seq` (1-based), by path.

        Raises:
            RecordingError: events before it are missing, or don't follow from one another.
        """
        return states_after(self.path, self.events, seq)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held open; the `with` says how long the run is looked at."""


def states_after(path: Path, events: Sequence[Event], seq: int) -> dict[str, LoopState]:
    """Return the state of every loop after event `seq` (1-based), by path.

    Args:
        path: the file, for the refusal.

    Raises:
        RecordingError: events before it are missing, or don't follow from one another.
    """
    states: dict[str, LoopState] = {}
    for number, event in enumerate(events, 1):
        if event.seq > seq:
            break
        if event.seq != number:
            raise RecordingError(f"{path}: event {number} is missing, so no state after it is known")
        try:
            apply_to(states, event)
        except (ValueError, TypeError, AttributeError) as error:
            raise RecordingError(
                f"{path}: event {event.seq} ({event.type}) doesn't follow from those before it: {error}"
            ) from None
    return states


def open_recording(path: str | Path) -> OpenedRun:
    """Open a recording, or a session that another tool recorded, found by its content.

    Raises:
        UserError: it can't be read, or is neither; the message is one line.
    """
    path = Path(path)
    if is_foreign(path):
        return _open_foreign(path)
    recording = read_recording(path)
    notices = [] if recording.torn is None else [str(recording.torn)]
    damage = [f"line {place.line} is damaged: {place.reason}" for place in recording.damage]
    notices += damage
    notices += [f"line {line} {CHANGED}" for line in recording.changed]
    if recording.newer:
        notices.append(f"written in the newer format {recording.header.format}: what is unknown is shown raw")
    if recording.in_use is not None:
        notices.append(f"being written by {recording.in_use}: shown as it is now, to read only")
    return OpenedRun(path, recording.header, recording.events, notices=notices, damaged=damage[0] if damage else None)


def open_to_look(path: str | Path) -> OpenedRun:
    """Open a recording for looking at it: a large one, or one that is being written, is not loaded but read in windows.

    Raises:
        UserError: it can't be read, or is neither a recording nor a session of another tool; the message is one line.
    """
    path = Path(path)
    followed = not is_foreign(path) and owner_of(path) is not None
    if is_foreign(path) or not (followed or _is_large(path)):
        return open_recording(path)
    timeline = LargeTimeline(path, follow=followed)
    return LargeRun(timeline)


class LargeRun(OpenedRun):
    """A run of which only what is looked at is in memory; its `timeline` reads on when it is told to.

    Args:
        large: the timeline.
    """

    def __init__(self, large: LargeTimeline) -> None:
        notices = []
        if large.header.format > FORMAT:
            notices.append(f"written in the newer format {large.header.format}: what is unknown is shown raw")
        super().__init__(large.path, large.header, large.events, notices=notices)
        self.large = large

    def read_beginning(self) -> None:
        """Read until it is known what the run is, or is not going to be.

        Raises:
            RecordingError: the file can't be read any more.
        """
        large = self.large
        with _reading(self.path):
            while not large.complete and (large.root is None or large.root.iteration_count < _ENOUGH_TO_TELL):
                large.advance(_SLICE_SECONDS)

    def read_all(self) -> None:
        """Read what is not read yet, without keeping more of it than its outline.

        Raises:
            RecordingError: the file can't be read any more.
        """
        with _reading(self.path):
            while not self.large.complete or self.large.keeping:
                self.large.advance()
        self.notices += self.large.take_damage()
        self.damaged = self.notices[0] if self.large.outline.damage else None

    @property
    def timeline(self) -> Timeline:
        return self.large

    def loop(self, path: str) -> LoopNode | None:
        return self.large.find_loop(path)

    def iteration(self, loop: LoopNode, number: int) -> IterationNode | None:
        place = ways_of(self.large).iteration(loop, number)
        return None if place is None else self.large.rows[place].iteration

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.large.release()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordingError(f"{path}: can't be read ({error.strerror or error})") from None


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size >= LARGE_BYTES
    except (OSError, ValueError):
        return False


def is_foreign(path: Path) -> bool:
    """Whether a file is there and is none of our recordings."""
    try:
        if not path.is_file():
            # also a pipe, which would never end; the reader says what is wrong with the path, in one line
            return False
        with path.open("rb") as file:
            return not looks_like_recording(file.read(SNIFFED_BYTES))
    except (OSError, ValueError):
        return False


def _open_foreign(path: Path) -> OpenedRun:
    try:
        session = read_session(path)
    except ImportFormatError:
        if path.stat().st_size == 0:
            read_recording(path)
        raise
    return OpenedRun(
        path,
        None,
        session.events,
        source_format=session.format,
        notices=session.notices,
        title=session.title,
    )
