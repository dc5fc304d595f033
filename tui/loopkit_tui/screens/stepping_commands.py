"""Commands of the run screen that go along a run's stops, set breakpoints and filter the timeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.rows import count_text
from loopkit.errors import UserError
from loopkit_tui.commands import Command
from loopkit_tui.screens.breakpoints import BreakpointsScreen, FilterScreen

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen


def too_large(screen: RunScreen) -> str:
    """Say why a run can't be walked by its stops, or nothing."""
    large = isinstance(screen.session.timeline, LargeTimeline)
    return "a large recording is walked by its rows: s and b, J and K, ]e" if large else ""


def go(screen: RunScreen, command: Callable[[], None]) -> None:
    """Do a command of the session from the row that is selected, and show where it led."""
    if screen.session.walks:
        start_here(screen)
    screen.timeline.following = screen.steers
    screen.attempt(command)
    screen.take_in()
    show_place(screen)


def start_here(screen: RunScreen) -> None:
    """Let the session look at the selected row, unless it stands there already."""
    selected = screen.timeline.selected
    if selected is not None and row_of_place(screen) is not selected:
        screen.session.jump_to_event(selected.seq)


def show_place(screen: RunScreen) -> None:
    """Select what the session looks at, where that is not the end of a run that goes on."""
    session = screen.session
    if not session.walks:
        return
    screen.timeline.following = False
    row = row_of_place(screen)
    if row is not None:
        screen.timeline.select(row)
        screen.show_selected()
    place = session.place
    by = f"breakpoint {place.breakpoint}, " if place.breakpoint is not None else ""
    if place.stop is not None:
        screen.notice(f"{by}{_KINDS[place.stop.kind]}; event {place.events} of {len(session.events)}", "muted")
    else:
        screen.notice("the end: nothing more happened" if place.events else "the beginning", "muted")


_KINDS = {
    "request": "before the request",
    "response": "after the response",
    "decision": "before the decision",
    "call": "before the call",
    "result": "after the result",
}


def row_of_place(screen: RunScreen) -> Row | None:
    """Return the row that shows where the session looks."""
    session = screen.session
    rows: Sequence[Row] = screen.timeline.timeline.rows
    place = session.place
    if place.stop is None:
        return None if not rows else rows[-1] if place.events else rows[0]
    about = place.stop.about
    loop, _, number = about.rpartition("/")
    for row in rows:
        if row.kind is RowKind.CALL and row.call is not None and row.call.id == about:
            return row
        iteration = row.iteration if row.kind is RowKind.ITERATION and row.loop.path == loop else None
        if iteration is not None and str(iteration.number) == number:
            return row
    return None


def _walk(name: str) -> Callable[[RunScreen], None]:
    return lambda screen: go(screen, getattr(screen.session, name))


def _cannot_walk(screen: RunScreen) -> str:
    if screen.steers and screen.session.watches:
        return f"{screen.session.watches} decides here: T takes over"
    if screen.steers and not screen.session.walks and screen.decisions.pending:
        return "decide first: a approve, e edit, d deny, w answer"
    return too_large(screen)


def _breakpoints(screen: RunScreen) -> None:
    screen.app.push_screen(BreakpointsScreen(screen.session, _condition_of(screen.timeline.selected)))


def _condition_of(row: Row | None) -> str:
    """A condition that a breakpoint at a row would have."""
    if row is None or row.call is None or row.kind is not RowKind.CALL:
        return ""
    return f"tool == {_quoted(row.call.name)}"


def _quoted(name: str) -> str:
    """A tool's name as a condition holds it; one that hides something is left to the person."""
    return f'"{name}"' if name.isprintable() and '"' not in name and "\\" not in name else '""'


def _filter(screen: RunScreen) -> None:
    def answered(condition: str | None) -> None:
        if condition is None:
            return
        screen.condition = condition.strip()
        if not screen.condition:
            screen.timeline.filter(None)
            screen.notice("all rows", "muted")
        else:
            _show_only(screen)
        screen.show_selected()

    screen.app.push_screen(FilterScreen(screen.condition), answered)


def _show_only(screen: RunScreen) -> None:
    try:
        found = screen.session.filter_rows(screen.condition)
    except UserError as error:
        screen.condition = ""
        screen.notice(str(error))
        return

    def kept(rows: Sequence[Row]) -> list[int]:
        found.take_all(screen.session.events)
        return [place for place, row in enumerate(rows) if found.shows(row)]

    if not kept(screen.timeline.timeline.rows):
        screen.notice(f"nothing so far: {screen.condition}", "muted")
        return
    screen.timeline.filter(kept)
    screen.notice(f"{count_text(screen.timeline.count(), 'row')}: {screen.condition}   f and enter show all", "muted")


_RUN, _FIND = "run", "find"

STEPPING_COMMANDS: tuple[Command[RunScreen], ...] = (
    Command("run.into", "into the next sub-agent", ("I",), _walk("into"), _RUN, "into", _cannot_walk),
    Command("run.over", "this agent's next stop, over sub-agents", ("o",), _walk("over"),
            _RUN, "over", _cannot_walk),
    Command("run.out", "out of this sub-agent", ("u",), _walk("out"), _RUN, "out", _cannot_walk),
    Command("run.reverse", "back to the breakpoint before, or the beginning",
            ("C",), _walk("reverse_continue"), _RUN, "", too_large),
    Command("run.stop_before", "back to the stop before", ("R",), _walk("back"), _RUN, "", too_large),
    Command("run.breakpoints", "breakpoints: list, add, switch", ("B",), _breakpoints, _RUN, "breakpoints"),
    Command("row.filter", "only rows that a condition holds for", ("f",), _filter, _FIND, "filter", too_large),
)  # fmt: skip
