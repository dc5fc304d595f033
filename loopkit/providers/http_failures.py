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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit, urlunsplit

from loopkit.errors import ProviderError
from loopkit.messages import Message

LONGEST_CONNECT = 15.0
_REFUSED = "connection refused"
_RETRYABLE = (408, 409, 425, 429)
_LONGEST = 400
_KEY_LIKE = re.compile(r"\b(sk|pk|rk|key|Bearer)[-_ ][A-Za-z0-9_*.-]{8,}")
_HISTORY_PLACE = re.compile(r"messages\W{0,3}(\d+)")


def public_url(url: str) -> str:
    """Return an address without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def cleaned(text: str, secrets: Iterable[str]) -> str:
    """Return foreign text as one short line without the secrets and without anything that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    line = " ".join(_KEY_LIKE.sub("[key]", text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def refusal(
    status: int,
    headers: Mapping[str, str],
    body: str,
    *,
    server: str,
    key_name: str,
    messages: Sequence[Message],
    secrets: Iterable[str] = (),
) -> ProviderError:
    """Build the error for an HTTP answer that is no success.

    Args:
        headers: with names in lower case.
        body: its text, or the beginning of it.
        server: the address without secrets.
        key_name: the environment variable that holds the key.
        messages: the history that was sent; a 400 names the entry that it is about (spec/faults.md a39).
    """
    said, code = _said(body)
    told = f": {cleaned(said, secrets)}" if said else ""
    advice = _advice(status, headers, key_name, secrets) + _named_entry(said, messages)
    return ProviderError(
        f"{server} answered {status}{told}{advice}",
        status=status,
        retry_after=retry_after(headers),
        request_id=headers.get("x-request-id"),
        # a used-up quota is a 429 that waiting does not mend
        retryable=(status in _RETRYABLE or status >= 500) and code != "insufficient_quota",
    )


def error_in_answer(
    body: object, headers: Mapping[str, str], *, server: str, secrets: Iterable[str] = ()
) -> ProviderError:
    """Build the error for one that came inside an answer of status 200."""
    said, code = _said(json.dumps(body))
    status = int(code) if code.isdecimal() and 400 <= int(code) < 600 else None
    lasting = status is not None and status not in _RETRYABLE and status < 500
    return ProviderError(
        f"{server} broke off its answer with an error: {cleaned(said or 'no reason given', secrets)}",
        status=status,
        request_id=headers.get("x-request-id"),
        retryable=not lasting and code not in ("insufficient_quota", "invalid_request_error"),
    )


def unreachable(
    error: BaseException, *, server: str, base_name: str, seconds: float, secrets: Iterable[str] = ()
) -> ProviderError:
    """Build the error for a request that got no whole answer.

    Args:
        base_name: the environment variable that holds the address.
        seconds: the time limit that was set.
    """
    kind = type(error).__name__
    cause = cleaned(_cause(error), secrets)
    if kind == "ConnectTimeout":
        waited = min(seconds, LONGEST_CONNECT)
        message = f"can't reach {server} (no answer for {waited:g} s): is the address right? set {base_name}"
    elif kind.endswith("Timeout"):
        message = f"no word from {server} for {seconds:g} s: is it overloaded? give it a longer timeout="
    elif kind in ("ConnectError", "UnsupportedProtocol", "ProxyError", "InvalidURL"):
        question = "is the server running" if cause == _REFUSED else "is the address right"
        message = f"can't reach {server} ({cause}): {question}? set {base_name}"
    else:
        message = f"the connection to {server} broke before the answer was whole ({cause})"
    return ProviderError(message, retryable=kind not in ("UnsupportedProtocol", "InvalidURL"))


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


def _advice(status: int, headers: Mapping[str, str], key_name: str, secrets: Iterable[str]) -> str:
    if status in (401, 403):
        return f"; is {key_name} right, and may it use this model?"
    if status == 404:
        return "; is the model's name right, and does the base URL end where /chat/completions follows?"
    if 300 <= status < 400:
        return f"; set the base URL to where it points: {cleaned(public_url(headers.get('location', '')), secrets)}"
    return ""


def _named_entry(said: str, messages: Sequence[Message]) -> str:
    found = _HISTORY_PLACE.search(said)
    place = int(found[1]) if found and len(found[1]) < 9 else len(messages)
    if place >= len(messages):
        return ""
    message = messages[place]
    calls = ", ".join(call.name for call in message.tool_calls)
    answers = ", ".join(result.tool_call_id for result in message.tool_results)
    detail = f" that calls {calls}" if calls else f" for call {answers}" if answers else ""
    return f" (history entry {place}, counted from 0: {cleaned(f'{message.role} message{detail}', ())})"


def _said(body: str) -> tuple[str, str]:
    """Return what an error body says, and its code."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return (_without_markup(body), "")
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


def _without_markup(body: str) -> str:
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


__all__ = ["LONGEST_CONNECT", "cleaned", "error_in_answer", "public_url", "refusal", "retry_after", "unreachable"]
