"""A row's request to the model, and its raw events, as documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from loopkit.debugger.display import json_text, one_line
from loopkit.debugger.nodes import IterationNode, Row
from loopkit.debugger.rows import count_text
from loopkit.debugger.sent import messages_sent
from loopkit.debugger.session import Session
from loopkit.encoding import encode
from loopkit.errors import UserError
from loopkit.events import Event, Unrecognised
from loopkit.messages import Message
from loopkit_tui.describing_calls import call_facts, title
from loopkit_tui.widgets.document import Facts, Item, Passage, Words
from loopkit_tui.widgets.json_tree import Folds, tree_items

_RAW_OPEN = 6


class MessagesSent:
    """The messages of requests, worked out when they are asked for; the last ones are remembered."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._of: tuple[str, int] | None = None
        self._messages: Sequence[Message] = ()

    def __call__(self, iteration: IterationNode) -> Sequence[Message]:
        """Return the messages of an iteration's request.

        Raises:
            UserError: they can't be known, in one line.
        """
        of = (iteration.loop.path, iteration.number)
        if of != self._of:
            self._messages = messages_sent(self._session.events, iteration)
            self._of = of
        return self._messages


def describe_request(row: Row, folded: Folds, sent: Callable[[IterationNode], Sequence[Message]]) -> Iterator[Item]:
    """Yield what the model was sent for a row's iteration: what is new since its last request, and what stays."""
    iteration = row.iteration or (row.call.iteration if row.call is not None else None)
    if iteration is None:
        yield Words(("this line belongs to no request", "muted"))
        return
    started = iteration.loop.started
    count = count_text(iteration.message_count, "message") if iteration.message_count is not None else ""
    yield Facts(
        (f"request of iteration {iteration.number}", "heading"),
        (count, "plain"),
        (one_line(started.model or "", 40), "plain"),
        (one_line(iteration.fingerprint or "", 24), "muted"),
        (one_line(iteration.request_id or "", 40), "muted"),
    )
    yield from _new_messages(iteration)
    yield from _all_messages(iteration, folded, sent)
    if started.settings:
        yield from title("settings")
        yield from tree_items(started.settings, "settings", folded)
    yield from title("tools offered")
    for tool in started.tools:
        key = f"tool/{tool.name}"
        closed = folded(key, True)
        mark = "▸ " if closed else "▾ "
        yield Words(("  ", "plain"), (mark, "key"), (one_line(tool.name, 60), "name"), key=key)
        if not closed:
            yield from tree_items(tool.parameters, key, folded, indent=6)
    if not started.tools:
        yield Words(("  (none)", "muted"))


def _new_messages(iteration: IterationNode) -> Iterator[Item]:
    if iteration.number == 1:
        yield from title("it begins with")
        for message in iteration.loop.started.messages:
            yield Words((f"  {message.role}", "name"))
            yield Passage(message.text, indent=4)
        return
    before = next((it for it in iteration.loop.iterations if it.number == iteration.number - 1), None)
    yield from title("since the request before")
    if before is None:
        return
    if before.message is not None:
        yield Words(("  assistant", "name"))
        yield Passage(before.message.text or "(calls only)", indent=4)
    for call in before.calls:
        yield from call_facts(call)
        if call.given is not None:
            yield Passage(call.given, indent=6, tone="bad" if call.is_error else "muted")


def _all_messages(
    iteration: IterationNode, folded: Folds, sent: Callable[[IterationNode], Sequence[Message]]
) -> Iterator[Item]:
    key = "request/all"
    closed = folded(key, True)
    yield Words()
    yield Words(("▸ " if closed else "▾ ", "key"), ("every message, as the model got it", "heading"), key=key)
    if closed:
        return
    try:
        messages = sent(iteration)
    except UserError as error:
        yield Passage(str(error), tone="muted")
        return
    for number, message in enumerate(messages, 1):
        yield Words((f"  {number:>3}  ", "muted"), (one_line(message.role, 20), "name"))
        if message.text:
            yield Passage(message.text, indent=7)
        for call in message.tool_calls:
            yield Words(("       → ", "muted"), (one_line(call.name, 60), "name"))
            yield Passage(json_text(call.arguments), indent=9, tone="muted")
        for result in message.tool_results:
            yield Passage(result.content, indent=7, tone="bad" if result.is_error else "plain")


def describe_raw(events: Sequence[Event], folded: Folds) -> Iterator[Item]:
    """Yield the events that a row is made of, as the recording holds them."""
    if not events:
        yield Words(("no events at hand for this line", "muted"))
    for index, event in enumerate(events):
        key = f"event/{event.seq}"
        closed = folded(key, index >= _RAW_OPEN)
        yield Words(
            ("▸ " if closed else "▾ ", "key"),
            (f"{event.seq:>5}  ", "muted"),
            (one_line(event.type, 60), "heading"),
            (f"  {event.t:.3f} s", "muted"),
            (f"  {one_line(event.loop, 60)}", "muted"),
            key=key,
        )
        if not closed:
            fact = event.fact
            data = dict(fact.data) if isinstance(fact, Unrecognised) else encode(fact)
            yield from tree_items(data, key, folded, indent=4)
