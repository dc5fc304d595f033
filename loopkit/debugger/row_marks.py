"""What a row of a run in memory is marked with: something failed, or somebody decided."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.nodes import CallStatus, Row, RowKind

_FAILED = (CallStatus.ERROR, CallStatus.REFUSED, CallStatus.ABANDONED)


def is_error(row: Row) -> bool:
    """Whether something failed on this row."""
    if row.kind is RowKind.CALL and row.call is not None:
        return row.call.status in _FAILED
    if row.kind is RowKind.ITERATION and row.iteration is not None:
        return row.iteration.interrupted is not None
    if row.kind is RowKind.NOTE and row.event is not None:
        return isinstance(row.event.fact, e.ModelAttemptFailed | e.CallbackFailed)
    return row.kind is RowKind.OUTCOME and row.loop.failure is not None


def is_decision(row: Row) -> bool:
    """Whether a person or a rule decided here, or is asked to."""
    call = row.call
    if row.kind is not RowKind.CALL or call is None:
        return False
    return call.status is CallStatus.WAITING or call.decided_by not in (None, "default")
