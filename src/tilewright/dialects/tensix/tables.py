"""Integers by position, compiled into the kernels.

    %row = tensix.table [0, 64, 70, 71] %block

What a table holds was computed at compile time, from data that the host had: where groups of rows
begin, which steps a mask leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i64
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.base import TensixOp
from tilewright.dialects.tile.base import Operand
from tilewright.dialects.tile.mixed import INDEX, integers, integers_attr, integers_prop
from tilewright.ir.text.syntax import AttributeSyntax, IntegerArray

_LOWEST, _END = -(1 << 31), 1 << 32


@irdl_op_definition
class TableOp(TensixOp):
    """The integer at a position of a table, modulo 2^32."""

    name = "tensix.table"

    values = integers_prop()
    position = operand_def(INDEX)
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$values $position attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"values": IntegerArray(i64)}

    def __init__(self, values: Sequence[int], position: Operand) -> None:
        super().__init__(
            operands=[position],
            result_types=[INDEX],
            properties={"values": integers_attr(values)},
        )

    @property
    def entries(self) -> tuple[int, ...]:
        return integers(self.values)

    @override
    def verify_(self) -> None:
        super().verify_()
        if not self.entries:
            raise VerifyException("a table has at least one entry")
        wide = [each for each in self.entries if not _LOWEST <= each < _END]
        if wide:
            raise VerifyException(f"table entry {wide[0]} has more than 32 bits")
