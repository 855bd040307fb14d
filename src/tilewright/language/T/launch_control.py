"""Blackwell: clusters that take the work of clusters which have not been launched yet.

if tx == 0 and rank == 0:
    T.clc_try_cancel_multicast(response, arrived)        # 16 bytes, reported to `arrived`
T.mbarrier_wait_parity(arrived, phase)
if T.clc_is_canceled(response):
    tile = T.clc_get_first_ctaid_x(response)
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tilewright.dialects.nv.launch_control import RESPONSE_ELEMENTS, ClcQueryOp, ClcTryCancelOp
from tilewright.dialects.tile import ViewOp, buffer_type
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import BufferRegion, shape_text
from tilewright.language.T.dtypes import boolean, int32
from tilewright.language.T.expressions import Expr, index_expr
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect
from tilewright.language.T.session import kernel as open_kernel
from tilewright.language.T.tile_ops import barrier_operands, region


def clc_try_cancel(result: Any, mbar: Any) -> None:
    """Request the work of a cluster that has not been launched; the response is 16 bytes."""
    open_kernel("T.clc_try_cancel")
    slot = barrier_operands("clc_try_cancel", mbar)
    effect(ClcTryCancelOp(_response("clc_try_cancel", result), slot))


def clc_try_cancel_multicast(result: Any, mbar: Any) -> None:
    """As `clc_try_cancel`; all blocks of the cluster get the response, each on its own barrier."""
    open_kernel("T.clc_try_cancel_multicast")
    slot = barrier_operands("clc_try_cancel_multicast", mbar)
    response = _response("clc_try_cancel_multicast", result)
    effect(ClcTryCancelOp(response, slot, multicast=True))


def clc_is_canceled(result: Any) -> Expr:
    """Whether a launch was cancelled, so that there is work."""
    open_kernel("T.clc_is_canceled")
    return Expr(_query("clc_is_canceled", result).taken, boolean)


def clc_get_first_ctaid_x(result: Any) -> Expr:
    """The index along x of the first block of the cancelled cluster."""
    open_kernel("T.clc_get_first_ctaid_x")
    return Expr(_query("clc_get_first_ctaid_x", result).x, int32)


def clc_get_first_ctaid_y(result: Any) -> Expr:
    """The index along y of the first block of the cancelled cluster."""
    open_kernel("T.clc_get_first_ctaid_y")
    return Expr(_query("clc_get_first_ctaid_y", result).y, int32)


def clc_get_first_ctaid_z(result: Any) -> Expr:
    """The index along z of the first block of the cancelled cluster."""
    open_kernel("T.clc_get_first_ctaid_z")
    return Expr(_query("clc_get_first_ctaid_z", result).z, int32)


def _query(op_name: str, result: Any) -> ClcQueryOp:
    op = ClcQueryOp(_response(op_name, result))
    effect(op)
    return op


def _response(op_name: str, result: Any) -> tuple[SSAValue, SSAValue]:
    """The elements of a response: the buffer in one dimension, and where they begin."""
    part: BufferRegion = region(op_name, "result", result)
    buffer = part.buffer
    sizes = [each for each in buffer.shape if isinstance(each, int)]
    is_fit = part.extents[-1] == RESPONSE_ELEMENTS and all(each == 1 for each in part.extents[:-1])
    if not buffer.space.is_shared or buffer.dtype.bits != 32 or not is_fit:
        raise FrontendError(
            f"T.{op_name}: the response is {RESPONSE_ELEMENTS} integers of shared memory, "
            f"T.alloc_shared(({RESPONSE_ELEMENTS},), 'uint32'), got {buffer.name}: "
            f"{buffer.dtype}{shape_text(part.extents)}",
            code=BAD_ARGUMENT,
        )
    start: Any = 0
    for size, offset in zip(sizes, part.offsets, strict=True):
        start = start * size + offset
    handle = buffer.handle
    if len(sizes) > 1:
        total = 1
        for size in sizes:
            total *= size
        type = buffer_type(buffer.dtype.type, (total,), buffer.space)
        handle = current().insert(ViewOp(handle, type)).result
    return handle, index_expr(start).handle
