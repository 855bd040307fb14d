"""What the ops of a kernel do to memory that its threads share: shared memory, and tensors that it
reads and writes.

One walk (`KernelAccesses`) finds the accesses of every op, with the version and the elements of a
buffer where they are known; what asynchronous units read and write; and the ops that have nothing
to do with any of it, which most ops are. `insert-thread-syncs` places barriers by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.lifetimes.buffer_slots import BufferSlots, Slot
from tilewright.analysis.threads.thread_footprints import Footprint, ThreadFootprints
from tilewright.dialects.amd.moves import (
    BufferLoadOp,
    BufferStoreOp,
    GuardedMoveOp,
    LoadLdsOp,
)
from tilewright.dialects.amd.moves import WaitOp as LdsWaitOp
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    AsyncMoveOp,
    BarOp,
    BulkLoadOp,
    CpAsyncMBarrierArriveOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    LdMatrixOp,
    MatrixDescriptorOp,
    MatrixOp,
    MBarrierArriveOp,
    MBarrierWaitOp,
    RedAddOp,
    StMatrixOp,
    Tcgen05AllocOp,
    Tcgen05CpOp,
    Tcgen05MmaOp,
    TmaLoadOp,
    TmaReduceOp,
    TmaStoreBase,
    TmaStoreOp,
    WgmmaCommitOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, AtomicOp, Space, SyncOp, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pending_accesses import (
    SharedAccess,
    elements_of,
)


def accesses_of(op: Operation) -> list[SharedAccess]:
    """What an op by itself does to shared memory."""
    found: list[SharedAccess] = []
    for value, is_write, by_engine in _operands(op):
        space = space_of(value.type)
        if space is not None and space.is_shared:
            is_started = is_write and isinstance(op, (AsyncMoveOp, LoadLdsOp))
            is_signalled = isinstance(op, (Tcgen05MmaOp, Tcgen05CpOp))
            found.append(
                SharedAccess(base_of(value), is_write, by_engine, is_started, is_signalled)
            )
    return found


def tensors_in_use(function: FuncOp) -> dict[SSAValue, SSAValue]:
    """Tensors that threads write, and threads or TMA read.

    With the argument that stands for all of their views, and for the maps that TMA has of them.
    """
    views: dict[object, list[SSAValue]] = {}
    maps: dict[object, list[SSAValue]] = {}
    for argument in function.body.block.args:
        tensor = argument_attributes(argument).get(simt_names.TENSOR, argument)
        if space_of(argument.type) is Space.GLOBAL:
            views.setdefault(tensor, []).append(argument)
        elif any(isinstance(use.operation, TmaLoadOp) for use in argument.uses):
            maps.setdefault(tensor, []).append(argument)
    found: dict[SSAValue, SSAValue] = {}
    for tensor, arguments in views.items():
        loaded = maps.get(tensor, [])
        uses = [use for each in arguments for use in each.uses]
        is_write = {
            is_write
            for use in uses
            for value, is_write, _ in _operands(use.operation)
            if value in arguments
        }
        if len(is_write) == 2 or (True in is_write and loaded):
            found.update((each, arguments[0]) for each in (*arguments, *loaded))
    return found


_TOUCHING = frozenset(
    each.name
    for each in (
        *(LoadOp, StoreOp, AtomicOp, MoveOp, AsyncMoveOp),
        *(LdMatrixOp, StMatrixOp, WgmmaOp, TmaStoreOp, TmaReduceOp, RedAddOp),
        *(BufferLoadOp, BufferStoreOp, LoadLdsOp),
        *(Tcgen05AllocOp, Tcgen05CpOp, Tcgen05MmaOp),
    )
)


_ORDERING = frozenset(
    each.name
    for each in (
        *(WsOp, SyncOp, BarrierOp, BarOp, FenceProxyAsyncOp, CpAsyncWaitOp, LdsWaitOp),
        *(MBarrierArriveOp, MBarrierWaitOp, TmaLoadOp, BulkLoadOp),
        *(WgmmaCommitOp, WgmmaWaitOp),
    )
)


def _operands(op: Operation) -> list[tuple[SSAValue, bool, bool]]:
    if op.name not in _TOUCHING:
        return []  # most ops compute
    if isinstance(op, LoadOp):
        return [(op.memref, False, False)]
    if isinstance(op, StoreOp):
        return [(op.memref, True, False)]
    if isinstance(op, AtomicOp):
        return [(op.dst, True, False)]
    if isinstance(op, (MoveOp, AsyncMoveOp, LdMatrixOp, StMatrixOp, GuardedMoveOp, RedAddOp)):
        return [(op.src, False, False), (op.dst, True, False)]
    if isinstance(op, (WgmmaOp, Tcgen05MmaOp, Tcgen05CpOp)):
        return [
            (each.owner.buffer, False, True)
            for each in ((op.src,) if isinstance(op, Tcgen05CpOp) else (op.a, op.b))
            if isinstance(each.owner, MatrixDescriptorOp)
        ]
    if isinstance(op, Tcgen05AllocOp):
        return [(op.slot, True, False)]
    assert isinstance(op, TmaStoreBase)
    return [(op.src, False, True)]


class KernelAccesses:
    """The accesses of one kernel."""

    def __init__(self, function: FuncOp, slots: BufferSlots | None, versions: bool) -> None:
        self._slots = slots
        self._versions = versions
        """Whether versions of all buffers are distinguished, or only of those that rotate."""
        self._footprints = ThreadFootprints(function)
        self._tensors = tensors_in_use(function)
        self.for_engines: set[SSAValue] = set()
        """Buffers, and tensors that threads write, that tensor cores or TMA read."""
        self.loaded: set[SSAValue] = set()
        """Tensors that threads write and TMA reads."""
        self.by_tma: set[SSAValue] = set()
        """Buffers that TMA writes."""
        self.copied: set[SSAValue] = set()
        """Buffers that asynchronous copies of threads write."""
        self.landing: set[SSAValue] = set()
        """Barriers that such copies signal when they have landed."""
        self._own: dict[int, list[SharedAccess]] = {}
        """What an op by itself does to memory that threads share, by its identity."""
        self._within: dict[int, list[SharedAccess]] = {}
        """The same of an op with those in it: the results of `of`."""
        self._idle: set[int] = set()
        """Ops that neither access memory nor order accesses, and contain no op that does. The walk
        for barriers erases none of them, so that an identity stays taken."""
        self._look(function)
        self.for_engines |= self.loaded

    def _look(self, function: FuncOp) -> None:
        """One walk over the kernel, which finds what the others need of an op."""
        ops = list(walk(function))
        self._idle.update(map(id, ops))
        for op in ops:
            name = op.name
            if name in _ORDERING or (name in _TOUCHING and self._note_accesses(op)):
                self._busy(op)
            if isinstance(op, (TmaLoadOp, BulkLoadOp)):
                self.by_tma.add(base_of(op.dst))
            elif isinstance(op, CpAsyncMBarrierArriveOp):
                self.landing.add(op.barrier)
            elif isinstance(op, AsyncMoveOp):
                self.copied.add(base_of(op.dst))
            if isinstance(op, TmaLoadOp) and op.map in self._tensors:
                tensor = self._tensors[op.map]
                self.loaded.add(tensor)
                self._own[id(op)] = [SharedAccess(tensor, is_write=False, by_engine=True)]

    def _note_accesses(self, op: Operation) -> bool:
        found: list[SharedAccess] = []
        for each in accesses_of(op):
            slot, footprint = self._slot(op, each), self._footprint(op, each)
            found.append(replace(each, slot=slot, footprint=footprint))
            if each.by_engine:
                self.for_engines.add(each.buffer)
        for value, is_write, _ in _operands(op):
            if value in self._tensors:
                is_update = isinstance(op, (AtomicOp, RedAddOp))
                found.append(SharedAccess(self._tensors[value], is_write, is_update=is_update))
        if found:
            self._own[id(op)] = found
        return bool(found)

    def _busy(self, op: Operation) -> None:
        current: Operation | None = op
        while current is not None and id(current) in self._idle:
            self._idle.remove(id(current))
            current = current.parent_op()

    def is_idle(self, op: Operation) -> bool:
        """Whether an op has nothing to do with accesses or their order, nor has one inside it."""
        return id(op) in self._idle

    def own(self, op: Operation) -> Sequence[SharedAccess]:
        """What an op by itself does to memory that threads share."""
        return self._own.get(id(op), ())

    def of(self, op: Operation) -> list[SharedAccess]:
        """What an op and those in it do to memory that threads share."""
        if not op.regions:
            return self._own.get(id(op), [])
        found = self._within.get(id(op))
        if found is None:
            found = self._within[id(op)] = self._accesses_inside(op)
        return found

    def _accesses_inside(self, op: Operation) -> list[SharedAccess]:
        ops = list(walk(op))
        loops = [inner for inner in ops if isinstance(inner, ForOp)]
        return [self._of_all(each, loops) for inner in ops for each in self._own.get(id(inner), ())]

    def _of_all(self, access: SharedAccess, loops: list[ForOp]) -> SharedAccess:
        """The access in all iterations of `loops`: elements may differ between iterations."""
        slots, slot, footprint = self._slots, access.slot, access.footprint
        if slots is not None and slot is not None:
            slot = None if any(slots.depends_on(slot, loop) for loop in loops) else slot
        if footprint is not None and any(map(footprint.depends_on, loops)):
            footprint = None
        if slot is access.slot and footprint is access.footprint:
            return access
        return replace(access, slot=slot, footprint=footprint)

    def _slot(self, op: Operation, access: SharedAccess) -> Slot | None:
        """The version of the buffer that an op accesses."""
        slots, owner = self._slots, access.buffer.owner
        if slots is None or not (self._versions or rotates(owner)):
            return None
        if isinstance(op, WgmmaOp):
            return self._slot_of_operand(op, access.buffer, slots)
        element = elements_of(op, access)
        return None if element is None else slots.slot(op, *element)

    def _slot_of_operand(self, op: WgmmaOp, buffer: SSAValue, slots: BufferSlots) -> Slot | None:
        """The version that an MMA reads: an operand does not extend beyond the one it begins in."""
        owners = [each.owner for each in (op.a, op.b)]
        read = [each for each in owners if isinstance(each, MatrixOp) and each.buffer is buffer]
        found = {slots.slot(op, buffer, each.index, 1) for each in read}
        return found.pop() if len(found) == 1 else None

    def _footprint(self, op: Operation, access: SharedAccess) -> Footprint | None:
        """The elements that each thread accesses."""
        element = elements_of(op, access)
        return None if element is None else self._footprints.of(op, *element)


def rotates(owner: Operation | Block) -> bool:
    """Whether `owner` allocates a buffer with versions that rotate."""
    return isinstance(owner, AllocOp) and names.ROTATING in owner.attributes
