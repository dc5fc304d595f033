"""Secrets that give themselves away by their shape: prefixes that services put on their keys, and a few structures.

One scan finds how prefixes begin, at the beginnings of words only; what follows is then matched against those shapes alone.
All expressions are linear: no repetition stands in a repetition, and what may follow differs from what may repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_DIGIT = re.compile("[0-9]").search
_KEY = r"[A-Za-z0-9_\-]"
# in JSON a word may begin behind the letter of an escape: `\nghp_…`
AFTER_ESCAPE = r"(?<=\\[nrt])"
_END = "(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret.

    Args:
        rule: what placeholders call it.
        heads: the first three characters of all that `prefix` allows; none for those with a mark of their own.
        prefix: how it begins.
        tail: what follows; its first group is the secret, or prefix and tail when there is none.
        may_be_words: whether letters alone are enough.
    """

    rule: str
    heads: str
    prefix: str
    tail: str
    may_be_words: bool = False


SHAPES = (
    # clouds
    Shape("api_key", "AKI ASI ABI ACC", "AKIA|ASIA|ABIA|ACCA", "[A-Z2-7]{16}" + _END),
    Shape("api_key", "AIz", "AIza", _KEY + "{30,}"),
    Shape("token", "ya2", r"ya29\.", _KEY + "{20,}"),
    Shape("secret", "GOC", "GOCSPX-", _KEY + "{20,}"),
    Shape("token", "1//", "1//0", _KEY + "{30,}"),
    Shape("api_key", "LTA", "LTAI", "[A-Za-z0-9]{16,24}" + _END),
    Shape("token", "doo dop dor", "do[opr]_v1_", "[a-f0-9]{40,}"),
    # code and packages
    Shape("token", "ghp gho ghu ghs ghr", "gh[pousr]_", "[A-Za-z0-9]{20,}"),
    Shape("token", "git", "github_pat_", "[A-Za-z0-9_]{30,}"),
    Shape("token", "glp glr gld glf gls gla glc", "gl(?:pat|ptt|rt|dt|ft|soat|agent|cbt)-", r"[A-Za-z0-9_\-.]{18,}"),
    Shape("token", "npm", "npm_", "[A-Za-z0-9]{30,}"),
    Shape("token", "pyp", "pypi-", _KEY + "{40,}"),
    Shape("token", "rub", "rubygems_", "[a-f0-9]{40,}"),
    Shape("token", "dck", "dckr_(?:pat|oat)_", _KEY + "{20,}"),
    Shape("token", "ATA ATB ATC", "ATATT3|ATBB|ATCTT3", r"[A-Za-z0-9_\-=]{24,}"),
    Shape("token", "lin", "lin_(?:api|oauth)_", "[A-Za-z0-9]{30,}"),
    Shape("token", "snt", "sntry[su]_", r"[A-Za-z0-9_\-+/=.]{30,}"),
    Shape("token", "gls glc", "gl(?:sa|c)_", "[A-Za-z0-9_+/=]{30,}"),
    Shape("token", "PMA", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{20,}"),
    Shape("api_key", "NRA", "NRAK-", "[A-Z0-9]{24,}"),
    # models
    Shape("api_key", "sk-", "sk-", _KEY + "{18,}"),
    Shape("api_key", "gsk xai ppl csk fw_", "gsk_|xai-|pplx-|csk-|fw_", "[A-Za-z0-9]{24,}"),
    Shape("api_key", "tvl fc- jin nva r8_ voy pa-", "tvly-|fc-|jina_|nvapi-|r8_|voyage-|pa-", _KEY + "{24,}"),
    Shape("token", "hf_ api", "hf_|api_org_", "[A-Za-z0-9]{30,}"),
    # services
    Shape("token", "xox xap", "xox[abceoprs]-|xapp-", r"[A-Za-z0-9\-]{16,}"),
    Shape("api_key", "sk_ pk_ rk_ whs", "[spr]k_(?:live|test|prod)_|whsec_", "[A-Za-z0-9+/=]{16,}"),
    Shape("api_key", "SG.", r"SG\.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    Shape("api_key", "key", "key-", "[a-f0-9]{32}" + _END),
    Shape("token", "shp", "shp(?:at|ca|pa|ss)_", "[A-Fa-f0-9]{32,}"),
    Shape("token", "sq0", "sq0(?:atp|csp|idp)-", _KEY + "{22,}"),
    Shape("token", "EAA", "EAA[A-Z]", _KEY + "{54,}"),
    Shape("token", "sec ntn", "secret_|ntn_", "[A-Za-z0-9]{40,}"),
    Shape(
        "token",
        "fig sbp nfp psc rnd hvs hvb",
        r"figd_|sbp_|nfp_|pscale_(?:tkn|oauth|pw)_|rnd_|hvs\.|hvb\.",
        r"[A-Za-z0-9_\-.]{24,}",
    ),
    Shape("token", "dap", "dapi", r"[a-f0-9]{32}(?:-\d)?" + _END),
    Shape("token", "tsk dp. pul ops", r"tskey-|dp\.(?:pt|st|ct|sa)\.|pul-|ops_eyJ", r"[A-Za-z0-9\-_.]{20,}"),
    Shape("private_key", "AGE", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    Shape("token", "", "[0-9]{8,10}:AA", r"[A-Za-z0-9_\-]{32,34}(?![A-Za-z0-9_\-])"),
    Shape("secret", "htt", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/", r"([A-Za-z0-9_\-/]{20,})"),
    Shape("secret", "htt", r"https://discord(?:app)?\.com/api/webhooks/", r"([A-Za-z0-9_\-/]{20,})"),
    # structures
    Shape("token", "eyJ", "eyJ", rf"{_KEY}{{10,}}\.eyJ{_KEY}{{8,}}(?:\.{_KEY}{{8,}})?", may_be_words=True),
    Shape(
        "private_key",
        "",
        "-----BEGIN ",
        r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){20,})",
        may_be_words=True,
    ),
    Shape("token", "Bea bea", "[Bb]earer", r"[ :]{1,2}([A-Za-z0-9._~+/\-]{16,}={0,2})"),
)
_WHOLE = tuple(re.compile(f"(?:{shape.prefix}){shape.tail}") for shape in SHAPES)
_MARKED = tuple(
    (mark, shape, re.compile(f"(?:(?<![A-Za-z0-9])|{AFTER_ESCAPE})(?:{shape.prefix}){shape.tail}"))
    for mark, shape in zip((":AA", "PRIVATE KEY"), (shape for shape in SHAPES if not shape.heads), strict=True)
)


def _by_head() -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, shape in enumerate(SHAPES):
        for head in shape.heads.split():
            places.setdefault(head, []).append(place)
    return places


def _any_head(heads: Iterable[str], begins: str) -> re.Pattern[str]:
    """Return an expression for the heads at the beginnings of words, by their first characters: a third of the cost.

    Args:
        begins: an expression for the beginning of a word.
    """
    by_first: dict[str, set[str]] = {}
    for head in heads:
        by_first.setdefault(head[0], set()).add(re.escape(head[1:]))
    any_of_them = "|".join(f"{one}(?:{'|'.join(sorted(rest))})" for one, rest in by_first.items())
    return re.compile(f"{begins}(?:{any_of_them})")


_BY_HEAD = _by_head()
_HEAD = _any_head(_BY_HEAD, r"\b")
_HEAD_IN_ESCAPES = _any_head(_BY_HEAD, rf"(?:\b|{AFTER_ESCAPE})")


def found_shapes(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and rule of every secret that shows by its shape."""
    # generated keys have digits: few texts without any are read twice
    if _DIGIT(text) is None:
        return []
    found = []
    heads = _HEAD_IN_ESCAPES if "\\" in text else _HEAD
    head = heads.search(text)
    while head is not None:
        secret = _secret_at(text, head)
        if secret is not None:
            found.append(secret)
        head = heads.search(text, head.end() if secret is None else secret[1])
    for mark, shape, expression in _MARKED:
        if mark in text:
            found += ((*match.span(expression.groups), shape.rule) for match in expression.finditer(text))
    return found


def _secret_at(text: str, head: re.Match[str]) -> tuple[int, int, str] | None:
    for place in _BY_HEAD[head[0]]:
        whole = _WHOLE[place].match(text, head.start())
        if whole is not None:
            start, end = whole.span(whole.re.groups)
            if SHAPES[place].may_be_words or _is_no_word(text[start:end]):
                return start, end, SHAPES[place].rule
    return None


def _is_no_word(secret: str) -> bool:
    """Let pass what only looks like a key: `sk-learn-contrib-and-more`, `key-value-pairs-of-a-table`."""
    if any(character.isdigit() for character in secret):
        return len(set(secret)) > 5
    return any(character.islower() for character in secret) and sum(character.isupper() for character in secret) >= 4


__all__ = ["SHAPES", "Shape", "found_shapes"]
