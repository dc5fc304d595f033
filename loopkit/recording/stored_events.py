"""Events of a recording read from the file one by one, wherever they stand."""

from __future__ import annotations

from pathlib import Path

from loopkit.encoding import DecodingError
from loopkit.events import Event, Unrecognised
from loopkit.recording.index_lines import HEAD, text_of
from loopkit.recording.lines import read_event

DAMAGED = "damaged line"


class EventReader:
    """Reads single lines of a recording.

    Args:
        path: the recording.
        lenient: a later format wrote it.
    """

    def __init__(self, path: Path, *, lenient: bool = False) -> None:
        self._file = path.open("rb", buffering=0)
        self._lenient = lenient

    def event(self, start: int, length: int) -> Event:
        """Return the event of a line; one that isn't any comes as an unknown one.

        Args:
            start: where the line begins, in bytes.
            length: of the line, in bytes; what follows its end is left out.
        """
        self._file.seek(start)
        line = self._file.read(length).partition(b"\n")[0]
        try:
            return read_event(line, lenient=self._lenient)
        except DecodingError as error:
            return _damaged(line, str(error))

    def close(self) -> None:
        """Give the file up."""
        self._file.close()


def _damaged(line: bytes, reason: str) -> Event:
    head = HEAD.match(line)
    fact = Unrecognised(DAMAGED, {"reason": reason})
    if head is None:
        return Event(1, 0.0, "", 0, fact)
    return Event(int(head[1]), float(head[2]), text_of(head[3]), int(head[4]), fact)
