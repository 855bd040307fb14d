"""Exchange between threads through registers, and the launch of a kernel.

    %s = simt.allreduce sum %x threads(4) scale(1) : f32
    %n = simt.stride %A axis(0) : memref<64x64xf16, strided<[?, 1]>>
    simt.launch @gemm_kernel grid(%gx, %gy, %c1) args(%A, %n, %map) : memref<...>, i32, ...

`simt.allreduce` combines the values of `threads` threads whose numbers differ by multiples of
`scale` within a run of ``threads * scale``; each of them gets the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import Orders
from tilewright.dialects.tile.base import (
    ANY,
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    string,
)
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.text.syntax import SYMBOL, AttributeSyntax

COMBINATIONS = KeywordSyntax(("sum", "prod", "max", "min", "bitand", "bitor", "bitxor"))


@irdl_op_definition
class AllReduceOp(AsmOp):
    """Combines a value of several threads; all get the result."""

    name = "simt.allreduce"
    kind = keyword_prop(COMBINATIONS)
    value = operand_def(ANY)
    threads = integer_prop()
    scale = integer_prop(1)
    result = result_def(ANY)

    traits = traits_def(Orders())
    ASM: ClassVar[str] = (
        "$kind $value `threads` `(` $threads `)` `scale` `(` $scale `)` attr-dict `:` type($value)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule(
            "the result type must equal the value type", lambda types: types["value"]
        )
    }

    def __init__(self, kind: str, value: Operand, threads: int, scale: int = 1) -> None:
        super().__init__(
            operands=[value],
            result_types=[SSAValue.get(value).type],
            properties=given(
                kind=string(kind), threads=integer_attr(threads), scale=integer_attr(scale)
            ),
        )

    def verify_(self) -> None:
        for name, value in (("threads", self.threads), ("scale", self.scale)):
            if value.value.data < 1:
                raise VerifyException(f"{name} must be at least 1, got {value.value.data}")


@irdl_op_definition
class StrideOp(AsmOp):
    """The stride of a dimension of a tensor in elements, on the host."""

    name = "simt.stride"
    tensor = operand_def(BUFFER)
    axis = integer_prop()
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$tensor `axis` `(` $axis `)` attr-dict `:` type($tensor)"

    def __init__(self, tensor: Operand, axis: int) -> None:
        super().__init__(
            operands=[tensor], result_types=[IndexType()], properties={"axis": integer_attr(axis)}
        )

    def verify_(self) -> None:
        rank = len(shape_of(self.tensor.type))
        if not 0 <= self.axis.value.data < rank:
            raise VerifyException(
                f"axis {self.axis.value.data} is out of bounds for a tensor of rank {rank}"
            )


@irdl_op_definition
class LaunchOp(AsmOp):
    """Runs a kernel on a grid of blocks, on the host's stream."""

    name = "simt.launch"
    kernel = prop_def(SymbolRefAttr)
    grid = var_operand_def(INDEX)
    arguments = var_operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Orders())
    ASM: ClassVar[str] = (
        "$kernel `grid` `(` $grid `)` (`args` `(` $arguments^ `)`)? attr-dict "
        "(`:` type($arguments)^)?"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"kernel": SYMBOL}

    def __init__(self, kernel: str, grid: Sequence[Operand], arguments: Sequence[Operand]) -> None:
        super().__init__(operands=[grid, arguments], properties={"kernel": SymbolRefAttr(kernel)})

    def verify_(self) -> None:
        if len(self.grid) != 3:
            raise VerifyException(f"a grid has three dimensions, got {len(self.grid)}")
