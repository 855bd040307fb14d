"""The ``func`` dialect: the functions that hold tile kernels.

func.func @main(%A: memref<?x64xf16, #tile.space<global>> {tile.name = "A"})
    attributes {tile.entry} { ... func.return }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    ReturnLike,
    SymbolOpInterface,
)

from tilewright.dialects.elementwise import Operand
from tilewright.dialects.functions import FunctionBody, FunctionCall, FunctionOp
from tilewright.dialects.members import dialect_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import SYMBOL, AttributeSyntax


@irdl_op_definition
class FuncOp(FunctionOp):
    """A function."""

    name = "func.func"

    traits = traits_def(
        HasParent(ModuleOp), IsolatedFromAbove(), SymbolOpInterface(), FunctionBody()
    )


def argument_attributes(argument: BlockArgument) -> Mapping[str, Attribute]:
    """The attributes of an argument of a function."""
    function = argument.block.parent_op()
    described = function.arg_attrs if isinstance(function, FuncOp) else None
    if not isinstance(described, ArrayAttr):
        return {}
    attributes: object = described.data[argument.index]
    return attributes.data if isinstance(attributes, DictionaryAttr) else {}


@irdl_op_definition
class CallOp(AsmOp):
    """A call of a function in the same module."""

    name = "func.call"

    callee = prop_def(SymbolRefAttr)
    arguments = var_operand_def()
    outputs = var_result_def()

    traits = traits_def(FunctionCall())
    ASM: ClassVar[str] = (
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"callee": SYMBOL}

    def __init__(
        self, callee: str | FuncOp, arguments: Sequence[Operand], result_types: Sequence[Attribute]
    ) -> None:
        name = callee.sym_name.data if isinstance(callee, FuncOp) else callee
        super().__init__(
            operands=[arguments],
            result_types=[result_types],
            properties={"callee": SymbolRefAttr(name)},
        )


@irdl_op_definition
class ReturnOp(AsmOp):
    """The end of a function."""

    name = "func.return"

    arguments = var_operand_def()

    traits = traits_def(Pure(), HasParent(FuncOp), IsTerminator(), ReturnLike())
    ASM: ClassVar[str] = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *values: Operand) -> None:
        super().__init__(operands=[values])


Func = dialect_of("func", globals())
