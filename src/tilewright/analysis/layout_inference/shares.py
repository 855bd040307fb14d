"""The share of a thread in a parallel loop: formulas for its iterations and registers.

Iterations of a thread are numbered as the registers of the loop's layout. Iterations that are
consecutive in this order and along the innermost variable are the lanes of a *round*. All formulas
are fitted to tables of all iterations, so they hold for each; `NotALayout` gives the reason where
there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.fit import IntArray, digits, expression, formula
from tilewright.analysis.layout_inference.relations import (
    accesses_memory,
    is_done_once,
    needed_by_all,
)
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import ParallelOp, Space, space_of
from tilewright.dialects.tile.expressions import Coordinate, LayoutExpr
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.traversal import walk

_MAX_LANES = 16
_UNIT_BITS = 128
_CACHED = 32
"""Shares, and coordinates, of which the formulas are cached: a kernel has few different ones."""


@dataclass(frozen=True)
class Register:
    """The register that an iteration accesses: ``of_round(round) + of_lane(lane)``."""

    of_round: LayoutExpr
    of_lane: LayoutExpr


@dataclass(frozen=True)
class Share:
    """The iterations of one thread: `rounds` rounds of `lanes` consecutive iterations."""

    table: Table
    """With more rows and columns than the loop has, if its own do not divide evenly."""
    lanes: int
    shape: tuple[int, ...]
    """Of the loop, its leading dimensions as one if they are linearised."""

    @staticmethod
    @lru_cache(maxsize=_CACHED)
    def of(table: Table, *, is_wide: bool, max_lanes: int = _MAX_LANES) -> Share:
        """The share of a loop with a layout; up to `max_lanes` lanes, if it accesses memory."""
        # Where rows do not divide evenly, rows or all iterations are linearised.
        for each in (table, *table.countings()):
            filled = each.filled()
            if filled is not None:
                return Share(filled, _lanes(filled, max_lanes) if is_wide else 1, each.shape)
        raise NotALayout("no formula gives the iterations of a thread")

    @property
    def rounds(self) -> int:
        return self.table.num_registers // self.lanes

    @property
    def cut_short(self) -> list[int]:
        """Dimensions along which some threads have iterations that the loop does not have."""
        sizes = zip(self.table.shape, self.shape, strict=True)
        return [axis for axis, (more, own) in enumerate(sizes) if more != own]

    @lru_cache(maxsize=_CACHED)  # noqa: B019  (shares are cached as well)
    def coordinate(self, axis: int) -> LayoutExpr:
        """A variable of the loop at the first lane of a round; of (thread, round)."""
        found = formula(self._at_rounds(self.table.inverse[axis]))
        return found.text if found is not None else self._by_linear_index(axis)

    def _by_linear_index(self, axis: int) -> LayoutExpr:
        """The variable from the linear iteration index, for sizes that do not divide."""
        table = self.table
        linear = np.zeros_like(table.inverse[0])
        for size, each in zip(table.shape, table.inverse, strict=True):
            linear = linear * size + each
        found = formula(self._at_rounds(linear))
        if found is None:
            raise NotALayout("no formula gives the iterations of a thread")
        index = found.text
        for size in reversed(table.shape[axis + 1 :]):
            index = index // size
        return index % table.shape[axis] if axis else index

    def _at_rounds(self, table: IntArray) -> IntArray:
        """A table over registers at the first lane of each round."""
        return table[:, :: self.lanes]

    def replica(self) -> LayoutExpr:
        """Which of the threads with the same iterations a thread is."""
        table = self.table
        replicas = np.full(table.num_threads, -1, dtype=np.int64)
        for replica in range(table.replicas):
            replicas[table.owners[..., replica].ravel()] = replica
        found = digits(replicas)
        if found is None:
            raise NotALayout("no formula gives the replica index of an iteration")
        return expression(found, Coordinate(0), table.num_threads) + int(replicas[0])

    def register(self, registers: IntArray) -> Register:
        """The register that each iteration accesses, from the table of them."""
        found = self._by_share(registers.reshape(self.shape))
        if (found != found[:1]).any():
            raise NotALayout("threads have the same element in different registers")
        grid = found[0].reshape(self.rounds, self.lanes)
        if (grid - grid[:, :1] != grid[:1] - grid[0, 0]).any():
            raise NotALayout("lanes of different rounds have their registers in different orders")
        rounds, lanes = digits(grid[:, 0]), digits(grid[0])
        if rounds is None or lanes is None:
            raise NotALayout("no formula gives the register of an element")
        return Register(
            expression(rounds, Coordinate(0), self.rounds) + int(grid[0, 0]),
            expression(lanes, Coordinate(0), self.lanes),
        )

    def _by_share(self, registers: IntArray) -> IntArray:
        """The values of the iterations of each thread, by thread and register.

        Padding iterations are never run: they take the value of the threads that run the same
        round, or else one extrapolated from the last two.
        """
        if self.cut_short:
            registers = self._continued(registers)
            known = self._by_register(registers)
            if known is not None:
                return known
        return registers[self.table.inverse]

    def _continued(self, registers: IntArray) -> IntArray:
        for axis in self.cut_short:
            lined = np.moveaxis(registers, axis, -1)
            more = np.arange(1, self.table.shape[axis] - self.shape[axis] + 1, dtype=np.int64)
            last = lined[..., -1:]
            step = last - lined[..., -2:-1] if lined.shape[-1] > 1 else np.ones_like(last)
            lined = np.concatenate([lined, last + step * more], axis=-1)
            registers = np.moveaxis(lined, -1, axis)
        return registers

    def _by_register(self, registers: IntArray) -> IntArray | None:
        """By register alone, from the threads that run the iteration."""
        inverse = self.table.inverse
        found = registers[inverse]
        is_run = np.logical_and.reduce(
            [each < size for each, size in zip(inverse, self.shape, strict=True)]
        )
        low = np.where(is_run, found, np.iinfo(np.int64).max).min(axis=0)
        high = np.where(is_run, found, -1).max(axis=0)
        return np.broadcast_to(low, found.shape) if (low == high).all() else None


def unknown_steps(registers: IntArray, rank: int) -> list[LayoutExpr]:
    """How registers grow along dimensions that a serial loop walks, after `rank` known ones."""
    extra = registers.ndim - rank
    if extra == 0:
        return []
    origin = (slice(None),) * rank + (0,) * extra
    rebuilt = registers[origin].reshape(*registers.shape[:rank], *(1,) * extra)
    steps: list[LayoutExpr] = []
    for axis in range(rank, registers.ndim):
        line = registers[(0,) * axis + (slice(None),) + (0,) * (registers.ndim - axis - 1)]
        found = digits(line)
        if found is None:
            raise NotALayout("no formula gives the register of an element")
        steps.append(expression(found, Coordinate(0), len(line)))
        shape = [1] * registers.ndim
        shape[axis] = len(line)
        rebuilt = rebuilt + (line - line[0]).reshape(shape)
    if (rebuilt != registers).any():
        raise NotALayout("the register index is not a sum of one term per dimension")
    return steps


def share_of(loop: ParallelOp, table: Table) -> Share:
    """The share of a loop. Lanes of it access shared memory at once, where a swizzle moves units
    of 16 bytes: with more of them an address is no sum of a start and the lane.
    """
    bits = [
        bit_width(element_type_of(op.memref.type))
        for op in walk(loop)
        if isinstance(op, LoadOp | StoreOp) and space_of(op.memref.type) is Space.SHARED
    ]
    max_lanes = min(_MAX_LANES, _UNIT_BITS // max(8, min(bits))) if bits else _MAX_LANES
    return Share.of(table, is_wide=accesses_memory(loop), max_lanes=max_lanes)


def infeasible(
    loop: ParallelOp,
    table: Table,
    accesses: Sequence[FragmentAccess],
    fragments: Mapping[SSAValue, Table],
) -> tuple[NotALayout, FragmentAccess | None] | None:
    """Why no formula gives the iterations of a thread, and the access concerned."""
    rank = len(table.shape)
    access = next(iter(accesses), None)
    try:
        table.as_map()
        share = share_of(loop, table)
        for axis in range(len(share.shape)):
            share.coordinate(axis)
        if table.replicas > 1 and is_done_once(loop):
            share.replica()
            if (reason := needed_by_all(loop)) is not None:
                raise NotALayout(reason)
        for access in accesses:
            registers = fragments[access.buffer].registers[access.elements]
            share.register(registers[(slice(None),) * rank + (0,) * access.extra])
            unknown_steps(registers, rank)
    except NotALayout as error:
        return error, access
    return None


def _lanes(table: Table, max_lanes: int) -> int:
    """How many consecutive registers are contiguous along the last dimension, for all threads."""
    registers = table.num_registers
    *outer, last = table.inverse
    lanes = 1
    while lanes < max_lanes and registers % (lanes * 2) == 0:
        wider = lanes * 2
        runs = last.reshape(-1, wider)
        if not _is_same(outer, wider) or (np.diff(runs, axis=1) != 1).any():
            break
        lanes = wider
    return lanes


def _is_same(coordinates: Sequence[IntArray], lanes: int) -> bool:
    lined = [each.reshape(-1, lanes) for each in coordinates]
    return all(bool((each == each[:, :1]).all()) for each in lined)
