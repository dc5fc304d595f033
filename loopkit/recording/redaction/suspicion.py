"""What looks like a key although no rule says so: long mixed words of high entropy, in places where no id is expected.

Nothing of this is ever hidden: hashes, ids and encoded pictures look the same. It is shown to a person who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopkit.recording.redaction.values import entropy, is_hash_or_id

LEAST_ENTROPY = 3.9
# longer ones are lines of encoded files
_LONGEST_KEY = 66
_WORD = re.compile(r"(?<![A-Za-z0-9_\-+/=.‹·])[A-Za-z0-9_\-+/=.]{20,200}(?![A-Za-z0-9_\-+/=.])")
_ID_PREFIX = re.compile(
    r"(?:toolu|srvtoolu|call|msg|req|chatcmpl|resp|fc|rs|gen|item|run|sess|session|thread|asst|file|step|evt|event|tc|ws|"
    r"fs|ctx|trace|span|org|user|proj|node|agent|batch|msgbatch|chatcmpl-tool|functions)[_\-]|sha\d{3}-|data:|v?\d+\.",
    re.IGNORECASE,
)
_ID_KEY = re.compile(
    r"(?:^|[._\[])(?:[a-z_]*ids?|uuid|signature|encrypted_content|thinking_?signature|data|hash|digest|etag|"
    r"integrity|fingerprint|cursor|sha\d*|commit|checksum|crc|thoughtSignature|reasoning_opaque)(?:\[\d+\])?$",
    re.IGNORECASE,
)


def suspicious_words(where: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each word that looks generated.

    Args:
        where: the way to the text in its JSON; under the names of ids and signatures nothing is suspicious.
    """
    if len(text) < 20 or _ID_KEY.search(where):
        return
    for match in _WORD.finditer(text):
        is_called = text.startswith("(", match.end())
        if not is_called and _is_suspicious(match[0]) and not _in_address(text, match.start()):
            yield match.span()


def _is_suspicious(word: str) -> bool:
    core = word.strip("=._-/+")
    if is_hash_or_id(core) or _ID_PREFIX.match(word) or core.count("/") > 2 or core.count(".") > 2:
        return False
    if word.startswith("--") or len(core) > _LONGEST_KEY:
        return False
    digits = sum(character.isdigit() for character in core)
    upper = sum(character.isupper() for character in core)
    lower = sum(character.islower() for character in core)
    if digits < 3 or upper < 3 or lower < 3 or len(core) < 20:
        return False
    # words and numbers joined by signs are names of files, branches, variables
    longest = max(len(piece) for piece in re.split(r"[_\-./+=]", core))
    return longest >= 14 and entropy(core) >= LEAST_ENTROPY


def _in_address(text: str, start: int) -> bool:
    """Say whether a word stands within an address or a path, where what is random is public."""
    before = text[max(0, start - 200) : start]
    begins = max(before.rfind(mark) for mark in (" ", "\n", '"', "'", "(", "<"))
    return "://" in before[begins + 1 :] or before.endswith(("/", "base64,", "sha256:", "#", "@"))


__all__ = ["suspicious_words"]
