"""What a server says of its tools, made fit for providers; and the file that pins it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.errors import ToolServerError
from loopkit.messages import JSONObject, SideEffect
from loopkit.tools.checks import json_problem
from loopkit.tools.mcp.stderr import one_line

if TYPE_CHECKING:
    from mcp.types import Tool

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 20_000
_HINTS: dict[str, SideEffect] = {
    "readOnlyHint": "read",
    "idempotentHint": "idempotent",
    "destructiveHint": "irreversible",
}


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it.

    Args:
        name: the server's own name of it.
        description: words for the model.
        schema: JSON Schema of the arguments, as it came; `type` is filled in where it was missing.
        hints: the server's claims `readOnlyHint`, `idempotentHint`, `destructiveHint`, where it makes them.
    """

    name: str
    description: str
    schema: JSONObject
    hints: JSONObject

    @property
    def side_effect(self) -> SideEffect | None:
        """The first claim that holds: a tool that may be repeated stays so when it also overwrites something."""
        return next((effect for hint, effect in _HINTS.items() if self.hints.get(hint) is True), None)


def listed(tool: Tool) -> ListedTool:
    """Return a tool of the `mcp` package as ours."""
    hints = {} if tool.annotations is None else tool.annotations.model_dump(by_alias=True)
    return _listed(tool.name, tool.description or tool.title or "", tool.input_schema, hints)


def _listed(name: str, description: str, schema: JSONObject, hints: JSONObject) -> ListedTool:
    words = description if len(description) <= LONGEST_DESCRIPTION else f"{description[:LONGEST_DESCRIPTION]}…"
    claims = {hint: hints[hint] for hint in _HINTS if isinstance(hints.get(hint), bool)}
    return ListedTool(name, words, {"type": "object", **schema}, claims)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools that an agent can be given.

    Args:
        tools: by their server's names, in its order.
        notices: what was left out, and why.
    """

    tools: dict[str, ListedTool]
    notices: tuple[str, ...]

    @classmethod
    def of(cls, tools: Iterable[ListedTool]) -> Listing:
        """Take what can be used."""
        kept: dict[str, ListedTool] = {}
        notices: list[str] = []
        for tool in tools:
            problem = "its name is there twice" if tool.name in kept else schema_problem(tool.schema)
            if problem is None:
                kept[tool.name] = tool
            else:
                notices.append(f"the tool {one_line(tool.name, LONGEST_NAME)!r} is left out: {problem}")
        return cls(kept, tuple(notices))


def schema_problem(schema: JSONObject) -> str | None:
    """Return why no provider would take a schema, or None."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # half of a cold start
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    if schema.get("type") != "object":
        return "its schema does not describe an object"
    problem = json_problem(schema)
    if problem is not None:
        return f"its schema is no usable JSON ({problem.message})"
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        return f"its schema is no JSON Schema ({one_line(error.message, 100)})"
    except Exception as error:  # noqa: BLE001  # a foreign schema may break the check in any way
        return f"its schema can't be checked ({type(error).__name__})"
    return None


def provider_names(names: Sequence[str], prefix: str) -> list[str]:
    """Return names that every provider takes, one for each and none twice.

    Other characters than letters, digits, `_` and `-` become `_`, and long names are cut; `_2`, `_3` … tell apart what
    is the same after that.
    """
    given: dict[str, None] = {}
    for name in names:
        clean = re.sub(r"[^a-zA-Z0-9_-]", "_", prefix + name) or "tool"
        if len(clean) > LONGEST_NAME:
            mark = hashlib.sha256((prefix + name).encode(errors="replace")).hexdigest()[:8]
            clean = f"{clean[: LONGEST_NAME - 9]}_{mark}"
        unique, ordinal = clean, 2
        while unique in given:
            unique = f"{clean[: LONGEST_NAME - 1 - len(str(ordinal))]}_{ordinal}"
            ordinal += 1
        given[unique] = None
    return list(given)


# ── the file that pins them ──────────────────────────────────────────────────────────────────────────────────────────


def read_pin(path: Path) -> Listing | None:
    """Return the tools that a file pins, or None when there is no file.

    Raises:
        ToolServerError: the file can't be read, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ToolServerError(f"{path}: the pinned tools can't be read ({error})") from None
    try:
        return Listing.of([_pinned(entry) for entry in json.loads(text)["tools"]])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = "is no list of pinned tools; delete it, and it is written again when the server is next reached"
        raise ToolServerError(f"{path}: {message}") from None


def write_pin(path: Path, tools: Iterable[ListedTool]) -> None:
    """Write the file that pins tools, in MCP's own words for them.

    Raises:
        ToolServerError: it can't be written.
    """
    entries: list[dict[str, Any]] = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.schema,
            "annotations": tool.hints,
        }
        for tool in tools
    ]
    try:
        path.write_text(json.dumps({"tools": entries}, indent=2) + "\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise ToolServerError(f"{path}: the server's tools can't be pinned here ({error.strerror})") from None


def _pinned(entry: Any) -> ListedTool:
    name, description = entry["name"], entry["description"]
    if not isinstance(name, str) or not isinstance(description, str):
        raise TypeError
    return _listed(name, description, {**entry["inputSchema"]}, {**entry["annotations"]})
