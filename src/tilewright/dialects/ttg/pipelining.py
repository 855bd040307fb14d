"""Intermediate ops of the loop pipeliner: predicates of stages, masked regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, Signedness, i1, i32
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, ReturnLike

from tilewright.dialects.tt.base import Operand, i32_prop
from tilewright.dialects.ttg.base import ANY, ttg_traits
from tilewright.ir.constraints import Satisfies
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.assembly import AsmOp, TypeRule


def _is_signless_or_index(type: Attribute) -> bool:
    if isinstance(type, IntegerType):
        return type.signedness.data is Signedness.SIGNLESS
    return isinstance(type, IndexType)


_COUNTER = Satisfies("signless integer or index", _is_signless_or_index, (IntegerType, IndexType))
_SAME = TypeRule("all of {iv, ub, step} have same type", lambda types: types["iv"])


@irdl_op_definition
class PredicateStageOp(AsmOp):
    """Whether a stage of a pipelined loop has work in this iteration."""

    name = "ttg.predicate_stage"
    iv = operand_def(_COUNTER)
    ub = operand_def(_COUNTER)
    step = operand_def(_COUNTER)
    max_stage = i32_prop(name="maxStage")
    stage = i32_prop()
    result = result_def(i1)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = (
        "$iv `,` $ub `,` $step `maxStage` $maxStage `stage` $stage attr-dict "
        "`:` type($iv) `->` type($result)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"ub": _SAME, "step": _SAME}

    def __init__(self, iv: Operand, ub: Operand, step: Operand, max_stage: int, stage: int) -> None:
        super().__init__(
            operands=[iv, ub, step],
            result_types=[i1],
            properties={
                "maxStage": IntegerAttr(max_stage, i32),
                "stage": IntegerAttr(stage, i32),
            },
        )


class _MaskBranch(RegionBranch):
    """The body runs or not; either way the results are defined."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        body = op.regions[0]
        if point is op:
            return enter(op, body), leave(op, op, None)
        return [leave(end, op, end.operands) for end in exits(body)]


@irdl_op_definition
class MaskOp(IRDLOperation):
    """Runs its body where the predicate holds. Printed in generic form."""

    name = "ttg.mask"
    pred = operand_def(i1)
    result = var_result_def(ANY)
    region = region_def("single_block")
    traits = ttg_traits(_MaskBranch())

    def __init__(self, pred: Operand, types: Sequence[Attribute], region: Region) -> None:
        super().__init__(operands=[pred], result_types=[types], regions=[region])


@irdl_op_definition
class MaskReturnOp(AsmOp):
    """Ends the body of a ``ttg.mask`` with its results."""

    name = "ttg.mask.return"
    result = var_operand_def(ANY)
    traits = ttg_traits(HasParent(MaskOp), Pure(), IsTerminator(), ReturnLike())

    ASM: ClassVar[str] = "$result attr-dict `:` type($result)"

    def __init__(self, values: Sequence[Operand] = ()) -> None:
        super().__init__(operands=[values])
