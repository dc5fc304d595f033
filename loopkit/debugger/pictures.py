"""Pictures in words, for screens that can't or must not draw them: type, size, and pixels where a header says so."""

from __future__ import annotations

import base64
import struct
from typing import Any

from loopkit.debugger.display import one_line
from loopkit.messages import Image

_PNG = b"\x89PNG\r\n\x1a\n"
# a photo's header may hold a thumbnail before it says how large the picture is
_HEADER_BYTES = 65_536
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def picture_words(image: Image) -> str:
    """Return a picture as one safe line, such as `image/png, 12 KB, 640×480 pixels`."""
    if image.data is None:
        return f"{one_line(image.media_type, 60)} at {one_line(image.url or 'no address', 200)}"
    size = pixels(image)
    words = [one_line(image.media_type, 60), _size_text(byte_count(image))]
    return ", ".join(words if size is None else [*words, f"{size[0]}×{size[1]} pixels"])


def picture_data(image: Image) -> dict[str, Any]:
    """Return the same for machines."""
    size = pixels(image)
    return {
        "media_type": image.media_type,
        "bytes": None if image.data is None else byte_count(image),
        "width": None if size is None else size[0],
        "height": None if size is None else size[1],
        "url": image.url,
    }


def byte_count(image: Image) -> int:
    """Return how many bytes inline data stands for."""
    data = image.data or ""
    return len(data) * 3 // 4 - data[-2:].count("=")


def pixels(image: Image) -> tuple[int, int] | None:
    """Return width and height as the header of a PNG, GIF, JPEG or WebP says, or None; costs the header only."""
    try:
        head = base64.b64decode((image.data or "")[: _HEADER_BYTES // 3 * 4])
        return _pixels(head)
    except (ValueError, struct.error, IndexError):
        return None


def _pixels(head: bytes) -> tuple[int, int] | None:
    if head.startswith(_PNG):
        width, height = struct.unpack(">II", head[16:24])
        return width, height
    if head[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack("<HH", head[6:10])
        return width, height
    if head[:2] == b"\xff\xd8":
        return _jpeg_pixels(head)
    return _webp_pixels(head) if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def _jpeg_pixels(head: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(head) and head[place] == 0xFF:
        if head[place + 1] in _JPEG_SIZES:
            height, width = struct.unpack(">HH", head[place + 5 : place + 9])
            return width, height
        place += 2 + int.from_bytes(head[place + 2 : place + 4], "big")
    return None


def _webp_pixels(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", head[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _size_text(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} KB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"


__all__ = ["byte_count", "picture_data", "picture_words", "pixels"]
