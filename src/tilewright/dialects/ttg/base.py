"""What all ops of the dialect have in common: layout checks, constraints, kinds of properties."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i1
from xdsl.ir import Attribute, Operation, OpTrait, OpTraits
from xdsl.irdl import opt_prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.constraints import I32_ARRAY_ATTR, PTR, tensor_of_any
from tilewright.dialects.tt.layout_rules import VerifyTensorLayouts
from tilewright.dialects.ttg.interfaces import MemDescEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.ir.constraints import Satisfies


class VerifyMemDescLayouts(OpTrait):
    """The layouts of all memory descriptors of an op fit the size of the cluster."""

    def verify(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            if (problem := _problem(operand.type, op)) is not None:
                raise VerifyException(f"Operand {index} has an invalid layout: {problem}")
        for index, result in enumerate(op.results):
            if (problem := _problem(result.type, op)) is not None:
                which = "Result" if len(op.results) == 1 else f"Result {index}"
                raise VerifyException(f"{which} has an invalid layout: {problem}")


def _problem(type: Attribute, op: Operation) -> str | None:
    if not isinstance(type, MemDescType) or not isinstance(type.encoding, MemDescEncoding):
        return None
    return type.encoding.cta_problem(op)


def ttg_traits(*traits: OpTrait) -> OpTraits:
    """`traits`, and those that all ops of the dialect have."""
    return traits_def(*traits, VerifyTensorLayouts(), VerifyMemDescLayouts())


I1_TENSOR = tensor_of_any(Satisfies("1-bit signless integer", lambda type: type == i1), ranked="")
PTR_TENSOR = tensor_of_any(PTR)
ANY = Satisfies("any type", lambda type: True)


def integers(attribute: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The numbers of an array."""
    return tuple(int(value) for value in attribute.get_values())


def opt_ints_prop(name: str) -> DenseArrayBase[IntegerType] | None:
    """An array of 32-bit integers that may be missing."""
    return cast("DenseArrayBase[IntegerType] | None", opt_prop_def(I32_ARRAY_ATTR, prop_name=name))
