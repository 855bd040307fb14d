"""Describe how each tensor of a kernel is arranged in DRAM.

    %A: memref<250x250xbf16>   ->   tt.shard = [{layout = "tiled", tiles = [8, 8],
                                      padded = [256, 256], page_bytes = 2048, pages = 64, ...}, ...]

One entry per argument, by position; an argument that is not a tensor has an empty one. Pages are
tiles, interleaved over the DRAM banks unless the user has chosen shards. Which dimensions form
the tiles follows from the copies of the kernel, see `tensor_layouts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.formats import format_of
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tensix.shards import ShardPlan
from tilewright.dialects.tile import CopyOp, KernelOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SHARD, functions, get, put
from tilewright.passes.tenstorrent.block_shapes import Axes, axes_of, conflicts_of, name_of
from tilewright.passes.tenstorrent.gathered_layouts import Gather, use_positions
from tilewright.passes.tenstorrent.shared_layouts import unify_layouts
from tilewright.passes.tenstorrent.split_launches import chains
from tilewright.passes.tenstorrent.tensor_layouts import (
    MIXED_AXES,
    LayoutError,
    TensorLayout,
    accesses_of,
    boxes_of,
    layout_from_data,
    layout_of,
)

NO_FORMAT = "TW7020"

UNKNOWN_SHAPE = "TW7023"


@dataclass(frozen=True)
class InferTtShards(Pass):
    """Arrange every tensor argument in tiles."""

    name = "infer-tt-shards"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        errors = engine.error_count
        for function in functions(module):
            if any(isinstance(op, KernelOp) and 0 in op.grid for op in walk(function)):
                continue  # nothing is accessed; the next pass reports the grid
            axes = axes_of(function)
            for conflict in conflicts_of(axes):
                engine.error(
                    conflict.op,
                    f"'{conflict.what}' is used along the rows and along the columns of tiles: "
                    "use two buffers, one of them transposed with T.transpose",
                    MIXED_AXES,
                )
            before = engine.error_count
            found = _shards(function, axes, engine)
            if engine.error_count == before:
                put(function, SHARD, found)
                _use_positions(function)
        if engine.error_count == errors:
            for chain in chains(module):
                if len(chain) > 1:
                    unify_layouts(chain, engine)


def _shards(function: FuncOp, axes: Axes, engine: DiagnosticEngine) -> list[Json]:
    copies = [op for op in walk(function) if isinstance(op, CopyOp)]
    ranges = IndexRanges(function)
    found: list[Json] = []
    chosen: list[dict[str, Any]] = get(function, SHARD) or []
    for position, argument in enumerate(function.body.block.args):
        entry: dict[str, Json] = {}
        if isinstance(argument.type, MemRefType) and argument.uses:
            try:
                entry = _layout(argument, copies, axes, ranges).to_data()
                if position < len(chosen):
                    entry["memory"] = chosen[position].get("memory", entry["memory"])
            except LayoutError as error:
                engine.error(error.op, f"'{name_of(argument)}': {error}", error.code)
        found.append(entry)
    return found


def _layout(
    tensor: SSAValue, copies: list[CopyOp], axes: Axes, ranges: IndexRanges
) -> TensorLayout:
    shape = shape_of(tensor.type)
    element = element_type_of(tensor.type)
    format = format_of(element)
    anchor = next(iter(copies), None)
    use = next((use.operation for use in tensor.uses), anchor)
    assert use is not None or anchor is None
    if format is None:
        function = tensor.owner.parent_op() if use is None else use
        assert function is not None
        raise LayoutError(
            function,
            f"element type '{element}' has no tile format: use bfloat16, float16, float32 or int32",
            NO_FORMAT,
        )
    if any(extent < 0 for extent in shape):
        assert use is not None
        raise LayoutError(
            use,
            "the tensor has a run-time extent: call the kernel, or pass its extents to "
            "fix-arguments",
            UNKNOWN_SHAPE,
        )
    return layout_of(tensor, format, accesses_of(tensor, copies), axes, ranges)


def _use_positions(function: FuncOp) -> None:
    """Offsets of accesses to tensors that the host gathers become positions of blocks."""
    copies = [op for op in walk(function) if isinstance(op, CopyOp)]
    for tensor, layout in layouts_of(function).items():
        for axis, dim in enumerate((layout.row_dim, layout.column_dim)):
            if layout.starts[axis]:
                gather = Gather(layout.granules[axis], layout.starts[axis])
                use_positions(boxes_of(accesses_of(tensor, copies), dim), gather)


def layouts_of(function: FuncOp) -> dict[SSAValue, TensorLayout]:
    """The arrangements that the pass has found, by argument."""
    data: list[dict[str, Any]] = get(function, SHARD)
    arguments = function.body.block.args
    return {
        argument: layout_from_data(each)
        for argument, each in zip(arguments, data, strict=True)
        if each
    }


def shards_of(function: FuncOp) -> dict[SSAValue, ShardPlan]:
    """The shards of the tensors in L1, by argument, after `assign-shards`."""
    data: list[dict[str, Any]] = get(function, SHARD)
    return {
        argument: ShardPlan.from_data(each["shards"])
        for argument, each in zip(function.body.block.args, data, strict=True)
        if "shards" in each
    }
