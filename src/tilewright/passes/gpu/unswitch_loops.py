"""`unswitch-loops`: loop-invariant conditions are tested once, outside the loop.

    for %i { if %c { a } }             ->    if %c { for %i { a } }
    for %i { if %c { a } else { b } }  ->    if %c { for %i { a } } else { for %i { b } }

The condition, and what it is computed from, must be loop-invariant; it moves before the loop, where
a branch may test the same condition already: `cse` unifies them, and `merge-guards` joins such
branches. Besides the branch the body may hold arithmetic, which goes into both copies; the second
form copies only small bodies (docs/design/passes.md#unswitching).

Threads of a block reach the same barriers in the same order. A loop with barriers, or with waits
for asynchronous units, is therefore left alone if the condition may be divergent. This runs when
barriers are in place, so none is inserted into a branch afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import AlwaysSpeculatable, ConditionallySpeculatable, is_side_effect_free

from tilewright.analysis.threads.uniformity import differs
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter, inherit_location
from tilewright.ir.traversal import walk
from tilewright.passes.cleanup.cse import Cse

_LARGEST_COPY = 64
"""Ops of a body that may be written twice."""
_SYNCHRONISING = (
    "gpu.barrier",
    "nv.",
    "tile.sync",
    "tile.shuffle",
    "tile.vote",
    "tile.warp_reduce",
)
"""Prefixes of names of ops that synchronise threads, or that a whole warp executes together."""
_ALONE = frozenset({"simt.move", "simt.convert", "nv.async_move", "nv.red_add"})
"""Ops of a single thread among them."""
_DIVIDES = re.compile(r"^arith\.(ceil|floor)?(div|rem)[su]i$")


@dataclass(frozen=True)
class UnswitchLoops(Pass):
    """Test loop-invariant conditions outside of the loop."""

    name = "unswitch-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        is_changed = False
        # Inner loops first: a branch that left one may leave the next.
        for op in reversed(list(walk(module))):
            if isinstance(op, ForOp) and not op.results:
                branch = _only_branch(op)
                if branch is not None and _may_leave(branch, op):
                    _unswitch(op, branch)
                    is_changed = True
        if is_changed:
            Cse().run(module, engine)


def _only_branch(loop: ForOp) -> IfOp | None:
    """The branch that is all the loop does."""
    block = loop.body.block
    found: IfOp | None = None
    for op in block.ops:
        if op is block.last_op or (is_side_effect_free(op) and not op.regions):
            continue
        if not isinstance(op, IfOp) or op.results or found is not None:
            return None
        found = op
    return found


def _may_leave(branch: IfOp, loop: ForOp) -> bool:
    if not all(_may_run_early(op) for op in _chain(branch.condition, loop)):
        return False
    if branch.has_else and sum(1 for _ in loop.body.walk()) > _LARGEST_COPY:
        return False
    return not differs(branch.condition) or not any(_synchronises(op) for op in loop.body.walk())


def _chain(value: SSAValue, loop: ForOp) -> Iterator[Operation | None]:
    """The ops of the loop that `value` is computed by; None if it is not loop-invariant."""
    if not loop.body.is_ancestor(value.owner):
        return
    if isinstance(value.owner, Block):
        yield None
        return
    for operand in value.owner.operands:
        yield from _chain(operand, loop)
    yield value.owner


def _may_run_early(op: Operation | None) -> bool:
    if op is None or op.regions or not is_side_effect_free(op):
        return False
    if _DIVIDES.search(op.name):
        divisor = constant_value(op.operands[1])
        return isinstance(divisor, IntegerAttr) and divisor.value.data > 0
    return isinstance(op.get_trait(ConditionallySpeculatable), AlwaysSpeculatable)


def _synchronises(op: Operation) -> bool:
    return op.name.startswith(_SYNCHRONISING) and op.name not in _ALONE


def _unswitch(loop: ForOp, branch: IfOp) -> None:
    rewriter = Rewriter()
    for op in dict.fromkeys(_chain(branch.condition, loop)):
        assert op is not None
        rewriter.move(op, InsertPoint.before(loop))
    bodies = [_copy(loop, branch, index) for index in range(2 if branch.has_else else 1)]
    made = IfOp(branch.condition, [], *(Region(Block([each, YieldOp()])) for each in bodies))
    inherit_location(made, branch.location)
    rewriter.insert_before(loop, made, loop)
    rewriter.erase(loop)


def _copy(loop: ForOp, branch: IfOp, index: int) -> ForOp:
    """The loop, in which the branch went one way."""
    copy = loop.clone()
    position = next(n for n, op in enumerate(loop.body.block.ops) if op is branch)
    taken = next(op for n, op in enumerate(copy.body.block.ops) if n == position)
    assert isinstance(taken, IfOp)
    region = taken.regions[index]
    for op in list(region.block.ops):
        if op is not region.block.last_op:
            op.detach()
            copy.body.block.insert_op_before(op, taken)
    taken.detach()
    taken.erase()
    return copy
