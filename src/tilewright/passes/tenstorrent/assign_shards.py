"""Assign tensors to the L1 of the cores that work on them.

    tt.shard = [{memory = "height", tiles = [8, 4], ...}, ...]
      -> tt.shard = [{memory = "l1_height_sharded", in_place = true,
                      shards = {tensor = [8, 4], shape = [1, 4], cores = [[0, 0], ...]}, ...}, ...]

Which tensors are in L1, cut into rows, columns or rectangles of tiles, is the user's choice; what
the shards are follows from the blocks of the cores (`shard_choice`). If every core finds what
it accesses in its own shard and the ops can index it (`in_place`), nothing moves: the circular
buffer of the operand is the shard. Otherwise tiles are read from, or written to, the L1 of the core
that holds them, over the NoC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.shards import STRATEGIES, ShardPlan, layout_name
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import (
    L1_TENSORS,
    SHARD,
    chip_of,
    get,
    put,
)
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.in_place import can_be_in_place
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of
from tilewright.passes.tenstorrent.infer_tt_shards import layouts_of
from tilewright.passes.tenstorrent.shard_accesses import boxes_of, copies_of
from tilewright.passes.tenstorrent.shard_choice import (
    Boxes,
    even_shards,
    is_in_place,
    shards_for,
)
from tilewright.passes.tenstorrent.split_launches import chains, workspaces_of
from tilewright.passes.tenstorrent.tensor_layouts import TensorLayout

DRAM = ("dram", "dram_interleaved")
SHARE = 0.5
"""The part of L1 that tensors may take which the user has not put there."""


@dataclass(frozen=True)
class AssignShards(Pass):
    """Choose the shards of tensors in L1, and which kernels work on them in place."""

    name = "assign-shards"

    l1_budget: int = 0
    """Bytes that circular buffers and shards may take; 0 for what the chip has."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for chain in chains(module):
            _Assignment(chain, self.l1_budget).run()


@dataclass
class _Use:
    """One tensor in one function."""

    function: FuncOp
    tensor: SSAValue
    layout: TensorLayout
    boxes: Boxes | None
    """The tiles of each core; None if they are not known."""
    is_indexed: bool
    """Whether the ops can index tiles of a shard."""

    def is_in_place(self, shards: ShardPlan) -> bool:
        return self.is_indexed and self.boxes is not None and is_in_place(shards, self.boxes)


@dataclass
class _Assignment:
    """Shards of the tensors of functions that run in sequence."""

    functions: list[FuncOp]
    l1_budget: int
    bytes_of: dict[str, int] = field(default_factory=dict[str, int])

    def run(self) -> None:
        entries = [list[dict[str, Any]](get(each, SHARD)) for each in self.functions]
        for position in range(len(entries[0])):
            own = [each[position] for each in entries if each[position]]
            memory = own[0]["memory"] if own else DRAM[0]
            if memory in STRATEGIES:
                self._assign(position, memory, entries)
            elif own and memory == DRAM[1]:
                self._infer(position, entries)
        for function, data in zip(self.functions, entries, strict=True):
            for entry in data:
                if entry.get("memory") in DRAM:
                    entry["memory"] = DRAM[1]
            put(function, SHARD, list[Json](data))
            if self.bytes_of:
                put(function, L1_TENSORS, [[name, size] for name, size in self.bytes_of.items()])

    def _infer(self, position: int, entries: list[list[dict[str, Any]]]) -> None:
        """Leave in L1 what one launch writes for another and the caller does not see.

        Of the ways to cut it that fit, the one with most kernels that work in place.
        """
        users = [each for each, data in zip(self.functions, entries, strict=True) if data[position]]
        if len(users) < 2 or position not in workspaces_of(self.functions[0]):
            return
        uses = self._uses(position, entries)
        chip = chip_of(self.functions[0])
        budget = (self.l1_budget or chip.cb_budget_bytes) * SHARE
        found: list[tuple[int, str]] = []
        for strategy in STRATEGIES:
            shards = _best(strategy, uses, chip.grid)
            size = shards.core_pages * uses[0].layout.format.tile_bytes
            if size + sum(self.bytes_of.values()) <= budget:
                found.append((sum(use.is_in_place(shards) for use in uses), strategy))
        if found:
            # The first of equals: max() keeps it.
            _, strategy = max(found, key=lambda each: each[0])
            self._assign(position, strategy, entries)

    def _assign(self, position: int, strategy: str, entries: list[list[dict[str, Any]]]) -> None:
        uses = self._uses(position, entries)
        shards = _best(strategy, uses, chip_of(self.functions[0]).grid)
        for function, data in zip(self.functions, entries, strict=True):
            use = next((each for each in uses if each.function is function), None)
            if use is not None:
                data[position] |= {
                    "memory": layout_name(strategy),
                    "shards": shards.to_data(),
                    "in_place": use.is_in_place(shards),
                }
        tensor = uses[0]
        size = shards.core_pages * tensor.layout.format.tile_bytes
        self.bytes_of[name_of(tensor.tensor)] = size

    def _uses(self, position: int, entries: list[list[dict[str, Any]]]) -> list[_Use]:
        found: list[_Use] = []
        for function, data in zip(self.functions, entries, strict=True):
            if not data[position]:
                continue
            tensor = function.body.block.args[position]
            layout = layouts_of(function)[tensor]
            (program,) = [op for op in walk(function) if isinstance(op, CoreProgramOp)]
            boxes = boxes_of(program, tensor, layout, assignments_of(function))
            is_indexed = can_be_in_place(copies_of(program, tensor), tensor)
            found.append(_Use(function, tensor, layout, boxes, is_indexed))
        return found


def _best(strategy: str, uses: list[_Use], grid: tuple[int, int]) -> ShardPlan:
    """The shards on which most kernels work in place."""
    *leading, rows, columns = uses[0].layout.tiles
    for extent in leading:
        rows *= extent
    candidates = [even_shards(strategy, (rows, columns), grid)]
    for use in uses:
        if use.boxes:
            suited = shards_for(strategy, (rows, columns), use.boxes, grid)
            candidates += [] if suited is None else [suited]
    return max(candidates, key=lambda shards: sum(use.is_in_place(shards) for use in uses))
