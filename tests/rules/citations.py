"""Finds the numbers that tests cite.

A test cites rules as `3.9` and faults as `a20`, anywhere in its docstring; a whole section as `spec/loop.md 2`,
or as the docstring's first word.
Only what stands at a test itself counts: a module's docstring says what it is about, not what it proves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent.parent
_NUMBER = re.compile(r"(?<![\w.§])(?<!Python )([a-j]\d{1,2}|(?:10|[346-9])\.\d{1,2})(?!\w|\.\d)")
_SECTION = re.compile(r"spec/loop\.md (?:[\d.]+, )*(10|[1-9])(?![\w.]*\d)|\A(10|[1-9])(?=[:,]|\Z)")


@dataclass(frozen=True, order=True)
class Citation:
    """One number that one test cites.

    Args:
        number: of a rule (`3.9`), a section (`2`) or a fault (`a20`).
        module: the test's file, from the tests' folder on.
        test: the function's name.
    """

    number: str
    module: str
    test: str


def numbers_in(docstring: str) -> set[str]:
    """Return the numbers that a docstring cites."""
    sections = {found for groups in _SECTION.findall(docstring.strip()) for found in groups if found}
    return set(_NUMBER.findall(docstring)) | sections


def citations(tests: Path = TESTS) -> Iterator[Citation]:
    """Find the citations of all tests below a folder."""
    for file in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                for number in sorted(numbers_in(ast.get_docstring(node) or "")):
                    yield Citation(number, file.relative_to(tests).as_posix(), node.name)
