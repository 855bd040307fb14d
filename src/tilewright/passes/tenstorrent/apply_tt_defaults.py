"""Defaults of a kernel without Tenstorrent annotations.

    func.func @k   ->   func.func @k attributes {
                          tt.schedule = {policy = "contiguous", order = "row_major"},
                          tt.layout = "dram_interleaved", tt.tile = [32, 32]}

An annotation that is present is checked and never changed; the reference's flat attributes
(``tt_schedule_policy``, ``tt_schedule_order``) are taken over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.rasters import POLICIES as ORDERS
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.tenstorrent.annotations import (
    CORE_GRID,
    LAYOUT,
    SCHEDULE,
    TILE,
    chip_of,
    functions,
    get,
    put,
)
from tilewright.passes.tenstorrent.assignments import POLICIES

UNKNOWN_SCHEDULE = "TW7001"
_DEFAULT_BLOCK = (4, 4)
"""Rows and columns of a block of the order ``block_linear``."""


@dataclass(frozen=True)
class ApplyTtDefaults(Pass):
    """Set the schedule policy, the raster order, the layout and the tile shape."""

    name = "apply-tt-defaults"

    policy: str = "contiguous"
    """How blocks are assigned to cores: ``contiguous``, ``strided``, ``rect``."""
    order: str = "row_major"
    """In which order block ids walk over the grid; ``block_linear:4x4`` gives the block."""
    cores: str = ""
    """The core grid, columns by rows, as ``8x8``; by default the portable grid of the chip."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            problem = self._cores(function) or self._schedule(function)
            if problem is not None:
                engine.error(function, problem, UNKNOWN_SCHEDULE)
                continue
            if LAYOUT not in function.attributes:
                function.attributes[LAYOUT] = StringAttr("dram_interleaved")
            if TILE not in function.attributes:
                put(function, TILE, [32, 32])

    def _cores(self, function: FuncOp) -> str | None:
        if not self.cores or CORE_GRID in function.attributes:
            return None
        columns, _, rows = self.cores.partition("x")
        if not (columns.isdigit() and rows.isdigit()):
            return f"core grid '{self.cores}': expected columns x rows, as in 8x8"
        try:
            chip_of(function).with_grid(int(columns), int(rows))
        except ValueError as error:
            return str(error)
        put(function, CORE_GRID, [int(columns), int(rows)])
        return None

    def _schedule(self, function: FuncOp) -> str | None:
        given: dict[str, Any] = dict(get(function, SCHEDULE) or {})
        policy = given.get("policy") or get(function, "tt_schedule_policy") or self.policy
        order, _, block = (
            given.get("order") or get(function, "tt_schedule_order") or self.order
        ).partition(":")
        if policy not in POLICIES:
            return f"unknown schedule policy '{policy}': expected one of {', '.join(POLICIES)}"
        if order not in ORDERS:
            return f"unknown raster order '{order}': expected one of {', '.join(ORDERS)}"
        rect = given.get("rect")
        if order == "block_linear" and rect is None:
            high, _, wide = block.partition("x")
            is_given = high.isdigit() and wide.isdigit()
            rect = [int(high), int(wide)] if is_given else list(_DEFAULT_BLOCK)
        put(function, SCHEDULE, {**given, "policy": policy, "order": order, "rect": rect})
        return None
