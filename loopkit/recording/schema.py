"""The JSON Schema of the format, made from the dataclasses that the lines are made from.

`python -m loopkit.recording.schema` writes it again into the file that ships with the package.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from loopkit.events import FACT_CLASSES, AnyFact
from loopkit.recording.header import FORMAT, Header
from loopkit.recording.lines import ENVELOPE
from loopkit.tools.schema import schema_of

SCHEMA_FILE = Path(__file__).with_name("recording.schema.json")

_POINTER = "#/$defs/"
_CHECK_SUM: dict[str, Any] = {
    "description": "CRC-32 of the line's bytes before this key and its comma; a line may lack it",
    "type": "string",
    "pattern": "^[0-9a-f]{8}$",
}
_ENVELOPE_PROPERTIES: dict[str, Any] = {
    "seq": {"description": "number of the event, gapless from 1; the only order", "type": "integer", "minimum": 1},
    "t": {"description": "seconds since the run started, for display only", "type": "number"},
    "loop": {"description": "path of the loop in the tree, `root` is the top", "type": "string"},
    "iteration": {"description": "1-based, 0 before the first", "type": "integer", "minimum": 0},
}


def recording_schema() -> dict[str, Any]:
    """Return the JSON Schema 2020-12 of one line of a recording, the header's or an event's."""
    facts = schema_of(AnyFact)
    header = schema_of(Header)
    header["required"] = list(header["properties"])
    header["properties"]["format"] = {"enum": list(range(1, FORMAT + 1))}
    header["properties"]["crc"] = _CHECK_SUM
    types = {schema["properties"]["type"]["const"]: _event(schema) for schema in facts["anyOf"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loopkit recording, one line",
        "description": "Line 1 is the header, every other line an event. A type that is not listed is kept and shown raw.",
        "if": {"required": ["loopkit"]},
        "then": _reference("Header"),
        "else": {"anyOf": [*map(_reference, types), _reference("UnknownEvent")]},
        "$defs": {"Header": header, **types, "UnknownEvent": _unknown_event(), **facts["$defs"]},
    }


@cache
def shipped_schema() -> dict[str, Any]:
    """Return the schema as the package ships it; not to be changed, it is shared."""
    schema: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return schema


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as the shipped file holds it."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _event(fact: dict[str, Any]) -> dict[str, Any]:
    properties = fact["properties"]
    fields = [key for key in fact["required"] if key != "type"]
    return {
        **fact,
        "properties": {**_ENVELOPE_PROPERTIES, **properties, "crc": _CHECK_SUM},
        "required": [*ENVELOPE, *fields],
    }


def _unknown_event() -> dict[str, Any]:
    other = {"type": "string", "not": {"enum": list(FACT_CLASSES)}}
    return {
        "type": "object",
        "description": "An event of a type that this version doesn't know.",
        "properties": {**_ENVELOPE_PROPERTIES, "type": other},
        "required": list(ENVELOPE),
    }


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _POINTER + name}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(recording_schema()), encoding="utf-8")
