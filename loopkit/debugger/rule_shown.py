"""Rules that a person added, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule that a person added, as it is shown.

    Args:
        name: what `Decided.by` names it by, and what revokes it.
        scope: `run` or `project`.
        decide: `allow` or `deny`.
        tool: the tool's name, or a glob.
        about: which arguments, in words; not safe to show as it is.
    """

    name: str
    scope: str
    decide: str
    tool: str
    about: str
