"""Layouts in CuTe's notation, ``shape:stride``, as users of TLX write them.

A register layout is a pair of modes, what the thread number and what the register number
contribute to the row-major number of an element; lanes and warps stay apart::

    ((_32,_2,_2),_1):((_1,_32,_0),_0)     64 elements over 128 threads, each held twice

A buffer has one mode per dimension, and a swizzle before them if it has one::

    Swizzle<2,1,5> o (_32,_32):(_32,_1)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import mul

from xdsl.ir import Attribute

from tilewright.dialects.ttg.shared import SwizzledSharedEncoding
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.layouts.linear import LANE, REGISTER, WARP, LinearLayout
from tilewright.passes.ttg.linear import linear_of

Mode = tuple[int, int]
"""A size and a stride."""

Shape = tuple[int, ...]


def register_notation(layout: LinearLayout) -> str | None:
    """`layout` as ``((thread),(value)):((thread),(value))``; None if bits of it are combined."""
    steps = _row_major(layout.out_shape)
    modes: dict[str, list[Mode]] = {}
    for name in (LANE, WARP, REGISTER):
        strides: list[int] = []
        for basis in layout.bases_of(name):
            if sum(map(bool, basis)) > 1 or any(each & (each - 1) for each in basis):
                return None
            strides.append(sum(map(mul, basis, steps)))
        modes[name] = _joined(strides)
    thread = [*modes[LANE], *modes[WARP]] or [(1, 0)]
    value = modes[REGISTER] or [(1, 0)]
    shape, stride = (
        f"({_tuple(mode[index] for mode in thread)},{_tuple(mode[index] for mode in value)})"
        for index in (0, 1)
    )
    return f"{shape}:{stride}"


def buffer_notation(encoding: Attribute, shape: Shape) -> str | None:
    """A buffer of `shape` as a strided layout, swizzled or not; None for other kinds."""
    layout = unwrapped(encoding)
    if not isinstance(layout, SwizzledSharedEncoding) or len(layout.order) != len(shape):
        return None
    strides = dict(
        zip(
            layout.order,
            accumulate((shape[axis] for axis in layout.order[:-1]), mul, initial=1),
            strict=True,
        )
    )
    plain = f"{_tuple(shape)}:{_tuple(strides[axis] for axis in range(len(shape)))}"
    if layout.max_phase == 1:
        return plain
    bits, base = layout.max_phase.bit_length() - 1, layout.vec.bit_length() - 1
    row = layout.per_phase * shape[layout.order[0]]
    return f"Swizzle<{bits},{base},{row.bit_length() - 1 - base}> o {plain}"


def notation(encoding: Attribute, shape: Shape, *, is_buffer: bool) -> str | None:
    """The layout of a tensor or a buffer of `shape`; None if it has no such form."""
    if is_buffer:
        return buffer_notation(encoding, shape)
    layout = linear_of(encoding, shape)
    return None if layout is None else register_notation(layout)


def _row_major(shape: Sequence[int]) -> list[int]:
    return [*accumulate(reversed(shape[1:]), mul, initial=1)][::-1]


def _joined(strides: Iterable[int]) -> list[Mode]:
    """Bits with `strides` as modes; a bit whose stride doubles that before it extends its mode."""
    modes: list[Mode] = []
    for stride in strides:
        size, first = modes[-1] if modes else (0, -1)
        if modes and stride == first * size:
            modes[-1] = (2 * size, first)
        else:
            modes.append((2, stride))
    return modes


def _tuple(values: Iterable[int]) -> str:
    text = [f"_{value}" for value in values]
    return text[0] if len(text) == 1 else f"({','.join(text)})"
