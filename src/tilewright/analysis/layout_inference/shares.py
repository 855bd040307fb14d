"""The share of a thread in a parallel loop: formulas for what it runs, and where it keeps things.

Iterations of a thread are numbered as the registers of the loop's layout. Neighbours along the
innermost variable that follow each other in this order are the lanes of a turn. All formulas are
found in tables of all iterations, so they are right; `NotALayout` says that there is none, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.fit import Numbers, digits, expression, formula
from tilewright.analysis.layout_inference.relations import is_done_once, touches_memory
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.tile import ParallelOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.expressions import Coordinate, LayoutExpr

_MOST_LANES = 16


@dataclass(frozen=True)
class Register:
    """Where a thread keeps what it touches: ``of_turn(turn) + lane * step``."""

    of_turn: LayoutExpr
    step: int


@dataclass(frozen=True)
class Share:
    """The iterations of one thread: `turns` rounds of `lanes` neighbours."""

    table: Table
    """With more rows and columns than the loop has, if its own do not come out even."""
    lanes: int
    shape: tuple[int, ...]
    """Of the loop, its leading dimensions as one if they are counted through."""

    @classmethod
    def of(cls, table: Table, *, is_wide: bool) -> Share:
        """The share of a loop with a layout; in lanes, if it accesses memory."""
        # Where rows do not come out even, they are counted through, or all iterations are.
        for each in (table, *table.countings()):
            filled = each.filled()
            if filled is not None:
                return cls(filled, _lanes(filled) if is_wide else 1, each.shape)
        raise NotALayout("no formula gives the iterations of a thread")

    @property
    def turns(self) -> int:
        return self.table.num_registers // self.lanes

    @property
    def cut_short(self) -> list[int]:
        """Dimensions along which some threads have iterations that the loop does not have."""
        sizes = zip(self.table.shape, self.shape, strict=True)
        return [axis for axis, (more, own) in enumerate(sizes) if more != own]

    def coordinate(self, axis: int) -> LayoutExpr:
        """A variable of the loop at the first lane of a turn; of (thread, turn)."""
        found = formula(self._at_turns(self.table.inverse[axis]))
        return found.text if found is not None else self._by_number(axis)

    def _by_number(self, axis: int) -> LayoutExpr:
        """The variable through the number of the iteration, for sizes that do not divide."""
        table = self.table
        number = np.zeros_like(table.inverse[0])
        for size, each in zip(table.shape, table.inverse, strict=True):
            number = number * size + each
        found = formula(self._at_turns(number))
        if found is None:
            raise NotALayout("no formula gives the iterations of a thread")
        place = found.text
        for size in reversed(table.shape[axis + 1 :]):
            place = place // size
        return place % table.shape[axis] if axis else place

    def _at_turns(self, table: Numbers) -> Numbers:
        """A table over registers at the first lane of each turn."""
        return table[:, :: self.lanes]

    def replica(self) -> LayoutExpr:
        """Which of the threads with the same iterations a thread is."""
        table = self.table
        number = np.full(table.num_threads, -1, dtype=np.int64)
        for replica in range(table.replicas):
            number[table.holders[..., replica].ravel()] = replica
        found = digits(number)
        if found is None:
            raise NotALayout("no formula tells the copies of an iteration apart")
        return expression(found, Coordinate(0), table.num_threads) + int(number[0])

    def register(self, numbers: Numbers) -> Register:
        """The register of what each iteration touches, from the table of them."""
        found = self._by_share(numbers.reshape(self.shape))
        if (found != found[:1]).any():
            raise NotALayout("threads keep the same element in different registers")
        grid = found[0].reshape(self.turns, self.lanes)
        step = int(grid[0, 1] - grid[0, 0]) if self.lanes > 1 else 0
        if (grid != grid[:, :1] + np.arange(self.lanes) * step).any():
            raise NotALayout("lanes keep neighbours in registers that are not evenly apart")
        turns = digits(grid[:, 0])
        if turns is None:
            raise NotALayout("no formula gives the register of an element")
        return Register(expression(turns, Coordinate(0), self.turns) + int(grid[0, 0]), step)

    def _by_share(self, numbers: Numbers) -> Numbers:
        """What the iterations of each thread have, by thread and register.

        Iterations that the loop does not have are not run: what threads that run the same turn
        have there will do, and else the number that goes on as the last two did.
        """
        if self.cut_short:
            numbers = self._continued(numbers)
            known = self._by_register(numbers)
            if known is not None:
                return known
        return numbers[self.table.inverse]

    def _continued(self, numbers: Numbers) -> Numbers:
        for axis in self.cut_short:
            lined = np.moveaxis(numbers, axis, -1)
            more = np.arange(1, self.table.shape[axis] - self.shape[axis] + 1, dtype=np.int64)
            last = lined[..., -1:]
            step = last - lined[..., -2:-1] if lined.shape[-1] > 1 else np.ones_like(last)
            lined = np.concatenate([lined, last + step * more], axis=-1)
            numbers = np.moveaxis(lined, -1, axis)
        return numbers

    def _by_register(self, numbers: Numbers) -> Numbers | None:
        """By register alone, from the threads that run the iteration."""
        inverse = self.table.inverse
        found = numbers[inverse]
        is_run = np.logical_and.reduce(
            [each < size for each, size in zip(inverse, self.shape, strict=True)]
        )
        low = np.where(is_run, found, np.iinfo(np.int64).max).min(axis=0)
        high = np.where(is_run, found, -1).max(axis=0)
        return np.broadcast_to(low, found.shape) if (low == high).all() else None


def unknown_steps(numbers: Numbers, rank: int) -> list[LayoutExpr]:
    """How registers grow along dimensions that a serial loop walks, behind `rank` known ones."""
    extra = numbers.ndim - rank
    origin = (slice(None),) * rank + (0,) * extra
    rebuilt = numbers[origin].reshape(*numbers.shape[:rank], *(1,) * extra)
    steps: list[LayoutExpr] = []
    for axis in range(rank, numbers.ndim):
        line = numbers[(0,) * axis + (slice(None),) + (0,) * (numbers.ndim - axis - 1)]
        found = digits(line)
        if found is None:
            raise NotALayout("no formula gives the register of an element")
        steps.append(expression(found, Coordinate(0), len(line)))
        shape = [1] * numbers.ndim
        shape[axis] = len(line)
        rebuilt = rebuilt + (line - line[0]).reshape(shape)
    if (rebuilt != numbers).any():
        raise NotALayout("the register of an element is no sum over its dimensions")
    return steps


def infeasible(
    loop: ParallelOp,
    table: Table,
    accesses: Sequence[FragmentAccess],
    fragments: Mapping[SSAValue, Table],
) -> tuple[NotALayout, FragmentAccess | None] | None:
    """Why code cannot compute what a thread runs of a loop, and the access that it is about."""
    rank = len(table.shape)
    access = next(iter(accesses), None)
    try:
        table.as_map()
        share = Share.of(table, is_wide=touches_memory(loop))
        for axis in range(len(share.shape)):
            share.coordinate(axis)
        if table.replicas > 1 and is_done_once(loop):
            share.replica()
        for access in accesses:
            numbers = fragments[base_of(access.buffer)].registers[access.elements]
            share.register(numbers[(slice(None),) * rank + (0,) * access.extra])
            unknown_steps(numbers, rank)
    except NotALayout as error:
        return error, access
    return None


def _lanes(table: Table) -> int:
    """How many registers in a row hold neighbours along the last dimension, for all threads."""
    registers = table.num_registers
    *outer, last = table.inverse
    lanes = 1
    while lanes < _MOST_LANES and registers % (lanes * 2) == 0:
        wider = lanes * 2
        runs = last.reshape(-1, wider)
        if not _is_same(outer, wider) or (np.diff(runs, axis=1) != 1).any():
            break
        lanes = wider
    return lanes


def _is_same(coordinates: Sequence[Numbers], lanes: int) -> bool:
    lined = [each.reshape(-1, lanes) for each in coordinates]
    return all(bool((each == each[:, :1]).all()) for each in lined)
