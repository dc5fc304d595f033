"""The one filter between untrusted text and any screen.

Text from models, tools and files may hold terminal escapes, direction overrides and invisible characters. What passes
here shows each of them as a visible escape, so that what a person reads is what is there (spec/faults.md e6).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

_CONTROL_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)} | {0x7F: "\u2421"}
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
# A superset of what `_escape` looks at: everything else goes through untouched and fast.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """Return `text` with every character that acts or hides shown as a visible escape.

    Newlines and tabs stay; carriage returns, escapes, C1 controls, bidi marks, zero-width and tag characters and
    lone surrogates don't.
    """
    return _SUSPECT.sub(_escape, text)


def one_line(text: str, limit: int = 200) -> str:
    """Return the start of `text` as one safe line; a cut is marked with the number of hidden characters.

    Args:
        limit: most characters of `text` that are shown.
    """
    head = text[: limit + 1]
    shown = visible(" ".join(head[:limit].split()))
    hidden = len(text) - limit
    return f"{shown} …(+{hidden:,})" if hidden > 0 else shown


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Return a JSON value as safe, readable text."""
    return visible(json.dumps(value, ensure_ascii=False, indent=indent, default=str))


def arguments_line(arguments: Mapping[str, Any], limit: int = 200) -> str:
    """Return a call's arguments as one safe line, such as `path="a.txt", lines=[1, 2]`.

    Args:
        limit: most characters that are shown.
    """
    words: list[str] = []
    length = 0
    for name, value in arguments.items():
        word = f"{name}={json.dumps(value, ensure_ascii=False, default=str)}"
        words.append(word)
        length += len(word)
        if length > limit:
            break
    return one_line(", ".join(words), limit)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if code in _CONTROL_PICTURES:
        return _CONTROL_PICTURES[code]
    if character in _INVISIBLE_LETTERS or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Mn", "Cn"):
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
