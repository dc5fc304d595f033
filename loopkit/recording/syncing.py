"""Brings what was written to the disk, in a thread of its own: a sync may take a second, and nothing must wait for it.

Requests that come in during a sync are served together by the next one.
"""

from __future__ import annotations

import atexit
import errno
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias

Durability: TypeAlias = Literal["iteration", "event", "none"]
DURABILITIES: tuple[Durability, ...] = ("iteration", "event", "none")

SECONDS_BETWEEN = 0.05
SECONDS_AT_EXIT = 5.0
BYTES_WRITTEN_AGAIN = 1 << 20
_CAN_NOT_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EROFS)

_bring_to_disk: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
_unfinished: set[threading.Thread] = set()


class DiskSync:
    """The syncs of one file.

    Args:
        path: the file.
        new_entries_in: folders whose entries are new too; they are brought to the disk first.
        seconds_between: shortest time between two syncs; 0 when somebody waits for each.

    Attributes:
        size: bytes from the start that are known to be on the disk.
    """

    def __init__(self, path: Path, new_entries_in: Sequence[Path], seconds_between: float) -> None:
        # not a copy of the writer's descriptor: a lock would live on with that
        self._descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        self._bring_to_disk = _bring_to_disk
        self._folders = list(new_entries_in)
        self._seconds_between = seconds_between
        self._changed = threading.Condition()
        self._hurry = threading.Event()
        self._wanted = 0
        self._waiting: list[Callable[[], None]] = []
        self._failure: OSError | None = None
        self._failed_before = False
        self._closing = False
        self._looks_again = False
        self._thread: threading.Thread | None = None
        self.size = 0

    def request(self, size: int, when_known: Callable[[], None] | None = None) -> None:
        """Ask that the file's first bytes be brought to the disk.

        Args:
            size: how many of them.
            when_known: called from the thread after the sync, whether it worked or not; it must not block or raise.
        """
        if when_known is None:
            self._wanted = max(self._wanted, size)
            if self._looks_again:
                # without the lock, since a run asks in every iteration; the thread says so no more before it looks
                return
        with self._changed:
            self._wanted = max(self._wanted, size)
            if when_known is not None and when_known not in self._waiting:
                self._waiting.append(when_known)
            self._notify()

    @property
    def has_failed(self) -> bool:
        """Whether there is a failure to take; asked before every event, so without the lock."""
        return self._failure is not None

    def take_failure(self) -> OSError | None:
        """Return why the last sync failed, once; what was to be synced is then asked for anew."""
        with self._changed:
            failure, self._failure = self._failure, None
            return failure

    def close(self, size: int) -> None:
        """Have what is left brought to the disk, and then end; waits for nothing."""
        with self._changed:
            self._wanted = max(self._wanted, size)
            self._closing = True
            self._hurry.set()
            self._notify()
            if self._thread is not None:
                _unfinished.add(self._thread)

    def _notify(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="loopkit sync", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _work(self) -> None:
        try:
            more = True
            while more:
                # before the first sync too: what a short run asks for is served by one
                self._looks_again = True
                self._hurry.wait(self._seconds_between)
                self._looks_again = False
                more = self._sync_once()
        finally:
            os.close(self._descriptor)
            _unfinished.discard(threading.current_thread())

    def _sync_once(self) -> bool:
        """Serve what was asked for so far, and say whether more may come."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted > self.size or self._waiting or self._closing)
            wanted, waiting, closing = self._wanted, self._waiting, self._closing
            self._waiting = []
        failure = self._sync(wanted) if wanted > self.size else None
        with self._changed:
            if failure is None:
                self.size = wanted
            else:
                self._failure = failure
                self._wanted = self.size
        for call in waiting:
            call()
        return not closing

    def _sync(self, wanted: int) -> OSError | None:
        try:
            while self._folders:
                _sync_folder(self._folders[-1])
                self._folders.pop()
            if self._failed_before:
                # after a failure the system may count as clean what it could not write
                _write_again(self._descriptor, self.size, wanted)
            self._bring_to_disk(self._descriptor)
        except OSError as error:
            # a file system that knows no syncs has done what it can
            self._failed_before = error.errno not in _CAN_NOT_SYNC
            return error if self._failed_before else None
        self._failed_before = False
        return None


def _write_again(descriptor: int, start: int, end: int) -> None:
    while start < end:
        piece = os.pread(descriptor, min(end - start, BYTES_WRITTEN_AGAIN), start)
        if not piece:
            return
        start += os.pwrite(descriptor, piece, start)


def _sync_folder(folder: Path) -> None:
    # where folders can't be opened, as on Windows, their entries need no sync
    with suppress(PermissionError, FileNotFoundError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@atexit.register
def _finish() -> None:
    """Let the last syncs of closed files come to their end, in a limited time."""
    deadline = monotonic() + SECONDS_AT_EXIT
    for thread in list(_unfinished):
        thread.join(max(0.0, deadline - monotonic()))
