"""`merge-guards`: consecutive branches on the same condition become one.

    if %c { a }                  if %c { a
    if %c { b }          ->              b }

Equal conditions are the same value once `cse` has run, so the first body cannot change what the
second one tests (docs/design/passes.md#guards). Only ops without effects may be in between; they
move before both. It runs after barriers are in place: one between two branches separates them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from tilewright.dialects.scf import IfOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class MergeGuards(Pass):
    """Join neighbouring branches on one condition."""

    name = "merge-guards"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, IfOp) and op.parent is not None and _is_plain(op):
                while (other := _next_like(op)) is not None:
                    _join(op, other)


def _is_plain(op: IfOp) -> bool:
    """Whether it only does something, and only if the condition holds."""
    return not op.results and not op.else_region.blocks


def _next_like(op: IfOp) -> IfOp | None:
    """The branch after `op` on the same condition, with only arithmetic in between."""
    following = op.next_op
    while following is not None:
        if isinstance(following, IfOp):
            same = following.condition is op.condition and _is_plain(following)
            return following if same else None
        if following.regions or not is_side_effect_free(following):
            return None
        following = following.next_op
    return None


def _join(op: IfOp, other: IfOp) -> None:
    """Append the ops of `other` to those of `op`, and move what is in between before both."""
    block = op.parent
    assert block is not None
    between: list[Operation] = []
    current = op.next_op
    while current is not None and current is not other:
        between.append(current)
        current = current.next_op
    for each in between:
        each.detach()
        block.insert_op_before(each, op)
    end = op.then_region.block.last_op
    assert end is not None
    for each in list(other.then_region.block.ops):
        if each is not other.then_region.block.last_op:
            each.detach()
            op.then_region.block.insert_op_before(each, end)
    other.detach()
    other.erase()
