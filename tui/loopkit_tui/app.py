"""The app: opens home or a run, and sees to it that the terminal and the recording are whole at every end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from loopkit.debugger.children import end_child_processes
from loopkit.debugger.comparison import RunComparison, compare_runs
from loopkit.debugger.display import one_line, visible
from loopkit.debugger.library import RunSummary, list_runs, parent_of
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.remembered import remember_agent, remembered_agent
from loopkit.debugger.session import Session
from loopkit.debugger.targets import load_agent, recordings_folder
from loopkit.errors import UserError
from loopkit_tui.beside import Beside
from loopkit_tui.opening import Starter, agent_spec_of, open_recorded, open_target, session_of_demo
from loopkit_tui.painting import shortened
from loopkit_tui.screens.asking import LineScreen
from loopkit_tui.screens.diff import DiffScreen
from loopkit_tui.screens.home import HomeScreen
from loopkit_tui.screens.picking import PickRunScreen
from loopkit_tui.screens.run import Place, RunScreen
from loopkit_tui.themes import DARK, LIGHT, THEMES

SECONDS_WITHOUT_TERMINAL = 1.0
LONGEST_ERROR = 600
ENDED_WITH_ERROR = 2
_ENDING_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


_NOTICING = (HomeScreen, RunScreen, DiffScreen)


class LoopkitApp(App[None]):
    """Home, and runs over it.

    Args:
        session: a run to begin with; without one, home.
        folder: where recordings are listed from.
        start: starts an agent; its task is asked for first.
        agent_spec: how the agent of the first run was named, or empty.
    """

    CSS_PATH = "loopkit.tcss"
    TITLE = "loopkit"
    ENABLE_COMMAND_PALETTE = True
    # before any input or question: typing fields have a meaning of their own for ctrl+c
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "leave_at_once", "quit", priority=True)]

    def __init__(
        self,
        session: Session | None = None,
        *,
        folder: Path | None = None,
        start: Starter | None = None,
        agent_spec: str = "",
    ) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = LIGHT.name if os.environ.get("LOOPKIT_THEME") == "light" else DARK.name
        self.folder = folder or recordings_folder()
        self.sessions: list[Session] = []
        self.interrupted = False
        self._session = session
        self._start = start
        self._agent_spec = agent_spec
        self._starts_with_run = session is not None or start is not None
        self.beside = Beside(self)

    def on_mount(self) -> None:
        self._leave_on_signals()
        if self._session is not None:
            self.show_session(self._session, agent_spec=self._agent_spec)
        elif self._start is not None:
            question = LineScreen("task", "", "what should the agent do?", "start it")
            self.push_screen(question, self._start_agent)
        else:
            self.push_screen(HomeScreen(self.folder))

    def _start_agent(self, task: str | None) -> None:
        if not task or self._start is None:
            self.exit()
            return
        self.beside.begin(partial(self._start, task), partial(self.show_session, agent_spec=self._agent_spec))

    def show_session(
        self,
        session: Session,
        at: Place | None = None,
        *,
        beside: Path | None = None,
        agent_spec: str = "",
        replaces: Session | None = None,
    ) -> None:
        """Show a run; it is closed when it is left, or when the app ends.

        Args:
            at: where to begin: a loop's path and the number of one of its iterations.
            beside: the recording that it is shown beside when it has ended.
            agent_spec: how the agent was named that runs.
            replaces: the run whose screen it takes.
        """
        self.sessions.append(session)
        screen = RunScreen(session, at, beside=beside, agent_spec=agent_spec)
        if replaces is None:
            self.push_screen(screen)
        else:
            self.switch_screen(screen)
            self._close_beside(replaces)

    def leave_run(self, session: Session) -> None:
        """Close a run that is shown, and go back to home, or end where the app began with the run."""
        runs = sum(isinstance(screen, RunScreen) for screen in self.screen_stack)
        if self._starts_with_run and runs == 1:
            self.exit()
            return
        self.pop_screen()
        if session.live and session.path is not None and isinstance(self.screen, _NOTICING):
            path = shortened(one_line(str(session.path), 600), self.size.width - 15)
            self.screen.notice(f"recorded in {path}", "good")
        self._close_beside(session)

    def _close_beside(self, session: Session) -> None:
        threading.Thread(target=self._close, args=(session,), name="closing", daemon=True).start()

    def _close(self, session: Session) -> None:
        """Close a run; until that is done, the app's end closes it too."""
        self._close_session(session)
        with suppress(ValueError):
            self.sessions.remove(session)

    def close_sessions(self) -> list[str]:
        """Close every run, and return the paths of the recordings of live ones."""
        kept = [shown for shown in self.sessions if shown.live and shown.elsewhere is None]
        paths = [str(session.path) for session in kept if session.path is not None]
        with suppress(IndexError):
            while True:
                # a thread that ends the process may do the same at the same time
                self._close_session(self.sessions.pop())
        return paths

    def _close_session(self, session: Session) -> None:
        running = session.running
        session.close()
        if session.elsewhere is None:
            self.interrupted = self.interrupted or running or session.interrupted

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @on(Beside.Done)
    def _take_in(self, message: Beside.Done) -> None:
        self.beside.end()
        message.then()

    @on(Beside.Failed)
    def _tell_why_not(self, message: Beside.Failed) -> None:
        self.beside.end()
        if isinstance(self.screen, _NOTICING):
            self.screen.notice(message.reason, "bad")
        else:
            self.exit(return_code=2, message=Text(message.reason))

    def open_run(self, path: Path, at: Place | None = None) -> None:
        """Show a recording over what is shown."""
        self.beside.begin(partial(open_recorded, path), lambda session: self.show_session(session, at))

    @on(HomeScreen.RunChosen)
    def _open_chosen(self, message: HomeScreen.RunChosen) -> None:
        self.open_run(message.path, message.at)

    @on(HomeScreen.DemoChosen)
    def _start_demo(self) -> None:
        self.beside.begin(session_of_demo, self.show_session)

    @on(HomeScreen.StartChosen)
    def _ask_for_agent(self) -> None:
        def named(spec: str | None) -> None:
            if spec and spec.strip():
                question = LineScreen("task", one_line(spec, 60), "what should the agent do?", "start it")
                self.push_screen(question, partial(start, spec.strip()))

        def start(spec: str, task: str | None) -> None:
            if task:
                self.beside.begin(lambda: Session.start(load_agent(spec), task), partial(started, spec))

        def started(spec: str, session: Session) -> None:
            remember_agent(self.folder, spec)
            self.show_session(session, agent_spec=spec)

        words = "path.py:name or package.module:name; the demo is loopkit.demo:agent"
        question = LineScreen(
            "start an agent", "it stops before each tool call", words, "go on", remembered_agent(self.folder)
        )
        self.push_screen(question, named)

    @on(HomeScreen.PairChosen)
    def _compare_chosen(self, message: HomeScreen.PairChosen) -> None:
        self.compare(message.left, message.right)

    def compare(self, left: Path, right: Path) -> None:
        """Show two runs beside each other, over what is shown."""
        self.beside.begin(
            lambda: compare_runs(open_recording(left), open_recording(right)),
            lambda compared: self.push_screen(DiffScreen(compared)),
        )

    def compare_with_chosen(self, path: Path) -> None:
        """Show a run beside the one that it was forked from, or else beside one that is asked for."""

        def look() -> Path | list[RunSummary]:
            parent = parent_of(path)
            return list_runs(path.parent) if parent is None else parent

        def go_on(found: Path | list[RunSummary]) -> None:
            if isinstance(found, Path):
                self.compare(found, path)
            else:
                others = [run for run in found if run.path != path and run.damaged is None]
                self.push_screen(PickRunScreen("compare with", others), compare)

        def compare(chosen: Path | None) -> None:
            if chosen is not None:
                self.compare(chosen, path)

        self.beside.begin(look, go_on)

    def swap_comparison(self, compared: RunComparison) -> None:
        """Show a comparison the other way round in its own place."""
        self.beside.begin(
            lambda: compare_runs(compared.right, compared.left),
            lambda swapped: self.switch_screen(DiffScreen(swapped)),
        )

    # ── ending ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _leave_on_signals(self) -> None:
        """A signal that would kill the process ends the app instead: terminal restored, recording closed (e13, e14)."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for name in _ENDING_SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                leave = self._leave_without_terminal if name == "SIGHUP" else self.exit
                loop.add_signal_handler(number, partial(leave, return_code=128 + number))

    def _leave_without_terminal(self, return_code: int) -> None:
        """End although nothing can be drawn any more: what still wants to write to the terminal may wait for ever."""

        def end_for_certain() -> None:
            self.close_sessions()
            if self.interrupted:
                end_child_processes()
            time.sleep(SECONDS_WITHOUT_TERMINAL)
            os._exit(return_code)

        threading.Thread(target=end_for_certain, name="ending", daemon=True).start()
        self.exit(return_code=return_code)

    def action_leave_at_once(self) -> None:
        for session in self.sessions:
            if session.running and session.elsewhere is None:
                # here a person stops it; where the app ends by itself, `close` stops it in the program's name
                session.stop()
        self.exit(return_code=130)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette holds the commands of the screen under it, and the two themes."""
        if isinstance(screen, _NOTICING):
            yield from screen.system_commands()
        for theme in THEMES:
            yield SystemCommand(f"theme.{theme.name}", "change the look", partial(self._use, theme.name))

    def _use(self, theme: str) -> None:
        self.theme = theme


