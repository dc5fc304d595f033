"""An event ↔ one line of a recording: compact JSON in UTF-8, the envelope's five keys first, then the fact's fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from loopkit.encoding import DecodingError, decode
from loopkit.events import FACT_CLASSES, Event, Fact, Unrecognised
from loopkit.json_text import JSONWriter
from loopkit.recording.upgrades import Change, unchanged

ENVELOPE = ("seq", "t", "loop", "iteration", "type")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def event_line(event: Event) -> bytes:
    """Return an event's line without a check sum, its `\\n` included.

    Raises:
        ValueError: it holds something that JSON doesn't have.
    """
    return event_body(event) + b"}\n"


def event_body(event: Event) -> bytes:
    """Return an event's line up to its last brace.

    Text with lone surrogates, which UTF-8 can't hold, is written with JSON escapes throughout its line, so nothing is
    lost (spec/faults.md e20). JSON can't tell a split surrogate pair from its character: two halves that stand side by
    side are read back as one character.

    Raises:
        ValueError: it holds something that JSON doesn't have: NaN, an infinity, an object, or endless nesting.
    """
    try:
        return _text(event, _UTF8).encode()
    except UnicodeEncodeError:
        return _text(event, _ESCAPED).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TypeError as error:
        raise ValueError(str(error)) from None


def _text(event: Event, writer: JSONWriter) -> str:
    fact = event.fact
    members = writer.tagged_members[type(fact)](fact)
    if not abs(event.t) <= _LONGEST:
        raise ValueError("its time is not a number of seconds")
    loop = writer.quote(event.loop)
    return f'{{"seq":{event.seq},"t":{event.t},"loop":{loop},"iteration":{event.iteration}{members}'


def _writer(*, ensure_ascii: bool) -> JSONWriter:
    writer = JSONWriter(ensure_ascii=ensure_ascii, sort_keys=False, allow_nan=False, default=_plain)

    def raw_members(fact: Unrecognised) -> str:
        members = f',"type":{writer.plain(fact.type_name)}'
        return f"{members},{writer.plain(dict(_boxed(fact.data)))[1:-1]}" if fact.data else members

    writer.tagged_members[Unrecognised] = raw_members
    return writer


_UTF8 = _writer(ensure_ascii=False)
_ESCAPED = _writer(ensure_ascii=True)


def read_event(line: bytes, *, lenient: bool = False, upgrade: Change = unchanged) -> Event:
    """Read an event's line; a type that this version doesn't know becomes `Unrecognised` (spec/faults.md j17).

    Args:
        line: one line, with or without its `\\n`.
        lenient: keep a known type whose fields don't fit as `Unrecognised`, for recordings of a later format.
        upgrade: turns an older format's event into today's.

    Raises:
        DecodingError: it is not an event.
    """
    data = _json_object(line)
    if upgrade is not unchanged:
        data = _upgraded(data, upgrade)
    seq, t, loop, iteration, type_name = _envelope(data)
    for key in ENVELOPE:
        del data[key]
    return Event(seq, t, loop, iteration, _fact(type_name, data, lenient=lenient))


def _upgraded(data: dict[str, Any], upgrade: Change) -> dict[str, Any]:
    try:
        return upgrade(data)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DecodingError(f"not what its older format says ({type(error).__name__}: {error})") from None


def _fact(type_name: str, data: dict[str, Any], *, lenient: bool) -> Fact:
    cls = FACT_CLASSES.get(type_name)
    if cls is not None:
        try:
            return decode(cls, data)
        except DecodingError:
            if not lenient:
                raise
    return Unrecognised(type_name, data["data"] if _is_box(data) else data)


def _boxed(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep raw data whose keys the envelope needs apart from it; `_is_box` tells it again without a mark."""
    return {"data": data} if _needs_box(data) else data


def _needs_box(data: Mapping[str, Any]) -> bool:
    return any(key in data for key in ENVELOPE) or _is_box(data)


def _is_box(data: Mapping[str, Any]) -> bool:
    content: Any = data
    while len(content) == 1 and isinstance(content.get("data"), Mapping):
        content = content["data"]
    return content is not data and any(key in content for key in ENVELOPE)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large a number")
    return number


_read_json = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).decode


def _json_object(line: bytes) -> dict[str, Any]:
    try:
        data = _read_json(line.decode())
    except UnicodeDecodeError:
        raise DecodingError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise DecodingError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except ValueError:
        raise DecodingError("not JSON: a number that can't be read") from None
    except RecursionError:
        raise DecodingError("nested too deeply") from None
    if not isinstance(data, dict):
        raise DecodingError("not a JSON object")
    return data


def _envelope(data: Mapping[str, Any]) -> tuple[int, float, str, int, str]:
    missing = [key for key in ENVELOPE if key not in data]
    if missing:
        raise DecodingError(f"{', '.join(missing)} missing")
    seq, t, loop, iteration, type_name = (data[key] for key in ENVELOPE)
    if not _is_count(seq) or seq < 1:
        raise DecodingError("seq is not a whole number from 1")
    if isinstance(t, bool) or not isinstance(t, (int, float)) or abs(t) > _LONGEST:
        raise DecodingError("t is not a number of seconds")
    if not isinstance(loop, str):
        raise DecodingError("loop is not a text")
    if not _is_count(iteration):
        raise DecodingError("iteration is not a whole number from 0")
    if not isinstance(type_name, str):
        raise DecodingError("type is not a text")
    return seq, float(t), loop, iteration, type_name


_LONGEST = 1e15


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
