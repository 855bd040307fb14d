"""Code that only some lanes run. TLX for AMD only.

``ttg.warp_predicate`` switches off the lanes whose predicate is false. Its results are what the
body yields where lanes were on, and the initial values elsewhere::

    %r = ttg.warp_predicate %p(%init) {
      ...
      ttg.predicate_yield %next : tensor<64xf32, #blocked>
    } : (tensor<64xi1, #blocked>, tensor<64xf32, #blocked>) -> tensor<64xf32, #blocked>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import unit_prop
from tilewright.dialects.tt.constraints import BOOL_LIKE
from tilewright.dialects.ttg.base import ANY, ttg_traits
from tilewright.dialects.ttg.program import BarrierOp, LocalBarrierOp
from tilewright.dialects.type_utils import is_tensor, shape_of
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.assembly import AsmOp


class _PredicateBranch(RegionBranch):
    """Lanes that are off keep the initial values."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        body = op.regions[0]
        if point is op:
            return enter(op, body), leave(op, op, op.operands[1:])
        return [leave(end, op, end.operands) for end in exits(body)]


@irdl_op_definition
class WarpPredicateOp(AsmOp):
    """Runs its body in the lanes whose predicate is true."""

    name = "ttg.warp_predicate"
    predicate = operand_def(BOOL_LIKE)
    inits = var_operand_def(ANY)
    wave_uniform = unit_prop()
    results_of_body = var_result_def(ANY)
    region = region_def()
    traits = ttg_traits(RecursiveMemoryEffect(), _PredicateBranch())

    ASM: ClassVar[str] = (
        "$predicate `(` $inits `)` $region attr-dict `:` functional-type(operands, results)"
    )

    @override
    def verify_(self) -> None:
        block = self.region.first_block
        if block is None:
            raise VerifyException("expected a nonempty capture-only body region")
        if block.args:
            raise VerifyException("region block must not have arguments")
        yields = [len(end.operands) for end in exits(self.region)]
        counts = (len(self.inits), len(self.results), *yields)
        if len(set(counts)) > 1:
            listed = f"{counts[0]}, {counts[1]}, and {counts[-1]}"
            raise VerifyException(
                f"expected equal numbers of inits, results, and yields, but got {listed}"
            )
        self._verify_shapes()
        self._verify_body()

    def _verify_shapes(self) -> None:
        if not is_tensor(self.predicate.type):
            return
        shape = shape_of(self.predicate.type)
        for init in self.inits:
            if is_tensor(init.type) and shape_of(init.type)[: len(shape)] != shape:
                raise VerifyException(
                    "predicate shape must be a leading shape of every carried tensor"
                )

    def _verify_body(self) -> None:
        for op in self.region.walk():
            if isinstance(op, BarrierOp | LocalBarrierOp):
                raise VerifyException("region may not contain CTA barriers")
            if op.name.startswith("scf.") and op.regions:
                raise VerifyException("region may not contain nested dynamic control flow")


@irdl_op_definition
class PredicateYieldOp(AsmOp):
    """Ends the body of a ``ttg.warp_predicate`` with its results."""

    name = "ttg.predicate_yield"
    values = var_operand_def(ANY)
    traits = ttg_traits(HasParent(WarpPredicateOp), Pure(), IsTerminator(), ReturnLike())

    ASM: ClassVar[str] = "($values^)? attr-dict (`:` type($values)^)?"
