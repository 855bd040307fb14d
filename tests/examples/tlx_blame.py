"""Whether a report on a mutant blames what was changed.

What was changed is known from the IR and from one watched run of the example as it is (`Facts`).
Only the first finding of a report counts (of a deadlock, what it calls most likely), and it must
point at the change:

    wait, arrive, expect, init, commit, barrier of a product, index of a barrier
                        the barriers it names as the cause are the array that the op uses
    named barrier       the barrier it names as the cause has the number that the op uses
    index of a buffer   one of the two accesses is at a line that uses the index, in the task that
                        does, and touches that buffer
    wait for a group    it says `wait`, and one of the two accesses is an operation that the op
                        waits for in the example, at the line that issues it
    fence               it says `fence`, and the write is at a line whose bytes the op publishes
    distinct -> shared  the two accesses are of two different buffers of the group

A line is told with the lines of its callers: a helper's line stands for one of its calls only. A
report without findings (a misuse of a barrier, a product used too early, an error of the compiler)
must be at the op's line, or name its barrier in the first sentence; for a wait for a group, one of
its lines must be the one that issues an operation that the op waits for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.concurrency import AccessKind, GroupKind, NamedBarrier, Proxy, Task
from tilewright.analysis.ordering import Access, Finding
from tilewright.dialects.tlx import ReuseGroupOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.tcgen05 import TCGen5MMAOp
from tilewright.ir.diagnostics import Diagnostic, resolve
from tilewright.ir.diagnostics.position import Location
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.tasks.ops.views import name_of
from tilewright.targets.numpy.tasks.recorder import Recorder
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime

Where: TypeAlias = tuple[int, ...]
"""A line, and those of its callers, from the inside out."""

BARRIER_OPS = frozenset(
    f"ttng.{name}" for name in ("wait_barrier", "arrive_barrier", "barrier_expect", "init_barrier")
)
_GROUP_WAITS = frozenset(
    ("ttg.async_wait", "ttng.warp_group_dot_wait", "ttng.async_tma_store_wait")
)
_NAMED = frozenset(("ttng.wait_barrier_named", "ttng.arrive_barrier_named"))
_VIEWS = (
    "ttg.memdesc_",
    "tlx.local_alias",
    "tlx.require_layout",
    "tlx.local_slice",
    "ttng.tmem_subslice",
    "ttng.map_to_remote",
)


def where(location: Location | None) -> Where:
    trail = resolve(location)
    if trail.primary is None:
        return ()
    return (trail.primary.line, *(frame.position.line for frame in trail.callers))


def task_of(op: Operation) -> str:
    """The task that an op is in, as runs call it."""
    parent = op.parent_op()
    while parent is not None:
        if parent.name == "ttg.warp_specialize":
            return "default"
        if parent.name == "ttg.warp_specialize.partitions":
            region = op.parent_region()
            assert region is not None
            return f"partition{list(parent.regions).index(region)}"
        op, parent = parent, parent.parent_op()
    return "default"


def captured(value: SSAValue) -> SSAValue | None:
    """What an argument of a partition, or of a loop, is at first."""
    if not isinstance(value, BlockArgument):
        return None
    parent = value.block.parent_op()
    if parent is not None and parent.name == "ttg.warp_specialize.partitions":
        return parent.operands[value.index]
    if parent is not None and parent.name == "scf.for" and value.index:
        return parent.operands[2 + value.index]
    return None


def _short(task: str) -> str:
    """`default` of `CTA 1 default`."""
    return task.rpartition(" ")[2]


# -- what is right -------------------------------------------------------------------------------


class Facts(Recorder):
    """What the waits, fences and named barriers of an example are about, from a run of it."""

    def __init__(self) -> None:
        self._places: Sequence[SourceSite] = ()
        self._stored: dict[Task, set[Where]] = {}
        self.covered: dict[tuple[Where, str], set[Where]] = {}
        """By the line and the task of a wait or fence, the lines of what it waits for."""
        self.gates: dict[tuple[Where, str], set[str]] = {}
        """By the line and the task, named barriers."""

    def _at(self, source_id: Any) -> Where:
        return where(self._places[source_id].location)

    @override
    def begin(self, ctas: Sequence[CtaRuntime], seed: int) -> None:
        self._places = ctas[0].source_sites
        self._stored = {}

    @override
    def waited_group(
        self, task: Task, kind: GroupKind, operations: Sequence[AsyncOperation], source_id: int
    ) -> None:
        key = (self._at(source_id), _short(task.name))
        found = {self._at(each.site) for each in operations}
        self.covered.setdefault(key, set()).update(found)

    @override
    def named(self, task: Task, barrier: NamedBarrier, generation: int, source_id: int) -> None:
        self.gates.setdefault((self._at(source_id), _short(task.name)), set()).add(barrier.name)

    @override
    def access(
        self,
        actor: Task | AsyncOperation,
        kind: AccessKind,
        view: View,
        proxy: Proxy,
        source_id: int,
    ) -> None:
        if isinstance(actor, Task) and kind == "write" and proxy == "generic":
            self._stored.setdefault(actor, set()).add(self._at(source_id))

    @override
    def fence(self, task: Task, kind: str, source_id: int) -> None:
        if kind == "async_shared":
            key = (self._at(source_id), _short(task.name))
            self.covered.setdefault(key, set()).update(self._stored.pop(task, set()))


@dataclass(frozen=True)
class Truth:
    """What a report on a changed op must point at."""

    op: str
    here: Where
    task: str
    barriers: frozenset[str] = frozenset()
    buffers: frozenset[str] = frozenset()
    lines: frozenset[Where] = field(default_factory=frozenset)
    """Of accesses through an index; of what a wait or a fence is for."""

    def __str__(self) -> str:
        names = ", ".join(sorted(self.barriers | self.buffers))
        lines = ", ".join(str(each[0]) for each in sorted(self.lines) if each)
        return " ".join(filter(None, (names, lines and f"lines {lines}")))


def _name(value: SSAValue) -> str:
    """What the author calls the buffers or barriers that a view is of."""
    while True:
        owner = value.owner
        if isinstance(owner, Operation) and owner.name.startswith(_VIEWS):
            value = owner.operands[0]
            continue
        outside = captured(value)
        if outside is None:
            return name_of(owner) if isinstance(owner, Operation) else ""
        value = outside


def _is_barrier(value: SSAValue) -> bool:
    type = value.type
    return (
        isinstance(type, MemDescType)
        and isinstance(type.element_type, IntegerType)
        and type.element_type.width.data == 64
    )


def _uses(value: SSAValue) -> set[Where]:
    """Lines of the ops that touch a buffer through a view."""
    found: set[Where] = set()
    for use in value.uses:
        op = use.operation
        if op.name.startswith(_VIEWS):
            found |= _uses(op.results[0])
        else:
            found.add(where(op.location))
    return found


def _members(group: SSAValue) -> set[str]:
    owner = group.owner
    if isinstance(owner, ReuseGroupOp):
        return {name for each in owner.operands for name in _members(each)}
    return {name_of(owner)} if isinstance(owner, Operation) else set()


def truth_of(op: Operation, facts: Facts, told: int = 0) -> Truth:
    """What a report must point at if `op` is changed; of a product, the `told`-th barrier."""
    here, task = where(op.location), task_of(op)

    def made(**parts: set[Any]) -> Truth:
        sets = {name: frozenset(values) for name, values in parts.items()}
        return Truth(op.name, here, task, **sets)

    if op.name in BARRIER_OPS or op.name == "ttng.tc_gen5_commit":
        return made(barriers={_name(op.operands[0])})
    if isinstance(op, TCGen5MMAOp):
        return made(barriers={_name(op.barriers[told])})
    if op.name in _NAMED:
        return made(barriers=facts.gates.get((here, task), set()))
    if op.name == "ttg.memdesc_index" and _is_barrier(op.operands[0]):
        return made(barriers={_name(op.operands[0])})
    if op.name == "ttg.memdesc_index":
        return made(buffers={_name(op.operands[0])}, lines=_uses(op.results[0]))
    if op.name == "tlx.reuse_group":
        return made(buffers=_members(op.results[0]))
    return made(lines=facts.covered.get((here, task), set()))


# -- what is said --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """The first thing that a report says."""

    text: str
    finding: Finding | None = None
    source_sites: Sequence[SourceSite] = ()
    diagnostic: Diagnostic | None = None

    def line_of(self, access: Access) -> Where:
        return where(self.source_sites[access.site].location)

    @property
    def accesses(self) -> list[Access]:
        found = () if self.finding is None else (self.finding.first, self.finding.second)
        return [each for each in found if each is not None]


def said(diagnostic: Diagnostic) -> Report:
    """A report that is no finding."""
    return Report(diagnostic.message, diagnostic=diagnostic)


def is_right(report: Report, truth: Truth) -> bool:
    """Whether a report points at what was changed."""
    finding = report.finding
    if finding is None:
        return _is_near(report, truth)
    if truth.barriers:
        return finding.cause.barrier in truth.barriers
    lines = {report.line_of(each) for each in report.accesses}
    if truth.op == "ttg.memdesc_index":
        return any(
            each.region.owner in truth.buffers
            and report.line_of(each) in truth.lines
            and _short(each.task) == truth.task
            for each in report.accesses
        )
    if truth.op == "tlx.reuse_group":
        owners = {each.region.owner for each in report.accesses}
        return len(owners) == 2 and owners <= truth.buffers
    if truth.op in _GROUP_WAITS:
        operations = {report.line_of(each) for each in report.accesses if each.operation}
        return finding.kind == "wait" and bool(operations & truth.lines)
    return finding.kind == "fence" and bool(lines & truth.lines)


def _is_near(report: Report, truth: Truth) -> bool:
    """The same for a report that is no finding."""
    told = report.diagnostic
    assert told is not None
    names = "|".join(map(re.escape, sorted(truth.barriers | truth.buffers)))
    if names and re.search(rf"\b({names})\b", told.message):
        return True
    lines = {where(each.location) for each in (told, *told.notes)}
    if truth.op in _GROUP_WAITS:
        return bool(lines & truth.lines)
    return where(told.location) == truth.here
