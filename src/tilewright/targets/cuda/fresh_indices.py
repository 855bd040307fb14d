"""Thread indices that loops read anew, where registers spill.

    const int tid = int(threadIdx.x);           const int tid = int(threadIdx.x);
    for (...) {                           ->    for (...) {
      ... P[f(tid)] = ...                         const int tid_1 = tw::thread_again_x();
    }                                             ... P[f(tid_1)] = ...

Addresses that depend on the thread alone are computed before a loop that uses them, and stay in
registers all the time. A thread that reads a row of tensor memory and writes it to swizzled shared
memory has an address for each 16 bytes of the row, and holds a row of an accumulator as well. The
compiler cannot see that an index is the same as the one before the loop: it computes addresses
where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue, Use

from tilewright.dialects.arith import RemuiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.tensor_memory import Tcgen05LdOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import names
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

OTHER_REGISTERS = "TW5007"
REOTHER_REGISTERS = "refresh-indices"
"""Its name among the passes that can be left out, which it is not: it follows machine code."""


Refreshed: TypeAlias = "tuple[ThreadIdOp, SSAValue]"
"""An index that is read again, and the value it stands for."""


def refresh(function: FuncOp) -> Sequence[Refreshed]:
    """Read indices again in loops that read tensor memory."""
    found: list[Refreshed] = []
    loops = [op for op in walk(function) if isinstance(op, ForOp) and _reads_rows(op)]
    for index in [op for op in walk(function) if isinstance(op, ThreadIdOp)]:
        for loop in loops:
            if not loop.is_ancestor(index):
                in_role = [each for each in _in_roles(index) if _uses(each[0], loop)]
                for value, count in in_role or [(index.results[0], 0)]:
                    found += _read_again(index, value, count, loop)
    return found


def undo(refreshed: Sequence[Refreshed]) -> None:
    """Use the indices from before the loops again."""
    for again, value in refreshed:
        again.results[0].replace_all_uses_with(value)
        again.detach()
        again.erase()


def _in_roles(index: ThreadIdOp) -> list[tuple[SSAValue, int]]:
    """Numbers of the thread among those of its role, and how many these are."""
    found: list[tuple[SSAValue, int]] = []
    for use in index.results[0].uses:
        op = use.operation
        if isinstance(op, RemuiOp) and use.index == 0:
            count = constant_value(op.operands[1])
            if isinstance(count, IntegerAttr):
                found.append((op.results[0], count.value.data))
    return found


def _uses(value: SSAValue, loop: ForOp) -> list[Use]:
    return [use for use in value.uses if loop.is_ancestor(use.operation)]


def _read_again(index: ThreadIdOp, value: SSAValue, count: int, loop: ForOp) -> list[Refreshed]:
    """Use the index, modulo `count` if there is one, that is read at the start of a loop."""
    uses, first = _uses(value, loop), loop.body.block.first_op
    if not uses or first is None:
        return []
    again = index.clone()
    again.location = loop.location
    again.attributes[nv_names.AGAIN] = IntegerAttr(count, i64)
    loop.body.block.insert_op_before(again, first)
    for use in uses:
        use.operation.operands[use.index] = again.results[0]
    return [(again, value)]


def _reads_rows(loop: ForOp) -> bool:
    """Whether an innermost loop that stays one reads tensor memory."""
    if _is_unrolled(loop):
        return False
    inside = list(loop.body.walk())
    return any(isinstance(op, Tcgen05LdOp) for op in inside) and not any(
        isinstance(op, ForOp) and not _is_unrolled(op) and _reads(op) for op in inside
    )


def _reads(loop: ForOp) -> bool:
    return any(isinstance(op, Tcgen05LdOp) for op in loop.body.walk())


def _is_unrolled(op: Operation) -> bool:
    return names.UNROLL in op.attributes or names.VECTORIZE in op.attributes
