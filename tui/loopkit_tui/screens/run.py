"""The run screen: recorded and live are the same one; what differs is which commands there are something to do for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.containers import Container, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from loopkit.debugger.context_use import look_up_window
from loopkit.debugger.display import one_line
from loopkit.debugger.nodes import CallNode, Row, RowKind
from loopkit.debugger.searching import Hit
from loopkit.errors import CommandRefused
from loopkit.events import Event
from loopkit_tui.commands import Command, KeyReader, key_of
from loopkit_tui.decisions import Decisions
from loopkit_tui.describing import Surroundings
from loopkit_tui.event_index import EventsOfRows
from loopkit_tui.going_on import GoingOn
from loopkit_tui.painting import shortened
from loopkit_tui.reading_on import ReadingOn
from loopkit_tui.requests import MessagesSent
from loopkit_tui.screens.asking import ConfirmScreen
from loopkit_tui.screens.run_bars import draw_bars, draw_keys
from loopkit_tui.screens.run_commands import RUN_COMMANDS
from loopkit_tui.screens.trouble import TroubleScreen
from loopkit_tui.walking import Walk
from loopkit_tui.widgets.bars import Bar, KeyBar, RegionTitle
from loopkit_tui.widgets.detail import RAW_TAB, DetailView
from loopkit_tui.widgets.document import Passage
from loopkit_tui.widgets.minimap import Minimap
from loopkit_tui.widgets.pending import PendingView
from loopkit_tui.widgets.timeline import TimelineView
from loopkit_tui.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from pathlib import Path

    from loopkit.debugger.session import Session
    from loopkit.debugger.status import Status
    from loopkit_tui.app import LoopkitApp
    from loopkit_tui.file_search import FileSearch

BATCH_SECONDS = 0.03
CLOCK_SECONDS = 0.25
NOTICE_SECONDS = 5.0
COUNT_SECONDS = 1.5
Place: TypeAlias = tuple[str, int] | Hit
"""A loop's path and the number of one of its iterations, or what a search has found."""
NARROW_CELLS = 100


