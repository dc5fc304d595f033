"""The edge between a run's recorded form and the world: facts are hidden on their way in, what goes out is restored.

The loop's state holds placeholders, as its recording does, so that live and replayed state are the same (DESIGN §3). Models,
tools and callbacks get what was really said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

from loopkit import events as e
from loopkit.core.state import CallState
from loopkit.drivers.parts import LoopParts
from loopkit.encoding import encode
from loopkit.errors import UserError
from loopkit.messages import (
    Image,
    JSONObject,
    Message,
    Part,
    Problem,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
)
from loopkit.outcomes import Cancelled, Modify, StopCondition, TerminationReason
from loopkit.recording.reader import Recording
from loopkit.recording.redaction.aligning import aligned
from loopkit.recording.redaction.facts import hidden
from loopkit.recording.redaction.placeholders import OPENING
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import DEFAULT_REDACTION, Redaction

F = TypeVar("F", bound=e.Fact)
T = TypeVar("T")


class Originals:
    """What the placeholders of one run stand for.

    Args:
        redactor: hides the run's secrets, or None for a run that hides nothing.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self.redactor = redactor
        # by identity, with the message itself so that the identity stays its own
        self._messages: dict[int, tuple[Message, Message]] = {}

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The rules, for the header."""
        return () if self.redactor is None else self.redactor.redaction.rule_names

    @property
    def _nothing(self) -> bool:
        return self.redactor is None or self.redactor.hides_nothing

    def hidden(self, fact: F) -> F:
        """Return an input as it is recorded."""
        return fact if self.redactor is None or not isinstance(fact, e.Input) else hidden(self.redactor, fact)

    def take_up(self, events: Iterable[e.Event], secrets: Mapping[str, str]) -> None:
        """Go on after events that are recorded already.

        Args:
            secrets: what their placeholders stand for, by placeholder: `‹password·1›`, or short `password-1`.

        Raises:
            UserError: there is no such placeholder.
        """
        if self.redactor is None:
            if secrets:
                raise UserError("secrets are given for a recording that is written without redaction")
            return
        placeholders = self.redactor.placeholders
        for event in events:
            for text in _texts(encode(event.fact) if not isinstance(event.fact, e.Unrecognised) else event.fact.data):
                if OPENING in text:
                    placeholders.take_up(text)
        known = {_short(placeholder): placeholder for placeholder in placeholders.unresolved}
        for name, value in secrets.items():
            placeholder = known.get(_short(name))
            if placeholder is None:
                held = ", ".join(sorted(known)) or "none"
                raise UserError(f"the recording holds no placeholder {name!r} in that place; it holds: {held}")
            self.redactor.supply(placeholder, value)

    def hidden_text(self, text: str) -> str:
        """Return a text that is told of the run and not recorded, without its secrets; once nothing is recorded any more."""
        return text if self.redactor is None else self.redactor.text(text)

    def aligned(self, recorded: T, came: T) -> T:
        """Return what came today as it compares with what was recorded; learns what its placeholders stand for."""
        if self.redactor is None:
            return came
        before = len(self.redactor.placeholders)
        found = aligned(self.redactor, recorded, came)
        if len(self.redactor.placeholders) != before:
            # messages that were asked for before hold what nobody knew then
            self._messages.clear()
        return found

    # ── restored ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def arguments(self, arguments: JSONObject) -> JSONObject:
        """Return arguments as the tool gets them."""
        restored: JSONObject = arguments if self._nothing else self._restored(arguments)
        return restored

    def settings(self, settings: JSONObject) -> JSONObject:
        """Return a request's settings as the provider gets them."""
        return self.arguments(settings)

    def text(self, text: str) -> str:
        """Return a text as it was."""
        return text if self._nothing or OPENING not in text else str(self._restored(text))

    def missing_in(self, arguments: JSONObject) -> tuple[str, ...]:
        """Return the placeholders in restored arguments whose secrets nobody has given."""
        return () if self.redactor is None else self.redactor.unresolved_in(arguments)

    def call(self, call: ToolCall) -> ToolCall:
        """Return a call as the model made it."""
        if self._nothing:
            return call
        restored = self._part(call)
        assert isinstance(restored, ToolCall)
        return restored

    def call_state(self, call: CallState) -> CallState:
        """Return a call with what it asks for and got as it was."""
        if self._nothing:
            return call
        decision = call.decision
        if isinstance(decision, Modify):
            decision = Modify(self._restored(decision.arguments))
        return call.changed(
            call=self.call(call.call),
            decision=decision,
            problems=tuple(Problem(self.text(each.path), self.text(each.message)) for each in call.problems),
            content=None if call.content is None else self.text(call.content),
            images=self._images(call.images),
        )

    def results(self, results: tuple[ToolResult, ...]) -> tuple[ToolResult, ...]:
        """Return results as the model gets them."""
        if self._nothing:
            return results
        return tuple(
            replace(result, content=self.text(result.content), images=self._images(result.images)) for result in results
        )

    def reply(self, reply: e.ModelReplied) -> e.ModelReplied:
        """Return an answer as it came."""
        message = self.message(reply.message)
        return reply if message is reply.message else replace(reply, message=message)

    def reason(self, reason: TerminationReason) -> TerminationReason:
        """Return why a loop ended, in the words of whoever ended it."""
        if isinstance(reason, (StopCondition, Cancelled)) and reason.reason is not None:
            return replace(reason, reason=self.text(reason.reason))
        return reason

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return a history as the model gets it; the same places are always the same objects."""
        return messages if self._nothing else RestoredMessages(self, messages)

    def message(self, message: Message) -> Message:
        """Return a message as it was said; asked again, the same object."""
        if self._nothing:
            return message
        known = self._messages.get(id(message))
        if known is None:
            parts = tuple([self._part(part) for part in message.parts])
            same = all(one is other for one, other in zip(parts, message.parts, strict=True))
            known = self._messages[id(message)] = (message, message if same else Message(message.role, parts))
        return known[1]

    def _part(self, part: Part) -> Part:
        match part:
            case Text(text) | Refusal(text):
                restored = self.text(text)
                return part if restored is text else replace(part, text=restored)
            case ToolResult(call_id, content, _, images):
                new_id, new_content, new_images = self.text(call_id), self.text(content), self._images(images)
                same = new_id is call_id and new_content is content and new_images is images
                return part if same else replace(part, tool_call_id=new_id, content=new_content, images=new_images)
        if OPENING not in repr(part):
            return part
        return self._rare_part(part)

    def _rare_part(self, part: Part) -> Part:
        match part:
            case ToolCall():
                raw = part.raw_arguments
                return replace(
                    part,
                    id=self.text(part.id),
                    name=self.text(part.name),
                    arguments=self._restored(part.arguments),
                    raw_arguments=None if raw is None else self.text(raw),
                    problem=None if part.problem is None else self.text(part.problem),
                    duplicate_keys=tuple(map(self.text, part.duplicate_keys)),
                )
            case Reasoning(text, signature, encrypted):
                return Reasoning(
                    self.text(text),
                    None if signature is None else self.text(signature),
                    None if encrypted is None else self.text(encrypted),
                )
            case Image():
                return self._image(part)
        return part

    def _images(self, images: tuple[Image, ...]) -> tuple[Image, ...]:
        if not images or OPENING not in repr(images):
            return images
        return tuple(map(self._image, images))

    def _image(self, image: Image) -> Image:
        data, url = (None if text is None else self.text(text) for text in (image.data, image.url))
        return Image(image.media_type, data, url)

    def _restored(self, value: Any) -> Any:
        assert self.redactor is not None
        return self.redactor.restored(value)


def originals_of(
    recording: Recording, redaction: Redaction | None, parts: LoopParts, secrets: Mapping[str, str]
) -> Originals:
    """Return what the placeholders stand for that a run goes on with; it is redacted if what it goes on from is.

    Args:
        redaction: what the new recorder hides, or None.
        parts: today's agent, in whose prompt and settings secrets of the recorded one are found.
        secrets: further ones, by placeholder.

    Raises:
        UserError: the recording holds no such placeholder.
    """
    if redaction is None and recording.header.redaction:
        redaction = DEFAULT_REDACTION
    originals = Originals(None if redaction is None else Redactor(redaction))
    originals.take_up(recording.events, secrets)
    began = recording.events[0].fact
    if isinstance(began, e.LoopStarted) and recording.header.redaction:
        originals.aligned(began.messages[:1], parts.messages[:1])
        originals.aligned(began.settings, parts.started(None).settings)
    return originals


class RestoredMessages(Sequence[Message]):
    """A history with the secrets in it again, place by place when asked."""

    __slots__ = ("_messages", "_originals")

    def __init__(self, originals: Originals, messages: Sequence[Message]) -> None:
        self._originals = originals
        self._messages = messages

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._originals.message(message) for message in self._messages[index]]
        return self._originals.message(self._messages[index])

    def __len__(self) -> int:
        return len(self._messages)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by content, which is not hashable

    def __repr__(self) -> str:
        return f"History({len(self)} messages)"


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _short(name: str) -> str:
    """Return how a person may type a placeholder: `password-1`."""
    return name.strip("‹›").replace("·", "-").replace(".", "-").replace(" ", "-")


__all__ = ["Originals", "RestoredMessages", "originals_of"]
