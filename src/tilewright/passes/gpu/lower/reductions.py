"""Reductions: first what a thread holds, then across the threads that hold the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import AnyFloat, UnitAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.layout_inference.fit import digits, expression
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.arith import (
    CmpiOp,
    ConstantOp,
    SelectOp,
)
from tilewright.dialects.math import AbsfOp, AbsiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AllReduceOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.tile import AllocOp, ReduceOp, names
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.expressions import Coordinate
from tilewright.dialects.tile.reducers import ReducerAllocOp, ReducerFinalizeOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.gpu.lower.combinations import both
from tilewright.passes.gpu.lower.expressions import written
from tilewright.passes.gpu.lower.parallel import counted
from tilewright.passes.gpu.lower.places import Places
from tilewright.passes.tile.code import Code

_ACROSS: Mapping[str, str] = {
    "sum": "sum",
    "abssum": "sum",
    "max": "max",
    "absmax": "max",
    "min": "min",
    "bitand": "bitand",
    "bitor": "bitor",
    "bitxor": "bitxor",
}


def lower_reduce(op: ReduceOp, places: Places) -> None:
    """Replace a reduction of a fragment by its steps."""
    code = Code(op)
    source, target = places.registers[base_of(op.src)], places.registers[base_of(op.dst)]
    kind = op.kind.data
    parts = _parts(source.table, target.table, op.axis)
    outer, result = counted(code, parts.shape[0], names.UNROLL)
    element = element_type_of(target.buffer.type)
    total = identity(outer, kind, element, is_unsigned=_is_unsigned(op))
    exists = _existence(source.table, places, outer, op)
    for register in range(parts.shape[1]):
        index = _register(outer, parts[:, register], result)
        loaded = outer.add(LoadOp(source.buffer, [index])).results[0]
        loaded = converted(outer, loaded, element, is_unsigned=_is_unsigned(op))
        if exists is not None:
            nothing = identity(outer, kind, element, is_unsigned=_is_unsigned(op))
            loaded = exists(outer, index, loaded, nothing)
        total = combine(outer, kind, total, _prepared(outer, kind, loaded), op)
    for threads, scale in _partners(source.table, op.axis):
        across = AllReduceOp(_ACROSS[kind], total, threads, scale)
        if op.nan_propagate is not None:
            across.attributes[nv_names.NAN] = UnitAttr()
        if _is_unsigned(op):
            across.attributes[nv_names.UNSIGNED] = UnitAttr()
        total = outer.add(across).results[0]
    if op.accumulate is not None:
        before = outer.add(LoadOp(target.buffer, [result])).results[0]
        total = combine(outer, kind, before, total, op)
    outer.add(StoreOp(total, target.buffer, [result]))
    code.rewriter.erase(op)


def lower_finalize(op: ReducerFinalizeOp, places: Places) -> None:
    """The partial results of all threads that have an element become its value, in all of them."""
    code = Code(op)
    reducer = op.reducer.owner
    assert isinstance(reducer, ReducerAllocOp)
    registers = places.registers[op.reducer]
    body, register = counted(code, registers.table.num_registers, names.UNROLL)
    total = body.add(LoadOp(registers.buffer, [register])).results[0]
    for threads, scale in _sharers(registers.table):
        total = body.add(AllReduceOp(_ACROSS[reducer.op.data], total, threads, scale)).results[0]
    body.add(StoreOp(total, registers.buffer, [register]))
    code.rewriter.erase(op)


def _sharers(table: Table) -> list[tuple[int, int]]:
    """Digits of the thread number that tell the holders of an element apart."""
    apart = table.holders - table.holders[..., :1]
    line = apart.reshape(-1, table.replicas)
    if (line != line[:1]).any():
        raise NotALayout("elements of the reducer are held by differently spaced threads")
    found = digits(line[0])
    if found is None:
        raise NotALayout("the threads that hold an element are not evenly apart")
    return [(digit.radix, digit.weight) for digit in found if digit.radix > 1]


Chooser = Callable[[Code, SSAValue, SSAValue, SSAValue], SSAValue]


def _existence(table: Table, places: Places, code: Code, op: ReduceOp) -> Chooser | None:
    """Chooses between what a register holds and nothing, where some threads' hold nothing."""
    if table.is_full:
        return None
    filled = table.filled()
    if filled is None:
        raise NotALayout("no formula gives the element in a register of a thread")
    text = filled.coordinates()[-1]
    tid = places.thread_at(code, op)
    columns = table.shape[-1]

    def choose(code: Code, register: SSAValue, loaded: SSAValue, nothing: SSAValue) -> SSAValue:
        column = code.index(written(code, text, (tid, register)))
        inside = code.add(CmpiOp("ult", column, code.index(columns))).results[0]
        return code.add(SelectOp(inside, loaded, nothing)).results[0]

    return choose


