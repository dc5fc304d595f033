"""Secrets that give themselves away by their shape: prefixes that services put on their keys, and a few structures.

Each shape has a stem in lower case that its text holds, so that an ordinary text is passed over without an expression.
All expressions are linear: no repetition stands in a repetition, and what may follow differs from what may repeat.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret.

    Args:
        rule: what placeholders call it.
        stems: one of them, in lower case, stands in every text that holds the secret.
        expression: finds it; its first group is the secret, or all of it when there is none.
        needs_digit: words of the same form are let pass.
    """

    rule: str
    stems: tuple[str, ...]
    expression: re.Pattern[str]
    needs_digit: bool = True


_BEFORE = r"(?<![A-Za-z0-9])"
_KEY = r"[A-Za-z0-9_\-]"


def _prefixed(rule: str, prefix: str, tail: str, *stems: str) -> Shape:
    return Shape(rule, stems, re.compile(_BEFORE + f"(?:{prefix})" + tail))


SHAPES = (
    # clouds
    _prefixed("api_key", "AKIA|ASIA|ABIA|ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])", "akia", "asia", "abia", "acca"),
    _prefixed("api_key", "AIza", _KEY + "{30,}", "aiza"),
    _prefixed("token", r"ya29\.", _KEY + "{20,}", "ya29."),
    _prefixed("secret", "GOCSPX-", _KEY + "{20,}", "gocspx-"),
    _prefixed("token", r"1//0", _KEY + "{30,}", "1//0"),
    _prefixed("api_key", "LTAI", "[A-Za-z0-9]{16,24}(?![A-Za-z0-9])", "ltai"),
    _prefixed("token", "do[opr]_v1_", "[a-f0-9]{40,}", "do_v1", "dop_v1_", "doo_v1_", "dor_v1_"),
    # code and packages
    _prefixed("token", "gh[pousr]_", "[A-Za-z0-9]{20,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _prefixed("token", "github_pat_", "[A-Za-z0-9_]{30,}", "github_pat_"),
    _prefixed(
        "token",
        "gl(?:pat|ptt|rt|dt|ft|soat|agent|cbt)-",
        r"[A-Za-z0-9_\-.]{18,}",
        "glpat-",
        "glptt-",
        "glrt-",
        "gldt-",
        "glft-",
    ),
    _prefixed("token", "npm_", "[A-Za-z0-9]{30,}", "npm_"),
    _prefixed("token", "pypi-", _KEY + "{40,}", "pypi-"),
    _prefixed("token", "rubygems_", "[a-f0-9]{40,}", "rubygems_"),
    _prefixed("token", "dckr_(?:pat|oat)_", _KEY + "{20,}", "dckr_"),
    _prefixed("token", "ATATT3|ATBB|ATCTT3", r"[A-Za-z0-9_\-=]{24,}", "atatt3", "atbb", "atctt3"),
    _prefixed("token", "lin_(?:api|oauth)_", "[A-Za-z0-9]{30,}", "lin_api_", "lin_oauth_"),
    _prefixed("token", "sntry[su]_", r"[A-Za-z0-9_\-+/=.]{30,}", "sntrys_", "sntryu_"),
    _prefixed("token", "gl(?:sa|c)_", r"[A-Za-z0-9_+/=]{30,}", "glsa_", "glc_"),
    _prefixed("token", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{20,}", "pmak-"),
    _prefixed("api_key", "NRAK-", "[A-Z0-9]{24,}", "nrak-"),
    # models
    _prefixed("api_key", "sk-", r"[A-Za-z0-9_\-]{18,}", "sk-"),
    _prefixed("api_key", "gsk_|xai-|pplx-|csk-|fw_", "[A-Za-z0-9]{24,}", "gsk_", "xai-", "pplx-", "csk-", "fw_"),
    _prefixed("api_key", "tvly-|fc-|jina_|nvapi-|r8_|voyage-|pa-", _KEY + "{24,}", "tvly-", "jina_", "nvapi-", "r8_"),
    _prefixed("token", "hf_|api_org_", "[A-Za-z]{30,}|hf_[A-Za-z0-9]{30,}", "hf_", "api_org_"),
    # services
    _prefixed("token", "xox[abceoprs]-|xapp-", r"[A-Za-z0-9\-]{16,}", "xox", "xapp-"),
    _prefixed(
        "api_key",
        "[spr]k_(?:live|test|prod)_|whsec_",
        r"[A-Za-z0-9+/=]{16,}",
        "k_live_",
        "k_test_",
        "k_prod_",
        "whsec_",
    ),
    _prefixed("api_key", r"SG\.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}", "sg."),
    _prefixed("api_key", "key-", "[a-f0-9]{32}(?![A-Za-z0-9])", "key-"),
    _prefixed("token", "shp(?:at|ca|pa|ss)_", "[A-Fa-f0-9]{32,}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _prefixed("token", "sq0(?:atp|csp|idp)-|EAAA", _KEY + "{22,}", "sq0", "eaaa"),
    _prefixed("token", "EAA[A-Z]", "[A-Za-z0-9]{60,}", "eaa"),
    _prefixed("token", "(?:secret|ntn)_", "[A-Za-z0-9]{40,}", "secret_", "ntn_"),
    _prefixed(
        "token",
        "figd_|sbp_|nfp_|pscale_(?:tkn|oauth|pw)_|rnd_|hvs\\.|hvb\\.",
        r"[A-Za-z0-9_\-.]{24,}",
        "figd_",
        "sbp_",
        "nfp_",
        "pscale_",
        "rnd_",
        "hvs.",
        "hvb.",
    ),
    _prefixed("token", "dapi", r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])", "dapi"),
    _prefixed(
        "token",
        "tskey-|dp\\.(?:pt|st|ct|sa)\\.|pul-|ops_eyJ",
        r"[A-Za-z0-9\-_.]{20,}",
        "tskey-",
        "dp.pt.",
        "dp.st.",
        "dp.ct.",
        "dp.sa.",
        "pul-",
        "ops_eyj",
    ),
    _prefixed("private_key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}", "age-secret-key-1"),
    _prefixed("token", r"[0-9]{8,10}:AA", r"[A-Za-z0-9_\-]{32,34}(?![A-Za-z0-9_\-])", ":aa"),
    Shape(
        "secret",
        ("hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        re.compile(
            r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/([A-Za-z0-9_\-/]{20,})"
        ),
    ),
    # structures
    Shape(
        "token",
        ("eyj",),
        re.compile(_BEFORE + r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]{8,})?"),
        needs_digit=False,
    ),
    Shape(
        "private_key",
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){20,})(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
        needs_digit=False,
    ),
    Shape("token", ("bearer",), re.compile(r"\b[Bb]earer[ :]{1,2}([A-Za-z0-9._~+/\-]{16,}={0,2})")),
)


def found_shapes(text: str, lowered: str) -> list[tuple[int, int, str]]:
    """Return start, end and rule of every secret that shows by its shape.

    Args:
        lowered: the text in lower case, in which stems are looked for.
    """
    found = []
    for shape in SHAPES:
        for stem in shape.stems:
            if stem in lowered:
                found += _matches(shape, text)
                break
    return found


def _matches(shape: Shape, text: str) -> list[tuple[int, int, str]]:
    group = shape.expression.groups
    return [
        (*match.span(group), shape.rule)
        for match in shape.expression.finditer(text)
        if not shape.needs_digit or _is_no_word(match[group])
    ]


def _is_no_word(secret: str) -> bool:
    """Let pass what only looks like a key: `sk-learn-contrib-and-more`, `key-value-pairs-of-a-table`."""
    if any(character.isdigit() for character in secret):
        return len(set(secret)) > 5
    return any(character.islower() for character in secret) and sum(character.isupper() for character in secret) >= 4


__all__ = ["SHAPES", "Shape", "found_shapes"]
