"""What a person decides: on the call that they see, never on one that has just appeared under their fingers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loopkit.debugger.display import arguments_line, one_line
from loopkit.debugger.nodes import CallNode
from loopkit.debugger.status import Choice
from loopkit.errors import CommandRefused
from loopkit.outcomes import Approve
from loopkit_tui.screens.asking import Answer, AnswerScreen, ConfirmScreen, ReasonScreen
from loopkit_tui.screens.edit import EditScreen
from loopkit_tui.widgets.document import Facts

if TYPE_CHECKING:
    from loopkit.debugger.status import PendingDecision
    from loopkit_tui.screens.run import RunScreen

GRACE_SECONDS = 0.4
CONFIRMED_SECONDS = 1.0
NOTICED_SECONDS = 3.0


class Decisions:
    """The calls that wait, the one whose detail is shown, and the drafts of edits.

    A decision key decides the call whose detail is shown; with another row selected it only goes to what waits. In
    the first moment after a call came under the cursor by itself, decision keys do nothing (spec/faults.md c14).

    Attributes:
        pending: the calls that wait and were not decided here yet, in the order in which they were asked.
        chosen: the one that is shown, or None.
        grace: seconds in which a call that came by itself can't be decided.
    """

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self.pending: list[PendingDecision] = []
        self.chosen: PendingDecision | None = None
        self.grace = GRACE_SECONDS
        self._decided: set[tuple[str, int]] = set()
        self._drafts: dict[tuple[str, int], str] = {}
        self._quiet_until = 0.0

    @property
    def first(self) -> PendingDecision | None:
        return self.pending[0] if self.pending else None

    def take_in(self, pending: list[PendingDecision]) -> None:
        """Take in which calls wait now."""
        self._decided &= {(one.call, one.version) for one in pending}
        self.pending = [one for one in pending if (one.call, one.version) not in self._decided]

    def looked_at(self, call: CallNode | None) -> None:
        """Take in which call's detail is shown; one that waits and was not shown before starts its grace time."""
        before = self.chosen
        self.chosen = next((one for one in self.pending if call is not None and one.call == call.id), None)
        if self.chosen is not None and (before is None or _id(before) != _id(self.chosen)):
            self._quiet_until = time.monotonic() + self.grace

    def go_to(self, call: str) -> None:
        """Show a call that waits."""
        row = self._screen.row_of_call(call)
        if row is not None:
            self._screen.timeline.select(row)
            self._screen.show_selected()

    # ── the decisions ────────────────────────────────────────────────────────────────────────────────────────────────

    def approve(self) -> None:
        one = self.to_decide()
        if one is not None:
            self.settle(one, lambda: self._screen.session.approve(one.call, one.version), "approved")

    def approve_all(self) -> None:
        """Approve what waits, after showing what that is."""
        if len(self.pending) < 2:
            self.approve()
            return
        if self.to_decide() is None:
            return
        batch = list(self.pending)
        question = ConfirmScreen(
            f"Run these {len(batch)} calls?", [call_facts(one) for one in batch], yes="run them", no="not yet"
        )
        self._screen.app.push_screen(question, lambda yes: self._approve_batch(batch) if yes else None)

    def _approve_batch(self, batch: list[PendingDecision]) -> None:
        choices = tuple(Choice(one.call, one.version, Approve()) for one in batch)
        try:
            self._screen.session.decide_batch(choices)
        except CommandRefused as refused:
            self._screen.notice(f"none was approved: {one_line(str(refused), 300)}", "bad")
            return
        for one in batch:
            self._left(one)
        self._screen.take_in()
        names = ", ".join(one_line(one.name, 40) for one in batch)
        self._screen.notice(f"approved {len(batch)}: {names}", "good", seconds=NOTICED_SECONDS)

    def deny(self) -> None:
        one = self.to_decide()
        if one is None:
            return

        def answered(reason: str | None) -> None:
            if reason is not None:
                self.settle(one, lambda: self._screen.session.deny(one.call, one.version, reason), "denied")

        self._screen.app.push_screen(ReasonScreen(_call_line(one)), answered)

    def respond(self) -> None:
        one = self.to_decide()
        if one is None:
            return

        def answered(answer: Answer | None) -> None:
            if answer is not None:
                output, is_error = answer
                session = self._screen.session
                self.settle(one, lambda: session.respond(one.call, one.version, output, is_error), "answered")

        self._screen.app.push_screen(AnswerScreen(_call_line(one)), answered)

    def edit(self) -> None:
        one = self.to_decide()
        if one is None:
            return
        session = self._screen.session

        def submit(arguments: dict[str, Any]) -> str:
            return self.settle(one, lambda: session.edit(one.call, one.version, arguments), "edited")

        def closed(draft: str | None) -> None:
            if draft is None:
                self._drafts.pop(_id(one), None)
            else:
                self._drafts[_id(one)] = draft
                self._screen.notice("the draft is kept: e goes on with it", "muted")

        draft = self._drafts.get(_id(one))
        self._screen.app.push_screen(EditScreen(session, one, submit, draft), closed)

    def to_decide(self) -> PendingDecision | None:
        """Return the call that a key decides on, or None after saying why there is none."""
        one = self.chosen
        if one is None:
            waiting = self.first
            if waiting is not None:
                self.go_to(waiting.call)
                self._screen.notice("this is what waits; nothing was decided yet", "waiting")
            return None
        if time.monotonic() < self._quiet_until:
            self._screen.notice("this call has just come up, so that key did nothing; press it again", "waiting")
            return None
        return one

    def settle(self, one: PendingDecision, decide: Callable[[], None], word: str) -> str:
        """Decide, go to what waits next, and return why it was not accepted, or nothing."""
        try:
            decide()
        except CommandRefused as refused:
            why = one_line(str(refused), 300)
            self._screen.notice(why, "bad")
            return why
        self._left(one)
        self._screen.take_in()
        self._screen.notice(f"{word}: {one_line(one.name, 40)}", "good", seconds=CONFIRMED_SECONDS)
        return ""

    def _left(self, one: PendingDecision) -> None:
        """Leave a call that was decided, for what comes next."""
        self._decided.add(_id(one))
        self._drafts.pop(_id(one), None)
        self._screen.timeline.following = True


def _id(one: PendingDecision) -> tuple[str, int]:
    return one.call, one.version


def call_facts(one: PendingDecision) -> Facts:
    """Return a call as a question shows it."""
    path = " › ".join(one_line(name, 20) for name in one.agents)
    irreversible = one.side_effect == "irreversible"
    warning = "⚠ can't be undone" if irreversible else ""
    return Facts((path, "agent"), (_call_line(one), "plain"), (warning, "warning"))


def _call_line(one: PendingDecision) -> str:
    return f"{one_line(one.name, 40)}({arguments_line(one.arguments, 120)})"
