"""The ``gluon`` dialect: placeholders for layouts that Triton's Gluon front end leaves open.

Triton resolves them before any TTGIR pass runs, so they appear only in the text a front end built.
``#gluon.auto_encoding`` is a layout still to be inferred, ``#gluon.coalesced_encoding`` one to be
chosen for coalesced access; ``gluon.set_auto_layout`` fixes the first to a user-specified layout.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.members import dialect_of
from tilewright.dialects.type_utils import encoding_of, shape_of
from tilewright.ir.constraints import instance_of
from tilewright.ir.text.assembly import AsmOp

_TENSOR = instance_of("ranked tensor of any type values", TensorType)


@irdl_attr_definition
class AutoEncodingAttr(ParametrizedAttribute):
    """A layout that inference has still to find."""

    name = "gluon.auto_encoding"


@irdl_attr_definition
class CoalescedEncodingAttr(ParametrizedAttribute):
    """A layout to be chosen so that accesses coalesce."""

    name = "gluon.coalesced_encoding"


@irdl_op_definition
class SetAutoLayoutOp(AsmOp):
    """Gives a tensor whose layout is open a layout."""

    name = "gluon.set_auto_layout"
    src = operand_def(_TENSOR)
    result = result_def(_TENSOR)
    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        source, result = self.src.type, self.result.type
        if not isinstance(encoding_of(source), AutoEncodingAttr):
            raise VerifyException("input tensor must have an auto layout type")
        if isinstance(encoding_of(result), AutoEncodingAttr):
            raise VerifyException("result type must not be auto layout")
        if shape_of(source) != shape_of(result):
            raise VerifyException("requires the same shape for all operands and results")


Gluon = dialect_of("gluon", globals())
