"""Addresses in source terms: which element of which array, or how far out of bounds."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.targets.numpy.buffers import MemoryRegion


@dataclass(frozen=True)
class ElementAddress:
    """An address seen from an array: an index, which may be out of range, and bytes beyond it."""

    region: MemoryRegion
    index: tuple[int, ...]
    beyond: int
    """Bytes from the start of that element; 0 if the address is an element's."""
    distance: int
    """Bytes from the array's first element."""

    @property
    def element(self) -> int:
        """How many elements after the first one it is in memory."""
        return self.distance // self.region.array.itemsize

    def __str__(self) -> str:
        name = self.region.name
        index = ", ".join(map(str, self.index))
        text = f"{name}[{index}]" if self.index else name
        if not self.beyond:
            return text
        return f"{self.beyond} byte{'s' if self.beyond > 1 else ''} after {text}"


def element_at(address: int, region: MemoryRegion) -> ElementAddress:
    """`address` as an index into the region's array.

    Strides are divided out from the greatest on, so what is too far counts along that axis, as in
    `x[10, 3]` for an array of ten rows. An address before the array has a negative first index.
    """
    array = region.array
    distance = address - region.base
    # A reversed axis counts from its far end, where addresses begin.
    rest = address - region.low
    index = [0] * array.ndim
    axes = [axis for axis in range(array.ndim) if array.strides[axis]]
    for axis in sorted(axes, key=lambda axis: (-abs(array.strides[axis]), axis)):
        steps, rest = divmod(rest, abs(array.strides[axis]))
        forwards = array.strides[axis] > 0
        index[axis] = steps if forwards else array.shape[axis] - 1 - steps
    return ElementAddress(region, tuple(index), rest, distance)


def describe(region: MemoryRegion) -> str:
    """`x is float32 with shape (4, 8)`, and the strides where they are not the usual ones."""
    array = region.array
    text = f"{region.name} is {array.dtype} with shape {_shape_text(array.shape)}"
    if array.flags.c_contiguous:
        return text
    strides = ", ".join(_quotient(stride, array.itemsize) for stride in array.strides)
    comma = "," if array.ndim == 1 else ""
    return f"{text} and strides ({strides}{comma}) in elements: it is not contiguous"


def _shape_text(shape: tuple[int, ...]) -> str:
    return str(tuple(map(int, shape)))


def _quotient(stride: int, itemsize: int) -> str:
    return str(stride // itemsize) if stride % itemsize == 0 else f"{stride}/{itemsize}"
