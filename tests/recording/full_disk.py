"""A small disk that fills up: a real one where the system lets us mount it, else a stand-in that refuses writes."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SIZE = 256 * 1024


class SmallDisk:
    """A folder on it.

    Args:
        folder: where files go.
        real: whether the system itself says that it is full.
    """

    def __init__(self, folder: Path, *, real: bool) -> None:
        self.folder = folder
        self.real = real
        self.full = False

    def fill(self) -> None:
        """Leave no room at all: not even in blocks that files have begun."""
        self.full = True
        if not self.real:
            return
        descriptor = os.open(self.folder / "filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (4096, 1):
                try:
                    while True:
                        os.write(descriptor, b"\0" * size)
                except OSError as error:
                    assert error.errno == errno.ENOSPC  # noqa: PT017  # the way out of the loop
        finally:
            os.close(descriptor)

    def free(self) -> None:
        """Make room again."""
        if self.real:
            (self.folder / "filler").unlink()
        self.full = False


@contextmanager
def small_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """A disk mounted at `folder`, or a stand-in there."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    real = os.name == "posix" and subprocess.run(command, capture_output=True, check=False).returncode == 0
    disk = SmallDisk(folder, real=real)
    if not real:
        write = os.write

        def write_while_room(descriptor: int, data: memoryview) -> int:
            if disk.full and len(data) > 40:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", write_while_room)
    try:
        yield disk
    finally:
        if real:
            # what a run left open may take a moment to be given up
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
