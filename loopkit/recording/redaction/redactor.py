"""Puts placeholders in the place of secrets, in texts and JSON values, and the secrets back where they are needed.

A text without any costs one search for each stem and each value that is known in the run; nothing depends on how long
the run is. What holds no secret is returned as the very same object.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from loopkit.known_secrets import SHORTEST_SECRET, known_secrets
from loopkit.recording.redaction.assignments import NAME_STEMS, Assigned, found_assignments
from loopkit.recording.redaction.names import Named, named, words_of
from loopkit.recording.redaction.placeholders import LITERAL, OPENING, PLACEHOLDER, Placeholders, spellings
from loopkit.recording.redaction.settings import Redaction
from loopkit.recording.redaction.shapes import found_shapes
from loopkit.recording.redaction.values import is_no_value, is_telling, looks_random

MOST_VALUES = 256
SHORTEST_BEGINNING = 6
_VALUE_KEYS = frozenset({"access", "data", "key", "plain", "raw", "refresh", "secret", "value"})
_DIGITS = re.compile(r"[0-9]{4,}")


class _Sought(NamedTuple):
    """A value that is searched for in every text: how it is spelled there, what it is, what placeholders call it."""

    text: str
    value: str
    rule: str
    label: str


class _Found(NamedTuple):
    start: int
    end: int
    rule: str
    value: str | None = None
    label: str = "other"


class Redactor:
    """Hides the secrets of one run.

    Args:
        redaction: the rules.
        placeholders: those of a run that goes on, or None for a new one.
    """

    def __init__(self, redaction: Redaction | None = None, placeholders: Placeholders | None = None) -> None:
        self.redaction = Redaction() if redaction is None else redaction
        self.placeholders = Placeholders() if placeholders is None else placeholders
        self.growth = 0
        self._sought: list[_Sought] = []
        self._sought_texts: set[str] = set()
        self._known = 0
        self._found_values = 0
        self._shapes = [(rule, re.compile(shape)) for rule, shape in self.redaction.shapes.items()]
        self._own_names = {tuple(words_of(name)) for name in self.redaction.names}
        self._harmless = {tuple(words_of(name)) for name in self.redaction.harmless}
        self._name_rule = self._rule_of_name if self._own_names or self._harmless else named
        self._name_stems = (*NAME_STEMS, *(words[0] for words in self._own_names if words))
        if self.redaction.environment:
            self._take_environment(os.environ)

    # ── what is sought ───────────────────────────────────────────────────────────────────────────────────────────────

    def _rule_of_name(self, name: str) -> Named | None:
        words = tuple(words_of(name))
        if words in self._harmless:
            return None
        return Named("named", True) if words in self._own_names else named(name)

    def _take_environment(self, variables: Mapping[str, str]) -> None:
        for name, value in variables.items():
            found = self._name_rule(name)
            if found is not None and found.sure and len(value) >= SHORTEST_SECRET and looks_random(value):
                self._seek(value, found.rule, encoded=True)

    def _take_known(self) -> None:
        for secret in known_secrets(self._known):
            self._known += 1
            self._seek(secret.value, secret.rule, encoded=True)

    def _seek(self, value: str, rule: str, *, encoded: bool) -> None:
        if value in self._sought_texts or value in self.redaction.harmless:
            return
        self._sought_texts.add(value)
        self._sought.append(_Sought(value, value, rule, ""))
        for label, text in spellings(value, encoded=encoded).items():
            if text not in self._sought_texts:
                self._sought_texts.add(text)
                self._sought.append(_Sought(text, value, rule, label))

    def _seek_found(self, value: str, rule: str) -> None:
        """Search for a value from now on that was found by its name, so that its echo is hidden too."""
        if value not in self._sought_texts and self._found_values < MOST_VALUES and is_telling(value):
            self._found_values += 1
            self.growth += 1
            self._seek(value, rule, encoded=False)

    def supply(self, placeholder: str, value: Any) -> None:
        """Say what a placeholder of earlier events stands for; the value is sought everywhere from then on."""
        self.placeholders.supply(placeholder, value)
        match = PLACEHOLDER.fullmatch(placeholder)
        if match is not None and match[1] != LITERAL and not match[3] and isinstance(value, str) and is_telling(value):
            self._seek(value, match[1], encoded=True)

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def text(self, text: str, *, trusted: bool = False, broken_off: bool = False) -> str:
        """Return a text with placeholders in the place of secrets.

        Args:
            trusted: a person wrote it, who saw placeholders: those that are known stay what they are.
            broken_off: it may end within a secret.
        """
        if len(text) < 5:
            return text
        self._take_known()
        found = self._values_in(text)
        lowered = text.lower()
        for stem in self._name_stems:
            if stem in lowered:
                found += self._named_in(text, lowered, trusted=trusted)
                break
        for shape in found_shapes(text):
            found.append(_Found(*shape))
        for rule, own_shape in self._shapes:
            found += (_Found(*match.span(min(1, own_shape.groups)), rule) for match in own_shape.finditer(text))
        if OPENING in text:
            found += self._look_alikes(text, trusted=trusted)
        if broken_off:
            found += self._begun_in(text)
        return self._replaced(text, found) if found else text

    def values_only(self, text: str) -> str:
        """As `text`, for what is opaque or a name: only values that are known are hidden."""
        self._take_known()
        found = self._values_in(text)
        if OPENING in text:
            found += self._look_alikes(text, trusted=False)
        return self._replaced(text, found) if found else text

    def _values_in(self, text: str) -> list[_Found]:
        found = []
        for sought in self._sought:
            place = text.find(sought.text)
            while place >= 0:
                found.append(_Found(place, place + len(sought.text), sought.rule, sought.value, sought.label))
                place = text.find(sought.text, place + len(sought.text))
        return found

    def _begun_in(self, text: str) -> list[_Found]:
        for sought in self._sought:
            for length in range(min(len(sought.text) - 1, len(text)), SHORTEST_BEGINNING - 1, -1):
                if text.endswith(sought.text[:length]):
                    return [_Found(len(text) - length, len(text), sought.rule, sought.value, "begun")]
        return []

    def _named_in(self, text: str, lowered: str, *, trusted: bool) -> list[_Found]:
        found = []
        for assigned in found_assignments(text, lowered, self._name_rule):
            value = _unescaped(text, assigned)
            if value in self.redaction.harmless or (trusted and self.placeholders.knows(value)):
                continue
            self._seek_found(value, assigned.rule)
            found.append(_Found(assigned.start, assigned.end, assigned.rule, value, "escaped"))
        return found

    def _look_alikes(self, text: str, *, trusted: bool) -> list[_Found]:
        """Return what looks like a placeholder and may not be taken for one (see `placeholders`).

        One of an earlier part of the run whose value is unknown stays: the model was shown it, and no call with it runs.
        """
        unresolved = self.placeholders.unresolved
        return [
            _Found(*match.span(), LITERAL)
            for match in PLACEHOLDER.finditer(text)
            if match[0] not in unresolved and not (trusted and self.placeholders.knows(match[0]))
        ]

    def _replaced(self, text: str, found: list[_Found]) -> str:
        pieces: list[str] = []
        place = 0
        for secret in _joined(found):
            spelled = text[secret.start : secret.end]
            if spelled in self.redaction.harmless:
                continue
            value = spelled if secret.value is None else secret.value
            pieces += (text[place : secret.start], self.placeholders.of(secret.rule, value, spelled, secret.label))
            place = secret.end
        return "".join((*pieces, text[place:]))

    # ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, value: Any, *, trusted: bool = False, by_name: bool = True) -> Any:
        """Return a JSON value with placeholders in the place of secrets, the same object if there is none.

        Args:
            trusted: as in `text`.
            by_name: whether keys say what their values are; not in a schema, where they say what they describe.
        """
        try:
            return self._value(value, trusted=trusted, by_name=by_name)
        except RecursionError:
            # arguments this deep never run, but a run must not break over them (spec/loop.md 9.1)
            return json.loads(self.text(json.dumps(value, ensure_ascii=False), trusted=trusted))

    def _value(self, value: Any, *, trusted: bool, by_name: bool) -> Any:
        if isinstance(value, str):
            return self.text(value, trusted=trusted)
        if isinstance(value, Mapping):
            return self._object(value, trusted=trusted, by_name=by_name)
        if isinstance(value, (list, tuple)):
            items = [self._value(item, trusted=trusted, by_name=by_name) for item in value]
            return value if _same(items, value) else _like(value, items)
        return value

    def _object(self, value: Mapping[str, Any], *, trusted: bool, by_name: bool) -> Mapping[str, Any]:
        hidden: dict[str, Any] = {}
        changed = False
        pair_name = _pair_name(value) if by_name else None
        for key, item in value.items():
            rule = None
            if by_name and isinstance(key, str):
                rule = self._name_rule(pair_name if pair_name is not None and key.lower() == "value" else key)
            new_item = (
                self._value(item, trusted=trusted, by_name=by_name)
                if rule is None
                else self._under_name(item, rule, trusted=trusted)
            )
            new_key = self.text(key, trusted=trusted) if isinstance(key, str) and len(key) >= 5 else key
            changed = changed or new_item is not item or new_key is not key
            hidden[new_key] = new_item
        return hidden if changed else value

    def _under_name(self, item: Any, found: Named, *, trusted: bool) -> Any:
        if isinstance(item, str):
            return self._named_text(item, found, trusted=trusted)
        if isinstance(item, (list, tuple)) and not isinstance(item, str):
            items = [self._under_name(each, found, trusted=trusted) for each in item]
            return item if _same(items, item) else _like(item, items)
        if isinstance(item, Mapping):
            return self._under_name_in(item, found, trusted=trusted)
        is_number = isinstance(item, int) and not isinstance(item, bool) and _DIGITS.fullmatch(str(item)) is not None
        if is_number and found.sure and found.rule in ("password", "secret", "named"):
            return self.placeholders.of(found.rule, item)
        return item

    def _under_name_in(self, item: Mapping[str, Any], found: Named, *, trusted: bool) -> Mapping[str, Any]:
        """Hide in an object under a secret's name what looks like one: `{"token": {"value": …}}`, `{"cookies": {…}}`."""
        inner = self._object(item, trusted=trusted, by_name=True)
        changed = {
            key: self._named_text(each, Named(found.rule, False), trusted=trusted)
            for key, each in inner.items()
            if isinstance(each, str) and (found.rule == "cookie" or key.lower() in _VALUE_KEYS)
        }
        if all(inner[key] is each for key, each in changed.items()):
            return inner
        return {**inner, **changed}

    def _named_text(self, text: str, found: Named, *, trusted: bool) -> str:
        secret = text.strip()
        is_secret = not is_no_value(secret) if found.sure else looks_random(secret)
        if found.rule == "cookie" and "=" not in secret and not looks_random(secret):
            is_secret = False
        is_placeholder = PLACEHOLDER.fullmatch(secret) or (trusted and OPENING in secret)
        if not is_secret or is_placeholder or secret in self.redaction.harmless:
            return self.text(text, trusted=trusted)
        if found.rule == "authorization":
            scheme, blank, credential = secret.partition(" ")
            if blank and scheme.isalpha():
                return f"{scheme} {self._named_text(credential, found, trusted=trusted)}"
        self._take_known()
        self._seek_found(secret, found.rule)
        return text.replace(secret, self.placeholders.of(found.rule, secret), 1)

    # ── back ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def hides_nothing(self) -> bool:
        """Whether no placeholder with a known value was given out yet, so that there is nothing to restore."""
        return not len(self.placeholders)

    def restored(self, value: Any) -> Any:
        """Return a JSON value with the secrets in it again, the same object if there were none."""
        if isinstance(value, str):
            return self.placeholders.restored_value(value) if OPENING in value else value
        if isinstance(value, Mapping):
            items = {
                self.restored_text(key) if isinstance(key, str) else key: self.restored(item)
                for key, item in value.items()
            }
            unchanged = all(
                key is old_key and item is old
                for (key, item), (old_key, old) in zip(items.items(), value.items(), strict=False)
            )
            return value if unchanged else items
        if isinstance(value, (list, tuple)):
            found = [self.restored(item) for item in value]
            return value if _same(found, value) else _like(value, found)
        return value

    def restored_text(self, text: str) -> str:
        """Return a text with the secrets in it again."""
        return self.placeholders.restored(text)

    def unresolved_in(self, value: Any) -> tuple[str, ...]:
        """Return the placeholders in a restored JSON value whose secrets nobody has given."""
        unresolved = self.placeholders.unresolved
        if not unresolved:
            return ()
        found = PLACEHOLDER.finditer(json.dumps(value, ensure_ascii=False, default=str))
        return tuple(dict.fromkeys(match[0] for match in found if match[0] in unresolved))


