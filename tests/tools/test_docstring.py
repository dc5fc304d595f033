"""Words for a model out of docstrings."""

from __future__ import annotations

import pytest

from loopkit.tools.docstring import read_docstring

GOOGLE = """Read a file.

    It must be text.

    Args:
        path: where it is,
            from the root.

            Even this belongs to it.
        limit (int, optional): lines; `a: b` is no entry
        bare:

    Returns:
        The text.
"""
SPHINX = """Read a file.

    :param path: where it is,
        from the root.
    :type path: str
    :param int limit: lines
    :return: The text.
"""


def test_google_section_is_taken_apart() -> None:
    words = read_docstring(GOOGLE)
    assert words.description == "Read a file.\n\nIt must be text.\n\nReturns:\n    The text."
    assert words.parameters == {
        "path": "where it is, from the root. Even this belongs to it.",
        "limit": "lines; `a: b` is no entry",
        "bare": "",
    }


def test_sphinx_fields_are_taken_apart() -> None:
    words = read_docstring(SPHINX)
    assert words.description == "Read a file.\n\n:return: The text."
    assert words.parameters == {"path": "where it is, from the root.", "limit": "lines"}


@pytest.mark.parametrize("text", [None, "", "   \n "])
def test_no_docstring_has_no_words(text: str | None) -> None:
    assert read_docstring(text).description == ""


@pytest.mark.parametrize("text", ["Args:", "Do it.\n\nArgs:\n    none at all", "Args: the arguments"])
def test_section_without_entries_stays_in_the_description(text: str) -> None:
    assert read_docstring(text).description == text
