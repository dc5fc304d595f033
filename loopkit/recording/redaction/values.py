"""Tells what a value looks like: a key, a word, a reference to a secret kept elsewhere, an expression of a program."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from math import log2

_REFERENCES = re.compile(
    r"""
      \$\{[^}]*\}?.* | \$\([^)]*\)?.* | \$[A-Z_][A-Z0-9_]* | %[A-Za-z_][A-Za-z0-9_]*% | \{\{.*\}?\}? | \{[A-Za-z_][\w.]*\}
    | <[^<>]{0,80}>? | \[[A-Za-z][^\]]{0,60}\]? | @[A-Za-z]\w*\(.* | !\w+ .* | env: .* | vault: .* | \$\{\{.*
    """,
    re.VERBOSE | re.DOTALL,
)
_SHELL_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
_MASKED = re.compile(r"[*x•.●\-_#?0]{3,}|.{0,12}(?:\*{3,}|\.{3}|…|•{3,}|x{6,}|[_\-]x{3,}).{0,12}", re.IGNORECASE)
_PLACEHOLDER_WORDS = frozenset(
    "none null nil true false undefined redacted hidden removed masked filtered omitted n/a yes no on off".split()
)
_COMMON_WORDS = frozenset(
    """
    string str text number integer boolean object bytes buffer array list any unknown required optional invalid incorrect
    missing expired wrong empty default example sample placeholder password passwd passwort passphrase pass pwd secret
    token key api_key apikey credentials username user admin value input field label hidden plaintext encrypted hashed
    plain bearer basic digest oauth oauth2 jwt type name description dummy changed updated reset forgot forgotten enabled
    disabled set unset not new old confirm strength policy length minimum maximum secretstr enter your the a an is was for
    must should and or with error failed failure denied success authentication authorization login logout
    """.split()
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_\-]*(?:\.[A-Za-z_]\w*)*[_\-]?v?\d{0,2}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_EXPRESSION = re.compile(
    r"[A-Za-z_][\w.\]]*[(\[].*|(?:new|await|self|this|os|process|config|settings|env|ctx|args|request)\b[. ].*"
)
_PATH = re.compile(r"(?:~|\.{0,2})/[\w.\-/@+ ]*|[A-Za-z]:\\.*|[\w.\-]+/[\w.\-/]+\.[a-z]{1,5}")
_DATE_OR_VERSION = re.compile(r"v?\d{1,4}(?:[.\-:/]\d{1,4}){1,5}(?:[T ]\d\d:?\d\d.*)?|v?\d+(?:\.\d+)+[\w.\-+]*")
_EXAMPLE = re.compile(
    r"(?:your|my|the|some|insert|enter|replace|example|sample|dummy|fake|placeholder|change)[_\- .]?(?:me|this|own|new)?[_\- .]?.*",
    re.IGNORECASE,
)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
LONGEST_JUDGED = 4096
_LONGEST_WORDS = 256


def _is(pattern: re.Pattern[str], value: str) -> bool:
    # what is longer is neither a word nor a path, and no pattern ever meets a text long enough to be slow on
    return len(value) <= _LONGEST_WORDS and pattern.fullmatch(value) is not None


def is_no_value(value: str) -> bool:
    """Say whether a text stands for no secret at all, even under a sure name: empty, masked, or a reference."""
    stripped = value.strip()
    if not stripped or stripped.lower() in _PLACEHOLDER_WORDS:
        return True
    return _is(_MASKED, stripped) or _is(_REFERENCES, stripped)


def is_example(value: str) -> bool:
    """Say whether a text only shows where a secret would stand: `your-token-here`."""
    return _is(_EXAMPLE, value) and not any(character.isdigit() for character in value)


def looks_random(value: str) -> bool:
    """Say whether a text looks like a generated key: letters and digits mixed, no words, path, date or expression."""
    value = value[:LONGEST_JUDGED]
    if len(value) < 8 or any(character.isspace() for character in value):
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    if letters >= 2 and digits >= 2:
        return not (
            is_no_value(value)
            or _is(_IDENTIFIER, value)
            or _is(_PATH, value)
            or _is(_DATE_OR_VERSION, value)
            or _is(_EXPRESSION, value)
            or _is(_SHELL_VARIABLE, value)
            or value.startswith(("http://", "https://"))
        )
    return len(value) >= 20 and _case_changes(value) >= 6 and not _is(_DOTTED, value) and "/" not in value


def _case_changes(value: str) -> int:
    pairs = itertools.pairwise(value)
    return sum(one.isupper() != two.isupper() for one, two in pairs if one.isalpha() and two.isalpha())


def may_be_password(value: str, *, quoted: bool) -> bool:
    """Say whether a text under a sure name in a document is a password, rather than a word about one.

    Args:
        quoted: it stood in quotes, so that it is no name of a program.
    """
    if len(value) < 3 or is_no_value(value) or value.lower() in _COMMON_WORDS:
        return False
    if is_example(value):
        return False
    if any(character.isspace() for character in value):
        return quoted and _has_digit_and_letter(value) and len(value.split()) <= 3
    if quoted:
        return not _is(_SHELL_VARIABLE, value) and not _is(_EXPRESSION, value)
    if _is(_PATH, value) or _is(_DOTTED, value) or _is(_EXPRESSION, value) or _is(_SHELL_VARIABLE, value):
        return False
    return not value.replace("_", "").replace("-", "").isalpha()


def may_be_token(value: str) -> bool:
    """Say whether a text under a sure name in a document is a generated token or key."""
    return looks_random(value) or (len(value) >= 16 and _UUID.fullmatch(value) is not None)


def is_telling(value: str) -> bool:
    """Say whether a value is so much its own that it may be searched for everywhere in a run."""
    if not 6 <= len(value) <= LONGEST_JUDGED or is_no_value(value) or value.lower() in _COMMON_WORDS:
        return False
    if _is(_DATE_OR_VERSION, value) or _is(_PATH, value):
        return False
    has_letter = any(character.isalpha() for character in value)
    has_other = any(not character.isalpha() and not character.isspace() for character in value)
    if has_letter and has_other:
        return not _is(_IDENTIFIER, value) or any(character.isdigit() for character in value)
    return len(value) >= 16 or (len(value) >= 8 and value.isdigit())


def entropy(value: str) -> float:
    """Return how many bits a character carries, by the text's own frequencies."""
    length = len(value)
    return -sum(count / length * log2(count / length) for count in Counter(value).values())


def is_hash_or_id(value: str) -> bool:
    """Say whether a text is a digest, a commit or a UUID, all of which look random and are public."""
    return _HEX.fullmatch(value) is not None or _UUID.fullmatch(value) is not None


def _has_digit_and_letter(value: str) -> bool:
    return any(character.isdigit() for character in value) and any(character.isalpha() for character in value)


__all__ = [
    "entropy",
    "is_example",
    "is_hash_or_id",
    "is_no_value",
    "is_telling",
    "looks_random",
    "may_be_password",
    "may_be_token",
]
