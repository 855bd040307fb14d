"""Exchange of registers between the two rows of a wave of 32 lanes.

    amd.interleave %p[%c0] -> %q[%c0] lanes(8) : memref<8xf16, #local>, memref<16xf16, #local>

Lanes 16 apart interleave their registers, and both get all of them: register ``2 * r`` of `dst` is
register ``r`` of the lower lane, ``2 * r + 1`` that of the upper one. So the accumulator of a
WMMA on gfx11, of which a lane has every other column, becomes an operand, of which it has all.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.moves import LaneOp, run_of
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile.access import AccessedRegion
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of

ROW = 16
"""Lanes of a row; a lane exchanges with the one so far away."""
WAVE = 2 * ROW
_REGISTERS = (Space.LOCAL, Space.VAR)
_REGISTER_BYTES = 4


@irdl_op_definition
class InterleaveOp(LaneOp):
    """Registers of two lanes, in turns, to both of them."""

    name = "amd.interleave"

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [run_of(self.dst, self.dst_indices, 2 * self.width)]

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        chip = amd_chip_of(self)
        if chip is None or chip.wave != WAVE:
            raise VerifyException(f"expects an AMD GPU with waves of {WAVE} lanes")
        for buffer in (self.src, self.dst):
            if space_of(buffer.type) not in _REGISTERS:
                raise VerifyException(f"exchanges registers, not '{buffer.type}'")
        if self.bytes % _REGISTER_BYTES:
            raise VerifyException(
                f"exchanges whole registers of {_REGISTER_BYTES} bytes, got {self.bytes} bytes"
            )
