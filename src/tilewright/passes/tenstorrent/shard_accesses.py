"""Which tiles of a tensor each core accesses: the smallest rectangle that holds all of them.

Offsets of copies are evaluated for every block of a core; the indices of loops inside of a block
take their first and last value. That is exact for offsets that grow or shrink with each index;
another offset has no rectangle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.block_shapes import region_shape
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.control_flow import ControlFlow, words_of
from tilewright.passes.tenstorrent.tensor_layouts import NONE, TensorLayout

_Core = tuple[int, int]
_Loop = ForOp | MatmulKLoopOp
_MONOTONE = ("arith.addi", "arith.subi", "arith.index_cast", "arith.extsi", "arith.extui")
_SCALING = ("arith.muli", "arith.divui", "arith.divsi", "arith.floordivsi")


@dataclass(frozen=True)
class TileBox:
    """A rectangle of tiles: the first row and column, and the ones after the last."""

    top: int
    left: int
    bottom: int
    right: int

    def union(self, other: TileBox | None) -> TileBox:
        if other is None:
            return self
        return TileBox(
            min(self.top, other.top),
            min(self.left, other.left),
            max(self.bottom, other.bottom),
            max(self.right, other.right),
        )


def copies_of(program: CoreProgramOp, tensor: SSAValue) -> list[CopyOp]:
    """The copies from or to a tensor."""
    return [
        op
        for op in walk(program)
        if isinstance(op, CopyOp) and tensor in (base_of(op.src), base_of(op.dst))
    ]


def is_load(op: CopyOp) -> bool:
    """Whether a copy reads a tensor."""
    return role_of(op).value == "reader"


def boxes_of(
    program: CoreProgramOp,
    tensor: SSAValue,
    layout: TensorLayout,
    assignments: Sequence[Assignment],
) -> Mapping[_Core, TileBox] | None:
    """The tiles of each core that accesses the tensor; None where that is not known."""
    copies = copies_of(program, tensor)
    (blocks,) = [op for op in program.body_block.ops if isinstance(op, ForOp)]
    if not all(_is_bounded(op, blocks) for op in copies):
        return None
    found: dict[_Core, TileBox] = {}
    for core in assignments:
        words = words_of(core)
        values: dict[SSAValue, int] = {
            argument: words[name]
            for name, argument in zip(program.argument_names, program.body_block.args, strict=True)
            if name in words
        }
        for index in range(core.count):
            values[blocks.induction_variable] = index
            for op in copies:
                for each in _ends(_loops_of(op, blocks), values):
                    box = _box(op, layout, each)
                    found[core.x, core.y] = box.union(found.get((core.x, core.y)))
    return found


def _loops_of(op: Operation, outermost: ForOp) -> list[_Loop]:
    """The loops around an op inside of the loop over blocks, outer ones first."""
    found: list[_Loop] = []
    parent = op.parent_op()
    while parent is not None and parent is not outermost:
        if isinstance(parent, (ForOp, MatmulKLoopOp)):
            found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _ends(loops: Sequence[_Loop], values: Mapping[SSAValue, int]) -> Iterator[dict[SSAValue, int]]:
    """The first and last values of the indices of nested loops."""
    if not loops:
        yield dict(values)
        return
    loop, rest = loops[0], loops[1:]
    flow = ControlFlow(_ignore, dict(values))
    lower, upper, step = (
        flow.value(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)
    )
    if upper <= lower:
        return
    last = lower + (upper - lower - 1) // step * step
    for index in dict.fromkeys((lower, last)):
        yield from _ends(rest, {**values, loop.regions[0].block.args[0]: index})


def _ignore(op: Operation, times: int) -> None:
    """Nothing is counted."""


def _box(op: CopyOp, layout: TensorLayout, values: dict[SSAValue, int]) -> TileBox:
    loads = is_load(op)
    _, offsets, _ = region_shape(op.src if loads else op.dst)
    rows, columns = buffer_tiles(op.dst if loads else op.src)
    flow = ControlFlow(_ignore, values)

    def value(offset: Mixed) -> int:
        return offset if isinstance(offset, int) else flow.value(offset)

    *extents, tile_rows, _ = layout.tiles
    row = 0
    for dim, extent in zip(layout.leading, extents, strict=True):
        row = row * extent + value(offsets[dim])
    row *= tile_rows
    tiles = [0, 0]
    for axis, dim in enumerate((layout.row_dim, layout.column_dim)):
        if dim != NONE:
            granule = layout.granules[axis]
            tiles[axis] = value(offsets[dim]) // granule * layout.granule_tiles[axis]
    top, left = row + tiles[0], tiles[1]
    return TileBox(top, left, top + rows, left + columns)


# -- offsets that the ends of loops bound ----------------------------------------------------------


def _is_bounded(op: CopyOp, blocks: ForOp) -> bool:
    loops = _loops_of(op, blocks)
    inner: set[SSAValue] = {loop.regions[0].block.args[0] for loop in loops}
    _, offsets, _ = region_shape(op.src if is_load(op) else op.dst)
    return all(isinstance(each, int) or _is_monotone(each, inner) for each in offsets)


def _is_monotone(value: SSAValue, inner: set[SSAValue]) -> bool:
    """Whether a value grows or shrinks with every loop index that it depends on."""
    owner = value.owner
    if isinstance(owner, Block) or not _depends(value, inner):
        return True
    if owner.name in _MONOTONE:
        return all(_is_monotone(each, inner) for each in owner.operands)
    if owner.name in _SCALING:
        scaled = [each for each in owner.operands if constant_integer(each) is None]
        is_dividend = owner.name == "arith.muli" or scaled == [owner.operands[0]]
        return len(scaled) == 1 and is_dividend and _is_monotone(scaled[0], inner)
    return False


def _depends(value: SSAValue, inner: set[SSAValue]) -> bool:
    if value in inner:
        return True
    owner = value.owner
    return isinstance(owner, Operation) and any(_depends(each, inner) for each in owner.operands)
