"""AMD: how a buffer in LDS that matrix instructions read is stored.

Lanes read 16 bytes along K, so K is contiguous, whichever way round the user's tile is; the copy
that fills a ``[K, N]`` tile transposes it. Lanes with consecutive rows would access the same banks:
chunks of 16 bytes are exchanged within a row, or rows padded (`layouts.hardware.lds`).

An operand that goes with one from an accumulator is read in runs shorter than 16 bytes (`run`
elements for each of `groups` groups of lanes). If the copy transposes it anyway, its K is reordered
too, so that the runs of a lane are next to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tilewright.analysis.copies.copy_instructions import is_seen_otherwise
from tilewright.analysis.layout_inference.amd_gemms import READ_BITS
from tilewright.analysis.layout_inference.fit import IntArray
from tilewright.dialects.amd import names
from tilewright.dialects.tile import AllocOp, GemmOp, KernelOp, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.layouts.hardware.lds import (
    CHUNK_BYTES,
    LdsSwizzle,
    best_swizzle,
    count,
    swizzles,
)
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.layouts.index_map import Layout, listed

ROWS, COLUMNS = -1, -2
"""The dimension of the user's tile that is contiguous in LDS: rows as written, or columns."""


@dataclass(frozen=True)
class OperandStorage:
    """The layout of a matrix in LDS."""

    rows: int
    columns: int
    bits: int
    swizzle: LdsSwizzle
    """Of lines along the contiguous dimension."""
    axis: int = ROWS
    """The contiguous dimension."""
    run: int = 0
    """Elements along K that stay next to each other if K is reordered; 0 if it is not."""
    groups: int = 1
    """Groups of lanes that K is dealt to, run by run."""

    @property
    def lines(self) -> int:
        return self.rows if self.axis == ROWS else self.columns

    @property
    def length(self) -> int:
        """Elements of a line, along the contiguous dimension."""
        return self.columns if self.axis == ROWS else self.rows

    @property
    def is_plain(self) -> bool:
        """Whether elements are stored row after row, as written."""
        return self.axis == ROWS and self.swizzle == LdsSwizzle(self.swizzle.row_bytes)

    @cached_property
    def layout(self) -> Layout:
        """Where an element of the matrix is."""
        lines = self.swizzle.layout((self.lines, self.length), self.bits)

        def forward(i: Any, j: Any) -> tuple[Any, ...]:
            line, position = (i, j) if self.axis == ROWS else (j, i)
            return listed(lines.forward(line, self._reordered(position)))

        return Layout((self.rows, self.columns), forward)

    def _reordered(self, k: Any) -> Any:
        """The position of an element among those along K."""
        if not self.run:
            return k
        run, groups, unit = self.run, self.groups, READ_BITS // self.bits
        several = unit // run
        inside = k % run + k // (run * groups) % several * run + k // run % groups * unit
        whole = unit * groups
        return inside if whole == self.length else k // whole * whole + inside

    def attribute(self, outer: tuple[int, ...]) -> LayoutAttr:
        """The layout of a buffer with these outer dimensions, as an IR attribute."""
        shape = (*outer, self.rows, self.columns)

        def forward(*index: Any) -> tuple[Any, ...]:
            return *index[:-2], *listed(self.layout.forward(*index[-2:]))

        return LayoutAttr(LayoutMap.from_function(shape, forward))

    def __str__(self) -> str:
        found = [str(self.swizzle)]
        found += ["transposed"] if self.axis == COLUMNS else []
        found += [f"K in runs of {self.run} for {self.groups} groups"] if self.run else []
        return ", ".join(found)


@dataclass(frozen=True)
class Request:
    """How a GEMM reads a buffer."""

    axis: int
    """The dimension along K."""
    core: MatrixCore
    k_width: int


def contiguous_axes(kernel: KernelOp) -> Mapping[SSAValue, int]:
    """For every buffer in LDS that is an operand of GEMMs, the dimension that will be contiguous.

    Two GEMMs may read a buffer along different dimensions; then it stays as written.
    """
    found: dict[SSAValue, int] = {}
    for op in walk(kernel):
        if not isinstance(op, GemmOp):
            continue
        for operand, is_a in ((op.a, True), (op.b, False)):
            if not is_free(operand):
                continue
            buffer, axis = base_of(operand), axis_of_k(op, is_a=is_a)
            found[buffer] = axis if found.get(buffer, axis) == axis else ROWS
    return found


def axis_of_k(op: GemmOp, *, is_a: bool) -> int:
    """The dimension of an operand that is K."""
    if is_a:
        return ROWS if op.transpose_a is None else COLUMNS
    return COLUMNS if op.transpose_b is None else ROWS


