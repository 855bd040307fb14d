"""What one thread moves: several neighbouring elements at once, between memory and registers.

    simt.move %A[%i] -> %a[%c0] lanes(8) : memref<?xf16, #global>, memref<64xf16, #local>
    simt.convert %p[%c0] -> %q[%c0] lanes(2) : memref<64xf32, #local>, memref<64xf16, #local>

At thread level arithmetic is scalar; width lives in the moves. A move is one access of the memory
system: its bytes are a power of two, and the address must be a multiple of them. One that is
``simt.unaligned`` reads a tensor from any element on, in two accesses: the aligned units of 16
bytes that have its elements must be inside of the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.names import UNALIGNED
from tilewright.dialects.tile.access import AccessedRegion, RegionAccess, RegionEffects, box_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import Operand, given, integer_attr, integer_prop
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.dialects.tile.types import BUFFER, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, rank_of
from tilewright.ir.text.assembly import AsmOp

_MOVE_BYTES = (1, 2, 4, 8, 16)
UNIT_BYTES = 16
"""Of an access that is aligned for every element in it."""
_REGISTERS = (Space.LOCAL, Space.VAR)
_SEGMENTS = "operandSegmentSizes"


class Hintable(Operation):
    """An access whose last operand may be a policy."""

    def set_policy(self, policy: SSAValue) -> None:
        """Give the access a policy; it has none yet."""
        sizes = self.properties.get(_SEGMENTS)
        self.operands = [*self.operands, policy]
        if sizes is not None:
            counts = cast("DenseArrayBase[IntegerType]", sizes).get_values()
            self.properties[_SEGMENTS] = DenseArrayBase.from_list(i32, [*counts[:-1], 1])


def run_of(buffer: Operand, indices: Sequence[Operand], lanes: int) -> AccessedRegion:
    """`lanes` elements along the last dimension, from `indices` on."""
    extents = (*(1,) * (len(indices) - 1), lanes)
    return box_of(SSAValue.get(buffer), [known(each) for each in indices], extents)


class LaneOp(AsmOp, RegionAccess):
    """Base of ops that take neighbouring elements of one buffer to another.

    One with more operands states all of them again, in the order of the text.
    """

    MORE_OPERANDS: ClassVar[int] = 0
    src = operand_def(BUFFER)
    src_indices = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_indices = var_operand_def(INDEX)
    lanes = integer_prop()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$src `[` $src_indices `]` `->` $dst `[` $dst_indices `]` `lanes` `(` $lanes `)` attr-dict "
        "`:` type($src) `,` type($dst)"
    )

    def __init__(
        self,
        src: Operand,
        src_indices: Sequence[Operand],
        dst: Operand,
        dst_indices: Sequence[Operand],
        lanes: int,
        *others: Operand | None,
    ) -> None:
        """`others` are the first operands after these; further ones are not given."""
        left = [None] * (self.MORE_OPERANDS - len(others))
        super().__init__(
            operands=[src, src_indices, dst, dst_indices, *others, *left],
            properties=given(lanes=integer_attr(lanes)),
        )

    @property
    def width(self) -> int:
        """How many elements."""
        return self.lanes.value.data

    @property
    def bytes(self) -> int:
        """How many bytes of the source; a truth takes one, as every element does at least."""
        return self.width * max(8, bit_width(element_type_of(self.src.type))) // 8

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [run_of(self.src, self.src_indices, self.width)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [run_of(self.dst, self.dst_indices, self.width)]

    @override
    def has_writes(self) -> bool:
        return True

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        for buffer, indices in ((self.src, self.src_indices), (self.dst, self.dst_indices)):
            if rank_of(buffer.type) != len(indices):
                raise VerifyException(
                    f"expects one index per dimension: '{buffer.type}' has "
                    f"{rank_of(buffer.type)}, got {len(indices)}"
                )
        if self.width < 1:
            raise VerifyException(f"moves at least one element, got {self.width}")

    def verify_same_elements(self) -> None:
        source, target = element_type_of(self.src.type), element_type_of(self.dst.type)
        if source != target:
            raise VerifyException(
                f"does not convert: element types must be equal, got '{source}' and '{target}'"
            )

    def verify_bytes(self, allowed: Sequence[int]) -> None:
        if self.bytes not in allowed:
            shown = ", ".join(map(str, allowed))
            raise VerifyException(f"access size must be {shown} bytes, got {self.bytes}")


@irdl_op_definition
class MoveOp(LaneOp, Hintable):
    """One access: memory to registers, registers to memory, or among registers."""

    name = "simt.move"

    src = operand_def(BUFFER)
    src_indices = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_indices = var_operand_def(INDEX)
    policy = opt_operand_def(i64)
    MORE_OPERANDS: ClassVar[int] = 1

    ASM: ClassVar[str] = (
        "$src `[` $src_indices `]` `->` $dst `[` $dst_indices `]` `lanes` `(` $lanes `)` "
        "(`policy` $policy^)? attr-dict `:` type($src) `,` type($dst)"
    )

    @property
    def is_unaligned(self) -> bool:
        """Whether it begins at any element."""
        return UNALIGNED in self.attributes

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        self.verify_bytes(_MOVE_BYTES)
        if self.is_unaligned:
            self.verify_bytes((UNIT_BYTES,))
            if space_of(self.src.type) is not Space.GLOBAL:
                raise VerifyException("only reads of global memory begin at any element")
        if space_of(self.src.type) not in _REGISTERS and space_of(self.dst.type) not in _REGISTERS:
            raise VerifyException(
                "source or destination must be registers: a copy from memory to memory "
                "takes two moves"
            )


@irdl_op_definition
class ConvertOp(LaneOp):
    """Converts elements in registers, several with one instruction where there is one."""

    name = "simt.convert"

    @override
    def verify_(self) -> None:
        super().verify_()
        for buffer in (self.src, self.dst):
            if space_of(buffer.type) not in _REGISTERS:
                raise VerifyException(f"converts registers, not '{buffer.type}'")
