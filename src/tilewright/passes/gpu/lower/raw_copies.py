"""``T.ptx_cp_async``: a few bytes that one thread copies between the addresses of the kernel."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.arith import SelectOp
from tilewright.dialects.nv import AsyncMoveOp
from tilewright.dialects.nv.machine import CpAsyncOp
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.tile.index_builder import IndexBuilder


def lower_raw_copy(op: CpAsyncOp) -> None:
    """Move the elements at two addresses; where the predicate fails, zeros arrive."""
    target, source = _address(op.dst), _address(op.src)
    code = IndexBuilder(op)
    lanes = op.bytes.value.data * 8 // bit_width(element_type_of(target.base.type))
    valid: SSAValue | None = None
    if op.predicate is not None:
        valid = code.add(SelectOp(op.predicate, code.index(lanes), code.index(0))).results[0]
    code.add(
        AsyncMoveOp(
            source.base, list(source.indices), target.base, list(target.indices), lanes, valid
        )
    )
    code.rewriter.erase(op)
    for each in (target, source):
        if not any(True for _ in each.result.uses):
            code.rewriter.erase(each)


def _address(pointer: SSAValue) -> PtrOfOp:
    owner = pointer.owner
    assert isinstance(owner, PtrOfOp), "T.access_ptr makes pointers"
    return owner
