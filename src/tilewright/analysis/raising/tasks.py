"""Tasks of a ``tlx`` kernel: their threads, and how many threads arrive at each barrier.

A task is run by whole warp groups of 128 threads, because registers move between warp groups only.
A barrier of ``tlx`` counts tasks that arrive, one of tiles counts threads:

    arrivals = count * threads of the tasks that arrive       or count, where bytes are expected

So all tasks that arrive at a barrier have the same number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from tilewright.analysis.raising.kinds import TASKS, is_data_tensor, is_elementwise
from tilewright.analysis.raising.refusals import CONTROL_FLOW, NO_COUNTERPART, Refusals
from tilewright.dialects.tlx import StorageAliasLocalAllocOp, StorageAliasSpecOp
from tilewright.dialects.tlx.attributes import UserLayout
from tilewright.dialects.tt import FuncOp, ReturnOp
from tilewright.dialects.ttg import (
    AsyncCopyGlobalToLocalOp,
    LocalAllocOp,
    MemDescIndexOp,
    MemDescTransOp,
    MemDescType,
    WarpSpecializeOp,
)
from tilewright.dialects.ttng import (
    ArriveBarrierOp,
    AsyncTMACopyGlobalToLocalOp,
    BarrierExpectOp,
    InitBarrierOp,
    NamedBarrierArriveOp,
    NamedBarrierWaitOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

WARP, GROUP = 32, 128
BYTE = 8
_MAX_ARRIVALS = 8
"""Arrivals of one op, each of them an instruction."""

Allocation = LocalAllocOp | StorageAliasLocalAllocOp


@dataclass(frozen=True)
class Task:
    """What some threads of a block run."""

    name: str
    region: Region = field(compare=False, repr=False)
    start: int
    threads: int
    requested: int
    """Threads that the user requested: fewer, where a warp group is not full."""
    registers: int = 0
    """As requested; 0 if nothing was."""

    def __str__(self) -> str:
        budget = f", {self.registers} registers" if self.registers else ""
        return f"task {self.name}: threads {self.start} to {self.start + self.threads}{budget}"


@dataclass(frozen=True)
class Tasks:
    """The tasks of a kernel, and its barriers."""

    tasks: tuple[Task, ...] = ()
    arrivals: dict[Operation, tuple[int, ...]] = field(
        default_factory=dict[Operation, tuple[int, ...]]
    )
    """The arrivals of a phase, for each barrier of an allocation of them."""
    threads: int = 0
    """Of the block."""
    shared_bytes: int = 0
    """What the buffers of the user take of shared memory, at most."""
    has_tasks: bool = False
    """Whether the kernel has constructs of ``tlx`` at all."""

    @property
    def barriers(self) -> int:
        return sum(len(counts) for counts in self.arrivals.values())


def root_of(value: SSAValue) -> Allocation | None:
    """The allocation that a buffer is a part of."""
    while isinstance(value, OpResult):
        op = value.op
        if isinstance(op, Allocation):
            return op
        if not isinstance(op, MemDescIndexOp | MemDescTransOp):
            return None
        value = op.src
    return None


def is_barrier(value: SSAValue) -> bool:
    """Whether a buffer holds barriers: a user's integers of 64 bits are initialised as such."""
    root = root_of(value)
    return root is not None and any(
        isinstance(user, InitBarrierOp) for user in _users(root.results[0])
    )


def integer(value: SSAValue) -> int | None:
    """The value of a constant."""
    found = constant_value(value)
    return found.value.data if isinstance(found, IntegerAttr) else None


def plan_tasks(function: FuncOp, num_warps: int, refusals: Refusals) -> Tasks:
    """The tasks of a kernel; reasons why they cannot be raised go to `refusals`."""
    return _Planner(function, num_warps, refusals).run()


