"""Move out of loops what computes the same in every iteration.

An op leaves an ``scf.for`` when it has no effects, when all its operands are made outside, and when
it may run even if the loop would not (a loop of zero trips runs nothing). Division is the exception
that matters: it may trap, so it moves only if its divisor is a constant that cannot make it trap.
MLIR lets remainders go; here they count as divisions. Inner loops come first, so that an op can
climb out of several.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region
from xdsl.rewriter import InsertPoint
from xdsl.traits import (
    AlwaysSpeculatable,
    ConditionallySpeculatable,
    IsTerminator,
    RecursivelySpeculatable,
)

from tilewright.dialects.folding.constants import element_values
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_pure
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

LOOPS = frozenset({"scf.for"})

_TRAPPING_DIVISORS = {
    "arith.divui": (0,),
    "arith.remui": (0,),
    "arith.ceildivui": (0,),
    "arith.divsi": (0, -1),
    "arith.remsi": (0, -1),
    "arith.ceildivsi": (0, -1),
    "arith.floordivsi": (0, -1),
}


@dataclass(frozen=True)
class LoopInvariantCodeMotion(Pass):
    """Hoist ops that do not depend on the iteration out of scf.for loops."""

    name = "loop-invariant-code-motion"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for op in reversed(list(walk(module))):
            if op.name in LOOPS:
                hoist_invariants(op, rewriter)


def hoist_invariants(loop: Operation, rewriter: Rewriter) -> None:
    """Move the invariant ops of a loop's body before the loop, in their order."""
    body = loop.regions[0]
    for block in body.blocks:
        for op in list(block.ops):
            if _is_invariant(op, body) and _may_run_early(op):
                rewriter.move(op, InsertPoint.before(loop))


def _is_invariant(op: Operation, body: Region) -> bool:
    """Whether all that ``op`` and its regions use is made outside the loop or inside ``op``."""
    return all(
        not body.is_ancestor(operand.owner) or op.is_ancestor(operand.owner)
        for inner in walk(op)
        for operand in inner.operands
    )


def _may_run_early(op: Operation) -> bool:
    if op.get_trait(IsTerminator) is not None or not is_pure(op):
        return False
    return all(_is_harmless(inner) for inner in walk(op))


def _is_harmless(op: Operation) -> bool:
    """Whether ``op``, what it contains left aside, neither traps nor runs forever."""
    if op.get_trait(IsTerminator) is not None:
        return True
    trait = op.get_trait(ConditionallySpeculatable)
    if trait is None or _may_trap(op):
        return False
    if isinstance(trait, (AlwaysSpeculatable, RecursivelySpeculatable)):
        return True
    # What makes its speculation depend on more than its regions is a loop.
    return not op.regions and trait.is_speculatable(op)


def _may_trap(op: Operation) -> bool:
    trapping = _TRAPPING_DIVISORS.get(op.name)
    if trapping is None:
        return False
    divisors = element_values(constant_value(op.operands[1]))
    return divisors is None or any(divisor in trapping for divisor in divisors)
