"""Steps of MMAs that are unrolled less, where registers spill.

    #pragma unroll                              #pragma unroll 2
    for (int k = 0; k < 8; ++k) {        ->     for (int k = 0; k < 8; ++k) {
      ldmatrix ...; mma ...                       ldmatrix ...; mma ...

The loop along K of MMAs of a warp is unrolled. What it loads is then loaded as early as
registers permit, or earlier: values that were there before the loop are spilled to make space. With
two steps at a time the loads of one step still overlap with the MMAs of the other.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.nv import LdMatrixOp, MmaOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.traversal import walk
from tilewright.targets.cuda.unrolling import is_unrolled_beyond

FEWER_STEPS = "TW5008"
SHORTEN_STEPS = "shorten-steps"
"""Its name among the passes that can be left out, which it is not: it follows machine code."""
STEPS_AT_ONCE = 2
"""Iterations that are unrolled then."""


def long_steps(function: FuncOp) -> list[ForOp]:
    """Loops along K of MMAs of which all steps are unrolled, and need not be.

    A loop whose variable selects registers has to be: registers have no addresses.
    """
    return [op for op in walk(function) if isinstance(op, ForOp) and _is_long(op)]


def _is_long(loop: ForOp) -> bool:
    if not is_unrolled_beyond(loop, STEPS_AT_ONCE):
        return False
    if not any(isinstance(op, MmaOp) for op in loop.body.walk()):
        return False
    return _selects_memory_only(loop.body.block.args[0])


def _selects_memory_only(variable: SSAValue) -> bool:
    """Whether only indices of shared memory are computed from a value."""
    stack, seen = [variable], {variable}
    while stack:
        for use in stack.pop().uses:
            op = use.operation
            if op.name.startswith("arith."):
                stack += [each for each in op.results if each not in seen]
                seen.update(op.results)
            elif not _reads_shared_memory(op, use.index):
                return False
    return True


def _reads_shared_memory(op: object, operand: int) -> bool:
    """Whether an operand of `op` is where it reads shared memory."""
    if isinstance(op, LdMatrixOp):
        return operand == 1
    if not isinstance(op, LoadOp):
        return False
    space = space_of(op.memref.type)
    return space is not None and space is not Space.LOCAL and operand > 0
