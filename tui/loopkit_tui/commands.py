"""Named commands: the one table that keys, help, palette and key bar read, and the reader that finds them by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual import events

Owner = TypeVar("Owner")

_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "space": "space",
    "ctrl+i": "tab",
}
_SHOWN = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "shift+tab": "shift+tab"}
_PREFIXES = ("[", "]")


@dataclass(frozen=True, slots=True)
class Command(Generic[Owner]):
    """Something a person can ask for.

    Args:
        name: dotted, such as `run.step`.
        words: what it does, in one line.
        keys: what asks for it; `]e` is two keys after each other.
        do: does it.
        group: heading in the help.
        short: its word in the key bar, or empty where it isn't shown.
        unless: says why it can't be done now, or nothing.
    """

    name: str
    words: str
    keys: tuple[str, ...]
    do: Callable[[Owner], None]
    group: str
    short: str = ""
    unless: Callable[[Owner], str] = lambda _: ""

    @property
    def keys_shown(self) -> str:
        """Its keys as a person reads them."""
        return " ".join(_SHOWN.get(key, key) for key in self.keys)

    @property
    def in_palette(self) -> str:
        """Its name and keys as the palette takes them: as markup, in which `[` begins a tag."""
        return f"{self.name}  ({self.keys_shown})".replace("[", r"\[")


def key_of(event: events.Key) -> str:
    """Return a pressed key in the words of the command table."""
    if event.key in _NAMES:
        return _NAMES[event.key]
    if event.is_printable and event.character:
        return event.character
    return event.key


class KeyReader(Generic[Owner]):
    """Puts keys together: a count, a prefix, and the key that ends them.

    Attributes:
        typed: what was typed of an unfinished command.
        count: the number before the last command, or None.
    """

    def __init__(self, commands: Iterable[Command[Owner]]) -> None:
        self.typed = ""
        self.count: int | None = None
        self._by_key = {key: command for command in commands for key in command.keys}

    def read(self, key: str) -> Command[Owner] | None:
        """Take in a key; return the command that it completes."""
        self.count = None
        if self.typed and key == "escape":
            self.typed = ""
            return None
        digits = "".join(character for character in self.typed if character.isdigit())
        prefix = self.typed[len(digits) :]
        if len(key) == 1 and key.isdigit() and not prefix and (digits or key != "0"):
            self.typed = (self.typed + key)[-6:]
            return self._by_key.get(key)
        if key in _PREFIXES and not prefix:
            self.typed += key
            return None
        self.typed = ""
        self.count = int(digits) if digits else None
        return self._by_key.get(prefix + key)
