"""Cluster launch control: a running cluster takes the work of one not launched yet (sm_100).

    if thread == 0:
        T.mbarrier_arrive_expect_tx(arrived, 16)
        T.clc_try_cancel(result, arrived)
    T.mbarrier_wait_parity(arrived, step % 2)
    if T.clc_is_canceled(result) != 0:
        tile = T.clc_get_first_ctaid_x(result)

`result` is four 32-bit integers of shared memory, or a row of such a buffer.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import OpResult, SSAValue

from tilewright.dialects.nv import ClcQueryOp, ClcTryCancelOp
from tilewright.dialects.nv.launch_control import RESPONSE_ELEMENTS
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import shape_text
from tilewright.language.T.dtypes import DTYPES, boolean, int32
from tilewright.language.T.expressions import Expr, convert, index_expr
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel
from tilewright.language.T.tile_ops import barrier_operands, region

__all__ = [
    "clc_get_first_ctaid_x",
    "clc_get_first_ctaid_y",
    "clc_get_first_ctaid_z",
    "clc_is_canceled",
    "clc_try_cancel",
    "clc_try_cancel_multicast",
]


_UINT32 = DTYPES["uint32"]


def clc_try_cancel(result: Any, mbarrier: Any) -> None:
    """Request the work of a block not launched yet; 16 bytes are reported to the barrier."""
    _try_cancel("clc_try_cancel", result, mbarrier, multicast=False)


def clc_try_cancel_multicast(result: Any, mbarrier: Any) -> None:
    """The same for a cluster: each of its blocks gets the response, on its own barrier."""
    _try_cancel("clc_try_cancel_multicast", result, mbarrier, multicast=True)


def clc_is_canceled(result: Any) -> Expr:
    """1 if a launch was cancelled: its work is this cluster's now. Otherwise 0."""
    return convert(Expr(_query("clc_is_canceled", result, 0), boolean), int32)


def clc_get_first_ctaid_x(result: Any) -> Expr:
    """The index along x of the first block of the cancelled cluster."""
    return Expr(_query("clc_get_first_ctaid_x", result, 1), _UINT32)


def clc_get_first_ctaid_y(result: Any) -> Expr:
    """The index along y of the first block of the cancelled cluster."""
    return Expr(_query("clc_get_first_ctaid_y", result, 2), _UINT32)


def clc_get_first_ctaid_z(result: Any) -> Expr:
    """The index along z of the first block of the cancelled cluster."""
    return Expr(_query("clc_get_first_ctaid_z", result, 3), _UINT32)


def _try_cancel(name: str, result: Any, mbarrier: Any, *, multicast: bool) -> None:
    kernel(f"T.{name}")
    slot = barrier_operands(name, mbarrier)
    effect(ClcTryCancelOp(_response(name, result), slot, multicast=multicast))


def _query(name: str, result: Any, field: int) -> OpResult:
    kernel(f"T.{name}")
    return effect(ClcQueryOp(_response(name, result))).results[field]


def _response(name: str, result: Any) -> tuple[SSAValue, list[SSAValue]]:
    """The buffer of a response, and where in it the response begins."""
    found = region(name, "the result", result)
    buffer = found.buffer
    if not buffer.space.is_shared or buffer.dtype.bits != 32:
        raise FrontendError(
            f"T.{name}: the result must be {RESPONSE_ELEMENTS} 32-bit integers of shared memory, "
            f"got {shape_text(buffer.shape)} of {buffer.dtype}: "
            f"T.alloc_shared(({RESPONSE_ELEMENTS},), 'uint32')",
            code=BAD_ARGUMENT,
        )
    return buffer.handle, [index_expr(each).handle for each in found.offsets]
