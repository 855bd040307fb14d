"""Additions to contiguous elements of global memory with one instruction.

nv.red_add %v[%c0] -> %C[%i] lanes(4) : memref<4xf32, #local>, memref<?xf32, #global>
"""

from __future__ import annotations

from typing_extensions import override
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.moves import LaneOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of

_RED_BYTES = (4, 8, 16)


@irdl_op_definition
class RedAddOp(LaneOp):
    """Adds registers to global memory; each element is updated atomically, by itself."""

    name = "nv.red_add"

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        self.verify_bytes(_RED_BYTES)
        if not isinstance(element_type_of(self.src.type), Float32Type | Float16Type | BFloat16Type):
            raise VerifyException(f"adds f32, f16 or bf16, not '{self.src.type}'")
        source, destination = space_of(self.src.type), space_of(self.dst.type)
        if source is not Space.LOCAL or destination is not Space.GLOBAL:
            raise VerifyException("adds registers to global memory")
