"""Placeholders and what they stand for: `‹password·1›`, named by rule and order of first appearance, never by content.

The numbers are a fold of the log: whoever reads the events so far knows the next one. A text that looks like a placeholder
and is none, as a hostile tool could send it to be given a secret, is itself hidden, by the rule `literal`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import quote, quote_plus

PLACEHOLDER = re.compile(r"‹([a-z][a-z0-9_]{0,60})·([1-9][0-9]{0,9})((?:·[a-z0-9]{1,20}){0,2})›")
LITERAL = "literal"
OPENING = "‹"

_SPELLINGS: dict[str, Callable[[str], str]] = {
    "escaped": lambda value: json.dumps(value)[1:-1],
    "unicode": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "twice": lambda value: json.dumps(json.dumps(value)[1:-1])[1:-1],
    "url": lambda value: quote(value, safe=""),
    "path": quote,
    "form": quote_plus,
    "base64": lambda value: _inner_base64(value, 0),
    "base64a": lambda value: _inner_base64(value, 1),
    "base64b": lambda value: _inner_base64(value, 2),
    "hex": lambda value: value.encode("utf-8", "surrogatepass").hex(),
}


def _inner_base64(value: str, offset: int) -> str:
    """Return what a value becomes in base64 behind `offset` other bytes (modulo 3), without the characters it shares."""
    data = value.encode("utf-8", "surrogatepass")
    text = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
    head = {0: 0, 1: 2, 2: 3}[offset]
    tail = len(text) if (offset + len(data)) % 3 == 0 else len(text) - 1
    return text[head:tail]


def spellings(value: str, *, encoded: bool) -> dict[str, str]:
    """Return other spellings of a secret by label, in which it would pass unseen.

    Args:
        encoded: in base64 and hexadecimal too.
    """
    found: dict[str, str] = {}
    for label, spell in _SPELLINGS.items():
        if not encoded and label.startswith(("base64", "hex")):
            continue
        try:
            text = spell(value)
        except UnicodeEncodeError:
            continue
        if text != value and len(text) >= 6 and text not in found.values():
            found[label] = text
    if encoded:
        for label in ("base64", "base64a", "base64b"):
            text = found.get(label, "").replace("+", "-").replace("/", "_")
            if text and text not in found.values():
                found[f"{label}url"] = text
    return found


class Placeholders:
    """What stands for what in one run; only the driver's memory holds it."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._of_value: dict[Any, str] = {}
        self._of_text: dict[str, str] = {}
        self._original: dict[str, Any] = {}
        self._unresolved: set[str] = set()

    def __len__(self) -> int:
        return len(self._original)

    @property
    def unresolved(self) -> AbstractSet[str]:
        """Placeholders of earlier events whose values nobody has given yet."""
        return self._unresolved

    def count(self) -> dict[str, int]:
        """Return the highest number of each rule."""
        return dict(self._last)

    def of(self, rule: str, value: Any, text: str | None = None, label: str = "other") -> str:
        """Return the placeholder of a secret, or of another spelling of it.

        Args:
            value: the secret; anything that JSON knows.
            text: how it is spelled, None for as it is.
            label: what to call a spelling that is new.
        """
        key = value if isinstance(value, str) else (type(value), repr(value))
        base = self._of_value.get(key)
        if base is None:
            number = self._last[rule] = self._last.get(rule, 0) + 1
            base = self._of_value[key] = f"{rule}·{number}"
            self._set(f"{OPENING}{base}›", value)
        if text is None or text == value:
            return f"{OPENING}{base}›"
        known = self._of_text.get(text)
        if known is None:
            known = self._free(f"{base}·{label}")
            self._of_text[text] = known
            self._set(known, text)
        return known

    def _free(self, name: str) -> str:
        candidate, number = f"{OPENING}{name}›", 1
        while candidate in self._original:
            number += 1
            candidate = f"{OPENING}{name}·{number}›"
        return candidate

    def _set(self, placeholder: str, original: Any) -> None:
        self._original[placeholder] = original
        self._unresolved.discard(placeholder)

    def knows(self, placeholder: str) -> bool:
        """Say whether a placeholder was given out in this run, its value known or not."""
        return placeholder in self._original or placeholder in self._unresolved

    def original(self, placeholder: str) -> Any:
        """Return what a placeholder stands for, or the placeholder itself when nobody knows."""
        return self._original.get(placeholder, placeholder)

    def take_up(self, text: str) -> None:
        """Count the placeholders of an earlier event; their values are not in it."""
        for match in PLACEHOLDER.finditer(text):
            rule, number = match[1], int(match[2])
            self._last[rule] = max(number, self._last.get(rule, 0))
            if match[0] not in self._original:
                self._unresolved.add(match[0])

    def supply(self, placeholder: str, value: Any) -> None:
        """Say what a placeholder of earlier events stands for, its other spellings included."""
        base = placeholder[1:-1]
        match = PLACEHOLDER.fullmatch(placeholder)
        if match is None or placeholder in self._original:
            return
        if match[3]:
            self._of_text.setdefault(value, placeholder)
        else:
            self._of_value.setdefault(value if isinstance(value, str) else (type(value), repr(value)), base)
        self._last[match[1]] = max(int(match[2]), self._last.get(match[1], 0))
        self._set(placeholder, value)
        if not match[3] and isinstance(value, str):
            for label, text in spellings(value, encoded=True).items():
                other = f"{OPENING}{base}·{label}›"
                if other in self._unresolved:
                    self._of_text.setdefault(text, other)
                    self._set(other, text)

    def restored(self, text: str) -> str:
        """Return a text with the secrets in it again."""
        if OPENING not in text:
            return text
        return PLACEHOLDER.sub(self._original_text, text)

    def restored_value(self, text: str) -> Any:
        """As `restored`; a text that is one placeholder becomes what it stood for, which may be a number."""
        if text in self._original:
            return self._original[text]
        return self.restored(text)

    def _original_text(self, match: re.Match[str]) -> str:
        found = self._original.get(match[0], match[0])
        return found if isinstance(found, str) else json.dumps(found)


__all__ = ["LITERAL", "OPENING", "PLACEHOLDER", "Placeholders", "spellings"]
