"""Ops of ``tlx``: buffers, barriers, tasks and asynchronous copies, in the user's order.

ttg.local_alloc of n buffers     tile.alloc with a leading n; barriers with their arrivals
ttg.memdesc_index                tile.slot; of barriers, their index
ttg.warp_specialize              tile.ws, one role for each region
ttng.*barrier                    nv.mbarrier.*, under scf.if where it has a predicate
asynchronous copies, waits       tile.async_copy, nv.*.commit, nv.*.wait
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.raising.tasks import integer, is_barrier
from tilewright.dialects.arith import ExtfOp, TruncfOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.nv import (
    MBARRIER,
    BarOp,
    CpAsyncCommitOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierWaitOp,
    TmaStoreCommitOp,
    TmaStoreWaitOp,
    WgmmaWaitOp,
)
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    FillOp,
    Role,
    SlotOp,
    Space,
    WsOp,
    buffer_type,
    space_attr,
)
from tilewright.dialects.tile import ReuseGroupOp as TileReuseGroupOp
from tilewright.dialects.tile import SetBufferOverlapOp as TileSetBufferOverlapOp
from tilewright.dialects.tile import StorageAliasSpecOp as TileStorageAliasSpecOp
from tilewright.dialects.tile.names import BUFFERS
from tilewright.dialects.tlx import (
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
)
from tilewright.dialects.ttg import (
    AsyncCopyGlobalToLocalOp,
    AsyncWaitOp,
    LocalAllocOp,
    LocalLoadOp,
    LocalStoreOp,
    MemDescIndexOp,
    MemDescTransOp,
    MemDescType,
    WarpSpecializeOp,
)
from tilewright.dialects.ttng import (
    ArriveBarrierOp,
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    BarrierExpectOp,
    NamedBarrierArriveOp,
    NamedBarrierWaitOp,
    TMAStoreWaitOp,
    WaitBarrierOp,
    WarpGroupDotWaitOp,
)
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.raising.accesses import when
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.expressions import Point, element
from tilewright.passes.raising.groups import Work, flush, submit
from tilewright.passes.raising.moves import accesses_of
from tilewright.passes.raising.regions import assume_inside, region_of
from tilewright.passes.raising.state import BufferPart, Raising

EmitOps = Callable[[Raising, Iterable[Operation]], None]


# Buffers.


def _alloc(state: Raising, op: Operation) -> None:
    assert isinstance(op, LocalAllocOp | StorageAliasLocalAllocOp)
    type = op.result.type
    assert isinstance(type, MemDescType)
    name = state.fresh(op.result.name_hint or "buffer")
    counts = state.plan.tasks.arrivals.get(op)
    if counts is not None:
        made = AllocOp(buffer_type(MBARRIER, (len(counts),), Space.BARRIER), name=name, init=counts)
    else:
        memory = MemRefType(type.element_type, type.shape, memory_space=space_attr(Space.SHARED))
        spec = (
            state.parts[op.storage_alias].buffer
            if isinstance(op, StorageAliasLocalAllocOp)
            else None
        )
        made = AllocOp(memory, name=name, alias=spec)
        if spec is not None:
            made.attributes[BUFFERS] = UnitAttr()
    state.top.origin = op
    state.parts[op.result] = BufferPart(state.top.value(made, name))


def _spec(state: Raising, op: Operation) -> None:
    assert isinstance(op, StorageAliasSpecOp)
    state.top.origin = op
    made = TileStorageAliasSpecOp("shared", op.size)
    state.parts[op.result] = BufferPart(state.top.value(made, op.result.name_hint))


def _group(state: Raising, op: Operation) -> None:
    assert isinstance(op, ReuseGroupOp)
    elements = [state.parts[each].buffer for each in op.elements]
    state.top.origin = op
    made = TileReuseGroupOp(elements, op.kind, op.size)
    state.parts[op.result] = BufferPart(state.top.value(made, op.result.name_hint))


def _overlap(state: Raising, op: Operation) -> None:
    assert isinstance(op, SetBufferOverlapOp)
    state.top.origin = op
    spec, group = state.parts[op.storage_alias_spec], state.parts[op.overlap_def]
    state.top.add(TileSetBufferOverlapOp(spec.buffer, group.buffer))


def _index(state: Raising, op: Operation) -> None:
    assert isinstance(op, MemDescIndexOp)
    source = state.parts[op.src]
    known = integer(op.index)
    index = (
        state.at.index(known) if known is not None else state.at.to_index(state.scalar(op.index))
    )
    if is_barrier(op.src):
        state.parts[op.result] = BufferPart(source.buffer, index)
    else:
        slot = state.at.value(SlotOp(source.buffer, index), op.result.name_hint)
        state.parts[op.result] = BufferPart(slot)


def _trans(state: Raising, op: Operation) -> None:
    assert isinstance(op, MemDescTransOp)
    source = state.parts[op.src]
    state.parts[op.result] = BufferPart(source.buffer, None, not source.is_transposed)


# Barriers.


def _when(state: Raising, predicate: SSAValue | None, make: Callable[[Builder], object]) -> None:
    """Under a predicate, unless it always holds."""
    if predicate is None or integer(predicate) in (1, -1):
        make(state.at)
        return
    when(state.at, state.scalar(predicate), lambda at: _void(make(at)))


def _void(_: object) -> None:
    """Drop a result."""


def _barrier(state: Raising, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    part = state.parts[value]
    assert part.index is not None
    return part.buffer, part.index


def _init(state: Raising, op: Operation) -> None:
    """Allocations have the arrivals."""


def _wait(state: Raising, op: Operation) -> None:
    assert isinstance(op, WaitBarrierOp)
    flush(state)
    barrier, index = _barrier(state, op.alloc)
    parity = state.scalar(op.phase)
    _when(state, op.pred, lambda at: at.add(MBarrierWaitOp(barrier, index, parity)))


def _arrive(state: Raising, op: Operation) -> None:
    assert isinstance(op, ArriveBarrierOp)
    flush(state)
    barrier, index = _barrier(state, op.alloc)

    def make(at: Builder) -> None:
        for _ in range(op.count.value.data):
            at.add(MBarrierArriveOp(barrier, index))

    _when(state, op.pred, make)


def _expect(state: Raising, op: Operation) -> None:
    assert isinstance(op, BarrierExpectOp)
    flush(state)
    barrier, index = _barrier(state, op.alloc)
    size = op.size.value.data
    _when(state, op.pred, lambda at: at.add(MBarrierArriveExpectTxOp(barrier, index, size)))


def _named(state: Raising, op: Operation) -> None:
    assert isinstance(op, NamedBarrierArriveOp | NamedBarrierWaitOp)
    flush(state)
    id, threads = integer(op.bar), integer(op.num_threads)
    assert id is not None and threads is not None
    mode = "arrive" if isinstance(op, NamedBarrierArriveOp) else "sync"
    state.at.add(BarOp(mode, id, threads))


def _fence(state: Raising, op: Operation) -> None:
    flush(state)
    state.at.add(FenceProxyAsyncOp())


# Copies.


def _tma_load(state: Raising, op: Operation) -> None:
    assert isinstance(op, AsyncTMACopyGlobalToLocalOp)
    flush(state)
    access = state.plan.accesses[op]
    barrier, index = _barrier(state, op.barrier)
    target = state.parts[op.result].buffer

    def make(at: Builder) -> None:
        at.add(AsyncCopyOp(region_of(state, access, at), target, barrier, index))

    _when(state, op.pred, make)


def _tma_store(state: Raising, op: Operation) -> None:
    assert isinstance(op, AsyncTMACopyLocalToGlobalOp)
    flush(state)
    access = state.plan.accesses[op]
    assume_inside(state, op, access)
    source = state.parts[op.src].buffer
    state.at.add(AsyncCopyOp(source, region_of(state, access, state.at)))
    state.at.add(TmaStoreCommitOp())


def _store_wait(state: Raising, op: Operation) -> None:
    assert isinstance(op, TMAStoreWaitOp)
    flush(state)
    state.at.add(TmaStoreWaitOp(op.pendings.value.data, read=True))


def _copy(state: Raising, op: Operation) -> None:
    """Copies of pointers; zeros where a condition for the whole box does not hold."""
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    flush(state)
    access = state.plan.accesses[op]
    box = access.box
    assert box is not None
    target = state.parts[op.result].buffer

    def load(at: Builder) -> None:
        region = region_of(state, access, at)
        at.add(AsyncCopyOp(region, target, instruction="cp_async", zeros=True))

    if box.guard is None:
        load(state.at)
        return
    holds = state.symbols.truth(state.at, box.guard)
    yes, no = Block([YieldOp()]), Block([YieldOp()])
    load(state.at.inside(yes))
    other = state.at.inside(no)
    other.add(FillOp(target, other.constant(0, access.element)))
    state.at.add(IfOp(holds, [], Region(yes), Region(no)))


def _commit(state: Raising, op: Operation) -> None:
    flush(state)
    state.at.add(CpAsyncCommitOp())


def _copy_wait(state: Raising, op: Operation) -> None:
    assert isinstance(op, AsyncWaitOp)
    flush(state)
    state.at.add(CpAsyncWaitOp(op.num.value.data))


def _dot_wait(state: Raising, op: Operation) -> None:
    assert isinstance(op, WarpGroupDotWaitOp)
    flush(state)
    state.at.add(WgmmaWaitOp(op.pendings.value.data))


# Values and buffers.


def _local_load(state: Raising, op: Operation) -> None:
    assert isinstance(op, LocalLoadOp)
    flush(state)
    slot = state.slot(op.result)
    assert slot is not None
    state.at.add(CopyOp(state.parts[op.src].buffer, state.buffer(slot)))


def _local_store(state: Raising, op: Operation) -> None:
    """Copy a whole buffer where there is one, else compute the elements."""
    assert isinstance(op, LocalStoreOp)
    target = state.parts[op.dst].buffer
    source = op.src
    owner = source.owner
    if isinstance(owner, TruncfOp | ExtfOp) and state.slot(source) is None:
        source = owner.operands[0]
    slot = state.slot(source)
    if slot is not None:
        flush(state)
        state.at.add(CopyOp(state.buffer(slot), target))
        return

    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        value = element(state, op.src, indices, point)
        point.at.add(StoreOp(value, target, list(indices)))

    reads, loads = accesses_of(state, [(op.src, False)])
    submit(state, Work(op, shape_of(op.src.type), run, reads, (), (), loads))
    flush(state)


# Tasks.


def emit_tasks(state: Raising, op: WarpSpecializeOp, emit: EmitOps) -> None:
    """One role for each task."""
    flush(state)
    tasks = state.plan.tasks.tasks
    bodies: list[Region] = []
    for task in tasks:
        block = Block()
        inner = state.at.inside(block)
        outside = state.move_to(inner)
        emit(state, task.region.block.ops)
        flush(state)
        state.move_to(outside)
        bodies.append(Region(block))
    roles = [
        Role(task.name, ((task.start, task.start + task.threads),), task.registers)
        for task in tasks
    ]
    state.on_behalf_of(op)
    made = WsOp(roles, custom=True)
    for target, body in zip(made.regions, bodies, strict=True):
        for each in list(body.block.ops):
            each.detach()
            end = target.block.last_op
            assert end is not None
            target.block.insert_op_before(each, end)
    state.at.add(made)


EMITTERS = {
    "tlx.reuse_group": _group,
    "tlx.set_buffer_overlap": _overlap,
    "tlx.storage_alias_local_alloc": _alloc,
    "tlx.storage_alias_spec": _spec,
    "ttg.async_commit_group": _commit,
    "ttg.async_copy_global_to_local": _copy,
    "ttg.async_wait": _copy_wait,
    "ttg.local_alloc": _alloc,
    "ttg.local_load": _local_load,
    "ttg.local_store": _local_store,
    "ttg.memdesc_index": _index,
    "ttg.memdesc_trans": _trans,
    "ttng.arrive_barrier": _arrive,
    "ttng.arrive_barrier_named": _named,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_store_wait": _store_wait,
    "ttng.barrier_expect": _expect,
    "ttng.fence_async_shared": _fence,
    "ttng.init_barrier": _init,
    "ttng.wait_barrier": _wait,
    "ttng.wait_barrier_named": _named,
    "ttng.warp_group_dot_wait": _dot_wait,
}
