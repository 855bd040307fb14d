"""`insert-thread-syncs`: a barrier before a thread reads what another wrote, or overwrites it.

A walk over the kernel records the accesses to shared memory since the last barrier; an op that
conflicts gets a barrier before it (docs/design/scheduling.md#block-barriers). A loop body is walked
twice, so that the end of one iteration is checked against the beginning of the next. Divergent code
is treated as one op, with the barrier before it. In a role it is a named barrier of its threads.
Divergent code that waits on an mbarrier is a role written by the user, and gets no barrier for
accesses of other roles: a thread that waits there may depend on the threads that would have to
arrive. The threads of a role may have another one later, or again in the next iteration of an
enclosing loop: they continue with what they did before. Where only lanes of a warp access the same
elements, by their addresses, these wait for each other, and other warps go on.

The same holds for tensors that threads of a kernel read and write. Atomic updates of a tensor need
no order among themselves, but with plain accesses to it they do. (`order-tensor-writes` has ordered
tensors that are only written.)

What TMA writes is ordered by its own barriers and not looked at here. Two kinds of accesses by
threads need an async proxy fence before the barrier, or before the arrival at an mbarrier or a
named barrier that signals another role (docs/design/concurrency.md#async-proxy): writes to what TMA
or a tensor core reads, and every access to what TMA writes next. Without the fence a load of a
thread that has been issued may be performed after a later TMA write: zeros past the end of a tensor
arrive within a few cycles. What a `tcgen05` instruction reads may be written after a wait for its
mbarrier, which no other barrier replaces. Where TMA loads a tensor that threads of the kernel
write, the fences order writes to tensors as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation

from tilewright.analysis.lifetimes.buffer_slots import BufferSlots
from tilewright.analysis.threads.uniformity import differs, leaves_apart, runs_together
from tilewright.dialects.amd import names as amd_names
from tilewright.dialects.amd.moves import WaitOp as LdsWaitOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import (
    BarOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    MBarrierArriveOp,
    MBarrierWaitOp,
    WgmmaCommitOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import NVIDIA_WARP, amd_chip_of
from tilewright.dialects.tile import SyncOp
from tilewright.dialects.tile.warps import Role, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pending_accesses import (
    Location,
    Order,
    Pending,
    SharedAccess,
    share_bytes,
)
from tilewright.passes.gpu.shared_accesses import KernelAccesses, rotates

_FIRST_ID = 3
_IDS = 16
_Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Threads of a role."""


@dataclass(frozen=True)
class InsertThreadSyncs(Pass):
    """Insert barriers between conflicting accesses to shared memory."""

    name = "insert-thread-syncs"

    versions: bool = False
    """Whether accesses to different versions of a multi-buffered tile need no barrier."""
    inserts_barriers: ClassVar[bool] = True

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                needed = self.versions or any(map(rotates, function.body.block.ops))
                slots = BufferSlots(function) if needed else None
                _Walk(function, engine, slots, self.versions, barriers=self.inserts_barriers).run()


@dataclass(frozen=True)
class InsertThreadFences(InsertThreadSyncs):
    """Insert async proxy fences, and name barriers of roles: the user places all other barriers."""

    name = "insert-thread-fences"
    inserts_barriers: ClassVar[bool] = False


