"""JSON as lines that fold: names and values readable, long texts as the texts they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

from loopkit.debugger.display import json_text, one_line
from loopkit.debugger.rows import count_text
from loopkit_tui.widgets.document import Item, Passage, Words

Folds: TypeAlias = Callable[[str, bool], bool]
"""Whether the thing of a key is folded, given whether it would be by itself."""

_INLINE = 60
_FOLDED_BELOW = 4
_MANY = 100
_LONG_TEXT = 6_000
_LARGEST_PARSED = 8_000_000


class _Number(float):
    """A number that is shown as it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


class _NotShownFaithfully(ValueError):
    """The tree would hide something that the text says."""


def parsed(text: str) -> Any:
    """Return the object or list that a text holds as JSON, or None where it is better shown as text.

    What a tree can't show, such as a key given twice, stays text.
    """
    head = text[:200].lstrip()[:1]
    if head not in ("{", "[") or len(text) > _LARGEST_PARSED:
        return None
    try:
        return json.loads(text, parse_float=_Number, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotShownFaithfully
    return found


def tree_items(value: Any, key: str, folded: Folds, *, indent: int = 2) -> Iterator[Item]:
    """Yield the lines of a JSON value.

    Args:
        key: names the value among all that folds on the screen.
        indent: cells before its first level.
    """
    if isinstance(value, Mapping):
        yield from _members(value.items(), key, folded, indent=indent, depth=0)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _members(
            ((f"[{index}]", part) for index, part in enumerate(value)), key, folded, indent=indent, depth=0
        )
    elif isinstance(value, str):
        yield Passage(value, indent=indent)
    else:
        yield Words((" " * indent, "plain"), _scalar(value))


def _members(pairs: Any, key: str, folded: Folds, *, indent: int, depth: int) -> Iterator[Item]:
    empty = True
    for name, value in pairs:
        empty = False
        yield from _member(str(name), value, f"{key}/{name}", folded, indent=indent, depth=depth)
    if empty:
        yield Words((" " * indent + "(none)", "muted"))


def _member(name: str, value: Any, key: str, folded: Folds, *, indent: int, depth: int) -> Iterator[Item]:
    label = (f"{one_line(name, 80)}  ", "name")
    space = " " * indent
    if isinstance(value, str):
        yield from _string(label, value, key, folded, indent)
    elif isinstance(value, (Mapping, list, tuple)) and value:
        closed = folded(key, depth + 1 >= _FOLDED_BELOW or (depth > 0 and len(value) > _MANY))
        size = f"{{{len(value)}}}" if isinstance(value, Mapping) else f"[{len(value)}]"
        mark = "▸ " if closed else "▾ "
        preview = f"  {_preview(value)}" if closed else ""
        yield Words((space, "plain"), (mark, "key"), label, (size, "muted"), (preview, "muted"), key=key)
        if not closed:
            inner = value.items() if isinstance(value, Mapping) else ((f"[{i}]", part) for i, part in enumerate(value))
            yield from _members(inner, key, folded, indent=indent + 2, depth=depth + 1)
    else:
        yield Words((space + "  ", "plain"), label, _scalar(value))


def _string(label: tuple[str, str], value: str, key: str, folded: Folds, indent: int) -> Iterator[Item]:
    space = " " * indent
    if len(value) <= _INLINE and "\n" not in value:
        yield Words((space + "  ", "plain"), label, (json_text(value), "string"))
        return
    closed = folded(key, len(value) > _LONG_TEXT)
    lines = value.count("\n") + 1
    size = count_text(len(value), "character")
    if lines > 1:
        size = f"{count_text(lines, 'line')}, {size}"
    mark = "▸ " if closed else "▾ "
    beside = (one_line(value, 24), "string") if closed else (size, "muted")
    yield Words((space, "plain"), (mark, "key"), label, beside, key=key)
    if not closed:
        yield Passage(value, indent=indent + 2, tone="string", lead="│ ", key=key)


def _scalar(value: Any) -> tuple[str, str]:
    if isinstance(value, _Number):
        return value.text, "number"
    if isinstance(value, bool) or value is None:
        return json_text(value), "number"
    if isinstance(value, int):
        return str(value), "number"
    return json_text(value), "string" if isinstance(value, str) else "number"


def _preview(value: Any) -> str:
    if isinstance(value, Mapping):
        return one_line(", ".join(str(name) for name in list(value)[:12]), 60)
    first = value[0]
    return one_line(json.dumps(first, ensure_ascii=False, default=str)[:200], 40) if not _deep(first) else "…"


def _deep(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) and len(value) > 20
