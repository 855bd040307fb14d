"""Give each core of the schedule its logical coordinates.

    core 9, start 9, count 1, grid 8 wide   ->   tt.core_ranges [[1, 1, 1, 1, 9, 1]]

Coordinates are logical; the host API translates them to NoC coordinates. Kernels are created on
the rectangles that cover the active cores, run-time arguments are set core by core.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.tenstorrent.annotations import CORE_RANGES, chip_of, functions, put
from tilewright.passes.tenstorrent.assignments import core_ranges
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of

OUTSIDE_GRID = "TW7040"


@dataclass(frozen=True)
class MapCores(Pass):
    """Translate core numbers into logical coordinates."""

    name = "map-cores"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            width, height = chip_of(function).grid
            ranges = core_ranges(assignments_of(function))
            outside = [each for each in ranges if each[2] >= width or each[3] >= height]
            if outside:
                x, y = outside[0][:2]
                engine.error(
                    function,
                    f"core ({x}, {y}) is outside the core grid of {width} x {height}: recompute "
                    "the schedule for this chip with infer-tt-schedule",
                    OUTSIDE_GRID,
                )
                continue
            put(function, CORE_RANGES, [list(each) for each in ranges])
