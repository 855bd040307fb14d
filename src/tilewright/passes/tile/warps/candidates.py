"""Pipelined loops whose copies a producer can issue by itself.

The producer runs the same loops as the consumers, but only their copies. It can do that
if it can compute by itself where to copy from: from loop indices, arguments, and global memory that
the kernel does not write. Copies with the same first and last user form a group with one pair of
barriers per stage, so that the consumers of one need not wait for another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tilewright.analysis.copies.copy_instructions import BulkCopy, Starts, bulk_copy
from tilewright.analysis.copies.image_patches import bulk_patches
from tilewright.analysis.pipelining import Dependences
from tilewright.analysis.pipelining.tensor_core_waits import synchronous
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.nv import GridTriggerOp, GridWaitOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    Im2colOp,
    KernelOp,
    PersistentOp,
    PipelineOp,
    Space,
    WsOp,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.calls import call_text
from tilewright.dialects.tile.interfaces import is_async, writes
from tilewright.dialects.tile.types import space_of
from tilewright.ir.effects import always_removable
from tilewright.ir.traversal import children, walk

_LOOPS = (ForOp, PersistentOp)
_ORDERING = ("tile.sync", "nv.")
COMPUTED = "which the consumer warps compute"
"""The end of a reason that is about a value."""


@dataclass(frozen=True)
class Issue:
    """A copy that the producer issues: the statement, and the copy in it."""

    statement: Operation
    copy: BulkCopy

    @property
    def is_guarded(self) -> bool:
        return self.statement is not self.copy.op


@dataclass(frozen=True)
class Group:
    """Copies that arrive together and are used together."""

    issues: tuple[Issue, ...]
    buffers: tuple[SSAValue, ...]
    first_user: Operation
    last_user: Operation

    @property
    def is_guarded(self) -> bool:
        return any(issue.is_guarded for issue in self.issues)

    @property
    def bytes(self) -> int:
        """Bytes of the copies in every iteration."""
        return sum(issue.copy.bytes for issue in self.issues if not issue.is_guarded)


@dataclass(frozen=True)
class Candidate:
    """A loop and what its producer does."""

    loop: PipelineOp
    groups: tuple[Group, ...]
    left: tuple[tuple[Operation, str], ...] = ()
    """Copies that the consumers have to do themselves, and why."""

    @property
    def is_entered_again(self) -> bool:
        """Whether a loop is around it, so that iterations are counted across its entries."""
        around = self.loop.parent_op()
        while around is not None and not isinstance(around, KernelOp):
            if isinstance(around, _LOOPS):
                return True
            around = around.parent_op()
        return False


def kernel_obstacle(kernel: KernelOp) -> str | None:
    """What in a kernel rules roles out altogether."""
    threads = kernel.thread_extents
    if threads is None:
        return "the kernel has no thread count"
    if any(extent != 1 for extent in threads[1:]):
        return "the thread block has more than one dimension"
    known = {op for parent in walk(kernel) if parent.regions for op in synchronous(parent)}
    for op in walk(kernel):
        if isinstance(op, WsOp):
            return "the kernel is already warp-specialised by the user"
        if op in known or op.regions or is_between_kernels(op, kernel):
            continue
        if op.name.startswith(_ORDERING) or is_async(op):
            return f"the kernel uses explicit synchronisation ({call_text(op)})"
    return None


def is_between_kernels(op: Operation, kernel: KernelOp) -> bool:
    """Whether an op orders this kernel with others, and can do so before the roles, or in one."""
    if isinstance(op, GridWaitOp):
        return op.parent_op() is kernel
    return isinstance(op, GridTriggerOp)


def candidate(loop: PipelineOp, kernel: KernelOp, starts: Starts) -> Candidate | str:
    """What the producer can do for `loop`, or why it can do nothing."""
    if loop.stages == 0 or loop.manual_stage is not None:
        return "the user-specified schedule leaves no copies to a producer"
    around = loop.parent_op()
    while not isinstance(around, KernelOp):
        if not isinstance(around, (*_LOOPS, IfOp)):
            name = "nothing" if around is None else around.name
            return f"the loop is nested in {name}"
        if around.results:
            return f"'{around.name}' around the loop has results, which the consumer warps compute"
        computed = first_computed(around.operands, kernel)
        if computed:
            return f"the loop is conditional on {computed}, {COMPUTED}"
        around = around.parent_op()
    computed = first_computed(loop.operands, kernel)
    if computed:
        return f"the trip count depends on {computed}, {COMPUTED}"
    dependences = Dependences(loop)
    found: list[Issue] = []
    left: list[tuple[Operation, str]] = []
    problem = "the loop has no copy from global to shared memory"
    for position, statement in enumerate(dependences.ops):
        issue = _issue(statement, starts)
        if isinstance(issue, str):
            problem = issue or problem
            if issue or _fills_by_threads(dependences, position):
                left.append((statement, issue or "threads fill the buffer element by element"))
            continue
        why = _obstacle(issue, position, dependences, kernel)
        if why is None:
            found.append(issue)
        else:
            problem = why
            left.append((statement, why))
    if not found:
        return problem
    return Candidate(loop, tuple(_groups(found, dependences)), tuple(left))


def _issue(statement: Operation, starts: Starts) -> Issue | str:
    """The copy of a statement that a producer may issue; empty if there is none at all."""
    if isinstance(statement, IfOp):
        inside = [op for op in children(statement) if not always_removable(type(op))]
        copies = [op for op in inside if isinstance(op, CopyOp)]
        if statement.has_else or statement.results or len(copies) != 1 or len(inside) > 2:
            return ""
        found = bulk_copy(copies[0], starts)
    elif isinstance(statement, CopyOp):
        found = bulk_copy(statement, starts)
    elif isinstance(statement, Im2colOp):
        found = bulk_patches(statement, starts)
    else:
        return ""
    if isinstance(found, str):
        is_copy_in = _is_copy_in(statement)
        return found if is_copy_in else ""
    return Issue(statement, found)


def _fills_by_threads(dependences: Dependences, position: int) -> bool:
    """Whether a statement other than a copy takes a tile from global to shared memory."""
    written = [region.space for region in dependences.writes[position]]
    is_to_shared = bool(written) and all(space is not None and space.is_shared for space in written)
    return is_to_shared and any(
        region.space is Space.GLOBAL for region in dependences.reads[position]
    )


def _is_copy_in(statement: Operation) -> bool:
    is_copy = isinstance(statement, CopyOp | Im2colOp)
    return is_copy and space_of(statement.src.type) is Space.GLOBAL


def _obstacle(
    issue: Issue, position: int, dependences: Dependences, kernel: KernelOp
) -> str | None:
    target = base_of(issue.copy.op.dst)
    if dependences.renamable.get(target) != position:
        return dependences.why_not_renamable(target)
    if target is not issue.copy.op.dst:
        return "the copy fills only part of a buffer"
    if any(
        region.base is base_of(issue.copy.tensor)
        for op in children(kernel)
        for region in writes(op)
    ):
        return "the kernel writes the source tensor"
    operands = [value for op in walk(issue.statement) for value in op.operands]
    computed = first_computed([value for value in operands if value is not target], kernel)
    return f"the source address depends on {computed}, {COMPUTED}" if computed else None


def first_computed(values: Sequence[SSAValue], kernel: KernelOp) -> str:
    """A description of the first value that cannot be computed from what never changes while the
    kernel runs; empty if all can."""
    seen: set[SSAValue] = set()
    pending = [*reversed(values)]
    while pending:
        each = pending.pop()
        if each in seen or isinstance(each, BlockArgument) or not _is_inside(each, kernel):
            continue
        seen.add(each)
        assert isinstance(each, OpResult)
        op = each.op
        if isinstance(op, LoadOp):
            base = base_of(op.memref)
            changes = any(r.base is base for inner in children(kernel) for r in writes(inner))
            if space_of(base.type) is not Space.GLOBAL or changes:
                name = base.owner.buffer_name if isinstance(base.owner, AllocOp) else base.name_hint
                return f"'{name}'" if name else "a buffer"
        elif isinstance(op, ThreadIdOp):
            return "the thread index"  # that of a consumer
        elif op.regions or not always_removable(type(op)):
            return f"'{each.name_hint}'" if each.name_hint else "a value"
        pending.extend(op.operands)
    return ""


def _is_inside(value: SSAValue, kernel: KernelOp) -> bool:
    return kernel.is_ancestor(value.owner) and value.owner is not kernel


def _groups(issues: list[Issue], dependences: Dependences) -> Iterator[Group]:
    issued = {issue.statement for issue in issues}
    ends: dict[tuple[int, int], list[Issue]] = {}
    for issue in issues:
        users = [
            position
            for position in dependences.accessors(issue.copy.op.dst)
            if dependences.ops[position] not in issued
        ]
        if users:
            ends.setdefault((users[0], users[-1]), []).append(issue)
    for (first, last), together in ends.items():
        buffers = tuple(dict.fromkeys(issue.copy.op.dst for issue in together))
        yield Group(tuple(together), buffers, dependences.ops[first], dependences.ops[last])
