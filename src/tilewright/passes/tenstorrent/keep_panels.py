"""Keep what consecutive blocks of a core read in common.

    scf.for %i {                               scf.for %i {
      tensix.matmul_k_loop %k {                  %first = %i == 0 or %by differs from block %i - 1
        tile.copy A[%by, %k] -> %a               tensix.matmul_k_loop %k {
        tile.copy B[%k, %bx] -> %b                 scf.if %first { tile.copy A[%by, %k] -> %a }
      }                                   ->       tile.copy B[%k, %bx] -> %b
      ...                                        }
    }                                            ...
                                                 scf.if %last { tensix.release %a }
                                               }

L1 is not a cache: a core that processes consecutive blocks of one row reads the rows of A again for
every block, unless the whole panel stays in its circular buffer. A load is retained where

- the values that its address depends on (`panel_loads`) stay the same from one block to the next
  at least once, in the schedule and the order of the kernel; and
- the panel of a block fits L1 beside all other circular buffers.

``residency`` is ``off``; ``auto``, which leaves the depth of the other buffers as it is; or ``on``,
which makes them as shallow as they may be where that is needed. The reads that are saved decide
between panels that do not fit together. Results are the same bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import AddiOp, CmpiOp, ConstantOp, MaxuiOp, MinuiOp, OriOp, SubiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.blocks import ReleaseOp
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter, inherit_location
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import (
    L1_TENSORS,
    RESIDENCY,
    chip_of,
    functions,
    get,
    put,
)
from tilewright.passes.tenstorrent.apply_tt_defaults import UNKNOWN_SCHEDULE
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_sizes import EFFORTS, Sizing, allocs_of, total_bytes
from tilewright.passes.tenstorrent.circular_buffers import format_of_buffer
from tilewright.passes.tenstorrent.control_flow import ControlFlow
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of
from tilewright.passes.tenstorrent.lower_circular_buffers import first_fit, prepare
from tilewright.passes.tenstorrent.page_sequences import block_loop
from tilewright.passes.tenstorrent.panel_loads import PanelLoad, panel_loads
from tilewright.passes.tenstorrent.reports import NotSupported
from tilewright.passes.tenstorrent.retained_panels import RETAINED, RetainedPanel, keep
from tilewright.passes.tile.clone_ops import copy_op

RESIDENCIES = ("off", "on", "auto")

_EXHAUSTIVE = 10
"""So many candidates are tried in all combinations, more of them greedily."""


@dataclass(frozen=True)
class KeepPanels(Pass):
    """Load operands once for all consecutive blocks of a core that need them."""

    name = "keep-panels"

    residency: str = "off"
    """``off``, ``auto`` (where L1 has space beside the other buffers) or ``on``."""
    l1_budget: int = 0
    """Bytes that circular buffers may take; 0 for what the chip has."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            if self.residency not in RESIDENCIES:
                engine.error(
                    function,
                    f"unknown residency '{self.residency}': use {', '.join(RESIDENCIES)}",
                    UNKNOWN_SCHEDULE,
                )
            elif self.residency != "off":
                for program in [op for op in walk(function) if isinstance(op, CoreProgramOp)]:
                    _keep(function, program, self.residency, self.l1_budget)


def _keep(function: FuncOp, program: CoreProgramOp, residency: str, l1_budget: int) -> None:
    cores = [core for core in assignments_of(function) if core.count]
    candidates = [_panel(program, each, cores) for each in panel_loads(program)]
    useful = [each for each in candidates if each.panel.saved_page_reads]
    space = _Space(function, program, useful, residency, l1_budget)
    chosen = space.choose()
    if chosen:
        realisation = _Realisation(block_loop(program))
        for each in chosen:
            realisation.keep(each)
    put(
        function,
        RESIDENCY,
        {
            "mode": residency,
            "streamed": [_streamed(each, space) for each in candidates if each not in chosen],
        },
    )


# -- run lengths -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidate:
    """A load, and what keeping its panel would save."""

    source: PanelLoad
    panel: RetainedPanel
    changes: bool
    """Whether some core needs more than one panel."""

    @property
    def saved_bytes(self) -> int:
        return self.panel.saved_page_reads * self.page_bytes

    @property
    def page_bytes(self) -> int:
        return format_of_buffer(self.source.alloc.result).tile_bytes


