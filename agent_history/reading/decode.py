"""Blocks of JSON lines to typed rows, losing at most one field or one line to bad input.

A block is decoded in one call. When that fails, its lines are decoded one by one; a line of an
unexpected shape keeps the fields that have the expected type. Nothing here raises on bad data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

Row = TypeVar("Row", bound=msgspec.Struct)


class Counts(msgspec.Struct):
    """What had to be passed over, for `doctor`."""

    bad_lines: int = 0
    long_lines: int = 0
    odd_fields: int = 0


def clean(text: str) -> str:
    """`text` with lone surrogates replaced, so that it can be encoded again.

    Agents cut tool output inside a surrogate pair and leave `\\ud83d` alone in the line.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cleaned(value: Any) -> Any:
    """The same JSON value with every text clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): cleaned(item) for key, item in value.items()}
    return value


def loads(data: bytes | memoryview | msgspec.Raw) -> Any:
    """One JSON value from `data`, or None when it is none.

    msgspec refuses lone surrogates and invalid UTF-8; the standard library takes both once the
    bytes are replaced.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return cleaned(json.loads(bytes(data).decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def as_dict(data: bytes | memoryview | msgspec.Raw) -> dict[str, Any]:
    """The JSON object in `data`; empty when there is none."""
    value = loads(data) if data else None
    return value if isinstance(value, dict) else {}


class LineDecoder(Generic[Row]):
    """Decodes blocks of whole lines into rows of one Struct type and counts what was bad."""

    def __init__(self, row: type[Row]) -> None:
        self._row = row
        self._decoder = msgspec.json.Decoder(row)

    def rows(self, block: bytes, counts: Counts) -> Iterable[Row]:
        """The rows of a block that ends with a newline (or holds one whole line)."""
        try:
            return self._decoder.decode_lines(block)
        except (msgspec.MsgspecError, RecursionError):
            return self._one_by_one(block, counts)

    def _one_by_one(self, block: bytes, counts: Counts) -> Iterable[Row]:
        for line in block.split(b"\n"):
            if not line or line.isspace():
                continue
            try:
                yield self._decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError):
                row = self._salvage(line, counts)
                if row is not None:
                    yield row

    def _salvage(self, line: bytes, counts: Counts) -> Row | None:
        value = loads(line)
        if not isinstance(value, dict):
            counts.bad_lines += 1
            return None

        def odd() -> None:
            counts.odd_fields += 1

        return tolerant(self._row, value, odd)


def tolerant(row: type[Row], value: dict[str, Any], odd: Callable[[], None]) -> Row:
    """A Struct from the fields of `value` that fit; `odd` is called for each that does not."""
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(row):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        if field.type is msgspec.Raw:
            kept[field.name] = msgspec.Raw(msgspec.json.encode(item))
            continue
        try:
            kept[field.name] = msgspec.convert(item, field.type)
        except (msgspec.ValidationError, RecursionError):
            inner = struct_in(field.type)
            if inner is not None and isinstance(item, dict):
                kept[field.name] = tolerant(inner, item, odd)
            elif isinstance(item, list):
                kept[field.name] = tolerant_list(field.type, item, odd)
            else:
                odd()
    return row(**{name: item for name, item in kept.items() if item is not None})


def tolerant_list(kind: Any, items: list[Any], odd: Callable[[], None]) -> list[Any] | None:
    """The items of a list that fit the Struct its annotation names; None when it names none."""
    for part in getattr(kind, "__args__", ()):
        inner = struct_in(part) if getattr(part, "__origin__", None) is list else None
        inner = inner or (struct_in(kind) if getattr(kind, "__origin__", None) is list else None)
        if inner is None:
            continue
        out = []
        for item in items:
            if isinstance(item, dict):
                out.append(tolerant(inner, item, odd))
            else:
                odd()
        return out
    odd()
    return None


def struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """The Struct type inside an annotation such as `Usage | None` or `list[Block]`."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    for part in getattr(kind, "__args__", ()):
        found = struct_in(part)
        if found is not None:
            return found
    return None
