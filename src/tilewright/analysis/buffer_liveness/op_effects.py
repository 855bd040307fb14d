"""Effects of ops on shared and tensor memory, and the unit that continues after the op.

Reads and writes are the memory effects that ops declare. Tables here add what effects do not state:
which ops are asynchronous, what their completion signals, and which writes replace a whole view.

====================  =======================================  ==================================
unit                  accesses buffers until                   ops
====================  =======================================  ==================================
``NOW``               the op is done                           loads, stores, synchronous MMAs
``CP_ASYNC``          ``async_wait`` of its group              ``async_copy_global_to_local``
``WGMMA``             ``warp_group_dot_wait``                  ``warp_group_dot`` with ``isAsync``
``TMA_STORE``         ``async_tma_store_wait``                 copies from shared to global memory
``BARRIER``           a wait for the barrier it signals        copies to shared memory
``TENSOR_CORE``       the same, or a later commit's barrier    ``tc_gen5_mma``, ``tmem_copy``
``UNKNOWN``           unknown                                  calls, ops without known effects
====================  =======================================  ==================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffect, MemoryEffectKind

from tilewright.dialects.ttg.copies import AsyncCommitGroupOp, AsyncCopyGlobalToLocalOp, AsyncWaitOp
from tilewright.dialects.ttg.memory import LocalAllocOp, LocalDeallocOp, LocalStoreOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng import (
    AsyncTMACopyGlobalToLocalOp,
    InvalBarrierOp,
    TCGen5CommitOp,
    TCGen5MMAOp,
    TCGen5MMAScaledOp,
    TMAStoreTokenWaitOp,
    TMAStoreWaitOp,
    TMEMAllocOp,
    TMEMStoreOp,
    WaitBarrierOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tilewright.dialects.ttng.signals import signalled
from tilewright.ir.interfaces import BranchLike, RegionBranch, constant_value

AllocationOp = LocalAllocOp | TMEMAllocOp


class Engine(Enum):
    """The unit that performs an op, named by its completion mechanism; see the table above."""

    NOW = "the op itself"
    CP_ASYNC = "cp.async copy"
    WGMMA = "wgmma"
    TMA_STORE = "TMA store"
    BARRIER = "copy"
    TENSOR_CORE = "tcgen05 instruction"
    UNKNOWN = "unknown use"


@dataclass(frozen=True)
class OperandEffect:
    """One operand through which an op reads or writes a buffer. `fills` replaces all it shows."""

    value: SSAValue
    reads: bool
    writes: bool
    engine: Engine = Engine.NOW
    fills: bool = False


@dataclass(frozen=True)
class Signal:
    """A barrier that signals the completion of an op; `certain` unless predicated."""

    barrier: SSAValue
    certain: bool


_ENGINES = {
    "ttg.async_copy_global_to_local": Engine.CP_ASYNC,
    "amdg.buffer_load_to_local": Engine.CP_ASYNC,
    "ttng.async_tma_copy_local_to_global": Engine.TMA_STORE,
    "ttng.async_tma_reduce": Engine.TMA_STORE,
    "ttng.async_tma_scatter": Engine.TMA_STORE,
    "ttng.async_store": Engine.TMA_STORE,
    "ttng.async_bulk_copy_local_to_global": Engine.TMA_STORE,
    "ttng.async_tma_copy_global_to_local": Engine.BARRIER,
    "ttng.async_tma_gather": Engine.BARRIER,
    "ttng.async_bulk_copy_global_to_local": Engine.BARRIER,
    "ttng.async_shared_store": Engine.BARRIER,
    "ttng.clc_try_cancel": Engine.BARRIER,
    "ttng.async_clc_try_cancel": Engine.BARRIER,
    "ttg.async_remote_shmem_store": Engine.BARRIER,
    "ttg.async_remote_shmem_copy": Engine.BARRIER,
    "ttng.tc_gen5_mma": Engine.TENSOR_CORE,
    "ttng.tc_gen5_mma_scaled": Engine.TENSOR_CORE,
    "ttng.tmem_copy": Engine.TENSOR_CORE,
    "ttg.remote_shmem_store": Engine.UNKNOWN,
    "amdg.async_tdm_copy_global_to_local": Engine.UNKNOWN,
    "amdg.async_tdm_fused_copy_global_to_local": Engine.UNKNOWN,
    "amdg.async_tdm_copy_local_to_global": Engine.UNKNOWN,
}
_BARRIER_OPS = frozenset(
    f"{dialect}.{name}"
    for dialect in ("ttng", "amdg")
    for name in (
        "init_barrier",
        "inval_barrier",
        "barrier_expect",
        "wait_barrier",
        "arrive_barrier",
        "async_copy_mbarrier_arrive",
        "tc_gen5_commit",
    )
)
_WAITS = (AsyncCommitGroupOp, AsyncWaitOp, WarpGroupDotWaitOp, TMAStoreWaitOp, TMAStoreTokenWaitOp)
_NO_ACCESS = (LocalDeallocOp, *_WAITS)
_MMA = (TCGen5MMAOp, TCGen5MMAScaledOp)


def is_true(value: SSAValue | None) -> bool:
    """Whether a predicate is absent or the constant true."""
    if value is None:
        return True
    constant = constant_value(value)
    return isinstance(constant, IntegerAttr) and constant.value.data != 0


def is_false(value: SSAValue) -> bool:
    """Whether a predicate is the constant false."""
    constant = constant_value(value)
    return isinstance(constant, IntegerAttr) and constant.value.data == 0


def barriers_of(op: Operation) -> tuple[SSAValue, ...]:
    """The operands of `op` that are barriers."""
    if op.name in _BARRIER_OPS:
        return tuple(v for v in op.operands[:1] if isinstance(v.type, MemDescType))
    return tuple(signalled(op))


def signals(op: Operation) -> Iterator[Signal]:
    """The barriers that signal the completion of the work of `op`, or committed by it."""
    predicates: Sequence[SSAValue | None] | None = None
    if isinstance(op, TCGen5CommitOp):
        predicates = [op.pred]
    elif isinstance(op, _MMA):
        predicates = op.barrier_preds
    elif engine_of(op) not in (Engine.BARRIER, Engine.TENSOR_CORE):
        return
    for index, barrier in enumerate(signalled(op)):
        yield Signal(barrier, predicates is None or is_true(predicates[index]))


def engine_of(op: Operation) -> Engine:
    """The unit that performs `op`."""
    if isinstance(op, WarpGroupDotOp):
        return Engine.WGMMA if op.is_async.value.data else Engine.NOW
    if isinstance(op, _MMA) and op.is_async is None:
        return Engine.NOW
    return _ENGINES.get(op.name, Engine.NOW)


def is_handover(op: Operation) -> bool:
    """Whether `op` only forwards buffers: views, structured ops, terminators."""
    if any(op.has_trait(trait) for trait in (RegionBranch, BranchLike, IsTerminator)):
        return True
    return bool(op.results) and all(isinstance(r.type, MemDescType) for r in op.results)


def operand_effects(op: Operation) -> tuple[OperandEffect, ...]:
    """The accesses of `op` to buffers other than barriers."""
    buffers = [v for v in op.operands if isinstance(v.type, MemDescType)]
    if isinstance(op, AllocationOp):
        return () if op.src is None else (OperandEffect(op.result, False, True, fills=True),)
    if not buffers or isinstance(op, _NO_ACCESS) or op.name in _BARRIER_OPS:
        return ()
    effects = _effects(op)
    if effects is None:
        if is_handover(op):
            return ()
        return tuple(OperandEffect(value, True, True, Engine.UNKNOWN) for value in buffers)
    skipped = barriers_of(op)
    engine = engine_of(op)
    fills = _fills(op)
    return tuple(
        OperandEffect(value, value in reads, value in writes, engine, fills and value in writes)
        for reads, writes in (effects,)
        for value in dict.fromkeys(buffers)
        if value not in skipped and (value in reads or value in writes)
    )


def _effects(op: Operation) -> tuple[set[SSAValue], set[SSAValue]] | None:
    """The values that `op` reads and writes through; None if unknown."""
    traits = op.get_traits_of_type(MemoryEffect)
    if not traits:
        return None
    reads: set[SSAValue] = set()
    writes: set[SSAValue] = set()
    for trait in traits:
        effects = trait.get_effects(op)
        if effects is None:
            return None
        for effect in effects:
            if not isinstance(effect.value, SSAValue):
                if effect.kind in (MemoryEffectKind.READ, MemoryEffectKind.WRITE):
                    return None
                continue
            if effect.kind is MemoryEffectKind.READ:
                reads.add(effect.value)
            elif effect.kind is MemoryEffectKind.WRITE:
                writes.add(effect.value)
    return reads, writes


def _fills(op: Operation) -> bool:
    """Whether what `op` writes replaces all that its operand shows."""
    if isinstance(op, LocalStoreOp):
        return True
    if isinstance(op, AsyncTMACopyGlobalToLocalOp | TMEMStoreOp):
        return is_true(op.pred)
    if isinstance(op, AsyncCopyGlobalToLocalOp):
        return op.mask is None and op.bulk_size is None
    if isinstance(op, _MMA):
        return is_false(op.use_d) and is_true(op.pred)
    return False


__all__ = [
    "AllocationOp",
    "Engine",
    "InvalBarrierOp",
    "OperandEffect",
    "Signal",
    "WaitBarrierOp",
    "barriers_of",
    "engine_of",
    "is_false",
    "is_handover",
    "is_true",
    "operand_effects",
    "signals",
]
