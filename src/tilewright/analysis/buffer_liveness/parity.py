"""The current phase of a barrier, where it is known statically.

A wait names the parity of a phase. A wait for a completed phase passes at once and does not cover
work that was started since::

    init bar                         phase 0 is in progress
    mma -> bar;  wait bar, 0         phase 1 is
    mma -> bar;  wait bar, 0         passes: the second MMA may still be in flight

Constant parities are propagated forward from ``init_barrier``; where paths join with different
ones, around loops and in partitions, the phase is unknown, and a wait is assumed to be for the
pending work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.analysis.buffer_liveness.flow import Flow
from tilewright.analysis.buffer_liveness.op_effects import AllocationOp, WaitBarrierOp, is_true
from tilewright.analysis.buffer_liveness.roots import BufferRoots, slot_of
from tilewright.dialects.ttg.warps import WarpSpecializeOp, WarpSpecializePartitionsOp
from tilewright.dialects.ttng import ArriveBarrierOp, InitBarrierOp
from tilewright.ir.interfaces import constant_value


@dataclass(frozen=True)
class _Phase:
    """The parity in progress, and how many arrivals complete a phase."""

    parity: int
    arrivals: int


Element = tuple[AllocationOp, int]
State = dict[Element, _Phase]


class Parities:
    """The phases before every point of a function."""

    def __init__(self, flow: Flow, roots: BufferRoots) -> None:
        self._flow = flow
        self._roots = roots
        self._before: list[State | None] = [None] * len(flow)
        self._solve()

    def is_stale(self, index: int, op: WaitBarrierOp) -> bool:
        """Whether a wait is certainly for a completed phase."""
        phase = _constant_phase(op)
        slot = slot_of(op.alloc, self._roots)
        if phase is None or slot is None or not isinstance(slot.index, int):
            return False
        known = (self._before[index] or {}).get((slot.root, slot.index))
        return known is not None and known.parity != phase

    def _solve(self) -> None:
        if not self._before:
            return
        self._before[0] = {}
        pending = [0]
        while pending:
            index = pending.pop()
            after = self._after(index)
            for target in self._flow.successors[index]:
                known = self._before[target]
                joined = after if known is None else _common(known, after)
                if joined != known:
                    self._before[target] = joined
                    pending.append(target)

    def _after(self, index: int) -> State:
        state = self._before[index] or {}
        point = self._flow.points[index]
        if isinstance(point.op, WarpSpecializeOp | WarpSpecializePartitionsOp):
            return {}
        if point.is_exit or not isinstance(
            point.op, InitBarrierOp | WaitBarrierOp | ArriveBarrierOp
        ):
            return state
        return self._moved(point.op, state)

    def _moved(self, op: InitBarrierOp | WaitBarrierOp | ArriveBarrierOp, state: State) -> State:
        slot = slot_of(op.alloc, self._roots)
        if slot is None:
            return {}
        if not isinstance(slot.index, int):
            return {element: phase for element, phase in state.items() if element[0] != slot.root}
        element = slot.root, slot.index
        rest = {other: phase for other, phase in state.items() if other != element}
        after = _next(op, state.get(element))
        return rest if after is None else {**rest, element: after}


def _next(op: Operation, known: _Phase | None) -> _Phase | None:
    """The phase in progress after `op` on a barrier; None for unknown."""
    if isinstance(op, InitBarrierOp):
        return _Phase(0, op.count.value.data)
    if known is None:
        return None
    if isinstance(op, WaitBarrierOp):
        phase = _constant_phase(op)
        after = None if phase is None else replace(known, parity=1 - phase)
        return after if is_true(op.pred) or after == known else None
    if isinstance(op, ArriveBarrierOp) and is_true(op.pred) and op.per_thread is None:
        is_last = op.count.value.data == known.arrivals
        return replace(known, parity=1 - known.parity) if is_last else None
    return None


def _constant_phase(op: WaitBarrierOp) -> int | None:
    phase = constant_value(op.phase)
    return phase.value.data & 1 if isinstance(phase, IntegerAttr) else None


def _common(one: State, other: State) -> State:
    return {element: phase for element, phase in one.items() if other.get(element) == phase}
