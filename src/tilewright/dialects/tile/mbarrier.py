"""Barriers in shared memory: their type, and the base of ops on one.

    %full = tile.alloc : memref<2x!nv.mbarrier, #tile.space<barrier>>

The type is printed as the `nv` dialect's, which defines the ops of threads; tile ops that signal a
barrier (asynchronous copies, commits of MMAs) name it too, so it is defined below both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, operand_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, Orders, RegionAccess, element_of
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.text.assembly import AsmOp


@irdl_attr_definition
class MBarrierType(ParametrizedAttribute, TypeAttribute):
    """A barrier in shared memory: 64 bits with a phase, pending arrivals and pending bytes."""

    name = "nv.mbarrier"


MBARRIER = MBarrierType()


class BarrierOp(AsmOp, RegionAccess):
    """Base of ops on one barrier of a buffer of barriers.

    Operands of a class come before those of its base: one with more of them states all.
    """

    barrier = operand_def(BUFFER)
    index = operand_def(INDEX)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$barrier `[` $index `]` attr-dict `:` type($barrier)"

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [element_of(self.barrier, (known(self.index),))]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        # A wait has no effect, but a wait must not be moved over an arrival either.
        return self.reads()

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        type = self.barrier.type
        if not isinstance(element_type_of(type), MBarrierType) or len(shape_of(type)) != 1:
            raise VerifyException(f"expects a one-dimensional buffer of barriers, but got '{type}'")
        (size,) = shape_of(type)
        position = constant_integer(self.index)
        if position is not None and not 0 <= position < size:
            raise VerifyException(
                f"barrier index {position} is out of bounds: the buffer has {size} barriers"
            )
