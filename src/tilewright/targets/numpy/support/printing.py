"""The lines of `tt.print`, in two forms.

    pid (1, 0, 0) x: [0 1 2 3]            one line a program: all values
    pid (1, 0, 0) idx (2) x: 2            as a GPU prints them: one line an element

On a GPU every thread prints, so a line without an index comes once for each thread of a program.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_MAX_PRINTED = 1024
"""Elements of a value that one line shows all of."""


@dataclass(frozen=True)
class Printed:
    """One value of a program. `signed` is None for an address."""

    value: Any
    signed: bool | None


def program_line(
    where: tuple[int, ...], prefix: str, values: Sequence[Printed], *, hexadecimal: bool
) -> str:
    """All values of a program in one line."""
    texts = [_shown(each.value, bool(each.signed), hexadecimal) for each in values]
    return f"pid {where}{prefix}{', '.join(texts)}"


def element_lines(
    where: tuple[int, ...],
    prefix: str,
    values: Sequence[Printed],
    *,
    hexadecimal: bool,
    threads: int,
) -> Iterator[str]:
    """A line for each element of each value, the way a GPU with `threads` of a program prints."""
    if not values:
        yield from itertools.repeat(f"pid {where}{prefix}", threads)
    for operand_index, each in enumerate(values):
        operand = f"(operand {operand_index}) " if len(values) > 1 else ""
        array = np.asarray(each.value)
        widths = [math.ceil(math.log10(extent)) for extent in array.shape]
        for index in np.ndindex(array.shape):
            shown = ", ".join(f"{i:{width}}" for i, width in zip(index, widths, strict=True))
            text = _element(array[index], each.signed, hexadecimal)
            line = f"pid {where} idx ({shown}){prefix}{operand}{text}"
            yield from itertools.repeat(line, 1 if array.shape else threads)


def _element(value: Any, signed: bool | None, hexadecimal: bool) -> str:
    """One number as C prints it: ``%i``, ``%u``, ``%f``, ``%a``, ``%p``."""
    if signed is None:
        return f"{int(value):#x}"
    if value.dtype.kind not in "biu":
        return float(value).hex() if hexadecimal else f"{float(value):f}"
    bits = 8 * value.dtype.itemsize
    if hexadecimal:
        return f"0x{int(value) % (1 << bits):0{bits // 4}x}"
    return str(int(value) if signed else int(value) % (1 << bits))


def _shown(value: Any, signed: bool, hexadecimal: bool) -> str:
    if value.dtype.kind == "i" and (not signed or hexadecimal):
        value = value.view(np.dtype(f"u{value.dtype.itemsize}"))
    if hexadecimal:
        digits = 2 * value.dtype.itemsize
        bits = value.view(np.dtype(f"u{value.dtype.itemsize}"))
        return np.array2string(
            bits,
            threshold=_MAX_PRINTED,
            max_line_width=1 << 20,
            formatter={"int_kind": lambda value: f"0x{value:0{digits}x}"},
        )
    if value.dtype.kind not in "biuf":
        value = value.astype(np.float32)
    return np.array2string(value, threshold=_MAX_PRINTED, max_line_width=1 << 20)
