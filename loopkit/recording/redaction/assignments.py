"""Secrets that a text gives under a name: JSON in a string, `KEY=value` lines, headers, URLs, flags, markup.

Each expression begins at a name's stem or a fixed mark and has bounded or exclusive parts, so that it is linear.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from loopkit.recording.redaction.names import LONGEST_NAME, Named, named, named_in_url
from loopkit.recording.redaction.shapes import AFTER_ESCAPE
from loopkit.recording.redaction.values import is_example, is_no_value, looks_random, may_be_password, may_be_token

# in lower case; a text that holds none of them names no secret
NAME_STEMS = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "cookie", "jwt", "sess", "phrase", "://")

ESCAPES = ("\\n", "\\r", "\\t")
_STEM = r"(?:pass|pwd|secret|token|key|auth|cred|cookie|jwt|sessionid|sessid|mnemonic|phrase|otp|pat|bearer)"
_NAME_TAIL = r"[A-Za-z0-9_.\-]{0,40}"
_QUOTE = r"\\{0,15}[\"'`]"
_PAIR = re.compile(
    _STEM
    + _NAME_TAIL
    + rf"(?P<close>{_QUOTE})?\]?[ \t]{{0,20}}(?P<sep>=>|:=|==?|\(|\||:[ \t]{{0,3}}[A-Za-z_.\[\]|]{{1,30}}[ \t]{{0,3}}=(?!=)|:)[ \t]{{0,20}}(?P<list>\[[ \t\n]{{0,20}})?"
    + r"(?:[bfru]{0,2}(?P<quote>\\{0,15}(?:\"\"\"|[\"'`]))|(?P<bare>[^\s\"'`\\]))",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_.\-]*$")
# as long as anything that is judged; what is accepted is read to its end
_BARE_LINE = re.compile(r"[^\s\"'`\\]{1,4200}")
_BARE_WORD = re.compile(r"[^\s\"'`\\,;<>(){}\[\]|&]{1,4200}")
_LONGEST_QUOTED = 65_536
_REST_OF_WORD = re.compile(r"[^\s\"'`\\,;<>(){}\[\]|&]*")
_SCHEME = re.compile(r"(bearer|basic|token|apikey|api-key|digest|negotiate|aws4-hmac-sha256)[ \t]+", re.IGNORECASE)
_HEADER_VALUE = re.compile(r"[^\r\n'`\\]{1,4200}")
_SCHEMES_OF_A_LINE = ("digest", "aws4-hmac-sha256", "negotiate")
_COOKIE = re.compile(
    r"(?:^|[\s\"'`]|\\[nrt])(?:set-)?cookie2?[\"']?[ \t]*:[ \t]*[\"']?([^\r\n\"'`\\]{3,})", re.IGNORECASE | re.MULTILINE
)
_NAME_AND_VALUE = re.compile(
    r"\\{0,4}[\"'](?:name|key|header)\\{0,4}[\"'][ \t]{0,8}:[ \t]{0,8}\\{0,4}[\"']([A-Za-z0-9_.\-]{3,80})\\{0,4}[\"'][ \t\n]{0,40},[ \t\n]{0,40}"
    r"\\{0,4}[\"']value\\{0,4}[\"'][ \t]{0,8}:[ \t]{0,8}(?P<quote>\\{0,4}[\"'])",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"://([^\s/@:\"'<>`\\]{0,128}):([^\s@\"'<>`\\]{1,256})@(?=[A-Za-z0-9\[_.$<{*%-])")
_PORT = re.compile(r"[0-9]{1,5}/")
_USER_ONLY = re.compile(r"://([A-Za-z0-9_\-.~%]{16,256})@(?=[A-Za-z0-9\[])")
_QUERY = re.compile(r"[?&;#]([A-Za-z0-9_.\-]{2,60})=([^\s&;#\"'<>`\\,)}\]|]{4,4096})")
_FLAG = re.compile(
    rf"(?<![A-Za-z0-9-])--?([A-Za-z][A-Za-z0-9_\-]{{2,40}})[ \t]+(?P<quote>{_QUOTE})?([^\s\"'`\\-][^\s\"'`\\]{{2,255}})"
)
_USER_FLAG = re.compile(
    rf"(?<![A-Za-z0-9-])(?:-u|--user|--proxy-user)[ \t=]+(?:{_QUOTE})?[^\s:\"'`\\]{{1,64}}:([^\s\"'`\\]{{3,256}})"
)
_ELEMENT = re.compile(r"<([A-Za-z][A-Za-z0-9_.:\-]{2,60})>([^<>]{3,4096})</")
_NETRC = re.compile(r"\blogin[ \t]+\S{1,128}(?:[ \t\r\n]|\\[nrt])+password[ \t]+([^\s\\]{3,256})", re.IGNORECASE)
_PROSE = re.compile(
    rf"(?:\b|{AFTER_ESCAPE})(password|passphrase|passcode|secret|token|api[ _-]?key|access[ _-]?key|credential)[ \t]+"
    r"(?P<verb>(?:is|was|are|to be|set to|reset to|changed to)[ \t]*:?[ \t]*)?"
    rf"(?:{_QUOTE})?(?P<value>[^\s\"'`\\,;<>()]{{6,256}})",
    re.IGNORECASE,
)


class Assigned(NamedTuple):
    """A secret in a text.

    Args:
        start, end: where it stands.
        rule: which rule hides it.
        depth: how many times its text was escaped as JSON, 0 for not at all.
    """

    start: int
    end: int
    rule: str
    depth: int = 0


NameRule = Callable[[str], Named | None]


def found_assignments(text: str, lowered: str, name_rule: NameRule = named) -> Iterator[Assigned]:
    """Yield the secrets that stand under a name.

    Args:
        lowered: the text in lower case, in which marks are looked for.
        name_rule: what a name says of its value.
    """
    yield from _pairs(text, name_rule)
    if "value" in lowered:
        yield from _named_values(text, name_rule)
    if "cookie" in lowered:
        yield from _cookies(text)
    if "://" in lowered or "?" in lowered or "&" in lowered:
        yield from _in_urls(text, name_rule)
    if " -" in lowered or lowered.startswith("-"):
        yield from _flags(text, name_rule)
    if "</" in lowered:
        yield from _elements(text, name_rule)
    if "login" in lowered:
        yield from (
            Assigned(*match.span(1), "password") for match in _NETRC.finditer(text) if not is_no_value(match[1])
        )
    yield from _prose(text, name_rule)


def accepts(found: Named, value: str, *, quoted: bool) -> bool:
    """Say whether a value under a name in a document is a secret."""
    if not found.sure:
        return looks_random(value)
    if found.rule == "password":
        return may_be_password(value, quoted=quoted)
    return may_be_token(value) or (
        found.rule in ("secret", "private_key", "named") and quoted and may_be_token_with_signs(value)
    )


def may_be_token_with_signs(value: str) -> bool:
    """Say whether a quoted value has the digits, letters and signs of a secret that a person made up."""
    return len(value) >= 6 and may_be_password(value, quoted=False) and any(c.isdigit() for c in value)


# ── names with a sign between them and their values ──────────────────────────────────────────────────────────────────


def _pairs(text: str, name_rule: NameRule) -> Iterator[Assigned]:
    place = 0
    while (match := _PAIR.search(text, place)) is not None:
        place = match.end()
        begins = max(0, match.start() - LONGEST_NAME)
        head = _NAME_BEFORE.search(text, begins, match.start())
        start = match.start() if head is None else head.start()
        if text[start - 1 : start] == "\\" and text[start] in "nrt":
            # the letter of an escape
            start += 1
        name_end = match.start("close") if match["close"] else match.start("sep")
        name = text[start:name_end].rstrip(" \t]")
        found = name_rule(name.strip("-."))
        if found is None:
            # the tail of this name may hide the stem of the one that counts
            place = max(match.start("sep"), match.start() + 1)
            continue
        assigned = _value_of(text, match, name, start, found)
        if assigned is not None:
            place = max(place, assigned.end)
            yield assigned


def _value_of(text: str, match: re.Match[str], name: str, start: int, found: Named) -> Assigned | None:
    if match["sep"] in ("(", "|"):
        found = Named(found.rule, sure=False)
    if found.rule == "cookie":
        return None
    if match["quote"] is None:
        return _bare_value(text, match, name, start, found)
    begin, end = match.end(), _closing(text, match.end(), match["quote"])
    if found.rule == "authorization":
        return _authorization(text, begin, end)
    accepted = accepts(found, text[begin:end], quoted=True)
    return Assigned(begin, end, found.rule, _depth(match["quote"])) if accepted else None


def _bare_value(text: str, match: re.Match[str], name: str, start: int, found: Named) -> Assigned | None:
    begin = match.start("list") if match["list"] else match.start("bare")
    if found.rule == "authorization":
        return _authorization(text, begin, len(text))
    is_tight = match["sep"] == "=" and start + len(name) == match.start("sep") and match.end("sep") == begin
    environment = is_tight and name.isupper() and _begins_word(text, start)
    word = (_BARE_LINE if environment else _BARE_WORD).match(text, begin)
    value = "" if word is None else word[0]
    if environment and not _is_set(value, found):
        return None
    value = value.rstrip(".,:;" if match["sep"] == "=" else ".,:;!?")
    end = begin + len(value)
    accepted = environment or accepts(found, value, quoted=False) or _is_whole_line(text, start, end, value, found)
    if word is None or not value or not accepted:
        return None
    return Assigned(begin, _end_of(text, word, value), found.rule)


def _begins_word(text: str, start: int) -> bool:
    return text[start - 1 : start] in ("", "\n", " ", "\t", '"', "'") or text[max(0, start - 2) : start] in ESCAPES


def _is_whole_line(text: str, start: int, end: int, value: str, found: Named) -> bool:
    """Say whether a password of letters alone stands by itself on a line of settings."""
    if found.rule != "password" or not found.sure or not (len(value) >= 8 and value.islower() and value.isalpha()):
        return False
    line = text[max(0, start - LONGEST_NAME) : start].rpartition("\n")[2].rpartition("\\n")[2]
    ends = text[end : end + 1]
    return not line.strip(" -") and ends in ("", "\n", "\r", "\\") and may_be_password(value, quoted=True)


def _is_set(value: str, found: Named) -> bool:
    """Say whether an environment variable of a secret's name holds one."""
    if not found.sure:
        return looks_random(value)
    is_other = is_no_value(value) or is_example(value) or value.startswith(("/", "./", "$", "~"))
    return len(value) >= 3 and not is_other


