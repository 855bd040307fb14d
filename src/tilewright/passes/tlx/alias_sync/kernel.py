"""What is known of a kernel before it is followed.

Which ops the question is about (`matters`: those on buffers and barriers, and what contains them),
what allocations are called, which ops could signal which barrier, how deep rings are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.ordering import PossibleSignal
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.dialects.tt.functions import CallOp, FuncOp
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.ttng.barriers import ArriveBarrierOp, InitBarrierOp
from tilewright.dialects.ttng.signals import signalled
from tilewright.dialects.ttng.tcgen05 import TCGen5CommitOp, TCGen5MMAOp, TCGen5MMAScaledOp
from tilewright.dialects.ttng.tma import AsyncTMACopyGlobalToLocalOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.traversal import children, walk
from tilewright.passes.tlx.alias_sync.views import name_of

MAX_CLUSTER = 16
"""CTAs of a cluster on Hopper and Blackwell, beyond the portable 8."""
_DEFAULT_WARPS = 4
_CLUSTER = ("ttg.cluster-dim-x", "ttg.cluster-dim-y", "ttg.cluster-dim-z")
_NO_ENDING_SYNC = "tlx.no_ending_cluster_sync"
_USER_SYNC = "tlx.user_post_ws_sync"
_VIEWS = ("ttg.memdesc_", "tlx.", "ttng.map_to_remote", "ttng.tmem_subslice")
_SYNCHRONISES = frozenset(
    (
        "ttg.async_commit_group",
        "ttg.async_wait",
        "ttng.arrive_barrier_named",
        "ttng.async_tma_store_token_wait",
        "ttng.async_tma_store_wait",
        "ttng.cluster_arrive",
        "ttng.cluster_barrier",
        "ttng.cluster_wait",
        "ttng.fence",
        "ttng.fence_async_shared",
        "ttng.fence_mbarrier_init_release_cluster",
        "ttng.wait_barrier_named",
        "ttng.warp_group_dot_wait",
    )
)
"""Ops that order accesses and need have no buffer among their operands."""
_REQUESTS_WORK = "ttng.async_clc_try_cancel"
"""Every CTA of a cluster gets the response, of which there may be one."""
_REACHES_OUT = frozenset(
    (
        "ttng.map_to_remote_buffer",
        _REQUESTS_WORK,
        "ttg.remote_shmem_store",
        "ttg.async_remote_shmem_store",
        "ttg.async_remote_shmem_copy",
    )
)


class NotAnalysed(Exception):
    """The kernel cannot be followed at an op."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


@dataclass
class OpPositions:
    """Numbers for places of the source, as the checker wants them: one per line and column."""

    ids: dict[str, int] = field(default_factory=dict[str, int])
    locations: list[Attribute] = field(default_factory=list[Attribute])

    def of(self, op: Operation) -> int:
        key = str(op.location)
        if key not in self.ids:
            self.ids[key] = len(self.locations)
            self.locations.append(op.location)
        return self.ids[key]


class Kernel:
    """A function of a module, and what it calls."""

    def __init__(self, module: ModuleOp, function: FuncOp, cluster_size: int = 0) -> None:
        self.function = function
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self.reachable = _reachable(function, self.functions)
        self.ops = [op for each in self.reachable for op in walk(each)]
        self.positions = OpPositions()
        self.names = _allocation_names(self.ops)
        self.matters = _that_matter(self.ops, self.functions)
        self.num_warps = _integer(module, "ttg.num-warps") or _DEFAULT_WARPS
        self.works_in_pairs = any(_is_pair(op) for op in self.ops)
        self.reaches_out = any(_reaches_out(op) for op in self.ops)
        self.cluster_size = cluster_size or self._cluster_size(module)
        self.ends_together = self.reaches_out and not (
            _USER_SYNC in module.attributes
            or any(_NO_ENDING_SYNC in op.attributes for op in self.ops)
        )
        self.signals = self._signals()

    def _cluster_size(self, module: ModuleOp) -> int:
        """As the module specifies; otherwise the minimum for which every op has a partner."""
        declared = prod(_integer(module, name) or 1 for name in _CLUSTER)
        needs_others = any(_reaches_out(op) and op.name != _REQUESTS_WORK for op in self.ops)
        return declared if declared > 1 else 2 if needs_others else 1

    @property
    def depth(self) -> int:
        """Slots of the longest ring."""
        types = (op.src.type for op in self.ops if isinstance(op, MemDescIndexOp))
        return max((t.shape[0] for t in types if isinstance(t, MemDescType)), default=1)

    def is_relevant(self) -> bool:
        return any(isinstance(op, LocalAllocOp | TMEMAllocOp) for op in self.ops)

    def last_init(self) -> Operation | None:
        """The op of the entry block after which CTAs synchronise, barriers being initialised."""
        if not self.reaches_out:
            return None
        found = [
            op
            for op in self.function.body.blocks[0].ops
            if any(isinstance(each, InitBarrierOp) for each in walk(op))
        ]
        return found[-1] if found else None

    def levels(self, op: Operation) -> int:
        """How deep the loops that matter are nested in an op, itself included."""
        inner = max((self.levels(each) for each in children(op) if each in self.matters), default=0)
        return inner + isinstance(op, ForOp)

    def possible(self, name: str) -> Sequence[PossibleSignal]:
        return self.signals.get(name, ())

    def _signals(self) -> dict[str, list[PossibleSignal]]:
        found: dict[str, list[PossibleSignal]] = {}
        for op in self.ops:
            for barrier in signalled(op):
                owner = source_of(barrier).owner
                named = self.names.get(owner) if isinstance(owner, Operation) else None
                if named is not None:
                    signal = PossibleSignal(task_of(op), self.positions.of(op), op.name)
                    found.setdefault(named[1], []).append(signal)
        return found


