"""Small ops on blocks and the shapes of their buffers, which several passes use."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tile import AllocOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Integers, integers
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tenstorrent.element_bodies import tiles_of
from tilewright.passes.tenstorrent.positions import EXTENTS


def extents_of(buffer: SSAValue) -> tuple[int, int]:
    """Rows and columns of an on-chip buffer, in elements."""
    owner = buffer.owner
    assert isinstance(owner, AllocOp), buffer
    rows, columns = integers(cast("Integers", owner.attributes[EXTENTS]))
    return rows, columns


def buffer_tiles(buffer: SSAValue) -> tuple[int, int]:
    """Rows and columns of an on-chip buffer, in tiles."""
    return tiles_of(extents_of(buffer))


def reduces_columns(source: SSAValue, target: SSAValue) -> bool:
    """Whether a reduction runs along the columns of tiles, so that rows remain."""
    rows, columns = extents_of(source)
    remaining = extents_of(target)
    if remaining == (rows, 1) and rows > 1:
        return True
    if remaining == (1, columns) and columns > 1:
        return False
    return columns > 1


def identity(op: Operation, source: SSAValue, target: SSAValue) -> ElementwiseOp:
    """An element-wise op that copies a buffer, converting its elements."""
    made = ElementwiseOp(buffer_tiles(target), [source], ["tile"], [target])
    made.body.block.add_op(TileYieldOp([made.elements[0]]))
    return made


def zero_fill(buffer: SSAValue) -> ElementwiseOp:
    """An element-wise op that sets a buffer to zero."""
    made = ElementwiseOp(buffer_tiles(buffer), [], [], [buffer])
    zero = ConstantOp.of(0.0, element_type_of(buffer.type))
    made.body.block.add_ops([zero, TileYieldOp([zero.results[0]])])
    return made


def staging_buffer(op: Operation, like: SSAValue, element: Attribute, name: str) -> SSAValue:
    """A new buffer of the shape of `like`, allocated at the start of the kernel."""
    owner = like.owner
    assert isinstance(owner, AllocOp)
    made = AllocOp(buffer_type(element, shape_of(like.type), Space.SHARED), name=f"{name}_tile")
    made.attributes[EXTENTS] = owner.attributes[EXTENTS]
    Rewriter().insert_after(owner, made, op)
    return made.result
