"""Commands that decide on more than one call, or say something to an agent that is on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from loopkit.debugger.display import one_line
from loopkit.debugger.status import PendingDecision
from loopkit.errors import CommandRefused
from loopkit_tui.decisions import call_facts
from loopkit_tui.screens.asking import ConfirmScreen, LineScreen
from loopkit_tui.widgets.document import Facts

if TYPE_CHECKING:
    from loopkit_tui.screens.run import RunScreen


def same_again(scope: str, words: str) -> Callable[[RunScreen], None]:
    """Return what runs the chosen call and all with the same arguments, after a look at it.

    Args:
        scope: `run` or `project`.
        words: the same for a person.
    """

    def ask(screen: RunScreen) -> None:
        one = screen.decisions.to_decide()
        if one is None:
            return
        question = ConfirmScreen(
            f"Run this, and every call with these arguments, {words}?", [call_facts(one)], yes="run them", no="not yet"
        )
        screen.app.push_screen(question, lambda yes: _keep(screen, one, scope) if yes else None)

    return ask


def _keep(screen: RunScreen, one: PendingDecision, scope: str) -> None:
    names: list[str] = []

    def decide() -> None:
        names.append(screen.session.same_again(one.call, one.version, scope=scope))

    screen.decisions.settle(one, decide, "approved from here on")


def forget_rules(screen: RunScreen) -> None:
    """Ask whether what was remembered is to be taken back, and take it back."""
    kept = screen.session.kept_rules
    if not kept:
        screen.notice("nothing is remembered: = runs a call and all like it", "muted")
        return
    lines = [
        Facts(
            (one_line(f"{rule.decide} {rule.tool} ({rule.scope})", 60), "plain"), (one_line(rule.about, 200), "muted")
        )
        for rule in kept
    ]
    question = ConfirmScreen("Ask about these again?", lines, yes="ask again", no="keep them")

    def answered(yes: bool | None) -> None:
        if yes:
            _told(screen, lambda: [screen.session.forget_rule(rule.name) for rule in kept], "asked about again")

    screen.app.push_screen(question, answered)


def inject(screen: RunScreen) -> None:
    """Ask for a message that the model gets with its next request."""
    row = screen.timeline.selected
    loop = screen.session.timeline.root if row is None else row.loop
    if loop is None:
        return
    path = loop.path

    def answered(text: str | None) -> None:
        if text and text.strip():
            _told(screen, lambda: screen.session.inject(text, path), "said; the model gets it with its next request")

    beside = f"to {one_line(loop.agent, 40)}, with its next request"
    screen.app.push_screen(LineScreen("say something", beside, "what the agent should know", "say it"), answered)


def _told(screen: RunScreen, do: Callable[[], object], words: str) -> None:
    try:
        do()
    except CommandRefused as refused:
        screen.notice(one_line(str(refused), 300), "bad")
        return
    screen.take_in()
    screen.notice(words, "good")
