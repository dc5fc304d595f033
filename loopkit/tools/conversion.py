"""Turns JSON values into what type hints say, compiled once per tool; what it returns shares nothing with its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from loopkit.messages import JSON
from loopkit.tools.shapes import (
    Anything,
    Choice,
    Described,
    Model,
    OneOf,
    Row,
    Scalar,
    Series,
    Shape,
    Table,
    Written,
)
from loopkit.tools.showing import short, type_word

Converter: TypeAlias = Callable[[JSON], Any]
PathPart: TypeAlias = str | int


class ConversionError(ValueError):
    """A JSON value is not what the hint says.

    Args:
        message: what is wrong, in one line.
        path: keys and indices that lead to the value.
    """

    def __init__(self, message: str, path: tuple[PathPart, ...] = ()) -> None:
        super().__init__(message)
        self.path = path

    def inside(self, part: PathPart) -> ConversionError:
        """Return the same error as seen from the value that holds `part`."""
        return ConversionError(str(self), (part, *self.path))


def copied(value: JSON) -> Any:
    """Return a copy of a JSON value that shares nothing that can be changed (spec/faults.md d16)."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(item) for item in value]
    return value


def compile_conversion(shape: Shape) -> Converter:
    """Return a function that turns a JSON value into the value that a hint of this shape stands for.

    The function raises `ConversionError` for a value that does not have the shape.
    """
    return _Compiler().compile(shape)


class _Compiler:
    def __init__(self) -> None:
        self._models: dict[Model, Converter] = {}

    def compile(self, shape: Shape) -> Converter:  # one row per shape
        match shape:
            case Anything():
                return copied
            case Scalar(kind):
                return _SCALARS[kind]
            case Written():
                return _written(shape)
            case Choice(options):
                return _choice(options)
            case Series(item, build, _):
                return _series(self.compile(item), build)
            case Row(items):
                return _row([self.compile(item) for item in items])
            case Table(key, value):
                return _table(self.compile(key), self.compile(value))
            case OneOf(shapes):
                return self._one_of(shapes)
            case Described(inner, _):
                return self.compile(inner)
            case Model():
                return self._model(shape)

    def _one_of(self, shapes: Iterable[Shape]) -> Converter:
        members = [(shape, self.compile(shape)) for shape in shapes]
        # 1.5 fits `float` alone, but 1.0 would also fit `int`: a number written as a float stays one
        floats = next((convert for shape, convert in members if _undescribed(shape) == Scalar(float)), None)
        converters = [convert for _, convert in members]

        def convert_one_of(value: JSON) -> Any:
            if floats is not None and type(value) is float:
                return floats(value)
            deepest = ConversionError(f"{short(value)} fits none of the allowed forms")
            for convert in converters:
                try:
                    return convert(value)
                except ConversionError as error:
                    if len(error.path) > len(deepest.path):
                        deepest = error
            raise deepest

        return convert_one_of

    def _model(self, model: Model) -> Converter:
        def convert_later(value: JSON) -> Any:
            return self._models[model](value)

        if model in self._models:
            return convert_later
        self._models[model] = convert_later
        members = {member.name: self.compile(member.shape) for member in model.members}
        required = [member.name for member in model.members if member.required]
        self._models[model] = _model(model, members, required)
        return self._models[model]


def _undescribed(shape: Shape) -> Shape:
    return _undescribed(shape.shape) if isinstance(shape, Described) else shape


def _model(model: Model, members: Mapping[str, Converter], required: list[str]) -> Converter:
    build, tag = model.build, model.tag

    def convert_model(value: JSON) -> Any:
        if not isinstance(value, Mapping):
            raise ConversionError(f"an object is expected, not {type_word(value)}")
        keywords: dict[str, Any] = {}
        for key, item in value.items():
            if key == "type" and tag is not None:
                continue
            convert = members.get(key)
            if convert is None:
                raise ConversionError("this key is not known", (key,))
            keywords[key] = _convert_item(convert, key, item)
        if tag is not None and value.get("type") != tag:
            raise ConversionError(f"its type is not {tag!r}")
        for name in required:
            if name not in keywords:
                raise ConversionError(f"{name!r} is missing")
        try:
            return build(**keywords)
        except Exception as error:  # a class's own checks may raise anything
            raise ConversionError(f"{model.name} refuses it: {short(str(error), quoted=False)}") from error

    return convert_model


def _series(convert: Converter, build: Callable[[Any], Any]) -> Converter:
    def convert_series(value: JSON) -> Any:
        if not isinstance(value, (list, tuple)):
            raise ConversionError(f"a list is expected, not {type_word(value)}")
        items = [_convert_item(convert, index, item) for index, item in enumerate(value)]
        try:
            return build(items)
        except TypeError as error:
            raise ConversionError(f"it can't be a {build.__name__}: {short(str(error), quoted=False)}") from None

    return convert_series


def _row(converters: list[Converter]) -> Converter:
    def convert_row(value: JSON) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(converters):
            raise ConversionError(f"a list of {len(converters)} items is expected")
        return tuple(_convert_item(convert, index, value[index]) for index, convert in enumerate(converters))

    return convert_row


def _convert_item(convert: Converter, part: PathPart, item: JSON) -> Any:
    try:
        return convert(item)
    except ConversionError as error:
        raise error.inside(part) from None


def _table(convert_key: Converter, convert: Converter) -> Converter:
    def convert_table(value: JSON) -> Any:
        if not isinstance(value, Mapping):
            raise ConversionError(f"an object is expected, not {type_word(value)}")
        return {_convert_item(convert_key, key, key): _convert_item(convert, key, item) for key, item in value.items()}

    return convert_table


def _written(shape: Written) -> Converter:
    def convert_written(value: JSON) -> Any:
        if not isinstance(value, str):
            raise ConversionError(f"text is expected, not {type_word(value)}")
        try:
            return shape.read(value)
        except ValueError:
            raise ConversionError(f"{short(value)} is no {shape.name}") from None

    return convert_written


def _choice(options: tuple[tuple[JSON, Any], ...]) -> Converter:
    # in Python `1 == True`, in JSON they are different
    table = {(isinstance(plain, bool), plain): value for plain, value in reversed(options)}

    def convert_choice(value: JSON) -> Any:
        if value is None or isinstance(value, (str, int, float)):
            key = (isinstance(value, bool), value)
            if key in table:
                return table[key]
        raise ConversionError(f"{short(value)} is not one of the allowed values")

    return convert_choice


def _text(value: JSON) -> str:
    if not isinstance(value, str):
        raise ConversionError(f"text is expected, not {type_word(value)}")
    return value


def _integer(value: JSON) -> int:
    # JSON Schema takes 2.0 for an integer, and so do models
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
        raise ConversionError(f"an integer is expected, not {short(value)}")
    return int(value)


def _number(value: JSON) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConversionError(f"a number is expected, not {short(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ConversionError(f"{short(value)} is too large") from None


def _boolean(value: JSON) -> bool:
    if not isinstance(value, bool):
        raise ConversionError(f"true or false is expected, not {short(value)}")
    return value


def _null(value: JSON) -> None:
    if value is not None:
        raise ConversionError(f"null is expected, not {short(value)}")


_SCALARS: dict[type, Converter] = {str: _text, int: _integer, float: _number, bool: _boolean, type(None): _null}
