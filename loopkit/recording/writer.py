"""The one way into a recording: each event is in the file as a whole line, or not at all, before anybody is told of it."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from loopkit.errors import RecordingDamaged, RecordingError, RecordingUnwritable
from loopkit.events import ROOT, Event, IterationStarted, LoopFailed, LoopFinished
from loopkit.recording.header import FORMAT, SNIFFED_BYTES, Header, header_line, looks_like_recording
from loopkit.recording.lines import event_body
from loopkit.recording.lock import WriteLock
from loopkit.recording.reader import PathLike, Recording, newer, open_lines, read_recording
from loopkit.recording.redaction.settings import DEFAULT_REDACTION, Redaction
from loopkit.recording.sealing import sealed, sealed_body
from loopkit.recording.syncing import DURABILITIES, SECONDS_BETWEEN, DiskSync, Durability

_ENDS_OF_ITERATIONS = (IterationStarted, LoopFinished, LoopFailed)


class Recorder:
    """Writes one run into one file; safe to use from several threads.

    Args:
        path: the file; nothing is touched before `start`.
        if_exists: what to do about a recording that is there already: `fail`, or `replace` it.
        durability: what a power failure may take: with `iteration` what came after the last iteration's end, with
            `event` nothing that was acted on, with `none` what the system had not written yet. A process that dies
            loses nothing in any of them.
        redaction: which secrets are kept out of it; None writes everything as it is.

    Attributes:
        path: the file.
        size: bytes written, all of them whole lines.
        last_seq: number of the last event written, 0 before the first.
        notice: what a person should know about the file, such as a torn tail that was cut, or None.
    """

    def __init__(
        self,
        path: PathLike,
        *,
        if_exists: Literal["fail", "replace"] = "fail",
        durability: Durability = "iteration",
        redaction: Redaction | None = DEFAULT_REDACTION,
    ) -> None:
        if durability not in DURABILITIES:
            raise ValueError(f"durability is one of {', '.join(DURABILITIES)}, not {durability!r}")
        self.path = Path(path)
        self.redaction = redaction
        self.size = 0
        self.last_seq = 0
        self.notice: str | None = None
        self._if_exists = if_exists
        self._durability = durability
        self._sync: DiskSync | None = None
        self._descriptor: int | None = None
        self._lock: WriteLock | None = None
        self._guard = threading.RLock()
        self._before_next = b""
        self._staged: list[bytes] = []
        self._ends_iteration = False
        self._state: Literal["new", "open", "closed"] = "new"

    @classmethod
    def continue_from(
        cls,
        path: PathLike,
        *,
        durability: Durability = "iteration",
        redaction: Redaction | None = DEFAULT_REDACTION,
    ) -> Recorder:
        """Open an unfinished recording to append to it; a torn tail is cut, and `notice` says so (spec/faults.md j1, j4).

        Raises:
            RecordingInUse: somebody else writes it.
            RecordingNewer: a later format wrote it.
            RecordingDamaged: it is damaged before its end.
            RecordingError: it is finished, or can't be read or written.
        """
        recorder = cls(path, durability=durability, redaction=redaction)
        with open_lines(path):
            pass  # what is no recording is refused before anything is locked
        recorder._open(os.O_RDWR | os.O_APPEND)
        try:
            recorder._take_up()
            recorder._start_syncs([])
        except BaseException:
            recorder.close()
            raise
        return recorder

    def start(self, header: Header) -> None:
        """Create the file and its folders, take the lock, write the header.

        Raises:
            RecordingInUse: somebody else writes it.
            RecordingError: something is there already, or the file can't be written.
        """
        if self._state != "new":
            raise RecordingError(f"{self.path}: this recorder was started before; make one for each run")
        line = sealed(header_line(header))
        try:
            new_entries_in = _folders_with_new_entries(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise self._unwritable(error) from None
        self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            self._make_room()
            with self._guard:
                self._write(line, "nothing was recorded")
            self._start_syncs(new_entries_in)
        except BaseException:
            self.close()
            raise

    def append(self, event: Event) -> None:
        """Write one event with one `write`; when it fails, the file is as it was and the same event may be tried again.

        Raises:
            RecordingError: the file can't be written, or the event holds what JSON can't.
            ValueError: it is not the next event of its run.
        """
        with self._guard:
            self.stage(event)
            try:
                self.flush()
            except BaseException:
                self._staged.pop()
                raise

    def stage(self, event: Event) -> None:
        """Take an event in, for the next `flush`, in the same thread; until then it is nowhere but in memory.

        Raises:
            RecordingError: the event holds what JSON can't.
            ValueError: it is not the next event of its run.
        """
        try:
            line = sealed_body(event_body(event))
        except ValueError as error:
            raise RecordingError(f"{self.path}: event {event.seq} ({event.type}) can't be written: {error}") from None
        last = self.last_seq + len(self._staged)
        if event.seq != last + 1:
            raise ValueError(f"event {event.seq} can't follow event {last}")
        self._staged.append(line)
        if isinstance(event.fact, _ENDS_OF_ITERATIONS):
            self._ends_iteration = True

    def flush(self) -> None:
        """Write what is staged with one `write`; when it fails, the file is as it was and `flush` may be tried again.

        Raises:
            RecordingError: the file can't be written.
        """
        with self._guard:
            staged, sync = self._staged, self._sync
            if not staged:
                return
            if sync is not None and sync.has_failed:
                self._refuse_after_failed_sync()
            self._write(b"".join(staged))
            self.last_seq += len(staged)
            staged.clear()
            if self._ends_iteration:
                self._ends_iteration = False
                if sync is not None:
                    sync.request(self.size)

    def on_disk(self, when_known: Callable[[], None]) -> bool:
        """Say whether what was recorded may be acted on; always so unless `durability` is `event`.

        Args:
            when_known: after False, called once that may have changed, from another thread; it must not block or raise.

        Raises:
            RecordingUnwritable: the disk did not take it.
        """
        if self._durability != "event":
            return True
        with self._guard:
            if self._sync is None or self._sync.size >= self.size:
                return True
            self._refuse_after_failed_sync("what follows from it was not done")
            self._sync.request(self.size, when_known)
            return False

    def end_early(self, last: Event) -> bool:
        """Close the recording before its run ends: with an event that says so, if there is room for it.

        Returns:
            whether there was.
        """
        if self._lock is not None:
            # on a full disk its block may be all the room there is
            self._lock.remove_record()
        self._staged.clear()
        try:
            self.append(last)
        except RecordingError:
            return False
        finally:
            self.close()
        return True

    def close(self) -> None:
        """Give the file and its lock up; may be called again."""
        with self._guard:
            self._state = "closed"
            descriptor, self._descriptor = self._descriptor, None
            sync, self._sync = self._sync, None
            lock, self._lock = self._lock, None
            try:
                if lock is not None:
                    lock.release()
            finally:
                if descriptor is not None:
                    os.close(descriptor)
                if sync is not None:
                    sync.close(self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, flags: int) -> None:
        self._refuse_special_file()
        try:
            self._descriptor = os.open(self.path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
        except (OSError, ValueError) as error:
            raise self._unwritable(error) from None
        try:
            self._lock = WriteLock(self.path, self._descriptor)
        except BaseException:
            self.close()
            raise
        self.notice = self._lock.notice
        self._state = "open"

    def _refuse_special_file(self) -> None:
        try:
            mode = self.path.stat().st_mode
        except (OSError, ValueError):
            return
        if stat.S_ISDIR(mode):
            raise RecordingError(f"{self.path}: is a folder; name a file in it")
        if not stat.S_ISREG(mode):
            raise RecordingError(f"{self.path}: is not a regular file; name another")

    def _make_room(self) -> None:
        assert self._descriptor is not None
        first_bytes = os.pread(self._descriptor, SNIFFED_BYTES, 0)
        if not first_bytes:
            return
        if not looks_like_recording(first_bytes):
            raise RecordingError(f"{self.path}: holds something that is not a recording; name another file")
        if self._if_exists == "fail":
            raise RecordingError(
                f"{self.path}: already holds a recording; name another file or remove it "
                '(`loopkit run` and `fork` take --overwrite; in code: if_exists="replace")'
            )
        os.ftruncate(self._descriptor, 0)

    def _take_up(self) -> None:
        assert self._descriptor is not None
        # read again: only under the lock is what stands there final
        recording = read_recording(self.path)
        _require_unfinished(recording)
        found = os.fstat(self._descriptor).st_size
        if recording.size < found:
            os.ftruncate(self._descriptor, recording.size)
            self.notice = (
                f"{self.path}: its last line was never finished; {found - recording.size} bytes of it were cut"
            )
        if os.pread(self._descriptor, 1, recording.size - 1) != b"\n":
            self._before_next = b"\n"
        self.size = recording.size
        self.last_seq = recording.events[-1].seq if recording.events else 0

    def _start_syncs(self, new_entries_in: Sequence[Path]) -> None:
        if self._durability == "none":
            return
        try:
            self._sync = DiskSync(self.path, new_entries_in, 0.0 if self._durability == "event" else SECONDS_BETWEEN)
        except OSError as error:
            raise self._unwritable(error) from None
        self._sync.request(self.size)

    def _refuse_after_failed_sync(self, consequence: str | None = None) -> None:
        failure = None if self._sync is None else self._sync.take_failure()
        if failure is not None:
            consequence = consequence or self._next_is_lost()
            reason = failure.strerror or str(failure)
            raise RecordingUnwritable(
                f"{self.path}: can't be brought to the disk ({reason}); {consequence}, and the last events may "
                "be lost if the machine stops: try again, or stop the run",
                reason,
            )

    def _next_is_lost(self) -> str:
        return f"event {self.last_seq + 1} was not recorded"

    def _write(self, lines: bytes, consequence: str | None = None) -> None:
        descriptor = self._descriptor
        if descriptor is None:
            raise RecordingError(f"{self.path}: is not open for recording; {consequence or self._next_is_lost()}")
        whole = self._before_next + lines
        try:
            written = _written(descriptor, whole)
            while written < len(whole):
                written += _written(descriptor, memoryview(whole)[written:])
        except BaseException as error:
            self._roll_back(descriptor)
            if isinstance(error, OSError):
                consequence = consequence or self._next_is_lost()
                raise RecordingUnwritable(
                    f"{self.path}: can't be written ({error.strerror}); {consequence}, what was before is whole: "
                    "free space and try again, or stop the run",
                    str(error.strerror),
                ) from None
            raise
        self._before_next = b""
        self.size += written

    def _roll_back(self, descriptor: int) -> None:
        try:
            os.ftruncate(descriptor, self.size)
        except OSError:
            # the piece stays; the next line must not be glued to it
            self.size = os.fstat(descriptor).st_size
            self._before_next = b"\n"

    def _unwritable(self, error: Exception) -> RecordingError:
        reason = error.strerror if isinstance(error, OSError) else error
        return RecordingError(
            f"{self.path}: can't be written ({reason}); name a file in a folder that you may write to"
        )


def _folders_with_new_entries(path: Path) -> list[Path]:
    """Return the folders that get an entry when a file and its missing folders are made, the innermost first."""
    missing = []
    folder = path.absolute().parent
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    return [*missing, folder]


def _written(descriptor: int, rest: bytes | memoryview) -> int:
    count = os.write(descriptor, rest)
    if count == 0:
        raise OSError(0, "the system took none of it")
    return count


def _require_unfinished(recording: Recording) -> None:
    if recording.newer:
        raise newer(recording.path, recording.header)
    if recording.header.format < FORMAT:
        raise RecordingError(
            f"{recording.path}: is in the older format {recording.header.format}, and this loopkit writes format {FORMAT}: "
            "it can be viewed and replayed; fork it at its last event to go on from there"
        )
    if recording.damage:
        first = recording.damage[0]
        raise RecordingDamaged(str(recording.path), first.line, first.reason)
    if any(event.loop == ROOT and isinstance(event.fact, (LoopFinished, LoopFailed)) for event in recording.events):
        raise RecordingError(f"{recording.path}: is finished and never changed; fork it instead")
