"""Buffers, views of them, and accesses of threads."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.concurrency import Proxy, Steps
from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.dialects.ttg.memory import (
    LocalAllocOp,
    LocalGatherOp,
    LocalLoadOp,
    LocalScatterOp,
    LocalStoreOp,
)
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import (
    MemDescDynamicSubsliceOp,
    MemDescIndexOp,
    MemDescSubsliceOp,
    MemDescSubviewOp,
    MemDescTransOp,
)
from tilewright.dialects.ttng.cluster import MapToRemoteBufferOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp, TMEMLoadOp, TMEMStoreOp, TMEMSubSliceOp
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.tlx.alias_sync.views import View, name_of, unit_bytes, whole
from tilewright.passes.tlx.alias_sync.walk import Rule, Walk


def _memdesc(value: SSAValue) -> MemDescType:
    assert isinstance(value.type, MemDescType)
    return value.type


def _alloc(walk: Walk, op: Operation) -> None:
    assert isinstance(op, LocalAllocOp | TMEMAllocOp)
    index, name = walk.run.kernel.names[op]
    view = whole(_memdesc(op.results[0]), index, name, walk.position(op), walk.rank)
    walk.env[op.results[0]] = view
    if index not in walk.run.memories:
        walk.run.memories.add(index)
        _register(walk, view)
    if op.src is not None:
        record_access(walk, op, view, writes=True)


def _register(walk: Walk, view: View) -> None:
    """Register a memory of all CTAs with the checker: a copy may precede its owner."""
    memory_name = "tensor memory" if view.storage.is_tensor_memory else "shared memory"
    count = walk.run.kernel.cluster_size
    for rank in range(count):
        key = at_rank(walk, view, rank).storage.key
        name = f"{memory_name} of CTA {rank}" if count > 1 else memory_name
        walk.run.machine.checker.memory(key, name, view.storage.size)


def _index(walk: Walk, op: Operation) -> None:
    assert isinstance(op, MemDescIndexOp)
    index = walk.decided(op, op.index, "the index of a buffer")
    walk.env[op.result] = walk.view(op, op.src).index(index)


def _subslice(walk: Walk, op: Operation) -> None:
    assert isinstance(op, MemDescSubsliceOp)
    starts = tuple(op.offsets.get_values())
    walk.env[op.result] = walk.view(op, op.src).slice(starts, shape_of(op.result.type))


def _dynamic_subslice(walk: Walk, op: Operation) -> None:
    assert isinstance(op, MemDescDynamicSubsliceOp | MemDescSubviewOp)
    starts = [walk.decided(op, each, "the start of a slice") for each in op.offsets]
    walk.env[op.result] = walk.view(op, op.src).slice(starts, shape_of(op.result.type))


def _tmem_subslice(walk: Walk, op: Operation) -> None:
    assert isinstance(op, TMEMSubSliceOp)
    shape = shape_of(op.result.type)
    starts = [0] * len(shape)
    starts[op.dim.value.data] = op.offset.value.data
    walk.env[op.result] = walk.view(op, op.src).slice(starts, shape)


def _trans(walk: Walk, op: Operation) -> None:
    assert isinstance(op, MemDescTransOp)
    walk.env[op.result] = walk.view(op, op.src).transposed(tuple(op.order.get_values()))


def _reshape(walk: Walk, op: Operation) -> None:
    shape = shape_of(op.results[0].type)
    walk.env[op.results[0]] = walk.view(op, op.operands[0]).reshaped(shape)


def _reinterpret(walk: Walk, op: Operation) -> None:
    view = walk.view(op, op.operands[0])
    walk.env[op.results[0]] = view.seen_as(_memdesc(op.results[0]), name_of(op))


def _placed(walk: Walk, op: Operation) -> None:
    assert isinstance(op, PlacedAliasOp)
    type = _memdesc(op.result)
    unit = unit_bytes(type)
    levels = tuple((radix, stride * unit) for radix, stride in op.levels)
    view = walk.view(op, op.src)
    _, name = walk.run.kernel.names[op]
    walk.env[op.result] = view.placed(type, name, op.start * unit, levels)


def _remote(walk: Walk, op: Operation) -> None:
    assert isinstance(op, MapToRemoteBufferOp)
    rank = walk.decided(op, op.cta_rank, "the rank of a CTA")
    walk.env[op.result] = at_rank(walk, walk.view(op, op.src), rank)


def at_rank(walk: Walk, view: View, rank: int) -> View:
    return view.at_rank(rank, walk.run.kernel.cluster_size)


def nothing(walk: Walk, op: Operation) -> None:
    """Of no meaning here."""
    for result in op.results:
        walk.env[result] = None


# Accesses of threads.


def proxy_of(view: View, otherwise: Proxy) -> Proxy:
    return "tensor" if view.storage.is_tensor_memory else otherwise


def record_access(walk: Walk, op: Operation, view: View, *, writes: bool) -> None:
    kind, proxy = "write" if writes else "read", proxy_of(view, "generic")
    walk.run.machine.events.accessed(walk.task, kind, view.region(), proxy, walk.position(op))


def _load(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, LocalLoadOp | TMEMLoadOp)
    yield None
    record_access(walk, op, walk.view(op, op.src), writes=False)
    nothing(walk, op)


def _store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, LocalStoreOp | TMEMStoreOp)
    yield None
    if isinstance(op, LocalStoreOp) or walk.holds(op, op.pred):
        record_access(walk, op, walk.view(op, op.dst), writes=True)
    nothing(walk, op)


def _picks(walk: Walk, op: Operation) -> None:
    """Data-dependent elements are accessed: nothing can be compared."""
    assert isinstance(op, LocalGatherOp | LocalScatterOp)
    writes = isinstance(op, LocalScatterOp)
    view = walk.view(op, op.dst if isinstance(op, LocalScatterOp) else op.src)
    checker = walk.run.machine.checker
    checker.access_unknown(view.region(), "write" if writes else "read")
    checker.not_analysed[f"data-dependent elements of {view.name}"] = None
    walk.run.unknown.setdefault(op, f"the accessed elements of '{view.owner}' are data-dependent")
    nothing(walk, op)


RULES: Mapping[str, Rule] = {
    "ttg.local_alloc": _alloc,
    "ttng.tmem_alloc": _alloc,
    "ttg.local_dealloc": nothing,
    "ttg.memdesc_index": _index,
    "ttg.memdesc_subslice": _subslice,
    "ttg.memdesc_dynamic_subslice": _dynamic_subslice,
    "ttg.memdesc_subview": _dynamic_subslice,
    "ttg.memdesc_trans": _trans,
    "ttg.memdesc_reshape": _reshape,
    "ttg.memdesc_reinterpret": _reinterpret,
    "ttng.tmem_subslice": _tmem_subslice,
    "ttng.map_to_remote_buffer": _remote,
    "tlx.placed_alias": _placed,
    "tlx.dump_layout": nothing,
    "tlx.assert_same_layout": nothing,
    "tlx.assert_same_layout_expected": nothing,
    "ttg.local_load": _load,
    "ttng.tmem_load": _load,
    "ttg.local_store": _store,
    "ttng.tmem_store": _store,
    "ttg.local_gather": _picks,
    "ttg.local_scatter": _picks,
    "ttng.fence_mbarrier_init_release_cluster": nothing,
}
