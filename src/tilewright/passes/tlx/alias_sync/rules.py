"""What each op does to buffers, barriers and engines: one entry an op.

Accesses go to the checker with the *proxy* they take: `generic` for threads, `async` for copy
engines and the shared-memory side of matrix units, `tensor` for tensor memory. TMA and bulk copies
report bytes to a barrier, tcgen05 arrives on one, cp.async, wgmma and TMA stores are waited for in
groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.alias_sync.machine import (
    Barrier,
    Gate,
    GroupKind,
    Misuse,
    Part,
    Steps,
)
from tilewright.analysis.alias_sync.machine import Operation as Issued
from tilewright.analysis.ordering import TITLES, Cause, Finding, Proxy, Remark
from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.dialects.ttg.copies import (
    AsyncCopyGlobalToLocalOp,
    AsyncRemoteShmemCopyOp,
    AsyncRemoteShmemStoreOp,
    AsyncWaitOp,
    RemoteShmemStoreOp,
)
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
from tilewright.dialects.ttng.barriers import (
    ArriveBarrierOp,
    AsyncCopyMbarrierArriveOp,
    BarrierExpectOp,
    InitBarrierOp,
    InvalBarrierOp,
    WaitBarrierOp,
)
from tilewright.dialects.ttng.cluster import (
    AsyncCLCTryCancelOp,
    CLCQueryCancelOp,
    FenceOp,
    MapToRemoteBufferOp,
)
from tilewright.dialects.ttng.descriptors import (
    AsyncBulkCopyGlobalToLocalOp,
    AsyncBulkCopyLocalToGlobalOp,
    AsyncStoreOp,
)
from tilewright.dialects.ttng.tcgen05 import TCGen5CommitOp, TCGen5MMAOp, TCGen5MMAScaledOp
from tilewright.dialects.ttng.tma import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
    TMAStoreWaitOp,
)
from tilewright.dialects.ttng.tmem import (
    TMEMAllocOp,
    TMEMCopyOp,
    TMEMLoadOp,
    TMEMStoreOp,
    TMEMSubSliceOp,
)
from tilewright.dialects.ttng.wgmma import WarpGroupDotOp, WarpGroupDotWaitOp
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.tlx.alias_sync.kernel import NotAnalysed
from tilewright.passes.tlx.alias_sync.views import View, name_of, unit_bytes, whole
from tilewright.passes.tlx.alias_sync.walk import Product, Rule, Walk

_RESPONSE_BYTES = 16
"""Of an answer of cluster launch control."""
_NAMED = 16
"""Hardware barriers of a CTA (PTX ISA, `barrier`)."""

# Buffers and views.


def _memdesc(value: SSAValue) -> MemDescType:
    assert isinstance(value.type, MemDescType)
    return value.type


def _alloc(walk: Walk, op: Operation) -> None:
    assert isinstance(op, LocalAllocOp | TMEMAllocOp)
    number, name = walk.run.kernel.names[op]
    view = whole(_memdesc(op.results[0]), number, name, walk.place(op), walk.rank)
    walk.env[op.results[0]] = view
    if number not in walk.run.memories:
        walk.run.memories.add(number)
        _announce(walk, view)
    if op.src is not None:
        _touch(walk, op, view, writes=True)


def _announce(walk: Walk, view: View) -> None:
    """Tell the checker of a memory, of all CTAs: a copy may come before its owner is there."""
    word = "tensor memory" if view.storage.is_tensor_memory else "shared memory"
    count = walk.run.kernel.cluster_size
    for rank in range(count):
        key = _at(walk, view, rank).storage.key
        name = f"{word} of CTA {rank}" if count > 1 else word
        walk.run.machine.checker.memory(key, name, view.storage.size)


def _index(walk: Walk, op: Operation) -> None:
    assert isinstance(op, MemDescIndexOp)
    number = walk.decided(op, op.index, "the index of a buffer")
    walk.env[op.result] = walk.view(op, op.src).index(number)


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
    walk.env[op.result] = _at(walk, walk.view(op, op.src), rank)


def _at(walk: Walk, view: View, rank: int) -> View:
    return view.at_rank(rank, walk.run.kernel.cluster_size)


def _nothing(walk: Walk, op: Operation) -> None:
    """Of no meaning here."""
    for result in op.results:
        walk.env[result] = None


# Accesses of threads.


def _proxy(view: View, otherwise: Proxy) -> Proxy:
    return "tensor" if view.storage.is_tensor_memory else otherwise


def _touch(walk: Walk, op: Operation, view: View, *, writes: bool) -> None:
    proxy = _proxy(view, "generic")
    machine = walk.run.machine
    machine.access(walk.task, view.region(), proxy, walk.place(op), writes=writes)


def _load(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, LocalLoadOp | TMEMLoadOp)
    yield None
    _touch(walk, op, walk.view(op, op.src), writes=False)
    _nothing(walk, op)


def _store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, LocalStoreOp | TMEMStoreOp)
    yield None
    if isinstance(op, LocalStoreOp) or walk.holds(op, op.pred):
        _touch(walk, op, walk.view(op, op.dst), writes=True)
    _nothing(walk, op)


def _picks(walk: Walk, op: Operation) -> None:
    """Some elements are touched, data says which: nothing can be compared."""
    assert isinstance(op, LocalGatherOp | LocalScatterOp)
    writes = isinstance(op, LocalScatterOp)
    view = walk.view(op, op.dst if isinstance(op, LocalScatterOp) else op.src)
    checker = walk.run.machine.checker
    checker.touched(view.region(), "write" if writes else "read")
    checker.not_analysed[f"which elements of {view.name} are touched"] = None
    walk.run.unknown.setdefault(op, f"which elements of '{view.owner}' are touched")
    _nothing(walk, op)


# Memory barriers.


def _barrier(walk: Walk, op: Operation, view: View) -> Barrier:
    found = walk.run.machine.barriers.get(view.key)
    if found is None:
        place = walk.place(op)
        fix = Remark("make it before the tasks start", place)
        missing = f"{view.name} is no barrier yet"
        cause = Cause("init", missing, fix, view.owner)
        message = f"{TITLES['init']}: {walk.task.name} uses {view.name}"
        raise Misuse(Finding(message, place, cause))
    return found


def _init(walk: Walk, op: Operation) -> None:
    assert isinstance(op, InitBarrierOp)
    view = walk.view(op, op.alloc)
    made = Barrier(view.key, view.name, view.owner, op.count.value.data)
    walk.run.machine.init(walk.task, made, walk.place(op))


def _inval(walk: Walk, op: Operation) -> None:
    assert isinstance(op, InvalBarrierOp)
    walk.run.machine.barriers.pop(walk.view(op, op.alloc).key, None)


def _expect(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, BarrierExpectOp)
    yield None
    if walk.holds(op, op.pred):
        barrier = _barrier(walk, op, walk.view(op, op.alloc))
        walk.run.machine.expect(walk.task, barrier, op.size.value.data, walk.place(op))


def _arrive(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, ArriveBarrierOp)
    if op.is_multicast:
        raise NotAnalysed(op, "an arrival at several CTAs at once is not modelled")
    yield None
    if walk.holds(op, op.pred):
        barrier = _barrier(walk, op, walk.view(op, op.alloc))
        times = op.count.value.data * (1 if op.per_thread is None else walk.task.threads)
        walk.run.machine.arrive(walk.task.strand, barrier, times, walk.place(op))


def _wait(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WaitBarrierOp)
    if not walk.holds(op, op.pred):
        return
    barrier = _barrier(walk, op, walk.view(op, op.alloc))
    parity = walk.decided(op, op.phase, "the phase of a wait") & 1
    yield from walk.run.machine.wait(walk.task, barrier, parity, walk.place(op))


def _arrive_when_copied(walk: Walk, op: Operation) -> Steps:
    """Threads arrive once the copies that they issued so far are done."""
    assert isinstance(op, AsyncCopyMbarrierArriveOp)
    yield None
    barrier, task = _barrier(walk, op, walk.view(op, op.barrier)), walk.task
    if op.no_increment is None:
        barrier.arrived -= task.threads
    walk.run.machine.issue(
        task,
        f"the arrival on {barrier.name}",
        f"cp.async of CTA {walk.rank}",
        walk.place(op),
        (),
        arrives=[(barrier, task.threads)],
        after=tuple(task.copies),
    )


# Barriers of threads, fences.


def _gate(walk: Walk, op: Operation) -> tuple[Gate, int]:
    number = walk.decided(op, op.operands[0], "the number of a barrier")
    threads = walk.decided(op, op.operands[1], "the number of threads")
    if not 0 <= number < _NAMED:
        raise NotAnalysed(op, f"there is no barrier {number}: numbers go to {_NAMED - 1}")
    gates = walk.run.machine.gates
    return gates.setdefault((walk.rank, number), Gate(f"barrier {number}")), threads


def _come(walk: Walk, op: Operation, gate: Gate, threads: int) -> int:
    return walk.run.machine.come(walk.task, gate, threads, walk.place(op))


def _named_arrive(walk: Walk, op: Operation) -> Steps:
    yield None
    _come(walk, op, *_gate(walk, op))


def _named_wait(walk: Walk, op: Operation) -> Steps:
    yield None
    gate, threads = _gate(walk, op)
    generation = _come(walk, op, gate, threads)
    yield from walk.run.machine.opened(walk.task, gate, generation, walk.place(op))


def _cluster_gate(walk: Walk) -> tuple[Gate, int]:
    gate = walk.run.machine.gates.setdefault("cluster", Gate("the cluster's barrier"))
    return gate, walk.task.threads * walk.run.kernel.cluster_size


def _cluster_arrive(walk: Walk, op: Operation) -> Steps:
    yield None
    walk.run.met[walk.rank] = _come(walk, op, *_cluster_gate(walk))


def _cluster_wait(walk: Walk, op: Operation) -> Steps:
    gate, _ = _cluster_gate(walk)
    generation = walk.run.met.get(walk.rank)
    if generation is None:
        raise NotAnalysed(op, "a wait for the cluster without an arrival")
    yield from walk.run.machine.opened(walk.task, gate, generation, walk.place(op))


def _cluster_barrier(walk: Walk, op: Operation) -> Steps:
    yield from _cluster_arrive(walk, op)
    yield from _cluster_wait(walk, op)


def _fence(walk: Walk, op: Operation) -> None:
    kind = op.scope.data if isinstance(op, FenceOp) else op.name
    if "async_shared" in kind:
        walk.run.machine.checker.fence(walk.task.strand)


# Copies.


def _ranks(walk: Walk, op: Operation, multicast: SSAValue | None) -> list[int]:
    if multicast is None:
        return []
    bits = walk.decided(op, multicast, "who gets a copy")
    return [rank for rank in range(walk.run.kernel.cluster_size) if bits >> rank & 1]


def _tma_load(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncTMACopyGlobalToLocalOp | AsyncTMAGatherOp)
    yield None
    if not walk.holds(op, op.pred):
        return
    target, barrier = walk.view(op, op.result), walk.view(op, op.barrier)
    views, gates = [target], [barrier]
    if isinstance(op, AsyncTMACopyGlobalToLocalOp) and op.multicast_targets is not None:
        ranks = _ranks(walk, op, op.multicast_targets)
        views = [_at(walk, target, rank) for rank in ranks]
        gates = [_at(walk, barrier, rank) for rank in ranks]
    walk.run.machine.issue(
        walk.task,
        f"the TMA load into {target.name}",
        f"tma of CTA {walk.rank}",
        walk.place(op),
        [Part(view.region(), _proxy(view, "async"), writes=True) for view in views],
        delivers=[
            (_barrier(walk, op, gate), view.size_bytes)
            for view, gate in zip(views, gates, strict=True)
        ],
    )


def _bulk_load(walk: Walk, op: Operation, target: View, size: int, barrier: SSAValue) -> None:
    if len(target.shape) == 1:
        target = target.slice([0], (size // target.item,))
    walk.run.machine.issue(
        walk.task,
        f"the bulk copy into {target.name}",
        f"tma of CTA {walk.rank}",
        walk.place(op),
        [Part(target.region(), "async", writes=True)],
        delivers=[(_barrier(walk, op, walk.view(op, barrier)), size)],
    )


def _bulk(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncBulkCopyGlobalToLocalOp)
    yield None
    if walk.holds(op, op.pred):
        size = walk.decided(op, op.size, "the size of a copy")
        _bulk_load(walk, op, walk.view(op, op.dst), size, op.barrier)


def _copy(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    yield None
    target, task = walk.view(op, op.result), walk.task
    _nothing(walk, op)
    if op.barrier is not None:
        size = target.size_bytes
        if op.bulk_size is not None:
            size = walk.decided(op, op.bulk_size, "the size of a copy")
        _bulk_load(walk, op, target, size, op.barrier)
        return
    issued = walk.run.machine.issue(
        task,
        f"the copy into {target.name}",
        f"cp.async of CTA {walk.rank}",
        walk.place(op),
        [Part(target.region(), "generic", writes=True)],
    )
    task.open.append(issued)
    task.copies.append(issued)


def _commit_copies(walk: Walk, op: Operation) -> None:
    task = walk.task
    walk.run.machine.groups(task, "copies").append(task.open)
    task.open = []
    _nothing(walk, op)


def _wait_groups(walk: Walk, op: Operation, kind: GroupKind, leave: int) -> Steps:
    yield from walk.run.machine.wait_groups(walk.task, kind, leave, walk.place(op))


def _wait_copies(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncWaitOp)
    _nothing(walk, op)
    yield from _wait_groups(walk, op, "copies", op.num.value.data)


def _wait_stores(walk: Walk, op: Operation) -> Steps:
    leave = op.pendings.value.data if isinstance(op, TMAStoreWaitOp) else 0
    yield from _wait_groups(walk, op, "stores", leave)


def _tma_store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncTMACopyLocalToGlobalOp | AsyncTMAReduceOp | AsyncTMAScatterOp)
    yield None
    word = "reduction" if isinstance(op, AsyncTMAReduceOp) else "store"
    _read_out(walk, op, op.src, f"the TMA {word} of")
    _nothing(walk, op)


def _bulk_store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncStoreOp | AsyncBulkCopyLocalToGlobalOp)
    yield None
    if isinstance(op, AsyncStoreOp) or walk.holds(op, op.pred):
        _read_out(walk, op, op.src, "the bulk store of")


def _read_out(walk: Walk, op: Operation, source: SSAValue, words: str) -> None:
    view, machine = walk.view(op, source), walk.run.machine
    issued = machine.issue(
        walk.task,
        f"{words} {view.name}",
        f"tma stores of CTA {walk.rank}",
        walk.place(op),
        [Part(view.region(), "async")],
    )
    machine.groups(walk.task, "stores").append([issued])


def _remote_store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, RemoteShmemStoreOp)
    yield None
    rank = walk.decided(op, op.cta_rank, "the rank of a CTA")
    _touch(walk, op, _at(walk, walk.view(op, op.dst), rank), writes=True)


def _remote_async(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncRemoteShmemStoreOp | AsyncRemoteShmemCopyOp)
    yield None
    rank = walk.decided(op, op.cta_rank, "the rank of a CTA")
    there = _at(walk, walk.view(op, op.dst), rank)
    barrier = walk.view(op, op.barrier)
    if barrier.storage.cta == walk.rank:
        barrier = _at(walk, barrier, rank)
    parts = [Part(there.region(), "async", writes=True)]
    words = f"the store into {there.name}"
    if isinstance(op, AsyncRemoteShmemCopyOp):
        source = walk.view(op, op.src)
        parts.insert(0, Part(source.region(), "async"))
        words = f"the copy of {source.name}"
    walk.run.machine.issue(
        walk.task,
        f"{words} to CTA {rank}",
        f"remote stores of CTA {walk.rank}",
        walk.place(op),
        parts,
        delivers=[(_barrier(walk, op, barrier), there.size_bytes)],
    )


# Matrix units.


def _wgmma(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WarpGroupDotOp)
    yield None
    values = [value for value in (op.a, op.b) if isinstance(value.type, MemDescType)]
    views = [walk.view(op, value) for value in values]
    machine = walk.run.machine
    issued = machine.issue(
        walk.task,
        f"the product with {' @ '.join(view.name for view in views)}",
        f"wgmma of {walk.task.name} of CTA {walk.rank}",
        walk.place(op),
        [Part(view.region(), "async") for view in views],
        in_order=True,
    )
    machine.groups(walk.task, "products").append([issued])
    walk.env[op.d] = Product(issued)
    if not op.is_async.value.data:
        yield from _wait_groups(walk, op, "products", 0)


def _wgmma_wait(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WarpGroupDotWaitOp)
    for result, operand in zip(op.results, op.operands, strict=True):
        walk.env[result] = walk.env.get(operand)
    yield from _wait_groups(walk, op, "products", op.pendings.value.data)


def _pair(walk: Walk, is_pair: bool) -> list[int]:
    return [walk.rank & ~1, walk.rank | 1] if is_pair else [walk.rank]


def _mma(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, TCGen5MMAOp | TCGen5MMAScaledOp)
    yield None
    _nothing(walk, op)
    is_pair = op.two_ctas is not None
    if not walk.holds(op, op.pred) or (is_pair and walk.rank % 2):
        return
    ranks = _pair(walk, is_pair)
    a, b, d = (walk.view(op, value) for value in (op.a, op.b, op.d))
    reads = [_at(walk, view, rank) for view in (a, b) for rank in ranks]
    if isinstance(op, TCGen5MMAScaledOp):
        reads += [walk.view(op, op.a_scale), walk.view(op, op.b_scale)]
    parts = [Part(view.region(), _proxy(view, "async")) for view in reads]
    adds = walk.holds(op, op.use_d)
    parts += [
        Part(_at(walk, d, rank).region(), "tensor", writes=True, also_reads=adds) for rank in ranks
    ]
    issued = _tensor_core(
        walk,
        op,
        f"the product {a.name} @ {b.name} -> {d.name}",
        parts,
        [
            view
            for each in _gates(walk, op)
            for view in ([_at(walk, each, rank) for rank in ranks] if is_pair else [each])
        ],
    )
    if op.is_async is None:
        yield from walk.run.machine.wait_for(walk.task, issued, walk.place(op))


def _gates(walk: Walk, op: TCGen5MMAOp | TCGen5MMAScaledOp) -> list[View]:
    wanted: Sequence[SSAValue | None] = list(op.barrier_preds) or [None] * len(op.barriers)
    return [
        walk.view(op, barrier)
        for barrier, pred in zip(op.barriers, wanted, strict=True)
        if walk.holds(op, pred)
    ]


def _tensor_core(
    walk: Walk, op: Operation, what: str, parts: Sequence[Part], gates: Sequence[View]
) -> Issued:
    """Products, copies and commits of a CTA finish in order."""
    return walk.run.machine.issue(
        walk.task,
        what,
        f"tcgen05 of CTA {walk.rank}",
        walk.place(op),
        parts,
        in_order=True,
        arrives=[(_barrier(walk, op, gate), 1) for gate in gates],
    )


def _commit(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, TCGen5CommitOp)
    yield None
    is_pair = op.two_ctas is not None or walk.run.kernel.works_in_pairs
    if not walk.holds(op, op.pred) or (is_pair and walk.rank % 2):
        return
    barrier = walk.view(op, op.barrier)
    gates = [_at(walk, barrier, rank) for rank in _pair(walk, True)] if is_pair else [barrier]
    _tensor_core(walk, op, f"the commit to {barrier.name}", (), gates)


def _tmem_copy(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, TMEMCopyOp)
    yield None
    source, target = walk.view(op, op.src), walk.view(op, op.dst)
    parts = [Part(source.region(), "async"), Part(target.region(), "tensor", writes=True)]
    gates = [] if op.barrier is None else [walk.view(op, op.barrier)]
    _tensor_core(walk, op, f"the copy {source.name} -> {target.name}", parts, gates)


# Cluster launch control.


def _try_cancel(walk: Walk, op: Operation) -> Steps:
    """Ask for more work; the first CTA does, all get the answer."""
    assert isinstance(op, AsyncCLCTryCancelOp)
    yield None
    if walk.rank:
        return
    ranks = range(walk.run.kernel.cluster_size)
    response, barrier = walk.view(op, op.clc_res_alloc), walk.view(op, op.mbar_alloc)
    views = [_at(walk, response, rank) for rank in ranks]
    walk.run.machine.issue(
        walk.task,
        f"the request for work into {response.name}",
        f"launch control of CTA {walk.rank}",
        walk.place(op),
        [Part(view.region(), "async", writes=True) for view in views],
        delivers=[
            (_barrier(walk, op, _at(walk, barrier, rank)), _RESPONSE_BYTES) for rank in ranks
        ],
    )


def _query_cancel(walk: Walk, op: Operation) -> Steps:
    """The n-th time a task looks, it finds the n-th answer: there is work until loops are done."""
    assert isinstance(op, CLCQueryCancelOp)
    yield None
    view = walk.view(op, op.clc_res_alloc)
    _touch(walk, op, view, writes=False)
    looked = walk.looked = walk.looked + 1
    has_work = looked < walk.run.trips
    for axis, result in enumerate(op.results):
        walk.env[result] = -1 if not has_work else looked if axis == 0 else 0


RULES: Mapping[str, Rule] = {
    "ttg.local_alloc": _alloc,
    "ttng.tmem_alloc": _alloc,
    "ttg.local_dealloc": _nothing,
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
    "tlx.dump_layout": _nothing,
    "tlx.assert_same_layout": _nothing,
    "tlx.assert_same_layout_expected": _nothing,
    "ttg.local_load": _load,
    "ttng.tmem_load": _load,
    "ttg.local_store": _store,
    "ttng.tmem_store": _store,
    "ttg.local_gather": _picks,
    "ttg.local_scatter": _picks,
    "ttng.init_barrier": _init,
    "ttng.inval_barrier": _inval,
    "ttng.barrier_expect": _expect,
    "ttng.arrive_barrier": _arrive,
    "ttng.wait_barrier": _wait,
    "ttng.async_copy_mbarrier_arrive": _arrive_when_copied,
    "ttng.arrive_barrier_named": _named_arrive,
    "ttng.wait_barrier_named": _named_wait,
    "ttng.cluster_arrive": _cluster_arrive,
    "ttng.cluster_wait": _cluster_wait,
    "ttng.cluster_barrier": _cluster_barrier,
    "ttng.fence": _fence,
    "ttng.fence_async_shared": _fence,
    "ttng.fence_mbarrier_init_release_cluster": _nothing,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_gather": _tma_load,
    "ttng.async_bulk_copy_global_to_local": _bulk,
    "ttg.async_copy_global_to_local": _copy,
    "ttg.async_commit_group": _commit_copies,
    "ttg.async_wait": _wait_copies,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_store,
    "ttng.async_tma_scatter": _tma_store,
    "ttng.async_bulk_copy_local_to_global": _bulk_store,
    "ttng.async_store": _bulk_store,
    "ttng.async_tma_store_wait": _wait_stores,
    "ttng.async_tma_store_token_wait": _wait_stores,
    "ttg.remote_shmem_store": _remote_store,
    "ttg.async_remote_shmem_store": _remote_async,
    "ttg.async_remote_shmem_copy": _remote_async,
    "ttng.warp_group_dot": _wgmma,
    "ttng.warp_group_dot_wait": _wgmma_wait,
    "ttng.tc_gen5_mma": _mma,
    "ttng.tc_gen5_mma_scaled": _mma,
    "ttng.tc_gen5_commit": _commit,
    "ttng.tmem_copy": _tmem_copy,
    "ttng.async_clc_try_cancel": _try_cancel,
    "ttng.clc_query_cancel": _query_cancel,
}
