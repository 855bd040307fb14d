"""Functions, calls and returns; their text is that of all functions (``dialects.functions``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
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

from tilewright.dialects.functions import (
    DICTIONARIES_ATTR,
    FunctionBody,
    FunctionCall,
    FunctionOp,
)
from tilewright.dialects.tt.base import Operand, tt_traits
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import SYMBOL, AttributeSyntax


@irdl_op_definition
class FuncOp(FunctionOp):
    """A function: a kernel if public, else a helper that kernels call."""

    name = "tt.func"

    traits = traits_def(
        HasParent(ModuleOp), IsolatedFromAbove(), SymbolOpInterface(), FunctionBody()
    )


@irdl_op_definition
class CallOp(AsmOp):
    """A call of a function in the same module."""

    name = "tt.call"

    callee = prop_def(SymbolRefAttr)
    arguments = var_operand_def()
    arg_attrs = opt_prop_def(DICTIONARIES_ATTR)
    res_attrs = opt_prop_def(DICTIONARIES_ATTR)
    outputs = var_result_def()

    traits = tt_traits(FunctionCall())

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

    name = "tt.return"

    srcs = var_operand_def()

    traits = tt_traits(Pure(), HasParent(FuncOp), IsTerminator(), ReturnLike())

    ASM: ClassVar[str] = "attr-dict ($srcs^ `:` type($srcs))?"

    def __init__(self, *values: Operand) -> None:
        super().__init__(operands=[values])
