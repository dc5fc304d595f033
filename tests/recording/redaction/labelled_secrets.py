"""The labelled sample, first half: texts as agents meet them, each with the secret that it gives away.

All secrets are made up while the tests run. `HARD` are cases that a rule without knowledge of the world can hardly find;
they are counted like the others.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.recording.redaction.secrets_made_up import MIXED, letters_and_digits

HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
URL_SAFE = MIXED + "-_"


class Secret(NamedTuple):
    """One case.

    Args:
        kind: what it is a case of.
        given: a text, or a JSON object as arguments of a call.
        secret: what must not be in what is written.
    """

    kind: str
    given: Any
    secret: str


def labelled_secrets() -> Iterator[Secret]:
    """Yield the whole half."""
    yield from _by_shape()
    yield from _assigned()
    yield from _arguments()
    yield from _headers()
    yield from _addresses()
    yield from _documents()
    yield from _prose_and_output()
    yield from _in_lines_of_json()
    yield from _hard()


def _in_lines_of_json() -> Iterator[Secret]:
    """Lines within a JSON string: what begins a line stands behind the letter of an escape."""
    some = [case for cases in (_by_shape(), _assigned(), _headers(), _prose_and_output()) for case in list(cases)[::5]]
    for kind, given, secret in some:
        escaped = json.dumps(secret)[1:-1]
        yield Secret(f"line of JSON: {kind}", json.dumps({"content": f"first\n{given}\nlast"}), escaped)


def _key(seed: str, length: int = 32, alphabet: str = MIXED) -> str:
    return letters_and_digits(length, seed, alphabet)


def _by_shape() -> Iterator[Secret]:
    shapes = {
        "aws": "AK" + "IA" + _key("a", 16, UPPER),
        "aws session": "AS" + "IA" + _key("b", 16, UPPER),
        "google": "AI" + "za" + _key("c", 35, URL_SAFE),
        "google oauth": "ya" + "29." + _key("d", 60, URL_SAFE),
        "github": "gh" + "p_" + _key("e", 36),
        "github app": "gh" + "s_" + _key("f", 36),
        "github fine": "github" + "_pat_" + _key("g", 22) + "_" + _key("h", 59),
        "gitlab": "gl" + "pat-" + _key("i", 20, URL_SAFE),
        "npm": "np" + "m_" + _key("j", 36),
        "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + _key("k", 60, URL_SAFE),
        "docker": "dckr" + "_pat_" + _key("l", 27, URL_SAFE),
        "openai": "sk" + "-proj-" + _key("m", 48, URL_SAFE),
        "openai old": "sk" + "-" + _key("n", 48),
        "anthropic": "sk" + "-ant-api03-" + _key("o", 80, URL_SAFE) + "AA",
        "openrouter": "sk" + "-or-v1-" + _key("p", 64, HEX),
        "groq": "gs" + "k_" + _key("q", 52),
        "xai": "xa" + "i-" + _key("r", 80),
        "huggingface": "h" + "f_" + _key("s", 34),
        "replicate": "r8" + "_" + _key("t", 37),
        "tavily": "tv" + "ly-dev-" + _key("u", 32),
        "slack bot": "xo" + "xb-" + "1234567890-1234567890123-" + _key("v", 24),
        "slack app": "xa" + "pp-1-A0" + _key("w", 40, UPPER),
        "stripe": "s" + "k_live_" + _key("x", 24),
        "stripe restricted": "r" + "k_test_" + _key("y", 24),
        "sendgrid": "S" + "G." + _key("z", 22, URL_SAFE) + "." + _key("A", 43, URL_SAFE),
        "shopify": "sh" + "pat_" + _key("B", 32, HEX),
        "digitalocean": "do" + "p_v1_" + _key("C", 64, HEX),
        "databricks": "da" + "pi" + _key("D", 32, HEX),
        "telegram": "123456789:" + "AA" + _key("E", 33, URL_SAFE),
        "vault": "hv" + "s." + _key("F", 90, URL_SAFE),
        "figma": "fi" + "gd_" + _key("G", 40, URL_SAFE),
        "linear": "lin" + "_api_" + _key("H", 40),
        "notion": "nt" + "n_" + _key("I", 46),
        "atlassian": "AT" + "ATT3xFfGF0" + _key("J", 100, URL_SAFE),
        "jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "J" + _key("K", 60, URL_SAFE) + "." + _key("L", 43, URL_SAFE),
        "age": "AGE-SECRET" + "-KEY-1" + _key("M", 58, UPPER),
    }
    frames = ("the tool said {}.", "{}", 'config.set("k", "{}")', "logged in as bot ({}) at 12:03")
    for number, (kind, secret) in enumerate(shapes.items()):
        yield Secret(f"shape: {kind}", frames[number % len(frames)].format(secret), secret)
    body = "\n".join(_key(f"pem{line}", 64, MIXED + "+/") for line in range(6))
    for kind in ("RSA ", "", "OPENSSH ", "EC "):
        text = f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----\n"
        yield Secret("shape: private key", f"cat id_rsa\n{text}$ ", body)
        yield Secret("shape: private key in JSON", json.dumps({"key": text}), body.splitlines()[2])
    webhook = f"T0{_key('N', 9, UPPER)}/B0{_key('O', 9, UPPER)}/{_key('P', 24)}"
    yield Secret("shape: webhook", f"curl -X POST https://hooks.slack.com/services/{webhook} -d x", webhook)


def _assigned() -> Iterator[Secret]:
    names = (
        "OPENAI_API_KEY AWS_SECRET_ACCESS_KEY DB_PASSWORD GITHUB_TOKEN JWT_SECRET SMTP_PASS STRIPE_SECRET_KEY "
        "POSTGRES_PASSWORD REDIS_AUTH_TOKEN CLIENT_SECRET PGPASSWORD SECRET_KEY_BASE_SECRET NPM_AUTH_TOKEN ENCRYPTION_KEY"
    )
    for number, name in enumerate(names.split()):
        secret = _key(name, 20 + number)
        yield Secret("environment dump", f"PATH=/usr/bin\n{name}={secret}\nHOME=/root\n", secret)
        yield Secret("export", f"export {name}='{secret}'", secret)
    for weak in ("hunter2", "Tr0ub4dor&3", "p@ss,word;1", "letmein!", "summer2024"):
        yield Secret("environment, made-up password", f"DB_USER=shop\nDB_PASSWORD={weak}\nDB_HOST=db", weak)
        yield Secret("ini", f"[client]\nuser = shop\npassword = {weak.split(';')[0].split(',')[0]}\n", weak[:5])
        yield Secret("json", json.dumps({"user": "shop", "password": weak}), weak)
        yield Secret("json in json", json.dumps({"body": json.dumps({"password": weak})}), weak)
        yield Secret("python", f'connect(host="db", password="{weak}")', weak)
        yield Secret("yaml, quoted", f'db:\n  user: shop\n  password: "{weak}"\n', weak)
        yield Secret("dictionary", str({"user": "shop", "passwd": weak}), weak)
        yield Secret(
            "xml",
            f"<login><user>shop</user><password>{weak.replace('&', '')}</password></login>",
            weak.replace("&", ""),
        )


def _arguments() -> Iterator[Secret]:
    for name in (
        "password",
        "api_key",
        "apiKey",
        "access_token",
        "clientSecret",
        "Authorization",
        "private_key",
        "pin_code",
    ):
        yield Secret("argument", {"url": "https://x", name: "plain words here"}, "plain words here")
    yield Secret("argument, nested", {"auth": {"basic": {"password": "admin"}}, "user": "bob"}, "admin")
    yield Secret("argument, list of headers", {"headers": [{"name": "X-Api-Key", "value": _key("Q")}]}, _key("Q"))
    yield Secret("argument, headers", {"headers": {"Cookie": f"sid={_key('R')}"}}, _key("R"))
    yield Secret("argument, number", {"password": 12345678}, "12345678")
    yield Secret("argument, variables", {"env": {"SHOP_TOKEN": _key("S"), "DEBUG": "1"}}, _key("S"))
    command = f"curl -H 'Authorization: Bearer {_key('T')}' https://api.example.com/v1/items"
    yield Secret("argument, command", {"command": command}, _key("T"))
    yield Secret("argument, command", {"command": f"mysql --user=root --password={_key('U', 12)} shop"}, _key("U", 12))
    yield Secret("argument, file", {"path": ".env", "content": f"A=1\nAPP_SECRET={_key('V')}\n"}, _key("V"))


def _headers() -> Iterator[Secret]:
    token, basic = _key("W", 40), base64.b64encode(b"user:hunter2x").decode()
    for line in (
        f"Authorization: Bearer {token}",
        f"authorization: token {token}",
        f"Proxy-Authorization: Bearer {token}",
        f"X-Api-Key: {token}",
        f"X-Auth-Token: {token}",
        f"x-amz-security-token: {token}",
        f"Cookie: theme=dark; sid={token}",
        f"Set-Cookie: sid={token}; Path=/; HttpOnly",
        f"PRIVATE-TOKEN: {token}",
    ):
        yield Secret("header", f"> GET / HTTP/1.1\n> Host: x\n> {line}\n> Accept: */*", token)
        yield Secret("header in a command", f"curl -s -H '{line}' https://x/y", token)
    yield Secret("header, basic", f"Authorization: Basic {basic}\nHost: x", basic)
    yield Secret("headers as JSON", json.dumps({"headers": {"authorization": f"Bearer {token}"}}), token)
    yield Secret("HAR", json.dumps([{"name": "Authorization", "value": f"Bearer {token}"}]), token)


def _addresses() -> Iterator[Secret]:
    for scheme in ("postgres", "mysql+pymysql", "mongodb+srv", "redis", "amqp", "https", "ftp", "smtp"):
        yield Secret(
            "address with a password",
            f"connecting to {scheme}://shop:s3cr3t-{scheme[:3]}@db.example.com/x",
            f"s3cr3t-{scheme[:3]}",
        )
    token = _key("X", 40)
    for name in ("access_token", "api_key", "key", "sig", "X-Amz-Signature", "token", "client_secret", "auth"):
        yield Secret("address with a key", f"GET https://x.example.com/v1?page=2&{name}={token}&z=1", token)
    yield Secret("address with a token", f"git clone https://{token}@github.com/a/b.git", token)
    yield Secret("address with a token", f"git clone https://oauth2:{token}@gitlab.com/a/b.git", token)
    account = base64.b64encode(_key("Y", 64).encode()).decode()
    yield Secret(
        "connection string",
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={account};EndpointSuffix=x",
        account,
    )
    yield Secret(
        "connection string", f"Server=db;Database=shop;User Id=sa;Password={_key('Z', 14)};Encrypt=True", _key("Z", 14)
    )


def _documents() -> Iterator[Secret]:
    token = _key("aa", 40)
    yield Secret("npmrc", f"//registry.npmjs.org/:_authToken={token}", token)
    yield Secret("netrc", "machine api.example.com\n  login bob\n  password hunter2\n", "hunter2")
    yield Secret(
        "docker config",
        json.dumps({"auths": {"r.io": {"auth": base64.b64encode(f"u:{token}".encode()).decode()}}}),
        token,
    )
    yield Secret("kubernetes", f"env:\n- name: TOKEN\n  value: x\nstringData:\n  api-token: {token}\n", token)
    yield Secret("terraform", f'provider "x" {{\n  api_token = "{token}"\n}}', token)
    yield Secret("php", f"'password' => '{token[:12]}',", token[:12])
    yield Secret("typescript", f"const apiKey: string = '{token}';", token)
    yield Secret("go", f'cfg := Config{{Token: "{token}"}}', token)
    yield Secret("java", f'private static final String API_KEY = "{token}";', token)
    yield Secret("ruby", f':secret_key => "{token}"', token)
    yield Secret("aws credentials", f"[default]\naws_access_key_id = x\naws_secret_access_key = {token}", token)
    yield Secret("notebook", json.dumps({"cells": [{"source": [f"openai.api_key = '{token}'\n"]}]}), token)
    yield Secret("flag", f"deploy --env prod --api-key {token} --verbose", token)
    yield Secret("flag", f"vault login --token={token}", token)
    yield Secret("flag", f"curl -u admin:{token[:14]} http://localhost:8080/", token[:14])
    yield Secret("powershell", f'$env:API_TOKEN = "{token}"', token)


def _prose_and_output() -> Iterator[Secret]:
    for weak in ("hunter2", "Tr0ub4dor-3", "s3cret99"):
        yield Secret("prose", f"Sure! The password is {weak}, please keep it safe.", weak)
        yield Secret("prose", f"I've set the admin password to `{weak}` as you asked; the password is `{weak}`.", weak)
        yield Secret("log", f"2026-11-29 10:00:01 DEBUG login user=bob password={weak} ok", weak)
        yield Secret("exception", f"ValueError: bad credentials {{'user': 'bob', 'password': '{weak}'}}", weak)
        yield Secret(
            "traceback", f"  File \"a.py\", line 3, in f\n    login(user, password='{weak}')\nTypeError: x", weak
        )
    token = _key("bb", 40)
    yield Secret("log", f"INFO refreshed token: {token} (expires in 3600)", token)
    yield Secret("log", f"using api_key={token}", token)
    yield Secret("error", f"401 Unauthorized: invalid x-api-key {token!r} api_key: {token}", token)


def _hard() -> Iterator[Secret]:
    token = _key("cc", 24)
    yield Secret("hard: table", f"| name | value |\n| password | {token} |", token)
    yield Secret("hard: glued flag", f"mysql -uroot -p{token} shop", token)
    yield Secret("hard: call", f'client.set_password("{token}")', token)
    yield Secret("hard: plain word", "password: correcthorse\nuser: bob", "correcthorse")
    yield Secret("hard: words", "The passphrase is correct horse battery staple.", "correct horse battery staple")
    yield Secret("hard: list", f'login("bob", "{token}")', token)
    yield Secret("hard: question", f"Password for 'https://bob@github.com': {token}", token)
    yield Secret("hard: vendor's plain hexadecimal", f"datadog {_key('dd', 32, HEX)}", _key("dd", 32, HEX))
    yield Secret("hard: split", f"key part one {token[:12]} part two {token[12:]}", token[:12])
    yield Secret("hard: reversed", f"reversed api key {token[::-1]}", token[::-1])
    yield Secret("hard: pgpass", f"db.example.com:5432:shop:bob:{token}", token)
    yield Secret("hard: csv", f"user,password\nbob,{token}\n", token)


__all__ = ["Secret", "labelled_secrets"]
