"""Long loops are analysed at their beginning and at their end.

Ring buffers and the parities of their barriers repeat: with V slots, after 2V iterations. So a loop
continues in the same state if a multiple of that is left out of its middle, with indices as they
are in the remaining iterations. V remain at the beginning, and V at the end: every slot is reused,
and all iterations that issue nothing for later ones remain. A loop around another one repeats as
soon as the iterations of the inner one add up to a multiple of its period.

Loops of several roles that use the same barriers have to skip the same count. Where roles have
different trip counts, and an error is found, everything is run again in full (`run.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.thread_sync.arena import Arena, is_barrier
from tilewright.analysis.thread_sync.state import Budget
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.type_utils import num_elements
from tilewright.ir.interfaces import constant_trip_count
from tilewright.ir.traversal import walk

_LONGEST = 64
"""A period beyond which loops are not shortened."""
_FEW = 3
"""Iterations that remain at least: two at the beginning, which may differ, and one at the end."""
_ORDERING = frozenset(
    (
        *("nv.mbarrier.wait", "nv.mbarrier.arrive", "nv.mbarrier.arrive_expect_tx", "nv.bar"),
        *("nv.mbarrier.expect_tx", "nv.cp_async.mbarrier_arrive", "gpu.barrier", "tile.sync"),
        *("nv.cp_async.commit", "nv.cp_async.wait", "nv.wgmma.commit", "nv.wgmma.wait"),
        *("nv.tma_store.commit", "nv.tma_store.wait", "nv.tma_load", "nv.bulk_load"),
        *("nv.cluster.arrive", "nv.cluster.wait", "amd.load_lds", "amd.wait"),
        *("nv.tcgen05.mma", "nv.tcgen05.cp", "nv.tcgen05.commit", "nv.tcgen05.fence"),
        *("nv.tcgen05.ld", "nv.tcgen05.st", "nv.tcgen05.wait_ld", "nv.tcgen05.wait_st"),
        *("nv.tcgen05.alloc", "nv.tcgen05.dealloc", "nv.clc.try_cancel"),
    )
)


@dataclass(frozen=True)
class Shortening:
    """How a loop is shortened."""

    family: object
    """Loops of one family skip the same number of iterations."""
    period: int
    min_iterations: int
    """Iterations that remain."""

    def skip(self, budget: Budget, count: int) -> tuple[int, int]:
        """How many iterations are skipped, and after how many."""
        known = budget.left_out.setdefault(self.family, {})
        if count not in known:
            near = [each for each in known if abs(each - count) < self.period]
            own_skip = max(0, count - self.min_iterations) // self.period * self.period
            known[count] = known[near[0]] if near and known[near[0]] < count else own_skip
        return known[count], min((self.min_iterations + 1) // 2, count)


def orders(op: Operation) -> bool:
    """Whether an op contains synchronisation."""
    return any(each.name in _ORDERING for each in walk(op))


def shortening_of(arena: Arena, loop: Operation) -> Shortening | None:
    """How to shorten a loop that contains synchronisation; None if it is run in full."""
    if not orders(loop):
        return None
    inner = [op for op in walk(loop) if op.name == "scf.for" and op is not loop and orders(op)]
    period = _period(loop, inner)
    if period > _LONGEST:
        return None
    barriers = [n for n, alloc in enumerate(arena.barriers) if _uses(loop, alloc.result)]
    family = (_depth(loop), barriers[0]) if barriers else loop
    min_iterations = _FEW if inner else max((_FEW, *(2 * ring for ring in _rings(loop))))
    return Shortening(family, period, min_iterations)


def _period(loop: Operation, inner: list[Operation]) -> int:
    """Iterations after which the ring buffers of a loop repeat."""
    parts: list[int] = []
    for ring in _rings(loop):
        counts = [constant_trip_count(*each.operands[:3]) for each in inner if ring in _rings(each)]
        steps = 0
        for each in counts:
            steps = gcd(steps, 1 if each is None else each)
        parts.append(2 * ring // gcd(2 * ring, steps or 1))
    return lcm(*parts) if parts else 1


def _rings(loop: Operation) -> list[int]:
    """Slot counts of the ring buffers that a loop uses."""
    found: dict[Operation, int] = {}
    for op in walk(loop):
        for operand in op.operands:
            owner = operand.owner
            if not isinstance(owner, AllocOp) or owner in found:
                continue
            versions = owner.attributes.get(simt_names.VERSIONS)
            if is_barrier(owner.result):
                found[owner] = num_elements(owner.result.type)
            elif isinstance(versions, IntegerAttr):
                found[owner] = versions.value.data
    return list(found.values())


def _uses(loop: Operation, buffer: SSAValue) -> bool:
    return any(_is_inside(use.operation, loop) for use in buffer.uses)


def _is_inside(op: Operation | None, loop: Operation) -> bool:
    while op is not None:
        if op is loop:
            return True
        op = op.parent_op()
    return False


def _depth(op: Operation) -> int:
    depth, parent = 0, op.parent_op()
    while parent is not None:
        depth += parent.name == "scf.for"
        parent = parent.parent_op()
    return depth
