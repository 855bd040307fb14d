"""What a layout of a parallel loop costs a thread, to choose among layouts that are all possible.

The unit is the issue slot of an arithmetic instruction of a warp: an SM issues four in a cycle. An
access costs its own slots and the memory cycles that it takes::

    global   8 + 2 for each sector of 32 bytes that a warp requests, 1 for each line of 128
    shared   4 + 4 for each 128 bytes that a warp requests
    special  8    exp2, rsqrt, ...: 16 results of an SM in a cycle, not 128

A replicated iteration is run by several threads and costs each of them. Accesses are wide where the
iterations of a thread are contiguous (`Share.lanes`). What is in a serial loop counts as often as
the loop runs. The figures only rank layouts of one loop nest; they are no prediction of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import ARITHMETIC, SAME, Depends, Iterations
from tilewright.analysis.layout_inference.agreement import Loop
from tilewright.analysis.layout_inference.fit import IntArray
from tilewright.analysis.layout_inference.reductions import plan as plan_reduction
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.shares import Share
from tilewright.analysis.layout_inference.table import Table
from tilewright.analysis.layout_inference.vectors import ACCESS_BITS, is_contiguous, is_memory
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import AtomicOp, PipelineOp, ReduceOp, Space, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.interfaces import constant_trip_count, constant_value
from tilewright.ir.traversal import walk

_GLOBAL, _SECTOR, _LINE = 8.0, 2.0, 1.0
_SHARED, _WAVEFRONT = 4.0, 4.0
_SECTOR_BYTES, _LINE_BYTES, _BANK_BYTES = 32, 128, 4
_SPECIAL, _DIVISION, _LIBRARY = 8.0, 16.0, 40.0
_SHUFFLE, _BARRIER = 10.0, 120.0
_REGISTER, _PRESSED = 0.5, 8.0
_MAX_REGISTERS = 128
"""Registers of a thread that tiles may take before they cost occupancy, then spills."""
_UNKNOWN_TRIPS = 8
_FAR = 1 << 20
"""Stands for a stride that is a run-time value."""

_COSTS: Mapping[str, float] = {
    **dict.fromkeys(("math.exp2", "math.rsqrt", "math.sqrt", "math.log2"), _SPECIAL),
    **dict.fromkeys(("math.exp", "math.log", "math.tanh", "math.sin", "math.cos"), _SPECIAL + 2),
    **dict.fromkeys(("arith.divf", "arith.divsi", "arith.divui", "arith.remsi"), _DIVISION),
}


def trips(op: Operation) -> int:
    """The trip count of the serial loops around an op, as far as it is known."""
    count, outer = 1, op.parent_op()
    while outer is not None:
        if isinstance(outer, ForOp):
            count *= _trips(outer.lower_bound, outer.upper_bound, outer.step)
        elif isinstance(outer, PipelineOp):
            count *= _UNKNOWN_TRIPS
        outer = outer.parent_op()
    return count


def _trips(first: SSAValue, end: SSAValue, step: SSAValue) -> int:
    known = constant_trip_count(first, end, step)
    return _UNKNOWN_TRIPS if known is None else max(1, known)


@dataclass(frozen=True)
class LoopWork:
    """What the iterations of a loop do, whatever its layout is."""

    steps: Sequence[float | MemoryAccess]
    """Issue slots of an instruction, or an access."""
    trips: int
    warp_size: int

    @staticmethod
    def of(loop: Loop) -> LoopWork:
        iterations = Iterations(loop.op, loop.shape)
        steps: list[float | MemoryAccess] = []
        for op in walk(loop.op):
            accessed = _memory(op)
            if accessed is not None:
                steps.append(MemoryAccess.of(loop, accessed, iterations))
            elif not _is_free(op):
                steps.append(_COSTS.get(op.name, _LIBRARY if _is_library(op) else 1.0))
        return LoopWork(steps, trips(loop.op), threads_of(loop.op).warp_size)

    def cost(self, table: Table) -> float:
        """Issue slots of a thread for all its iterations; raises `NotALayout` if it has no
        share."""
        share = Share.of(table, is_wide=True)
        rounds = share.table.num_registers
        total = 0.0
        for step in self.steps:
            if isinstance(step, MemoryAccess):
                total += step.cost(table, share, self.warp_size)
            else:
                total += rounds * step
        return total * self.trips


def reduction_cost(op: ReduceOp, source: Table, target: Table) -> float:
    """Issue slots of a thread for a reduction."""
    found = plan_reduction(source, target, op.axis)
    threads = threads_of(op)
    total = float(source.num_registers)
    is_across_warps = False
    for digit in found.partners:
        if digit.weight * digit.radix <= threads.warp_size:
            total += _SHUFFLE * (digit.radix - 1).bit_length() * target.num_registers
        else:
            is_across_warps = True
    total += (_BARRIER + 2 * _SHARED * target.num_registers) if is_across_warps else 0
    return total * trips(op)


def register_cost(tables: Iterable[tuple[SSAValue, Table]]) -> float:
    """Slots for the registers that fragments take."""
    registers = sum(
        -(-table.num_registers * bit_width(element_type_of(value.type)) // 32)
        for value, table in tables
    )
    return registers * _REGISTER + max(0, registers - _MAX_REGISTERS) * _PRESSED


# -- accesses --------------------------------------------------------------------------------------


def _memory(op: Operation) -> LoadOp | StoreOp | AtomicOp | None:
    if isinstance(op, (LoadOp, StoreOp)):
        return op if is_memory(op.memref) else None
    return op if isinstance(op, AtomicOp) and op.is_element else None


def _is_free(op: Operation) -> bool:
    """What becomes no instruction, or is computed once for all iterations: indices."""
    if isinstance(op, (LoadOp, StoreOp)) or op.regions:
        return True
    return not op.results or isinstance(op.results[0].type, IndexType) or bool(_constant(op))


def _constant(op: Operation) -> bool:
    return bool(op.results) and constant_value(op.results[0]) is not None


def _is_library(op: Operation) -> bool:
    return op.name.startswith("math.") and op.name not in (
        "math.absf",
        "math.fma",
        "math.floor",
        "math.ceil",
    )


@dataclass(frozen=True, eq=False)
class MemoryAccess:
    """An access to global or shared memory in all iterations of a loop."""

    bits: int
    """Of an element."""
    is_contiguous: bool
    """Whether iterations along the innermost variable access contiguous elements."""
    is_global: bool
    offsets: IntArray | None
    """The element that each iteration accesses; None if not known."""

    @staticmethod
    def of(loop: Loop, op: LoadOp | StoreOp | AtomicOp, iterations: Iterations) -> MemoryAccess:
        buffer = op.dst if isinstance(op, AtomicOp) else op.memref
        return MemoryAccess(
            max(8, bit_width(element_type_of(buffer.type))),
            is_contiguous(loop.op, iterations, op.indices),
            space_of(buffer.type) is Space.GLOBAL,
            _offsets(op, buffer, iterations),
        )

    def cost(self, table: Table, share: Share, warp_size: int) -> float:
        lanes = min(share.lanes, ACCESS_BITS // self.bits) if self.is_contiguous else 1
        requests = share.table.num_registers / lanes
        starts = _starts(self.offsets, table, warp_size) * self.bits // 8
        if self.is_global:
            sectors, lines = (_count(starts // each) for each in (_SECTOR_BYTES, _LINE_BYTES))
            return requests * (_GLOBAL + _SECTOR * sectors + _LINE * lines)
        bytes = _count(starts) * max(lanes * self.bits // 8, _BANK_BYTES)
        return requests * (_SHARED + _WAVEFRONT * max(1, -(-bytes // _LINE_BYTES)))


def _count(values: IntArray) -> int:
    """How many different values there are."""
    return len(set(values.tolist()))


def _starts(offsets: IntArray | None, table: Table, warp: int) -> IntArray:
    """The elements that the threads of the first warp access first."""
    if offsets is None:  # not known: each its own
        return np.arange(warp, dtype=np.int64) * _FAR
    first = np.full(min(warp, table.num_threads), -1, dtype=np.int64)
    is_first = table.registers == 0
    owners = table.owners[is_first]
    for replica in range(owners.shape[-1]):
        inside = owners[:, replica] < len(first)
        first[owners[inside, replica]] = offsets[is_first][inside]
    return first[first >= 0]


def _offsets(
    op: LoadOp | StoreOp | AtomicOp, buffer: SSAValue, iterations: Iterations
) -> IntArray | None:
    """The element that each iteration accesses, apart from what is the same for all."""
    try:
        relative = _Relative(iterations)
        total: Any = np.zeros(iterations.shape, dtype=np.int64)
        for index, size in zip(op.indices, shape_of(buffer.type), strict=True):
            total = total * (size if size > 0 else _FAR) + relative.of(index)
    except Depends:
        return None
    total = np.broadcast_to(total, iterations.shape)
    return np.ascontiguousarray(total - total.min())


class _Relative:
    """Indices of all iterations, without the run-time values that all of them add."""

    def __init__(self, iterations: Iterations) -> None:
        self._iterations = iterations
        self.of = cache(self._of)

    def _of(self, value: SSAValue) -> Any:
        try:
            found = self._iterations.values(value)
            return 0 if found is None else found
        except Depends:
            owner = value.owner
        assert isinstance(owner, Operation)
        if owner.name in SAME:
            return self.of(owner.operands[0])
        if owner.name in ("arith.addi", "arith.subi"):
            return ARITHMETIC[owner.name](*map(self.of, owner.operands))
        if owner.name == "arith.muli":
            left, right = owner.operands
            return self.of(left) * _FAR if self._is_unknown(right) else self.of(right) * _FAR
        raise Depends(value)

    def _is_unknown(self, value: SSAValue) -> bool:
        try:
            return self._iterations.values(value) is None
        except Depends:
            return False
