"""A check sum at the end of each line, so that no changed byte goes unseen (spec/faults.md j4).

It guards against accidents, and it forbids nothing: a line that somebody changed, or wrote without a sum, is still read.
"""

from __future__ import annotations

from zlib import crc32

_KEY, _END = b',"crc":"', b'"}'
_LENGTH = len(_KEY) + 8 + len(_END)


def sealed(line: bytes) -> bytes:
    r"""Return a line with the check sum of its own bytes as its last key.

    Args:
        line: a JSON object that has keys, with its `\n`.
    """
    return sealed_body(line[:-2])


def sealed_body(body: bytes) -> bytes:
    """Return the whole line of a JSON object of which this is everything but its last brace."""
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def opened(line: bytes) -> tuple[bytes, bool]:
    """Return a line without its check sum, and whether it still says what was written; one without a sum is believed."""
    text = line.rstrip(b"\r\n")
    body, seal = text[:-_LENGTH], text[-_LENGTH:]
    fitting = b'%b%08x"}' % (_KEY, crc32(body.removeprefix(b"\xef\xbb\xbf")))
    if seal == fitting:
        return body + b"}", True
    if seal.startswith(_KEY) and seal.endswith(_END):
        return body + b"}", False
    # the sum itself may be what was hit
    is_nearly_a_sum = len(seal) == _LENGTH and sum(one != other for one, other in zip(seal, fitting, strict=True)) <= 2
    return line, not is_nearly_a_sum