def _parts(source: Table, target: Table, axis: int) -> np.ndarray:
    """For every register of the result the registers of the source that go into it."""
    moved = np.moveaxis(source.registers, axis, -1)
    results = target.registers.reshape(moved.shape[:-1])
    found: list[list[int]] = []
    for number in range(target.num_registers):
        rows = moved[results == number]
        used = np.unique(rows)
        # A thread holds the same registers of each row that shares a register of the result.
        found.append([int(each) for each in used])
    lengths = {len(each) for each in found}
    if len(lengths) != 1:
        raise NotALayout("results of the reduction have different numbers of parts")
    return np.array(found, dtype=np.int64)


def _register(code: Code, column: np.ndarray, result: SSAValue) -> SSAValue:
    found = digits(column)
    if found is None:
        raise NotALayout("no formula gives the parts of a result")
    text = expression(found, Coordinate(0), len(column)) + int(column[0])
    return code.index(written(code, text, (result,)))


def _partners(table: Table, axis: int) -> list[tuple[int, int]]:
    """Digits of the thread number that change along the axis: how many, and how far apart."""
    line = np.moveaxis(table.holders[..., 0], axis, -1).reshape(-1, table.shape[axis])[0]
    threads = np.unique(line)
    offsets = threads - threads[0]
    found = digits(offsets)
    if found is None:
        raise NotALayout("the threads that share a row are not evenly apart")
    return [(digit.radix, digit.weight) for digit in found if digit.radix > 1]


# -- kinds -------------------------------------------------------------------------------------


def _is_unsigned(op: ReduceOp) -> bool:
    owner = base_of(op.src).owner
    dtype = owner.dtype if isinstance(owner, AllocOp) else None
    return dtype is not None and dtype.data.startswith("uint")


def identity(code: Code, kind: str, type: Attribute, *, is_unsigned: bool = False) -> SSAValue:
    """What changes nothing."""
    if isinstance(type, AnyFloat):
        infinity = float("inf")
        number: float | int = {"max": -infinity, "min": infinity}.get(kind, 0.0)
    elif is_unsigned:
        number = {"min": -1, "bitand": -1}.get(kind, 0)
    else:
        bits = bit_width(type)
        number = {
            "max": -(1 << (bits - 1)),
            "min": (1 << (bits - 1)) - 1,
            "bitand": -1,
        }.get(kind, 0)
    return code.add(ConstantOp.of(number, type)).results[0]


def _prepared(code: Code, kind: str, value: SSAValue) -> SSAValue:
    if not kind.startswith("abs"):
        return value
    make = AbsfOp if isinstance(value.type, AnyFloat) else AbsiOp
    return code.add(make(value)).results[0]


def combine(code: Code, kind: str, left: SSAValue, right: SSAValue, op: ReduceOp) -> SSAValue:
    """Two partial results as one."""
    keeps_nan = op.nan_propagate is not None
    across, is_unsigned = _ACROSS[kind], _is_unsigned(op)
    return both(code, across, left, right, keeps_nan=keeps_nan, is_unsigned=is_unsigned)
