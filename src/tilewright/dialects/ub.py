"""The ``ub`` dialect: values and places that must not matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import ConstantLike, IsTerminator, Pure

from tilewright.dialects.members import dialect_of
from tilewright.ir.interfaces import FoldBy
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import ANY, AttributeSyntax


@irdl_attr_definition
class PoisonAttr(ParametrizedAttribute):
    """``#ub.poison``: the value that stands for all and none."""

    name = "ub.poison"


POISON = PoisonAttr()


@irdl_op_definition
class PoisonOp(AsmOp):
    """A value that nothing may depend on; any choice of it is as good as another."""

    name = "ub.poison"
    value = prop_def(PoisonAttr, default_value=POISON)
    result = result_def()

    traits = traits_def(Pure(), ConstantLike(), FoldBy(lambda op, _: [op.properties["value"]]))
    ASM: ClassVar[str] = "attr-dict (`<` $value^ `>`)? `:` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"value": ANY}

    def __init__(self, type: Attribute) -> None:
        Operation.__init__(self, result_types=(type,), properties={"value": POISON})


@irdl_op_definition
class UnreachableOp(AsmOp):
    """Ends a block whose end is never reached."""

    name = "ub.unreachable"

    traits = traits_def(IsTerminator())
    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        Operation.__init__(self)


Ub = dialect_of("ub", globals())
