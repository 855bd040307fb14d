"""Defaults of a kernel without Tenstorrent annotations.

    func.func @k   ->   func.func @k attributes {
                          tt.schedule = {policy = "contiguous", order = "row_major"},
                          tt.layout = "dram_interleaved", tt.tile = [32, 32]}

An annotation that is present is checked and never changed; the reference's flat attributes
(``tt_schedule_policy``, ``tt_schedule_order``) are taken over. An order of the caller precedes the
one that ``T.use_swizzle`` gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tensix.rasters import POLICIES as ORDERS
from tilewright.dialects.tensix.shards import STRATEGIES
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import (
    CORE_GRID,
    LAYOUT,
    SCHEDULE,
    SHARD,
    TILE,
    chip_of,
    functions,
    get,
    put,
)
from tilewright.passes.tenstorrent.assignments import POLICIES
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.rasterize_tiles import BAD_BLOCK

UNKNOWN_SCHEDULE = "TW7001"
UNKNOWN_SHARDING = "TW7024"
MEMORIES = (*STRATEGIES, "dram")
MULTICAST_MODES = ("off", "on", "auto")
_DEFAULT_BLOCK = (4, 4)
"""Rows and columns of a block of the order ``block_linear``."""


@dataclass(frozen=True)
class ApplyTtDefaults(Pass):
    """Set the schedule policy, the raster order, the layout and the tile shape."""

    name = "apply-tt-defaults"

    policy: str = ""
    """How blocks are assigned to cores: ``contiguous``, ``strided``, ``rect``; by default
    ``contiguous``, and ``rect`` with multicast."""
    order: str = ""
    """In which order block ids walk over the grid; ``block_linear:4x4`` gives the block. Without
    one the kernel's own (``T.use_swizzle``), or ``row_major``."""
    cores: str = ""
    """The core grid, columns by rows, as ``8x8``; by default the portable grid of the chip."""
    multicast: str = "off"
    """Whether one core reads what several need: ``off``, ``on``, or ``auto`` where the assignment
    of blocks allows it as it is."""
    shard: str = ""
    """Tensors in L1 and how they are cut: ``A:height,C:block``; ``H:dram`` for none. Workspaces
    that one launch leaves for another are there by default."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            problem = self._cores(function) or self._schedule(function)
            if problem is not None:
                code, message = problem
                engine.error(function, message, code)
                continue
            wrong = self._shards(function)
            if wrong is not None:
                engine.error(function, wrong, UNKNOWN_SHARDING)
                continue
            if LAYOUT not in function.attributes:
                function.attributes[LAYOUT] = StringAttr("dram_interleaved")
            if TILE not in function.attributes:
                put(function, TILE, [32, 32])

    def _cores(self, function: FuncOp) -> tuple[str, str] | None:
        if not self.cores or CORE_GRID in function.attributes:
            return None
        columns, _, rows = self.cores.partition("x")
        if not (columns.isdigit() and rows.isdigit()):
            text = f"core grid '{self.cores}': expected columns x rows, as in 8x8"
            return UNKNOWN_SCHEDULE, text
        try:
            chip_of(function).with_grid(int(columns), int(rows))
        except ValueError as error:
            return UNKNOWN_SCHEDULE, str(error)
        put(function, CORE_GRID, [int(columns), int(rows)])
        return None

    def _shards(self, function: FuncOp) -> str | None:
        """Annotate the arguments that the option names."""
        if not self.shard:
            return None
        names = [name_of(each) for each in function.body.block.args]
        given: list[Json] = get(function, SHARD) or [{} for _ in names]
        for each in self.shard.split(","):
            name, _, memory = (part.strip() for part in each.partition(":"))
            if memory not in MEMORIES:
                return (
                    f"sharding '{memory}' of tensor '{name}': expected one of {', '.join(MEMORIES)}"
                )
            if name not in names:
                return f"no tensor '{name}' to shard: the kernel has {', '.join(names)}"
            given[names.index(name)] = {"memory": memory}
        put(function, SHARD, given)
        return None

    def _schedule(self, function: FuncOp) -> tuple[str, str] | None:
        given: dict[str, Any] = dict(get(function, SCHEDULE) or {})
        multicast = given.get("multicast") or self.multicast
        if multicast not in MULTICAST_MODES:
            known = ", ".join(MULTICAST_MODES)
            return UNKNOWN_SCHEDULE, f"unknown multicast '{multicast}': expected one of {known}"
        default = self.policy or ("rect" if multicast == "on" else "contiguous")
        policy = given.get("policy") or get(function, "tt_schedule_policy") or default
        if policy not in POLICIES:
            known = ", ".join(POLICIES)
            return UNKNOWN_SCHEDULE, f"unknown schedule policy '{policy}': expected one of {known}"
        text = given.get("order") or get(function, "tt_schedule_order") or self.order
        order, block = (text, None) if text else _written_order(function)
        order, colon, extents = order.partition(":")
        if order not in ORDERS:
            known = ", ".join(ORDERS)
            return UNKNOWN_SCHEDULE, f"unknown raster order '{order}': expected one of {known}"
        if colon:
            high, _, wide = extents.partition("x")
            if order != "block_linear" or not (high.isdigit() and wide.isdigit()):
                return UNKNOWN_SCHEDULE, (
                    f"raster order '{text}': block_linear, and no other order, takes rows x "
                    "columns of its blocks, as in block_linear:4x4"
                )
            block = [int(high), int(wide)]
        block = given.get("rect") or block
        if order != "block_linear":
            block = None
        elif block is None:
            block = list(_DEFAULT_BLOCK)
        elif min(block) < 1:
            return BAD_BLOCK, (
                f"the block of the raster order is {block[0]}x{block[1]}: use extents >= 1"
            )
        schedule = {**given, "policy": policy, "order": order, "rect": block}
        if multicast != "off":
            schedule["multicast"] = multicast
        put(function, SCHEDULE, schedule)
        return None


def _written_order(function: FuncOp) -> tuple[str, list[int] | None]:
    """The order of ``T.use_swizzle`` in a kernel; row_major without it.

    A panel of rows is walked column by column, a panel of columns row by row: bands of the order
    ``block_linear`` with blocks of one column, or one band of all rows. Every panel begins
    on the same side; that GPUs walk every second one backwards serves their caches.
    """
    for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
        if kernel.raster is None:
            continue
        panel = kernel.raster.data.panel
        if kernel.raster.data.order == "row":
            return "block_linear", [panel, 1]
        rows = kernel.grid[1] if len(kernel.grid) > 1 else 1
        return "block_linear", [rows if isinstance(rows, int) else panel, panel]
    return "row_major", None
