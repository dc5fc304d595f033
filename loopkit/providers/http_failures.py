"""What went wrong between us and a model server, as one line that says what to do (spec/loop.md 9.2).

No message holds a key: whatever the server echoes is cleaned of the secrets that were sent.
"""

from __future__ import annotations

import errno
import json
import math
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit, urlunsplit

from loopkit.errors import ProviderError
from loopkit.messages import Message

LONGEST_CONNECT = 15.0
_REFUSED = "connection refused"
_RETRYABLE = (408, 409, 425, 429)
_NO_QUOTA = "insufficient_quota"
SERVER_FAILED = "the server failed: try again, and look into its log if it stays so"
_CHECK_REQUEST = "check the model's name and the request's settings"
_LONGEST = 400
# words that follow `key` in a sentence hold no digit, and no key is without one
_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|rk)[-_ ]|(?:key|Bearer)[-_ ](?=[^\s\d*]*[\d*]))[A-Za-z0-9_*.-]{8,}")
_HISTORY_PLACE = re.compile(r"\b(?:messages\W{0,3}|input\[)(\d+)")
_ADVICE_TO_RETRY = {"true": True, "false": False}
_LASTING_CODE = re.compile(
    "quota|billing|invalid_|unsupported_|not_found|permission|authentication|too_large|context_length|policy|image"
)


def public_url(url: str) -> str:
    """Return an address without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def without_keys(text: str, secrets: Iterable[str]) -> str:
    """Return foreign text without the secrets and without anything that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return _KEY_LIKE.sub("[key]", text)


