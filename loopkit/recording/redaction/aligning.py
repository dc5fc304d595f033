"""Lays what comes today beside what was recorded, so that the secrets of then and now meet in the same placeholders.

Where a recorded text has a placeholder, today's text of the same place tells what it stands for; where the rest is equal,
both count as the same. So a replay needs neither the rules nor the environment of the machine that recorded, and a
changed password is no divergence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from loopkit.recording.redaction.placeholders import OPENING, PLACEHOLDER
from loopkit.recording.redaction.redactor import Redactor

T = TypeVar("T")


def aligned(redactor: Redactor, recorded: T, came: T) -> T:
    """Return what came today in recorded form: with the recorded placeholders where it fits them, else hidden anew.

    Args:
        recorded: a fact, or a value of one.
        came: its counterpart of today, as it really is; placeholders that it fits are known from then on.
    """
    value: Any = _aligned(redactor, recorded, came)
    result: T = value
    return result


def _aligned(redactor: Redactor, recorded: Any, came: Any) -> Any:
    if isinstance(recorded, str) and OPENING in recorded:
        # a task that comes from the recording is in recorded form already
        if came == recorded or fit(redactor, recorded, came):
            return recorded
        whole = PLACEHOLDER.fullmatch(recorded)
        return redactor.value(came) if whole is None else redactor.placeholders.of(whole[1], came)
    if isinstance(came, str):
        return came if came == recorded else redactor.text(came)
    if is_dataclass(came):
        other = recorded if type(came) is type(recorded) else None
        changed = {field.name: _pair(redactor, other, came, field.name) for field in fields(came)}
        same = all(value is getattr(came, name) for name, value in changed.items())
        return came if same else replace(came, **changed)  # type: ignore[type-var]  # an instance, not the class
    if isinstance(came, Mapping) and isinstance(recorded, Mapping):
        found: dict[str, Any] = {}
        for key, item in came.items():
            found |= _aligned_item(redactor, recorded.get(key), key, item)
        return found
    if isinstance(came, (tuple, list)):
        others = recorded if isinstance(recorded, (tuple, list)) and len(came) == len(recorded) else None
        if others is not None or any(is_dataclass(item) for item in came):
            pairs = zip(others or [None] * len(came), came, strict=True)
            items = [_aligned(redactor, old, new) for old, new in pairs]
            return items if isinstance(came, list) else tuple(items)
    return redactor.value(came)


def _aligned_item(redactor: Redactor, recorded: Any, key: str, item: Any) -> dict[str, Any]:
    is_laid_beside = isinstance(recorded, (Mapping, list, tuple)) or (isinstance(recorded, str) and OPENING in recorded)
    if is_laid_beside:
        return {redactor.text(key): _aligned(redactor, recorded, item)}
    # a key says what its value is, unless that is what it was
    return {key: item} if item == recorded else dict(redactor.value({key: item}))


def _pair(redactor: Redactor, recorded: Any, came: Any, name: str) -> Any:
    return _aligned(redactor, getattr(recorded, name, None), getattr(came, name))


def fit(redactor: Redactor, recorded: str, came: Any) -> bool:
    """Say whether a value is what a recorded text with placeholders may stand for, and learn them if so."""
    if PLACEHOLDER.fullmatch(recorded):
        found: dict[str, Any] | None = {recorded: came}
    else:
        found = _values_in(recorded, came) if isinstance(came, str) else None
    if found is None:
        return False
    known = {placeholder: redactor.placeholders.original(placeholder) for placeholder in found}
    if any(value not in (placeholder, found[placeholder]) for placeholder, value in known.items()):
        return False
    for placeholder, value in found.items():
        redactor.supply(placeholder, value)
    return True


def _values_in(recorded: str, came: str) -> dict[str, Any] | None:
    """Return what the placeholders of a text stand for in another that is equal but for them, or None."""
    places = list(PLACEHOLDER.finditer(recorded))
    if not places or not came.startswith(recorded[: places[0].start()]):
        return None
    found: dict[str, Any] = {}
    begin = places[0].start()
    for number, place in enumerate(places):
        last = number + 1 == len(places)
        between = recorded[place.end() :] if last else recorded[place.end() : places[number + 1].start()]
        if last:
            end = len(came) - len(between)
            fits = came.endswith(between) and end > begin
        else:
            end = came.find(between, begin + 1) if between else -1
            fits = end > begin
        if not fits or found.setdefault(place[0], came[begin:end]) != came[begin:end]:
            return None
        begin = end + len(between)
    return found


__all__ = ["aligned", "fit"]
