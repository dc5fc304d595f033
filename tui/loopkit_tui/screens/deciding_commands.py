"""Commands that decide on more than one call, or say something to an agent that is on its way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from loopkit.debugger.display import one_line
from loopkit.debugger.standing import Standing, StandingResult
from loopkit.debugger.status import PendingDecision
from loopkit.errors import CommandRefused
from loopkit.messages import Message, Text
from loopkit_tui.decisions import call_facts
from loopkit_tui.screens.asking import Answer, AnswerScreen, ConfirmScreen, LineScreen
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


def change_standing(screen: RunScreen) -> None:
    """Ask for other words in the place of what stands at a gate: a result, an answer, or the prompt of a request."""
    session = screen.session
    for standing in session.standing():
        if standing.results:
            _ask_for_result(screen, standing.results[-1])
        elif standing.answer is not None:
            _ask_for_answer(screen, standing, standing.answer)
        elif standing.seen:
            _ask_for_prompt(screen, standing)
        else:
            continue
        return
    screen.notice("nothing stands here that could be changed: p and s stand at the gates", "muted")


def _ask_for_result(screen: RunScreen, result: StandingResult) -> None:
    def answered(answer: Answer | None) -> None:
        if answer is not None:
            edit = partial(screen.session.edit_result, result.call, result.seen, *answer)
            _told(screen, edit, "the model gets this; what the tool gave is kept")

    beside = f"{one_line(result.name, 40)} {result.call}"
    title = "give the model"
    screen.app.push_screen(AnswerScreen(beside, title=title, text=result.content, word="give it"), answered)


def _ask_for_answer(screen: RunScreen, standing: Standing, answer: Message) -> None:
    def answered(said: Answer | None) -> None:
        if said is not None:
            rest = tuple(part for part in answer.parts if not isinstance(part, Text))
            message = Message("assistant", (Text(said[0]), *rest) if said[0] else rest)
            edit = partial(screen.session.edit_answer, standing.loop, standing.seen, message)
            _told(screen, edit, "the run goes on with this; what the model said is kept")

    question = AnswerScreen(
        standing.place, title="say in the model's place", text=answer.text, may_fail=False, word="say it"
    )
    screen.app.push_screen(question, answered)


def _ask_for_prompt(screen: RunScreen, standing: Standing) -> None:
    first = next(iter(screen.session.history(standing.loop)), None)
    prompt = first.text if first is not None and first.role == "system" else ""

    def answered(said: Answer | None) -> None:
        if said is not None:
            edit = partial(screen.session.edit_request, standing.loop, standing.seen, system=said[0])
            _told(screen, edit, "sent from here on")

    question = AnswerScreen(standing.place, title="system prompt", text=prompt, may_fail=False, word="use it")
    screen.app.push_screen(question, answered)


def _told(screen: RunScreen, do: Callable[[], object], words: str) -> None:
    try:
        do()
    except CommandRefused as refused:
        screen.notice(one_line(str(refused), 300), "bad")
        return
    screen.take_in()
    screen.notice(words, "good")
