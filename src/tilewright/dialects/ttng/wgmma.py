"""Matrix instructions of Hopper: a warp group multiplies into registers.

The right operand is in shared memory, the left one there or in registers. The instruction is
asynchronous; the accumulator is valid after a ``warp_group_dot_wait``, whose results replace
what was waited for::

    %d = ttng.warp_group_dot %a, %b, %c {isAsync = true} : A * B -> C
    %r = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : C
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float8E4M3FNType, Float8E5M2Type, IntegerAttr, f32, i1
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    Operand,
    bool_prop,
    enum_prop,
    i32_attr,
    i32_prop,
    unit_prop,
)
from tilewright.dialects.tt.constraints import INT_OR_FLOAT_TENSOR
from tilewright.dialects.tt.enums import INPUT_PRECISION
from tilewright.dialects.ttg.cga import shape_per_cta
from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.mma import NvidiaMmaEncoding
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding, SharedLinearEncoding
from tilewright.dialects.ttg.types import MEMDESC
from tilewright.dialects.ttng.base import TENSOR_OR_MEMDESC, ttng_traits
from tilewright.dialects.ttng.checks import (
    cga_of,
    layout_of,
    verify_mma_shapes,
)
from tilewright.dialects.ttng.effects import ReadsBuffers
from tilewright.dialects.type_utils import bit_width, element_type_of, is_tensor, rank_of, shape_of
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_MMA_ROWS, _MMA_COLUMNS = 64, 8
_PRECISE_ACCUMULATION = 32
"""How many 8-bit MMAs may be accumulated in the narrow accumulator of the tensor core."""


@irdl_op_definition
class WarpGroupDotOp(AsmOp):
    """``d = a * b + c``; `c` counts as zero where `use_c` is false."""

    name = "ttng.warp_group_dot"
    a = operand_def(TENSOR_OR_MEMDESC)
    b = operand_def(MEMDESC)
    c = operand_def(INT_OR_FLOAT_TENSOR)
    use_c = opt_operand_def(i1)
    input_precision = enum_prop(INPUT_PRECISION, "ieee", name="inputPrecision")
    max_num_imprecise_acc = i32_prop(0, name="maxNumImpreciseAcc")
    is_async = bool_prop(False, name="isAsync")
    d = result_def(INT_OR_FLOAT_TENSOR)
    traits = ttng_traits(ReadsBuffers(("a", "b")))

    ASM: ClassVar[str] = (
        "$a `,` $b `,` $c (`,` $use_c^)? attr-dict `:` type($a) `*` type($b) `->` type($d)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "c": TypeRule("result's type matches accumulator's type", lambda types: types["d"])
    }

    def __init__(
        self,
        a: Operand,
        b: Operand,
        c: Operand,
        use_c: Operand | None = None,
        *,
        input_precision: str = "ieee",
        max_num_imprecise_acc: int = 0,
        is_async: bool = False,
    ) -> None:
        accumulator = SSAValue.get(c)
        super().__init__(
            operands=[a, b, accumulator, use_c],
            result_types=[accumulator.type],
            properties={
                "inputPrecision": INPUT_PRECISION.attribute(input_precision),
                "maxNumImpreciseAcc": i32_attr(max_num_imprecise_acc),
                "isAsync": IntegerAttr.from_bool(is_async),
            },
        )

    def verify_(self) -> None:
        verify_mma_shapes(shape_of(self.a.type)[-2:], shape_of(self.b.type)[-2:], self.d.type)
        self._verify_layouts()
        self._verify_shape()
        left = element_type_of(self.a.type)
        is_imprecise = self.max_num_imprecise_acc.value.data < _PRECISE_ACCUMULATION
        if (
            is_imprecise
            and isinstance(left, (Float8E4M3FNType, Float8E5M2Type))
            and element_type_of(self.d.type) == f32
        ):
            raise VerifyException(
                "Cannot use F32 as the accumulator element type when "
                "the max_num_imprecise_acc is less than 32"
            )
        self._verify_registers()

    def _verify_layouts(self) -> None:
        result = layout_of(self.d.type)
        if not isinstance(result, NvidiaMmaEncoding) or not result.is_hopper:
            raise VerifyException("WGMMA result layout must be Hopper NVMMA")
        if not isinstance(
            layout_of(self.a.type), (NvmmaSharedEncoding, DotOperandEncoding, SharedLinearEncoding)
        ):
            raise VerifyException("WGMMA A operand must have NVMMA shared or dot layout")
        if not isinstance(layout_of(self.b.type), (NvmmaSharedEncoding, SharedLinearEncoding)):
            raise VerifyException("WGMMA B operand must have NVMMA shared layout")

    def _verify_shape(self) -> None:
        if rank_of(self.d.type) != 2:
            raise VerifyException("WGMMA result shape must be 2D")
        shape = shape_per_cta(shape_of(self.d.type), cga_of(self.d.type), 2)
        if shape[0] % _MMA_ROWS:
            raise VerifyException("WGMMA result M dimension must be divisible by 64")
        if shape[1] % _MMA_COLUMNS:
            raise VerifyException("WGMMA result N dimension must be divisible by 8")

    def _verify_registers(self) -> None:
        layout = layout_of(self.a.type)
        if not is_tensor(self.a.type) or not isinstance(layout, DotOperandEncoding):
            return
        width = 32 // bit_width(self.a.type)
        if layout.k_width != width:
            raise VerifyException(
                f"in-register LHS operand must have a kWidth of {width} but got {layout.k_width}"
            )


def _parse_types(parser: IRParser, state: ParseState) -> bool:
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    state.types["inputs"] = state.types["outputs"] = types
    return True


def _print_types(printer: IRPrinter, op: Operation) -> None:
    printer.print_list(op.operand_types, printer.print_attribute)


@irdl_op_definition
class WarpGroupDotWaitOp(AsmOp):
    """Waits until at most `pendings` MMAs are in flight; forwards their operands."""

    name = "ttng.warp_group_dot_wait"
    inputs = var_operand_def(TENSOR_OR_MEMDESC)
    pendings = i32_prop()
    warp_group_local = unit_prop(name="warpGroupLocal")
    outputs = var_result_def(TENSOR_OR_MEMDESC)

    ASM: ClassVar[str] = "$inputs attr-dict `:` custom<Types>()"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Types": Directive(_parse_types, _print_types)}

    def __init__(self, inputs: Sequence[Operand], pendings: int) -> None:
        values = [SSAValue.get(value) for value in inputs]
        super().__init__(
            operands=[values],
            result_types=[[value.type for value in values]],
            properties={"pendings": i32_attr(pendings)},
        )

    def verify_(self) -> None:
        if not self.inputs and not self.outputs:
            raise VerifyException("expected to be waiting on at least one dependency")
        if self.operand_types != self.result_types:
            raise VerifyException("failed to verify that all of {inputs, outputs} have same type")
