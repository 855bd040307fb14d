"""Assign the blocks of the launch grid to the cores of the target.

    tile.kernel (8, 8)   ->   tt.schedule = {..., grid = [8, 8, 1], cores = [8, 8],
                                 assignments = [[0, 0, 1], [1, 1, 1], ...]}     (core, start, count)

The grid counts blocks; a block may consist of several tiles. A core without blocks stays in the
list and is not launched. The policy ``rect`` adds the rectangle of each core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SCHEDULE, chip_of, functions, get, put
from tilewright.passes.tenstorrent.assignments import assign
from tilewright.passes.tenstorrent.split_launches import SEVERAL_KERNELS

EMPTY_GRID = "TW7010"
STRIDED_MULTICAST = "TW7011"
UNKNOWN_GRID = "TW7012"


@dataclass(frozen=True)
class InferTtSchedule(Pass):
    """Distribute the blocks of the grid over the cores."""

    name = "infer-tt-schedule"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            kernels = [op for op in walk(function) if isinstance(op, KernelOp)]
            if len(kernels) != 1:
                engine.error(
                    function,
                    f"the function launches {len(kernels)} kernels, and a Tenstorrent program has "
                    "one: run split-launches before",
                    SEVERAL_KERNELS,
                )
                continue
            _infer(function, kernels[0], engine)


def _infer(function: FuncOp, kernel: KernelOp, engine: DiagnosticEngine) -> None:
    known = [extent for extent in kernel.grid if isinstance(extent, int)]
    if len(known) < len(kernel.grid):
        engine.error(
            kernel,
            "the launch grid depends on run-time values, and the Tenstorrent target assigns "
            "blocks to cores at compile time: compile the kernel for fixed sizes",
            UNKNOWN_GRID,
        )
        return
    x, y, z = (*known, 1, 1, 1)[:3]
    if x * y * z == 0:
        engine.error(
            kernel, f"the launch grid is empty: {x} x {y} x {z} blocks; use sizes > 0", EMPTY_GRID
        )
        return
    schedule: dict[str, Any] = get(function, SCHEDULE) or {}
    if schedule["policy"] == "strided" and schedule.get("multicast") == "on":
        engine.error(
            kernel,
            "multicast with the policy strided: the cores of a row or column have no common rows "
            "or columns of blocks; use the policy rect",
            STRIDED_MULTICAST,
        )
        return
    cores = chip_of(function).grid
    found = assign(schedule["policy"], (x, y, z), cores)
    put(
        function,
        SCHEDULE,
        {
            **schedule,
            "grid": [x, y, z],
            "cores": list(cores),
            "assignments": [_row(each) for each in found],
        },
    )


def _row(each: Assignment) -> Json:
    row = [each.core_id, each.start_tile, each.count, *(each.rect or ())]
    return [*row, *each.ghosts] if any(each.ghosts) else row


def put_assignments(function: FuncOp, assignments: Sequence[Assignment]) -> None:
    """Replace the assignments of a function."""
    schedule: dict[str, Any] = get(function, SCHEDULE)
    put(function, SCHEDULE, {**schedule, "assignments": [_row(each) for each in assignments]})


def assignments_of(function: FuncOp) -> tuple[Assignment, ...]:
    """The assignments that the pass has found."""
    schedule: dict[str, Any] = get(function, SCHEDULE)
    width = schedule["cores"][0]
    return tuple(_assignment(row, width) for row in schedule["assignments"])


def _assignment(row: Sequence[int], width: int) -> Assignment:
    core, start, count, *rest = row
    rect = (rest[0], rest[1], rest[2], rest[3]) if rest else None
    ghosts = (rest[4], rest[5]) if len(rest) > 4 else (0, 0)
    return Assignment(core, core % width, core // width, start, count, rect, ghosts)
