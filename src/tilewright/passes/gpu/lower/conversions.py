"""A copy between registers that only converts: two consecutive elements per instruction."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.arith import ExtfOp, TruncfOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, YieldOp
from tilewright.dialects.simt import ConvertOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import ParallelOp, names
from tilewright.dialects.tile.access import base_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, is_registers
from tilewright.passes.tile.index_builder import IndexBuilder

_LANES = 2


def lower_conversion(loop: ParallelOp, table: Table, storage: BufferStorage) -> bool:
    """Write a loop that converts one fragment into another, register by register, if it is one."""
    access = _conversion(loop)
    if access is None:
        return False
    load, store = access
    source = storage.registers[base_of(load.memref)]
    target = storage.registers[base_of(store.memref)]
    same = np.array_equal(source.table.registers, target.table.registers)
    held = np.array_equal(source.table.owners, target.table.owners)
    count = source.table.num_registers
    if not same or not held or count % _LANES or not table.is_full:
        return False
    code = IndexBuilder(loop)
    zero, end, step = code.index(0), code.index(count), code.index(_LANES)
    rounds = ForOp(zero, end, step)
    rounds.attributes[names.UNROLL] = UnitAttr()
    rounds.attributes[simt_names.SHARE] = UnitAttr()
    code.add(rounds)
    block = rounds.body.block
    if block.last_op is None:
        block.add_op(YieldOp())
    register = block.args[0]
    inside = code.inside(block)
    inside.add(ConvertOp(source.buffer, [register], target.buffer, [register], _LANES))
    code.rewriter.erase(loop)
    return True


def _conversion(loop: ParallelOp) -> tuple[LoadOp, StoreOp] | None:
    """The load and the store of a loop that does nothing else but convert."""
    ops: list[Operation] = [op for op in loop.body.block.ops if op.name != "tile.yield"]
    if len(ops) != 3:
        return None
    load, cast, store = ops
    if not isinstance(load, LoadOp) or not isinstance(store, StoreOp):
        return None
    if not isinstance(cast, ExtfOp | TruncfOp) or cast.operands[0] is not load.result:
        return None
    variables = list(loop.body.block.args)
    whole = list(load.indices) == variables and list(store.indices) == variables
    between = is_registers(load.memref) and is_registers(store.memref)
    return (load, store) if whole and between and store.value is cast.results[0] else None
