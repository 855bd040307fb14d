"""Elements of a buffer that a tile op names: a whole buffer, or a region of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from tilewright.dialects.arith import AddiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import ParallelOp, RegionOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class TileRegion:
    """Elements of a buffer: for each of its dimensions where they begin, and how many."""

    buffer: SSAValue
    offsets: tuple[Mixed, ...]
    extents: tuple[Mixed, ...]

    @property
    def axes(self) -> list[int]:
        """The dimensions along which there is more than one element."""
        return [axis for axis, extent in enumerate(self.extents) if extent != 1]

    def element(
        self, code: IndexBuilder, position: Sequence[SSAValue], axes: Sequence[int]
    ) -> list[SSAValue]:
        """The indices of the element at `position` along `axes`."""
        indices: list[SSAValue] = []
        positions = dict(zip(axes, position, strict=True))
        for axis, offset in enumerate(self.offsets):
            if axis not in positions:
                indices.append(code.index(offset))
            elif offset == 0:
                indices.append(positions[axis])
            else:
                indices.append(code.add(AddiOp(code.index(offset), positions[axis])).results[0])
        return indices


def part_of(value: SSAValue) -> TileRegion:
    """A buffer or a region as a part."""
    owner = value.owner
    if isinstance(owner, RegionOp):
        return TileRegion(owner.base, owner.offsets, owner.extents)
    shape = shape_of(value.type)
    assert DYNAMIC_INDEX not in shape, "whole-buffer operands of tile ops have compile-time extents"
    return TileRegion(value, (0,) * len(shape), shape)


def matrix_axes(part: TileRegion) -> list[int]:
    """The two dimensions of a matrix, as `GemmOp.mnk` finds them: extents of 1 are left out."""
    axes = list(range(len(part.extents)))
    while len(axes) > 2 and part.extents[axes[0]] == 1:
        del axes[0]
    return axes if len(axes) == 2 else part.axes


def copy_elements(code: IndexBuilder, source: SSAValue, target: SSAValue) -> None:
    """Threads copy a part of a buffer to another of the same shape and type."""
    here, there = part_of(source), part_of(target)
    loop = ParallelOp(list(here.extents))
    code.add(loop)
    body = code.inside(loop.body.block)
    position, axes = list(loop.body.block.args), range(len(here.extents))
    value = body.add(LoadOp(here.buffer, here.element(body, position, axes))).results[0]
    body.add(StoreOp(value, there.buffer, there.element(body, position, axes)))
