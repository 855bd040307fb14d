"""Math on tiles of circular buffers (FPU), results in DST.

    tensix.matmul_tile %c0[%i], %c1[%j] -> %d : ...            DST[d] += A[i] @ B[j]
    tensix.binary add %c0[%i], %c1[%j] -> %d : ...             DST[d] = A[i] + B[j]
    tensix.bcast mul col %c0[%i], %c1[%j] -> %d : ...
    tensix.reduce sum row %c0[%i], %scaler[%z] -> %d : ...     DST[d] += reduction of A[i]
    tensix.copy_tile %c0[%i] -> %d : ...                       DST[d] = A[i]

Tile indices count from the front of the buffer (pages that were waited for); DST slots from 0.
`mul` always accumulates into DST, `add` and `sub` do with ``accumulate``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.config import ComputeOp
from tilewright.dialects.tensix.functions import (
    BINARY,
    BROADCASTS,
    REDUCE_DIMS,
    REDUCTIONS,
    InitKey,
)
from tilewright.dialects.tensix.types import CB
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    keyword_prop,
    mark,
    mark_prop,
)
from tilewright.dialects.tile.mixed import INDEX, integers, integers_attr, integers_prop
from tilewright.ir.text.syntax import AttributeSyntax, IntegerArray

_BINARY = KeywordSyntax(BINARY)
_BROADCASTS = KeywordSyntax(BROADCASTS)
_REDUCTIONS = KeywordSyntax(REDUCTIONS)
_REDUCE_DIMS = KeywordSyntax(REDUCE_DIMS)

CBTile = tuple[Operand, Operand]
"""A circular buffer and the index of a tile in it."""


class MathOp(ComputeOp):
    """Base of ops between ``dst_acquire`` and ``dst_commit``."""

    def init_key(self) -> InitKey:
        """The configuration that this op requires."""
        raise NotImplementedError

    def slots_read(self) -> Sequence[SSAValue]:
        """DST slots that the SFPU reads, which must be defined."""
        return ()

    def slots_written(self) -> Sequence[SSAValue]:
        """DST slots with a result."""
        return ()

    def sources(self) -> Sequence[SSAValue]:
        """Circular buffers unpacked to SrcA and SrcB, in this order."""
        return ()


# -- one tile from a circular buffer -----------------------------------------------------------


class TileToDstOp(MathOp):
    """Base of ops that load one tile to DST."""

    KIND: ClassVar[str] = ""

    cb = operand_def(CB)
    index = operand_def(INDEX)
    dst = operand_def(INDEX)

    ASM: ClassVar[str] = "$cb `[` $index `]` `->` $dst attr-dict `:` type($cb)"

    def __init__(self, tile: CBTile, dst: Operand) -> None:
        super().__init__(operands=[*tile, dst])

    @override
    def init_key(self) -> InitKey:
        return InitKey(self.KIND)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)

    @override
    def sources(self) -> Sequence[SSAValue]:
        return (self.cb,)


@irdl_op_definition
class CopyTileOp(TileToDstOp):
    """``DST[dst] = cb[index]``."""

    name = "tensix.copy_tile"
    KIND: ClassVar[str] = "copy"


@irdl_op_definition
class TransposeTileOp(TileToDstOp):
    """``DST[dst] = transpose(cb[index])``."""

    name = "tensix.transpose"
    KIND: ClassVar[str] = "transpose"


# -- two tiles from circular buffers -----------------------------------------------------------


class TwoTilesOp(MathOp):
    """Base of ops on two tiles of circular buffers."""

    in0 = operand_def(CB)
    index0 = operand_def(INDEX)
    in1 = operand_def(CB)
    index1 = operand_def(INDEX)
    dst = operand_def(INDEX)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)

    @override
    def sources(self) -> Sequence[SSAValue]:
        return (self.in0, self.in1)


_TILES = (
    "$in0 `[` $index0 `]` `,` $in1 `[` $index1 `]` `->` $dst attr-dict "
    "`:` type($in0) `,` type($in1)"
)


@irdl_op_definition
class MatmulTileOp(TwoTilesOp):
    """``DST[dst] += in0[index0] @ in1[index1]``; with ``transpose``, of the transposed in1."""

    name = "tensix.matmul_tile"
    transpose = mark_prop()

    ASM: ClassVar[str] = _TILES

    def __init__(self, in0: CBTile, in1: CBTile, dst: Operand, *, transpose: bool = False) -> None:
        super().__init__(operands=[*in0, *in1, dst], properties=given(transpose=mark(transpose)))

    @override
    def init_key(self) -> InitKey:
        return InitKey("matmul", transpose=self.transpose is not None)

    @override
    def sources(self) -> Sequence[SSAValue]:
        return (self.in1, self.in0)


@irdl_op_definition
class MatmulBlockOp(TwoTilesOp):
    """One step of K for a block of tiles.

    ``DST[dst + r*ct + c] += in0[index0 + r*kt] @ in1[index1 + c]`` for r < rt, c < ct, where
    `block` is [ct, rt, kt].
    """

    name = "tensix.matmul_block"
    block = integers_prop()
    transpose = mark_prop()

    ASM: ClassVar[str] = (
        "$in0 `[` $index0 `]` `,` $in1 `[` $index1 `]` `->` $dst `block` $block attr-dict "
        "`:` type($in0) `,` type($in1)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"block": IntegerArray(i64)}

    def __init__(
        self,
        in0: CBTile,
        in1: CBTile,
        dst: Operand,
        block: tuple[int, int, int],
        *,
        transpose: bool = False,
    ) -> None:
        """`block` is columns, rows and the row stride of in0 in tiles."""
        super().__init__(
            operands=[*in0, *in1, dst],
            properties=given(block=integers_attr(block), transpose=mark(transpose)),
        )

    @property
    def extents(self) -> tuple[int, int, int]:
        """Columns, rows, row stride of in0."""
        columns, rows, depth = integers(self.block)
        return columns, rows, depth

    @override
    def init_key(self) -> InitKey:
        return InitKey(
            "matmul_block", transpose=self.transpose is not None, block=integers(self.block)
        )

    @override
    def sources(self) -> Sequence[SSAValue]:
        return (self.in1, self.in0)

    @override
    def verify_(self) -> None:
        super().verify_()
        extents = integers(self.block)
        if len(extents) != 3 or min(extents) < 1:
            raise VerifyException(
                f"block must be three positive extents: columns, rows, depth; got {list(extents)}"
            )


@irdl_op_definition
class BinaryOp(TwoTilesOp):
    """Element-wise FPU function; add and sub overwrite DST unless ``accumulate``."""

    name = "tensix.binary"
    function = keyword_prop(_BINARY)
    accumulate = mark_prop()

    ASM: ClassVar[str] = f"$function {_TILES}"

    def __init__(
        self, function: str, in0: CBTile, in1: CBTile, dst: Operand, *, accumulate: bool = False
    ) -> None:
        super().__init__(
            operands=[*in0, *in1, dst],
            properties=given(function=StringAttr(function), accumulate=mark(accumulate)),
        )

    @override
    def init_key(self) -> InitKey:
        return InitKey("binary", self.function.data, accumulate=self.accumulate is not None)


@irdl_op_definition
class BcastOp(TwoTilesOp):
    """Element-wise FPU function with row 0, column 0 or element [0, 0] of in1 repeated."""

    name = "tensix.bcast"
    function = keyword_prop(_BINARY)
    dim = keyword_prop(_BROADCASTS)

    ASM: ClassVar[str] = f"$function $dim {_TILES}"

    def __init__(self, function: str, dim: str, in0: CBTile, in1: CBTile, dst: Operand) -> None:
        super().__init__(
            operands=[*in0, *in1, dst],
            properties=given(function=StringAttr(function), dim=StringAttr(dim)),
        )

    @override
    def init_key(self) -> InitKey:
        return InitKey("bcast", self.function.data, self.dim.data)


@irdl_op_definition
class ReduceOp(TwoTilesOp):
    """Reduces in0, multiplied by the scaler tile in1; accumulates into DST."""

    name = "tensix.reduce"
    function = keyword_prop(_REDUCTIONS)
    dim = keyword_prop(_REDUCE_DIMS)

    ASM: ClassVar[str] = f"$function $dim {_TILES}"

    def __init__(self, function: str, dim: str, in0: CBTile, scaler: CBTile, dst: Operand) -> None:
        super().__init__(
            operands=[*in0, *scaler, dst],
            properties=given(function=StringAttr(function), dim=StringAttr(dim)),
        )

    @override
    def init_key(self) -> InitKey:
        return InitKey("reduce", self.function.data, self.dim.data)

    @override
    def sources(self) -> Sequence[SSAValue]:
        if self.dim.data == "row" and self.function.data != "max":
            return (self.in1, self.in0)
        return (self.in0, self.in1)
