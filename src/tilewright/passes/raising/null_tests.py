"""``if ptr:`` of a pointer that is an argument: it is not null.

Kernels with optional arrays test their pointers. Where nothing is passed, ``None`` is a constant
and the test is gone; where an array is passed, its address is not 0, unless it is empty. A launch
with address 0 is refused, and the raised kernel has the branch alone.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import BlockArgument, Operation

from tilewright.analysis.raising.constants import is_zero
from tilewright.dialects.arith import CmpiOp, ConstantOp
from tilewright.dialects.tt import AddPtrOp, FuncOp, PtrToIntOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_TESTS = {"eq": False, "ne": True}


def fold_null_tests(module: ModuleOp) -> frozenset[int]:
    """Replace comparisons of arguments with null; the positions of these arguments."""
    found: set[int] = set()
    rewriter = Rewriter()
    for op in list(walk(module)):
        if not isinstance(op, CmpiOp):
            continue
        position = _tested(op)
        holds = _TESTS.get(op.predicate_name)
        if position is None or holds is None:
            continue
        found.add(position)
        rewriter.replace_op(op, ConstantOp.of(holds, i1))
    return frozenset(found)


def _tested(op: Operation) -> int | None:
    """The argument whose address is compared with 0."""
    left, right = op.operands
    if is_zero(left):
        left, right = right, left
    owner = left.owner
    if not is_zero(right) or not isinstance(owner, PtrToIntOp):
        return None
    pointer = owner.operands[0]
    while isinstance(pointer.owner, AddPtrOp):  # arrays that share bytes are merged
        pointer = pointer.owner.operands[0]
    if not isinstance(pointer, BlockArgument) or not isinstance(pointer.block.parent_op(), FuncOp):
        return None
    return pointer.index