class RunScreen(Screen[None]):
    """A run: how it stands, its rows, the selected row, what waits, and the keys.

    Args:
        session: the run; closed by whoever opened it.
        at: where to begin, or None for the start.
        beside: the recording that it is shown beside when it has ended, or None.
        agent_spec: how the agent was named that runs, or empty.
    """

    CSS_PATH = "run.tcss"
    AUTO_FOCUS = "#timeline"
    ESCAPE_TO_MINIMIZE = False

    session: Session
    status: Status
    decisions: Decisions
    going_on: GoingOn
    walk: Walk
    reading: ReadingOn
    timeline: TimelineView
    detail: DetailView
    pending: PendingView
    key_bar: KeyBar
    needle: str
    condition: str
    file_search: FileSearch | None

    class Woken(Message):
        """The session has something new; several of them before a batch count as one."""

    def __init__(
        self, session: Session, at: Place | None = None, *, beside: Path | None = None, agent_spec: str = ""
    ) -> None:
        super().__init__()
        self.session = session
        self.agent_spec = agent_spec
        self.going_on = GoingOn(self)
        self._at = at
        self._beside = beside
        self.status = session.status()
        self.decisions = Decisions(self)
        self.walk = Walk(self)
        self.reading = ReadingOn(self)
        self.needle = ""
        self.condition = ""
        self.file_search = None
        self.tab_before_count = 0
        self.keys_reader: KeyReader[RunScreen] = KeyReader(RUN_COMMANDS)
        self._raw = EventsOfRows(session)
        self._sent = MessagesSent(session)
        self._awake = False
        self._ended = False
        self._notice_timer: Timer | None = None
        self._count_timer: Timer | None = None

    # ── its parts ────────────────────────────────────────────────────────────────────────────────────────────────────

    REGIONS: ClassVar = ("timeline", "detail", "pending")

    def compose(self) -> ComposeResult:
        yield Bar(id="status")
        yield Bar(id="now")
        with Container(id="regions"):
            with Vertical(id="timeline-region", classes="region"):
                yield RegionTitle(id="timeline-title")
                yield TimelineView(id="timeline")
            with Container(id="side"):
                with Vertical(id="detail-region", classes="region"):
                    yield RegionTitle(id="detail-title")
                    yield DetailView(id="detail")
                with Vertical(id="pending-region", classes="region"):
                    yield RegionTitle(id="pending-title")
                    yield PendingView(id="pending")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.timeline = self.query_one(TimelineView)
        self.detail = self.query_one(DetailView)
        self.pending = self.query_one(PendingView)
        self.key_bar = self.query_one(KeyBar)
        self.session.poll()
        self.timeline.show(self.session.timeline)
        self.timeline.following = self.session.live
        self.query_one("#timeline-title", RegionTitle).map = Minimap(self.timeline)
        self.session.on_change(self.wake)
        self.take_in()
        if self.session.live:
            self.set_interval(CLOCK_SECONDS, self._tick)
        self.reading.begin()
        threading.Thread(target=self._look_up_window, name="window", daemon=True).start()
        if isinstance(self._at, Hit):
            self.walk.to_hit(self._at)
        elif self._at is not None:
            self.walk.to_place(*self._at)

    def _look_up_window(self) -> None:
        """In a thread: the price table takes half a second to load."""
        root = self.session.timeline.root
        if root is not None and look_up_window(root.started.model):
            self.wake()

    def active_region(self) -> VirtualList:
        """The region that has the keyboard."""
        focused = self.focused
        return focused if isinstance(focused, VirtualList) else self.timeline

    def system_commands(self) -> Iterable[SystemCommand]:
        """What the palette offers here."""
        for command in RUN_COMMANDS:
            yield SystemCommand(command.in_palette, command.words, partial(self.run_command, command))

    # ── what comes in ────────────────────────────────────────────────────────────────────────────────────────────────

    def wake(self) -> None:
        """Called from the run's thread: never blocks, several calls become one batch."""
        if not self._awake:
            self._awake = True
            self.post_message(self.Woken())

    @on(Woken)
    def _schedule_batch(self) -> None:
        self.set_timer(BATCH_SECONDS, self._batch)

    def _batch(self) -> None:
        self._awake = False
        self.take_in()

    def take_in(self) -> None:
        """Draw what happened since the last time."""
        self.session.poll()
        self.status = self.session.status()
        self.timeline.take_in()
        self.decisions.take_in(self.session.pending())
        if self.timeline.following:
            self._follow()
        if self.session.live and not self._ended and self.has_ended:
            self._ended = True
            self.tell_end()
        troubled = self.session.recording_trouble and not self.session.watches
        if troubled and not isinstance(self.app.screen, TroubleScreen):
            self.app.push_screen(TroubleScreen(self.session), lambda _: self.take_in())
        self.show_selected()

    @property
    def has_ended(self) -> bool:
        return self.status.state in ("finished", "failed", "stopped", "unfinished")

    @property
    def steers(self) -> bool:
        """Commands steer a run that goes on; else they walk through what happened."""
        return self.session.live and not self.has_ended

    def tell_end(self) -> None:
        """Where the recording is, as soon as there is nothing more to come."""
        self.timeline.following = False
        if self.status.recording:
            words = "the run has ended, recorded in "
            path = shortened(one_line(self.status.recording, 600), self.size.width - len(words) - 2)
            self.notice(words + path, "good")
        if self._beside is not None and self.session.path is not None and self.is_current:
            cast("LoopkitApp", self.app).compare(self._beside, self.session.path)

    def _tick(self) -> None:
        if self.steers:
            self.status = self.session.status()
            self.show_bars()

    def _follow(self) -> None:
        rows = self.timeline.timeline.rows
        waiting = self.decisions.first
        row = self.row_of_call(waiting.call) if waiting is not None else None
        if row is None and rows:
            row = rows[-1]
        if row is not None and row is not self.timeline.selected:
            self.timeline.select(row)

    def row_of_call(self, call: str) -> Row | None:
        """The timeline's row of a call; newer ones are found first."""
        for row in reversed(self.timeline.timeline.rows):
            if row.kind is RowKind.CALL and row.call is not None and row.call.id == call:
                return row
        return None

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def show_selected(self) -> None:
        """Draw the selected row's detail and everything that names it."""
        row = self.timeline.selected
        self.decisions.looked_at(self.selected_call)
        partial = self.session.partial(row.loop.path) if row is not None and self.steers else ""
        around = Surroundings(partial, self.status.waited, self.status.recording, self._sent)
        self.detail.show_row(row, self._raw_events(row), around)
        self.show_bars()

    def detail_tab(self, tab: int) -> None:
        """Show another side of the selected row, counted from 0."""
        self.detail.show_tab(tab)
        self.show_selected()

    def _raw_events(self, row: Row | None) -> Sequence[Event]:
        """Looked up only where they are seen, so that a long recording opens without an index of them."""
        if self.detail.tab != RAW_TAB:
            return ()
        return self.events_of(row)

    def events_of(self, row: Row | None) -> Sequence[Event]:
        """The events that a row is made of."""
        return self._raw.of(row)

    @property
    def selected_call(self) -> CallNode | None:
        row = self.timeline.selected
        return row.call if row is not None and row.kind is RowKind.CALL else None

    def show_bars(self) -> None:
        """Draw the lines around the regions."""
        if self.is_mounted:
            draw_bars(self)

    def show_keys(self) -> None:
        """Draw the keys that do something now."""
        draw_keys(self)

    def notice(self, words: str, tone: str = "warning", *, seconds: float = NOTICE_SECONDS) -> None:
        """Say something safe in the place of the keys, for a moment."""
        self.key_bar.show_notice(words, tone)
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(seconds, self.key_bar.clear_notice)

    def leave(self) -> None:
        """Go back, after a question while that would stop the run."""
        if not self.steers or self.session.elsewhere is not None:
            self._leave_run()
            return
        lines = [
            Passage("It is stopped when you leave. The recording is kept and stays whole.", indent=0, tone="muted")
        ]
        question = ConfirmScreen("This run is live. Stop it and leave?", lines, yes="stop and leave", no="stay")
        self.app.push_screen(question, self._stop_and_leave)

    def _stop_and_leave(self, yes: bool | None) -> None:
        if yes:
            self.attempt(self.session.stop)
            self._leave_run()

    def _leave_run(self) -> None:
        cast("LoopkitApp", self.app).leave_run(self.session)

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_key(self, event: events.Key) -> None:
        self.key_bar.clear_notice()
        was_typing = bool(self.keys_reader.typed)
        if not was_typing:
            self.tab_before_count = self.detail.tab
        command = self.keys_reader.read(key_of(event))
        if command is not None or self.keys_reader.typed or was_typing:
            event.stop()
            event.prevent_default()
        if command is not None:
            self.run_command(command)
        self._expect_rest_of_command()
        self.show_keys()

    def run_command(self, command: Command[RunScreen]) -> None:
        """Do a command, or say why it can't be done."""
        why_not = command.unless(self)
        if why_not:
            self.notice(why_not)
        else:
            self.attempt(lambda: command.do(self))

    def attempt(self, do: Callable[[], None]) -> None:
        """Do what the session may refuse, and say so when it does."""
        try:
            do()
        except CommandRefused as refused:
            self.notice(one_line(str(refused), 300), "bad")

    def _expect_rest_of_command(self) -> None:
        if self._count_timer is not None:
            self._count_timer.stop()
        if self.keys_reader.typed:
            self._count_timer = self.set_timer(COUNT_SECONDS, self._forget_typed)

    def _forget_typed(self) -> None:
        self.keys_reader.typed = ""
        self.show_keys()

    # ── what the regions report ──────────────────────────────────────────────────────────────────────────────────────

    @on(VirtualList.CursorMoved, "#timeline")
    def _row_selected(self) -> None:
        rows = self.timeline.count()
        self.timeline.following = self.steers and self.timeline.cursor == rows - 1
        self.show_selected()

    @on(RegionTitle.MapClicked)
    def _map_clicked(self, message: RegionTitle.MapClicked) -> None:
        self.walk.go_to(int(message.share * len(self.timeline.timeline.rows)))

    @on(VirtualList.CursorMoved, "#detail")
    @on(VirtualList.SightMoved, "#detail")
    def _detail_moved(self) -> None:
        self.show_bars()

    @on(VirtualList.CursorMoved, "#pending")
    def _pending_selected(self) -> None:
        if self.pending.pending:
            self.decisions.go_to(self.pending.pending[self.pending.cursor].call)

    @on(VirtualList.Chosen)
    def _line_chosen(self, message: VirtualList.Chosen) -> None:
        if message.source is self.timeline:
            self.timeline.toggle_fold()
        elif message.source is self.detail:
            self.detail.toggle_fold()

    def on_descendant_focus(self) -> None:
        self.show_bars()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < NARROW_CELLS, "narrow")
