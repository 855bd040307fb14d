"""Arguments of a kernel, and the order in which a core walks over output blocks.

%count = tensix.arg 6 "count"             get_arg_val<uint32_t>(6)
%kt = tensix.ct_arg 0 "kt"                get_compile_time_arg_val(0)
%id = tensix.arg_at 7 "block_ids" [%i]    get_arg_val<uint32_t>(7 + i)
%by, %bx = tensix.raster block_linear [4, 4] %t, %mt, %nt
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.base import TensixOp
from tilewright.dialects.tensix.program import kernel_of, names_of
from tilewright.dialects.tensix.rasters import POLICIES, Raster
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    opt_string_prop,
    string,
    string_prop,
)
from tilewright.dialects.tile.mixed import (
    INDEX,
    opt_integers,
    opt_integers_attr,
    opt_integers_prop,
)
from tilewright.ir.text.syntax import AttributeSyntax, IntegerArray


class ArgumentOp(TensixOp):
    """Base of arguments by position; `LIST` is the kernel's list of their names."""

    LIST: ClassVar[str] = ""

    position = integer_prop()
    label = opt_string_prop()
    """The name under which the plan lists the argument."""
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$position ($label^)? attr-dict"

    def __init__(self, position: int, label: str | None = None) -> None:
        super().__init__(
            result_types=[INDEX],
            properties=given(position=integer_attr(position), label=string(label)),
        )

    def asm_result_names(self) -> list[str]:
        return [f"arg{self.index}" if self.label is None else self.label.data]

    @property
    def index(self) -> int:
        return self.position.value.data

    @override
    def verify_(self) -> None:
        super().verify_()
        if self.index < 0:
            raise VerifyException(f"argument position must not be negative, got {self.index}")
        kernel = kernel_of(self)
        declared = None if kernel is None else kernel.properties.get(self.LIST)
        if kernel is None or declared is None:
            return
        count = len(names_of(declared))
        if self.index >= count:
            raise VerifyException(
                f"position {self.index} is out of range: '@{kernel.sym_name.data}' has "
                f"{count} such arguments"
            )


@irdl_op_definition
class ArgOp(ArgumentOp):
    """A run-time argument of this core."""

    name = "tensix.arg"
    LIST: ClassVar[str] = "runtime_args"


@irdl_op_definition
class ArgAtOp(TensixOp):
    """One of the run-time arguments from a position on, chosen by an index.

    The last name of a kernel's run-time arguments may stand for as many words as a core has
    blocks.
    """

    name = "tensix.arg_at"

    position = integer_prop()
    label = string_prop()
    index = operand_def(INDEX)
    result = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$position $label `[` $index `]` attr-dict"

    def __init__(self, position: int, label: str, index: Operand) -> None:
        super().__init__(
            operands=[index],
            result_types=[INDEX],
            properties=given(position=integer_attr(position), label=string(label)),
        )

    @property
    def first(self) -> int:
        return self.position.value.data

    @override
    def verify_(self) -> None:
        super().verify_()
        kernel = kernel_of(self)
        declared = None if kernel is None else kernel.properties.get(ArgOp.LIST)
        if kernel is None or declared is None:
            return
        last = len(names_of(declared)) - 1
        if self.first != last:
            raise VerifyException(
                f"the list at position {self.first} is not the last of the {last + 1} run-time "
                f"arguments of '@{kernel.sym_name.data}'"
            )


@irdl_op_definition
class CtArgOp(ArgumentOp):
    """A compile-time argument, the same on all cores."""

    name = "tensix.ct_arg"
    LIST: ClassVar[str] = "compile_args"


@irdl_op_definition
class RasterOp(TensixOp):
    """Block ``t`` of a grid of ``mt`` rows and ``nt`` columns: its row and column."""

    name = "tensix.raster"

    policy = keyword_prop(KeywordSyntax(POLICIES))
    block = opt_integers_prop()
    """Rows and columns of a block, for ``block_linear``."""
    tile = operand_def(INDEX)
    rows = operand_def(INDEX)
    columns = operand_def(INDEX)
    listed = opt_operand_def(INDEX)
    """The position of the block in the list of a core, where the host lists its blocks in their
    order as run-time arguments."""
    row = result_def(INDEX)
    column = result_def(INDEX)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$policy ($block^)? $tile `,` $rows `,` $columns (`listed` $listed^)? attr-dict"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"block": IntegerArray(i64)}

    def __init__(
        self,
        policy: str,
        tile: Operand,
        rows: Operand,
        columns: Operand,
        block: tuple[int, int] | None = None,
        *,
        listed: Operand | None = None,
    ) -> None:
        super().__init__(
            operands=[tile, rows, columns, listed],
            result_types=[INDEX, INDEX],
            properties=given(policy=StringAttr(policy), block=opt_integers_attr(block)),
        )

    @property
    def position(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        """What the map takes: the block, rows and columns of the grid."""
        return self.tile, self.rows, self.columns

    @property
    def raster(self) -> Raster:
        """The map itself."""
        block = opt_integers(self.block)
        return Raster(self.policy.data, None if block is None else (block[0], block[1]))

    def asm_result_names(self) -> list[str]:
        return ["by", "bx"]

    @override
    def verify_(self) -> None:
        super().verify_()
        block = opt_integers(self.block)
        if (self.policy.data == "block_linear") != (block is not None):
            raise VerifyException("block_linear, and no other policy, takes [rows, columns]")
        if block is not None and (len(block) != 2 or min(block) < 1):
            raise VerifyException(
                f"block_linear takes two positive extents, rows and columns, got {list(block)}"
            )
