"""Pictures and data of results in words."""

from __future__ import annotations

import base64
import struct

import pytest

from loopkit import events as e
from loopkit.debugger.pictures import picture_data, picture_words, pixels
from loopkit.debugger.report import iteration_data, iteration_report
from loopkit.debugger.rows import call_state
from loopkit.messages import Image
from tests.debugger.playbook import Playbook

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06\0\0\0"
JPEG = (
    b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"x" * 14 + b"\xff\xc2" + struct.pack(">HBHH", 17, 8, 30, 20) + b"x"
)
WEBP = b"RIFF\0\0\0\0WEBP"


def inline(data: bytes, media_type: str = "image/png") -> Image:
    return Image.from_bytes(data, media_type)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (b"GIF89a" + struct.pack("<HH", 7, 9), (7, 9)),
        (JPEG, (20, 30)),
        (WEBP + b"VP8 " + b"x" * 10 + struct.pack("<HH", 12, 34), (12, 34)),
        (WEBP + b"VP8L" + b"x" * 5 + struct.pack("<I", 11 | 33 << 14), (12, 34)),
        (WEBP + b"VP8X" + b"x" * 8 + b"\x0b\0\0" + b"\x21\0\0", (12, 34)),
        (PNG[:20], None),
        (JPEG[:12], None),
        (b"\xff\xd8" + b"\xff\xe0\0\0" * 3, None),
        (b"no picture", None),
        (b"", None),
    ],
)
def test_pixels_are_read_from_headers(data: bytes, size: tuple[int, int] | None) -> None:
    assert pixels(inline(data)) == size


def test_words_are_safe() -> None:
    assert picture_words(inline(PNG)) == f"image/png, {len(PNG)} bytes, 640×480 pixels"
    assert picture_words(inline(b"x" * 12_345, "image/\x1b[2J")) == "image/␛[2J, 12 KB"
    assert picture_words(Image("image/png", url="https://x/\u202e")) == "image/png at https://x/\\u202e"
    assert picture_words(Image("image/png", "not base64!")).startswith("image/png, ")
    assert picture_data(inline(PNG)) == {
        "media_type": "image/png",
        "bytes": len(PNG),
        "width": 640,
        "height": 480,
        "url": None,
    }


def test_a_call_shows_its_pictures_and_its_data() -> None:
    fact = e.ToolReturned("root/1.1", "a dot", False, {"a": [1]}, (inline(PNG),))
    book = Playbook().start().ask(e.ROOT, "look").decide("root/1.1").say(e.ROOT, e.ToolStarted("root/1.1"), fact)
    call = book.say(e.ROOT, e.ResultProcessed("root/1.1", None, "processor", images=())).timeline.calls["root/1.1"]
    assert call_state(call) == "1 image, rewritten"
    lines = list(iteration_report(call.iteration))
    assert f"  image: image/png, {len(PNG)} bytes, 640×480 pixels" in lines
    assert "  the model got 0 images" in lines
    assert lines[lines.index("  result as data:") + 1 :][:3] == ["    {", '      "a": [', "        1"]
    (data,) = iteration_data(call.iteration)["calls"]
    assert (data["result_json"], data["images"][0]["width"]) == ({"a": [1]}, 640)
    assert base64.b64encode(PNG).decode() not in str(data)
