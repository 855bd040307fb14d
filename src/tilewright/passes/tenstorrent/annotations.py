"""Annotations on functions: what one pass decides and later ones read.

    tt.schedule     {policy, order, rect, grid, cores, assignments}
    tt.shard        one dictionary per argument; a kernel may come with {memory = "height"}
    tt.launch       {chain, position, launches, arguments}
    tt.l1_tensors   [[name, bytes of a core], ...]
    tt.residency    {mode, streamed}: which loads are repeated in every block
    tt.core_ranges  [[start_x, start_y, end_x, end_y, start, count], ...]
    tt.multicast_groups  [{operand, axis, sender, dests, num_dests, ...}, ...]

They are dictionaries of plain values, so that text tests can state them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.chips import ChipSpec, chip_named
from tilewright.dialects.tensix.json_attr import Json, attribute_of, json_of
from tilewright.dialects.tile import TargetAttr
from tilewright.passes.tile.bind_target import TARGET

SCHEDULE = "tt.schedule"
SHARD = "tt.shard"
CORE_RANGES = "tt.core_ranges"
MULTICAST = "tt.multicast"
"""On a load: the operand under which its groups are listed."""
MULTICAST_GROUPS = "tt.multicast_groups"
SYNC_BARRIERS = "tt.sync_barriers"
LAYOUT = "tt.layout"
TILE = "tt.tile"
CORE_GRID = "tt.core_grid"
DEPTH = "tt.depth"
RESIDENCY = "tt.residency"
LAUNCH = "tt.launch"
"""The name of a chain of launches, the position in it, and the arguments that the caller passes."""
L1_TENSORS = "tt.l1_tensors"
"""Names and bytes per core of the tensors that are in L1 while the program runs."""


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions with a body that are bound to a Tenstorrent chip."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks and _is_tenstorrent(op):
            yield op


def _is_tenstorrent(function: FuncOp) -> bool:
    target = function.attributes.get(TARGET)
    return isinstance(target, TargetAttr) and target.data.kind == "tenstorrent"


def chip_of(function: Operation) -> ChipSpec:
    """The chip that a function is compiled for, with the core grid that it was given."""
    target = function.attributes[TARGET]
    assert isinstance(target, TargetAttr)
    chip = chip_named(target.data.arch or "wormhole")
    given = get(function, CORE_GRID)
    return chip if given is None else chip.with_grid(given[0], given[1])


def get(op: Operation, name: str) -> Any:
    """The value of an annotation; None without it."""
    found = op.attributes.get(name)
    return None if found is None else cast("Any", json_of(found))


def put(op: Operation, name: str, value: Json) -> None:
    """Set an annotation."""
    op.attributes[name] = attribute_of(value)
