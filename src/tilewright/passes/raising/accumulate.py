"""A sum of a GEMM that begins with zeros is a GEMM that begins with the other addend.

    acc += tl.dot(a, b)        add(dot(a, b, 0), acc)   ->   dot(a, b, acc)

The result is added where it is computed, without a buffer and a wait of its own. Triton does the
same. Sums of f32 and i32 alone: narrower results are rounded before they are added.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.raising.constants import is_zero
from tilewright.dialects.arith import AddfOp, AddiOp
from tilewright.dialects.tt import DotOp
from tilewright.dialects.type_utils import element_type_of, is_tensor
from tilewright.ir.rewrite import Rewriter, inherit_location
from tilewright.ir.traversal import walk


def accumulate_in_gemms(module: ModuleOp) -> None:
    """Let GEMMs whose result is only added begin with the other addend, in place."""
    for op in list(walk(module)):
        if isinstance(op, AddfOp | AddiOp) and is_tensor(op.result.type):
            _accumulate(op)


def _accumulate(op: AddfOp | AddiOp) -> None:
    left, right = op.operands
    for value, other in ((left, right), (right, left)):
        gemm = value.owner
        if isinstance(gemm, DotOp) and value is not other and _begins_with_zeros(gemm, op):
            made = DotOp.create(
                operands=[gemm.a, gemm.b, other],
                result_types=[gemm.d.type],
                properties=dict(gemm.properties),
                attributes=dict(gemm.attributes),
            )
            inherit_location(made, gemm.location)
            made.results[0].name_hint = op.result.name_hint
            rewriter = Rewriter()
            rewriter.insert_before(gemm if _is_before(other, gemm) else op, made, gemm)
            rewriter.replace_op(op, [], [made.results[0]])
            rewriter.erase(gemm)
            return


def _begins_with_zeros(gemm: DotOp, user: Operation) -> bool:
    """Whether a GEMM of the block of `user`, which alone uses it, begins with zeros."""
    uses = sum(1 for _ in gemm.d.uses)
    return (
        uses == 1
        and gemm.parent is user.parent
        and element_type_of(gemm.d.type) in (f32, i32)
        and not gemm.max_num_imprecise_acc.value.data
        and is_zero(gemm.c)
    )


def _is_before(value: SSAValue, op: Operation) -> bool:
    """Whether a value that is used in the block of `op` is there before `op`."""
    owner = value.owner
    if isinstance(owner, Block) or owner.parent is not op.parent:
        return True
    return owner.is_before_in_block(op)
