"""Events of a recording read from the file one by one, wherever they stand."""

from __future__ import annotations

from pathlib import Path

from loopkit.encoding import DecodingError
from loopkit.events import Event, Unrecognised
from loopkit.recording.header import FORMAT
from loopkit.recording.index_lines import HEAD, place_of
from loopkit.recording.lines import read_event
from loopkit.recording.sealing import opened
from loopkit.recording.upgrades import unchanged, upgrade_from

DAMAGED = "damaged line"


class LineDecoder:
    """Decodes single lines of a recording of some format.

    Attributes:
        plain: a line may be known by its looks, because it is today's format.
    """

    def __init__(self, number_of_format: int) -> None:
        upgrade = upgrade_from(number_of_format)
        self._lenient = number_of_format > FORMAT
        self._change = unchanged if upgrade is None else upgrade.event
        self.plain = not self._lenient and self._change is unchanged

    def event(self, line: bytes) -> Event:
        """Return the event of a line.

        Raises:
            DecodingError: it is none.
        """
        return read_event(opened(line)[0], lenient=self._lenient, upgrade=self._change)


class EventReader:
    """Reads single lines of a recording.

    Args:
        path: the recording.
        decoder: of its format.
    """

    def __init__(self, path: Path, decoder: LineDecoder) -> None:
        self._file = path.open("rb", buffering=0)
        self._decoder = decoder

    def event(self, start: int, length: int) -> Event:
        """Return the event of a line; one that isn't any comes as an unknown one.

        Args:
            start: where the line begins, in bytes.
            length: of the line, in bytes; what follows its end is left out.
        """
        self._file.seek(start)
        line = self._file.read(length).partition(b"\n")[0]
        try:
            return self._decoder.event(line)
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
    return Event(int(head[1]), float(head[2]), *place_of(head[3]), fact)
