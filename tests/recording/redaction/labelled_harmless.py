"""The labelled sample, second half: what looks like a secret and is none; hiding any of it is over-redaction."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from hashlib import md5, sha1, sha256, shake_256
from typing import Any, NamedTuple
from uuid import UUID


class Harmless(NamedTuple):
    """One case: a text, or a JSON object as arguments of a call."""

    kind: str
    given: Any


def labelled_harmless() -> Iterator[Harmless]:
    """Yield the whole half."""
    yield from _digests_and_ids()
    yield from _counts_and_prices()
    yield from _programs()
    yield from _references()
    yield from _schemas_and_forms()
    yield from _prose()
    yield from _arguments()


def _digests_and_ids() -> Iterator[Harmless]:
    for number in range(24):
        data = f"sample {number}".encode()
        commit, digest = sha1(data).hexdigest(), sha256(data).hexdigest()
        identity = UUID(bytes=shake_256(data).digest(16), version=4)
        blob = base64.b64encode(shake_256(data).digest(90)).decode()
        yield Harmless("commit", f"commit {commit}\nAuthor: A <a@example.com>\nmerge {commit[:7]}")
        yield Harmless("digest", f"sha256:{digest}  dist/loopkit-{number}.tar.gz")
        yield Harmless("md5", f"{md5(data).hexdigest()}  file{number}.bin")
        yield Harmless("uuid", f'{{"id": "{identity}", "session": "{identity}", "name": "run {number}"}}')
        yield Harmless("picture", f"![plot](data:image/png;base64,iVBORw0KGgo{blob})")
        yield Harmless(
            "call id", f'{{"tool_use_id": "toolu_01{blob[:22].replace("/", "a").replace("+", "b")}", "n": {number}}}'
        )
    integrity = base64.b64encode(shake_256(b"npm").digest(64)).decode()
    yield Harmless(
        "integrity", f'"resolved": "https://registry.example.com/a/-/a-1.0.0.tgz", "integrity": "sha512-{integrity}"'
    )
    yield Harmless("signature", json.dumps({"type": "thinking", "signature": integrity * 3}))
    yield Harmless("fingerprint", "SHA256:" + integrity[:43] + " root@host (ED25519)")
    yield Harmless("public key", f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{integrity[:43]} bob@host")
    yield Harmless("certificate", f"-----BEGIN CERTIFICATE-----\n{integrity}\n-----END CERTIFICATE-----")
    yield Harmless("public key block", f"-----BEGIN PUBLIC KEY-----\n{integrity}\n-----END PUBLIC KEY-----")


def _counts_and_prices() -> Iterator[Harmless]:
    for number in (1, 17, 512, 4096, 128000, 1048576):
        yield Harmless("tokens", f"max_tokens={number}, input_tokens: {number}, output_tokens={number}")
        yield Harmless(
            "tokens", json.dumps({"usage": {"prompt_tokens": number, "total_tokens": number, "token_count": number}})
        )
        yield Harmless("tokens", f"Token usage: {number} tokens (cached: {number})")
        yield Harmless("price", f"price per token: ${number / 1e6:.8f}; key figures: {number}")
        yield Harmless(
            "limits",
            f"password_min_length={number}\nPASSWORD_MAX_AGE={number}\nsecret_count: {number}\nTOKEN_EXPIRY={number}",
        )
        yield Harmless(
            "ids of tokens", f'{{"token": {number}, "logprob": -0.25, "pad_token": "<pad>", "eos_token_id": {number}}}'
        )


def _programs() -> Iterator[Harmless]:
    lines = """
    token = get_token()
    token = tokens[index]
    token = self.tokenizer.next_token()
    self.token = token
    token: str = field(default="")
    password = getpass.getpass("Password: ")
    password = os.environ["DB_PASSWORD"]
    password = config.get("database", "password")
    password=password, user=user
    api_key=settings.OPENAI_API_KEY,
    api_key = os.getenv("OPENAI_API_KEY")
    apiKey: process.env.OPENAI_API_KEY,
    const token = await getAccessToken(user);
    const { token } = req.headers;
    let secret = Secret::new(bytes);
    def login(user: str, password: str) -> Token:
    def authenticate(self, username, password=None, **kwargs):
    if password != confirm_password:
    if (token === null) return;
    if token == TokenType.IDENTIFIER:
    assert response.json()["token"]
    SECRET_KEY = env("SECRET_KEY")
    secret_key: !Ref DatabaseSecret
    password: ${{ secrets.DB_PASSWORD }}
    token: ${{ secrets.GITHUB_TOKEN }}
    api_key: {{ vault_api_key }}
    password: !vault |
    PASSWORD=$(cat /run/secrets/db)
    export TOKEN=$GITHUB_TOKEN
    export API_KEY=${API_KEY:-}
    echo "token: $TOKEN"
    private String password;
    public void setPassword(String password) { this.password = password; }
    Token token = lexer.nextToken();
    var token = new CancellationToken();
    cancellationToken: cancellationToken
    func (c *Client) Token() (string, error) {
    token, err := c.Token(ctx)
    pub token: Option<String>,
    password_hash = bcrypt.hashpw(password.encode(), salt)
    for key, value in items: print(key)
    primary_key=True, foreign_key="user.id"
    cache_key = f"user:{user_id}"
    key = lambda item: item.name
    sort_key: created_at
    partition_key = "tenant_id"
    secrets.token_hex(32)
    from secrets import token_urlsafe
    import { useAuth } from "@/hooks/auth"
    const cookies = parseCookies(req);
    cookie: Cookie = jar.get("sid")
    auth: AuthConfig = AuthConfig()
    auth = HTTPBasicAuth(user, password)
    headers={"Authorization": f"Bearer {token}"}
    headers = {'Authorization': 'Bearer ' + token}
    "Authorization": "Bearer ${token}",
    Authorization: Bearer <token>
    Authorization: Bearer YOUR_API_KEY
    -H "Authorization: Bearer $OPENAI_API_KEY"
    -H "x-api-key: $ANTHROPIC_API_KEY"
    curl -u "$USER:$PASS" https://example.com
    password: yup.string().required()
    <input type="password" name="password" placeholder="Password">
    <PasswordField label="Password" error={errors.password} />
    type: password
    input_type="password"
    credentials: "include"
    credentials=credentials
    with_credentials: true
    token_type: bearer
    "token_type": "Bearer", "expires_in": 3600
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    @pytest.fixture def token(): ...
    key_id = "alias/my-key"
    AWS_SECRET_ACCESS_KEY_FILE=/run/secrets/aws
    SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.1234
    GIT_ASKPASS=/usr/share/code/askpass.sh
    PWD=/home/bob/project2
    OLDPWD=/home/bob/project1
    XAUTHORITY=/run/user/1000/gdm/Xauthority
    AUTH_TYPE=oauth2
    SECRET_NAME=shop-db-credentials
    TOKEN_URL=https://auth.example.com/oauth2/token
    KEY_PATH=/etc/ssl/private/server.key
    ACCESS_TOKEN_EXPIRE_MINUTES=30
    """
    for line in lines.strip().splitlines():
        yield Harmless("program", line.strip())


def _references() -> Iterator[Harmless]:
    lines = """
    postgres://user:password@localhost/db
    postgres://$USER:$PASSWORD@db/shop
    postgresql://{user}:{password}@{host}/{database}
    https://<user>:<password>@example.com/
    https://example.com/docs/api-keys#create-token
    https://example.com/reset?token=TOKEN
    https://example.com/?key=value&token=abc
    http://localhost:8080/path?q=1
    git@github.com:bob/shop.git
    bob@example.com: password reset
    https://registry.example.com:5000/v2/image@sha256:0123456789abcdef
    redis://localhost:6379/0
    OPENAI_API_KEY=your-api-key-here
    OPENAI_API_KEY=sk-...
    OPENAI_API_KEY=<your key>
    OPENAI_API_KEY=xxxxxxxxxxxxxxxx
    OPENAI_API_KEY=
    API_KEY=[REDACTED]
    password=********
    password: ***
    password: (hidden)
    token: <redacted>
    secret: null
    "api_key": "",
    "api_key": null,
    "password": "********",
    "token": "${TOKEN}",
    "secret": "{{secret}}",
    "password": "%DB_PASSWORD%",
    token=‹token›
    sk-learn-contrib-and-others-in-a-row
    task-sk-board-with-many-words-in-it
    ghp_is_the_prefix_of_tokens
    key-value-pairs-of-the-whole-table-here
    npm_config_registry=https://registry.example.com/
    pypi-server-with-a-long-name-and-no-secret-whatsoever-in-it
    hf_hub_download_with_progress_and_more
    SG.example
    """
    for line in lines.strip().splitlines():
        yield Harmless("reference", line.strip())


def _schemas_and_forms() -> Iterator[Harmless]:
    for name in ("password", "token", "api_key", "secret", "authorization", "client_secret"):
        yield Harmless(
            "schema",
            json.dumps({"properties": {name: {"type": "string", "description": f"The {name}."}}, "required": [name]}),
        )
        yield Harmless("openapi", f"{name}:\n  type: string\n  format: {name}\n  example: string\n")
        yield Harmless("validation", json.dumps({"errors": {name: ["This field is required."]}, name: "required"}))
        yield Harmless("form", json.dumps({"label": name.title(), name: f"Enter your {name.replace('_', ' ')}"}))
        yield Harmless("translation", json.dumps({name: {"title": name, "hint": "at least 8 characters"}}))
        yield Harmless("type", f"interface Login {{ {name}: string; {name}?: string | null }}")
        yield Harmless("table", f"CREATE TABLE user ({name} VARCHAR(255) NOT NULL, {name}_id INTEGER)")
        yield Harmless(
            "question",
            f"What is a {name.replace('_', ' ')}? A {name.replace('_', ' ')} is a string that identifies you.",
        )


def _prose() -> Iterator[Harmless]:
    lines = """
    The password is required and must be at least 12 characters long.
    The token is expired; please log in again.
    The token was invalid.
    Your secret is safe with us.
    The API key is missing: set OPENAI_API_KEY.
    Each token is about four characters.
    Tokens: 1,024 in, 256 out; key takeaway: shorter prompts.
    Key: value pairs are separated by commas.
    Error: invalid token at line 12, column 5 (unexpected token: ')').
    SyntaxError: Unexpected token < in JSON at position 0
    The key to success: practice.
    The secret of the sauce: butter.
    Authorization: this endpoint requires the admin role.
    Authentication failed: wrong password.
    Password: (leave empty to keep)
    Bearer tokens are sent in the Authorization header.
    Use a bearer token such as a personal access token.
    cookie: a small piece of text
    I baked cookies: chocolate, oatmeal2 and vanilla.
    session key exchange uses ECDHE-RSA-AES128-GCM-SHA256
    Passed: 12, failed: 3, pass rate: 80%
    pass: 42 tests, compass: north
    passenger=bob42 passport: required
    monkey: banana42 turkey: gobble99
    keyboard: qwerty123 hockey=puck2023
    author: bob42, authority=local99
    secretary: alice2, tokenized: true99
    accredited: yes2024, credit=100.50
    obsession: work99, session=3
    bypass=on2 overpass: bridge77
    The release v1.2.3-rc.4 of key-manager 10.20.30 came on 2026-11-29.
    password manager 1Password 8.10.36 was updated
    See tokens.py:120 and secret_store.go:45.
    """
    for line in lines.strip().splitlines():
        yield Harmless("prose", line.strip())


def _arguments() -> Iterator[Harmless]:
    for given in (
        {"path": "src/token.py", "pattern": "password", "max_tokens": 100},
        {"query": "how to rotate an api key", "tokens": 5},
        {"password": None, "token": "", "api_key": "${API_KEY}"},
        {"key": "users/42/profile", "cache_key": "a8f5f167f44f4964e6c998dee827110c"},
        {"primary_key": "id", "sort_key": "name2", "page_token": "CAUQAA", "next_token": "eyJwYWdlIjoyfQ"},
        {"token_type": "bearer", "auth_type": "basic", "credentials": "include"},
        {"secret_name": "shop-db", "secret_id": "arn:aws:x", "password_policy": "strong", "use_auth": True},
        {"session_id": "550e8400-e29b-41d4-a716-446655440000", "author": "bob42"},
        {"command": "grep -rn token src | head -20", "timeout": 30},
        {"command": "python -m pytest tests/test_token.py -k password", "cwd": "/work1"},
        {"cookies": True, "cookie": "chocolate"},
        {"messages": [{"role": "user", "content": "reset my password please"}]},
    ):
        yield Harmless("argument", given)


__all__ = ["Harmless", "labelled_harmless"]
