"""Splits a docstring into what a model is told of the whole and of each parameter (Google and Sphinx styles)."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Attributes):\s*$")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(?:\s+(.*))?$")
_SPHINX_ENTRY = re.compile(r":(param|parameter|arg|argument|type)\s+([^:]+):\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Documentation:
    """A docstring taken apart.

    Args:
        description: the text without its parameter entries.
        parameters: text by parameter name, each in one line.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Documentation:
    """Take a docstring apart; sections other than the parameters' (`Returns:` …) stay in the description."""
    if not text:
        return Documentation()
    kept: list[str] = []
    entries: dict[str, list[str]] = {}
    lines = inspect.cleandoc(text).splitlines()
    position = 0
    while position < len(lines):
        line = lines[position]
        end = _block_end(lines, position)
        if _SECTION.match(line) and (found := _google_entries(lines[position + 1 : end])):
            entries.update(found)
        elif sphinx := _SPHINX_ENTRY.match(line):
            kind, names, words = sphinx.groups()
            if kind != "type":
                # `:param int limit: …` names the type first
                entries[names.split()[-1].lstrip("*")] = [words, *lines[position + 1 : end]]
        else:
            kept.append(line)
            position += 1
            continue
        position = end
    parameters = {name: " ".join(" ".join(words).split()) for name, words in entries.items()}
    return Documentation(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block_end(lines: list[str], start: int) -> int:
    """Index after the lines that are indented deeper than line `start`; blank lines at their end don't count."""
    floor = _indentation(lines[start])
    end = start + 1
    for position in range(start + 1, len(lines)):
        if lines[position].strip():
            if _indentation(lines[position]) <= floor:
                break
            end = position + 1
    return end


def _google_entries(lines: list[str]) -> dict[str, list[str]]:
    entries: dict[str, list[str]] = {}
    margin = min((_indentation(line) for line in lines if line.strip()), default=0)
    current: list[str] = []
    for line in lines:
        entry = _GOOGLE_ENTRY.match(line.strip()) if _indentation(line) == margin else None
        if entry:
            current = entries.setdefault(entry[1], [])
            current.append(entry[2] or "")
        else:
            current.append(line.strip())
    return entries
