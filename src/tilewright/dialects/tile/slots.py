"""One of several versions of a buffer.

    %s = tile.slot %ring[%v] : memref<3x128x64xf16, #shared> to memref<128x64xf16, #shared>

Pipelining gives a buffer several versions, contiguous along a new first dimension, so that one can
be filled while others are read. A slot is a buffer like any other: ops on the buffer work on the
slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, Bound, LooksThrough, Unit, box_of
from tilewright.dialects.tile.allocs import as_buffer
from tilewright.dialects.tile.base import Operand
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.dialects.tile.types import BUFFER, BufferType
from tilewright.ir.text.assembly import AsmOp


def slot_type(ring: BufferType) -> BufferType:
    """The type of one version."""
    return MemRefType(ring.element_type, ring.get_shape()[1:], NoneAttr(), ring.memory_space)


@irdl_op_definition
class SlotOp(AsmOp, LooksThrough):
    """The version of a buffer that an index names."""

    name = "tile.slot"

    ring = operand_def(BUFFER)
    index = operand_def(INDEX)
    result = result_def(BUFFER)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$ring `[` $index `]` attr-dict `:` type($ring) `to` type($result)"

    def __init__(self, ring: Operand, index: Operand) -> None:
        ring = SSAValue.get(ring)
        super().__init__(operands=[ring, index], result_types=[slot_type(as_buffer(ring))])

    @override
    def viewed(self) -> SSAValue:
        return self.ring

    @override
    def part(self, unit: Unit) -> AccessedRegion:
        shape = as_buffer(self.result).get_shape()
        return self.box((0,) * len(shape), shape, unit)

    @override
    def box(self, offsets: Sequence[Bound], extents: Sequence[Bound], unit: Unit) -> AccessedRegion:
        return box_of(self.ring, (known(self.index), *offsets), (1, *extents), unit)

    @override
    def verify_(self) -> None:
        ring = as_buffer(self.ring)
        if len(ring.get_shape()) < 2:
            raise VerifyException("a one-dimensional buffer has no versions")
        if not isinstance(ring.layout, NoneAttr):
            raise VerifyException("the versions of a buffer must be contiguous")
        if self.result.type != slot_type(ring):
            raise VerifyException(
                f"a version of '{ring}' has type '{slot_type(ring)}', got '{self.result.type}'"
            )
        index, versions = known(self.index), ring.get_shape()[0]
        if isinstance(index, int) and not 0 <= index < versions:
            raise VerifyException(
                f"version {index} is out of bounds: the buffer has {versions} versions"
            )
