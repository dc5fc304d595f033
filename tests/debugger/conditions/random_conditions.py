"""Random conditions, and a second, naive opinion on whether one holds."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from loopkit.debugger.conditions import (
    MISSING,
    All,
    Comparison,
    Condition,
    Field,
    Match,
    Not,
    OneOf,
    Presence,
)
from loopkit.debugger.fields import FIELDS
from loopkit.debugger.patterns import Pattern

WORDS = ["a", "b", "ab", "A", "a b", "/", '"', "\\", "'", "\n", "é", "🙂", ""]
KEYS = ["a", "b-c", "0", "a b", 'q"', "é"]
NUMBERS = st.integers(-2, 3) | st.sampled_from([0.5, -1.5, 1e30, 2.0])
texts = st.sampled_from(WORDS)
patterns = st.builds(
    lambda text, any_case: Pattern(text, any_case=any_case),
    st.sampled_from(["a", "a+b", "^b$", "[/]", "/", r"\/", r"\\", "(a|b)*", ".", '"', "é"]),
    st.booleans(),
)


def fields(kind: str) -> st.SearchStrategy[Field]:
    names = [name for name, known in FIELDS.items() if known.kind == kind]
    paths = st.lists(st.sampled_from(KEYS), max_size=2).map(tuple) if kind == "JSON" else st.just(())
    return st.builds(Field, st.sampled_from(names), paths)


def atoms() -> st.SearchStrategy[Condition]:
    equal, ordered = st.sampled_from(["==", "!="]), st.sampled_from(["<", "<=", ">", ">="])
    anything = texts | NUMBERS | st.booleans() | st.none()
    json_fields = fields("JSON")
    return st.one_of(
        st.builds(Comparison, fields("text"), equal, texts),
        st.builds(Comparison, fields("number"), equal | ordered, NUMBERS),
        st.builds(Comparison, json_fields, equal, anything),
        st.builds(Comparison, json_fields, ordered, NUMBERS),
        st.builds(Match, fields("text") | json_fields, texts | patterns, st.booleans()),
        st.builds(Presence, fields("text") | fields("number") | json_fields),
    )


def conditions() -> st.SearchStrategy[Condition]:
    def joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.builds(Not, inner) | st.builds(All, parts) | st.builds(OneOf, parts)

    return st.recursive(atoms(), joined, max_leaves=8)


scalars = texts | NUMBERS | st.booleans() | st.none()
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2),
    max_leaves=4,
)


def values() -> st.SearchStrategy[dict[str, Any]]:
    """What the fields of a moment say; some are not there."""
    by_kind: dict[str, st.SearchStrategy[Any]] = {
        "text": texts | st.lists(texts, max_size=2).map(tuple),
        "number": NUMBERS,
        "JSON": st.dictionaries(st.sampled_from(KEYS), json_values, max_size=3),
    }
    return st.fixed_dictionaries({}, optional={name: by_kind[known.kind] for name, known in FIELDS.items()})


class PlainMoment:
    """A moment whose fields are given."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def value(self, field: Field) -> Any:
        found: Any = self.given.get(field.name, MISSING)
        for key in field.path:
            if isinstance(found, dict):
                found = found.get(key, MISSING)
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return MISSING
        return found


ORDERS: dict[str, Any] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def naively_holds(condition: Condition, given: Mapping[str, Any]) -> bool:
    """The documented meaning, written down a second time without a thought for speed, `re` for patterns."""
    if isinstance(condition, Not):
        return not naively_holds(condition.part, given)
    if isinstance(condition, (All, OneOf)):
        said = [naively_holds(part, given) for part in condition.parts]
        return all(said) if isinstance(condition, All) else any(said)
    found = PlainMoment(given).value(condition.field)
    if found is MISSING:
        return False
    several = list(found) if isinstance(found, tuple) else [found]
    if isinstance(condition, Presence):
        return bool(found) or (found == "" and not condition.field.path)
    if isinstance(condition, Match):
        hits = []
        for one in several:
            text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
            if isinstance(condition.sought, str):
                hits.append(condition.sought.casefold() in text.casefold())
            else:
                flags = re.MULTILINE | (re.IGNORECASE if condition.sought.any_case else 0)
                hits.append(re.search(condition.sought.text, text, flags) is not None)
        return any(hits) if condition.wanted else not any(hits)
    if condition.operator in ORDERS:
        numbers = isinstance(found, (int, float)) and not isinstance(found, bool)
        return numbers and bool(ORDERS[condition.operator](found, condition.value))
    same = [json.dumps(one) == json.dumps(condition.value) or _same_number(one, condition.value) for one in several]
    return any(same) if condition.operator == "==" else not any(same)


def _same_number(one: Any, other: Any) -> bool:
    return type(one) in (int, float) and type(other) in (int, float) and one == other
