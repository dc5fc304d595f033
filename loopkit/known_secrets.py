"""Secrets that the program itself knows: keys that providers were given, and what `redact` was told of.

They belong to the process, not to a run: whichever recording is written, they are kept out of it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from loopkit.errors import UserError

SHORTEST_SECRET = 8
_MARKS = ("auth", "key", "token", "secret", "cookie", "passw")

_guard = threading.Lock()
_known: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """A value that no recording may hold.

    Args:
        value: the secret itself.
        rule: what placeholders call it.
    """

    value: str
    rule: str


def redact(value: str, rule: str = "registered") -> str:
    """Keep a secret out of every recording of this process from now on, in plain and in encoded form.

    Args:
        value: the secret; it is returned, so that this can stand where it is read.
        rule: the name that stands in its place, in lower case letters, digits and `_`.

    Raises:
        UserError: the value is too short to be told from ordinary text, or the name can't be used.
    """
    if not isinstance(value, str):
        raise UserError(f"redact takes the secret as text, not {type(value).__name__}")
    if not is_rule_name(rule):
        raise UserError(f"a rule is named in lower case letters, digits and _, not {rule!r}")
    if len(value.strip()) < SHORTEST_SECRET:
        raise UserError(
            f"a secret of {len(value.strip())} characters would be found in ordinary text too; {SHORTEST_SECRET} is the least: "
            "pass it under a name such as `password`, which hides values of any length"
        )
    _remember(value.strip(), rule)
    return value


def redact_if_long(value: str, rule: str) -> None:
    """As `redact`, for keys that may be a stand-in such as `none`: what is too short is left alone."""
    if len(value.strip()) >= SHORTEST_SECRET:
        _remember(value.strip(), rule)


def redact_named(values: Mapping[str, str]) -> None:
    """As `redact_if_long`, for the headers and variables among these whose names say that they are secret."""
    for name, value in values.items():
        if any(mark in name.lower() for mark in _MARKS):
            # behind a scheme such as `Bearer`
            redact_if_long(value.rpartition(" ")[2], "authorization" if "auth" in name.lower() else "api_key")


def known_secrets(after: int = 0) -> tuple[KnownSecret, ...]:
    """Return what is known, oldest first.

    Args:
        after: leave so many of the oldest out, for callers that know them.
    """
    if len(_known) == after:
        return ()
    with _guard:
        return tuple(KnownSecret(value, rule) for value, rule in list(_known.items())[after:])


def is_rule_name(name: str) -> bool:
    """Say whether a placeholder can carry this name."""
    return name.isascii() and name.replace("_", "a").isalnum() and name == name.lower() and name[0].isalpha()


def _remember(value: str, rule: str) -> None:
    with _guard:
        _known.setdefault(value, rule)


__all__ = [
    "SHORTEST_SECRET",
    "KnownSecret",
    "is_rule_name",
    "known_secrets",
    "redact",
    "redact_if_long",
    "redact_named",
]
