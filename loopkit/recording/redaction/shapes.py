"""Secrets that give themselves away by their shape: prefixes that services put on their keys, and a few structures.

One scan finds the prefixes, at the beginnings of words only; what follows one is then matched against that shape alone.
All expressions are linear: no repetition stands in a repetition, and what may follow differs from what may repeat.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIGIT = re.compile("[0-9]").search
_KEY = r"[A-Za-z0-9_\-]"
_END = "(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret.

    Args:
        rule: what placeholders call it.
        prefix: how it begins.
        tail: what follows; its first group is the secret, or prefix and tail when there is none.
        may_be_words: whether letters alone are enough.
    """

    rule: str
    prefix: str
    tail: str
    may_be_words: bool = False


SHAPES = (
    # clouds
    Shape("api_key", "AKIA|ASIA|ABIA|ACCA", "[A-Z2-7]{16}" + _END),
    Shape("api_key", "AIza", _KEY + "{30,}"),
    Shape("token", r"ya29\.", _KEY + "{20,}"),
    Shape("secret", "GOCSPX-", _KEY + "{20,}"),
    Shape("token", "1//0", _KEY + "{30,}"),
    Shape("api_key", "LTAI", "[A-Za-z0-9]{16,24}" + _END),
    Shape("token", "do[opr]_v1_", "[a-f0-9]{40,}"),
    # code and packages
    Shape("token", "gh[pousr]_", "[A-Za-z0-9]{20,}"),
    Shape("token", "github_pat_", "[A-Za-z0-9_]{30,}"),
    Shape("token", "gl(?:pat|ptt|rt|dt|ft|soat|agent|cbt)-", r"[A-Za-z0-9_\-.]{18,}"),
    Shape("token", "npm_", "[A-Za-z0-9]{30,}"),
    Shape("token", "pypi-", _KEY + "{40,}"),
    Shape("token", "rubygems_", "[a-f0-9]{40,}"),
    Shape("token", "dckr_(?:pat|oat)_", _KEY + "{20,}"),
    Shape("token", "ATATT3|ATBB|ATCTT3", r"[A-Za-z0-9_\-=]{24,}"),
    Shape("token", "lin_(?:api|oauth)_", "[A-Za-z0-9]{30,}"),
    Shape("token", "sntry[su]_", r"[A-Za-z0-9_\-+/=.]{30,}"),
    Shape("token", "gl(?:sa|c)_", "[A-Za-z0-9_+/=]{30,}"),
    Shape("token", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{20,}"),
    Shape("api_key", "NRAK-", "[A-Z0-9]{24,}"),
    # models
    Shape("api_key", "sk-", _KEY + "{18,}"),
    Shape("api_key", "gsk_|xai-|pplx-|csk-|fw_", "[A-Za-z0-9]{24,}"),
    Shape("api_key", "tvly-|fc-|jina_|nvapi-|r8_|voyage-|pa-", _KEY + "{24,}"),
    Shape("token", "hf_|api_org_", "[A-Za-z0-9]{30,}"),
    # services
    Shape("token", "xox[abceoprs]-|xapp-", r"[A-Za-z0-9\-]{16,}"),
    Shape("api_key", "[spr]k_(?:live|test|prod)_|whsec_", "[A-Za-z0-9+/=]{16,}"),
    Shape("api_key", r"SG\.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    Shape("api_key", "key-", "[a-f0-9]{32}" + _END),
    Shape("token", "shp(?:at|ca|pa|ss)_", "[A-Fa-f0-9]{32,}"),
    Shape("token", "sq0(?:atp|csp|idp)-", _KEY + "{22,}"),
    Shape("token", "EAA[A-Z]", _KEY + "{54,}"),
    Shape("token", "secret_|ntn_", "[A-Za-z0-9]{40,}"),
    Shape("token", r"figd_|sbp_|nfp_|pscale_(?:tkn|oauth|pw)_|rnd_|hvs\.|hvb\.", r"[A-Za-z0-9_\-.]{24,}"),
    Shape("token", "dapi", r"[a-f0-9]{32}(?:-\d)?" + _END),
    Shape("token", r"tskey-|dp\.(?:pt|st|ct|sa)\.|pul-|ops_eyJ", r"[A-Za-z0-9\-_.]{20,}"),
    Shape("private_key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    Shape("token", "[0-9]{8,10}:AA", r"[A-Za-z0-9_\-]{32,34}(?![A-Za-z0-9_\-])"),
    Shape("secret", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/", r"([A-Za-z0-9_\-/]{20,})"),
    Shape("secret", r"https://discord(?:app)?\.com/api/webhooks/", r"([A-Za-z0-9_\-/]{20,})"),
    # structures
    Shape("token", "eyJ", rf"{_KEY}{{10,}}\.eyJ{_KEY}{{8,}}(?:\.{_KEY}{{8,}})?", may_be_words=True),
    Shape(
        "private_key",
        "-----BEGIN ",
        r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){20,})",
        may_be_words=True,
    ),
    Shape("token", "[Bb]earer", r"[ :]{1,2}([A-Za-z0-9._~+/\-]{16,}={0,2})"),
)
_PREFIXES = re.compile("(?<![A-Za-z0-9])(?:" + "|".join(f"({shape.prefix})" for shape in SHAPES) + ")")
_WHOLE = tuple(re.compile(f"(?:{shape.prefix}){shape.tail}") for shape in SHAPES)


def found_shapes(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and rule of every secret that shows by its shape."""
    # generated keys have digits: few texts without any are read twice
    if _DIGIT(text) is None or (prefix := _PREFIXES.search(text)) is None:
        return []
    found = []
    while prefix is not None:
        place = (prefix.lastindex or 1) - 1
        whole = _WHOLE[place].match(text, prefix.start())
        begin = prefix.end()
        if whole is not None:
            start, end = whole.span(whole.re.groups)
            if SHAPES[place].may_be_words or _is_no_word(text[start:end]):
                found.append((start, end, SHAPES[place].rule))
                begin = end
        prefix = _PREFIXES.search(text, begin)
    return found


def _is_no_word(secret: str) -> bool:
    """Let pass what only looks like a key: `sk-learn-contrib-and-more`, `key-value-pairs-of-a-table`."""
    if any(character.isdigit() for character in secret):
        return len(set(secret)) > 5
    return any(character.islower() for character in secret) and sum(character.isupper() for character in secret) >= 4


__all__ = ["SHAPES", "Shape", "found_shapes"]
