"""The words that a model gets for what a handler returned or raised."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, NamedTuple

from loopkit.errors import ToolError
from loopkit.messages import JSON, Image, ToolOutput
from loopkit.tools.checks import json_problem
from loopkit.tools.showing import short

MOST_IMAGES = 100
MOST_IMAGE_CHARACTERS = 30_000_000
_IMAGE_TYPE = re.compile(r"image/[a-z0-9.+-]{1,60}\Z")
_TOO_DEEP = "The tool's result is nested too deeply to be written as text."


class Answer(NamedTuple):
    """A handler's answer as the log keeps it.

    Attributes:
        content: the text for the model.
        is_error: the tool failed, or gave what can't be used.
        json: the answer as data, where that is not the text itself.
        images: the pictures for the model.
    """

    content: str
    is_error: bool = False
    json: JSON = None
    images: tuple[Image, ...] = ()


def answer_of(value: object) -> Answer:
    """Return text, data and pictures of what a handler returned; what can't be used is an error that says why.

    Raises:
        Exception: what the `__str__` of an object raises; it is the handler's failure.
    """
    if isinstance(value, Image):
        value = ToolOutput(images=(value,))
    if not isinstance(value, ToolOutput):
        return Answer(*output_text(value))
    texts: list[str] = []
    is_error, data = False, None
    images: tuple[Image, ...] = ()
    while isinstance(value, ToolOutput):
        is_error = is_error or value.is_error
        data = value.json if data is None else data
        images += tuple(value.images)
        if value.text is not None:
            texts.append(value.text)
        value = value.content
    if value is not None:
        texts.append(output_text(value)[0])
    return _checked(texts, data, images, is_error=is_error)


def _checked(texts: list[str], data: object, images: tuple[Any, ...], *, is_error: bool) -> Answer:
    if not all(isinstance(text, str) for text in texts):
        return _unusable("its text is no text")
    try:
        plain = None if data is None else _as_json(data)
        problem = json_problem(plain)
    except RecursionError:
        return Answer(_TOO_DEEP, True)
    if problem is not None:
        return _unusable(f"its JSON is none: {problem}")
    unusable = picture_problem(images)
    if unusable is not None:
        return _unusable(unusable)
    if plain is not None and not texts:
        return Answer(json.dumps(plain, ensure_ascii=False), is_error, None, images)
    return Answer("\n".join(texts), is_error, plain, images)


def _unusable(why: str) -> Answer:
    return Answer(f"The tool ran, but its result can't be used: {why}.", True)


def picture_problem(images: object) -> str | None:
    """Return why something is no row of pictures that can be kept and sent, or None."""
    if not isinstance(images, (tuple, list)):
        return "its images are no list"
    if len(images) > MOST_IMAGES:
        return f"it has {len(images)} images, {MOST_IMAGES} are taken"
    for number, image in enumerate(images, 1):
        why = _image_problem(image)
        if why is not None:
            return f"image {number} {why}"
    return None


def _image_problem(image: object) -> str | None:
    if not isinstance(image, Image):
        return f"is no Image but {short(type(image).__name__, quoted=False)}"
    given = image.data if image.url is None else image.url
    if not isinstance(given, str) or (image.data is not None and image.url is not None):
        return "needs base64 data or a url, one of them"
    if not isinstance(image.media_type, str) or not _IMAGE_TYPE.match(image.media_type):
        return "has a media type that is none of pictures"
    if len(given) > MOST_IMAGE_CHARACTERS:
        return f"has more than {MOST_IMAGE_CHARACTERS:,} characters"
    if image.url is not None:
        return None if given.startswith(("http://", "https://", "data:")) else "has an address that is none of the web"
    try:
        return None if base64.b64decode(given, validate=True) else "is empty"
    except ValueError:
        return "is not base64"


def output_text(value: object) -> tuple[str, bool]:
    """Return the text that a model gets for a handler's answer, and whether it is an error.

    Text stays as it is, lone surrogates included (spec/faults.md e20); None is empty; numbers, lists, mappings, sets,
    dataclasses and named tuples become JSON text; bytes are read as UTF-8, or become a `data:` address that names its
    encoding, base64 (spec/faults.md d4); anything else is its `str`.

    Raises:
        Exception: what the `__str__` of an object raises; it is the handler's failure.
    """
    is_error = False
    while isinstance(value, ToolOutput):
        is_error = is_error or value.is_error
        value = value.content if value.text is None else value.text
    if value is None:
        return "", is_error
    try:
        plain = _as_json(value)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False), is_error
    except RecursionError:
        return _TOO_DEEP, True


def _as_json(value: Any) -> JSON:
    """The nearest JSON value; text of its own for what JSON does not know."""
    if isinstance(value, Enum):
        return _as_json(value.value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_text(bytes(value))
    if isinstance(value, Mapping):
        return {_key(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _as_json(getattr(value, name)) for name in value._fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, AbstractSet):
        # the order of a set of strings changes from process to process, and a replay would differ
        return sorted((_as_json(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, Sequence) and not isinstance(value, range):
        return [_as_json(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def _key(key: object) -> str:
    plain = _as_json(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _bytes_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"data:application/octet-stream;base64,{base64.b64encode(data).decode('ascii')}"


def failure_text(exception: BaseException) -> str:
    """Return what a model is told when a handler raised: class name and message, without a traceback.

    A `ToolError` gives its plain message; a group gives the text of each exception in it.
    """
    if isinstance(exception, BaseExceptionGroup):
        return "\n".join(failure_text(inner) for inner in exception.exceptions)
    message = _message(exception)
    if message and isinstance(exception, ToolError):
        return message
    name = type(exception).__name__
    return f"{name}: {message}" if message else name


def _message(exception: BaseException) -> str:
    try:
        return str(exception).strip()
    except Exception as broken:  # noqa: BLE001  # an exception of a tool may not even be printable
        return f"its message can't be read ({type(broken).__name__})"
