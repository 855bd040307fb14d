"""AMD: how a buffer in LDS that matrix instructions read is stored.

Lanes read 16 bytes along K, so K is contiguous, whichever way round the user's tile is; the copy
that fills a ``[K, N]`` tile transposes it. Lanes with consecutive rows would access the
same banks: within a row, units of 16 bytes are permuted by XOR with the number of the row.

    position of (row, k)  =  row * length + (unit(k) ^ row / divisor % units) * elements + ...

An operand that goes with one from an accumulator is read in runs shorter than 16 bytes (`run`
elements for each of `groups` groups of lanes). If the copy transposes it anyway, its K is reordered
too, so that the runs of a lane are next to each other.

Which of the possible parameters, and whether padding is better, decides the count of bank conflicts
of the reads of a wave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.amd_gemms import READ_BITS
from tilewright.analysis.layout_inference.fit import IntArray
from tilewright.analysis.layout_inference.gemm_plan import is_seen_otherwise
from tilewright.dialects.amd.chips import CHIPS, Chip
from tilewright.dialects.tile import AllocOp, GemmOp, KernelOp, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.matrix_core import MatrixCore

ROWS, COLUMNS = -1, -2
"""The dimension of the user's tile that is contiguous in LDS: rows as written, or columns."""


@dataclass(frozen=True)
class OperandStorage:
    """The layout of a matrix in LDS."""

    rows: int
    columns: int
    bits: int
    axis: int = ROWS
    """The contiguous dimension."""
    units: int = 1
    """Units of 16 bytes that are permuted among themselves; a power of two."""
    divisor: int = 1
    """Rows that are permuted alike."""
    padding: int = 0
    """Elements between two rows."""
    run: int = 0
    """Elements along K that stay next to each other if K is reordered; 0 if it is not."""
    groups: int = 1
    """Groups of lanes that K is dealt to, run by run."""

    width = 0
    """NVIDIA's swizzles have one."""

    @property
    def alignment(self) -> int:
        return READ_BITS // 8

    @property
    def length(self) -> int:
        """Elements along the contiguous dimension."""
        return self.columns if self.axis == ROWS else self.rows

    @property
    def unit(self) -> int:
        """Elements of 16 bytes."""
        return READ_BITS // self.bits

    def forward(self, i: Any, j: Any) -> tuple[Any, ...]:
        """Where an element of the matrix is."""
        line, position = (i, j) if self.axis == ROWS else (j, i)
        position = self._reordered(position)
        unit, rest = position // self.unit, position % self.unit
        if self.units > 1:
            moved = unit % self.units ^ line // self.divisor % self.units
            is_all = self.units * self.unit == self.length
            unit = moved if is_all else unit // self.units * self.units + moved
        position = unit * self.unit + rest
        if self.padding:
            return (line * (self.length + self.padding) + position,)
        return line, position

    def _reordered(self, k: Any) -> Any:
        """The position of an element among those along K."""
        if not self.run:
            return k
        run, groups = self.run, self.groups
        several = self.unit // run
        inside = k % run + k // (run * groups) % several * run + k // run % groups * self.unit
        whole = self.unit * groups
        return inside if whole == self.length else k // whole * whole + inside

    def attribute(self, outer: tuple[int, ...]) -> LayoutAttr:
        """The layout of a buffer with these outer dimensions, as an IR attribute."""
        shape = (*outer, self.rows, self.columns)

        def forward(*index: Any) -> tuple[Any, ...]:
            return *index[:-2], *self.forward(*index[-2:])

        return LayoutAttr(LayoutMap.from_function(shape, forward))

    def __str__(self) -> str:
        found = [f"{self.units} units permuted by row / {self.divisor}"] if self.units > 1 else []
        found += ["transposed"] if self.axis == COLUMNS else []
        found += [f"K in runs of {self.run} of {self.groups}"] if self.run else []
        found += [f"{self.padding} elements between rows"] if self.padding else []
        return ", ".join(found) or "as it is"


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
    """The layout of a buffer for all GEMMs that read it; None if it has to stay as it is."""
    *_, rows, columns = shape_of(buffer.type)
    bits = bit_width(element_type_of(buffer.type))
    axes = {each.axis for each in requests}
    axis = axes.pop() if len(axes) == 1 else ROWS
    served = tuple(dict.fromkeys(each for each in requests if each.axis == axis))
    return _best(OperandStorage(rows, columns, bits, axis), served, chip.name)


