"""Loaded operands of loops that run sequentially share a buffer.

    for t in 0..n { a = load ...; c = dot(a, b, c) }      the tile of `a`  \
    for t in n..m { a = load ...; c = dot(a, b, c) }      the tile of `a`  / one buffer

A tensor that a loop loads for its GEMMs does not leave its iteration, so that of loops in one block
only one has such tensors at a time. Tiles of the same type and shape in memory, where a transposed
one has its rows, then are one buffer, which has its versions (`num_stages`) once, and
`specialize-warps` gives such loops one ring: copies for the second loop run ahead while the first
one computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from xdsl.ir import Attribute, Operation

from tilewright.analysis.raising.loops import LoopPlan
from tilewright.analysis.raising.slots import Slot, Slots
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt import FuncOp
from tilewright.ir.traversal import children, walk

_Kind: TypeAlias = tuple[tuple[int, ...], Attribute]


def share_in_sequence(function: FuncOp, slots: Slots, loops: Mapping[Operation, LoopPlan]) -> None:
    """Let pipelined loops of a block use the buffers of the first, where tiles are alike."""
    for op in walk(function):
        for region in op.regions:
            for block in region.blocks:
                beside = [each for each in block.ops if isinstance(each, ForOp)]
                if len(beside) > 1:
                    _share(beside, slots, loops)


def _share(beside: list[ForOp], slots: Slots, loops: Mapping[Operation, LoopPlan]) -> None:
    known: dict[_Kind, list[Slot]] = {}
    for loop in beside:
        used: dict[_Kind, int] = {}
        for slot in _own_tiles(loop, slots, loops):
            kind = (slot.shape[::-1] if slot.is_transposed else slot.shape, slot.element)
            position = used.get(kind, 0)
            used[kind] = position + 1
            buffers = known.setdefault(kind, [])
            if position == len(buffers):
                buffers.append(slot)
            else:
                slot.memory_of = buffers[position]


def _own_tiles(loop: ForOp, slots: Slots, loops: Mapping[Operation, LoopPlan]) -> list[Slot]:
    """The buffers that only the loads of a pipelined loop fill, in the order of the loads."""
    if loop not in loops or not loops[loop].stages:
        return []
    found: dict[Slot, int] = {}
    for op in children(loop):
        for value in op.results:
            slot = slots.of.get(value)
            if slot is not None and slot.is_shared:
                found[slot] = found.get(slot, 0) + 1
    every = Counter(slots.of.values())
    return [slot for slot, count in found.items() if count == every[slot]]
