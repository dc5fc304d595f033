"""What a recorder hides: the rules that come with loopkit, and those a person adds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from loopkit.errors import UserError
from loopkit.known_secrets import is_rule_name

RULES = (
    "api_key",
    "authorization",
    "cookie",
    "credential",
    "password",
    "private_key",
    "registered",
    "secret",
    "signature",
    "token",
)


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Which secrets are kept out of a recording.

    Args:
        names: further names whose values are hidden, such as `badge_number`; upper case, `-` and `_` are the same.
        shapes: further shapes by rule name, as regular expressions; the first group is what is hidden, or all of it.
            They run over every text, so write them without nested repetition.
        harmless: names and values that are never hidden, such as `session_token` or a public key.
        environment: whether secrets are also taken from this process's environment variables, by their names.

    Raises:
        UserError: a rule's name or expression can't be used.
    """

    names: tuple[str, ...] = ()
    shapes: Mapping[str, str] = field(default_factory=dict)
    harmless: frozenset[str] = frozenset()
    environment: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "harmless", frozenset(self.harmless))
        for name, shape in self.shapes.items():
            if not is_rule_name(name):
                raise UserError(f"a rule is named in lower case letters, digits and _, not {name!r}")
            try:
                re.compile(shape)
            except re.error as error:
                raise UserError(f"the shape of rule {name} is no regular expression: {error}") from None

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of all rules, for the header of a recording."""
        return tuple(sorted({*RULES, *self.shapes, *(("named",) if self.names else ())}))


DEFAULT_REDACTION = Redaction()

__all__ = ["DEFAULT_REDACTION", "RULES", "Redaction"]