def cleaned(text: str, secrets: Iterable[str]) -> str:
    """Return foreign text as one short line without keys."""
    line = " ".join(without_keys(text, secrets).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


@dataclass(frozen=True)
class Server:
    """What an error message may say of a server, and what it must not.

    Args:
        address: the base URL without secrets.
        path: what follows the base URL.
        base_advice: what to do about a wrong base URL, by where it came from.
        key_source: where the key came from, or should: an environment variable or an argument.
        secrets: what is taken out of whatever the server says.
    """

    address: str
    path: str
    base_advice: str
    key_source: str
    secrets: tuple[str, ...] = field(default=(), repr=False)


def refusal(
    status: int,
    headers: Mapping[str, str],
    body: str,
    server: Server,
    *,
    messages: Sequence[Message],
    entries_at: Callable[[int], Iterable[int]],
) -> ProviderError:
    """Build the error for an HTTP answer that is no success.

    Args:
        headers: with names in lower case.
        body: its text, or the beginning of it.
        messages: the history that was sent; a 400 names the entry that it is about (spec/faults.md a39).
        entries_at: which entries of the history stand in one of the request's, both counted from 0.
    """
    said, code = _said(body)
    told = f": {cleaned(said, server.secrets)}" if said else ""
    named = _named_entry(said, messages, entries_at)
    told_to_retry = _ADVICE_TO_RETRY.get(headers.get("x-should-retry", "").lower())
    return ProviderError(
        f"{server.address} answered {status}{told}{named}; {_advice(status, code, headers, server)}",
        status=status,
        retry_after=retry_after(headers),
        request_id=request_id(headers),
        # a used-up quota is a 429 that waiting does not mend
        retryable=told_to_retry
        if told_to_retry is not None
        else (status in _RETRYABLE or status >= 500) and code != _NO_QUOTA,
    )


def error_in_answer(body: object, headers: Mapping[str, str], server: Server) -> ProviderError:
    """Build the error for one that came inside an answer of status 200."""
    said, code = _said(json.dumps(body))
    status = int(code) if code.isdecimal() and 400 <= int(code) < 600 else None
    refused = status is not None and status not in _RETRYABLE and status < 500
    lasting = refused or _LASTING_CODE.search(code) is not None
    told = cleaned(said or "no reason given", server.secrets)
    advice = _advice(status or (400 if lasting else 500), code, headers, server)
    return ProviderError(
        f"{server.address} broke off its answer with an error: {told}; {advice}",
        status=status,
        request_id=request_id(headers),
        retryable=not lasting,
        unreported=True,
    )


def unreachable(error: BaseException, server: Server, *, seconds: float) -> ProviderError:
    """Build the error for a request that got no whole answer.

    Args:
        seconds: the time limit that was set.
    """
    kind = type(error).__name__
    cause = cleaned(_cause(error), server.secrets)
    if kind == "ConnectTimeout":
        waited = min(seconds, LONGEST_CONNECT)
        doubt = "is the address right"
        message = f"can't reach {server.address} (no answer for {waited:g} s): {doubt}? {server.base_advice}"
    elif kind.endswith("Timeout"):
        message = f"no word from {server.address} for {seconds:g} s: is it overloaded? try again, or give it a longer timeout="
    elif kind in ("ConnectError", "UnsupportedProtocol", "ProxyError", "InvalidURL"):
        doubt = "is the server running" if cause == _REFUSED else "is the address right"
        message = f"can't reach {server.address} ({cause}): {doubt}? {server.base_advice}"
    else:
        message = f"the connection to {server.address} broke before the answer was whole ({cause}); {SERVER_FAILED}"
    sent = kind not in (
        "ConnectTimeout",
        "PoolTimeout",
        "ConnectError",
        "UnsupportedProtocol",
        "ProxyError",
        "InvalidURL",
    )
    return ProviderError(message, retryable=kind not in ("UnsupportedProtocol", "InvalidURL"), unreported=sent)


def request_id(headers: Mapping[str, str]) -> str | None:
    """Return the id that the server gave the request, or None."""
    return headers.get("x-request-id") or headers.get("request-id")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait (RFC 9110 §10.2.3), or None; dates count from its own clock."""
    seconds = _number(headers.get("retry-after-ms"), 0.001)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), 1.0)
    if seconds is None and "retry-after" in headers:
        then, now = _timestamp(headers["retry-after"]), _timestamp(headers.get("date", ""))
        seconds = None if then is None else then - (time.time() if now is None else now)
    return None if seconds is None else max(seconds, 0.0)


def _number(text: str | None, unit: float) -> float | None:
    try:
        value = float(text or "") * unit
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _timestamp(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _advice(status: int, code: str, headers: Mapping[str, str], server: Server) -> str:
    if status in (401, 403):
        return f"is {server.key_source} right, and may it use this model?"
    if status == 404:
        return f"is the model's name right, and does the base URL end where {server.path} follows?"
    if status == 429 or code == _NO_QUOTA:
        return _advice_to_wait(code, retry_after(headers))
    if status >= 500 or status in _RETRYABLE:
        return SERVER_FAILED
    if 300 <= status < 400:
        target = cleaned(public_url(headers.get("location", "")), server.secrets)
        return f"set the base URL to where it points: {target}"
    return _CHECK_REQUEST


def _advice_to_wait(code: str, seconds: float | None) -> str:
    if code == _NO_QUOTA:
        return "the account's quota is used up: raise it, or use another key"
    waiting = "wait" if seconds is None else f"wait {math.ceil(seconds)} s"
    return f"{waiting} and try again, or send fewer requests at a time"


def _named_entry(said: str, messages: Sequence[Message], entries_at: Callable[[int], Iterable[int]]) -> str:
    found = _HISTORY_PLACE.search(said)
    places = list(entries_at(int(found[1]))) if found and len(found[1]) < 9 else []
    if not places:
        return ""
    which = f"entry {places[0]}" if len(places) == 1 else f"entries {places[0]} to {places[-1]}"
    described = ", ".join(_described(messages[place]) for place in places)
    return f" (history {which}, counted from 0: {cleaned(described, ())})"


def _described(message: Message) -> str:
    calls = ", ".join(call.name for call in message.tool_calls)
    answers = ", ".join(result.tool_call_id for result in message.tool_results)
    detail = f" that calls {calls}" if calls else f" for call {answers}" if answers else ""
    return f"{message.role} message{detail}"


def _said(body: str) -> tuple[str, str]:
    """Return what an error body says, and its code."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return (without_markup(body), "")
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return (str(value), "")
    inner = value.get("error")
    source = inner if isinstance(inner, dict) else value
    texts = [source.get(name) for name in ("message", "detail", "error", "title")]
    said = next((text if isinstance(text, str) else json.dumps(text) for text in texts if text), "")
    param = source.get("param")
    if isinstance(param, str) and param and param not in said:
        said = f"{said} (at {param})"
    return (said, str(source.get("code") or source.get("type") or ""))


def without_markup(body: str) -> str:
    if "<html" not in body[:1000].lower() and "<!doctype" not in body[:1000].lower():
        return body
    title = re.search(r"<title[^>]*>([^<]{0,200})", body, re.IGNORECASE)
    return f"a web page{f' ({title[1].strip()})' if title else ''}"


def _cause(error: BaseException) -> str:
    for each in _chain(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {each.verify_message}"
        if isinstance(each, ssl.SSLError):
            return "no TLS there: http:// instead of https://?"
        if isinstance(each, socket.gaierror):
            return "no such host"
        if isinstance(each, ConnectionRefusedError) or getattr(each, "errno", None) == errno.ECONNREFUSED:
            return _REFUSED
    return str(error) or type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop(0)
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [inner for inner in (each.__cause__, each.__context__) if inner is not None]
            waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


__all__ = [
    "LONGEST_CONNECT",
    "SERVER_FAILED",
    "Server",
    "cleaned",
    "error_in_answer",
    "public_url",
    "refusal",
    "request_id",
    "retry_after",
    "unreachable",
    "without_keys",
    "without_markup",
]
