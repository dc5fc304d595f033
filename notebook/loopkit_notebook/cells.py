"""Which cell made which widget, so that running a cell again replaces its widgets (spec/faults.md f9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from IPython import get_ipython


@dataclass(frozen=True, slots=True)
class CellRun:
    """One execution of one cell, as the front-end names them."""

    cell: str
    execution: str


class CellRegistry:
    """Closes what an earlier run of a cell made when the cell makes something new."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, WeakSet[Any]]] = {}

    def claim(self, run: CellRun | None) -> WeakSet[Any]:
        """Close what earlier runs of this cell made; return the set that takes what this run makes."""
        if run is None:
            return WeakSet()
        execution, made = self._made.get(run.cell, ("", WeakSet()))
        if execution != run.execution:
            for earlier in list(made):
                earlier.close()
            made = WeakSet()
            self._made[run.cell] = (run.execution, made)
        return made


def current_cell() -> CellRun | None:
    """Return the cell that is being run, or None where the front-end names none (a console, nbclient)."""
    shell = get_ipython()
    parent = getattr(shell, "parent_header", None)
    if not isinstance(parent, dict):
        return None
    metadata, header = parent.get("metadata"), parent.get("header")
    if not isinstance(metadata, dict) or not isinstance(header, dict):
        return None
    cell, execution = metadata.get("cellId"), header.get("msg_id")
    return CellRun(cell, execution) if isinstance(cell, str) and isinstance(execution, str) else None
