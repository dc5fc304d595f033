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
# letters, symbols and marks that draw nothing; bytes can be hidden in any number of them
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\U00016fe4\U0001d159")
# A superset of what `_escape` looks at: everything else goes through untouched and fast. A variation selector has a
# meaning once behind a character; alone or behind another one it only hides.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|(?<![^\x00-\x20\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)
_BLANKS = re.compile("[ \t-\r]+")
_HIDES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp", "Mn", "Cn"))


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
    shown = visible(_BLANKS.sub(" ", head[:limit]).strip(" "))
    hidden = len(text) - limit
    return f"{shown} …(+{hidden:,})" if hidden > 0 else shown


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Return a JSON value as safe, readable text."""
    return visible(_json(value, indent))


def arguments_line(arguments: Mapping[str, Any], limit: int = 200) -> str:
    """Return a call's arguments as one safe line, such as `path="a.txt", lines=[1, 2]`.

    A cut is marked with what it hides: characters, and arguments of which nothing is shown (spec/faults.md c17).

    Args:
        limit: most characters that are shown.
    """
    words: list[str] = []
    length = unseen = 0
    for name, value in arguments.items():
        if length > limit:
            break
        long = isinstance(value, str) and len(value) > limit
        # a long text is cut before it is encoded, so that a line costs what it shows
        word = f"{name[:limit]}={_json(value[:limit] if long else value, None)}"
        unseen += len(name[limit:]) + (len(value) - limit if long else 0)
        words.append(word)
        length += len(word) + 2
    text = ", ".join(words)
    shown = one_line(text[:limit], limit)
    unseen += max(0, len(text) - limit)
    others = len(arguments) - len(words)
    if not unseen and not others:
        return shown
    more = f", +{others:,} more" if others else ""
    return f"{shown} …(+{unseen:,}{more})"


def _json(value: Any, indent: int | None) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    except (RecursionError, TypeError, ValueError) as error:
        # what never came through JSON: circular, too deep, keys or numbers that JSON doesn't have
        return f"({type(value).__name__} that can't be shown as JSON: {error})"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if code in _CONTROL_PICTURES:
        return _CONTROL_PICTURES[code]
    if character in _INVISIBLE or unicodedata.category(character) in _HIDES:
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
