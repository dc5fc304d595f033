"""Says what a file hides and what it shows: placeholders by rule, secrets that the rules find, and what looks like some.

Works on any file of JSON, JSON Lines or text, foreign sessions too; what it quotes has placeholders in the place of secrets.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopkit.recording.redaction.placeholders import LITERAL, OPENING, PLACEHOLDER
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction
from loopkit.recording.redaction.suspicion import suspicious_words

CONTEXT = 40
MOST_PLACES = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a secret stands, or what looks like one.

    Args:
        line: 1-based, in the file.
        where: the way to it in the line's JSON, or empty.
        rule: which rule found it.
        excerpt: the words around it, without it.
        length: its characters.
    """

    line: int
    where: str
    rule: str
    excerpt: str
    length: int


@dataclass(frozen=True, slots=True)
class SecretsReport:
    """What a file hides and shows.

    Args:
        hidden: placeholders by rule: how many different ones, and how often they stand in the file.
        shown: secrets that the rules find in it.
        suspicious: what no rule finds and yet looks like a key.
        left_out: places beyond the most that are listed.
    """

    hidden: Mapping[str, tuple[int, int]]
    shown: tuple[Place, ...]
    suspicious: tuple[Place, ...]
    left_out: int = 0


def inspect_secrets(path: str | Path, redaction: Redaction | None = None) -> SecretsReport:
    """Look through a file.

    Raises:
        OSError: it can't be read.
    """
    redactor = Redactor(redaction or Redaction(environment=False))
    placeholders: Counter[str] = Counter()
    shown: list[Place] = []
    suspicious: list[Place] = []
    for line, value in values_in(Path(path)):
        for where, text, found in _texts(redactor, value, ""):
            own = [match[0] for match in PLACEHOLDER.finditer(text)] if OPENING in text else []
            placeholders.update(
                placeholder for placeholder in own if not placeholder.startswith(f"{OPENING}{LITERAL}·")
            )
            if found != text:
                shown += _shown(redactor, line, where, found)
            suspicious += (
                Place(line, where, "random", _around(found, start, end), end - start)
                for start, end in suspicious_words(where, found)
            )
    hidden = {
        rule: (
            len({name for name in placeholders if _rule(name) == rule}),
            sum(count for name, count in placeholders.items() if _rule(name) == rule),
        )
        for rule in sorted({_rule(name) for name in placeholders})
    }
    left_out = max(0, len(shown) - MOST_PLACES) + max(0, len(suspicious) - MOST_PLACES)
    return SecretsReport(hidden, tuple(shown[:MOST_PLACES]), tuple(suspicious[:MOST_PLACES]), left_out)


def _rule(placeholder: str) -> str:
    return placeholder[1:].partition("·")[0]


def values_in(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line's JSON, or the whole file's when its first line is none, or its lines as text; with its number."""
    with path.open("rb") as file:
        first = file.readline()
        is_lines = _read(_text(first)) is not None
        if not is_lines and (whole := _read(_text(first + file.read()))) is not None:
            yield 1, whole[0]
            return
        file.seek(0)
        for number, line in enumerate(file, 1):
            text = _text(line).rstrip("\r\n")
            if text.strip():
                read = _read(text)
                yield number, text if read is None else read[0]


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _read(text: str) -> tuple[Any] | None:
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _texts(redactor: Redactor, value: Any, where: str) -> Iterator[tuple[str, str, str]]:
    """Yield every text of a value: where it stands, as it is, and hidden."""
    yield from _pairs(value, redactor.value(value), where)


def _pairs(value: Any, hidden: Any, where: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, str):
        yield where, value, hidden
    elif isinstance(value, Mapping):
        for (key, item), (hidden_key, hidden_item) in zip(value.items(), hidden.items(), strict=True):
            step = f"{where}.{hidden_key}" if where else str(hidden_key)
            if hidden_key != key:
                yield step, key, hidden_key
            yield from _pairs(item, hidden_item, step)
    elif isinstance(value, list):
        for place, (item, hidden_item) in enumerate(zip(value, hidden, strict=True)):
            yield from _pairs(item, hidden_item, f"{where}[{place}]")
    elif hidden is not value:
        yield where, str(value), hidden


def _shown(redactor: Redactor, line: int, where: str, hidden: str) -> Iterator[Place]:
    for match in PLACEHOLDER.finditer(hidden):
        original = str(redactor.placeholders.original(match[0]))
        # a placeholder behind a secret's name, as in a URL or an assignment, is what a recording has in a secret's place
        if match[1] != LITERAL and original != match[0] and not PLACEHOLDER.fullmatch(original):
            yield Place(line, where, match[1], _around(hidden, *match.span(), shown=True), len(original))


def _around(text: str, start: int, end: int, *, shown: bool = False) -> str:
    """Return the words around a place in one line; the place itself only when it is a placeholder."""
    middle = text[start:end] if shown else f"{text[start : start + 3]}…"
    head = ("…" if start > CONTEXT else "") + text[max(0, start - CONTEXT) : start]
    tail = text[end : end + CONTEXT // 2] + ("…" if len(text) > end + CONTEXT // 2 else "")
    return re.sub(r"\s+", " ", f"{head}{middle}{tail}")


__all__ = ["Place", "SecretsReport", "inspect_secrets", "values_in"]
