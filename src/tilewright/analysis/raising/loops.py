"""How loops are raised: overlapped or sequential.

A loop with a GEMM that loads feed, or with a ``num_stages`` of its own, becomes ``tile.pipeline``;
all others ``scf.for``. A pipelined loop carries no scalars: a loop that does stays sequential. An
integer that each iteration increases by the same amount is not carried: it is ``start + t * step``
(addresses have no carried parts anyway).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.kinds import Gemm, is_scalar
from tilewright.analysis.raising.values import ValueClass, Values
from tilewright.dialects.arith import AddiOp
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
    steps: Mapping[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """By position among the loop-carried values: integers that grow by a step."""


def plan_loops(
    function: FuncOp, values: Values, num_stages: int, *, is_user_scheduled: bool = False
) -> dict[Operation, LoopPlan]:
    """What each loop becomes; nothing is overlapped where the user of the kernel did so."""
    found: dict[Operation, LoopPlan] = {}
    for op in walk(function):
        if isinstance(op, ForOp):
            dropped = tuple(name for name in DROPPED_HINTS if name in op.attributes)
            steps = _steps(op)
            stages = 0 if is_user_scheduled else _stages(op, values, num_stages, steps)
            found[op] = LoopPlan(stages, dropped, steps)
    return found


def _steps(op: ForOp) -> dict[int, SSAValue]:
    """The loop-carried integers that each iteration increases by a value from outside the loop."""
    end = op.body.block.last_op
    assert end is not None
    found: dict[int, SSAValue] = {}
    for position, (argument, value) in enumerate(zip(op.iter_args, end.operands, strict=True)):
        owner = value.owner
        if not isinstance(argument.type, IntegerType) or not isinstance(owner, AddiOp):
            continue
        for one, step in (owner.operands, (owner.operands[1], owner.operands[0])):
            if one is argument and _is_outside(step, op):
                found[position] = step
    return found


def _is_outside(value: SSAValue, loop: ForOp) -> bool:
    owner = value.owner
    inner = owner if isinstance(owner, Operation) else owner.parent_op()
    return inner is None or (inner is not loop and not loop.is_ancestor(inner))


def _stages(op: ForOp, values: Values, num_stages: int, steps: Mapping[int, SSAValue]) -> int:
    own = op.attributes.get(NUM_STAGES)
    stages = own.value.data if isinstance(own, IntegerAttr) else None
    carried = [
        each
        for position in range(len(op.results))
        if position not in steps
        for each in (op.iter_args[position], op.results[position])
    ]
    if any(is_scalar(each) and _is_used(each) for each in carried):
        return 0
    if stages is None:
        stages = num_stages if _has_fed_gemm(op, values) else 0
    return stages if stages > 1 and _has_fed_gemm(op, values) else 0


def _is_used(value: SSAValue) -> bool:
    return value.first_use is not None


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
