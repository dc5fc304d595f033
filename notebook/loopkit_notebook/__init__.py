"""loopkit in a notebook: `view` shows a recorded run, `debug` runs an agent and stops before its tool calls.

The run lives in loopkit's own thread, so the cell returns at once and clicks arrive while other cells wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from loopkit.debugger.session import Session
from loopkit.errors import UserError
from loopkit_notebook.cells import CellRegistry, current_cell
from loopkit_notebook.widget import RunWidget

if TYPE_CHECKING:
    from loopkit.agent import Agent

_cells = CellRegistry()


def view(path: str | Path) -> RunWidget:
    """Show a recorded run.

    Args:
        path: a recording, or a foreign session that loopkit recognises.

    Raises:
        UserError: the file can't be shown; the notebook prints one line without a traceback.
    """
    made = _cells.claim(current_cell())
    try:
        widget = RunWidget(Session.open(path, whole=True))
    except UserError as error:
        raise _in_one_line(error) from None
    made.add(widget)
    return widget


def debug(agent: Agent, task: str, record: str | Path | None = None) -> RunWidget:
    """Run an agent under the debugger; every tool call waits for a click, unless the project's policy decides on it.

    The cell returns at once and the run goes on in a thread of its own. Running the cell again stops the run that it
    started before. Without a front-end nothing clicks: the run waits until the kernel ends, which closes it.

    Args:
        agent: what to run.
        task: what to ask of it.
        record: the recording's path; by default a new file in the recordings folder.

    Raises:
        UserError: the run can't be started; the notebook prints one line without a traceback.
    """
    made = _cells.claim(current_cell())
    try:
        widget = RunWidget(Session.start(agent, task, record=record, project=Path()))
    except UserError as error:
        raise _in_one_line(error) from None
    made.add(widget)
    return widget


def _in_one_line(error: UserError) -> UserError:
    # IPython asks an exception for this before it prints a traceback.
    error._render_traceback_ = lambda: [f"{type(error).__name__}: {error}"]  # type: ignore[attr-defined]  # the hook that IPython asks for
    return error


__all__ = ["RunWidget", "debug", "view"]
