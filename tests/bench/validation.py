"""What it costs to check one call's arguments, beside jsonschema's own validator, built once."""

from __future__ import annotations

import time
from typing import Any

from jsonschema import Draft202012Validator

from loopkit.tools.checks import SchemaCheck

CALLS = 300
PLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file."},
        "mode": {"type": "string", "enum": ["read", "write"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "strict": {"type": "boolean"},
        "options": {
            "type": "object",
            "properties": {"encoding": {"type": "string"}, "depth": {"type": "integer"}},
            "additionalProperties": False,
        },
    },
    "required": ["path", "mode"],
    "additionalProperties": False,
}
CHECKED_BY_JSONSCHEMA = {**PLAIN, "properties": {**PLAIN["properties"], "path": {"type": "string", "minLength": 1}}}
ARGUMENTS = {
    "path": "src/main.py",
    "mode": "read",
    "lines": [1, 20],
    "limit": 100,
    "strict": True,
    "options": {"encoding": "utf-8", "depth": 3},
}


def check_cost(schema: dict[str, Any]) -> float:
    """CPU microseconds of a check of ours."""
    check = SchemaCheck(schema)
    if check.problems(ARGUMENTS):
        raise AssertionError("the measured arguments do not fit")
    before = time.process_time()
    for _ in range(CALLS):
        check.problems(ARGUMENTS)
    return (time.process_time() - before) / CALLS * 1e6


def jsonschema_cost(schema: dict[str, Any]) -> float:
    """CPU microseconds of a check by jsonschema alone."""
    validator = Draft202012Validator(schema)
    validator.is_valid(ARGUMENTS)
    before = time.process_time()
    for _ in range(CALLS):
        validator.is_valid(ARGUMENTS)
    return (time.process_time() - before) / CALLS * 1e6
