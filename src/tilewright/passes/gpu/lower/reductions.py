"""Reductions: first what a thread holds, then across the threads that hold the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import AnyFloat, UnitAttr, i1
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.fit import digits, expression
from tilewright.analysis.layout_inference.reductions import Reduction, plan
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.arith import (
    CmpiOp,
    SelectOp,
)
from tilewright.dialects.math import AbsfOp, AbsiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt import AllReduceOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import ReduceOp, names
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.expressions import Coordinate
from tilewright.dialects.tile.reducers import ReducerAllocOp, ReducerFinalizeOp
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import element_type_of
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.combinations import both, identity
from tilewright.passes.gpu.lower.loops import counted
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import written

ACROSS: Mapping[str, str] = {
    "sum": "sum",
    "prod": "prod",
    "abssum": "sum",
    "max": "max",
    "absmax": "max",
    "min": "min",
    "bitand": "bitand",
    "bitor": "bitor",
    "bitxor": "bitxor",
}


def lower_reduce(op: ReduceOp, storage: BufferStorage) -> None:
    """Replace a reduction of a fragment by its steps."""
    code = IndexBuilder(op)
    source, target = storage.registers[base_of(op.src)], storage.registers[base_of(op.dst)]
    kind = op.kind.data
    found = plan(source.table, target.table, op.axis)
    parts = found.parts
    outer, result = counted(code, parts.shape[0], names.UNROLL)
    element = element_type_of(target.buffer.type)
    total = identity(outer, kind, element, is_unsigned=is_without_sign(op))
    exists = _existence(found, storage, outer, op)
    lowest = source.table.inverse[0].min(axis=0)
    for register in range(parts.shape[1]):
        index = _register(outer, parts[:, register], result)
        loaded = outer.add(LoadOp(source.buffer, [index])).results[0]
        loaded = converted(outer, loaded, element, is_unsigned=is_without_sign(op))
        if exists is not None and lowest[parts[:, register]].min() < 0:
            nothing = identity(outer, kind, element, is_unsigned=is_without_sign(op))
            loaded = exists(outer, index, loaded, nothing)
        total = combine(outer, kind, total, prepared(outer, loaded, op), op)
    for digit in found.partners:
        across = AllReduceOp(ACROSS[kind], total, digit.radix, digit.weight)
        if op.nan_propagate is not None:
            across.attributes[simt_names.NAN] = UnitAttr()
        if is_without_sign(op):
            across.attributes[simt_names.UNSIGNED] = UnitAttr()
        total = outer.add(across).results[0]
    if op.accumulate is not None:
        before = outer.add(LoadOp(target.buffer, [result])).results[0]
        total = combine(outer, kind, before, total, op)
    outer.add(StoreOp(total, target.buffer, [result]))
    code.rewriter.erase(op)


def lower_finalize(op: ReducerFinalizeOp, storage: BufferStorage) -> None:
    """The partial results of all threads that have an element become its value, in all of them."""
    code = IndexBuilder(op)
    reducer = op.reducer.owner
    assert isinstance(reducer, ReducerAllocOp)
    registers = storage.registers[op.reducer]
    body, register = counted(code, registers.table.num_registers, names.UNROLL)
    total = body.add(LoadOp(registers.buffer, [register])).results[0]
    for threads, scale in _sharers(registers.table):
        across = AllReduceOp(ACROSS[reducer.op.data], total, threads, scale)
        if is_unsigned(op.reducer):
            across.attributes[simt_names.UNSIGNED] = UnitAttr()
        total = body.add(across).results[0]
    body.add(StoreOp(total, registers.buffer, [register]))
    code.rewriter.erase(op)


def _sharers(table: Table) -> list[tuple[int, int]]:
    """Digits of the thread index that distinguish the owners of an element."""
    apart = table.owners - table.owners[..., :1]
    line = apart.reshape(-1, table.replicas)
    if (line != line[:1]).any():
        raise NotALayout(
            "the owner threads of a reducer element are at strides that differ between elements"
        )
    found = digits(line[0])
    if found is None:
        raise NotALayout("the owner threads of a reducer element are not at regular strides")
    return [(digit.radix, digit.weight) for digit in found if digit.radix > 1]


Chooser = Callable[[IndexBuilder, SSAValue, SSAValue, SSAValue], SSAValue]


def _existence(
    found: Reduction, storage: BufferStorage, code: IndexBuilder, op: ReduceOp
) -> Chooser | None:
    """Chooses between what a register holds and nothing, where some threads' hold nothing."""
    if not found.limits:
        return None
    tid = storage.thread_at(code, op)

    def choose(
        code: IndexBuilder, register: SSAValue, loaded: SSAValue, nothing: SSAValue
    ) -> SSAValue:
        for text, size in found.limits:
            here = code.index(written(code, text, (tid, register)))
            inside = code.add(CmpiOp("ult", here, code.index(size))).results[0]
            loaded = code.add(SelectOp(inside, loaded, nothing)).results[0]
        return loaded

    return choose


def _register(code: IndexBuilder, column: np.ndarray, result: SSAValue) -> SSAValue:
    found = digits(column)
    if found is None:
        raise NotALayout("the partial results have no affine formula")
    text = expression(found, Coordinate(0), len(column)) + int(column[0])
    return code.index(written(code, text, (result,)))


# -- kinds -------------------------------------------------------------------------------------


def is_without_sign(op: ReduceOp) -> bool:
    """Whether a reduction reads its integers as unsigned."""
    return is_unsigned(op.src)


def prepared(code: IndexBuilder, value: SSAValue, op: ReduceOp) -> SSAValue:
    """What is added up, or compared: of some kinds the size without its sign."""
    if not op.kind.data.startswith("abs") or is_without_sign(op) or value.type == i1:
        return value
    make = AbsfOp if isinstance(value.type, AnyFloat) else AbsiOp
    return code.add(make(value)).results[0]


def combine(
    code: IndexBuilder, kind: str, left: SSAValue, right: SSAValue, op: ReduceOp
) -> SSAValue:
    """Two partial results as one."""
    keeps_nan = op.nan_propagate is not None
    across, is_unsigned = ACROSS[kind], is_without_sign(op)
    return both(code, across, left, right, keeps_nan=keeps_nan, is_unsigned=is_unsigned)