def is_free(operand: SSAValue) -> bool:
    """Whether the layout of a GEMM's operand can be chosen."""
    space, buffer = space_of(operand.type), base_of(operand)
    owner = buffer.owner
    return (
        space is not None
        and space.is_shared
        and isinstance(owner, AllocOp)
        and owner.layout is None
        and len(shape_of(buffer.type)) >= 2
        and not is_seen_otherwise(buffer)
        and not _is_viewed(operand)
    )


def _is_viewed(value: SSAValue) -> bool:
    """Whether an operand has other dimensions than its buffer."""
    owner = value.owner
    if isinstance(owner, ViewOp):
        return True
    return not isinstance(owner, AllocOp) and any(
        _is_viewed(each) for each in getattr(owner, "operands", ()) if each is not value
    )


def storage_of(buffer: SSAValue, requests: Sequence[Request], chip: Chip) -> OperandStorage | None:
    """The layout of a buffer for all GEMMs that read it; None if it stays as it is."""
    *_, rows, columns = shape_of(buffer.type)
    bits = bit_width(element_type_of(buffer.type))
    axes = {each.axis for each in requests}
    axis = axes.pop() if len(axes) == 1 else ROWS
    served = [each for each in dict.fromkeys(requests) if each.axis == axis]
    length = columns if axis == ROWS else rows
    if any(length % (each.k_width * each.core.groups) for each in served):
        return None  # GEMMs read parts of it
    run, groups = _runs(axis, length, bits, served)
    seen = tuple(_seen(each, run, bits) for each in served)
    swizzle = _best(length, bits, chip, seen, transposed=axis == COLUMNS, whole=_is_copied(buffer))
    found = OperandStorage(rows, columns, bits, swizzle, axis, run, groups)
    return None if found.is_plain else found


def _runs(axis: int, length: int, bits: int, requests: Sequence[Request]) -> tuple[int, int]:
    """How K is reordered, where all GEMMs read the same short runs and a copy transposes anyway."""
    kinds = {(each.core.groups, each.k_width) for each in requests}
    if axis == ROWS or len(kinds) != 1:
        return 0, 1
    groups, run = kinds.pop()
    unit = READ_BITS // bits
    if run >= unit or groups == 1 or length % (groups * unit):
        return 0, 1
    return run, groups


def _seen(request: Request, run: int, bits: int) -> Request:
    """How a GEMM reads a buffer whose K is reordered: as if runs were as long as a read."""
    return replace(request, k_width=READ_BITS // bits) if run else request


def _is_copied(buffer: SSAValue) -> bool:
    """Whether direct copies fill a buffer: 16-byte chunks, consecutive ones by the lanes."""
    return isinstance(buffer.owner, AllocOp) and names.OWN_ARRAY in buffer.owner.attributes


@cache
def _best(
    length: int,
    bits: int,
    chip: Chip,
    requests: tuple[Request, ...],
    *,
    transposed: bool,
    whole: bool,
) -> LdsSwizzle:
    """The best swizzle for one of the GEMMs, or any, with the fewest conflicts for all of them.

    If it has to be `whole`, there is no padding, and chunks of 16 bytes stay together.
    """

    def conflicts(swizzle: LdsSwizzle) -> int:
        return sum(
            count(swizzle, each.core, length, bits, chip.banks, each.k_width).conflicts[0]
            for each in requests
        )

    found = [
        best_swizzle(each.core, length, bits, chip.banks, each.k_width, transposed=transposed)
        for each in requests
    ]
    if (len(requests) > 1 or whole) and length * bits % READ_BITS == 0:
        found += swizzles(length * bits // 8, chip.banks)
    if whole:
        found = [
            each
            for each in found
            if not each.padding_bytes and each.chunk_bytes == CHUNK_BYTES and each.line_rows == 1
        ]
    different = list(dict.fromkeys(found))
    return different[0] if len(different) == 1 else min(different, key=conflicts)


def contiguous_registers(lines: IntArray, core: MatrixCore, k_width: int, bits: int) -> int:
    """How many registers of a lane are next to each other in memory, at most 16 bytes.

    `lines` has the offset of every element, K as the last dimension.
    """
    register = np.arange(lines.shape[-1] // core.groups, dtype=np.int64)
    k = register // k_width * (k_width * core.groups) + register % k_width
    held = lines[..., k + k_width * np.arange(core.groups)[:, None]]
    lanes = READ_BITS // bits
    while lanes > 1:
        if len(register) % lanes == 0:
            runs = held.reshape(*held.shape[:-1], -1, lanes)
            if (np.diff(runs, axis=-1) == 1).all() and (runs[..., 0] % lanes == 0).all():
                break
        lanes //= 2
    return lanes
