"""How loops are raised: overlapped or sequential.

A loop with a GEMM that loads feed, or with a ``num_stages`` of its own, becomes ``tile.pipeline``;
all others ``scf.for``. A pipelined loop carries no scalars: a loop that does stays sequential,
unless they are closed forms of its counter (addresses are anyway).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.kinds import Gemm, is_scalar
from tilewright.analysis.raising.values import ValueClass, Values
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt import FuncOp
from tilewright.ir.traversal import walk

NUM_STAGES = "tt.num_stages"
DROPPED_HINTS = ("tt.disallow_acc_multi_buffer", "tt.flatten", "tt.warp_specialize")


@dataclass(frozen=True)
class LoopPlan:
    """What a loop becomes."""

    stages: int
    """Buffers in flight of a ``tile.pipeline``; 0 for ``scf.for``."""
    dropped: tuple[str, ...] = ()
    """Hints that have no meaning here."""


def plan_loops(function: FuncOp, values: Values, num_stages: int) -> dict[Operation, LoopPlan]:
    found: dict[Operation, LoopPlan] = {}
    for op in walk(function):
        if isinstance(op, ForOp):
            dropped = tuple(name for name in DROPPED_HINTS if name in op.attributes)
            found[op] = LoopPlan(_stages(op, values, num_stages), dropped)
    return found


def _stages(op: ForOp, values: Values, num_stages: int) -> int:
    own = op.attributes.get(NUM_STAGES)
    stages = own.value.data if isinstance(own, IntegerAttr) else None
    if any(is_scalar(argument) and _is_used(argument) for argument in op.iter_args):
        return 0
    if any(is_scalar(result) and result.first_use is not None for result in op.results):
        return 0
    if stages is None:
        stages = num_stages if _has_fed_gemm(op, values) else 0
    return stages if stages > 1 and _has_fed_gemm(op, values) else 0


def _is_used(argument: SSAValue) -> bool:
    return argument.first_use is not None


def _has_fed_gemm(op: ForOp, values: Values) -> bool:
    for inner in op.body.block.ops:
        if isinstance(inner, Gemm):
            for operand in (inner.a, inner.b):
                source = operand.owner
                while isinstance(source, Operation) and source.name == "tt.trans":
                    source = source.operands[0].owner
                if (
                    isinstance(source, Operation)
                    and source.parent is op.body.block
                    and values.classes.get(source.results[0]) is ValueClass.SHARED
                ):
                    return True
    return False
