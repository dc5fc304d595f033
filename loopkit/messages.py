"""What models, tools and people say to each other: frozen data in no provider's dialect."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from loopkit.quick_init import quickly_made

JSON: TypeAlias = Any
JSONObject: TypeAlias = Mapping[str, Any]
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
SideEffect: TypeAlias = Literal["read", "idempotent", "irreversible"]


class StopReason(StrEnum):
    """Why a model ended its answer, whatever its provider calls it."""

    END_TURN = "end_turn"
    TOOL_CALLS = "tool_calls"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Text:
    """Words of an answer or a prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's thinking; `signature` and `encrypted` go back to the provider byte for byte."""

    text: str = ""
    signature: str | None = None
    encrypted: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A model's refusal to answer, in its own words."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, either inline or by address.

    Args:
        media_type: such as `image/png`.
        data: base64 text, or None when `url` is given.
        url: where the provider finds it, or None.
    """

    media_type: str
    data: str | None = None
    url: str | None = None

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str = "image/png") -> Image:
        """Return the picture that a file of this type holds."""
        return cls(media_type, base64.b64encode(data).decode("ascii"))


@quickly_made
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool.

    Args:
        id: the provider's id; providers repeat theirs, so it identifies nothing beyond its response.
        name: the tool's name.
        arguments: the parsed arguments; empty when they could not be parsed.
        raw_arguments: the text that could not be parsed, or None.
        problem: why the arguments can't be used although they were received whole, or None.
        cut_off: the call was not received whole; it must never run (spec/loop.md 3.9).
        duplicate_keys: keys that the argument text held more than once (spec/loop.md 9.1).
    """

    id: str
    name: str
    arguments: JSONObject = field(default_factory=dict)
    raw_arguments: str | None = None
    problem: str | None = None
    cut_off: bool = False
    duplicate_keys: tuple[str, ...] = ()


@quickly_made
@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told about one of its calls.

    Args:
        tool_call_id: the provider's id of the call.
        content: text, exactly as the model gets it.
        is_error: the call did not do what was asked.
        images: pictures that the model gets with the text.
    """

    tool_call_id: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


Part: TypeAlias = Text | Reasoning | Refusal | Image | ToolCall | ToolResult


@quickly_made
@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a history; a `tool` message holds exactly one `ToolResult`."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def system(cls, text: str) -> Message:
        return cls("system", (Text(text),))

    @classmethod
    def user(cls, text: str) -> Message:
        return cls("user", (Text(text),))

    @classmethod
    def assistant(cls, text: str = "", tool_calls: Iterable[ToolCall] = ()) -> Message:
        words: tuple[Part, ...] = (Text(text),) if text else ()
        return cls("assistant", (*words, *tool_calls))

    @classmethod
    def tool(cls, result: ToolResult) -> Message:
        return cls("tool", (result,))

    @property
    def text(self) -> str:
        """The visible words, without reasoning and refusals."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def refusal(self) -> str | None:
        words = [part.text for part in self.parts if isinstance(part, Refusal)]
        return "".join(words) if words else None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


@quickly_made
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, added up with `+`; cached input counts as input too, reasoning as output too.

    `unreported` counts answers whose provider gave no figures, and requests that broke before it could.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    unreported: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.unreported + other.unreported,
        )


NO_USAGE = Usage()
UNREPORTED_USAGE = Usage(unreported=1)


@dataclass(frozen=True, init=False)
class ChatResponse:
    """One whole answer of a model.

    Args:
        text: visible words; ignored when `parts` is given.
        tool_calls: calls; ignored when `parts` is given.
        usage: tokens of this answer, or None when the provider gave none.
        stop_reason: why the answer ended; by default what its content suggests.
        parts: the content in the provider's order, reasoning included.
        model: the model that answered, as the provider names it.
        request_id: the provider's id of the request.
        raw_stop_reason: the provider's own word for `stop_reason`.
    """

    parts: tuple[Part, ...]
    usage: Usage | None
    stop_reason: StopReason
    model: str | None
    request_id: str | None
    raw_stop_reason: str | None

    def __init__(
        self,
        text: str = "",
        tool_calls: Iterable[ToolCall] = (),
        usage: Usage | None = None,
        stop_reason: StopReason | str | None = None,
        *,
        parts: Iterable[Part] | None = None,
        model: str | None = None,
        request_id: str | None = None,
        raw_stop_reason: str | None = None,
    ) -> None:
        content = tuple(parts) if parts is not None else Message.assistant(text, tool_calls).parts
        if stop_reason is None:
            asks = any(isinstance(part, ToolCall) for part in content)
            stop_reason = StopReason.TOOL_CALLS if asks else StopReason.END_TURN
        elif type(stop_reason) is not StopReason:
            stop_reason = StopReason(stop_reason)
        object.__setattr__(self, "parts", content)
        object.__setattr__(self, "usage", usage)
        object.__setattr__(self, "stop_reason", stop_reason)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "request_id", request_id)
        object.__setattr__(self, "raw_stop_reason", raw_stop_reason)

    @property
    def message(self) -> Message:
        return Message("assistant", self.parts)

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a model is told of a tool, and what people are told of its effects.

    Args:
        name: unique in a registry.
        description: one or more sentences for the model.
        parameters: JSON Schema 2020-12 of the arguments, always of type `object`.
        side_effect: what running it again would do; None is undeclared.
        polling: repeats are normal while the result changes.
        timeout: seconds that one attempt of a call may take, or None.
        attempts: how often its handler may run for one call, when it raises.
    """

    name: str
    description: str
    parameters: JSONObject
    side_effect: SideEffect | None = None
    polling: bool = False
    timeout: float | None = None
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A handler's answer when a plain value does not say enough.

    Args:
        content: text for the model; anything else is turned into JSON text.
        is_error: the call failed, without an exception.
        text: the same as a text in `content`.
        json: the answer as data, for people and programs; the model gets it as text when there is no other text.
        images: pictures for the model, in the order in which the text speaks of them.
    """

    content: object = None
    is_error: bool = False
    text: str | None = field(default=None, kw_only=True)
    json: JSON = field(default=None, kw_only=True)
    images: Iterable[Image] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", tuple(self.images))


@dataclass(frozen=True, slots=True)
class Problem:
    """Why arguments don't fit a schema.

    Args:
        path: JSON path of the offending value, `$` is the whole.
        message: what is wrong, in one line.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return self.message if self.path in ("", "$") else f"{self.path.removeprefix('$.')}: {self.message}"


__all__ = [
    "JSON",
    "NO_USAGE",
    "UNREPORTED_USAGE",
    "ChatResponse",
    "Image",
    "JSONObject",
    "Message",
    "Part",
    "Problem",
    "Reasoning",
    "Refusal",
    "Role",
    "SideEffect",
    "StopReason",
    "Text",
    "ToolCall",
    "ToolDefinition",
    "ToolOutput",
    "ToolResult",
    "Usage",
]
