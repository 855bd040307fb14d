"""Layouts of loops that nothing determines: the cheapest of those that are possible.

Loops that share fragments without a layout are one *component*: the layout of one of them, its
root, determines most of the others. The loops that access memory most are tried as roots, each with
a few layouts (`candidates_of`); what follows from a layout must be possible, and what all loops of
the component cost then (`cost`) decides. The largest loop with the first layout that is possible is
the standard choice, and another one has to be clearly cheaper: costs are estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.agreement import Failed, Loop
from tilewright.analysis.layout_inference.candidates import candidates_of
from tilewright.analysis.layout_inference.cost import (
    LoopWork,
    reduction_cost,
    register_cost,
    trips,
)
from tilewright.analysis.layout_inference.propagation import Propagation
from tilewright.analysis.layout_inference.reductions import plan as plan_reduction
from tilewright.analysis.layout_inference.relations import accesses_memory, is_by_register
from tilewright.analysis.layout_inference.shares import infeasible
from tilewright.analysis.layout_inference.table import NotALayout, Table, held_by
from tilewright.dialects.tile import ReduceOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import shape_of

_MAX_ROOTS = 4
"""Loops of a component that are tried."""
_CHEAPER = 0.85
"""The part of the standard choice's cost that another one may have at most."""

_STAGED, _STAGING = 1.5, 400.0
"""What it costs if a fragment has to go through shared memory: more accesses, barriers."""

State = tuple[dict[SSAValue, Table], dict[SSAValue, Operation], list[Table | None]]


@dataclass(frozen=True)
class Component:
    """Loops and reductions whose layouts depend on each other."""

    loops: Sequence[Loop]
    reductions: Sequence[ReduceOp]
    fragments: frozenset[SSAValue]


