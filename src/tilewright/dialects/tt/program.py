"""The position of a program in the grid, and its output to the host.

A kernel runs as a grid of programs with up to three axes. ``tt.get_program_id`` and
``tt.get_num_programs`` are the same for all threads of a program and never change, so they are
pure. Printing and asserting must happen where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    Operand,
    bool_prop,
    enum_prop,
    i32_attr,
    i32_prop,
    ints_attr,
    ints_prop,
    string_prop,
    tt_traits,
)
from tilewright.dialects.tt.constraints import CONDITION, INT_TENSOR, VALUE
from tilewright.dialects.tt.enums import PROGRAM_DIM
from tilewright.dialects.tt.traits import GlobalFence, ObservableGlobalWrite
from tilewright.dialects.type_utils import AnyTensor, element_type_of, shape_of, tensor_of
from tilewright.ir.text.assembly import AsmOp


class _AxisOp(AsmOp):
    """Base of questions about one axis of the grid."""

    axis = enum_prop(PROGRAM_DIM)
    result = result_def(i32)

    traits = tt_traits(Pure())

    ASM: ClassVar[str] = "$axis attr-dict `:` type($result)"

    def __init__(self, axis: int) -> None:
        super().__init__(result_types=[i32], properties={"axis": i32_attr(axis)})

    @property
    def dimension(self) -> int:
        """The number of the axis: 0, 1 or 2."""
        return self.axis.value.data


@irdl_op_definition
class GetProgramIdOp(_AxisOp):
    """The position of this program along an axis."""

    name = "tt.get_program_id"


@irdl_op_definition
class GetNumProgramsOp(_AxisOp):
    """The number of programs along an axis."""

    name = "tt.get_num_programs"


@irdl_op_definition
class MakeRangeOp(AsmOp):
    """The numbers from `start` up to, but not including, `end`."""

    name = "tt.make_range"

    start = i32_prop()
    end = i32_prop()
    result = result_def(INT_TENSOR)

    traits = tt_traits(Pure())

    ASM: ClassVar[str] = "attr-dict `:` type($result)"

    def __init__(self, start: int, end: int, result_type: AnyTensor | None = None) -> None:
        super().__init__(
            result_types=[result_type or tensor_of(i32, (end - start,))],
            properties={"start": i32_attr(start), "end": i32_attr(end)},
        )

    @property
    def bounds(self) -> tuple[int, int]:
        """Start and end as numbers."""
        return self.start.value.data, self.end.value.data

    @override
    def verify_(self) -> None:
        start, end = self.bounds
        if start >= end:
            raise VerifyException("start must be less than end")
        shape = shape_of(self.result.type)
        if len(shape) != 1:
            raise VerifyException("return type must be a 1D tensor")
        if shape[0] != end - start:
            raise VerifyException(
                f"number of elements in returned tensor, {shape[0]}, must match size of range "
                f"[{start}, {end}), which has {end - start} elements"
            )
        if element_type_of(self.result.type) != i32:
            raise VerifyException("returned tensor must have i32 elements")


@irdl_op_definition
class GridDependencyWaitOp(AsmOp):
    """Wait until what the kernels before have written can be read."""

    name = "tt.grid_dependency_wait"
    traits = tt_traits(GlobalFence())
    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class GridDependencyLaunchDependentsOp(AsmOp):
    """Let dependent kernels start."""

    name = "tt.grid_dependency_launch_dependents"
    traits = tt_traits(GlobalFence())
    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class PrintOp(AsmOp):
    """Print values from the device, one line a thread."""

    name = "tt.print"

    prefix = string_prop()
    hex = bool_prop()
    args = var_operand_def(VALUE)
    is_signed = ints_prop(name="isSigned")

    traits = tt_traits(ObservableGlobalWrite())

    ASM: ClassVar[str] = "$prefix attr-dict (`:` $args^ `:` type($args))?"

    def __init__(
        self, prefix: str, args: Sequence[Operand], is_signed: Sequence[bool], hex: bool = False
    ) -> None:
        super().__init__(
            operands=[args],
            properties={
                "prefix": StringAttr(prefix),
                "hex": IntegerAttr.from_bool(hex),
                "isSigned": ints_attr(is_signed),
            },
        )


@irdl_op_definition
class AssertOp(AsmOp):
    """Stop the kernel with a message unless a condition holds."""

    name = "tt.assert"

    condition = operand_def(CONDITION)
    message = string_prop()

    traits = tt_traits(ObservableGlobalWrite())

    ASM: ClassVar[str] = "$condition `,` $message attr-dict `:` type($condition)"

    def __init__(self, condition: Operand, message: str) -> None:
        super().__init__(operands=[condition], properties={"message": StringAttr(message)})
