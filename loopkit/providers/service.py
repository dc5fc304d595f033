"""Where a dialect is spoken: addresses, keys and headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from loopkit.errors import AgentBuildError
from loopkit.known_secrets import redact_if_long, redact_named
from loopkit.providers.json_lines import JSONLinesReader
from loopkit.providers.sse import SSEReader

_SHORTEST_SECRET = 6
Framing: TypeAlias = type[SSEReader] | type[JSONLinesReader]


@dataclass(frozen=True)
class Service:
    """Where a dialect is spoken, and how its requests are dressed.

    Args:
        example: a `provider:model` for error messages.
        home: the base URL when none is given.
        path: what follows the base URL.
        base_may_end: endings of a base URL that `path` begins with, dropped so that they aren't there twice.
        base_name: the environment variable of the base URL.
        key_name: the environment variable of the key.
        key_header: the header of the key.
        key_prefix: what stands before the key in it.
        headers: further headers of every request.
        framing: how a streamed answer is cut into pieces.
    """

    example: str
    home: str
    path: str
    base_may_end: tuple[str, ...]
    base_name: str
    key_name: str
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)
    framing: Framing = SSEReader

    def check_address(self, base_url: str) -> None:
        """Refuse what is no address.

        Raises:
            AgentBuildError: it is none.
        """
        try:
            parts = urlsplit(base_url)
            # the port is read only here, and a wrong one is a ValueError
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            shown = base_url.rpartition("@")[2].partition("?")[0]
            raise AgentBuildError(
                f"the base URL {shown!r} is no http:// or https:// address; set {self.base_name} or base_url="
            )

    def base_advice(self, source: Literal["argument", "environment", "home"]) -> str:
        """Say what to do about a base URL that doesn't work, by where it came from."""
        match source:
            case "argument":
                return "check base_url"
            case "environment":
                return f"check {self.base_name}"
            case "home":
                return f"set {self.base_name} for another server"

    def endpoint(self, base_url: str) -> str:
        """Return where requests go."""
        parts = urlsplit(base_url)
        path = parts.path.rstrip("/")
        for ending in self.base_may_end:
            path = path.removesuffix(ending)
        return urlunsplit((parts.scheme, parts.netloc, f"{path}{self.path}", parts.query, ""))

    def dressed(self, key: str, further: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request.

        Raises:
            AgentBuildError: one can't be sent.
        """
        headers = {"content-type": "application/json", "user-agent": "loopkit", **self.headers}
        if key:
            headers[self.key_header] = f"{self.key_prefix}{key}"
        headers |= {name.lower(): value for name, value in further.items()}
        for name, value in headers.items():
            # httpx would quote the value in its complaint
            if not (value.isascii() and value.isprintable()):
                what = "the API key" if name in (self.key_header, "authorization") else f"the header {name!r}"
                raise AgentBuildError(
                    f"{what} holds characters that no header can hold; was a line break copied with it?"
                )
        return headers


def secrets_of(key: str, further: Mapping[str, str], base_url: str) -> tuple[str, ...]:
    """Return what no error may show, longest first."""
    password = urlsplit(base_url).password
    found = {key, password or "", *further.values()}
    return tuple(sorted((secret for secret in found if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True))


def keep_out_of_recordings(key: str, further: Mapping[str, str], base_url: str) -> None:
    """Have what identifies the caller hidden in every recording; what only describes them stays."""
    redact_if_long(key, "api_key")
    redact_if_long(unquote(urlsplit(base_url).password or ""), "password")
    redact_named(further)


__all__ = ["Framing", "Service", "keep_out_of_recordings", "secrets_of"]