def _closing(text: str, begin: int, quote: str) -> int:
    """Return where a quoted value ends: at its own quote, which stands behind as many backslashes as the first."""
    place = begin
    mark = quote.lstrip("\\")
    backslashes = len(quote) - len(mark)
    limit = begin + _LONGEST_QUOTED
    line = text.find("\n", begin, limit) if len(mark) == 1 and mark != "`" else -1
    while True:
        place = text.find(mark, place, limit)
        if place < 0 or (0 <= line < place):
            return line if line >= 0 else min(len(text), limit)
        before = place
        while before > begin and text[before - 1] == "\\":
            before -= 1
        if place - before <= backslashes and (place - before) % 2 == backslashes % 2:
            return before if backslashes else place
        place += 1


def _depth(quote: str) -> int:
    """Return how deep a quote is escaped: `"` 0, `\\"` 1, three backslashes 2."""
    return {0: 0, 1: 1, 2: 1, 3: 2}.get(quote.count("\\"), 2)


def _authorization(text: str, begin: int, end: int) -> Assigned | None:
    scheme = _SCHEME.match(text, begin, end)
    if scheme is not None and scheme[1].lower() in _SCHEMES_OF_A_LINE:
        line = _HEADER_VALUE.match(text, scheme.end(), end)
        return None if line is None else Assigned(*line.span(), "authorization")
    word = _BARE_LINE.match(text, begin if scheme is None else scheme.end(), end)
    if word is None:
        return None
    value = word[0].rstrip(",;)}]")
    basic = scheme is not None and scheme[1].lower() == "basic"
    accepted = may_be_token(value) if scheme is None else _is_credential(value) or (basic and _is_basic(value))
    return Assigned(word.start(), _end_of(text, word, value), "authorization") if accepted else None


