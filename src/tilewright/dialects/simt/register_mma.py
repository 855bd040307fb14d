"""Matrix instructions whose operands and accumulators are registers of a warp or wave.

    nv.mma %a[%c0], %b[%c0] -> %c[%c0] shape [16, 8, 16] : memref<8xf16, #local>, ...

``c += a @ b``. The registers of one instruction are contiguous; how many a thread holds of each
operand, and in which order, is a matter of the instruction.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, RegionAccess, RegionEffects, box_of
from tilewright.dialects.tile.base import Operand, given, mark
from tilewright.dialects.tile.mixed import (
    INDEX,
    Integers,
    integers,
    integers_attr,
    integers_prop,
    known,
)
from tilewright.dialects.tile.types import BUFFER
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import INT64_ARRAY, AttributeSyntax

_EXTENTS = 3


def register_run(buffer: SSAValue, index: SSAValue, elements: int) -> AccessedRegion:
    """Contiguous registers, from an index on."""
    return box_of(buffer, [known(index)], (elements,))


def verify_shape(shape: Integers) -> None:
    """The shape of an instruction has the extents m, n and k."""
    if len(integers(shape)) != _EXTENTS:
        raise VerifyException("MMA shape must have three extents: m, n, k")


class RegisterMmaOp(AsmOp, RegionAccess):
    """Base of matrix instructions that read and write registers."""

    a = operand_def(BUFFER)
    a_index = operand_def(INDEX)
    b = operand_def(BUFFER)
    b_index = operand_def(INDEX)
    c = operand_def(BUFFER)
    c_index = operand_def(INDEX)
    shape: Integers = integers_prop()

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$a `[` $a_index `]` `,` $b `[` $b_index `]` `->` $c `[` $c_index `]` "
        "`shape` $shape attr-dict `:` type($a) `,` type($b) `->` type($c)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"shape": INT64_ARRAY}

    def __init__(
        self,
        a: tuple[Operand, Operand],
        b: tuple[Operand, Operand],
        c: tuple[Operand, Operand],
        shape: Sequence[int],
        *,
        unsigned: tuple[bool, bool] = (False, False),
    ) -> None:
        marks = given(unsigned_a=mark(unsigned[0]), unsigned_b=mark(unsigned[1]))
        super().__init__(operands=[*a, *b, *c], properties={"shape": integers_attr(shape), **marks})

    @property
    def mnk(self) -> tuple[int, int, int]:
        m, n, k = integers(self.shape)
        return m, n, k

    @abstractmethod
    def registers(self) -> tuple[int, int, int]:
        """Elements of a, b and c that one thread holds."""

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        a, b, c = self.registers()
        return [
            register_run(self.a, self.a_index, a),
            register_run(self.b, self.b_index, b),
            register_run(self.c, self.c_index, c),
        ]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [register_run(self.c, self.c_index, self.registers()[2])]

    @override
    def has_writes(self) -> bool:
        return True

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        verify_shape(self.shape)