@cache
def _best(plain: OperandStorage, requests: tuple[Request, ...], chip: str) -> OperandStorage | None:
    """Of all candidates that with the fewest conflicts; the first of several."""
    if plain.length % plain.unit:
        return plain if plain.axis == COLUMNS else None
    return min(
        _candidates(_with_runs(plain, requests)),
        key=lambda each: sum(read_cost(each, one, chip) for one in requests),
    )


def _with_runs(plain: OperandStorage, requests: tuple[Request, ...]) -> OperandStorage:
    """K reordered, where all GEMMs read the same short runs and a copy transposes anyway."""
    kinds = {(each.core.groups, each.k_width) for each in requests}
    if plain.axis == ROWS or len(kinds) != 1:
        return plain
    (groups, run) = kinds.pop()
    if run >= plain.unit or groups == 1 or plain.length % (groups * plain.unit):
        return plain
    return replace(plain, run=run, groups=groups)


def _candidates(plain: OperandStorage) -> Iterator[OperandStorage]:
    """As many units permuted as possible first; padding last: it takes memory."""
    count = plain.length // plain.unit
    units = count & -count
    while units > 1:
        for divisor in (1, 2, 4, 8):
            yield replace(plain, units=units, divisor=divisor)
        units //= 2
    yield plain
    for padding in (1, 2):
        yield replace(plain, padding=padding * plain.unit)


def contiguous_registers(lines: IntArray, core: MatrixCore, k_width: int, bits: int) -> int:
    """How many registers of a lane are next to each other in memory, at most 16 bytes.

    `lines` has the offset of every element, K as the last dimension.
    """
    held = _held(lines, core, k_width)
    lanes = READ_BITS // bits
    while lanes > 1:
        if held.shape[-1] % lanes == 0:
            runs = held.reshape(*held.shape[:-1], -1, lanes)
            if (np.diff(runs, axis=-1) == 1).all() and (runs[..., 0] % lanes == 0).all():
                break
        lanes //= 2
    return lanes


def _held(lines: IntArray, core: MatrixCore, k_width: int) -> IntArray:
    """The offsets of the registers of each group of lanes: line, group, register."""
    register = np.arange(lines.shape[-1] // core.groups, dtype=np.int64)
    k = register // k_width * (k_width * core.groups) + register % k_width
    return lines[..., k + k_width * np.arange(core.groups)[:, None]]


def read_cost(storage: OperandStorage, request: Request, chip: str) -> int:
    """Cycles too many of the reads of one tile of an operand, by the model of the banks."""
    found = reads_of(storage, request)
    size = storage.bits // 8
    return sum(
        bank_conflicts([int(each) * size for each in read], found.lanes * size, CHIPS[chip])
        for read in found.offsets
    )


_READ_GROUPS = ((0, 20), (4, 16), (8, 28), (12, 24))
"""The first lanes of the two fours that are served together, of each 32 lanes."""


def bank_conflicts(addresses: Sequence[int], width: int, chip: Chip) -> int:
    """Cycles too many of one read."""
    groups = [
        [*range(half + one, half + one + 4), *range(half + other, half + other + 4)]
        for half in range(0, len(addresses), 32)
        for one, other in _READ_GROUPS
    ]
    total = 0
    for group in groups:
        cells = {
            cell
            for lane in group
            for cell in range(addresses[lane] // 4, (addresses[lane] + width - 1) // 4 + 1)
        }
        load = np.bincount([cell % chip.lds_banks for cell in cells])
        total += int(load.max()) - 1
    return total


@dataclass(frozen=True)
class Reads:
    """The reads of one tile of an operand by a wave."""

    lanes: int
    """Elements of one read of a lane."""
    offsets: Any
    """For each read the element at which each lane begins."""


def reads_of(storage: OperandStorage, request: Request) -> Reads:
    """How a wave reads the first tile of an operand."""
    core = request.core
    along = storage.columns if storage.axis == COLUMNS else storage.rows
    line, k = np.indices((min(core.side, along), storage.length))
    i, j = (line, k) if storage.axis == ROWS else (k, line)
    *first, last = storage.forward(i, j)
    lines = (first[0] * storage.length if first else 0) + last
    lanes = contiguous_registers(lines, core, request.k_width, storage.bits)
    held = _held(lines, core, request.k_width)[..., ::lanes]
    lane = np.arange(core.wave)
    return Reads(lanes, held[lane % core.side, lane // core.side % core.groups].T)
