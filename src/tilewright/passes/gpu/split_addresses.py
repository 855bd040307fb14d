"""`split-addresses`: what an unrolled loop adds to the address of a copy is added last.

    for u in unrolled(9) {                        for u in unrolled(9) {
      async_move KV[%r * 576 + %u * 64 + %t]        async_move KV[(%r * 576 + %t) + %u * 64] split
    }                                       ->    }

    KV + (r * 576 + u * 64 + t)                   KV + (r * 576 + t) + u * 64

An index is a 32-bit sum, which the CUDA compiler reassociates; nothing shows it afterwards that the
sum does not wrap, so it cannot add part of it as 64 bits: every iteration computes its own address,
and holds it in registers of its own. Added to the pointer, the part of the loop is a constant once
it is unrolled, and becomes part of the instruction. A gather of 72 copies that has one address for
each of its rows, instead of 72, leaves registers for loads of all its rows to be in flight.

Loads and stores by threads stay: the compiler schedules these as it likes, while copies stay in
order, each with an address that has to exist then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.integers.index_values import addends_of
from tilewright.dialects.arith import AddiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import AsyncMoveOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import names
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.unroll_loops import trip_count_of

_MAX_UNROLLED = 16
"""Iterations of a loop without a mark that the CUDA compiler unrolls by itself."""


@dataclass(frozen=True)
class SplitAddresses(Pass):
    """Add to the pointer what unrolled loops contribute to the address of a copy."""

    name = "split-addresses"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                for op in [op for op in walk(function) if isinstance(op, AsyncMoveOp)]:
                    _split(op)


def _split(op: AsyncMoveOp) -> None:
    variables = frozenset(_unrolled_around(op))
    (index,) = op.src_indices
    addends = list(addends_of(index))
    steps = [each for each in addends if _counts(each, variables)]
    rest = [each for each in addends if each not in steps]
    if not steps or not rest:
        return
    total = _sum([_sum(rest, op), _sum(steps, op)], op)
    op.operands[list(op.operands).index(index)] = total
    op.attributes[nv_names.SPLIT] = UnitAttr()
    _erase_unused_sum(index)


def _unrolled_around(op: Operation) -> Iterator[SSAValue]:
    """Variables of the loops around `op` that are constants once the kernel is compiled."""
    around = op.parent_op()
    while around is not None:
        if isinstance(around, ForOp) and _is_unrolled(around):
            yield around.body.block.args[0]
        around = around.parent_op()


def _is_unrolled(loop: ForOp) -> bool:
    if names.UNROLL in loop.attributes:
        return True
    count = trip_count_of(loop)
    return (
        names.UNROLL_FACTOR not in loop.attributes and (count or _MAX_UNROLLED + 1) <= _MAX_UNROLLED
    )


def _counts(value: SSAValue, variables: frozenset[SSAValue]) -> bool:
    """Whether `value` is computed from these variables and constants, and from nothing else."""
    if value in variables:
        return True
    owner = value.owner
    if isinstance(owner, Block) or owner.regions or not owner.name.startswith("arith."):
        return False
    if isinstance(constant_value(value), IntegerAttr):
        return False
    operands = [each for each in owner.operands if constant_value(each) is None]
    return bool(operands) and all(_counts(each, variables) for each in operands)


def _erase_unused_sum(value: SSAValue) -> None:
    """Erase the old sum where nothing else uses it."""
    owner = value.owner
    if isinstance(owner, AddiOp) and not value.uses:
        operands = list(owner.operands)
        Rewriter().erase(owner)
        for each in dict.fromkeys(operands):
            _erase_unused_sum(each)


def _sum(values: list[SSAValue], at: Operation) -> SSAValue:
    return reduce(lambda one, other: _inserted(AddiOp(one, other), at), values)


def _inserted(op: Operation, at: Operation) -> SSAValue:
    Rewriter().insert_before(at, op, at)
    return op.results[0]
