"""A run's log: writes ahead, a step at a time, and holds back what can't be written until somebody chooses (faults.md j6).

Nobody is told of an event, and nothing that follows from it begins, before `write` has written it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from loopkit.errors import RecordingUnwritable
from loopkit.events import Event
from loopkit.recording.writer import Recorder


class RunLog:
    """Where a run's events go; every call comes under the run's lock.

    While there is a `trouble`, the loops' states go on to what has happened, and nothing else does: no effect starts, no
    loop returns and nobody is told. So a step is never cut in two, and answers that come in meanwhile are not lost.

    Args:
        recorder: where events are kept, or None.
        stands: asked whether somebody will choose what to do about an error; if not, it is raised.

    Attributes:
        trouble: why events are held back, or None.
        held: what nobody was told of yet, in order: of the step that goes on, or since the trouble.
    """

    def __init__(self, recorder: Recorder | None, stands: Callable[[RecordingUnwritable], bool]) -> None:
        self.recorder = recorder
        self.trouble: RecordingUnwritable | None = None
        self.held: deque[Event] = deque()
        self._stands = stands

    def hold(self, event: Event) -> None:
        """Take in an event of the step that goes on.

        Raises:
            RecordingError: it holds what no recording can.
        """
        if self.recorder is not None:
            self.recorder.stage(event)
        self.held.append(event)

    def write(self) -> bool:
        """Write what is held, and say whether it may be told.

        Raises:
            RecordingError: it can't be written, and nobody will choose what to do.
        """
        if self.trouble is None and self.recorder is not None:
            try:
                self.recorder.flush()
            except RecordingUnwritable as error:
                self._stand(error)
        return self.trouble is None

    def may_act(self, look_again: Callable[[], None]) -> bool:
        """Say whether what has happened may be acted on: it is written, and on the disk where that was asked for.

        Args:
            look_again: called from another thread when a disk that was waited for has answered.

        Raises:
            RecordingError: the disk refused it, and nobody will choose what to do.
        """
        if self.trouble is None and self.recorder is not None:
            try:
                return self.recorder.on_disk(look_again)
            except RecordingUnwritable as error:
                self._stand(error)
        return self.trouble is None

    def write_again(self) -> bool:
        """Try again, and say whether what is held may be told now."""
        try:
            if self.recorder is not None:
                self.recorder.flush()
        except RecordingUnwritable as error:
            self.trouble = error
            return False
        self.trouble = None
        return True

    def end_recording(self, last: Callable[[int], Event]) -> bool:
        """Close the recording while the run goes on; say whether the recording could say so.

        Args:
            last: makes the event that says so, from its number.
        """
        recorder, self.recorder = self.recorder, None
        if recorder is None:
            return False
        if recorder.last_seq == 0:
            recorder.close()
            return False
        return recorder.end_early(last(recorder.last_seq + 1))

    def close(self) -> None:
        """Close the recording."""
        if self.recorder is not None:
            self.recorder.close()

    def _stand(self, error: RecordingUnwritable) -> None:
        self.trouble = error
        if not self._stands(error):
            self.trouble = None
            raise error
