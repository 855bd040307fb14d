"""Where the elements of tensor-memory buffers are, and which threads move them to registers.

Tensor memory has 128 lanes of 512 columns of 32 bits. An accumulator of 128 rows has row ``i`` in
lane ``i``; one of 64 rows in lane ``i div 16 * 32 + i mod 16``. Its elements take a column each,
those of 16 bits the lower half of one. Operands are packed: as many elements in a column as fit. A
warp accesses a quarter of the lanes, that of its number modulo 4, so 128 threads see all of them;
more threads divide the columns.

    128 rows    32x32b     thread i has row i, registers are its columns
    64 rows     16x256b    as the accumulators of `wgmma` are in registers; elements of 16 bits in
                           pairs, so that a thread has 4 of a row in turn
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import GROUP, Threads
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile import AllocOp, CopyOp, Space, Tcgen05GemmOp, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk

LANES, MAX_COLUMNS, MIN_COLUMNS = 128, 512, 32
COLUMN_BITS = 32
_SMALL_ROWS, _SMALL_STEP = 64, 8
_MAX_REPEATS = {"32x32b": 128, "16x256b": 32}


@dataclass(frozen=True)
class TmemLayout:
    """Where the elements of one buffer are, apart from its first column."""

    rows: int
    width: int
    """Elements of a row."""
    stages: int
    bits: int
    is_packed: bool
    """Whether several elements share a column."""

    @property
    def per_column(self) -> int:
        return COLUMN_BITS // self.bits if self.is_packed else 1

    @property
    def stage_columns(self) -> int:
        return -(-self.width // self.per_column)

    @property
    def columns(self) -> int:
        return self.stage_columns * self.stages

    @property
    def has_low_halves(self) -> bool:
        """Whether elements are the lower halves of columns."""
        return not self.is_packed and self.bits < COLUMN_BITS


def layout_of(alloc: AllocOp) -> TmemLayout:
    """The layout of a buffer in tensor memory, from how GEMMs use it."""
    *outer, rows, width = shape_of(alloc.result.type)
    bits = bit_width(element_type_of(alloc.result.type))
    is_result = nv_names.ACCUMULATOR in alloc.attributes or accumulates(alloc)
    return TmemLayout(rows, width, outer[0] if outer else 1, bits, not is_result)


def accumulates(alloc: AllocOp) -> bool:
    """Whether GEMMs write a buffer; `allocate-tensor-memory` notes it before they are lowered."""
    kernel: Operation | None = alloc.parent_op()
    return kernel is not None and any(
        isinstance(op, Tcgen05GemmOp) and base_of(op.c) is alloc.result for op in walk(kernel)
    )


def is_move(op: Operation) -> bool:
    """Whether an op is a copy between tensor memory and registers."""
    if not isinstance(op, CopyOp):
        return False
    spaces = {space_of(op.src.type), space_of(op.dst.type)}
    return spaces == {Space.TMEM, Space.FRAGMENT}


def sides(op: CopyOp) -> tuple[SSAValue, SSAValue]:
    """The side of a move in tensor memory, and the fragment."""
    is_load = space_of(op.src.type) is Space.TMEM
    return (op.src, op.dst) if is_load else (op.dst, op.src)


@dataclass(frozen=True)
class Move:
    """How threads move a part of a buffer to or from registers."""

    shape: str
    """Of the instruction."""
    groups: int
    """Sets of 128 threads, which divide the columns."""
    elements: int
    """Of a row, that one of them moves."""
    per_register: int = 1
    """Consecutive elements of a row that share a register."""

    def repeats(self, registers: int) -> list[int]:
        """The ``.xN`` of the instructions that move so many registers for each row."""
        step = _SMALL_STEP if self.shape == "16x256b" else 1
        left, found = registers // step, list[int]()
        largest = _MAX_REPEATS[self.shape]
        while left:
            size = min(largest, 1 << (left.bit_length() - 1))
            found.append(size)
            left -= size
        return found


def move_of(rows: int, width: int, layout: TmemLayout, threads: Threads) -> Move:
    """The instructions for `width` columns of all rows; raises `NotALayout`."""
    if threads.count % GROUP or threads.first % NVIDIA_WARP:
        raise NotALayout(
            f"each warp accesses a quarter of the lanes of tensor memory, so {GROUP} threads or a "
            f"multiple take part, got {threads.count}"
        )
    if rows != layout.rows:
        raise NotALayout(
            f"a copy takes all {layout.rows} rows of a buffer in tensor memory, got {rows}"
        )
    if rows == LANES:
        shape, step = "32x32b", 1
    elif rows == _SMALL_ROWS and not (layout.is_packed and layout.bits < COLUMN_BITS):
        shape, step = "16x256b", _SMALL_STEP
    else:
        raise NotALayout(
            f"registers take {LANES} or {_SMALL_ROWS} rows of tensor memory, got {rows}"
        )
    unit = step * (COLUMN_BITS // layout.bits)
    groups = threads.count // GROUP
    while groups > 1 and width % (groups * unit):
        groups //= 2
    if width % unit or groups * GROUP != threads.count:
        raise NotALayout(
            f"{width} columns of {layout.bits} bits in tensor memory cannot be divided over "
            f"{threads.count} threads"
        )
    return Move(shape, groups, width // groups, COLUMN_BITS // layout.bits)


def fragment_table(rows: int, width: int, move: Move, threads: Threads) -> Table:
    """The registers of a fragment that is moved to or from tensor memory.

    Threads are counted from the first of the role; the quarter of a warp follows from its number
    in the block.
    """
    i, j = np.indices((rows, width), dtype=np.int64)
    group, column = j // move.elements, j % move.elements
    if move.shape == "32x32b":
        lane, register = i, column
    else:
        # 8 registers of a row are those of 4 threads, 2 of each; then come 8 rows more.
        pair = 2 * move.per_register
        lane = i // 16 * NVIDIA_WARP + i % 8 * 4 + column // pair % 4
        register = column % pair + pair * (i // 8 % 2) + 2 * pair * (column // (4 * pair))
    thread = group * GROUP + (lane - threads.first) % GROUP
    return Table(np.ascontiguousarray(thread)[..., None], register)
