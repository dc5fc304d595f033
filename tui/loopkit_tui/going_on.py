"""Going on from what is shown: what if, resume, once more, one thing more to say; with the agent that it came from, or one that is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from loopkit.debugger.display import arguments_line, one_line
from loopkit.debugger.forking import (
    follow_up_session,
    fork_session,
    resume_session,
    run_again_session,
    started_calls,
)
from loopkit.debugger.library import bundled_recordings
from loopkit.debugger.nodes import CallNode, IterationNode, RowKind
from loopkit.debugger.policy_file import project_policy
from loopkit.debugger.remembered import remember_agent, remembered_agent
from loopkit.debugger.status import pending_decision
from loopkit.debugger.targets import load_agent
from loopkit.messages import JSONObject, Message
from loopkit.outcomes import AddMessages, Deny, EditAnswer, EditResult, ForkEdit, Modify, Respond
from loopkit_tui.screens.asking import Answer, AnswerScreen, LineScreen, ReasonScreen
from loopkit_tui.screens.edit import EditScreen
from loopkit_tui.screens.picking import PickScreen

if TYPE_CHECKING:
    from loopkit.agent import Agent
    from loopkit.debugger.session import Session
    from loopkit_tui.app import LoopkitApp
    from loopkit_tui.screens.run import RunScreen

    Begin: TypeAlias = Callable[[Agent], Session]

_OF_CALL = (
    ("d", "deny it, with a reason for the model"),
    ("e", "let it run with other arguments"),
    ("w", "answer in the tool's place"),
    ("t", "let the tool have given another result"),
    ("g", "change nothing: only go on live from here"),
)
_OF_ITERATION = (
    ("a", "let the model have answered something else"),
    ("m", "one more message before the request"),
    ("g", "change nothing: ask the model again, live"),
)
_DEMO = "loopkit.demo:agent"
_STARTED = (
    ("n", "leave them: the model is told that nobody knows whether they took effect"),
    ("y", "run them once more"),
)


class GoingOn:
    """The commands of a run screen that begin another run from its one."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    # ── what if ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def what_if(self) -> None:
        """Ask what should have been otherwise at the selected row, then run that live and show both beside each other."""
        row = self._screen.timeline.selected
        if row is not None and row.kind is RowKind.CALL and row.call is not None:
            self._what_if_call(row.call)
        elif row is not None and row.kind is RowKind.ITERATION and row.iteration is not None:
            self._what_if_iteration(row.iteration)
        else:
            self._screen.notice("go to a call or to an answer of the model first: a fork begins there", "muted")

    def _what_if_call(self, call: CallNode) -> None:
        if call.requested_at is None:
            self._screen.notice("nothing was decided on this call, so nothing can be decided otherwise", "muted")
            return
        choices = [choice for choice in _OF_CALL if choice[0] != "t" or call.given is not None]
        title = f"{one_line(call.name, 40)}({arguments_line(call.effective_arguments, 60)})"

        def chosen(choice: str | None) -> None:
            if choice is not None:
                asked = {"d": self._deny, "e": self._arguments, "w": self._respond, "t": self._result}
                asked[choice](call, title) if choice in asked else self._fork(call.id, None)

        self._screen.app.push_screen(PickScreen("what if", title, choices), chosen)

    def _deny(self, call: CallNode, title: str) -> None:
        def answered(reason: str | None) -> None:
            if reason is not None:
                self._fork(call.id, Deny(reason) if reason else Deny())

        self._screen.app.push_screen(ReasonScreen(title), answered)

    def _arguments(self, call: CallNode, _: str) -> None:
        taken: list[dict[str, Any]] = []

        def submit(arguments: dict[str, Any]) -> str:
            taken.append(arguments)
            return ""

        def closed(_: str | None) -> None:
            if taken:
                self._fork(call.id, Modify(taken[-1]))

        self._screen.app.push_screen(EditScreen(self._screen.session, pending_decision(call), submit), closed)

    def _respond(self, call: CallNode, title: str) -> None:
        def answered(answer: Answer | None) -> None:
            if answer is not None:
                self._fork(call.id, Respond(*answer))

        self._screen.app.push_screen(AnswerScreen(title, word="go on with it"), answered)

    def _result(self, call: CallNode, title: str) -> None:
        def answered(answer: Answer | None) -> None:
            if answer is not None:
                self._fork(call.id, EditResult(*answer))

        screen = AnswerScreen(title, title="what the tool gave", text=call.given or "", word="go on with it")
        self._screen.app.push_screen(screen, answered)

    def _what_if_iteration(self, iteration: IterationNode) -> None:
        place = f"{iteration.loop.path}/{iteration.number}"
        title = f"iteration {iteration.number} of {one_line(iteration.loop.agent, 40)}"
        said = iteration.message.text if iteration.message is not None else ""
        choices = [choice for choice in _OF_ITERATION if choice[0] != "a" or iteration.message is not None]

        def answered(answer: Answer | None) -> None:
            if answer is not None:
                self._fork(place, EditAnswer(Message.assistant(answer[0])))

        def added(answer: Answer | None) -> None:
            if answer is not None and answer[0]:
                self._fork(place, AddMessages((Message.user(answer[0]),)))

        def chosen(choice: str | None) -> None:
            if choice == "a":
                words = "what the model said, without calls"
                screen = AnswerScreen(title, title=words, text=said, may_fail=False, word="go on with it")
                self._screen.app.push_screen(screen, answered)
            elif choice == "m":
                screen = AnswerScreen(title, title="a message of yours", may_fail=False, word="go on with it")
                self._screen.app.push_screen(screen, added)
            elif choice == "g":
                self._fork(place, None)

        self._screen.app.push_screen(PickScreen("what if", title, choices), chosen)

    def _fork(self, at: str, edit: ForkEdit | None) -> None:
        path = self._path
        self._with_agent(lambda agent: fork_session(path, at, edit, agent, policy=project_policy(Path())), beside=path)

    # ── resume, once more, one thing more ────────────────────────────────────────────────────────────────────────────

    def resume(self) -> None:
        """Go on with an unfinished recording, in its own file; calls that had started are asked about first."""
        path, app = self._path, self._app

        def go_on(run_again: tuple[str, ...]) -> None:
            self._with_agent(
                lambda agent: resume_session(path, agent, run_again=run_again, policy=project_policy(Path())),
                replaces=True,
            )

        def ask(started: list[tuple[str, str, JSONObject]]) -> None:
            if not started:
                go_on(())
                return
            calls = ", ".join(
                f"{one_line(name, 40)}({arguments_line(arguments, 40)})" for _, name, arguments in started
            )

            def chosen(choice: str | None) -> None:
                if choice is not None:
                    go_on(tuple(call for call, _, _ in started) if choice == "y" else ())

            app.push_screen(PickScreen("started, and cut short", calls, _STARTED), chosen)

        app.beside.begin(lambda: started_calls(path), ask)

    def again(self) -> None:
        """Start the agent once more with the same task; an agent that was named by its file is read anew."""
        path = self._path
        self._with_agent(lambda agent: run_again_session(path, agent, policy=project_policy(Path())), reload=True)

    def follow_up(self) -> None:
        """Say one thing more to a run that has ended; a new recording begins with the whole conversation."""
        path, session = self._path, self._screen.session

        def said(answer: Answer | None) -> None:
            if answer is not None and answer[0].strip():
                so_far = session.conversation
                self._with_agent(
                    lambda agent: follow_up_session(
                        path, answer[0], agent, so_far=so_far, policy=project_policy(Path())
                    )
                )

        words = "the conversation goes on in a new recording"
        screen = AnswerScreen(words, title="say one thing more", may_fail=False, word="say it")
        self._screen.app.push_screen(screen, said)

    # ── with which agent ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _path(self) -> Path:
        assert self._screen.session.path is not None
        return self._screen.session.path

    @property
    def _app(self) -> LoopkitApp:
        return cast("LoopkitApp", self._screen.app)

    def _with_agent(
        self, begin: Begin, *, beside: Path | None = None, replaces: bool = False, reload: bool = False
    ) -> None:
        """Begin a run with the agent of this one, or with one that is asked for.

        Args:
            beside: the recording that the run is shown beside when it has ended.
            replaces: the run takes this screen's place.
            reload: an agent that was named is read from its code again.
        """
        known, named = self._screen.session.agent, self._screen.agent_spec
        if known is not None and not (reload and named):
            self._begin(lambda: begin(known), named, beside, replaces=replaces)
            return
        if named:
            self._begin(lambda: begin(load_agent(named, anew=reload)), named, beside, replaces=replaces)
            return

        def answered(spec: str | None) -> None:
            if spec and spec.strip():
                self._begin(
                    lambda: begin(load_agent(spec.strip(), anew=reload)), spec.strip(), beside, replaces=replaces
                )

        screen = LineScreen(
            "with which agent?",
            "its model and tools are used live from here",
            "path.py:name or package.module:name; the demo is loopkit.demo:agent",
            "go on",
            remembered_agent(self._path.parent) or (_DEMO if self._path in bundled_recordings() else ""),
        )
        self._screen.app.push_screen(screen, answered)

    def _begin(self, make: Callable[[], Session], spec: str, beside: Path | None, *, replaces: bool) -> None:
        folder, old = self._path.parent, self._screen.session

        def show(session: Session) -> None:
            if spec:
                remember_agent(folder, spec)
            session.use_breakpoints_of(old)
            self._app.show_session(session, beside=beside, agent_spec=spec, replaces=old if replaces else None)

        self._app.beside.begin(make, show)
