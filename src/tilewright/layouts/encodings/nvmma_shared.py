"""Shared memory as TMA writes it and as ``wgmma`` and ``tcgen05`` read it.

The contiguous dimension is cut into rows of 32, 64 or 128 bytes, the width of the swizzle; eight
rows make a core pattern in which the 16-byte units change places (see `hardware.swizzle`). A TMA
box is at most 256 elements long in each dimension; larger tensors are several boxes, one after the
other. Without a swizzle a box is plain row-major; Triton up to 3.7 then ignores `transposed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.bits import log2
from tilewright.layouts.encodings.tiling import (
    CgaBases,
    Shape,
    counting,
    dims_of,
    repeated,
    shape_per_cta,
    sized,
    spread,
)
from tilewright.layouts.linear import OFFSET, LinearLayout, dim

BOX_LIMIT = 256
"""The most elements a TMA box can have along one dimension."""
CORE_ROWS = 8
UNIT_BITS = 128
"""What a swizzle moves: 16 bytes."""


@dataclass(frozen=True)
class NvmmaShared:
    """``#ttg.nvmma_shared``."""

    swizzle_bytes: int
    element_bits: int
    transposed: bool = False
    fp4_padded: bool = False
    cga: CgaBases = ()

    def __post_init__(self) -> None:
        if self.swizzle_bytes not in (0, 32, 64, 128):
            raise ValueError(
                f"swizzle width is {self.swizzle_bytes} bytes, expected 0, 32, 64 or 128"
            )
        if self.element_bits not in (8, 16, 32, 64):
            raise ValueError(f"element width is {self.element_bits} bits, expected 8, 16, 32 or 64")
        if self.fp4_padded and (self.swizzle_bytes, self.element_bits) != (128, 8):
            raise ValueError("padded FP4 needs bytes and a 128-byte swizzle")

    @property
    def alignment(self) -> int:
        """The bytes to which the buffer must be aligned for its pattern to start at zero."""
        return max(128, CORE_ROWS * self.swizzle_bytes)

    @property
    def row_elements(self) -> int:
        """How many elements of the contiguous dimension one row of the pattern holds."""
        packed = self.swizzle_bytes * 8 // self.element_bits
        return packed // 2 if self.fp4_padded else packed

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        part = shape_per_cta(shape, self.cga)
        if self.transposed and len(part) > 2:
            raise ValueError("a transposed layout for TMA has two dimensions")
        order = list(range(len(part))) if self.transposed else list(range(len(part)))[::-1]
        if not self.swizzle_bytes:
            tile = self._plain_box(part, order)
        else:
            tile = self._swizzled_box(part, order)
        return spread(tile, shape, self.cga, OFFSET)

    def _plain_box(self, part: Shape, order: Sequence[int]) -> LinearLayout:
        box = [min(size, BOX_LIMIT) for size in part]
        return counting(OFFSET, box, order).reordered(outs=dims_of(len(part))[::-1])

    def _swizzled_box(self, part: Shape, order: Sequence[int]) -> LinearLayout:
        inner = order[0]
        rows = 1
        for axis in order[1:]:
            rows *= min(part[axis], BOX_LIMIT)
        if part[inner] < self.row_elements or rows < CORE_ROWS:
            raise ValueError(
                f"{list(part)} is smaller than the {CORE_ROWS} x {self.row_elements} pattern of a "
                f"{self.swizzle_bytes}-byte swizzle"
            )
        core = self._core()
        box = repeated(core, {"inner": self.row_elements, "outer": rows}, OFFSET)
        sizes = {dim(inner): self.row_elements}
        sizes |= {dim(axis): min(part[axis], BOX_LIMIT) for axis in order[1:]}
        return box.reshaped_outs(sizes).reordered(outs=list(sized(part)))

    def _core(self) -> LinearLayout:
        """Eight rows of the swizzle's width."""
        unit = UNIT_BITS // self.element_bits
        if self.fp4_padded:
            unit //= 2
        phases = self.swizzle_bytes // 16
        bases = [(1 << bit, 0) for bit in range(log2(self.row_elements))]
        if self.fp4_padded:
            # Eight bytes of pairs, then eight bytes that stay empty.
            bases.insert(log2(unit), (0, 0))
        for bit in range(log2(CORE_ROWS)):
            phase = (1 << bit) * phases // CORE_ROWS
            bases.append((phase * unit, 1 << bit))
        return LinearLayout.of({OFFSET: bases}, {"inner": self.row_elements, "outer": CORE_ROWS})


def default_nvmma_shared(
    shape: Sequence[int], element_bits: int, transposed: bool = False, cga: CgaBases = ()
) -> NvmmaShared:
    """The widest swizzle that a buffer of this shape can have: fewest TMA boxes and MMAs."""
    part = shape_per_cta(shape, cga)
    outer, inner = part[:-1], part[-1]
    if transposed:
        outer, inner = part[1:], part[0]
    rows = 1
    for size in outer:
        rows *= size
    row_bytes = inner * element_bits // 8
    fitting = [width for width in (128, 64, 32) if row_bytes % width == 0]
    width = fitting[0] if fitting and rows >= CORE_ROWS and len(part) > 1 else 0
    return NvmmaShared(width, element_bits, transposed, cga=cga)
