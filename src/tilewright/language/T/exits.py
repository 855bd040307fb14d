"""``break`` and ``continue`` as structured code: flags in memory, and guards.

    if c: break            if c { skip = true; stop = true }
    rest                   if !skip { rest }

Every iteration begins with ``skip`` cleared, and does nothing once ``stop`` is set.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.merging import end_block
from tilewright.language.T.buffers import ScalarCell
from tilewright.language.T.expressions import emit


@dataclass(eq=False)
class Exits:
    """How the iterations of one loop may end early: flags in memory, made when they are needed."""

    loop_name: str
    """What the loop is, for errors."""
    can_exit: bool
    skip: ScalarCell | None = None
    """Set when the rest of the iteration is to be skipped."""
    stop: ScalarCell | None = None
    """Set when there are to be no more iterations."""
    count: int = 0
    first: Block | None = None


@dataclass(eq=False)
class Guard:
    """The rest of a block after something that may have ended the iteration."""

    outer: Block
    condition: SSAValue
    block: Block


def new_flag() -> ScalarCell:
    """A flag in the memory of the kernel."""
    from tilewright.language.T.allocate import alloc_var

    return alloc_var("bool", name="exit")


def is_clear(flag: ScalarCell) -> SSAValue:
    true = emit(arith.ConstantOp(IntegerAttr(1, i1)))
    return emit(arith.XoriOp(flag.handle, true))


def wrap_iteration(exits: Exits, block: Block) -> None:
    """An iteration begins with its flag cleared, and does nothing after a ``break``."""
    builder = current()
    if exits.skip is None:
        return
    ops = list(block.ops)
    for op in ops:
        op.detach()
    with builder.at(block):
        target = block
        if exits.stop is not None:
            target = _guarded(is_clear(exits.stop))
        with builder.at(target):
            exits.skip.write(False)
            end = target.last_op if isinstance(target.last_op, YieldOp) else None
            for op in ops:
                target.add_op(op)
            if target is not block:
                assert end is None
                end_block(target, YieldOp(), builder.location())


def _guarded(test: SSAValue) -> Block:
    """The block of a new ``scf.if`` at the current place, without its end."""
    block = Block()
    current().insert(IfOp(test, [], Region(block)))
    return block