def _users(value: SSAValue) -> Iterator[Operation]:
    """Ops that use a buffer or a part of it."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, MemDescIndexOp | MemDescTransOp):
            yield from _users(user.results[0])
        else:
            yield user


class _Planner:
    def __init__(self, function: FuncOp, num_warps: int, refusals: Refusals) -> None:
        self._function = function
        self._threads = num_warps * WARP
        self._refusals = refusals
        self._ops = list(walk(function))

    def run(self) -> Tasks:
        found = [op for op in self._ops if isinstance(op, WarpSpecializeOp)]
        tasks = self._tasks(found)
        if tasks:
            self._threads = sum(task.threads for task in tasks)
        self._check(tasks)
        arrivals: dict[Operation, tuple[int, ...]] = {}
        size = 0
        for op in self._ops:
            if not isinstance(op, Allocation):
                continue
            if is_barrier(op.results[0]):
                counts = self._arrivals(op, tasks)
                if counts is not None:
                    arrivals[op] = counts
            else:
                size += buffer_bytes(op)
        has_tasks = any(
            op.name in TASKS or isinstance(op, AsyncCopyGlobalToLocalOp) for op in self._ops
        )
        return Tasks(tasks, arrivals, self._threads, size, has_tasks)

    def _refuse(self, op: Operation, reason: str, help: str, code: str = NO_COUNTERPART) -> None:
        self._refusals.add(code, op, reason, help)

    # Threads.

    def _tasks(self, found: list[WarpSpecializeOp]) -> tuple[Task, ...]:
        if not found:
            return ()
        op = found[0]
        for other in found[1:]:
            self._refuse(
                other, "a second tlx.async_tasks", "merge both into one set of tasks", CONTROL_FLOW
            )
        if op.parent is not self._function.body.block or op.results:
            self._refuse(
                op,
                "tasks inside a loop or branch, or with results",
                "let the kernel consist of its tasks",
                CONTROL_FLOW,
            )
        self._check_after(op)
        registers_of = op.requested_registers
        budgets = [] if registers_of is None else list(registers_of.get_values())
        default = op.default_requested_registers
        counts = (self._threads, *(warps * WARP for warps in op.num_partition_warps))
        budgets = [0 if default is None else default.value.data, *budgets]
        budgets += [0] * (len(counts) - len(budgets))
        regions = [op.default_region, *op.partitions]
        tasks: list[Task] = []
        start = 0
        for index, (region, requested, registers) in enumerate(
            zip(regions, counts, budgets, strict=True)
        ):
            threads = -(-requested // GROUP) * GROUP
            # As the other tools name them.
            name = "default" if index == 0 else f"partition{index - 1}"
            tasks.append(Task(name, region, start, threads, requested, registers))
            start += threads
        return tuple(tasks)

    def _check_after(self, op: WarpSpecializeOp) -> None:
        """Nothing may happen after the tasks: they end with the kernel."""
        current = op.next_op
        while current is not None:
            if not isinstance(current, ReturnOp) and not is_elementwise(current):
                self._refuse(
                    current,
                    "code after the tasks of the kernel",
                    "move it into the default task",
                    CONTROL_FLOW,
                )
                return
            current = current.next_op

    def _task_of(self, op: Operation, tasks: tuple[Task, ...]) -> Task | None:
        return next((task for task in tasks if task.region.is_ancestor(op)), None)

    # Barriers.

    def _arrivals(self, op: Allocation, tasks: tuple[Task, ...]) -> tuple[int, ...] | None:
        type = op.results[0].type
        assert isinstance(type, MemDescType)
        counts = [0] * type.shape[0]
        threads: set[int] = set()
        expects = False
        for user in _users(op.results[0]):
            if isinstance(user, InitBarrierOp):
                at = _position(user.alloc)
                if at is None or user.parent is not self._function.body.block:
                    self._refuse(
                        user,
                        "a barrier that is initialised in a loop or branch",
                        "use tlx.alloc_barriers before the tasks",
                    )
                    return None
                counts[at] = user.count.value.data
            elif isinstance(user, ArriveBarrierOp):
                task = self._task_of(user, tasks)
                if user.per_thread is not None:
                    threads.add(1)
                else:
                    threads.add(self._threads if task is None else task.threads)
                self._check_arrival(user, task)
            elif isinstance(user, BarrierExpectOp):
                expects = True
        if (expects and threads) or len(threads) > 1 or 0 in counts:
            self._refuse(
                op,
                "a barrier at which tasks of different numbers of threads arrive, or both tasks "
                "and the bytes of copies",
                "use a barrier for each of them",
            )
            return None
        factor = next(iter(threads), 1)
        return tuple(count * factor for count in counts)

    def _check_arrival(self, op: ArriveBarrierOp, task: Task | None) -> None:
        is_partial = (
            op.per_thread is not None and task is not None and task.requested != task.threads
        )
        if is_partial or op.count.value.data > _MAX_ARRIVALS or op.is_multicast:
            self._refuse(
                op,
                "an arrival of each thread of a part of a warp group, of many, or in other CTAs",
                "let the task arrive once",
            )

    # What is refused.

    def _check(self, tasks: tuple[Task, ...]) -> None:
        for op in self._ops:
            for value in (*op.results, *_arguments(op)):
                if isinstance(value.type, MemDescType):
                    self._check_buffer(op, value)
            match op:
                case LocalAllocOp() if op.src is not None:
                    self._refuse(op, "a buffer allocated with contents", "use tlx.local_store")
                case MemDescTransOp():
                    self._check_trans(op)
                case StorageAliasSpecOp() if op.storage_kind != "smem":
                    self._refuse(op, "storage in tensor memory (tmem)", "use shared memory")
                case NamedBarrierArriveOp() | NamedBarrierWaitOp():
                    self._check_named(op, tasks)
                case AsyncTMACopyGlobalToLocalOp() if op.multicast_targets is not None:
                    self._refuse(op, "a multicast copy", "copy in each CTA")
                case AsyncCopyGlobalToLocalOp() if op.barrier is not None:
                    self._refuse(op, "a bulk copy of bytes", "use tlx.async_descriptor_load")
                case _:
                    pass

    def _check_buffer(self, op: Operation, value: SSAValue) -> None:
        type = value.type
        assert isinstance(type, MemDescType)
        if isinstance(type.encoding, UserLayout):
            self._refuse(
                op,
                f"a layout that the user made: '{type.encoding}'",
                "leave out layout=, layouts of tiles are inferred",
            )
        elif isinstance(value, BlockArgument) or op.name.startswith("scf."):
            self._refuse(
                op,
                "a buffer that is chosen by a branch or carried by a loop",
                "choose the index of the buffer instead",
                CONTROL_FLOW,
            )

    def _check_trans(self, op: MemDescTransOp) -> None:
        for use in op.result.uses:
            if not isinstance(use.operation, WarpGroupDotOp):
                self._refuse(
                    use.operation,
                    "a transposed buffer that is not an operand of a GEMM",
                    "transpose the operand of the GEMM only",
                )

    def _check_named(
        self, op: NamedBarrierArriveOp | NamedBarrierWaitOp, tasks: tuple[Task, ...]
    ) -> None:
        task = self._task_of(op, tasks)
        is_partial = task is not None and task.requested != task.threads
        if integer(op.bar) is None or integer(op.num_threads) is None or is_partial:
            self._refuse(
                op,
                "a named barrier whose id or thread count is computed, or of a task that is part "
                "of a warp group",
                "use constants, and tasks of four warps",
            )


def _arguments(op: Operation) -> Iterator[SSAValue]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _position(value: SSAValue) -> int | None:
    """The index of a barrier among those of its allocation."""
    owner = value.owner
    return integer(owner.index) if isinstance(owner, MemDescIndexOp) else None


def buffer_bytes(op: Allocation) -> int:
    """The size of a buffer, all of its versions."""
    type = op.results[0].type
    assert isinstance(type, MemDescType)
    return prod(type.shape) * bit_width(type.element_type) // BYTE


# GEMMs in flight.


def completing_waits(function: FuncOp) -> dict[Operation, Operation | None]:
    """The wait of its own block that completes each asynchronous GEMM; None if there is none."""
    found: dict[Operation, Operation | None] = {}
    for op in walk(function):
        if isinstance(op, WarpGroupDotOp) and op.is_async.value.data:
            found[op] = _completing_wait(op)
    return found


def _completing_wait(op: WarpGroupDotOp) -> Operation | None:
    after = 0
    current = op.next_op
    while current is not None:
        if isinstance(current, WarpGroupDotOp):
            after += 1
        elif isinstance(current, WarpGroupDotWaitOp) and current.pendings.value.data <= after:
            return current
        current = current.next_op
    return None


def captured_tensors(tasks: Tasks) -> Iterator[tuple[SSAValue, Task]]:
    """Tensors that a task uses and that are computed outside of it."""
    for task in tasks.tasks:
        for op in task.region.walk():
            for operand in op.operands:
                if is_data_tensor(operand) and not _is_inside(operand, task.region):
                    yield operand, task


def _is_inside(value: SSAValue, region: Region) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        return owner.parent is region or region.is_ancestor(owner)
    return region.is_ancestor(owner)
