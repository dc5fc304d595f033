"""Breakpoints kept with a project, in `.loopkit/breakpoints.toml`: a few lines that people may read and change."""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopkit.debugger.breakpoints import Breakpoint, Breakpoints
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.conditions import quoted
from loopkit.errors import CommandRefused, ConditionError, UserError

FOLDER = ".loopkit"
FILE = "breakpoints.toml"
_HEAD = "# Breakpoints of loopkit's debugger; conditions: docs/conditions.md\n"
_KINDS: dict[str, type] = {"condition": str, "enabled": bool, "one_shot": bool, "ignore": int}


def project_file(folder: Path | None = None) -> Path:
    """Return where a project's breakpoints are kept: beside the nearest `.loopkit` folder, from a folder upwards.

    Args:
        folder: by default the current one; there a first breakpoint makes the folder.
    """
    here = (folder or Path.cwd()).absolute()
    found = next((above for above in (here, *here.parents) if (above / FOLDER).is_dir()), here)
    return found / FOLDER / FILE


def project_breakpoints(path: Path | None = None) -> Breakpoints:
    """Return the breakpoints of a project, which are kept again after each change.

    Args:
        path: the file; by default that of the current folder's project.

    Raises:
        UserError: the file is there and can't be read, in one line.
    """
    path = project_file() if path is None else path
    return Breakpoints(_read(path), lambda all_: _write(path, all_))


def _read(path: Path) -> list[Breakpoint]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("breakpoint", [])
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"{path}: can't be read ({error.strerror or error})") from None
    except ValueError as error:
        raise UserError(f"{path}: is no TOML: {error}") from None
    if not isinstance(tables, list):
        raise UserError(f"{path}: breakpoints are written as [[breakpoint]]")
    return [_breakpoint(path, number, table) for number, table in enumerate(tables, 1)]


def _breakpoint(path: Path, number: int, table: Any) -> Breakpoint:
    where = f"{path}: breakpoint {number}"
    if not isinstance(table, dict) or "condition" not in table:
        raise UserError(f"{where} has no condition")
    for name, value in table.items():
        kind = _KINDS.get(name)
        if kind is None:
            raise UserError(f"{where}: there is no {name!r}, only {', '.join(_KINDS)}")
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            raise UserError(f"{where}: {name} can't be {value!r}")
    try:
        read_condition(table["condition"])
    except ConditionError as error:
        raise UserError(f"{where}: {error}") from None
    return Breakpoint(number, **table)


def _write(path: Path, all_: tuple[Breakpoint, ...]) -> None:
    """Write all breakpoints at once, so that a reader never meets half of them.

    Raises:
        CommandRefused: they can't be kept; they hold all the same.
    """
    beside = path.with_name(f"{FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(exist_ok=True)
        beside.write_text("\n".join([_HEAD, *map(_table, all_)]), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise CommandRefused(f"{path}: the breakpoints can't be kept ({error.strerror or error})") from None


def _table(one: Breakpoint) -> str:
    lines = ["[[breakpoint]]", f"condition = {_toml_text(one.condition)}"]
    lines += ["enabled = false"] * (not one.enabled)
    lines += ["one_shot = true"] * one.one_shot
    lines += [f"ignore = {one.ignore}"] * bool(one.ignore)
    return "\n".join(lines) + "\n"


def _toml_text(text: str) -> str:
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    # TOML's basic strings are JSON's, but for one control character
    return quoted(text).replace("\x7f", "\\u007f")
