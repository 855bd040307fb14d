"""Accesses to buffers by threads, and asynchronous copies."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt.enums import DESCRIPTOR_REDUCE_KIND
from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.ttg.copies import (
    AsyncCopyGlobalToLocalOp,
    AsyncRemoteShmemCopyOp,
    AsyncRemoteShmemStoreOp,
    RemoteShmemStoreOp,
)
from tilewright.dialects.ttg.memory import (
    LocalGatherOp,
    LocalLoadOp,
    LocalScatterOp,
    LocalStoreOp,
)
from tilewright.dialects.ttng.descriptors import (
    AsyncBulkCopyGlobalToLocalOp,
    AsyncBulkCopyLocalToGlobalOp,
    AsyncStoreOp,
)
from tilewright.dialects.ttng.tma import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
)
from tilewright.dialects.ttng.tmem import TMEMLoadOp, TMEMStoreOp
from tilewright.dialects.type_utils import shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.blocks import BlockAccess, lanes
from tilewright.targets.numpy.ops.checks import require_defined, tuple_text
from tilewright.targets.numpy.ops.tt.descriptors import (
    access_at,
    described,
    rmw_kind,
    row_access,
)
from tilewright.targets.numpy.ops.tt.memory import check_access, new_site, pointer_access
from tilewright.targets.numpy.ops.tt.shape import full_expr
from tilewright.targets.numpy.tasks.ops.sync import call, predicate
from tilewright.targets.numpy.tasks.ops.views import nothing, token
from tilewright.targets.numpy.tasks.unit import emitter_of
from tilewright.targets.numpy.values import Expr, Pointer, Tensor, all_axes


def loaded(emitter: Emitter, text: str, result: SSAValue, *operands: Expr) -> Expr:
    """A call that gives a tensor, as a number where that is all it is."""
    shape = shape_of(result.type)
    axes = all_axes(shape)
    text = text if axes else f"only({text})"
    expr = emitter_of(emitter).effect_expr(
        text, emitter.runtime, *operands, axes=axes, rank=len(shape)
    )
    emitter.define(result, Tensor(expr))
    return expr


# Threads.


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LocalLoadOp)
    tasks = emitter_of(emitter)
    tasks.pause()
    loaded(
        emitter, f"{{0}}.load({{1}}, {tasks.current_source_id()})", op.result, emitter.expr(op.src)
    )


def _tmem_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TMEMLoadOp)
    tasks = emitter_of(emitter)
    tasks.pause()
    source = emitter.expr(op.src)
    expr = loaded(emitter, f"{{0}}.load({{1}}, {tasks.current_source_id()})", op.result, source)
    token(emitter, op.token)
    if op.red is not None and op.red_op is not None:
        kind = "min" if "min" in str(op.red_op) else "max"
        absolute = op.use_abs is not None and bool(op.use_abs.value.data)
        text = f"{{0}}.tmem_reduced({{1}}, {kind!r}, {absolute})"
        loaded(emitter, text, op.red, expr)


def _stored(emitter: Emitter, value: SSAValue) -> Expr:
    require_defined(emitter, emitter.tensor(value), "a stored value", ())
    return emitter.expr(value)


def _store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LocalStoreOp)
    target = emitter.expr(op.dst)
    call(emitter, "{0}.store({1}, {2}, {place})", target, _stored(emitter, op.src))


def _tmem_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TMEMStoreOp)
    exprs = emitter.expr(op.dst), _stored(emitter, op.src), emitter.expr(op.pred)
    call(emitter, "{0}.store({1}, {2}, {place}, {3})", *exprs)
    token(emitter, op.token)


def _gather(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LocalGatherOp)
    tasks = emitter_of(emitter)
    tasks.pause()
    text = f"{{0}}.local_gather({{1}}, {{2}}, {op.axis.value.data}, {tasks.current_source_id()})"
    loaded(emitter, text, op.result, emitter.expr(op.src), full_expr(emitter, op.indices))


def _scatter(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LocalScatterOp)
    text = f"{{0}}.local_scatter({{1}}, {{2}}, {{3}}, {op.axis.value.data}, {{place}})"
    where = full_expr(emitter, op.indices)
    call(emitter, text, emitter.expr(op.dst), where, _stored(emitter, op.values))


# Asynchronous copies.


def _terms(access: BlockAccess, start: int) -> tuple[str, str, list[Expr]]:
    """Addresses and masks in a template, and their expressions."""
    count = len(access.terms)
    masks = tuple_text(start + count, len(access.mask))
    return tuple_text(start, count), masks, [*access.terms, *access.mask]


def _is_true(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, ConstantOp) and owner.value == IntegerAttr.from_bool(True)


def _tma_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncTMACopyGlobalToLocalOp)
    if op.offsets:
        raise emitter.unsupported("TMA copies in im2col mode are not supported on target numpy")
    type = emitter.scalar_type(op.result)
    is_issued = _is_true(op.pred)
    access = access_at(emitter, op, op.desc, op.coord, type.dtype.itemsize, is_checked=is_issued)
    _issue_load(emitter, op, access, op.multicast_targets)


def _tma_gather(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncTMAGatherOp)
    itemsize = emitter.scalar_type(op.result).dtype.itemsize
    access = row_access(emitter, op.desc, op.x_offsets, op.y_offset, itemsize)
    _issue_load(emitter, op, access, None)


def _issue_load(
    emitter: Emitter,
    op: AsyncTMACopyGlobalToLocalOp | AsyncTMAGatherOp,
    access: BlockAccess,
    multicast: SSAValue | None,
) -> None:
    block = described(emitter, op.desc)
    type = emitter.scalar_type(op.result)
    shape = (
        block.extents if isinstance(op, AsyncTMACopyGlobalToLocalOp) else shape_of(op.result.type)
    )
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, shape, root, masked=True)
    fixed = [block.fill, *(emitter.expr(each) for each in (op.result, op.barrier, op.pred))]
    if multicast is not None:
        fixed.append(emitter.expr(multicast))
    terms, masks, exprs = _terms(access, 1 + len(fixed))
    last = "" if multicast is None else ", {5}"
    text = f"{{0}}.tma_load({site}, {terms}, {masks}, {{1}}, {{2}}, {{3}}, {{4}}, {{place}}{last})"
    call(emitter, text, *fixed, *exprs)


def _copy(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    access = pointer_access(emitter, op.src, op.mask)
    check_access(emitter, access, op.mask, "a copy")
    type = emitter.scalar_type(op.result)
    shape = shape_of(op.src.type)
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, shape, root, masked=op.mask is not None)
    target = emitter.expr(op.result)
    if op.barrier is not None:
        _copy_bulk(emitter, op, access, site)
    elif op.other is not None and access.mask:
        terms, masks, exprs = _terms(access, 3)
        text = f"{{0}}.copy_async({site}, {terms}, {masks}, {{2}}, {{1}}, {{place}})"
        call(emitter, text, target, emitter.expr(op.other), *exprs)
    else:
        terms, masks, exprs = _terms(access, 2)
        text = f"{{0}}.copy_async({site}, {terms}, {masks}, None, {{1}}, {{place}})"
        call(emitter, text, target, *exprs)
    token(emitter, op.token)


def _copy_bulk(
    emitter: Emitter, op: AsyncCopyGlobalToLocalOp, access: BlockAccess, site: int
) -> None:
    assert op.barrier is not None
    fixed = [emitter.expr(op.result), emitter.expr(op.barrier)]
    if op.bulk_size is not None:
        fixed.append(emitter.expr(op.bulk_size))
    terms, _, exprs = _terms(BlockAccess(access.terms, (), access.pointer), 1 + len(fixed))
    size = "None" if op.bulk_size is None else "{3}"
    call(
        emitter,
        f"{{0}}.copy_bulk({site}, {terms}, {{1}}, {{2}}, {size}, {{place}})",
        *fixed,
        *exprs,
    )


def _bulk_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncBulkCopyGlobalToLocalOp)
    type = emitter.scalar_type(op.dst)
    shape = shape_of(op.dst.type)
    pointer = emitter.values[op.src]
    assert isinstance(pointer, Pointer)
    site = new_site(emitter, op, "load", type, shape, pointer.root)
    lane = emitter.pure(f"{{0}} * {type.dtype.itemsize}", lanes(emitter, shape[0], 0, 1))
    fixed = [emitter.expr(each) for each in (op.dst, op.barrier, op.size, op.pred)]
    terms, _, exprs = _terms(BlockAccess((*pointer.terms, lane), (), pointer), 5)
    text = f"{{0}}.copy_bulk({site}, {terms}, {{1}}, {{2}}, {{3}}, {{place}}, {{4}})"
    call(emitter, text, *fixed, *exprs)


def _tma_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncTMACopyLocalToGlobalOp | AsyncTMAReduceOp | AsyncTMAScatterOp)
    type = emitter.scalar_type(op.src)
    block = described(emitter, op.desc)
    size = type.dtype.itemsize
    if isinstance(op, AsyncTMAScatterOp):
        access = row_access(emitter, op.desc, op.x_offsets, op.y_offset, size)
        shape = shape_of(op.src.type)
    else:
        access = access_at(
            emitter, op, op.desc, op.coord, size, is_store=not isinstance(op, AsyncTMAReduceOp)
        )
        shape = block.extents
        token(emitter, op.token)
    root, kind = access.pointer.root, None
    if isinstance(op, AsyncTMAReduceOp):
        kind_name = DESCRIPTOR_REDUCE_KIND.keyword(op.kind)
        assert isinstance(op.desc.type, TensorDescType)
        kind = rmw_kind(kind_name, op.desc.type.element_type)
        site = new_site(
            emitter, op, "atomic_rmw", type, shape, root, result_used=False, rmw=kind, masked=True
        )
    else:
        site = new_site(emitter, op, "store", type, shape, root, masked=True)
    terms, masks, exprs = _terms(access, 2)
    reduces = ", reduces=True" if kind is not None else ""
    text = f"{{0}}.tma_store({site}, {terms}, {masks}, {{1}}, {shape}, {{place}}{reduces})"
    call(emitter, text, emitter.expr(op.src), *exprs)


def _bulk_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncStoreOp | AsyncBulkCopyLocalToGlobalOp)
    pointer = emitter.values[op.dst]
    assert isinstance(pointer, Pointer)
    type = emitter.scalar_type(op.src)
    site = new_site(emitter, op, "store", type, shape_of(op.src.type)[:1], pointer.root)
    is_predicated = isinstance(op, AsyncBulkCopyLocalToGlobalOp)
    pred = predicate(emitter, op.pred if is_predicated else None)
    terms, _, exprs = _terms(BlockAccess(pointer.terms, (), pointer), 4)
    text = f"{{0}}.store_bulk({site}, {terms}, {{1}}, {{2}}, {{3}}, {{place}})"
    call(emitter, text, emitter.expr(op.src), emitter.expr(op.size), pred, *exprs)


def _remote_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, RemoteShmemStoreOp)
    value = _stored(emitter, op.src)
    exprs = emitter.expr(op.dst), emitter.expr(op.cta_rank)
    call(emitter, "{0}.remote_store({1}, {2}, {3}, {place})", value, *exprs)


def _remote_async(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncRemoteShmemStoreOp | AsyncRemoteShmemCopyOp)
    is_store = isinstance(op, AsyncRemoteShmemStoreOp)
    source = _stored(emitter, op.src) if is_store else emitter.expr(op.src)
    exprs = [emitter.expr(each) for each in (op.dst, op.cta_rank, op.barrier)]
    name = "remote_store_async" if is_store else "remote_copy_async"
    call(emitter, f"{{0}}.{name}({{1}}, {{2}}, {{3}}, {{4}}, {{place}})", source, *exprs)


RULES: dict[str, Rule] = {
    "ttg.local_load": _load,
    "ttg.local_store": _store,
    "ttg.local_gather": _gather,
    "ttg.local_scatter": _scatter,
    "ttng.tmem_load": _tmem_load,
    "ttng.tmem_store": _tmem_store,
    "ttg.async_copy_global_to_local": _copy,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_gather": _tma_gather,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_store,
    "ttng.async_tma_scatter": _tma_store,
    "ttng.async_bulk_copy_global_to_local": _bulk_load,
    "ttng.async_bulk_copy_local_to_global": _bulk_store,
    "ttng.async_store": _bulk_store,
    "ttng.async_tma_prefetch": nothing,
    "ttng.prefetch": nothing,
    "ttng.prefetch_tensormap": nothing,
    "ttng.tensormap_fenceproxy_acquire": nothing,
    "ttg.remote_shmem_store": _remote_store,
    "ttg.async_remote_shmem_store": _remote_async,
    "ttg.async_remote_shmem_copy": _remote_async,
}