def kernels_of(module: ModuleOp) -> list[FuncOp]:
    """Functions with a body that are never called."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]
    called = {
        op.callee.root_reference.data
        for each in functions
        for op in walk(each)
        if isinstance(op, CallOp)
    }
    return [each for each in functions if each.sym_name.data not in called]


def _reachable(function: FuncOp, functions: dict[str, FuncOp]) -> list[FuncOp]:
    found = [function]
    for each in found:
        for op in walk(each):
            if isinstance(op, CallOp):
                callee = functions.get(op.callee.root_reference.data)
                if callee is not None and callee not in found:
                    found.append(callee)
    return found


def _integer(module: ModuleOp, name: str) -> int | None:
    found = module.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else None


def _allocation_names(ops: Iterable[Operation]) -> dict[Operation, tuple[int, str]]:
    """Numbers and names of allocations and of buffers in them, each name once."""
    found: dict[Operation, tuple[int, str]] = {}
    taken: set[str] = set()
    for op in ops:
        if not isinstance(op, LocalAllocOp | TMEMAllocOp | PlacedAliasOp):
            continue
        base = name = name_of(op) or f"buffer{len(found)}"
        index = 1
        while name in taken:
            name, index = f"{base}_{index}", index + 1
        taken.add(name)
        found[op] = (len(found), name)
    return found


def _that_matter(ops: Iterable[Operation], functions: dict[str, FuncOp]) -> set[Operation]:
    """Ops on buffers and barriers, calls of functions that have any, and all around them."""
    found: set[Operation] = set()
    pending = [op for op in ops if accesses_buffer(op)]
    while pending:
        op = pending.pop()
        if op in found:
            continue
        found.add(op)
        parent = op.parent_op()
        if parent is not None:
            pending.append(parent)
        if isinstance(op, FuncOp):
            name = op.sym_name.data
            callers = (each for f in functions.values() for each in walk(f))
            pending.extend(
                each
                for each in callers
                if isinstance(each, CallOp) and each.callee.root_reference.data == name
            )
    return found


def accesses_buffer(op: Operation) -> bool:
    """Whether an op uses a buffer, or orders uses."""
    return op.name in _SYNCHRONISES or any(isinstance(v.type, MemDescType) for v in op.operands)


def _is_pair(op: Operation) -> bool:
    return isinstance(op, TCGen5MMAOp | TCGen5MMAScaledOp) and op.two_ctas is not None


def _reaches_out(op: Operation) -> bool:
    """Whether an op accesses another CTA."""
    if isinstance(op, AsyncTMACopyGlobalToLocalOp):
        return op.multicast_targets is not None
    if isinstance(op, ArriveBarrierOp):
        return op.is_multicast
    if isinstance(op, TCGen5MMAOp | TCGen5MMAScaledOp | TCGen5CommitOp):
        return op.two_ctas is not None
    return op.name in _REACHES_OUT


def source_of(value: SSAValue) -> SSAValue:
    """The allocation that a buffer is a view of, as far as it can be traced."""
    while True:
        owner = value.owner
        if isinstance(owner, Block):
            before = _before(value)
            if before is None:
                return value
            value = before
        elif owner.name.startswith(_VIEWS) and not isinstance(owner, PlacedAliasOp):
            value = owner.operands[0]
        else:
            return value


def _before(value: SSAValue) -> SSAValue | None:
    """What a partition's argument, or what a loop carries, is at first."""
    assert isinstance(value, BlockArgument)
    parent = value.block.parent_op()
    if parent is None:
        return None
    if parent.name == "ttg.warp_specialize.partitions":
        return parent.operands[value.index]
    if isinstance(parent, ForOp) and value.index > 0:
        return parent.operands[2 + value.index]
    return None


def task_name(index: int) -> str:
    """The internal name of a task: `report.spoken` makes it human-readable."""
    return f"@{index}"


def task_of(op: Operation) -> str:
    """The task that an op is in: the default one is number 0."""
    child, parent = op, op.parent_op()
    while parent is not None:
        if parent.name == "ttg.warp_specialize.partitions":
            region = child.parent_region()
            return task_name(1 + list(parent.regions).index(region) if region else 0)
        child, parent = parent, parent.parent_op()
    return task_name(0)
