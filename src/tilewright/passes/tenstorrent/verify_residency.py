"""Checks of panels that stay in L1 over several blocks: the plan, and the readers of all cores.

A reader that does not load a panel in a block relies on the one that is there. So for every core
and block the pages that its loads would read are computed, whether they are executed or not, and
compared with those of the last load that was.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.buffers import CBPushOp, cb_index
from tilewright.dialects.tensix.noc import NocReadTileOp
from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.residency import PanelPlan
from tilewright.dialects.tensix.types import Role
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import ControlFlow, lists_of
from tilewright.passes.tenstorrent.verify_kernels import Problem, argument_values, kernels_on

BAD_PANEL = "TW7120"

MAX_PAGES = 20_000
"""So many pages of a panel on all cores are all followed; of more, first and last of each loop."""


def residency_problems(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    """What is wrong with the panels that stay."""
    panels = () if plan.residency is None else plan.residency.panels
    for panel in panels:
        yield from _panel_problems(plan, kernels, panel)


def _panel_problems(plan: Plan, kernels: Sequence[KernelOp], panel: PanelPlan) -> Iterator[Problem]:
    cb = next((each for each in plan.cbs if each.index == panel.cb), None)
    if cb is None or cb.pages != panel.pages * panel.copies:
        pages = "is not declared" if cb is None else f"has {cb.pages} pages"
        yield Problem(
            kernels[0],
            f"{panel.copies} panels of {panel.pages} pages of '{panel.tensor}' stay in circular "
            f"buffer {panel.cb}, which {pages}",
            BAD_PANEL,
        )
        return
    loads, blocks = 0, sum(core.steps for core in plan.cores.active)
    for core in plan.cores.active:
        for kernel in kernels_on(plan, kernels, core):
            if kernel.role is Role.READER:
                follower = _Reader(kernel, core, panel, blocks)
                stale = follower.stale()
                if stale is not None:
                    yield stale
                    return
                loads += follower.loads
    if loads != panel.loads:
        yield Problem(
            kernels[0],
            f"the readers load the panel of '{panel.tensor}' in circular buffer {panel.cb} {loads} "
            f"times, the plan has {panel.loads} for {panel.blocks} blocks",
            BAD_PANEL,
        )


@dataclass
class _Reader:
    """The loads of one panel by one core."""

    kernel: KernelOp
    core: Assignment
    panel: PanelPlan
    blocks: int
    """Blocks of all cores."""
    loads: int = 0
    """Panels that were loaded."""

    def __post_init__(self) -> None:
        self.values = argument_values(self.kernel, self.core)

    def stale(self) -> Problem | None:
        """The first block that finds the panel of another block."""
        pushes = [op for op in walk(self.kernel) if self._fills(op)]
        counts: list[int] = []
        for push in pushes:
            loop, guard, inner = _around(push)
            reads = [] if push.parent is None else [*_reads_of(push)]
            held: tuple[tuple[int, ...], ...] | None = None
            loaded, held_since = 0, -1
            for block in range(self.core.steps):
                flow = self._flow(loop, block)
                needed = tuple(self._pages(read, loop, block) for read in reads)
                if guard is None or flow.value(guard.operands[0]):
                    held, held_since, loaded = needed, block, loaded + 1
                elif needed != held:
                    return self._wrong(push, block, held_since)
            counts.append(loaded * math.prod(_trips(each) for each in inner))
        self.loads = sum(counts) * self._pages_of_push(pushes) // max(1, self.panel.pages)
        return None

    def _fills(self, op: Operation) -> bool:
        return isinstance(op, CBPushOp) and cb_index(op.cb) == self.panel.cb

    def _pages_of_push(self, pushes: Sequence[Operation]) -> int:
        flow = ControlFlow(_ignore, {**self.values}, lists_of(self.core))
        return flow.value(pushes[0].operands[1]) if pushes else 0

    def _flow(self, loop: ForOp, block: int) -> ControlFlow:
        values = argument_values(self.kernel, self.core)
        return ControlFlow(_ignore, {**values, loop.induction_variable: block}, lists_of(self.core))

    def _pages(self, read: NocReadTileOp, loop: ForOp, block: int) -> tuple[int, ...]:
        """The pages that a read in the loops of a block addresses."""
        loops = _loops_between(read, loop)
        total = math.prod(_trips(each) for each in loops) * self.blocks
        indices = [_indices(each, all_of_them=total <= MAX_PAGES) for each in loops]
        found: list[int] = []
        for combination in itertools.product(*indices):
            flow = self._flow(loop, block)
            for inner, index in zip(loops, combination, strict=True):
                flow.values[inner.induction_variable] = index
            found.append(flow.value(read.page))
        return tuple(found)

    def _wrong(self, push: Operation, block: int, held_since: int) -> Problem:
        return Problem(
            push,
            f"core ({self.core.x}, {self.core.y}) does not load '{self.panel.tensor}' in its block "
            f"{block}, and circular buffer {self.panel.cb} holds other pages, of block "
            f"{held_since}",
            BAD_PANEL,
        )


def _around(push: Operation) -> tuple[ForOp, IfOp | None, list[ForOp]]:
    """The loop over blocks, the condition of a load and the loops inside around it."""
    guard: IfOp | None = None
    loops: list[ForOp] = []
    op = push.parent_op()
    while op is not None:
        if isinstance(op, ForOp):
            loops.insert(0, op)
        elif isinstance(op, IfOp) and guard is None:
            guard = op
        op = op.parent_op()
    return loops[0], guard, loops[1:]


def _reads_of(push: Operation) -> Iterator[NocReadTileOp]:
    """The reads between a push and the one before it in its block."""
    op = push.prev_op
    while op is not None and not isinstance(op, CBPushOp):
        yield from (each for each in walk(op) if isinstance(each, NocReadTileOp))
        op = op.prev_op


def _loops_between(op: Operation, outer: ForOp) -> list[ForOp]:
    found: list[ForOp] = []
    around = op.parent_op()
    while around is not None and around is not outer:
        if isinstance(around, ForOp):
            found.insert(0, around)
        around = around.parent_op()
    return found


def _range(loop: ForOp) -> range:
    flow = ControlFlow(_ignore, {})
    return range(*(flow.value(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)))


def _trips(loop: ForOp) -> int:
    return len(_range(loop))


def _indices(loop: ForOp, *, all_of_them: bool) -> Sequence[int]:
    found = _range(loop)
    return found if all_of_them or len(found) < 3 else (found[0], found[-1])


def _ignore(op: Operation, times: int) -> None:
    """Only values are required."""
