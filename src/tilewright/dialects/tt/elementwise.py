"""Ops that work on each element by itself and that ``arith`` and ``math`` do not have.

Conversions between small floats and with rounding modes, divisions and roots of a given
precision, and foreign code: functions of a device library and inline assembly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import CheckedElementwise
from tilewright.dialects.tt.base import (
    Operand,
    TraitCheckedOp,
    bool_prop,
    enum_prop,
    i32_attr,
    i32_prop,
    opt_enum_prop,
    string_prop,
    tt_traits,
)
from tilewright.dialects.tt.constraints import F32_LIKE, FLOAT_LIKE, I32_LIKE, INT_LIKE, VALUE
from tilewright.dialects.tt.enums import PROPAGATE_NAN, ROUNDING
from tilewright.dialects.tt.traits import (
    PureIfMarked,
    SameOperandsAndResultEncoding,
    SameOperandsAndResultShape,
    SameOperandsAndResultType,
)
from tilewright.dialects.tt.types import PtrType
from tilewright.dialects.type_utils import bit_width, element_type_of, is_tensor, num_elements
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_CAST_TRAITS = tt_traits(
    CheckedElementwise(), SameOperandsAndResultShape(), SameOperandsAndResultEncoding(), Pure()
)
_SAME_TYPE_TRAITS = tt_traits(CheckedElementwise(), SameOperandsAndResultType(), Pure())
_LIKE_X = TypeRule("all types are that of x", lambda types: types["x"])
_LIKE_RESULT = TypeRule("all types are that of the result", lambda types: types["result"])


@irdl_op_definition
class BitcastOp(AsmOp):
    """The same bits as another type; unlike ``arith.bitcast`` also from pointer to pointer."""

    name = "tt.bitcast"

    src = operand_def(VALUE)
    result = result_def(VALUE)

    traits = _CAST_TRAITS
    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    @override
    def verify_(self) -> None:
        source, result = element_type_of(self.src.type), element_type_of(self.result.type)
        if isinstance(source, PtrType) and isinstance(result, PtrType):
            if source.address_space != result.address_space:
                raise VerifyException("Cannot bitcast pointer between different address spaces")
            return
        if isinstance(source, PtrType) or isinstance(result, PtrType):
            raise VerifyException("Cannot bitcast pointer to non-pointer type")
        if bit_width(source) != bit_width(result):
            raise VerifyException(
                f"Cannot bitcast data-type of size {bit_width(source)} to data-type of size "
                f"{bit_width(result)}"
            )


def _parse_conversion(parser: IRParser, state: ParseState) -> None:
    """Everything after the source: dictionary and clauses, in either order."""
    state.operands["rbits"] = []
    state.types["rbits"] = ()
    _take_attributes(parser, state)
    while parser.parse_optional_punctuation(",") is not None:
        if parser.parse_optional_keyword("rbits") is not None:
            parser.parse_punctuation("=")
            state.operands["rbits"] = [parser.parse_unresolved_operand("expected SSA operand")]
            parser.parse_punctuation(":")
            state.types["rbits"] = (parser.parse_type(),)
        else:
            parser.parse_keyword("rounding")
            parser.parse_punctuation("=")
            state.properties["rounding"] = ROUNDING.parse(parser)
    _take_attributes(parser, state)


def _take_attributes(parser: IRParser, state: ParseState) -> None:
    for name, attribute in parser.parse_optional_attr_dict().items():
        target = state.properties if name == "rounding" else state.attributes
        target[name] = attribute


def _print_conversion(printer: IRPrinter, op: FpToFpOp) -> None:
    if not printer.flavour.is_tlx:
        printer.print_op_attributes(op.attributes)
    if op.rbits is not None:
        printer.print_string(", rbits = ")
        printer.print_operand(op.rbits)
        printer.print_string(" : ")
        printer.print_attribute(op.rbits.type)
    if op.rounding is not None:
        printer.print_string(f", rounding = {ROUNDING.keyword(op.rounding)}")
    if printer.flavour.is_tlx:
        printer.print_op_attributes(op.attributes)


@irdl_op_definition
class FpToFpOp(AsmOp):
    """A float in another format; rounding is needed where bits are lost.

    Stochastic rounding (``rs``, TLX only) takes random bits, ``rbits``.
    """

    name = "tt.fp_to_fp"

    src = operand_def(FLOAT_LIKE)
    rbits = opt_operand_def(I32_LIKE)
    rounding = opt_enum_prop(ROUNDING)
    result = result_def(FLOAT_LIKE)

    traits = _CAST_TRAITS

    ASM: ClassVar[str] = "$src `` custom<Conversion>($rounding) `:` type($src) `->` type($result)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Conversion": Directive(_parse_conversion, _print_conversion)
    }

    def __init__(
        self,
        src: Operand,
        result_type: Attribute,
        rounding: str | None = None,
        rbits: Operand | None = None,
    ) -> None:
        super().__init__(
            operands=[src, rbits],
            result_types=[result_type],
            properties={"rounding": None if rounding is None else ROUNDING.attribute(rounding)},
        )

    @override
    def verify_(self) -> None:
        narrows = bit_width(self.result.type) < bit_width(self.src.type)
        if narrows and self.rounding is None:
            raise VerifyException("Rounding mode is required for FP downcast")


@irdl_op_definition
class ClampFOp(TraitCheckedOp):
    """A float limited to a range; `propagateNan` decides about NaN."""

    name = "tt.clampf"

    x = operand_def(FLOAT_LIKE)
    min = operand_def(FLOAT_LIKE)
    max = operand_def(FLOAT_LIKE)
    propagate_nan = enum_prop(PROPAGATE_NAN, name="propagateNan")
    result = result_def(FLOAT_LIKE)

    traits = _SAME_TYPE_TRAITS

    ASM: ClassVar[str] = (
        "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan attr-dict `:` type($result)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = dict.fromkeys(("x", "min", "max"), _LIKE_RESULT)

    def __init__(self, x: Operand, min: Operand, max: Operand, propagate_nan: str = "none") -> None:
        value = SSAValue.get(x)
        super().__init__(
            operands=[value, min, max],
            result_types=[value.type],
            properties={"propagateNan": PROPAGATE_NAN.attribute(propagate_nan)},
        )


class _UnaryOp(TraitCheckedOp):
    ASM: ClassVar[str] = "$x attr-dict `:` type($x)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"result": _LIKE_X}

    def __init__(self, x: Operand) -> None:
        value = SSAValue.get(x)
        super().__init__(operands=[value], result_types=[value.type])


class _BinaryOp(TraitCheckedOp):
    ASM: ClassVar[str] = "$x `,` $y attr-dict `:` type($x)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"y": _LIKE_X, "result": _LIKE_X}

    def __init__(self, x: Operand, y: Operand) -> None:
        value = SSAValue.get(x)
        super().__init__(operands=[value, y], result_types=[value.type])


@irdl_op_definition
class PreciseSqrtOp(_UnaryOp):
    """The square root, correctly rounded."""

    name = "tt.precise_sqrt"
    x = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    traits = _SAME_TYPE_TRAITS


@irdl_op_definition
class PreciseDivFOp(_BinaryOp):
    """The quotient, correctly rounded."""

    name = "tt.precise_divf"
    x = operand_def(FLOAT_LIKE)
    y = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    traits = _SAME_TYPE_TRAITS


@irdl_op_definition
class ApproxDivFOp(_BinaryOp):
    """The quotient as fast as the device can."""

    name = "tt.approx_divf"
    x = operand_def(F32_LIKE)
    y = operand_def(F32_LIKE)
    result = result_def(F32_LIKE)
    traits = _SAME_TYPE_TRAITS


@irdl_op_definition
class MulhiUIOp(_BinaryOp):
    """The upper half of the full multiplication of two unsigned integers."""

    name = "tt.mulhiui"
    x = operand_def(INT_LIKE)
    y = operand_def(INT_LIKE)
    result = result_def(INT_LIKE)
    traits = _SAME_TYPE_TRAITS


@irdl_op_definition
class ExternElementwiseOp(AsmOp):
    """A function of a device library, applied to each element."""

    name = "tt.extern_elementwise"

    srcs = var_operand_def(VALUE)
    libname = string_prop()
    libpath = string_prop()
    symbol = string_prop()
    pure = bool_prop()
    result = result_def(VALUE)

    traits = tt_traits(CheckedElementwise(), SameOperandsAndResultEncoding(), PureIfMarked())
    ASM: ClassVar[str] = "operands attr-dict `:` functional-type(operands, $result)"

    def __init__(
        self,
        srcs: Sequence[Operand],
        result_type: Attribute,
        symbol: str,
        *,
        libname: str = "",
        libpath: str = "",
        pure: bool = True,
    ) -> None:
        super().__init__(
            operands=[srcs],
            result_types=[result_type],
            properties={
                "libname": StringAttr(libname),
                "libpath": StringAttr(libpath),
                "symbol": StringAttr(symbol),
                "pure": IntegerAttr.from_bool(pure),
            },
        )


@irdl_op_definition
class ElementwiseInlineAsmOp(AsmOp):
    """Assembly that is given `packed_element` elements at a time, in unspecified order."""

    name = "tt.elementwise_inline_asm"

    asm_string = string_prop()
    constraints = string_prop()
    pure = bool_prop()
    packed_element = i32_prop()
    args = var_operand_def(VALUE)
    result = var_result_def(VALUE)

    traits = tt_traits(CheckedElementwise(), SameOperandsAndResultEncoding(), PureIfMarked())

    ASM: ClassVar[str] = "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)"

    def __init__(
        self,
        asm_string: str,
        constraints: str,
        args: Sequence[Operand],
        result_types: Sequence[Attribute],
        *,
        pure: bool = True,
        packed_element: int = 1,
    ) -> None:
        super().__init__(
            operands=[args],
            result_types=[result_types],
            properties={
                "asm_string": StringAttr(asm_string),
                "constraints": StringAttr(constraints),
                "pure": IntegerAttr.from_bool(pure),
                "packed_element": i32_attr(packed_element),
            },
        )

    @override
    def verify_(self) -> None:
        if not self.args:
            return
        first, packed = self.args[0].type, self.packed_element.value.data
        count = num_elements(first) if is_tensor(first) else 0
        if packed <= 0 or count % packed:
            raise VerifyException(
                f"number of input elements {count} must be a multiple of the op's "
                f"packed_element attribute, {packed}"
            )
