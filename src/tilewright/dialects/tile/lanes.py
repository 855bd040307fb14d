"""Exchange between the threads of a warp.

    %s = tile.warp_reduce sum %x : f32           of all lanes, to all lanes
    %y = tile.shuffle xor %x, %mask : f32, i32   the value of another lane
    %b = tile.vote any %p : i1                   whether it holds in some lane

These are the ops of the level whose meaning names threads; they come from kernels that do. Those
are written for warps of 32 threads and mean that on every GPU: `T` gives its ops a width. Without a
width an op is one of the whole warp (AMD: wave), which has as many lanes as the target's; a ballot
of 64 lanes needs 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import AnyFloat, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import Orders
from tilewright.dialects.tile.base import (
    ANY,
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    keyword_prop,
    opt_integer_prop,
    string,
)
from tilewright.dialects.tile.types import is_numeric
from tilewright.ir.text.assembly import AsmOp, TypeRule

WARP_REDUCE_KINDS = KeywordSyntax(("sum", "max", "min", "bitand", "bitor", "bitxor"))
SHUFFLE_MODES = KeywordSyntax(("idx", "xor", "up", "down"))
VOTE_MODES = KeywordSyntax(("any", "all", "ballot"))
WARP = 32
"""Threads of a warp of the language, on every GPU."""
MAX_LANES = 64
"""Of a warp of any GPU."""

_LIKE_VALUE: Mapping[str, TypeRule] = {
    "result": TypeRule("the result type must equal the value type", lambda types: types["value"])
}


def _verify_numeric(type: Attribute) -> None:
    if not is_numeric(type):
        raise VerifyException(f"shuffles require integers or floats, got '{type}'")


@irdl_op_definition
class WarpReduceOp(AsmOp):
    """Combines the values of 32 neighbouring threads, on every GPU: of a wave of 64, each half.

    Kernels are written for that size, and combine the results of their warps by hand.
    """

    name = "tile.warp_reduce"
    LANES: ClassVar[int] = WARP
    kind = keyword_prop(WARP_REDUCE_KINDS)
    value = operand_def(ANY)
    result = result_def(ANY)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$kind $value attr-dict `:` type($value)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = _LIKE_VALUE

    def __init__(self, kind: str, value: Operand) -> None:
        super().__init__(
            operands=[value],
            result_types=[SSAValue.get(value).type],
            properties=given(kind=string(kind)),
        )

    @override
    def verify_(self) -> None:
        _verify_numeric(self.value.type)
        if self.kind.data.startswith("bit") and isinstance(self.value.type, AnyFloat):
            raise VerifyException(f"{self.kind.data} requires integers, got '{self.value.type}'")


@irdl_op_definition
class ShuffleOp(AsmOp):
    """The value that another lane of the same group of `width` lanes, or warp, holds."""

    name = "tile.shuffle"
    mode = keyword_prop(SHUFFLE_MODES)
    value = operand_def(ANY)
    offset = operand_def(i32)
    width = opt_integer_prop()
    result = result_def(ANY)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$mode $value `,` $offset (`width` $width^)? attr-dict `:` type($value)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = _LIKE_VALUE

    def __init__(
        self, mode: str, value: Operand, offset: Operand, width: int | None = None
    ) -> None:
        super().__init__(
            operands=[value, offset],
            result_types=[SSAValue.get(value).type],
            properties=given(
                mode=string(mode), width=None if width is None else integer_attr(width)
            ),
        )

    @override
    def verify_(self) -> None:
        _verify_numeric(self.value.type)
        if self.width is None:
            return
        width = self.width.value.data
        if not 1 <= width <= MAX_LANES or width & (width - 1):
            raise VerifyException(f"width must be a power of two up to {MAX_LANES}, got {width}")

    def lanes(self, warp_size: int) -> int:
        """The lanes of a group."""
        return warp_size if self.width is None else self.width.value.data


@irdl_op_definition
class VoteOp(AsmOp):
    """Vote of all lanes of a warp: ``any``, ``all`` (an i1), or ``ballot`` (one bit per lane).

    With a width it is the vote of 32 threads, where a warp of the target has more.
    """

    name = "tile.vote"
    mode = keyword_prop(VOTE_MODES)
    predicate = operand_def(i1)
    width = opt_integer_prop()
    result = result_def(ANY)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$mode $predicate (`width` $width^)? attr-dict `:` type($result)"

    def __init__(
        self, mode: str, predicate: Operand, ballot: Attribute = i32, width: int | None = None
    ) -> None:
        super().__init__(
            operands=[predicate],
            result_types=[ballot if mode == "ballot" else i1],
            properties=given(
                mode=string(mode), width=None if width is None else integer_attr(width)
            ),
        )

    def lanes(self, warp_size: int) -> int:
        """The lanes that vote together."""
        return warp_size if self.width is None else self.width.value.data

    @override
    def verify_(self) -> None:
        if self.width is not None and self.width.value.data != WARP:
            raise VerifyException(f"width must be {WARP}, got {self.width.value.data}")
        expected = (i32, i64) if self.mode.data == "ballot" else (i1,)
        if self.result.type not in expected:
            types = " or ".join(f"'{each}'" for each in expected)
            raise VerifyException(
                f"{self.mode.data} yields {types}, but the result is '{self.result.type}'"
            )
