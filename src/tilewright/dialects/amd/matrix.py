"""Matrix cores: registers in, accumulators in registers, by a wave.

    amd.mfma %a[%c0], %b[%c0] -> %c[%c0] shape [32, 32, 8] : memref<8xf16, #local>, ...
    amd.wmma %a[%c0], %b[%c0] -> %c[%c0] shape [16, 16, 16] : memref<16xf16, #local>, ...

``c += a @ b`` with `a` the instruction's first operand: for a transposed accumulator a pass names
B first. The registers of one instruction are contiguous, in the order that ``layouts.hardware``
(`matrix_core`) gives. The instruction must be one of the chip's, which the function around it
names as its target: compilers accept some that the chip lacks, and fail much later.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.register_mma import RegisterMmaOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import Operand, given, mark, mark_prop
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.layouts.hardware.amd_chips import Chip, MatrixInstruction, chip_named
from tilewright.layouts.hardware.matrix_core import MatrixCore
from tilewright.layouts.hardware.mfma import mfma
from tilewright.layouts.hardware.wmma import wmma

_REGISTERS = (Space.LOCAL, Space.VAR)
XF32 = "xf32"
"""The element type of float32 operands that are read with 10 bits of mantissa."""


def matrix_core(instruction: MatrixInstruction) -> MatrixCore:
    """The fragments of an instruction."""
    if instruction.kind == "mfma":
        return mfma(instruction.m, instruction.k)
    return wmma(instruction.width)


def shapes_text(instructions: Sequence[MatrixInstruction]) -> str:
    """``32x32x8, 16x16x16``, each shape once."""
    return ", ".join(dict.fromkeys("x".join(map(str, each.shape)) for each in instructions))


class MatrixCoreOp(RegisterMmaOp):
    """Base of the two kinds of matrix instructions."""

    KIND: ClassVar[str]
    """``mfma`` or ``wmma``, as in the table of chips."""

    @property
    def chip(self) -> Chip:
        """The chip of the function around it."""
        chip = amd_chip_of(self)
        if chip is None:
            raise VerifyException("expects a function whose target is an AMD GPU")
        return chip

    @property
    def multiplied_types(self) -> tuple[str, str]:
        """Element types of A and B, as the table of chips names them."""
        return _name(element_type_of(self.a.type)), _name(element_type_of(self.b.type))

    @property
    def unsigned(self) -> tuple[bool, bool]:
        """Whether 8-bit integers of A and of B have no sign."""
        return False, False

    def instruction(self) -> MatrixInstruction:
        """The chip's instruction; there is one in a verified op."""
        chip, (a, b) = self.chip, self.multiplied_types
        found = _instruction(chip.name, self.KIND, a, b, self.mnk)
        if found is not None:
            return found
        available = [each for each in chip.instructions_for(a, b) if each.kind == self.KIND]
        shape = "x".join(map(str, self.mnk))
        has = shapes_text(available)
        raise VerifyException(
            f"{chip} has no {self.KIND} {shape} of {a} and {b}: "
            + (f"its shapes are {has}" if has else f"it has no {self.KIND} of these types")
        )

    @override
    def registers(self) -> tuple[int, int, int]:
        found = self.instruction()
        return found.width, found.width, found.accumulators(self.chip.wave)

    @override
    def verify_(self) -> None:
        super().verify_()
        for buffer in (self.a, self.b, self.c):
            if space_of(buffer.type) not in _REGISTERS:
                raise VerifyException(f"multiplies registers, not '{buffer.type}'")
        found, result = self.instruction(), str(element_type_of(self.c.type))
        if result != found.c:
            raise VerifyException(f"accumulators must be {found.c}, got '{result}'")


@cache
def _name(type: Attribute) -> str:
    return str(type)


@cache
def _instruction(
    chip: str, kind: str, a: str, b: str, mnk: tuple[int, int, int]
) -> MatrixInstruction | None:
    """The instruction of a chip, by its name, for a shape and element types."""
    for each in chip_named(chip).instructions_for(a, b):
        if each.kind == kind and each.shape == mnk:
            return each
    return None


@irdl_op_definition
class MfmaOp(MatrixCoreOp):
    """``c += a @ b`` by a wave of 64 lanes (gfx9)."""

    name = "amd.mfma"
    KIND: ClassVar[str] = "mfma"
    xf32 = mark_prop()
    """Float32 operands are read with 10 bits of mantissa."""

    def __init__(
        self,
        a: tuple[Operand, Operand],
        b: tuple[Operand, Operand],
        c: tuple[Operand, Operand],
        shape: Sequence[int],
        *,
        xf32: bool = False,
    ) -> None:
        super().__init__(a, b, c, shape)
        self.properties.update(given(xf32=mark(xf32)))

    @property
    @override
    def multiplied_types(self) -> tuple[str, str]:
        return (XF32, XF32) if self.xf32 is not None else super().multiplied_types

    @override
    def verify_(self) -> None:
        types = (element_type_of(self.a.type), element_type_of(self.b.type))
        if self.xf32 is not None and not all(map(_is_float32, types)):
            raise VerifyException(f"xf32 operands must be f32, got '{types[0]}' and '{types[1]}'")
        super().verify_()


def _is_float32(type: Attribute) -> bool:
    return isinstance(type, Float32Type)


@irdl_op_definition
class WmmaOp(MatrixCoreOp):
    """``c += a @ b`` by a wave of 32 lanes (gfx11, gfx12)."""

    name = "amd.wmma"
    KIND: ClassVar[str] = "wmma"
    unsigned_a = mark_prop()
    """8-bit integers of `a` have no sign."""
    unsigned_b = mark_prop()

    @property
    @override
    def unsigned(self) -> tuple[bool, bool]:
        return self.unsigned_a is not None, self.unsigned_b is not None

    @override
    def verify_(self) -> None:
        super().verify_()
        if any(self.unsigned) and self.multiplied_types != ("i8", "i8"):
            raise VerifyException("only 8-bit integers can be unsigned")
