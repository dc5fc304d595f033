"""Reads what is appended to a recording, as whole lines: a torn last line waits for its rest."""

from __future__ import annotations

import os
from pathlib import Path

from loopkit.encoding import DecodingError
from loopkit.errors import RecordingError
from loopkit.events import Event
from loopkit.recording.reader import Damage, open_lines
from loopkit.recording.stored_events import LineDecoder


class Follower:
    """Takes new events of a recording each time it is asked; never waits.

    Args:
        path: the recording.

    Raises:
        RecordingError: it can't be read, in one line.
        RecordingDamaged: its header is damaged.
    """

    def __init__(self, path: Path) -> None:
        with open_lines(path) as (header, line, _):
            self._decoder = LineDecoder(header.format)
        self._path = path
        self._end = len(line)
        self._line = 1
        self._file = path.open("rb")

    def take(self) -> list[Event | Damage]:
        """Return what whole lines have come since the last time.

        Raises:
            RecordingError: another file stands in its place, or it is shorter than it was.
        """
        self._require_same()
        self._file.seek(self._end)
        found: list[Event | Damage] = []
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            self._end += len(line)
            self._line += 1
            if not line.isspace():
                found.append(self._read(line))
        return found

    def _read(self, line: bytes) -> Event | Damage:
        try:
            return self._decoder.event(line)
        except DecodingError as error:
            return Damage(self._line, str(error))

    def _require_same(self) -> None:
        try:
            now, then = self._path.stat(), os.fstat(self._file.fileno())
        except OSError as error:
            raise RecordingError(f"{self._path}: can't be followed any more ({error.strerror or error})") from None
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino) or now.st_size < self._end:
            raise RecordingError(f"{self._path}: was replaced or cut while it was followed; start again")

    def close(self) -> None:
        """Give the file up."""
        self._file.close()
