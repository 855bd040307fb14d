"""Copies of a few bytes by one thread, which goes on while they are in flight.

nv.async_move %A[%i] -> %As[%o] lanes(8) valid %n : memref<?xf16, #global>, memref<...>
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.moves import Hintable, LaneOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.types import BUFFER, space_of

_ASYNC_BYTES = (4, 8, 16)


@irdl_op_definition
class AsyncMoveOp(LaneOp, Hintable):
    """Starts the move of a few bytes from global to shared memory; zeros from lane `valid` on."""

    name = "nv.async_move"

    src = operand_def(BUFFER)
    src_indices = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_indices = var_operand_def(INDEX)
    valid = opt_operand_def(INDEX)
    policy = opt_operand_def(i64)
    MORE_OPERANDS: ClassVar[int] = 2

    ASM: ClassVar[str] = (
        "$src `[` $src_indices `]` `->` $dst `[` $dst_indices `]` `lanes` `(` $lanes `)` "
        "(`valid` $valid^)? (`policy` $policy^)? attr-dict `:` type($src) `,` type($dst)"
    )

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        self.verify_bytes(_ASYNC_BYTES)
        source, destination = space_of(self.src.type), space_of(self.dst.type)
        if source is not Space.GLOBAL or destination is None or not destination.is_shared:
            raise VerifyException("asynchronous moves must be from global to shared memory")
