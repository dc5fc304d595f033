"""The commands of the run screen: keys, help, palette and key bar all read this table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from loopkit.debugger.large import LargeTimeline
from loopkit.debugger.search_over import Found
from loopkit.debugger.ways import Landmark
from loopkit_tui.commands import Command
from loopkit_tui.file_search import FileSearch
from loopkit_tui.screens.asking import SearchScreen, StopScreen
from loopkit_tui.screens.deciding_commands import change_standing, forget_rules, inject, same_again
from loopkit_tui.screens.keys import KeysScreen
from loopkit_tui.screens.payload_commands import PAYLOAD_COMMANDS
from loopkit_tui.screens.searching import SearchAllScreen
from loopkit_tui.screens.stepping_commands import STEPPING_COMMANDS, go, too_large
from loopkit_tui.walking import holds
from loopkit_tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from loopkit_tui.app import LoopkitApp
    from loopkit_tui.screens.run import RunScreen

    _Do = Callable[[RunScreen], None]


# ── when a command can't be done ─────────────────────────────────────────────────────────────────────────────────────


def _watches(screen: RunScreen) -> str:
    watches = screen.session.watches if screen.steers else ""
    return f"{watches} decides here: T takes over" if watches else ""


def _not_live(screen: RunScreen) -> str:
    if screen.steers:
        return _watches(screen)
    return "the run has ended" if screen.session.live else "this is a recording: s and b step through it"


def _nothing_waits(screen: RunScreen) -> str:
    return _watches(screen) if screen.decisions.pending and screen.steers else "no call waits for a decision"


def _single(screen: RunScreen) -> str:
    return _nothing_waits(screen) or ("" if len(screen.decisions.pending) > 1 else "only one call waits: a approves it")


def _must_decide(screen: RunScreen) -> str:
    if _watches(screen):
        return _watches(screen)
    if screen.steers and screen.decisions.pending and not screen.session.walks:
        return "decide first: a approve, e edit, d deny, w answer"
    return ""


def _not_recorded(screen: RunScreen) -> str:
    return "this run is not recorded" if screen.session.path is None else ""


def _still_runs(screen: RunScreen) -> str:
    return _not_recorded(screen) or ("when the run has ended" if screen.steers else "")


def _cannot_fork(screen: RunScreen) -> str:
    session = screen.session
    if session.elsewhere is not None:
        return "this run is in another process: go on from its recording"
    if session.source_format != "loopkit":
        return "a session of another program can't be gone on with"
    return "another process still writes this run" if session.followed else _still_runs(screen)


def _cannot_resume(screen: RunScreen) -> str:
    root = screen.session.timeline.root
    ended = root is not None and root.ended
    return _cannot_fork(screen) or ("the run has ended: F forks it, M says one thing more" if ended else "")


def _cannot_follow_up(screen: RunScreen) -> str:
    root = screen.session.timeline.root
    ended = root is not None and root.ended
    return _cannot_fork(screen) or ("" if ended else "the run is unfinished: O goes on with it")


def _not_paused(screen: RunScreen) -> str:
    if not screen.steers and screen.session.breakpoints:
        return too_large(screen)
    if _not_live(screen):
        return _not_live(screen)
    goes_on = screen.status.state != "paused" and not screen.session.stands_next and not screen.session.walks
    return _must_decide(screen) or ("it is running" if goes_on else "")


def _decides_here(screen: RunScreen) -> str:
    return "" if screen.steers and screen.session.watches else "it is you who decides here"


def _not_running(screen: RunScreen) -> str:
    return _not_live(screen) or ("it stands already" if screen.status.state == "paused" else "")


# ── what commands do ─────────────────────────────────────────────────────────────────────────────────────────────────


def _pause(screen: RunScreen) -> None:
    screen.session.pause()
    screen.show_bars()
    screen.notice(f"will pause {screen.session.stands_next}", "waiting")


def _step(screen: RunScreen) -> None:
    if screen.steers:
        go(screen, screen.session.step)
    else:
        screen.walk.step(1)


def _next_iteration(screen: RunScreen) -> None:
    if screen.steers:
        go(screen, screen.session.next_iteration)
    else:
        screen.walk.over(1)


def _continue(screen: RunScreen) -> None:
    go(screen, screen.session.resume)


def _stop(screen: RunScreen) -> None:
    def answered(reason: str | None) -> None:
        if reason is not None:
            screen.attempt(lambda: screen.session.stop(reason.strip() or None))

    screen.app.push_screen(StopScreen(), answered)


def _take_over(screen: RunScreen) -> None:
    screen.session.take_over()
    screen.notice("you decide here from now on", "good")


def _go_to(screen: RunScreen) -> None:
    count = screen.keys_reader.count
    if count is None:
        if screen.active_region() is screen.timeline:
            screen.walk.to_edge(end=False)
        else:
            screen.active_region().move_to(0)
        return
    screen.detail_tab(screen.tab_before_count)
    screen.walk.to_iteration(count)


def _go_to_end(screen: RunScreen) -> None:
    if screen.active_region() is screen.timeline:
        screen.session.look_live()
        screen.walk.to_edge(end=True)
    else:
        screen.active_region().move_to(screen.active_region().count() - 1)


def _fold(screen: RunScreen) -> None:
    region = screen.active_region()
    if region is screen.timeline:
        screen.timeline.fold()
    elif region is not screen.detail or not screen.detail.fold_under_cursor(folded=True):
        screen.timeline.focus()


def _unfold(screen: RunScreen) -> None:
    if screen.active_region() is screen.detail:
        screen.detail.fold_under_cursor(folded=False)
    elif not screen.timeline.unfold():
        screen.detail.focus()


def _toggle(screen: RunScreen) -> None:
    region = screen.active_region()
    if region is screen.detail:
        screen.detail.toggle_fold()
    elif region is screen.pending:
        screen.timeline.focus()
    else:
        screen.timeline.toggle_fold()


def _find(landmark: Landmark, direction: int) -> _Do:
    return lambda screen: screen.walk.find(landmark, direction)


def _search(screen: RunScreen) -> None:
    def answered(needle: str | None) -> None:
        if needle:
            screen.needle = needle.casefold()
            _match(screen, 1)

    screen.app.push_screen(SearchScreen(screen.needle), answered)


def _hits(screen: RunScreen) -> None:
    assert screen.session.path is not None

    def chosen(found: Found | None) -> None:
        if found is not None:
            screen.walk.to_hit(found.hit)

    screen.app.push_screen(SearchAllScreen([screen.session.path], screen.needle), chosen)


def _match(screen: RunScreen, direction: int) -> None:
    if not screen.needle:
        screen.notice("nothing was searched for yet: / searches", "muted")
        return
    timeline = screen.session.timeline
    if not isinstance(timeline, LargeTimeline):
        screen.walk.search(lambda row: holds(row, screen.needle), direction)
        return
    if screen.file_search is None or screen.file_search.needle != screen.needle:
        screen.file_search = FileSearch(screen, timeline, screen.needle)
    screen.file_search.go(direction)


def _tab(number: int) -> _Do:
    return lambda screen: screen.detail_tab(number - 1)


def _next_region(direction: int) -> _Do:
    def focus(screen: RunScreen) -> None:
        regions: list[VirtualList] = [screen.timeline, screen.detail]
        if screen.decisions.pending:
            regions.append(screen.pending)
        place = next((index for index, region in enumerate(regions) if region is screen.active_region()), 0)
        regions[(place + direction) % len(regions)].focus()

    return focus


def _zoom(screen: RunScreen) -> None:
    wanted = f"zoom-{screen.active_region().id}"
    zoomed = screen.has_class(wanted)
    screen.remove_class(*[f"zoom-{region}" for region in screen.REGIONS])
    if not zoomed:
        screen.add_class(wanted)


def _compare(screen: RunScreen) -> None:
    assert screen.session.path is not None
    cast("LoopkitApp", screen.app).compare_with_chosen(screen.session.path)


def _leave(screen: RunScreen) -> None:
    screen.leave()


def _quit_at_once(screen: RunScreen) -> None:
    cast("LoopkitApp", screen.app).action_leave_at_once()


def _keys(screen: RunScreen) -> None:
    screen.app.push_screen(KeysScreen([(c.group, c.keys_shown, c.words, c.name) for c in RUN_COMMANDS]))


def _palette(screen: RunScreen) -> None:
    screen.app.action_command_palette()


def decides(command: Command[RunScreen]) -> bool:
    """Whether a command decides on a call that waits."""
    return command.group == _DECIDE


_RUN, _DECIDE, _MOVE, _FIND, _SCREEN = "run", "decide", "move", "find", "screen"

RUN_COMMANDS: tuple[Command[RunScreen], ...] = (
    Command("call.approve", "run the call that waits, as it is", ("a",), lambda s: s.decisions.approve(),
            _DECIDE, "approve", _nothing_waits),
    Command("call.edit", "change its arguments, then run it", ("e",), lambda s: s.decisions.edit(),
            _DECIDE, "edit", _nothing_waits),
    Command("call.deny", "don't run it; the model reads your reason", ("d",), lambda s: s.decisions.deny(),
            _DECIDE, "deny", _nothing_waits),
    Command("call.answer", "don't run it; answer in the tool's place", ("w",), lambda s: s.decisions.respond(),
            _DECIDE, "answer", _nothing_waits),
    Command("call.approve_all", "run all calls that wait, after a look at them", ("A",),
            lambda s: s.decisions.approve_all(), _DECIDE, "all", _single),
    Command("call.same_again", "run it, and in this run every call like it", ("=",), same_again("run", "in this run"),
            _DECIDE, "", _nothing_waits),
    Command("call.remember", "the same, in this project's later runs too", ("P",),
            same_again("project", "in this project"), _DECIDE, "", _nothing_waits),
    Command("call.ask_again", "take back what is run without asking", ("U",), forget_rules, _RUN, "", _not_live),
    Command("run.change", "change what stands at this gate: a result, an answer, the prompt", ("W",), change_standing,
            _RUN, "", _not_live),
    Command("run.say", "say something to the agent while it runs", ("i",), inject, _RUN, "", _not_live),
    Command("run.step", "to the next gate; in a recording, to the next row, into sub-agents", ("s",), _step,
            _RUN, "step", _must_decide),
    Command("run.next", "to the next iteration, over sub-agents", ("n",), _next_iteration, _RUN, "next", _must_decide),
    Command("row.back", "one row back", ("b",), lambda s: s.walk.step(-1), _RUN, "back"),
    *STEPPING_COMMANDS,
    Command("run.continue", "run on; in a recording, to the next breakpoint", ("c",), _continue, _RUN, "continue", _not_paused),
    Command("run.pause", "stand at the next gate", ("p",), _pause, _RUN, "pause", _not_running),
    Command("run.stop", "end the run now (asks; a reason may be given)", ("X",), _stop, _RUN, "stop", _not_live),
    Command("run.what_if", "what if: fork here with a change, run it, see both", ("F",),
            lambda s: s.going_on.what_if(), _RUN, "what if", _cannot_fork),
    Command("run.resume", "go on with an unfinished recording", ("O",), lambda s: s.going_on.resume(),
            _RUN, "resume", _cannot_resume),
    Command("run.follow_up", "say one thing more after the end; a new recording", ("M",),
            lambda s: s.going_on.follow_up(), _RUN, "say more", _cannot_follow_up),
    Command("run.again", "once more with the same task; named code is read anew", ("r",),
            lambda s: s.going_on.again(), _RUN, unless=_cannot_fork),
    Command("run.compare", "beside its parent, or beside a run that you choose", ("D",), _compare,
            _RUN, "diff", _still_runs),
    Command("run.take_over", "attached: decide here, in the place of another viewer", ("T",), _take_over,
            _RUN, "take over", _decides_here),
    Command("row.down", "down a line", ("j", "down"), lambda s: s.active_region().move(1), _MOVE),
    Command("row.up", "up a line", ("k", "up"), lambda s: s.active_region().move(-1), _MOVE),
    Command("page.down", "down a page", ("pagedown", "ctrl+f"), lambda s: s.active_region().page(1), _MOVE),
    Command("page.up", "up a page", ("pageup", "ctrl+b"), lambda s: s.active_region().page(-1), _MOVE),
    Command("iteration.next", "to the next iteration of any agent", ("J",), _find("iteration", 1), _MOVE),
    Command("iteration.previous", "to the one before", ("K",), _find("iteration", -1), _MOVE),
    Command("row.go_to", "to the top; 12g goes to iteration 12", ("g", "home"), _go_to, _MOVE),
    Command("row.end", "to the end; a live run is followed from there", ("G", "end"), _go_to_end, _MOVE),
    Command("row.fold", "fold the sub-agent; from the detail back to the timeline", ("h", "left"), _fold, _MOVE),
    Command("row.unfold", "unfold it, or go to the detail", ("l", "right"), _unfold, _MOVE),
    Command("row.toggle", "fold or unfold", ("space", "enter"), _toggle, _MOVE),
    Command("row.return", "back to where you were before a jump", ("ctrl+o",), lambda s: s.walk.back(), _MOVE),
    Command("error.next", "to the next error", ("]e",), _find("error", 1), _FIND, "error"),
    Command("error.previous", "to the error before", ("[e",), _find("error", -1), _FIND, "error"),
    Command("warning.next", "to the next warning", ("]w",), _find("warning", 1), _FIND, "warning"),
    Command("warning.previous", "to the warning before", ("[w",), _find("warning", -1), _FIND, "warning"),
    Command("decision.next", "to the next decision", ("]d",), _find("decision", 1), _FIND, "decision"),
    Command("decision.previous", "to the decision before", ("[d",), _find("decision", -1),
            _FIND, "decision"),
    Command("agent.next", "to the next sub-agent", ("]a",), _find("sub-agent", 1), _FIND, "agent"),
    Command("agent.previous", "to the sub-agent before", ("[a",), _find("sub-agent", -1), _FIND, "agent"),
    Command("search.start", "search in everything", ("/",), _search, _FIND, "search"),
    Command("search.hits", "all hits in a list, while they are found", ("S",), _hits, _FIND, "hits", _not_recorded),
    Command("search.next", "to the next match", ("]/",), lambda s: _match(s, 1), _FIND, "match"),
    Command("search.previous", "to the match before", ("[/",), lambda s: _match(s, -1), _FIND, "match"),
    Command("region.next", "to the next region", ("tab",), _next_region(1), _SCREEN),
    Command("region.previous", "to the region before", ("shift+tab",), _next_region(-1), _SCREEN),
    Command("region.zoom", "give the region the whole screen, and back", ("z",), _zoom, _SCREEN, "zoom"),
    Command("detail.row", "detail: the row itself", ("1",), _tab(1), _SCREEN),
    Command("detail.request", "detail: what the model was sent", ("2",), _tab(2), _SCREEN),
    Command("detail.raw", "detail: the recorded events", ("3",), _tab(3), _SCREEN),
    Command("detail.unfold_all", "unfold everything in the detail", ("+",),
            lambda s: s.detail.fold_all(folded=False), _SCREEN),
    Command("detail.fold_all", "fold everything in the detail", ("-",),
            lambda s: s.detail.fold_all(folded=True), _SCREEN),
    Command("detail.down", "the detail a page down, from anywhere", ("ctrl+d",), lambda s: s.detail.page(1), _SCREEN),
    Command("detail.up", "the detail a page up, from anywhere", ("ctrl+u",), lambda s: s.detail.page(-1), _SCREEN),
    *PAYLOAD_COMMANDS,
    Command("screen.keys", "all keys", ("?",), _keys, _SCREEN),
    Command("screen.palette", "find a command by its name", ("ctrl+p",), _palette, _SCREEN),
    Command("screen.leave", "back (asks while a run is live)", ("q", "escape"), _leave, _SCREEN, "quit"),
    Command("app.quit", "stop what runs and quit at once", ("ctrl+c",), _quit_at_once, _SCREEN),
)  # fmt: skip
