"""One writer per recording: a lock of the operating system on the file itself, and a record beside it that says whose.

Reading needs neither. The record covers what the lock can't: a file system whose locks hold nobody off, and the name
in the refusal (spec/faults.md j9, j13).
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time

from loopkit.encoding import DecodingError, decode
from loopkit.errors import RecordingError, RecordingInUse

try:
    import fcntl
except ImportError:
    _system_lock: Callable[[int], None] | None = None
else:

    def _system_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


LONGEST_WAIT = 5.0
NO_LOCKS_HERE = "this system can't lock files: take care that nobody else writes to the recording"
_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)

_held: set[tuple[int, int]] = set()
_held_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Owner:
    """Who writes a recording.

    Args:
        pid: process number.
        host: name of its machine.
        since: when it took the lock, ISO 8601 in UTC.
        birth: when the process began, in the system's own count, to tell a reused number; None where unknown.
    """

    pid: int
    host: str
    since: str
    birth: str | None = None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"

    @property
    def may_live(self) -> bool:
        """False only when it certainly ended; a process of another machine can't be asked."""
        if self.host != socket.gethostname() or os.name != "posix":
            return True
        return _is_running(self.pid) and (self.birth is None or self.birth == _birth(self.pid))


def owner_record(path: Path) -> Path:
    """Return where the owner of `path` is written."""
    return path.with_name(path.name + ".lock")


def owner_of(path: Path) -> Owner | None:
    """Say who writes the recording at `path`; a record that a crash left behind counts as nobody."""
    owner = _recorded_owner(path)
    return owner if owner is not None and owner.may_live else None


class WriteLock:
    """The right to write one recording, held until `release`.

    Attributes:
        notice: why the lock holds less than it should, or None.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take the lock at once or fail at once.

        Args:
            path: the recording.
            descriptor: an open descriptor of it, which the lock goes with.

        Raises:
            RecordingInUse: somebody else holds it; the message names them.
            RecordingError: the file system gives no answer, or the owner can't be recorded.
        """
        self.notice: str | None = None
        self._owner: Owner | None = None
        self._path = path
        status = os.fstat(descriptor)
        self._file = (status.st_dev, status.st_ino)
        self._lock_file(descriptor)
        with _held_guard:
            self._refuse_other_owner()
            self._write_record()
            _held.add(self._file)

    def release(self) -> None:
        """Give the lock up; the system's own part ends when the descriptor is closed."""
        with _held_guard:
            _held.discard(self._file)
            self.remove_record()

    def remove_record(self) -> None:
        """Take our record away, and nobody else's, and keep what else the lock is."""
        if _recorded_owner(self._path) == self._owner:
            _remove(owner_record(self._path))

    def _lock_file(self, descriptor: int) -> None:
        if _system_lock is None:
            self.notice = NO_LOCKS_HERE
            return
        error = _answer_in_time(_system_lock, descriptor)
        if error is None:
            return
        if isinstance(error, TimeoutError):
            raise RecordingError(
                f"{self._path}: its file system did not answer a lock request within {LONGEST_WAIT:g} s; "
                "record to a local disk instead"
            )
        if error.errno in _TAKEN:
            raise in_use(self._path, _recorded_owner(self._path))
        self.notice = f"{NO_LOCKS_HERE} ({error.strerror})"

    def _refuse_other_owner(self) -> None:
        owner = owner_of(self._path)
        if self._file in _held:
            raise in_use(self._path, owner)
        # a container gives each run the same process number: our own number, though we hold nothing, is a leftover
        if owner is not None and (owner.pid, owner.host) != (os.getpid(), socket.gethostname()):
            raise in_use(self._path, owner)

    def _write_record(self) -> None:
        since = datetime.fromtimestamp(int(time()), UTC).isoformat()
        self._owner = Owner(os.getpid(), socket.gethostname(), since, _birth(os.getpid()))
        # whoever stands there is gone, as was found before; of two who find that at once, one makes the new record
        _remove(owner_record(self._path))
        try:
            with owner_record(self._path).open("x", encoding="utf-8") as file:
                file.write(json.dumps(asdict(self._owner)) + "\n")
        except FileExistsError as error:
            owner = owner_of(self._path)
            if owner is not None:
                raise in_use(self._path, owner) from None
            raise self._unwritable(error) from None
        except OSError as error:
            _remove(owner_record(self._path))
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> RecordingError:
        return RecordingError(f"{self._path}: its lock can't be written ({error.strerror})")


def in_use(path: Path, owner: Owner | None) -> RecordingInUse:
    """Return the refusal of a second writer."""
    who = "another process" if owner is None else str(owner)
    return RecordingInUse(
        f"{path}: is being written by {who}; it can be viewed, or written once that ends "
        f"(if it is gone, delete {owner_record(path).name})"
    )


def _answer_in_time(lock: Callable[[int], None], descriptor: int) -> OSError | None:
    answers: list[OSError | None] = []
    own = os.dup(descriptor)

    def ask() -> None:
        try:
            lock(own)
            answers.append(None)
        except OSError as error:
            answers.append(error)
        finally:
            os.close(own)

    # a broken network file system blocks even a request that says not to
    thread = threading.Thread(target=ask, name="loopkit lock", daemon=True)
    thread.start()
    thread.join(LONGEST_WAIT)
    return answers[0] if answers else TimeoutError()


def _remove(record: Path) -> None:
    with suppress(OSError):
        record.unlink()


def _recorded_owner(path: Path) -> Owner | None:
    try:
        return decode(Owner, json.loads(owner_record(path).read_bytes()))
    except (OSError, ValueError, RecursionError, DecodingError):
        return None


def _is_running(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _birth(pid: int) -> str | None:
    try:
        # field 22 of the line; the name in field 2 may hold spaces and brackets
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
