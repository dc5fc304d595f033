"""Recordings from disk: whatever is whole is read, whatever is not is named with its line, nothing is skipped silently.

Lines end at `\\n` and nowhere else (spec/faults.md a23). Order is the file's and the sequence numbers', never the time's
(spec/faults.md j18). Reading takes no lock.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from loopkit.encoding import DecodingError
from loopkit.errors import RecordingDamaged, RecordingError, RecordingNewer
from loopkit.events import Event
from loopkit.recording.header import FORMAT, SNIFFED_BYTES, Header, looks_like_recording, read_header
from loopkit.recording.lines import read_event
from loopkit.recording.lock import Owner, owner_of
from loopkit.recording.sealing import opened
from loopkit.recording.upgrades import unchanged, upgrade_from

CHANGED = "was changed after it was written: its check sum doesn't fit"


@dataclass(frozen=True, slots=True)
class Damage:
    """A place that is not as it was written.

    Args:
        line: 1-based number of the line.
        reason: what is wrong with it.
    """

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class TornTail:
    """The rest of a line that was never finished.

    Args:
        line: its 1-based number.
        start: byte offset in the file where it begins.
        length: bytes of it.
    """

    line: int
    start: int
    length: int

    def __str__(self) -> str:
        return f"line {self.line}, the last, {self.what}"

    @property
    def what(self) -> str:
        """What is wrong with the line, without its number."""
        size = "1 byte is" if self.length == 1 else f"{self.length} bytes are"
        return f"was never finished: its {size} left out"


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds.

    Args:
        path: the file.
        header: its first line.
        events: every readable event in file order; numbers rise without a gap unless `damage` says otherwise.
        torn: the unfinished last line of a writer that died, or None.
        damage: every other place that can't be trusted.
        changed: lines that can be read and were changed after they were written, 1-based.
        in_use: who writes it at this moment, or None; its last line may then be on its way.
        size: bytes up to the end of the last whole line.
    """

    path: Path
    header: Header
    events: tuple[Event, ...]
    torn: TornTail | None = None
    damage: tuple[Damage, ...] = ()
    changed: tuple[int, ...] = ()
    in_use: Owner | None = None
    size: int = 0

    @property
    def newer(self) -> bool:
        """A later format wrote it: it may be viewed, and nothing else."""
        return self.header.format > FORMAT


@dataclass(frozen=True, slots=True)
class Line:
    """One line after the header, read.

    Args:
        number: 1-based, in the file.
        end: byte offset of what follows it; of the line itself when it is torn.
        raw: its bytes.
        content: what they are; a line out of sequence comes twice, as damage and as the event.
        changed: it is an event, and not the one that was written.
    """

    number: int
    end: int
    raw: bytes
    content: Event | Damage | TornTail
    changed: bool = False


PathLike: TypeAlias = str | os.PathLike[str]


def read_recording(path: PathLike) -> Recording:
    """Read a whole recording, as far as it is readable.

    Raises:
        RecordingError: there is no recording at `path`, or it can't be read, in one line.
        RecordingDamaged: its header is damaged.
    """
    path = Path(path)
    in_use = owner_of(path)
    events: list[Event] = []
    damage: list[Damage] = []
    torn: TornTail | None = None
    with open_lines(path) as (header, header_line, lines):
        whole = len(header_line)
        changed = [] if opened(header_line)[1] else [1]
        for line in lines:
            match line.content:
                case Event():
                    events.append(line.content)
                    if line.changed:
                        changed.append(line.number)
                case Damage():
                    damage.append(line.content)
                case TornTail():
                    torn = line.content
                    continue
            whole = line.end
    torn = torn if in_use is None else None
    return Recording(path, header, tuple(events), torn, tuple(damage), tuple(changed), in_use, whole)


def iterate_events(path: PathLike) -> Iterator[Event]:
    """Read a recording's events one by one, without holding them, as they stand; an unfinished last line is left out.

    Raises:
        RecordingError: there is no recording at `path`, or it can't be read, in one line.
        RecordingDamaged: at the first damaged line.
    """
    with open_lines(path) as (_, _, lines):
        for line in lines:
            if isinstance(line.content, Damage):
                raise RecordingDamaged(str(path), line.number, line.content.reason)
            if isinstance(line.content, Event):
                yield line.content


