"""Tool calls out of the pieces that a stream delivers, and arguments out of their text.

Nothing here guesses: what can't be read becomes a `problem` or `cut_off` with the text kept, and never runs.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loopkit.errors import ProviderError
from loopkit.messages import JSONObject, ToolCall

LONGEST_ARGUMENTS = 1_000_000
DEEPEST_ARGUMENTS = 100
NAMELESS = "the model named no tool"

_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CUT_TOKEN = re.compile(
    r"\s*(-|\.\d*|(\.\d+)?[eE][+-]?|t(ru?)?|f(a(ls?)?)?|n(ul?)?|N(aN?)?|\\?u[0-9a-fA-F]{0,4})?\s*\Z"
)


def mend_surrogates(text: str) -> str:
    """Join the two halves of a character that JSON escapes put into different pieces of a stream; lone ones stay."""
    return _SPLIT_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """What an argument text holds.

    Args:
        arguments: the object; empty when there is a problem.
        problem: why the text can't be used, in one line, or None.
        cut_off: the text ends before its JSON does.
        duplicate_keys: keys that stand more than once in one object; the last value counts.
    """

    arguments: JSONObject = field(default_factory=dict)
    problem: str | None = None
    cut_off: bool = False
    duplicate_keys: tuple[str, ...] = ()


class _NotUsable(ValueError):
    """The text is JSON for Python but not for a tool."""


def parse_arguments(text: str) -> ParsedArguments:
    """Read the JSON text of a call's arguments (spec/loop.md 9.1).

    Integers stay exact at any size (spec/faults.md a32); blank text is `{}` (a11).
    """
    if not text.strip():
        return ParsedArguments()
    if len(text) > LONGEST_ARGUMENTS:
        return ParsedArguments(problem=f"the arguments are longer than {LONGEST_ARGUMENTS:,} characters")
    duplicates: dict[str, None] = {}

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            duplicates.update((key, None) for key, count in counts.items() if count > 1)
        return built

    try:
        value = json.loads(text, object_pairs_hook=build, parse_constant=_refuse_constant, parse_float=_finite)
        if not isinstance(value, dict):
            raise _NotUsable(f"the arguments are {_kind(value)}, not a JSON object")
        _check_depth(value)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return ParsedArguments(problem=f"invalid JSON: {error.msg} ({where})", cut_off=_is_cut_off(text, error))
    except _NotUsable as error:
        return ParsedArguments(problem=str(error))
    except RecursionError:
        return ParsedArguments(problem=_too_deep())
    except ValueError:
        # Python's own limit on the digits of an integer
        return ParsedArguments(problem="the arguments hold a number of too many digits")
    return ParsedArguments(value, duplicate_keys=tuple(duplicates))


def _refuse_constant(word: str) -> float:
    raise _NotUsable(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotUsable(f"{text[:40]} is too large a number")
    return number


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return {bool: "a boolean", str: "a text", list: "a list"}.get(type(value), "a number")


def _too_deep() -> str:
    return f"the arguments are nested deeper than {DEEPEST_ARGUMENTS} levels"


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST_ARGUMENTS):
        inner: list[object] = []
        for item in level:
            inner.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        if not inner:
            return
        level = inner
    if any(isinstance(item, (dict, list)) for item in level):
        raise _NotUsable(_too_deep())


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Extra data"):
        return False
    return _CUT_TOKEN.match(text, error.pos) is not None


@dataclass(slots=True)
class _OpenCall:
    position: int
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def text(self) -> str:
        return mend_surrogates("".join(self.pieces))

    @property
    def is_whole(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and not parse_arguments(self.text).problem

    def add(self, piece: str) -> None:
        # past the limit nothing is kept: the call is refused anyway, and a stream may be endless
        if self.size <= LONGEST_ARGUMENTS:
            self.pieces.append(piece)
            self.size += len(piece)


class CallAssembler:
    """Collects the pieces of a response's calls; `finish` turns them into `ToolCall`s in the order they began.

    Args:
        on_arguments: told of each piece: the call's position from 1, its name as far as known, the text.
    """

    def __init__(self, on_arguments: Callable[[int, str, str], None] = lambda *_: None) -> None:
        self._on_arguments = on_arguments
        self._calls: list[_OpenCall] = []
        self._latest: _OpenCall | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def add(
        self, *, index: object = None, call_id: object = None, name: object = None, arguments: object = None
    ) -> None:
        """Take one delta; null, the empty text and other types count as absent (spec/faults.md a6, a7).

        Args:
            index: the call's number in the provider's count.
            call_id: the provider's id; a new one at a used index opens a new call (a3).
            name: set, not appended (a4); it may come late (a9).
            arguments: more of the argument text, or the whole object.

        Raises:
            ProviderError: the delta could belong to more than one call (a1).
        """
        id_text, name_text = _word(call_id), _word(name)
        number = index if isinstance(index, int) and not isinstance(index, bool) else None
        call = self._find(number, id_text, name_text) or self._open(number)
        self._latest = call
        call.id = call.id or id_text
        call.name = name_text or call.name
        piece = _as_text(arguments)
        call.add(piece)
        if piece:
            self._on_arguments(call.position, call.name, piece)

    def add_whole(self, *, call_id: object = None, name: object = None, arguments: object = None) -> None:
        """Take one call that came in one piece; calls may share an id (spec/faults.md b9)."""
        call = self._open(None)
        self._latest = call
        call.id, call.name = _word(call_id), _word(name)
        piece = _as_text(arguments)
        call.add(piece)
        self._on_arguments(call.position, call.name, piece)

    def finish(self, *, cut_off: bool = False) -> tuple[ToolCall, ...]:
        """Return the calls.

        Args:
            cut_off: the output limit ended the answer, so that the call which was being written is not whole even if
                its text reads as JSON (spec/loop.md 3.9, spec/faults.md a20).
        """
        return tuple(
            whole_call(call.position, call.id, call.name, call.text, cut_off=cut_off and call is self._latest)
            for call in self._calls
        )

    def _open(self, index: int | None) -> _OpenCall:
        call = _OpenCall(len(self._calls) + 1, index)
        self._calls.append(call)
        return call

    def _find(self, index: int | None, id_text: str, name: str) -> _OpenCall | None:
        candidates = self._calls if index is None else [call for call in self._calls if call.index == index]
        if index is not None and not candidates:
            return None
        if id_text:
            same = [call for call in candidates if call.id == id_text]
            unidentified = [call for call in candidates if not call.id]
            found = same or unidentified
            return found[-1] if found else None
        if index is not None:
            return candidates[-1]
        return self._only_call(name)

    def _only_call(self, name: str) -> _OpenCall | None:
        if not self._calls:
            return None
        last = self._calls[-1]
        if name and last.name and last.is_whole:
            return None
        if len(self._calls) > 1:
            raise ProviderError(
                "the server streamed parts of several tool calls without index or id, so they can't be told apart; "
                "set parallel_tool_calls=False"
            )
        return last


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _as_text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def whole_call(position: int, call_id: object, name: object, arguments: object, *, cut_off: bool = False) -> ToolCall:
    """Return the call that a provider told in one piece.

    Args:
        position: the call's place in the response, from 1; it names a call without id the same in every replay.
        arguments: the argument text, or the object.
        cut_off: the call is not whole even if its text reads as JSON (spec/loop.md 3.9, spec/faults.md a20).
    """
    # an id is needed to pair the result
    identity, tool, text = _word(call_id) or f"call_{position}", _word(name), _as_text(arguments)
    parsed = parse_arguments(text)
    if cut_off or parsed.cut_off:
        return ToolCall(identity, tool, raw_arguments=text, cut_off=True)
    if parsed.problem is not None:
        return ToolCall(identity, tool, raw_arguments=text, problem=parsed.problem)
    problem = None if tool else NAMELESS
    return ToolCall(identity, tool, parsed.arguments, problem=problem, duplicate_keys=parsed.duplicate_keys)


__all__ = [
    "DEEPEST_ARGUMENTS",
    "LONGEST_ARGUMENTS",
    "NAMELESS",
    "CallAssembler",
    "ParsedArguments",
    "mend_surrogates",
    "parse_arguments",
    "whole_call",
]