def _panel(program: CoreProgramOp, source: PanelLoad, cores: Sequence[Assignment]) -> Candidate:
    loads = sum(len(runs(program, source.keys, core)) for core in cores)
    changes = loads > len(cores)
    panel = RetainedPanel(
        tensor=name_of(base_of(source.load.src)),
        axes=source.axes,
        loops=source.loops,
        steps=source.steps,
        tiles=source.tiles,
        # A panel of several steps is replaced step by step; other contents are loaded ahead.
        copies=2 if source.loops == 0 and changes else 1,
        loads=loads,
        blocks=sum(core.steps for core in cores),
    )
    return Candidate(source, panel, changes)


def runs(program: CoreProgramOp, keys: Sequence[SSAValue], core: Assignment) -> list[int]:
    """The lengths of the runs of blocks of a core in which no key changes."""
    iteration = block_loop(program).induction_variable
    words = [core.words[name] for name in program.argument_names]
    arguments = dict(zip(program.body_block.args, words, strict=True))
    blocks: list[tuple[int, ...]] = []
    for index in range(core.steps):
        flow = ControlFlow(lambda _op, _times: None, {**arguments, iteration: index})
        blocks.append(tuple(flow.value(key) for key in keys))
    return [len(list(group)) for _, group in itertools.groupby(blocks)]


# -- space in L1 -----------------------------------------------------------------------------------


class _Space:
    """The panels that fit L1, found by sizing a copy of the program."""

    def __init__(
        self,
        function: FuncOp,
        program: CoreProgramOp,
        candidates: Sequence[Candidate],
        residency: str,
        l1_budget: int,
    ) -> None:
        self.candidates = candidates
        shards: list[tuple[str, int]] = get(function, L1_TENSORS) or []
        self.budget = l1_budget or chip_of(function).cb_budget_bytes
        self.budget -= sum(size for _, size in shards)
        self.efforts = EFFORTS
        self.free = 0
        self.sizing: Sizing | None = None
        if not candidates:
            return
        positions = {alloc: n for n, alloc in enumerate(allocs_of(program))}
        copy = function.clone()
        (own,) = [op for op in walk(copy) if isinstance(op, CoreProgramOp)]
        allocs = allocs_of(own)
        self.allocs = {each: allocs[positions[each.source.alloc]] for each in candidates}
        try:
            prepare(own)
            self.sizing = Sizing(copy, own)
            effort, plans = first_fit(self.sizing, self.budget)
        except NotSupported:  # lower-circular-buffers reports it
            self.sizing = None
            return
        if effort is None:
            self.sizing = None
            return
        self.free = self.budget - total_bytes(plans)
        """Bytes that nothing takes, the chosen panels included."""
        if residency == "auto":
            self.efforts = (effort,)

    def choose(self) -> list[Candidate]:
        """The panels that save most bytes of DRAM reads, then take least L1."""
        if self.sizing is None:
            return []
        chosen = self._best() if len(self.candidates) <= _EXHAUSTIVE else self._greedy()
        used = self._bytes(chosen)
        assert used is not None
        self.free = self.budget - used
        return chosen

    def _best(self) -> list[Candidate]:
        best: tuple[int, int] = (0, 0)
        chosen: list[Candidate] = []
        for size in range(1, len(self.candidates) + 1):
            for subset in itertools.combinations(self.candidates, size):
                saved = sum(each.saved_bytes for each in subset)
                if saved < best[0]:
                    continue
                used = self._bytes(subset)
                if used is not None and (saved, -used) > best:
                    best, chosen = (saved, -used), list(subset)
        return chosen

    def _greedy(self) -> list[Candidate]:
        chosen: list[Candidate] = []
        order = sorted(
            self.candidates,
            key=lambda each: -each.panel.saved_page_reads / max(1, each.panel.pages),
        )
        for each in order:
            if self._bytes([*chosen, each]) is not None:
                chosen.append(each)
        return [each for each in self.candidates if each in chosen]

    def _bytes(self, retained: Sequence[Candidate]) -> int | None:
        """The L1 of a core with these panels; None if it is not enough."""
        assert self.sizing is not None
        for each, alloc in self.allocs.items():
            if each in retained:
                keep(alloc, each.panel)
            else:
                alloc.attributes.pop(RETAINED, None)
        for effort in self.efforts:
            used = total_bytes(self.sizing.plans(effort))
            if used <= self.budget:
                return used
        return None