def require_sound(recording: Recording) -> None:
    """Refuse what a replay or a fork can't rely on; a torn tail is no obstacle.

    Raises:
        RecordingNewer: a later format wrote it.
        RecordingDamaged: it is damaged.
        RecordingError: it holds no event.
    """
    if recording.newer:
        raise newer(recording.path, recording.header)
    if recording.damage:
        first = recording.damage[0]
        raise RecordingDamaged(str(recording.path), first.line, first.reason)
    if not recording.events:
        raise RecordingError(f"{recording.path}: holds a header and no event; record the run again")


def newer(path: Path, header: Header) -> RecordingNewer:
    """Return the refusal of a recording that a later format wrote."""
    return RecordingNewer(
        f"{path}: was written in format {header.format} (loopkit {header.loopkit!r}) and this loopkit knows "
        f"format {FORMAT}: it can be viewed; upgrade loopkit to replay, fork or continue it"
    )


@contextmanager
def open_lines(
    path: PathLike, passes_over: Callable[[bytes], int | None] | None = None
) -> Iterator[tuple[Header, bytes, Iterator[Line]]]:
    """Open a recording: its header, the header's line, and its other lines, read as they are asked for.

    Args:
        passes_over: gives the number of the event in a line of today's format that is left out without being decoded,
            None for one that is wanted.

    Raises:
        RecordingError: there is no recording at `path`, or it can't be read, in one line.
        RecordingDamaged: its header is damaged.
    """
    path = Path(path)
    with _reading(path):
        file = _open(path)
    with file:
        with _reading(path):
            header, line = _header(path, file)
        skipped = passes_over if header.format == FORMAT else None
        yield header, line, _lines(path, file, len(line), header.format, skipped)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordingError(f"{path}: can't be read ({error.strerror or error})") from None


def _open(path: Path) -> BinaryIO:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise RecordingError(f"{path}: there is no such file") from None
    except ValueError:
        raise RecordingError(f"{str(path)!r} is not a path") from None
    if stat.S_ISDIR(mode):
        raise RecordingError(f"{path}: is a folder; name one of the recordings in it")
    if not stat.S_ISREG(mode):
        raise RecordingError(f"{path}: is not a regular file")
    return path.open("rb")


def _header(path: Path, file: BinaryIO) -> tuple[Header, bytes]:
    first_bytes = file.read(SNIFFED_BYTES)
    if not first_bytes:
        raise RecordingError(f"{path}: is empty; nothing was recorded in it")
    if not looks_like_recording(first_bytes):
        raise RecordingError(f"{path}: is not a loopkit recording")
    file.seek(0)
    line = file.readline()
    if not line.endswith(b"\n"):
        raise RecordingError(f"{path}: ends within its header; nothing was recorded in it")
    try:
        return read_header(opened(line)[0]), line
    except DecodingError as error:
        raise RecordingDamaged(str(path), 1, str(error)) from None


def _lines(
    path: Path,
    file: BinaryIO,
    offset: int,
    number_of_format: int,
    passes_over: Callable[[bytes], int | None] | None,
) -> Iterator[Line]:
    lenient = number_of_format > FORMAT
    upgrade = upgrade_from(number_of_format)
    change = unchanged if upgrade is None else upgrade.event
    last = unreadable = 0
    with _reading(path):
        for number, line in enumerate(file, start=2):
            start, offset = offset, offset + len(line)
            if line.isspace():
                continue
            skipped = None if passes_over is None else passes_over(line)
            if skipped is not None and last < skipped <= last + 1 + unreadable:
                last, unreadable = skipped, 0
                continue
            content, is_as_written = opened(line)
            try:
                event = read_event(content, lenient=lenient, upgrade=change)
            except DecodingError as error:
                if not line.endswith(b"\n"):
                    yield Line(number, start, line, TornTail(number, start, len(line)))
                    return
                yield Line(number, offset, line, Damage(number, str(error)))
                unreadable += 1
                continue
            # an unreadable line held the next event, or a piece of it that was written again
            if not last < event.seq <= last + 1 + unreadable:
                reason = f"event {last + 1} was due, event {event.seq} stands there"
                yield Line(number, offset, line, Damage(number, reason))
            yield Line(number, offset, line, event, not is_as_written)
            last, unreadable = event.seq, 0
