"""`insert-thread-syncs`: threads meet before one reads what another wrote, or writes over it.

A walk over the kernel keeps what shared memory was read and written since threads last met; an op
that conflicts gets a barrier in front of it (`specs/passes.md` T4). A loop body is walked twice, so
that the end of one turn meets the beginning of the next. Code that only some threads run is taken
as one op, and the barrier comes in front of it. In a role it is a named barrier of its threads.

The same holds for tensors that threads of a kernel read and write, by plain accesses.

What the copy engine writes is ordered by its own barriers and not looked at here; what threads
wrote and an engine or a tensor core reads gets a fence, too, which each writer passes before the
barrier (`specs/passes.md` G12), or before it arrives at an mbarrier that tells another role.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    AsyncMoveOp,
    BarOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    LdMatrixOp,
    MatrixOp,
    MBarrierArriveOp,
    MoveOp,
    StMatrixOp,
    TmaStoreOp,
    WgmmaOp,
)
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tile import AllocOp, AtomicOp, KernelOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.passes.gpu.place_shared_memory import bytes_of

_FIRST_ID = 3
_IDS = 16


@dataclass(frozen=True)
class Touch:
    """One access to a shared buffer."""

    buffer: SSAValue
    is_write: bool
    by_engine: bool = False
    is_started: bool = False
    """Whether the write goes on after the op."""


def share_bytes(one: SSAValue, other: SSAValue) -> bool:
    """Whether two shared buffers lie, in part, in the same bytes."""
    if one is other:
        return True
    if Space.GLOBAL in (space_of(one.type), space_of(other.type)):
        return False  # tensors do not overlap
    first, second = _span(one), _span(other)
    return first is None or second is None or (first[0] < second[1] and second[0] < first[1])


def _span(buffer: SSAValue) -> tuple[int, int] | None:
    owner = buffer.owner
    if not isinstance(owner, AllocOp) or owner.offset_bytes is None:
        return None
    return owner.offset_bytes, owner.offset_bytes + bytes_of(owner)


@dataclass
class Pending:
    """What happened since threads last met."""

    reads: set[SSAValue] = field(default_factory=set[SSAValue])
    writes: set[SSAValue] = field(default_factory=set[SSAValue])
    unfenced: set[SSAValue] = field(default_factory=set[SSAValue])
    """Written by threads, and not yet made visible to engines."""
    started: set[SSAValue] = field(default_factory=set[SSAValue])
    """Written by asynchronous moves of threads that nobody has waited for."""

    def conflicts(self, touches: Iterable[Touch]) -> bool:
        return any(
            any(share_bytes(each.buffer, other) for other in self._against(each))
            for each in touches
        )

    def _against(self, touch: Touch) -> set[SSAValue]:
        return self.writes | self.reads if touch.is_write else self.writes

    def needs_fence(self, touches: Iterable[Touch]) -> bool:
        return any(
            each.by_engine and any(share_bytes(each.buffer, other) for other in self.unfenced)
            for each in touches
        )

    def add(self, touches: Iterable[Touch]) -> None:
        for each in touches:
            if each.is_write:
                self.writes.add(each.buffer)
                self.unfenced.add(each.buffer)
                if each.is_started:
                    self.started.add(each.buffer)
            else:
                self.reads.add(each.buffer)

    def landed(self) -> None:
        """A thread knows that its own moves are done; the others have to meet it to know."""
        self.writes |= self.started
        self.unfenced |= self.started

    def met(self) -> None:
        self.reads.clear()
        self.writes.clear()

    def copy(self) -> Pending:
        return Pending(set(self.reads), set(self.writes), set(self.unfenced), set(self.started))

    def join(self, other: Pending) -> None:
        self.reads |= other.reads
        self.writes |= other.writes
        self.unfenced |= other.unfenced
        self.started |= other.started


def touches_of(op: Operation) -> list[Touch]:
    """What an op by itself does to shared memory."""
    found: list[Touch] = []
    for value, is_write, by_engine in _operands(op):
        space = space_of(value.type)
        if space is not None and space.is_shared:
            is_started = is_write and isinstance(op, AsyncMoveOp)
            found.append(Touch(base_of(value), is_write, by_engine, is_started))
    return found


def tensors_in_use(function: FuncOp) -> set[SSAValue]:
    """Tensors that threads read and write; atomics are in order by themselves."""
    found: set[SSAValue] = set()
    for argument in function.body.block.args:
        if space_of(argument.type) is not Space.GLOBAL:
            continue
        users = [use.operation for use in argument.uses]
        writes = [
            is_write
            for op in users
            for value, is_write, _ in _operands(op)
            if value is argument and not isinstance(op, AtomicOp)
        ]
        if len(set(writes)) == 2 and not any(isinstance(op, AtomicOp) for op in users):
            found.add(argument)
    return found


def _operands(op: Operation) -> list[tuple[SSAValue, bool, bool]]:
    if isinstance(op, LoadOp):
        return [(op.memref, False, False)]
    if isinstance(op, StoreOp):
        return [(op.memref, True, False)]
    if isinstance(op, AtomicOp):
        return [(op.dst, True, False)]
    if isinstance(op, (MoveOp, AsyncMoveOp, LdMatrixOp, StMatrixOp)):
        return [(op.src, False, False), (op.dst, True, False)]
    if isinstance(op, WgmmaOp):
        return [
            (each.owner.buffer, False, True)
            for each in (op.a, op.b)
            if isinstance(each.owner, MatrixOp)
        ]
    if isinstance(op, TmaStoreOp):
        return [(op.src, False, True)]
    return []


@dataclass(frozen=True)
class InsertThreadSyncs(Pass):
    """Insert barriers between conflicting accesses to shared memory."""

    name = "insert-thread-syncs"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and nv_names.KERNEL in function.attributes:
                _Walk(function, engine).run()


class _Walk:
    """One kernel."""

    def __init__(self, function: FuncOp, engine: DiagnosticEngine) -> None:
        self.function = function
        self.engine = engine
        threads = function.attributes.get(nv_names.THREADS)
        self.threads = threads.value.data if isinstance(threads, IntegerAttr) else 128
        self.role: tuple[int, int] | None = None
        """The barrier of the role that is being walked: its number, and its threads."""
        self.next_id = _FIRST_ID
        self.tensors = tensors_in_use(function)
        self.by_roles = Pending()
        """What roles did since all threads last met. Among themselves they have mbarriers."""
        self.for_engines = {
            each.buffer for op in function.walk() for each in touches_of(op) if each.by_engine
        }

    def _touches(self, op: Operation) -> list[Touch]:
        """What an op and those in it do to memory that threads share."""
        found: list[Touch] = []
        for inner in op.walk():
            found += touches_of(inner)
            for value, is_write, _ in _operands(inner):
                if value in self.tensors:
                    found.append(Touch(value, is_write))
        return found

    def run(self) -> None:
        self._block(self.function.body.block, Pending())

    def _block(self, block: Block, pending: Pending) -> None:
        for op in list(block.ops):
            self._op(op, pending)

    def _op(self, op: Operation, pending: Pending) -> None:
        if isinstance(op, WsOp):
            self._roles(op, pending)
        elif isinstance(op, ForOp) and _is_together(op):
            self._loop(op, pending)
        elif isinstance(op, IfOp) and not differs(op.condition):
            self._choice(op, pending)
        elif isinstance(op, WhileOp) and not _leaves_apart(op):
            self._while(op, pending)
        elif op.regions:
            self._whole(op, pending)
        elif isinstance(op, (BarrierOp, BarOp)):
            pending.met()
            if self.role is None:
                self.by_roles.met()
        elif isinstance(op, FenceProxyAsyncOp):
            pending.unfenced.clear()
        elif isinstance(op, CpAsyncWaitOp):
            pending.landed()
        elif isinstance(op, MBarrierArriveOp):
            self._tell(op, pending)
        else:
            self._touch(op, self._touches(op), pending)

    def _tell(self, op: Operation, pending: Pending) -> None:
        """An arrival lets others read what this thread wrote, by engines perhaps."""
        if isinstance(op.prev_op, FenceProxyAsyncOp):
            return
        if any(share_bytes(one, each) for one in pending.unfenced for each in self.for_engines):
            _before(op, FenceProxyAsyncOp())
            pending.unfenced.clear()

    def _whole(self, op: Operation, pending: Pending) -> None:
        """What not all threads run: no barrier can be inside."""
        self._touch(op, self._touches(op), pending)
        for inner in list(op.walk()):
            if isinstance(inner, MBarrierArriveOp):
                self._tell(inner, pending.copy())

    def _touch(self, op: Operation, touches: list[Touch], pending: Pending) -> None:
        self._prepare(op, touches, pending)
        pending.add(touches)

    def _prepare(self, op: Operation, touches: list[Touch], pending: Pending) -> None:
        """Put in front of `op` what its accesses need."""
        if pending.needs_fence(touches):
            _before(op, FenceProxyAsyncOp())
            pending.unfenced.clear()
        if pending.conflicts(touches) or (self.role is None and self.by_roles.conflicts(touches)):
            self._meet(op)
            pending.met()
            self.by_roles.met()

    def _loop(self, op: ForOp, pending: Pending) -> None:
        body = op.body.block
        # What was done before the loop is met before it, once, not in each of its turns.
        self._prepare(op, self._touches(op), pending)
        before = pending.copy()
        self._block(body, pending)
        # What the end of a turn leaves behind meets the beginning of the next.
        self._block(body, pending)
        if not _has_a_turn(op):
            pending.join(before)  # nobody met in a loop that was passed by

    def _while(self, op: WhileOp, pending: Pending) -> None:
        self._prepare(op, self._touches(op), pending)
        test, body = (region.block for region in op.regions)
        self._block(test, pending)
        passed_by = pending.copy()
        for _ in range(2):  # the end of a turn meets the beginning of the next
            self._block(body, pending)
            self._block(test, pending)
        pending.join(passed_by)

    def _choice(self, op: IfOp, pending: Pending) -> None:
        other = pending.copy()
        self._block(op.then_region.block, pending)
        if op.else_region.blocks:
            self._block(op.else_region.block, other)
        pending.join(other)

    def _roles(self, op: WsOp, pending: Pending) -> None:
        if pending.writes:
            _before(op, BarrierOp())
            pending.met()
        for role, region in zip(op.roles, op.bodies, strict=True):
            self.role = (self.next_id, role.num_threads)
            self.next_id += 1
            self._block(region.block, Pending(unfenced=set(pending.unfenced)))
            self.role = None
        self.by_roles.add(self._touches(op))
        pending.unfenced |= self.by_roles.unfenced

    def _meet(self, op: Operation) -> None:
        if self.role is None or self.role[1] == self.threads:
            _before(op, BarrierOp())
            return
        _before(op, BarOp("sync", *self.role))


def _is_together(op: ForOp) -> bool:
    """Whether all threads run a loop as often, one turn after the other.

    The turns of a thread's share of a parallel loop touch different elements: they are one op.
    """
    if nv_names.SHARE in op.attributes:
        return False
    return not differs(op.lower_bound) and not differs(op.upper_bound)


def _has_a_turn(op: ForOp) -> bool:
    """Whether a loop is known to run at least once."""
    low, high = constant_value(op.lower_bound), constant_value(op.upper_bound)
    if not isinstance(low, IntegerAttr) or not isinstance(high, IntegerAttr):
        return False
    return low.value.data < high.value.data


def _leaves_apart(op: WhileOp) -> bool:
    """Whether threads may leave a loop after different numbers of turns."""
    end = op.regions[0].block.last_op
    return end is None or differs(end.operands[0])


def comes_together(op: Operation) -> bool:
    """Whether all threads of a block or of a role come to `op`, as far as can be told."""
    current = op.parent_op()
    while current is not None and not isinstance(current, WsOp | FuncOp):
        if isinstance(current, IfOp) and differs(current.condition):
            return False
        if isinstance(current, ForOp) and not _is_together(current):
            return False
        if isinstance(current, WhileOp) and _leaves_apart(current):
            return False
        current = current.parent_op()
    return True


def _before(op: Operation, new: Operation) -> None:
    block = op.parent
    assert block is not None
    new.location = op.location
    block.insert_op_before(new, op)


def differs(value: SSAValue) -> bool:
    """Whether a value may differ between the threads of a block."""
    return _Differences().of(value)


class _Differences:
    """Follows values to where threads may get different ones."""

    def __init__(self) -> None:
        self._values: dict[SSAValue, bool] = {}
        self._cells: dict[SSAValue, bool] = {}

    def of(self, value: SSAValue) -> bool:
        found = self._values.get(value)
        if found is None:
            self._values[value] = False  # on a cycle nothing new comes in
            found = self._values[value] = self._computed(value)
        return found

    def _computed(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, Block):
            return self._argument(value, owner)
        if owner.name in _OWN:
            return True
        if isinstance(owner, LoadOp):
            return self._loaded(owner)
        if isinstance(owner, IfOp):
            return self._chosen(owner, value)
        if owner.regions:
            return True
        return any(self.of(each) for each in owner.operands)

    def _chosen(self, op: IfOp, value: SSAValue) -> bool:
        """What a branch gives goes with its condition, and with what either side yields."""
        number = next(n for n, each in enumerate(op.results) if each is value)
        ends = [region.block.last_op for region in op.regions if region.blocks]
        given = [end.operands[number] for end in ends if end is not None]
        return self.of(op.condition) or any(self.of(each) for each in given)

    def _argument(self, value: SSAValue, block: Block) -> bool:
        """A loop's variable goes with its bounds; what a loop carries may be anything."""
        loop = block.parent_op()
        if isinstance(loop, ForOp):
            if value is not block.args[0]:
                return True
            return self.of(loop.lower_bound) or self.of(loop.upper_bound) or self.of(loop.step)
        return not isinstance(loop, FuncOp | KernelOp)

    def _loaded(self, op: LoadOp) -> bool:
        space = space_of(op.memref.type)
        if any(self.of(each) for each in op.indices):
            return True
        if space is not None and (space is Space.GLOBAL or space.is_shared):
            return False  # threads meet before anybody writes there
        return space is None or not space.is_per_thread or self._cell(base_of(op.memref))

    def _cell(self, buffer: SSAValue) -> bool:
        """Whether threads may keep different numbers in a variable of their own."""
        found = self._cells.get(buffer)
        if found is None:
            self._cells[buffer] = False
            found = self._cells[buffer] = any(self._written(each.operation) for each in buffer.uses)
        return found

    def _written(self, op: Operation) -> bool:
        if isinstance(op, LoadOp):
            return False
        if not isinstance(op, StoreOp):
            return True
        return self.of(op.value) or any(map(self.of, op.indices)) or self._is_apart(op)

    def _is_apart(self, op: Operation) -> bool:
        """Whether only some threads come to `op`."""
        current = op.parent_op()
        while current is not None and not isinstance(current, WsOp | FuncOp):
            if isinstance(current, IfOp) and self.of(current.condition):
                return True
            if isinstance(current, ForOp) and (
                self.of(current.lower_bound) or self.of(current.upper_bound)
            ):
                return True
            if isinstance(current, WhileOp):
                end = current.regions[0].block.last_op
                if end is None or self.of(end.operands[0]):
                    return True
            current = current.parent_op()
        return False


_OWN = frozenset(
    ("gpu.thread_id", "nv.elect", "tile.shuffle", "tile.atomic", "tile.vote", "tile.warp_reduce")
)
"""Ops whose result is each thread's own."""