def _end_of(text: str, word: re.Match[str], value: str) -> int:
    """Return where an accepted value ends; one that was too long to be judged is hidden whole."""
    if len(value) < len(word[0]):
        return word.start() + len(value)
    rest = _REST_OF_WORD.match(text, word.end())
    return word.end() if rest is None else rest.end()


def _is_credential(value: str) -> bool:
    if is_no_value(value) or len(value) < 6:
        return False
    return looks_random(value) or any(c.isdigit() for c in value) or value.endswith("=") or len(value) >= 16


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value, validate=True)
    except ValueError:
        return False


# ── other forms ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _named_values(text: str, name_rule: NameRule) -> Iterator[Assigned]:
    for match in _NAME_AND_VALUE.finditer(text):
        found = name_rule(match[1])
        if found is None:
            continue
        end = _closing(text, match.end(), match["quote"])
        value = text[match.end() : end]
        if found.rule == "authorization":
            assigned = _authorization(text, match.end(), end)
            if assigned is not None:
                yield assigned
        elif accepts(found, value, quoted=True):
            yield Assigned(match.end(), end, found.rule, _depth(match["quote"]))


def _cookies(text: str) -> Iterator[Assigned]:
    for match in _COOKIE.finditer(text):
        value = match[1].rstrip()
        pair = value.partition(";")[0]
        if "=" in pair and not is_no_value(pair.partition("=")[2]) and not re.search(r"[({<]", pair):
            yield Assigned(match.start(1), match.start(1) + len(value), "cookie")


