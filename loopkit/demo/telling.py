"""A model that tells a story and takes in what becomes of it: its answer depends on the request alone.

A story is a generator: it yields what the model says and which calls it asks for, and is sent what became of them.
Each request is answered by telling the story from its beginning again, along the history, up to where that ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from loopkit.messages import ChatResponse, JSONObject, Message, ToolCall
from loopkit.providers.protocol import ChatRequest

LONGEST_SHOWN = 40
_FAILURES = re.compile(
    r"Can't |Invalid arguments|Unknown tool|The tool did not|[A-Z]\w*(Error|Exception|Closed|Runs)\b"
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that the model asks for."""

    name: str
    arguments: JSONObject


@dataclass(frozen=True, slots=True)
class Say:
    """One answer of the model.

    Args:
        text: its words.
        asks: the calls that it asks for.
    """

    text: str
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call.

    Args:
        asked: the call as the model wanted it.
        arguments: those that it ran with.
        content: what the model was told.
        is_error: it did not do what was asked.
    """

    asked: Ask
    arguments: JSONObject
    content: str
    is_error: bool

    @property
    def first_line(self) -> str:
        return self.content.strip().partition("\n")[0]

    @property
    def failed(self) -> bool:
        """Whether it ran, or could not run, and that went wrong."""
        return self.is_error and _FAILURES.match(self.content) is not None

    @property
    def refused(self) -> bool:
        """Whether somebody did not want it to run."""
        return self.is_error and not self.failed

    @property
    def edited(self) -> bool:
        return self.arguments != self.asked.arguments

    @property
    def remark(self) -> str:
        """What is worth saying of it: that it was refused (with the reason verbatim), edited (with what that gave), or failed."""
        name = self.asked.name
        if self.refused:
            return f"No {name}, then: “{self.content}”"
        if self.failed:
            start = f"{self._difference}, {name}" if self.edited else name
            return f"{start} failed: “{self.first_line}”"
        return f"{self._difference}: {self.first_line}" if self.edited else ""

    @property
    def _difference(self) -> str:
        mine, theirs = self.asked.arguments, self.arguments
        keys = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
        came = [_named(key, theirs[key]) for key in keys if key in theirs]
        gone = [_shown(mine[key]) if key in theirs else _named(key, mine[key]) for key in keys if key in mine]
        words = f"With {' and '.join(came)}" if came else f"Without {' and '.join(gone)}"
        return f"{words} instead of {' and '.join(gone)}" if came and gone else words


Story: TypeAlias = Generator[Say, tuple[Outcome, ...], str]


def call(name: str, **arguments: Any) -> Ask:
    """Return a call to ask for."""
    return Ask(name, arguments)


def say(text: str, *asks: Ask) -> Say:
    """Return an answer."""
    return Say(text, asks)


def remarks(outcomes: Sequence[Outcome], otherwise: str = "") -> str:
    """Return what is worth saying of outcomes; `otherwise` when everything went as asked."""
    found = [outcome.remark for outcome in outcomes if outcome.remark]
    return " ".join(map(as_sentence, found)) or otherwise


def as_sentence(text: str) -> str:
    """Return the text with a full stop, unless it ends with a mark of its own, quoted or not."""
    return text if text.rstrip("”").endswith((".", "!", "?")) else f"{text}."


class StoryTeller:
    """Answers requests along a story; the function that a `ScriptedProvider` asks.

    Args:
        story: starts the story anew, given the task.
    """

    def __init__(self, story: Callable[[str], Story]) -> None:
        self._story = story

    def __call__(self, request: ChatRequest) -> ChatResponse:
        """Return the answer to a request."""
        task = next((message.text for message in request.messages if message.role == "user"), "")
        telling = self._story(task)
        try:
            saying = next(telling)
            turn = 1
            for ran, results in _turns(request.messages):
                saying = telling.send(tuple(_outcomes(saying, ran, results)))
                turn += 1
        except StopIteration as end:
            return ChatResponse(str(end.value))
        calls = [
            ToolCall(f"call_{turn}_{place}", ask.name, dict(ask.arguments)) for place, ask in enumerate(saying.asks, 1)
        ]
        return ChatResponse(saying.text, calls)


def _turns(messages: Sequence[Message]) -> Iterator[tuple[Sequence[ToolCall], Sequence[Message]]]:
    """Each answer's calls, as they ran, with the messages that hold their results."""
    for place, message in enumerate(messages):
        if message.role == "assistant" and message.tool_calls:
            count = len(message.tool_calls)
            yield message.tool_calls, messages[place + 1 : place + 1 + count]


def _outcomes(saying: Say, ran: Sequence[ToolCall], results: Sequence[Message]) -> Iterator[Outcome]:
    contents = {result.tool_call_id: result for message in results for result in message.tool_results}
    for ask, done in zip(saying.asks, ran, strict=False):
        result = contents.get(done.id)
        yield Outcome(ask, dict(done.arguments), result.content if result else "", result is None or result.is_error)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN else "mine"


def _named(key: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"{key} {text}" if len(text) <= LONGEST_SHOWN else f"your {key}"
