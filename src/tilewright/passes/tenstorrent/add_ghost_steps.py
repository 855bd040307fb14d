"""Give the cores at the ragged edge of a grid as many steps as the others.

    %by = %row0 + %r                     %row = %row0 + %r
    tile.copy %c -> %C[%by, ...]   ->    %by = min(%row, 8)
                                         scf.if %row < 9 { tile.copy %c -> %C[%by, ...] }

A grid of 9 rows of blocks on 5 rows of cores, two each, leaves one for the last core: it could not
take part in a multicast along a column of cores. With ghost steps it loads, receives and computes
like the others, the last block of its column a second time, and stores nothing. Rows and columns
are completed only where that saves page reads, and only up to a quarter of all steps; never in a
kernel that loads from a tensor that it also stores to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.arith import AddiOp, AndiOp, CmpiOp, ConstantOp, MinuiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SCHEDULE, functions, get
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.group_multicast import DISSOLVED, multicast_mode
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of, put_assignments
from tilewright.passes.tenstorrent.multicast_groups import LoadedPages
from tilewright.passes.tenstorrent.traffic import predicted_traffic

MAX_SHARE = 0.25
"""Ghost steps among all steps of all cores, at most."""


@dataclass(frozen=True)
class AddGhostSteps(Pass):
    """Complete ragged rectangles of blocks where that lets more cores share their loads."""

    name = "add-ghost-steps"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in list(functions(module)):
            schedule: dict[str, Any] = get(function, SCHEDULE)
            if multicast_mode(function) != "off" and schedule["policy"] == "rect":
                _complete(function, engine)


@dataclass(frozen=True)
class _Choice:
    """Assignments with ghost steps, and the axes along which there are some."""

    assignments: tuple[Assignment, ...]
    rows: bool
    columns: bool

    @property
    def steps(self) -> int:
        return sum(each.steps for each in self.assignments)

    @property
    def ghosts(self) -> int:
        return self.steps - sum(each.count for each in self.assignments)


def _complete(function: FuncOp, engine: DiagnosticEngine) -> None:
    program = next((op for op in walk(function) if isinstance(op, CoreProgramOp)), None)
    if program is None or _reads_what_it_writes(program):
        return
    choices = list(_choices(assignments_of(function)))
    if not choices:
        return
    best, fewest = None, _page_reads(program, assignments_of(function))
    dissolved: _Choice | None = None
    for choice in choices:
        changed = function.clone()
        (inside,) = [op for op in walk(changed) if isinstance(op, CoreProgramOp)]
        _rewrite(inside, choice, get(function, SCHEDULE)["grid"])
        reads = _page_reads(inside, choice.assignments)
        if reads >= fewest:
            continue
        if choice.ghosts > MAX_SHARE * choice.steps:
            dissolved = choice
        else:
            best, fewest = choice, reads
    if dissolved is not None:
        engine.remark(
            function,
            "the cores at the edge of the grid are left out of some multicasts: they would need "
            f"{dissolved.ghosts} ghost steps of {dissolved.steps} in all, more than "
            f"{MAX_SHARE:.0%}; use a grid of blocks that the core grid divides",
            DISSOLVED,
        )
    if best is not None:
        _rewrite(program, best, get(function, SCHEDULE)["grid"])
        put_assignments(function, best.assignments)


def _reads_what_it_writes(program: CoreProgramOp) -> bool:
    """Whether a ghost step would load pages of a tensor that the step with that block stores."""
    copies = [op for op in walk(program) if isinstance(op, CopyOp)]
    written = {base_of(op.dst) for op in copies if role_of(op) is Role.WRITER}
    return any(base_of(op.src) in written for op in copies if role_of(op) is Role.READER)


def _page_reads(program: CoreProgramOp, assignments: tuple[Assignment, ...]) -> int:
    """Pages that the cores read if they share what they can."""
    function = program.parent_op()
    assert isinstance(function, FuncOp)
    traffic = predicted_traffic(function, program, assignments)
    alone = traffic.dram_page_reads + traffic.l1_page_reads
    return alone - sum(each.saved_pages for each in LoadedPages(program, assignments).shared())


def _choices(assignments: Sequence[Assignment]) -> Iterator[_Choice]:
    """Ghost rows, ghost columns, and both, where they are not none."""
    rectangles = [each.rect for each in assignments if each.count and each.rect is not None]
    high, wide = (max(each[n] for each in rectangles) for n in (2, 3))
    is_ragged = [
        any(each[n] < largest for each in rectangles) for n, largest in ((2, high), (3, wide))
    ]
    for rows, columns in ((True, False), (False, True), (True, True)):
        if rows > is_ragged[0] or columns > is_ragged[1]:
            continue
        found: list[Assignment] = []
        for each in assignments:
            if each.count and each.rect is not None:
                missing = (high - each.rect[2]) * rows, (wide - each.rect[3]) * columns
                found.append(replace(each, ghosts=missing))
            else:
                found.append(each)
        yield _Choice(tuple(found), rows, columns)


# -- the program -----------------------------------------------------------------------------------


def _rewrite(program: CoreProgramOp, choice: _Choice, grid: Sequence[int]) -> None:
    """Keep the coordinates of blocks inside the grid, and store only blocks of the core."""
    inside: list[SSAValue] = []
    for name, extent, is_ragged in (
        ("row0", grid[1], choice.rows),
        ("col0", grid[0], choice.columns),
    ):
        if is_ragged:
            argument = program.body_block.args[program.argument_names.index(name)]
            inside += [_clamp(use.operation, extent) for use in list(argument.uses)]
    condition = inside[-1]
    if len(inside) > 1:
        owner = condition.owner
        assert isinstance(owner, Operation)
        both = AndiOp(inside[0], inside[1])
        Rewriter().insert_after(_last(inside), both, owner)
        condition = both.results[0]
    for op in [op for op in walk(program) if isinstance(op, CopyOp)]:
        if role_of(op) is Role.WRITER:
            _guard(op, condition)


def _clamp(op: Operation, extent: int) -> SSAValue:
    """Bound a coordinate by the last of the grid; whether it was in the grid."""
    assert isinstance(op, AddiOp), "the first row and column of a core are offsets"
    limit, last = (ConstantOp.of(each, IndexType()) for each in (extent, extent - 1))
    bounded = MinuiOp(op.results[0], last.results[0])
    bounded.results[0].name_hint = op.results[0].name_hint
    Rewriter().replace_all_uses(op.results[0], bounded.results[0])
    bounded.operands[0] = op.results[0]
    test = CmpiOp("ult", op.results[0], limit.results[0])
    Rewriter().insert_after(op, [limit, last, bounded, test], op)
    return test.results[0]


def _last(values: Sequence[SSAValue]) -> Operation:
    """The op that comes last in its block, of those that compute `values`."""
    owners = [each.owner for each in values]
    ops = [each for each in owners if isinstance(each, Operation)]
    block = ops[0].parent
    assert block is not None
    return max(ops, key=list(block.ops).index)


def _guard(op: CopyOp, condition: SSAValue) -> None:
    end = YieldOp()
    guarded = IfOp(condition, [], Region(Block([end])))
    Rewriter().insert_before(op, guarded, op)
    op.detach()
    guarded.regions[0].block.insert_op_before(op, end)