def _in_urls(text: str, name_rule: NameRule) -> Iterator[Assigned]:
    for match in _USERINFO.finditer(text):
        password = match[2]
        is_word = password.lower() in ("password", "pass", "pw", "pwd", "secret")
        if not is_no_value(password) and not is_word and not _PORT.match(password):
            yield Assigned(*match.span(2), "password")
    for match in _USER_ONLY.finditer(text):
        if looks_random(match[1]):
            yield Assigned(*match.span(1), "token")
    for match in _QUERY.finditer(text):
        found = name_rule(match[1]) or named_in_url(match[1])
        if found is not None and found.rule != "cookie":
            random = looks_random(match[2]) or may_be_token(match[2])
            if random or (found.rule == "password" and may_be_password(match[2], quoted=False)):
                yield Assigned(*match.span(2), found.rule)


def _flags(text: str, name_rule: NameRule) -> Iterator[Assigned]:
    for match in _FLAG.finditer(text):
        found = name_rule(match[1])
        if found is not None and accepts(found, match[3], quoted=match["quote"] is not None):
            yield Assigned(*match.span(3), found.rule)
    for match in _USER_FLAG.finditer(text):
        if not is_no_value(match[1]) and match[1].lower() not in ("password", "pass", "secret"):
            yield Assigned(*match.span(1), "password")


def _elements(text: str, name_rule: NameRule) -> Iterator[Assigned]:
    for match in _ELEMENT.finditer(text):
        found = name_rule(match[1].rpartition(":")[2])
        if found is not None and accepts(found, match[2].strip(), quoted=True):
            yield Assigned(*match.span(2), found.rule)


def _prose(text: str, name_rule: NameRule) -> Iterator[Assigned]:
    for match in _PROSE.finditer(text):
        value = match["value"].rstrip(".,:;!?")
        has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
        found = name_rule(match[1])
        if not has_both or found is None:
            continue
        if looks_random(value) or (match["verb"] and may_be_password(value, quoted=False)):
            yield Assigned(match.start("value"), match.start("value") + len(value), found.rule)


__all__ = ["NAME_STEMS", "Assigned", "accepts", "found_assignments"]
