"""Ops of the tile level: values that have become constant, empty loops, trivial assumptions.

    %c8 = arith.constant 8 : index
    tile.parallel (%i) in (%c8)          ->   tile.parallel (%i) in (8)
    tile.parallel (%i, %j) in (0, %n)    ->   nothing
    tile.assume %true                    ->   nothing

Loops of one iteration stay: a parallel loop also distributes the code in it over the threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.ir.interfaces import constant_value
from tilewright.ir.rewrite import AnyPattern, FunctionPattern, Rewriter

if TYPE_CHECKING:
    from tilewright.dialects.tile import ParallelOp, PersistentOp, PipelineOp, RegionOp
    from tilewright.dialects.tile.mixed import MixedLists

_WITH_LISTS = (
    "tile.kernel",
    "tile.parallel",
    "tile.persistent",
    "tile.pipeline",
    "tile.region",
    "nv.mbarrier.arrive_expect_tx",
    "nv.mbarrier.expect_tx",
)
_LOOPS = ("tile.parallel", "tile.persistent", "tile.pipeline")


def _absorb_constants(op: Operation, rewriter: Rewriter) -> None:
    if not cast("MixedLists", op).absorb_constants():
        return
    rewriter.modified(op)
    if op.name == "tile.region":
        region = cast("RegionOp", op)
        if region.region_type != region.result.type:
            rewriter.retype(region.result, region.region_type)


def _drop_empty_loop(op: Operation, rewriter: Rewriter) -> None:
    ranges = cast("ParallelOp | PersistentOp | PipelineOp", op).ranges
    constant = [each for each in ranges if isinstance(each[0], int) and isinstance(each[1], int)]
    if any(lower >= upper for lower, upper in cast("list[tuple[int, int]]", constant)):
        rewriter.erase(op)


def _drop_trivial_assume(op: Operation, rewriter: Rewriter) -> None:
    condition = constant_value(op.operands[0])
    if isinstance(condition, IntegerAttr) and condition.value.data:
        rewriter.erase(op)


TILE_PATTERNS: list[AnyPattern] = [
    FunctionPattern(_absorb_constants, _WITH_LISTS, benefit=1),
    FunctionPattern(_drop_empty_loop, _LOOPS, benefit=1),
    FunctionPattern(_drop_trivial_assume, ("tile.assume",), benefit=1),
]
