"""Indices of an access: of the tensor that the pointer means, or of the flat memory it points to.

box     the lanes index a view; what is outside its extents is what the mask excludes
flat    the offset as a polynomial of the lanes
chain   the offset as the kernel adds it up, in its own types: addresses read from memory
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.analysis.raising.plan import Access
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tt import AddPtrOp, ExpandDimsOp
from tilewright.dialects.type_utils import is_tensor, shape_of
from tilewright.passes.raising.expressions import Indices, Point, element
from tilewright.passes.raising.state import Raising


def flat_index(
    state: Raising, access: Access, pointer: SSAValue, indices: Indices, point: Point
) -> SSAValue:
    """The element of the flat buffer that an access means at `indices`."""
    if access.address is not None:
        lanes: Mapping[int, Mixed] = dict(enumerate(indices))
        return point.at.index(state.symbols.index(point.at, access.address, lanes))
    return point.at.index(_chain(state, pointer, indices, point))


def _chain(state: Raising, pointer: SSAValue, indices: Indices, point: Point) -> Mixed:
    if not isinstance(pointer, OpResult):
        return 0
    op = pointer.op
    if isinstance(op, AddPtrOp):
        offset = element(state, op.offset, indices, point)
        return point.at.plus(_chain(state, op.ptr, indices, point), point.at.to_index(offset))
    source = op.operands[0]
    return _chain(state, source, _moved(op, source, indices), point)


def _moved(op: Operation, source: SSAValue, indices: Indices) -> Indices:
    """The indices of the operand of a structural op on pointers."""
    if not is_tensor(source.type):
        return ()
    match op.name:
        case "tt.expand_dims":
            assert isinstance(op, ExpandDimsOp)
            axis = op.axis.value.data
            return indices[:axis] + indices[axis + 1 :]
        case "tt.broadcast":
            extents = zip(shape_of(source.type), indices, strict=True)
            return tuple(0 if extent == 1 else index for extent, index in extents)
        case _:
            return indices