@dataclass
class FreeLayouts(Propagation):
    """Decides what does not follow from anything."""

    def _undecided(self) -> Loop | None:
        """The largest loop without a layout; those that access fragments first."""
        left = [loop for loop in self.loops if loop.table is None]
        return max(
            left,
            key=lambda loop: (bool(loop.accesses), int(np.prod(loop.shape))),
            default=None,
        )

    def _decide_freely(self, loop: Loop) -> None:
        """Deal iterations out; if something that follows from it cannot be, in another way."""
        component = self._component(loop)
        if len(component.loops) > 1 and self._decide_by_cost(loop, component):
            return
        candidates = self._candidates(loop)
        # Best is a layout that also determines those of all fragments that the loop accesses.
        for is_whole in (True, False):
            for table in candidates[:-1]:
                if self._is_possible(loop, table, is_whole=is_whole):
                    return
        loop.table, loop.origin = candidates[-1 if len(candidates) == 1 else 0], loop.op

    def _candidates(self, loop: Loop) -> list[Table]:
        """Layouts of a loop; the last one stands for "none of them"."""
        found = self._once("candidates", loop, None, partial(self._own_candidates, loop))
        return [*found[:-1], *self._from_reads(loop), *found[-1:]]

    def _own_candidates(self, loop: Loop) -> list[Table]:
        return list(candidates_of(loop.op, loop.shape, self._reduces_rows(loop)))

    def _from_reads(self, loop: Loop) -> Iterator[Table]:
        """The iterations where a fragment is that they read, though each reads several elements."""
        for access in loop.accesses:
            table = self.fragments.get(access.buffer)
            if table is None or access.is_write or not access.extra:
                continue
            found = self._once("reads", access, table, partial(_from_read, loop, access, table))
            if found is not None:
                yield found

    # -- by cost -----------------------------------------------------------------------------

    def _component(self, first: Loop) -> Component:
        """The loops that are connected to `first` by fragments without a layout."""
        open_loops = [loop for loop in self.loops if loop.table is None]
        fragments = self._open(first)
        loops: list[Loop] = [first]
        is_growing = True
        while is_growing:
            is_growing = False
            for op in self.reductions:
                ends = {base_of(op.src), base_of(op.dst)} - self.fragments.keys()
                if ends & fragments and not ends <= fragments:
                    fragments |= ends
                    is_growing = True
            for loop in open_loops:
                if loop not in loops and self._open(loop) & fragments:
                    loops.append(loop)
                    fragments |= self._open(loop)
                    is_growing = True
        reductions = [
            op
            for op in self.reductions
            if isinstance(op, ReduceOp) and {base_of(op.src), base_of(op.dst)} & fragments
        ]
        ordered = [loop for loop in self.loops if any(loop is each for each in loops)]
        return Component(ordered, reductions, frozenset(fragments))

    def _open(self, loop: Loop) -> set[SSAValue]:
        accessed = {each.buffer for each in loop.accesses}
        return accessed - self.fragments.keys()

    def _decide_by_cost(self, standard: Loop, component: Component) -> bool:
        """Decide the component's root and its layout; whether one was possible."""
        before = self._state()
        best: tuple[float, State] | None = None
        for root, table in self._choices(standard, component):
            if not self._is_possible(root, table, is_whole=True):
                continue
            is_complete = self._complete(component)
            found = self._cost(component)
            if found is not None and not is_complete:
                found = found * _STAGED + _STAGING  # something will go through shared memory
            # The first one is the standard choice.
            if found is not None and (best is None or self._is_better(found, best[0], component)):
                best = found, self._state()
            self._restore(before)
        if best is None:
            return False
        self._restore(best[1])
        return True

    def _complete(self, component: Component) -> bool:
        """Decide the rest of the component as without costs; whether that is possible."""
        while left := [loop for loop in component.loops if loop.table is None]:
            loop = max(left, key=lambda each: int(np.prod(each.shape)))
            choices = self._candidates(loop)[:-1]
            if not any(self._is_possible(loop, table, is_whole=True) for table in choices):
                return False
        return True

    def _is_better(self, found: float, lowest: float, component: Component) -> bool:
        """Whether the layouts as they are cost less, and nothing is left that might conflict."""
        if found >= lowest * _CHEAPER or not component.fragments <= self.fragments.keys():
            return False
        return all(
            loop.table is not None
            and infeasible(loop.op, loop.table, loop.accesses, self.fragments) is None
            for loop in component.loops
        )

    def _choices(self, standard: Loop, component: Component) -> Iterator[tuple[Loop, Table]]:
        """Roots and their layouts: the largest loop first, then those that access memory."""
        others = sorted(
            (loop for loop in component.loops if loop is not standard and accesses_memory(loop.op)),
            key=lambda loop: -int(np.prod(loop.shape)) * trips(loop.op),
        )
        seen: list[tuple[set[SSAValue], Table]] = []
        for root in (standard, *others[: _MAX_ROOTS - 1]):
            for table in self._candidates(root)[:-1]:
                # Loops over the same fragments with equal layouts have equal consequences.
                key = self._open(root)
                if not any(key == known and table == other for known, other in seen):
                    seen.append((key, table))
                    yield root, table

    def _cost(self, component: Component) -> float | None:
        """What the component costs with the layouts as they are; None if it is not known."""
        try:
            total = sum(self._loop_cost(loop) for loop in component.loops)
            for op in component.reductions:
                source, target = self.fragments.get(base_of(op.src)), base_of(op.dst)
                if source is not None and target in self.fragments:
                    tables = source, self.fragments[target]
                    total += self._once(
                        "reduction cost", op, tables, partial(reduction_cost, op, *tables)
                    )
        except NotALayout:
            return None
        known = [each for each in self.fragments.items() if each[0] in component.fragments]
        return total + register_cost(known)

    def _loop_cost(self, loop: Loop) -> float:
        """Of a loop that is not decided by this: what its own best layout would cost."""
        table = loop.table if loop.table is not None else self._candidates(loop)[0]
        work = self._once("work", loop, None, partial(LoopWork.of, loop))
        return self._once("cost", loop, table, partial(work.cost, table))

    # -- what is possible --------------------------------------------------------------------

    def _is_possible(self, loop: Loop, table: Table, *, is_whole: bool) -> bool:
        """Take `table` for the loop, unless what follows from it cannot be."""
        before = self._state()
        self.is_trial = True
        try:
            loop.table, loop.origin = table, loop.op
            self._propagate()
            self._check_known()
            self._check_formulas(before[0])
            if is_whole and any(each.buffer not in self.fragments for each in loop.accesses):
                raise Failed
        except Failed:
            self._restore(before)
            return False
        finally:
            self.is_trial = False
        return True

    def _reduces_rows(self, loop: Loop) -> bool:
        """Whether a fragment that the loop accesses is reduced along the loop's last dimension."""
        accessed = {each.buffer for each in loop.accesses}
        rank = len(loop.shape)
        return any(
            isinstance(op, ReduceOp)
            and op.axis == rank - 1 == len(shape_of(op.src.type)) - 1
            and base_of(op.src) in accessed
            for op in self.reductions
        )

    def _state(self) -> State:
        return dict(self.fragments), dict(self.origins), [loop.table for loop in self.loops]

    def _restore(
        self,
        state: State,
    ) -> None:
        self.fragments, self.origins, tables = state
        for loop, table in zip(self.loops, tables, strict=True):
            loop.table = table

    def _check_formulas(self, known: Mapping[SSAValue, Table]) -> None:
        """Layouts that are new must be something that code can compute."""
        try:
            for buffer, table in self.fragments.items():
                if buffer not in known:
                    table.as_map()
        except NotALayout:
            raise Failed from None

    def _check_known(self) -> None:
        """Every access whose loop and fragment have layouts."""
        for loop in self.loops:
            for access in loop.accesses:
                table = self.fragments.get(access.buffer)
                if loop.table is None or table is None:
                    continue
                both = loop.table, table
                if not self._once("access", access, both, partial(self._agree, loop, access)):
                    raise Failed
        for op in self.reductions:
            if not isinstance(op, ReduceOp):
                continue
            source = self.fragments.get(base_of(op.src))
            target = self.fragments.get(base_of(op.dst))
            if source is None or target is None:
                continue
            try:
                compute = partial(plan_reduction, source, target, op.axis)
                self._once("reduction", op, (source, target), compute)
            except NotALayout:
                raise Failed from None

    def _agree(self, loop: Loop, access: FragmentAccess) -> bool:
        """Whether a loop can access a fragment, both with their present layouts."""
        assert loop.table is not None
        try:
            self._check_access(loop, access)
        except Failed:
            return False
        return is_by_register(loop.table, self.fragments[access.buffer], access)


def _from_read(loop: Loop, access: FragmentAccess, table: Table) -> Table | None:
    """The iterations in the threads that own what they read, if all of it is in the same ones."""
    owners = table.owners[access.elements]
    rank = len(loop.shape)
    first = owners[(slice(None),) * rank + (0,) * access.extra]
    lined = first.reshape(*loop.shape, *(1,) * access.extra, table.replicas)
    if (owners != lined).any():
        return None
    points = [np.asarray(each) for each in np.indices(loop.shape)]
    try:
        return held_by(loop.shape, points, first, None)
    except NotALayout:
        return None