def _pair_name(value: Mapping[str, Any]) -> str | None:
    """Return the name that a `{"name": …, "value": …}` gives its value, as headers and variables are often listed."""
    if not 2 <= len(value) <= 6:
        return None
    name = value.get("name", value.get("key", value.get("Name")))
    return name if isinstance(name, str) else None


def _like(value: Any, items: list[Any]) -> list[Any] | tuple[Any, ...]:
    return items if isinstance(value, list) else tuple(items)


def _same(items: Iterable[Any], value: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(items, value, strict=True))


def _unescaped(text: str, assigned: Assigned) -> str:
    """Return what a value in JSON text says; what can't be read is taken as it stands."""
    value = text[assigned.start : assigned.end]
    if "\\" not in value:
        return value
    for _ in range(assigned.depth + 1):
        try:
            read = json.loads(f'"{value}"')
        except ValueError:
            break
        value = read
    return value


def _joined(found: list[_Found]) -> list[_Found]:
    """Return places in order, those that overlap as one that covers them all, named by the longest."""
    joined: list[_Found] = []
    for secret in sorted(found, key=lambda each: (each.start, -each.end, each.value is None)):
        if not joined or secret.start >= joined[-1].end:
            joined.append(secret)
            continue
        last = joined[-1]
        if secret.end > last.end:
            rule = max(last, secret, key=lambda each: each.end - each.start).rule
            joined[-1] = _Found(last.start, secret.end, rule)
    return joined


__all__ = ["MOST_VALUES", "Redactor"]