def _streamed(each: Candidate, space: _Space) -> dict[str, Json]:
    """Why a load is executed in every block."""
    panel = each.panel
    if not panel.saved_page_reads:
        reason = "no two consecutive blocks of a core read the same"
    else:
        reason = f"a panel takes {panel.pages * each.page_bytes} B of L1, {space.free} B are free"
    return {
        "tensor": panel.tensor,
        "buffer": each.source.alloc.buffer_name,
        "pages": panel.pages,
        "saved_page_reads": panel.saved_page_reads,
        "reason": reason,
    }


# -- conditions ------------------------------------------------------------------------------------


@dataclass
class _Realisation:
    """Conditions at the start of the loop over blocks, and what they guard."""

    loop: ForOp
    conditions: dict[tuple[SSAValue, ...], tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[tuple[SSAValue, ...], tuple[SSAValue, SSAValue]]
    )

    def __post_init__(self) -> None:
        first = self.loop.body.block.first_op
        assert first is not None
        self.anchor: Operation = first
        self.own: dict[SSAValue, SSAValue] = {}

    def keep(self, each: Candidate) -> None:
        """Load in the first block of a run, release in the last."""
        keys = each.source.keys if each.changes else ()
        if keys not in self.conditions:
            first, last = self._first(keys), self._last(keys)
            first.name_hint, last.name_hint = "is_first", "is_last"
            self.conditions[keys] = first, last
        first, last = self.conditions[keys]
        load = each.source.load
        guard = IfOp(first)
        Rewriter().insert_before(load, guard, load)
        load.detach()
        _insert(guard.then_region.block, load)
        end = self.loop.body.block.last_op
        assert end is not None
        guard = IfOp(last)
        Rewriter().insert_before(end, guard, load)
        release = ReleaseOp(each.source.alloc.result)
        inherit_location(release, load.location)
        _insert(guard.then_region.block, release)
        keep(each.source.alloc, each.panel)

    def _first(self, keys: Sequence[SSAValue]) -> SSAValue:
        """Whether the keys differ from those of the block before."""
        iteration = self.loop.induction_variable
        found = self._add(CmpiOp("eq", iteration, self._constant(0)))
        if keys:
            one = self._constant(1)
            before = self._add(SubiOp(self._add(MaxuiOp(iteration, one)), one))
            found = self._differ(found, keys, before)
        return found

    def _last(self, keys: Sequence[SSAValue]) -> SSAValue:
        """Whether the keys differ from those of the next block."""
        iteration, one = self.loop.induction_variable, self._constant(1)
        following = self._add(AddiOp(iteration, one))
        found = self._add(CmpiOp("eq", following, self.loop.upper_bound))
        if keys:
            final = self._add(SubiOp(self.loop.upper_bound, one))
            found = self._differ(found, keys, self._add(MinuiOp(following, final)))
        return found

    def _differ(self, found: SSAValue, keys: Sequence[SSAValue], other: SSAValue) -> SSAValue:
        there: dict[SSAValue, SSAValue] = {self.loop.induction_variable: other}
        for key in keys:
            here, beside = self._computed(key, self.own), self._computed(key, there)
            found = self._add(OriOp(found, self._add(CmpiOp("ne", here, beside))))
        return found

    def _computed(self, value: SSAValue, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """A copy of the computation of a value, at the start of the loop."""
        if value in values:
            return values[value]
        owner = value.owner
        if isinstance(owner, Block) or not self.loop.is_ancestor(owner):
            return value
        for operand in owner.operands:
            values[operand] = self._computed(operand, values)
        self._insert(copy_op(owner, values))
        return values[value]

    def _constant(self, value: int) -> SSAValue:
        return self._add(ConstantOp.of(value, IndexType()))

    def _add(self, op: Operation) -> SSAValue:
        self._insert(op)
        return op.results[0]

    def _insert(self, op: Operation) -> None:
        inherit_location(op, self.loop.location)
        self.loop.body.block.insert_op_before(op, self.anchor)


def _insert(block: Block, op: Operation) -> None:
    """Put an op at the end of a block, before its terminator."""
    end = block.last_op
    assert end is not None
    block.insert_op_before(op, end)