def main(
    target: str | None = None, task: str | None = None, *, session: Session | None = None, policy: str | None = None
) -> int:
    """Open the interface and return the exit code.

    Args:
        target: a recording, a folder of recordings or an agent; None is home.
        task: what an agent is asked to do; asked for when missing.
        session: a run to show, instead of a target.
        policy: a file of rules that decide before anybody is asked.

    Raises:
        UserError: there is no terminal to draw on, or the target can't be opened.
    """
    _require_terminal()
    opened = session if session is not None else None if target is None else open_target(target, task, policy)
    spec = "" if target is None else agent_spec_of(target)
    if opened is None:
        app = LoopkitApp()
    elif isinstance(opened, Session):
        app = LoopkitApp(opened, agent_spec=spec)
    elif isinstance(opened, Path):
        app = LoopkitApp(folder=opened)
    else:
        app = LoopkitApp(start=opened, agent_spec=spec)
    errors: list[str] = []
    paths: list[str] = []
    try:
        app.run()
    finally:
        errors = [shown.error for shown in app.sessions if shown.error]
        paths = app.close_sessions()
        if app.interrupted:
            # what tools of a run that was cut short have started; a run that came to its end may leave servers behind
            end_child_processes()
    for path in paths:
        sys.stdout.write(f"recorded in {visible(path)}\n")
    for error in errors:
        sys.stderr.write(f"loopkit: {one_line(error, LONGEST_ERROR)}\n")
    return app.return_code or (ENDED_WITH_ERROR if errors else 0)


def _require_terminal() -> None:
    """Textual reads keys from stdin and draws on stderr; with another stdout the person would look at nothing."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UserError("the screen needs a terminal; `loopkit show FILE` prints a recording")
