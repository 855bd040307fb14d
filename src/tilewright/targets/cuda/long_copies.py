"""Copies that are unrolled less, where registers spill.

    #pragma unroll                              #pragma unroll 16
    for (int i = 0; i < 64; ++i) {       ->     for (int i = 0; i < 64; ++i) {
      ... = A[...]; S[...] = ...                  ... = A[...]; S[...] = ...

A tile that one warp copies is many elements for each of its threads. Unrolled, ptxas loads as many
of them as registers permit before it stores the first, and misjudges how many those are: values of
other warps spill. Sixteen loads of 16 bytes in flight take 64 registers.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.traversal import walk
from tilewright.targets.cuda.unrolling import is_unrolled_beyond

FEWER_COPIES = "TW5006"
SHORTEN_COPIES = "shorten-copies"
"""Its name among the passes that can be left out, which it is not: it follows machine code."""
COPIES_AT_ONCE = 16
"""Iterations that are unrolled then."""
_REGISTERS = (Space.LOCAL, Space.VAR)


def long_copies(function: FuncOp) -> list[ForOp]:
    """Loops that copy from tensors to shared memory, or back, with many iterations unrolled.

    A loop whose variable selects registers has to be: registers have no addresses.
    """
    return [op for op in walk(function) if isinstance(op, ForOp) and _is_long(op)]


def _is_long(loop: ForOp) -> bool:
    if not is_unrolled_beyond(loop, COPIES_AT_ONCE):
        return False
    ops = list(loop.body.walk())
    moves = [op for op in ops if isinstance(op, MoveOp)]
    loads = any(_is_memory(op.src) for op in moves)
    stores = any(_is_memory(op.dst) for op in moves)
    return loads and stores and not any(_uses_registers_around(op, loop) for op in ops)


def _is_memory(buffer: SSAValue) -> bool:
    space = space_of(buffer.type)
    return space is Space.GLOBAL or (space is not None and space.is_shared)


def _uses_registers_around(op: Operation, loop: ForOp) -> bool:
    """Whether an op accesses registers that are there before a loop."""
    return any(
        space_of(each.type) in _REGISTERS
        and isinstance(each.owner, Operation)
        and not loop.is_ancestor(each.owner)
        for each in op.operands
    )
