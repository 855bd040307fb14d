"""Requiring layouts, releasing them, and inspecting the result.

``require_layout`` is the layout that a buffer or tensor must have from here on; propagation makes
the producer have it or converts. ``release_layout`` ends such a demand. The other ops are for the
tuning of kernels: they print or compare layouts while it is compiled.
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand
from tilewright.dialects.tt.constraints import TENSOR
from tilewright.dialects.tt.functions import FuncOp
from tilewright.dialects.tt.traits import (
    SameOperandsAndResultElementType,
    SameOperandsAndResultShape,
)
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.base import TENSOR_OR_MEMDESC
from tilewright.dialects.type_utils import encoding_of, is_tensor, with_encoding
from tilewright.ir.interfaces import FoldBy, Folded
from tilewright.ir.text.assembly import AsmOp


def _fold_to_source(op: Operation, _: object) -> Folded:
    """A change of layout that changes nothing is its source."""
    source = op.operands[0]
    return [source] if source.type == op.results[0].type else None


_CHANGE = "$src attr-dict `:` type($src) `->` type($result)"
_CHANGE_TRAITS = traits_def(
    SameOperandsAndResultShape(),
    SameOperandsAndResultElementType(),
    Pure(),
    FoldBy(_fold_to_source),
)


@irdl_op_definition
class RequireLayoutOp(AsmOp):
    """The value in the layout of the result type."""

    name = "tlx.require_layout"
    src = operand_def(TENSOR_OR_MEMDESC)
    result = result_def(TENSOR_OR_MEMDESC)
    traits = _CHANGE_TRAITS

    ASM: ClassVar[str] = _CHANGE

    def __init__(self, src: Operand, layout: Attribute) -> None:
        value = SSAValue.get(src)
        type = value.type
        assert is_tensor(type) or isinstance(type, MemDescType)
        result_type = with_encoding(type, layout) if is_tensor(type) else type.with_encoding(layout)
        super().__init__(operands=[value], result_types=[result_type])


@irdl_op_definition
class ReleaseLayoutOp(AsmOp):
    """The value in any layout."""

    name = "tlx.release_layout"
    src = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = _CHANGE_TRAITS

    ASM: ClassVar[str] = _CHANGE

    def __init__(self, src: Operand) -> None:
        value = SSAValue.get(src)
        assert is_tensor(value.type)
        super().__init__(operands=[value], result_types=[with_encoding(value.type, None)])

    @override
    def verify_(self) -> None:
        if encoding_of(self.src.type) is None and not _is_helper_argument(self.src):
            raise VerifyException("requires the source tensor to have a layout encoding")


def _is_helper_argument(value: SSAValue) -> bool:
    """Whether callers decide on the layout of `value`, once the helper is specialised for them."""
    block = value.owner
    function = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(function, FuncOp) or function.sym_visibility is None:
        return False
    return function.sym_visibility.data == "private"


@irdl_op_definition
class DumpLayoutOp(AsmOp):
    """Prints the layout that the value ends up with, while the kernel is compiled."""

    name = "tlx.dump_layout"
    src = operand_def(TENSOR_OR_MEMDESC)

    ASM: ClassVar[str] = "$src attr-dict `:` type($src)"

    def __init__(self, src: Operand) -> None:
        super().__init__(operands=[src])


@irdl_op_definition
class AssertSameLayoutOp(AsmOp):
    """Fails to compile unless two values end up with layouts that mean the same."""

    name = "tlx.assert_same_layout"
    lhs = operand_def(TENSOR_OR_MEMDESC)
    rhs = operand_def(TENSOR_OR_MEMDESC)

    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)"

    def __init__(self, lhs: Operand, rhs: Operand) -> None:
        super().__init__(operands=[lhs, rhs])


@irdl_op_definition
class AssertSameLayoutExpectedOp(AsmOp):
    """Fails to compile unless a value ends up with a layout that means the same as `expected`."""

    name = "tlx.assert_same_layout_expected"
    src = operand_def(TENSOR_OR_MEMDESC)
    expected = prop_def(Attribute)

    ASM: ClassVar[str] = "$src attr-dict `:` type($src)"

    def __init__(self, src: Operand, expected: Attribute) -> None:
        super().__init__(operands=[src], properties={"expected": expected})
