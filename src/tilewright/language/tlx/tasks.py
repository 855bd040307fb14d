"""Tasks: different code for different warps, at the same time.

    with tlx.async_tasks():
        with tlx.async_task("default"):              the warps of the kernel
            ...
        with tlx.async_task(num_warps=1, registers=24):      warps of its own
            ...
        with tlx.async_task(num_warps=4, replicate=2):       twice, see async_task_replica_id()
            ...

All of it is one ``ttg.warp_specialize``. The default task sees the values around it; the others get
what they read as arguments: the variables of the kernel that any of them reads, sorted by name.
What a task assigns ends with it. Where compile-time conditions leave nothing but the default task,
its body is in the kernel as if there were no tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, UnitAttr, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.dialects.tt.base import ints_attr
from tilewright.dialects.ttg import WarpReturnOp, WarpSpecializeOp, WarpYieldOp
from tilewright.dialects.type_utils import is_tensor
from tilewright.frontend.builder import Builder, current, outermost
from tilewright.frontend.control_flow.regions import TracedRegion
from tilewright.frontend.merging import end_block, labels_of
from tilewright.frontend.values import Undefined, handles
from tilewright.ir.text.locations import name_location
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.options import current_options

if TYPE_CHECKING:
    from tilewright.frontend.control_flow.control import Control

_REGISTERS = 8
"""Registers are allocated in multiples of this."""


@dataclass(frozen=True)
class _Partition:
    """One region besides the default one."""

    region: Region
    num_warps: int
    num_regs: int | None
    start: int | None


@dataclass
class _Tasks:
    """The tasks of one `async_tasks`, while they are collected."""

    outside: Block
    default: Block | None = None
    default_regs: int | None = None
    partitions: list[_Partition] = field(default_factory=list[_Partition])
    ranges: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    reads: dict[str, Any] = field(default_factory=dict[str, Any])
    """Variables that partitions read, with what they hold outside."""


@dataclass(frozen=True)
class _Running:
    """The task being traced."""

    replica: int
    num_warps: int


@dataclass
class _Trace:
    """What is known of tasks during one trace."""

    tasks: list[_Tasks] = field(default_factory=list[_Tasks])
    running: list[_Running] = field(default_factory=list[_Running])


_traces: WeakKeyDictionary[Builder, _Trace] = WeakKeyDictionary()


def _trace() -> _Trace:
    return _traces.setdefault(outermost(), _Trace())


def replica_id() -> int:
    """The number of the copy of the task being traced."""
    running = _trace().running
    if not running:
        raise AssertionError(
            "async_task_replica_id must be called inside an async region where the stack must be "
            "non-empty"
        )
    return running[-1].replica


def num_warps_here() -> int:
    """How many warps execute what is being traced."""
    running = _trace().running
    return running[-1].num_warps if running else current_options().num_warps


class async_tasks(TracedRegion):
    """Tasks that run at the same time, one `async_task` each.

    exclusive: no other CTA shares the multiprocessor.
    no_ending_cluster_sync: CTAs of a cluster do not wait for each other at the end.
    mbarrier_try_wait_suspend_ns: how long a waiting thread may sleep.
    """

    def __init__(
        self,
        exclusive: bool = False,
        no_ending_cluster_sync: bool = False,
        mbarrier_try_wait_suspend_ns: int | None = None,
    ) -> None:
        self._flags = {
            "tlx.exclusive": bool(unwrap(exclusive)),
            "tlx.no_ending_cluster_sync": bool(unwrap(no_ending_cluster_sync)),
        }
        self._suspend_ns = unwrap(mbarrier_try_wait_suspend_ns)

    @override
    def traces(self, control: Control, before: Mapping[str, Any]) -> Iterator[object]:
        builder, trace = current(), _trace()
        location = builder.location()
        tasks = _Tasks(builder.block)
        between = Block()
        trace.tasks.append(tasks)
        builder.block = between
        reads, control.reads = control.reads, {}
        yield self
        control.reads = reads
        builder.block = tasks.outside
        trace.tasks.pop()
        if between.first_op is not None:
            raise AssertionError(
                "Statements inside async_tasks() must be `with tlx.async_task(...)` blocks or "
                "constexpr if-guards around them"
            )
        tasks.reads.update({name: before[name] for name in tasks.reads if name in before})
        self._emit(builder, tasks, location)

    def _emit(self, builder: Builder, tasks: _Tasks, location: LocationAttr) -> None:
        if tasks.default is None:
            raise AssertionError("Default task must be one and only one")
        if not tasks.partitions:
            for op in list(tasks.default.ops):
                op.detach()
                builder.block.add_op(op)
            return
        end_block(tasks.default, WarpYieldOp(), location)
        names = _captured_names(tasks)
        captures = [handle for name in names for handle in handles(tasks.reads[name])]
        labels = [label for name in names for label in labels_of(name, tasks.reads[name])]
        captures, labels = _with_unnamed(captures, labels, tasks)
        for partition in tasks.partitions:
            _take_as_arguments(partition.region, captures, labels, location)
            end_block(partition.region.blocks[0], WarpReturnOp(), location)
        op = WarpSpecializeOp(
            captures,
            Region(tasks.default),
            [partition.region for partition in tasks.partitions],
            [partition.num_warps for partition in tasks.partitions],
            properties=_properties(tasks),
        )
        op.attributes.update({name: UnitAttr() for name, is_set in self._flags.items() if is_set})
        if self._suspend_ns is not None:
            name = "tlx.mbarrier_try_wait_suspend_ns"
            op.attributes[name] = IntegerAttr(self._suspend_ns, i32)
        op.location = location
        builder.insert(op)


def _properties(tasks: _Tasks) -> dict[str, Attribute | None]:
    """Registers and first warps, which all partitions have or none."""
    registers = [each.num_regs for each in tasks.partitions if each.num_regs]
    starts = [each.start for each in tasks.partitions if each.start is not None]
    count = len(tasks.partitions)
    if len(registers) not in (0, count):
        raise AssertionError("Registers are set for either ALL or NONE of non-default tasks")
    if len(starts) not in (0, count):
        raise AssertionError(
            "warp_group_start_id must be set for either ALL or NONE of non-default tasks"
        )
    if starts:
        _check_ranges(tasks.ranges)
    default = tasks.default_regs
    return {
        "requestedRegisters": ints_attr(registers) if registers else None,
        "warpGroupStartIds": ints_attr(starts) if starts else None,
        "defaultRequestedRegisters": None if default is None else IntegerAttr(default, i32),
    }


def _check_ranges(ranges: Sequence[tuple[int, int]]) -> None:
    """No two tasks, and no task and the default one, use the same warp."""
    for index, (start, _) in enumerate(ranges):
        if start < 0:
            raise AssertionError(f"warp_group_start_id[{index}] = {start} must be non-negative")
    last = current_options().num_warps
    for index, (start, end) in enumerate(ranges):
        if start < last:
            raise AssertionError(
                f"Overlapping warp ranges: task {index} uses warps [{start}, {end}) which overlaps "
                f"with default region warps [0, {last})"
            )
    for index, (start, end) in enumerate(ranges):
        for other, (begin, stop) in enumerate(ranges[index + 1 :], index + 1):
            if start < stop and begin < end:
                raise AssertionError(
                    f"Overlapping warp ranges: task {index} uses warps [{start}, {end}) and task "
                    f"{other} uses warps [{begin}, {stop})"
                )


# -- captures ---------------------------------------------------------------------------------


def _captured_names(tasks: _Tasks) -> list[str]:
    """Variables that partitions read and that have values outside, by name."""
    used = _outside_values(tasks)
    names: list[str] = []
    for name in sorted(tasks.reads):
        held = [] if isinstance(tasks.reads[name], Undefined) else handles(tasks.reads[name])
        if not held:
            continue
        if any(is_tensor(handle.type) for handle in held):
            # A name that a task gives a value of its own may be one of a tensor outside.
            if used.keys().isdisjoint(held):
                continue
            raise AssertionError(
                "WarpSpecializeOp should not capture RankedTensorType. Try moving tensor "
                f"computation into specific async task. The tensor is {name}"
            )
        names.append(name)
    return names


def _outside_values(tasks: _Tasks) -> dict[SSAValue, None]:
    """Values that partitions use and do not make, in the order of their use."""
    found: dict[SSAValue, None] = {}
    for partition in tasks.partitions:
        for op in partition.region.walk():
            for operand in op.operands:
                if not _is_inside(operand, partition.region):
                    found[operand] = None
    return found


def _is_inside(value: SSAValue, region: Region) -> bool:
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        if block.parent is region:
            return True
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return False


def _with_unnamed(
    captures: list[SSAValue], labels: list[str], tasks: _Tasks
) -> tuple[list[SSAValue], list[str]]:
    """Captures, and after them what partitions use that no variable holds."""
    known = set(captures)
    unnamed = [value for value in _outside_values(tasks) if value not in known]
    for value in unnamed:
        if is_tensor(value.type):
            raise AssertionError(
                "WarpSpecializeOp should not capture RankedTensorType. Try moving tensor "
                "computation into specific async task."
            )
    extra = [f"capture{index}" for index, _ in enumerate(unnamed)]
    return [*captures, *unnamed], [*labels, *extra]


def _take_as_arguments(
    region: Region, captures: Sequence[SSAValue], labels: Sequence[str], location: LocationAttr
) -> None:
    """Inside `region`, an argument stands for every capture."""
    block = region.blocks[0]
    for capture, label in zip(captures, labels, strict=True):
        argument = block.insert_arg(capture.type, len(block.args))
        argument.location = name_location(label, location)
        uses = [use for use in capture.uses if _is_in(use.operation.parent, region)]
        for use in uses:
            use.operation.operands[use.index] = argument


def _is_in(block: Block | None, region: Region) -> bool:
    while block is not None:
        if block.parent is region:
            return True
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return False


# -- one task ---------------------------------------------------------------------------------


class async_task(TracedRegion):
    """One task: ``"default"``, or one with `num_warps` warps of its own.

    num_regs (or registers): registers per thread, a multiple of 8.
    replicate: how many copies of the task run; copies of the default task are tasks of their own
        with as many warps as the kernel.
    warp_group_start_id: the first warp, where the user assigns warps by hand.
    """

    def __init__(
        self,
        kind: str | None = None,
        *,
        num_warps: int | None = None,
        num_regs: int | None = None,
        registers: int | None = None,
        replicate: int = 1,
        warp_group_start_id: int | None = None,
    ) -> None:
        name = unwrap(kind)
        if name not in (None, "default"):
            raise ValueError(f'async_task takes "default" or num_warps=..., got {name!r}')
        self.is_default = name == "default"
        self.num_warps = unwrap(num_warps)
        self.num_regs = unwrap(num_regs if num_regs is not None else registers)
        self.replicate = unwrap(replicate)
        self.warp_group_start_id = unwrap(warp_group_start_id)
        self._check()

    def _check(self) -> None:
        if self.replicate is None or self.replicate < 1:  # pyright: ignore[reportUnnecessaryComparison]
            raise AssertionError(f"Replicate must be at least 1, got {self.replicate}")
        if not self.is_default and self.num_warps is None:
            raise ValueError("async_task needs num_warps, unless it is async_task('default')")
        if self.num_regs is not None and self.num_regs % _REGISTERS:
            raise AssertionError(f"num_regs must be divisible by {_REGISTERS}, got {self.num_regs}")

    @override
    def traces(self, control: Control, before: Mapping[str, Any]) -> Iterator[object]:
        builder, trace = current(), _trace()
        if not trace.tasks:
            raise ValueError(
                "async_task must be inside `with tlx.async_tasks():`, which runs its tasks "
                "concurrently"
            )
        tasks = trace.tasks[-1]
        between = builder.block
        if self.is_default and tasks.default is not None:
            raise AssertionError("Default task must be one and only one")
        self._add_range(tasks)
        for replica in range(self.replicate):
            block = Block()
            is_default = self.is_default and replica == 0
            builder.block = block
            trace.running.append(_Running(replica, self._warps))
            reads, control.reads = control.reads, {}
            yield self
            if not is_default:
                for name, value in control.reads.items():
                    tasks.reads.setdefault(name, before.get(name, value))
            control.reads = reads
            trace.running.pop()
            if is_default:
                tasks.default, tasks.default_regs = block, self.num_regs
            else:
                tasks.partitions.append(self._partition(block, replica))
        builder.block = between

    @property
    def _warps(self) -> int:
        return current_options().num_warps if self.is_default else self.num_warps or 1

    def _partition(self, block: Block, replica: int) -> _Partition:
        start = self.warp_group_start_id
        if start is not None and not self.is_default:
            start += replica * self._warps
        return _Partition(Region(block), self._warps, self.num_regs, start)

    def _add_range(self, tasks: _Tasks) -> None:
        start = self.warp_group_start_id
        if not self.is_default and start is not None:
            tasks.ranges.append((start, start + self._warps * self.replicate))
