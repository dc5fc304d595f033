"""How a run stands, in the two lines at the top: the facts, and in plain words what happens now and what moves it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from loopkit.debugger.context_use import ContextUse, latest_use
from loopkit.debugger.display import one_line
from loopkit.debugger.rows import outcome_text, tokens_text
from loopkit.messages import Usage
from loopkit.outcomes import Complete, StopCondition
from loopkit_tui.painting import Span, shortened

if TYPE_CHECKING:
    from loopkit.debugger.session import Session
    from loopkit.debugger.status import Status
    from loopkit_tui.screens.run import RunScreen

_RECORDED = "  recorded in "
_BAR_CELLS = 6
_HALF_FULL, _NEARLY_FULL = 0.6, 0.85


def clock_text(seconds: float) -> str:
    """Return a duration such as `1:12` or `2:03:04`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def status_spans(session: Session, status: Status) -> tuple[list[Span], list[Span]]:
    """Return the facts: name and mode at the left, figures at the right."""
    live = status.mode == "live"
    ended = status.state in ("finished", "failed", "stopped")
    mode: Span = ("◌ recorded", "muted") if not live else ("■ ended", "muted") if ended else ("● live", "good")
    limit = f"/{status.max_iterations}" if status.max_iterations is not None else ""
    waited = f" (waiting {clock_text(status.waited)})" if status.waited >= 1 else ""
    agents = f"{status.agents} agents  " if status.agents > 1 else ""
    timeline = session.timeline
    marks = (
        (timeline.errors, "✗", "bad"),
        (timeline.warnings, "⚠", "warning"),
        (timeline.edited, "✎", "person"),
        (timeline.denied, "⊘", "person"),
    )
    trouble: list[Span] = [(f"{mark} {number} ", tone) for number, mark, tone in marks if number]
    if trouble:
        trouble.append((" ", "plain"))
    agent = one_line(timeline.root.agent, 30) if timeline.root is not None else "…"
    left: list[Span] = [
        (" loopkit  ", "key"),
        mode,
        (f"  {agent}  ", "heading"),
        (one_line(session.title, 120), "muted"),
    ]
    right: list[Span] = [
        (f"{tokens_text(status.usage)}  ", "muted"),
        (agents, "agent"),
        *trouble,
        (f"{'root ' if agents else ''}it {status.iteration}{limit}  ", "plain"),
        (f"{clock_text(status.elapsed)}{waited} ", "plain"),
    ]
    return left, right


def context_spans(screen: RunScreen) -> list[Span]:
    """Return how full the context of the selected row's agent was there: a bar of its window, or only its tokens."""
    row = screen.timeline.selected
    if row is None:
        return []
    use = latest_use(row.loop, row.iteration.number if row.iteration is not None else None)
    return [] if use is None else [("ctx ", "muted"), *use_spans(use), ("  ", "plain")]


def use_spans(use: ContextUse) -> list[Span]:
    """Return a context's use as a bar and a percentage, or as tokens where the window is unknown."""
    share = use.share
    if share is None:
        return [(tokens_text(Usage(use.tokens or 0)), "muted")]
    full = round(share * _BAR_CELLS)
    tone = "bad" if share >= _NEARLY_FULL else "warning" if share >= _HALF_FULL else "good"
    return [
        ("▇" * full, tone),
        ("▁" * (_BAR_CELLS - full), "rule"),
        (f" {share:.0%}" if share >= 0.01 else " <1%", tone),
    ]


def now_spans(screen: RunScreen) -> tuple[list[Span], list[Span]]:
    """Return what happens now, and which keys move on."""
    status = screen.status
    if not screen.steers:
        return _after(screen)
    if screen.session.connection:
        return [(" ✗ ", "bad"), (screen.session.connection, "bad")], []
    if screen.session.watches:
        return _watching(screen)
    waits = len(screen.decisions.pending)
    if waits:
        return _deciding(screen, waits)
    if status.state == "paused":
        words = status.waits_for.removeprefix("you: ") or "paused"
        return [(" ‖ ", "waiting"), (words, "waiting")], _keys("s", "step", "n", "next", "c", "continue")
    busy = status.waits_for or "the agent"
    left: list[Span] = [(" ● ", "good"), (f"running: waits for {busy}", "plain")]
    where = screen.session.stands_next
    if not where:
        return left, _keys("p", "pause", "X", "stop")
    return [*left, (f"  ‖ will pause {where}", "waiting")], _keys("c", "don't", "X", "stop")


def _watching(screen: RunScreen) -> tuple[list[Span], list[Span]]:
    # it is not you who is waited for
    words = screen.status.waits_for.removeprefix("you: ").replace("your decision", "a decision", 1)
    left: list[Span] = [
        (" ◌ you watch: ", "muted"),
        (screen.session.watches, "agent"),
        (" decides here; the run waits for ", "muted"),
        (words or "the agent", "plain"),
    ]
    return left, _keys("T", "take over")


def _deciding(screen: RunScreen, waits: int) -> tuple[list[Span], list[Span]]:
    one = screen.decisions.chosen or screen.decisions.first
    assert one is not None
    path = " › ".join(one_line(agent, 20) for agent in one.agents)
    more = f"  +{waits - 1}" if waits > 1 else ""
    left: list[Span] = [
        (" ◆ your decision: ", "waiting"),
        (one_line(one.name, 40), "heading"),
        (more, "muted"),
        ("  ‖ then pauses" if screen.session.stands_next else "", "waiting"),
        ("  asked by ", "muted"),
        (path, "agent"),
    ]
    if screen.decisions.chosen is None:
        return left, _keys("a", "show what waits")
    return left, _keys("a", "approve", "e", "edit", "d", "deny")


def _after(screen: RunScreen) -> tuple[list[Span], list[Span]]:
    session, status = screen.session, screen.status
    root = session.timeline.root
    if session.error and (root is None or not root.ended):
        return [(" ✗ ", "bad"), (one_line(session.error, 300), "bad")], []
    if root is None:
        return [(" ○ nothing was recorded", "muted")], []
    if session.followed and not root.ended:
        return [(" ● ", "good"), ("another process writes this run; what it adds is shown as it comes", "plain")], []
    good = isinstance(root.reason, (Complete, StopCondition))
    words = outcome_text(root) if root.ended else "unfinished: the recording ends here"
    left: list[Span] = [(" ■ ", "good" if good else "warning"), (words, "good" if good else "warning")]
    if status.recording and session.live:
        room = screen.size.width - sum(cell_len(text) for text, _ in left) - len(_RECORDED)
        return [*left, (_RECORDED, "muted"), (shortened(one_line(status.recording, 600), room), "key")], []
    if session.notices:
        more = f" (+{len(session.notices) - 1})" if len(session.notices) > 1 else ""
        left.append((f"  ⚠ {one_line(session.notices[0], 200)}{more}", "warning"))
    if not root.ended and session.source_format == "loopkit":
        return left, _keys("O", "go on with an agent", "s", "step")
    return left, _keys("s", "step", "n", "next iteration", "b", "back")


def _keys(*words: str) -> list[Span]:
    spans: list[Span] = []
    for key, word in zip(words[::2], words[1::2], strict=True):
        spans += [(f" {key}", "key"), (f" {word} ", "plain")]
    return spans