class _Walk:
    """One kernel."""

    def __init__(
        self,
        function: FuncOp,
        engine: DiagnosticEngine,
        slots: BufferSlots | None,
        versions: bool,
        *,
        barriers: bool = True,
    ) -> None:
        self.function = function
        self.barriers = barriers
        """Whether barriers are inserted, and not only fences."""
        self.engine = engine
        self.slots = slots
        self.accesses = KernelAccesses(function, slots, versions)
        threads = function.attributes.get(simt_names.THREADS)
        self.threads = threads.value.data if isinstance(threads, IntegerAttr) else 128
        self.has_whole_warps = self._are_whole_warps(((0, self.threads),))
        self.role: tuple[int, int] | None = None
        """The barrier of the role that is being walked: its id, and its threads."""
        taken = {op.id.value.data for op in walk(function) if isinstance(op, BarOp)}
        self.free_ids = [each for each in range(_FIRST_ID, _IDS) if each not in taken]
        self.ids: dict[_Ranges, int] = {}
        """The last named barrier of a role with these threads."""
        self.by_roles = Pending()
        """Accesses of roles since the last block barrier. Among themselves they use mbarriers."""
        self.pending_of: dict[_Ranges, Pending] = {}
        """Accesses of a role's threads since their last barrier; they may have several roles."""

    def run(self) -> None:
        self._block(self.function.body.block, Pending())
        self._fence_landed_copies()
        if self.accesses.loaded:
            for op in walk(self.function):
                if isinstance(op, FenceProxyAsyncOp):
                    op.properties["tensors"] = UnitAttr()

    def _fence_landed_copies(self) -> None:
        """Threads that wait for asynchronous copies of others, and let a tensor core or TMA read
        them, fence after the wait: the copies signal when they land, which no thread sees.
        """
        copied, read = self.accesses.copied, self.accesses.for_engines
        if not any(share_bytes(one, each) for one in copied for each in read):
            return
        for op in list(walk(self.function)):
            is_wait = isinstance(op, MBarrierWaitOp) and op.barrier in self.accesses.landing
            if is_wait and not isinstance(op.next_op, FenceProxyAsyncOp):
                _after(op, FenceProxyAsyncOp())

    def _block(self, block: Block, pending: Pending) -> None:
        for op in list(block.ops):
            if not self.accesses.is_idle(op):
                self._op(op, pending)

    def _op(self, op: Operation, pending: Pending) -> None:
        if isinstance(op, WsOp):
            self._roles(op, pending)
        elif isinstance(op, ForOp) and runs_together(op):
            self._loop(op, pending)
        elif isinstance(op, IfOp) and not differs(op.condition):
            self._choice(op, pending)
        elif isinstance(op, WhileOp) and not leaves_apart(op):
            self._while(op, pending)
        elif op.regions:
            self._whole(op, pending)
        elif isinstance(op, BarOp) and op.mode.data == "arrive":
            self._signal(op, pending)  # its threads do not wait
        elif isinstance(op, (BarrierOp, BarOp)):
            if self._is_between_roles(op):
                self._signal(op, pending)
            self._fence_for_tma(op, pending)
            if nv_names.ROLE_BARRIER in op.attributes:
                self._synchronise(op)
                op.detach()
                op.erase()
            pending.synchronised()
            if self.role is None:
                self._all_synchronised()
        elif isinstance(op, SyncOp) and op.scope.data == "warp":
            pending.warps_synchronised()
        elif isinstance(op, FenceProxyAsyncOp):
            pending.fenced()
        elif isinstance(op, (CpAsyncWaitOp, LdsWaitOp)):
            pending.landed()
        elif isinstance(op, WgmmaCommitOp):
            pending.committed()
        elif isinstance(op, WgmmaWaitOp):
            pending.waited(op.count)
        elif isinstance(op, MBarrierArriveOp):
            self._signal(op, pending)
        else:
            self._access(op, self.accesses.of(op), pending)

    def _is_between_roles(self, op: BarrierOp | BarOp) -> bool:
        """Whether other threads than those of the role that is walked wait at a named barrier."""
        return (
            isinstance(op, BarOp) and self.role is not None and op.count.value.data != self.role[1]
        )

    def _signal(self, op: Operation, pending: Pending) -> None:
        """An arrival lets other threads, or asynchronous units, read what this thread wrote."""
        if isinstance(op.prev_op, FenceProxyAsyncOp):
            return
        unfenced = [location.buffer for location in pending.unfenced]
        if any(share_bytes(one, each) for one in unfenced for each in self.accesses.for_engines):
            _before(op, FenceProxyAsyncOp())
            pending.fenced()
        self._fence_for_tma(op, pending)

    def _fence_for_tma(self, op: Operation, pending: Pending) -> None:
        """Order accesses of threads before the TMA writes that the barrier or arrival allows."""
        accessed = [location.buffer for location in pending.unfenced | pending.unfenced_reads]
        if any(share_bytes(one, each) for one in accessed for each in self.accesses.by_tma):
            if not isinstance(op.prev_op, FenceProxyAsyncOp):
                _before(op, FenceProxyAsyncOp())
            pending.fenced()

    def _whole(self, op: Operation, pending: Pending) -> None:
        """What not all threads run: no barrier can be inside."""
        accesses = self.accesses.of(op)
        if self.role is None and any(isinstance(each, MBarrierWaitOp) for each in walk(op)):
            self._prepare(op, accesses, pending, is_role=True)
            self.by_roles.add(accesses)
            pending.unfenced |= self.by_roles.unfenced
        else:
            self._access(op, accesses, pending)
        for inner in list(walk(op)):
            if isinstance(inner, MBarrierArriveOp | BarOp):
                self._signal(inner, pending.copy())
            elif isinstance(inner, BarrierOp) and nv_names.ROLE_BARRIER in inner.attributes:
                # All threads of the role come there, as the tile level has found.
                self._synchronise(inner)
                inner.detach()
                inner.erase()

    def _access(self, op: Operation, accesses: list[SharedAccess], pending: Pending) -> None:
        if amd_names.CONTINUES not in op.attributes:
            self._prepare(op, accesses, pending)
        pending.add(accesses)
        if isinstance(op, WgmmaOp):
            pending.issued(accesses)

    def _prepare(
        self,
        op: Operation,
        accesses: list[SharedAccess],
        pending: Pending,
        *,
        is_role: bool = False,
    ) -> None:
        """Insert the barriers and fences that the accesses of `op` need before it."""
        by_roles = Pending() if is_role or self.role is not None else self.by_roles
        if pending.needs_fence(accesses):
            _before(op, FenceProxyAsyncOp())
            pending.fenced()
        needed = Order.ALL if by_roles.conflicts(accesses) else pending.needed(accesses)
        if needed is Order.WARP and self.has_whole_warps:
            _before(op, SyncOp("warp"))
            pending.warps_synchronised()
        elif needed is not Order.NONE:
            if self.role is None:
                self._fence_for_tma(op, pending)
            self._synchronise(op)
            pending.synchronised()
            if self.role is None or self.role[1] == self.threads:
                self._all_synchronised()

    def _loop(self, op: ForOp, pending: Pending) -> None:
        body = op.body.block
        # Accesses before the loop get one barrier before it, not one in each iteration.
        self._prepare(op, self.accesses.of(op), pending)
        before, roles = pending.copy(), self._of_roles()
        self._block(body, pending)
        # The end of an iteration may conflict with the beginning of the next.
        for _ in range(self._repeats(op)):
            self._shift(op, pending)
            self._block(body, pending)
        self._leave(op, pending)
        if not _has_iterations(op):
            pending.join(before)  # a loop with trip count 0 has no barrier
            self._join_roles(roles)

    def _repeats(self, loop: ForOp) -> int:
        """How many further iterations show all conflicts between iterations.

        Those of two versions may be as many iterations apart as there are versions.
        """
        if self.slots is None:
            return 1
        found = [
            access.slot.versions
            for op in walk(loop)
            for access in self.accesses.own(op)
            if access.slot is not None and self.slots.depends_on(access.slot, loop)
        ]
        return max(found, default=1)

    def _shift(self, loop: ForOp, pending: Pending) -> None:
        """Versions and elements that earlier iterations use, as seen from the next."""
        slots = self.slots

        def earlier(location: Location) -> Location:
            slot = location.slot
            if slot is not None and slots is not None:
                slot = slots.earlier(slot, loop)
            elements = location.elements
            if elements is not None:
                elements = elements.in_next_iteration(loop)
            return replace(location, slot=slot, elements=elements)

        self._change(earlier, pending)

    def _leave(self, loop: ForOp, pending: Pending) -> None:
        """After a loop it is not known what its last iteration accessed."""
        slots = self.slots

        def anywhere(location: Location) -> Location:
            slot = location.slot
            if slot is not None and slots is not None and slots.depends_on(slot, loop):
                slot = None
            elements = None if location.elements is None else location.elements.after(loop)
            return replace(location, slot=slot, elements=elements)

        self._change(anywhere, pending)

    def _change(self, change: Callable[[Location], Location], pending: Pending) -> None:
        """Change what is known of the threads that are walked, and of roles inside the loop."""
        others = (self.by_roles, *self.pending_of.values())
        for each in (pending, *(each for each in others if each is not pending)):
            each.become(each.changed(change))

    def _while(self, op: WhileOp, pending: Pending) -> None:
        self._prepare(op, self.accesses.of(op), pending)
        test, body = (region.block for region in op.regions)
        self._block(test, pending)
        passed_by, roles = pending.copy(), self._of_roles()
        for _ in range(2):  # the end of an iteration may conflict with the beginning of the next
            self._block(body, pending)
            self._block(test, pending)
        pending.join(passed_by)
        self._join_roles(roles)

    def _choice(self, op: IfOp, pending: Pending) -> None:
        other, before = pending.copy(), self._of_roles()
        self._block(op.then_region.block, pending)
        after = self._of_roles()
        self.by_roles, self.pending_of = before
        if op.else_region.blocks:
            self._block(op.else_region.block, other)
        pending.join(other)
        self._join_roles(after)

    def _roles(self, op: WsOp, pending: Pending) -> None:
        if pending.writes or pending.updates or pending.conflicts(self.accesses.of(op)):
            self._synchronise(op)
            pending.synchronised()
            self._all_synchronised()
        for role, region in zip(op.roles, op.bodies, strict=True):
            self.role = (self._barrier_id(role), role.num_threads)
            self.has_whole_warps = self._are_whole_warps(role.ranges)
            own = self.pending_of.setdefault(role.ranges, Pending())
            own.unfenced |= pending.own_unfenced | self._unfenced_by(role)
            self._block(region.block, own)
            self.role = None
            self.has_whole_warps = self._are_whole_warps(((0, self.threads),))
        self.by_roles.add(self.accesses.of(op))
        pending.written_by_others(self.by_roles.unfenced)

    # -- roles ---------------------------------------------------------------------------------

    def _are_whole_warps(self, ranges: _Ranges) -> bool:
        """Whether lanes of a warp may wait for each other: AMD's compiler has no such barrier."""
        if amd_chip_of(self.function) is not None:
            return False
        return all(edge % NVIDIA_WARP == 0 for each in ranges for edge in each)

    def _unfenced_by(self, role: Role) -> set[Location]:
        """What threads of a role wrote in others that they are part of, and did not fence."""
        found: set[Location] = set()
        for ranges, each in self.pending_of.items():
            if any(a < d and c < b for a, b in ranges for c, d in role.ranges):
                found |= each.unfenced
        return found

    def _all_synchronised(self) -> None:
        """All threads of the block have synchronised."""
        for each in (self.by_roles, *self.pending_of.values()):
            each.synchronised()

    def _of_roles(self) -> tuple[Pending, dict[_Ranges, Pending]]:
        """A copy of what is known of roles."""
        return self.by_roles.copy(), {key: each.copy() for key, each in self.pending_of.items()}

    def _join_roles(self, other: tuple[Pending, dict[_Ranges, Pending]]) -> None:
        self.by_roles.join(other[0])
        for key, each in other[1].items():
            self.pending_of.setdefault(key, Pending()).join(each)

    def _barrier_id(self, role: Role) -> int:
        """A named barrier for a role; the same threads share one where none is left."""
        if self.free_ids:
            self.ids[role.ranges] = self.free_ids.pop(0)
        return self.ids.get(role.ranges, _IDS - 1)

    def _synchronise(self, op: Operation) -> None:
        if not self.barriers and not isinstance(op, BarrierOp):
            return  # one that has to be named is replaced
        if self.role is None or self.role[1] == self.threads:
            _before(op, BarrierOp())
            return
        _before(op, BarOp("sync", *self.role))


def _has_iterations(op: ForOp) -> bool:
    """Whether a loop is known to run at least once."""
    low, high = constant_value(op.lower_bound), constant_value(op.upper_bound)
    if not isinstance(low, IntegerAttr) or not isinstance(high, IntegerAttr):
        return False
    return low.value.data < high.value.data


def _after(op: Operation, new: Operation) -> None:
    block = op.parent
    assert block is not None
    new.location = op.location
    block.insert_op_after(new, op)


def _before(op: Operation, new: Operation) -> None:
    block = op.parent
    assert block is not None
    new.location = op.location
    block.insert_op_before(new, op)
