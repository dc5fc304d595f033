"""Tells by its name whether a value is a secret: arguments, JSON keys, headers, environment variables, flags."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

LONGEST_NAME = 80


class Named(NamedTuple):
    """What a name says of its value.

    Args:
        rule: the rule that hides it.
        sure: whatever the value looks like; else only when it looks like a key.
    """

    rule: str
    sure: bool


_PASSWORDS = frozenset(
    "password passwd passphrase passcode pwd passwort motdepasse contrasena userpass sshpass".split()
)
_BEFORE_PASS = frozenset(
    "admin auth basic bind db email ftp http imap keystore ldap login mail mongo mongodb mysql pg postgres proxy "
    "rabbitmq redis root smtp ssh sudo user vnc wifi".split()
)
_TOKENS = frozenset(
    "token jwt jwttoken accesstoken authtoken refreshtoken bearertoken idtoken apitoken csrftoken".split()
)
_TOKENS |= frozenset("xsrftoken usertoken securitytoken sessiontoken phpsessid jsessionid sessionid bearer".split())
# words that make a token one of text or of paging, and no secret
_NO_SECRET_TOKEN = frozenset(
    "bos cls column comma continuation cursor end eos expected first image invalid last lex mask max next new pad page "
    "pagination per prev previous resume sep special start stop string symbol sync tokenizer type unexpected unk".split()
)
_SURE_KEYS = frozenset(
    "access account admin api auth authentication consumer crypto encryption encrypt hmac master private rsa secret "
    "shared sign signing ssh storage".split()
)
_POSSIBLE_KEYS = frozenset(
    "anthropic app application aws azure azureml client cloudflare cohere datadog deepseek deploy function gemini github "
    "gitlab google groq hf host huggingface integration license mailgun maps mistral openai openrouter pinecone project sas "
    "sendgrid sentry serper service session slack stripe subscription tavily twilio user webhook write".split()
)
_JOINED_KEYS = {
    "apikey": "api_key",
    "accesskey": "api_key",
    "secretkey": "api_key",
    "privatekey": "private_key",
    "authkey": "api_key",
    "masterkey": "api_key",
    "accountkey": "api_key",
    "sharedaccesskey": "api_key",
    "appkey": "api_key",
    "encryptionkey": "api_key",
    "signingkey": "api_key",
}
_QUALIFIERS = frozenset(
    "1 2 3 again b64 base64 confirm confirmation confirmed current dev encoded hashed live new old plain plaintext prod "
    "production raw repeat staging test value".split()
)
_NO_SECRET = frozenset({"pwd", "oldpwd", "PWD", "OLDPWD"})
_URL_ONLY = {
    "key": Named("api_key", False),
    "sig": Named("signature", False),
    "signature": Named("signature", False),
    "credential": Named("credential", False),
    "auth": Named("token", False),
    "code": Named("token", False),
    "state": Named("token", False),
    "sid": Named("token", False),
    "session": Named("token", False),
}
_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


def words_of(name: str) -> list[str]:
    """Return a name's words in lower case, however they are joined."""
    return [word.lower() for word in _EDGE.split(name) if word]


@lru_cache(maxsize=4096)
def named(name: str) -> Named | None:
    """Return what a name says of its value, or None for nothing."""
    if len(name) > LONGEST_NAME or name in _NO_SECRET:
        return None
    words = words_of(name)
    while len(words) > 1 and words[-1] in _QUALIFIERS:
        words.pop()
    return _of_words(words) if words else None


def _of_words(words: list[str]) -> Named | None:
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if before in _PASSWORDS and last in ("hash", "digest", "encrypted"):
        return Named("password", False)
    if (
        last in _PASSWORDS
        or last.endswith(("password", "passwd", "passphrase"))
        or (last == "pass" and before in _BEFORE_PASS)
    ):
        return Named("password", True)
    if (before, last) in (("pass", "phrase"), ("pass", "word"), ("pass", "code"), ("pin", "code")):
        return Named("password", True)
    if last == "key" or last in _JOINED_KEYS:
        return _of_key(last, before)
    if last in _TOKENS or last.endswith("token"):
        return None if before in _NO_SECRET_TOKEN else Named("token", last != "bearer")
    return _of_other(last, before)


def _of_key(last: str, before: str) -> Named | None:
    if last in _JOINED_KEYS:
        return Named(_JOINED_KEYS[last], True)
    if before in _SURE_KEYS:
        return Named("private_key" if before in ("private", "ssh", "rsa") else "api_key", True)
    return Named("api_key", False) if before in _POSSIBLE_KEYS else None


def _of_other(last: str, before: str) -> Named | None:
    if last in ("secret", "secrets") or last.endswith("secret"):
        return Named("secret", last != "secrets")
    if last in ("authorization", "authorisation"):
        return Named("authorization", True)
    if last in ("auth", "authentication"):
        return Named("authorization", False)
    if last in ("cookie", "cookies"):
        return Named("cookie", last == "cookie" and before in ("", "set", "http", "session", "auth"))
    if last in ("credential", "credentials", "creds"):
        return Named("credential", False)
    if last in ("mnemonic", "otp", "totp") or (last == "phrase" and before in ("seed", "recovery", "secret")):
        return Named("secret", True)
    if (last == "id" and before in ("session", "sess")) or last == "pat":
        return None if last == "id" else Named("token", False)
    return None


def named_in_url(name: str) -> Named | None:
    """Return what the name of a URL's query parameter says of its value, or None for nothing."""
    found = named(name)
    if found is not None:
        return found
    words = words_of(name)
    return _URL_ONLY.get(words[-1]) if words and len(name) <= LONGEST_NAME else None


__all__ = ["LONGEST_NAME", "Named", "named", "named_in_url", "words_of"]
