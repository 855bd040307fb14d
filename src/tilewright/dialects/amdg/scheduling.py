"""Control over registers and matrix instructions that the TLX fork gives writers of AMD kernels.

A ``scheduled_mfma`` stays where the user puts it. Its accumulator is *persistent*, living in
registers across a loop, or *transient*; ``mfma_commit`` marks where its result is needed. The other
ops select the register class of a tensor::

    %r = amdg.register_resident %b class "agpr" groups 4 : B
    %d = amdg.scheduled_mfma %a, %r, %c resident "rhs" accumulator "persistent"
             register_class "agpr" initialize false : A, B, C -> C
    %c2, %b2 = amdg.mfma_commit %d, %r : C, B
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, bool_prop, i32_attr, i32_prop, string_prop
from tilewright.dialects.tt.constraints import INT_OR_FLOAT_TENSOR, INT_TENSOR, STRING_ATTR
from tilewright.dialects.ttg.interfaces import DistributedEncoding
from tilewright.dialects.ttng.checks import layout_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import STRING, AttributeSyntax

REGISTER_CLASSES = ("vgpr", "agpr")


def _verify_distributed(type: Attribute) -> None:
    if not isinstance(layout_of(type), DistributedEncoding):
        raise VerifyException("requires a distributed tensor encoding")


def _verify_class(attribute: StringAttr, *others: str) -> None:
    allowed = (*REGISTER_CLASSES, *others)
    if attribute.data not in allowed:
        raise VerifyException(f"register class must be one of {', '.join(allowed)}")


@irdl_op_definition
class RematerializedRangeOp(AsmOp):
    """The integers from `start` to `end`, recomputed at each use."""

    name = "amdg.rematerialized_range"
    start = i32_prop()
    end = i32_prop()
    identity = i32_prop()
    result = result_def(INT_TENSOR)

    ASM: ClassVar[str] = "$start `to` $end `identity` $identity attr-dict `:` type($result)"
    # Two ranges of one identity are the same values, so they may be merged.
    traits = traits_def(Pure())

    @override
    def verify_(self) -> None:
        count = self.end.value.data - self.start.value.data
        if shape_of(self.result.type) != (count,):
            raise VerifyException("number of elements in returned tensor must match the range")


@irdl_op_definition
class RegisterResidentOp(AsmOp):
    """A tensor resident in registers of one class, in `groups` groups."""

    name = "amdg.register_resident"
    src = operand_def(INT_OR_FLOAT_TENSOR)
    register_class = string_prop()
    groups = i32_prop()
    result = result_def(INT_OR_FLOAT_TENSOR)

    ASM: ClassVar[str] = "$src `class` $register_class `groups` $groups attr-dict `:` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "src": TypeRule("result and src have the same type", lambda types: types["result"])
    }

    def __init__(self, src: Operand, register_class: str, groups: int) -> None:
        value = SSAValue.get(src)
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={
                "register_class": StringAttr(register_class),
                "groups": i32_attr(groups),
            },
        )

    @override
    def verify_(self) -> None:
        _verify_class(self.register_class)
        _verify_distributed(self.src.type)


@irdl_op_definition
class RegisterHandoffOp(AsmOp):
    """A tensor moved to registers of one class."""

    name = "amdg.register_handoff"
    src = operand_def(INT_OR_FLOAT_TENSOR)
    register_class = string_prop()
    result = result_def(INT_OR_FLOAT_TENSOR)

    ASM: ClassVar[str] = "$src `class` $register_class attr-dict `:` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "src": TypeRule("result and src have the same type", lambda types: types["result"])
    }

    def __init__(self, src: Operand, register_class: str) -> None:
        value = SSAValue.get(src)
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={"register_class": StringAttr(register_class)},
        )

    @override
    def verify_(self) -> None:
        _verify_class(self.register_class)
        _verify_distributed(self.src.type)


RESIDENT = ("none", "lhs", "rhs", "both")
ACCUMULATORS = ("transient", "persistent")


@irdl_op_definition
class ScheduledMfmaOp(AsmOp):
    """``a * b + c``, or ``a * b`` with `initialize`, at this very place."""

    name = "amdg.scheduled_mfma"
    a = operand_def(INT_OR_FLOAT_TENSOR)
    b = operand_def(INT_OR_FLOAT_TENSOR)
    c = operand_def(INT_OR_FLOAT_TENSOR)
    resident = string_prop()
    accumulator = string_prop()
    register_class = cast("StringAttr | None", opt_prop_def(STRING_ATTR))
    initialize = bool_prop()
    result = result_def(INT_OR_FLOAT_TENSOR)

    ASM: ClassVar[str] = (
        "$a `,` $b `,` $c `resident` $resident `accumulator` $accumulator "
        "(`register_class` $register_class^)? `initialize` $initialize attr-dict "
        "`:` type($a) `,` type($b) `,` type($c) `->` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"register_class": STRING}

    @override
    def verify_(self) -> None:
        if self.accumulator.data not in ACCUMULATORS:
            raise VerifyException(f"accumulator must be one of {', '.join(ACCUMULATORS)}")
        if self.resident.data not in RESIDENT:
            raise VerifyException(f"resident must be one of {', '.join(RESIDENT)}")
        if self.register_class is not None:
            _verify_class(self.register_class, "auto")
        if self.c.type != self.result.type:
            raise VerifyException("result type must match accumulator type")


def _parse_types(parser: IRParser, state: ParseState) -> bool:
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    state.types["inputs"] = state.types["outputs"] = types
    return True


def _print_types(printer: IRPrinter, op: Operation) -> None:
    printer.print_list(op.operand_types, printer.print_attribute)


@irdl_op_definition
class MfmaCommitOp(AsmOp):
    """The results of scheduled instructions, complete; and operands that stay alive till here."""

    name = "amdg.mfma_commit"
    inputs = var_operand_def(INT_OR_FLOAT_TENSOR)
    outputs = var_result_def(INT_OR_FLOAT_TENSOR)

    ASM: ClassVar[str] = "$inputs attr-dict `:` custom<Types>()"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Types": Directive(_parse_types, _print_types)}

    def __init__(self, inputs: Sequence[Operand]) -> None:
        values = [SSAValue.get(value) for value in inputs]
        super().__init__(operands=[values], result_types=[[value.type for value in values]])

    @override
    def verify_(self) -> None:
        if not self.inputs:
            raise VerifyException("expected at least one input")
        if self.operand_types != self.result_types:
            raise VerifyException("failed to verify that all of {inputs, outputs} have same type")
