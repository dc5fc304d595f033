"""No text of an input reaches the file as it came: a field that is added later is found here."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

import pytest

from loopkit.encoding import encode
from loopkit.events import FACT_CLASSES
from loopkit.events.fact import Input
from loopkit.recording.redaction.facts import hidden
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction

SECRET = "hunter2hunter2"
TEXT = f"password={SECRET} and more"
# names that loopkit or the agent's own code gives
OURS = {
    "AgentChanged": {"configuration", "model", "fallbacks"},
    "EditRefused": {"target", "what"},
    "LoopStarted": {"configuration", "model", "fallbacks", "parent_call"},
    "ModelReplied": {"model", "raw_stop_reason"},
}
NAMES = {"call", "by", "cause", "gate", "callback", "processor", "type_name", "role", "media_type", "name"}


def filled(hint: Any, name: str = "") -> Any:
    """Return a value of a type that holds the secret wherever a text may stand."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return filled(next(each for each in arguments if each is not type(None)), name)
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        members = typing.get_args(arguments[0]) if typing.get_origin(arguments[0]) is types.UnionType else arguments[:1]
        return tuple(filled(member, name) for member in members if member is not type(None))
    if hint is Any or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"said": TEXT, "inner": [{"password": SECRET}]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: filled(hints[field.name], field.name) for field in dataclasses.fields(hint)})  # type: ignore[operator]  # a class
    plain = {str: "x" if name in NAMES else TEXT, int: 1, float: 1.0, bool: True}
    return plain[hint]


@pytest.mark.parametrize("name", [name for name, cls in FACT_CLASSES.items() if issubclass(cls, Input)])
def test_every_text_of_an_input_is_gone_through(name: str) -> None:
    """DESIGN §3, secrets: the broken answers of 9.2 included."""
    redactor = Redactor(Redaction(environment=False))
    redactor.text(TEXT)
    fact = filled(FACT_CLASSES[name])
    told = encode(hidden(redactor, fact))
    leaks = {field for field, value in told.items() if SECRET in json.dumps(value, ensure_ascii=False)}
    assert leaks - OURS.get(name, set()) == set()
