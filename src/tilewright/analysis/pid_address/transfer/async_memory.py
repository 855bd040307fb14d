"""Asynchronous accesses to global memory: the TMA, bulk copies, copies to shared memory.

When they happen does not matter here, only where: each is an access of the program that issues it,
to a block of a descriptor, to the elements that a tensor of pointers names, or to `size` bytes from
a pointer on. Prefetches change no memory and fault on none, so they are no accesses.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pid_address.report import AccessKind
from tilewright.analysis.pid_address.scope import Scope, Site
from tilewright.analysis.pid_address.transfer.arith import Rule
from tilewright.analysis.pid_address.transfer.integers import moved, scaled
from tilewright.analysis.pid_address.transfer.memory import (
    AccessOp,
    PointerRows,
    access_block,
    access_rows,
    loaded,
    none,
    record_access,
)
from tilewright.analysis.pid_address.types import pointee_bytes
from tilewright.analysis.pid_address.values import Integer
from tilewright.dialects.tt import TensorDescType
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.ttng import (
    AsyncBulkCopyGlobalToLocalOp,
    AsyncBulkCopyLocalToGlobalOp,
    AsyncStoreOp,
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
)
from tilewright.dialects.type_utils import num_elements, shape_of


def _tma_load(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncTMACopyGlobalToLocalOp)
    if not isinstance(op.desc.type, TensorDescType):
        scope.not_analysed(op, "it reads global memory by an im2col descriptor")
        return
    access_block(scope, op, AccessOp(AccessKind.LOAD, op.desc, op.pred), op.coord)


def _tma_store(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncTMACopyLocalToGlobalOp)
    access_block(scope, op, AccessOp(AccessKind.STORE, op.desc), op.coord)


def _tma_reduce(scope: Scope, op: Operation) -> None:
    """Element by element, and atomic."""
    assert isinstance(op, AsyncTMAReduceOp)
    access_block(scope, op, AccessOp(AccessKind.ATOMIC, op.desc), op.coord)


def _tma_gather(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncTMAGatherOp)
    rows = PointerRows(op.x_offsets, op.y_offset, shape_of(op.result.type))
    access_rows(scope, op, AccessOp(AccessKind.LOAD, op.desc, op.pred), rows)


def _tma_scatter(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncTMAScatterOp)
    rows = PointerRows(op.x_offsets, op.y_offset, shape_of(op.src.type))
    access_rows(scope, op, AccessOp(AccessKind.STORE, op.desc), rows)


def _copy_to_shared(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    mask, basis = record_access(scope, op, AccessOp(AccessKind.LOAD, op.src, op.mask))
    loaded(scope, op, mask, basis)


# Bulk copies.


def _bulk_load(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncBulkCopyGlobalToLocalOp)
    _bulk(scope, op, AccessOp(AccessKind.LOAD, op.src, op.pred), op.dst, op.size)


def _bulk_store(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AsyncBulkCopyLocalToGlobalOp | AsyncStoreOp)
    pred = op.pred if isinstance(op, AsyncBulkCopyLocalToGlobalOp) else None
    _bulk(scope, op, AccessOp(AccessKind.STORE, op.dst, pred), op.src, op.size)


def _bulk(scope: Scope, op: Operation, access: AccessOp, buffer: SSAValue, size: SSAValue) -> None:
    """`size` bytes from a pointer on; a buffer in shared memory has space for all of them."""
    pointer = scope.pointer(access.address)
    elem_bytes = pointee_bytes(access.address.type)
    extent = num_elements(buffer.type)
    lane = scope.atoms.lane(0, extent)
    count = scope.integer(size)
    mask = scope.ctx.compare("<", lane * elem_bytes, count.expr)
    basis = count.basis
    if access.mask is not None:
        condition = scope.formula(access.mask)
        mask, basis = condition.formula & mask, basis | condition.basis
    offset = moved(scope, pointer.offset, scaled(Integer(lane, lane), elem_bytes))
    scope.record(
        Site(
            op,
            scope.path,
            access.kind,
            access.address,
            pointer.base,
            offset,
            elem_bytes,
            (extent,),
            mask,
            basis,
            scope,
        )
    )


ASYNC_ACCESS_RULES: Mapping[str, Rule] = {
    "ttg.async_copy_global_to_local": _copy_to_shared,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_gather": _tma_gather,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_reduce,
    "ttng.async_tma_scatter": _tma_scatter,
    "ttng.async_store": _bulk_store,
    "ttng.async_bulk_copy_local_to_global": _bulk_store,
    "ttng.async_bulk_copy_global_to_local": _bulk_load,
}

ASYNC_RULES: Mapping[str, Rule] = {
    **ASYNC_ACCESS_RULES,
    "ttng.prefetch": none,
    "ttng.prefetch_tensormap": none,
    "ttng.async_tma_prefetch": none,
    "ttng.tensormap_fenceproxy_acquire": none,
    "amdg.tdm_prefetch": none,
}
