"""MessagePack, as far as code objects use it: maps, lists, texts, integers, booleans.

The format: https://github.com/msgpack/msgpack/blob/master/spec.md. The first byte is
the type, and the length if it fits.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | bytes | list[Value] | dict[str, Value] | None"

_CONSTANTS: dict[int, Value] = {0xC0: None, 0xC2: False, 0xC3: True}
_FIXED = {
    **dict(zip(range(0xCC, 0xD0), (">B", ">H", ">I", ">Q"), strict=True)),
    **dict(zip(range(0xD0, 0xD4), (">b", ">h", ">i", ">q"), strict=True)),
    0xCA: ">f",
    0xCB: ">d",
}
_SIZED = {
    **dict(zip(range(0xC4, 0xC7), (("bytes", form) for form in (">B", ">H", ">I")), strict=True)),
    **dict(zip(range(0xD9, 0xDC), (("text", form) for form in (">B", ">H", ">I")), strict=True)),
    **dict(zip(range(0xDC, 0xDE), (("list", form) for form in (">H", ">I")), strict=True)),
    **dict(zip(range(0xDE, 0xE0), (("map", form) for form in (">H", ">I")), strict=True)),
}
"""What follows, and the form of its length."""


def unpack(data: bytes) -> Value:
    """The value that `data` begins with; raises `ValueError` if it is cut off or not known."""
    try:
        return _Reader(data).value()
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged MessagePack data: {error}") from None


class _Reader:
    """Reads values sequentially."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self) -> Value:
        code = self._taken(1)[0]
        if code < 0x80:
            return code
        if code >= 0xE0:
            return code - 0x100
        if code < 0x90:
            return self._map(code & 0x0F)
        if code < 0xA0:
            return self._list(code & 0x0F)
        if code < 0xC0:
            return self._taken(code & 0x1F).decode()
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _FIXED:
            return self._unpacked(_FIXED[code])
        if code not in _SIZED:
            raise ValueError(f"unexpected MessagePack code 0x{code:02x}")
        kind, form = _SIZED[code]
        length = int(self._unpacked(form))
        if kind == "map":
            return self._map(length)
        if kind == "list":
            return self._list(length)
        data = self._taken(length)
        return data if kind == "bytes" else data.decode()

    def _map(self, length: int) -> Value:
        found: dict[str, Value] = {}
        for _ in range(length):
            key = self.value()
            found[str(key)] = self.value()
        return found

    def _list(self, length: int) -> Value:
        return [self.value() for _ in range(length)]

    def _unpacked(self, form: str) -> int | float:
        return struct.unpack(form, self._taken(struct.calcsize(form)))[0]

    def _taken(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise IndexError(f"{length} bytes expected at {self._at}, {len(found)} left")
        self._at += length
        return found
