"""A fragment with the layout of tensor cores is written to shared memory by ``stmatrix``.

Thread ``4 * r + c`` of a warp holds elements ``2 * c`` and ``2 * c + 1`` of row ``r`` of an 8x8
matrix; an accumulator is several such matrices, register after register::

    registers 8g, 8g + 1 | 8g + 2, 8g + 3 | ...      four matrices of group g
    lane 8q + r  ->  address of row r of matrix q    one instruction, 512 bytes of a warp

Written element by element that takes four stores of 4 bytes a thread. The layout is compared with
the table of all elements, so whatever has this form is stored so: results of GEMMs, converted to 16
bits here or before. Rows of 8 elements have to be contiguous and aligned in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import Iterations
from tilewright.analysis.layout_inference.fit import IntArray, formula
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import Table
from tilewright.analysis.layout_inference.vectors import is_contiguous
from tilewright.dialects.arith import TruncfOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import StMatrixOp
from tilewright.dialects.simt import ConvertOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, ParallelOp, Space, SpaceAttr, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.expressions import LayoutExpr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.gpu.arch import gpu_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, SharedPart, is_registers
from tilewright.passes.gpu.lower.loops import counted
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, written

_WARP, _SIDE, _QUAD = 32, 8, 4
_STMATRIX = 90
"""The first GPU that has the instruction."""
_BITS = 16


@dataclass(frozen=True)
class _Rows:
    """The row that each lane names for each instruction, of (thread, instruction)."""

    row: LayoutExpr
    column: LayoutExpr
    count: int
    """Matrices of an instruction."""
    rounds: int


def lower_matrix_store(loop: ParallelOp, table: Table, storage: BufferStorage) -> bool:
    """Write a loop that stores a fragment to shared memory by matrices, if it is one."""
    access = _store(loop)
    gpu = gpu_of(loop)
    if access is None or isinstance(gpu, Chip) or gpu < _STMATRIX:
        return False
    load, store = access
    source = storage.registers[base_of(load.memref)]
    is_same = source.table == table and threads_of(loop).count == table.num_threads
    rows = _rows(table) if is_same else None
    if rows is None or not _is_aligned(loop, store, table, storage):
        return False
    code = IndexBuilder(loop)
    tid = storage.thread(code, threads_of(loop))
    part = storage.shared_part(code, store.memref)
    if not _has_rows(part):
        return False
    inside, round_index = code, 0
    if rows.rounds > 1:
        inside, round_index = counted(code, rows.rounds, names.UNROLL, simt_names.SHARE)
    register = combined(inside, "*", round_index, 2 * rows.count)
    held, first = source.buffer, inside.index(register)
    if bit_width(element_type_of(held.type)) != _BITS:
        held, first = _converted(inside, held, first, store, 2 * rows.count)
    variables = loop.body.block.args
    values: dict[SSAValue, Mixed] = {
        variables[0]: written(inside, rows.row, (tid, round_index)),
        variables[1]: written(inside, rows.column, (tid, round_index)),
    }
    indices = [_index(inside, each, values, loop) for each in store.indices]
    offset = inside.index(part.offset(inside, indices))
    inside.add(StMatrixOp(held, first, part.buffer, offset, rows.count))
    code.rewriter.erase(loop)
    return True


def _store(loop: ParallelOp) -> tuple[LoadOp, StoreOp] | None:
    """The load and the store of a loop that copies a fragment to shared memory, as 16 bits."""
    variables = list(loop.body.block.args)
    used = [op for op in loop.body.block.ops if isinstance(op, (LoadOp, StoreOp)) or op.regions]
    if len(variables) != 2 or len(used) != 2:
        return None
    load, store = used
    if not isinstance(load, LoadOp) or not isinstance(store, StoreOp):
        return None
    space = space_of(store.memref.type)
    is_shared = space is not None and space.is_shared and is_registers(load.memref)
    bits = bit_width(element_type_of(store.memref.type))
    if not is_shared or bits != _BITS or list(load.indices) != variables:
        return None
    value = store.value
    if isinstance(value.owner, TruncfOp):
        value = value.owner.operands[0]
        if bit_width(value.type) != 2 * _BITS:
            return None
    is_only = base_of(load.memref) is load.memref
    return (load, store) if value is load.result and is_only else None


def _rows(table: Table) -> _Rows | None:
    """The rows of the matrices that the layout consists of; None if it does not."""
    if table.replicas > 1 or not table.is_full or len(table.shape) != 2:
        return None
    threads, registers = table.num_threads, table.num_registers
    if threads % _WARP or registers % 2:
        return None
    lane = np.arange(threads)[:, None] % _WARP
    first = np.arange(threads) // _WARP * _WARP
    rows, columns = table.inverse
    row, column = rows[first][:, ::2], columns[first][:, ::2]
    for element in range(2):
        is_row = (rows[:, element::2] == row + lane // _QUAD).all()
        is_column = (columns[:, element::2] == column + lane % _QUAD * 2 + element).all()
        if not is_row or not is_column:
            return None
    if (column % _SIDE).any():
        return None
    matrices = registers // 2
    count = next(each for each in (4, 2, 1) if matrices % each == 0)
    group = np.arange(matrices // count) * count
    # Lanes beyond the matrices name a row, too, which is not used.
    picked = (group[None, :] + lane // _SIDE % count).astype(np.int64)
    by_row = np.take_along_axis(row, picked, axis=1) + lane % _SIDE
    by_column = np.take_along_axis(column, picked, axis=1)
    return _formulas(by_row, by_column, count, matrices // count)


def _formulas(row: IntArray, column: IntArray, count: int, rounds: int) -> _Rows | None:
    one, other = formula(row), formula(column)
    if one is None or other is None:
        return None
    return _Rows(one.text, other.text, count, rounds)


def _is_aligned(loop: ParallelOp, store: StoreOp, table: Table, storage: BufferStorage) -> bool:
    """Whether a row of a matrix is stored from a multiple of its elements on."""
    if not is_contiguous(loop, Iterations(loop, table.shape), store.indices):
        return False
    column, variable = store.indices[-1], loop.body.block.args[1]
    if column is variable:
        return True
    ranges = storage.ranges()
    start = ranges.poly(column) - ranges.poly(variable)
    return ranges.context(store).is_multiple(start, _SIDE)


def _has_rows(part: SharedPart) -> bool:
    """Whether 8 elements along the last dimension are contiguous and aligned in memory."""
    if part.offsets and not (isinstance(last := part.offsets[-1], int) and last % _SIDE == 0):
        return False
    if part.map.is_plain:
        return part.map.shape[-1] % _SIDE == 0
    return part.map.run % _SIDE == 0


def _converted(
    code: IndexBuilder, held: SSAValue, first: SSAValue, store: StoreOp, count: int
) -> tuple[SSAValue, SSAValue]:
    """The registers of one instruction as 16 bits each."""
    element = element_type_of(store.memref.type)
    type = MemRefType(element, (count,), NoneAttr(), SpaceAttr(Space.LOCAL))
    hint = f"{store.memref.name_hint or 'buffer'}_lanes"
    stage = code.add(AllocOp(type, name=hint)).results[0]
    zero = code.index(0)
    code.add(ConvertOp(held, [first], stage, [zero], count))
    return stage, zero


def _index(
    code: IndexBuilder, value: SSAValue, values: dict[SSAValue, Mixed], loop: ParallelOp
) -> Mixed:
    """An index of the loop for other values of its variables."""
    if value in values:
        return values[value]
    owner = value.owner
    if not isinstance(owner, Operation) or not loop.body.is_ancestor(owner):
        return value
    operands = {each: code.index(_index(code, each, values, loop)) for each in owner.operands}
    copy = code.add(owner.clone(operands))
    for old, new in zip(owner.results, copy.results, strict=True):
        values[old] = new
    return values[value]
