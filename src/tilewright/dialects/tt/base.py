"""What all ops of the dialect have in common.

Every ``tt`` op limits the size of its tensors and checks their layouts, after its own traits.
Properties are declared by kind, so that reading one gives an attribute of a known class::

    axis = i32_prop()                  op.axis.value.data
    sem = enum_prop(MEM_SEMANTIC)      MEM_SEMANTIC.keyword(op.sem)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Operation, OpTrait, OpTraits, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, traits_def

from tilewright.dialects.tt.constraints import BOOL_ATTR, I32_ARRAY_ATTR, I32_ATTR, STRING_ATTR
from tilewright.dialects.tt.enums import one_of
from tilewright.dialects.tt.layout_rules import VerifyTensorLayouts
from tilewright.dialects.tt.traits import TensorSize
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import BOOL, INT32, STRING, Enum

Operand: TypeAlias = SSAValue | Operation
"""A value, or an op with one result standing for it."""

TRUE = IntegerAttr.from_bool(True)
FALSE = IntegerAttr.from_bool(False)

I32_PROPERTY = replace(I32_ATTR, syntax=INT32)
_BOOL_PROPERTY = replace(BOOL_ATTR, syntax=BOOL)
_STRING_PROPERTY = replace(STRING_ATTR, syntax=STRING)


def tt_traits(*traits: OpTrait) -> OpTraits:
    """`traits`, and those that all ops of the dialect have, checked last."""
    return traits_def(*traits, TensorSize(), VerifyTensorLayouts())


class TraitCheckedOp(AsmOp):
    """An op whose ``TYPES`` only supply what the text leaves out; its traits do the checking."""

    @override
    def verify_type_rules(self) -> None:
        return


def i32_prop(default: int | None = None, *, name: str | None = None) -> IntegerAttr:
    """A 32-bit integer."""
    value = None if default is None else IntegerAttr(default, i32)
    return cast("IntegerAttr", prop_def(I32_PROPERTY, prop_name=name, default_value=value))


def bool_prop(default: bool | None = None, *, name: str | None = None) -> IntegerAttr:
    """A truth value."""
    value = None if default is None else IntegerAttr.from_bool(default)
    return cast("IntegerAttr", prop_def(_BOOL_PROPERTY, prop_name=name, default_value=value))


def enum_prop(enum: Enum, default: str | None = None, *, name: str | None = None) -> IntegerAttr:
    """One of the cases of `enum`."""
    value = None if default is None else enum.attribute(default)
    return cast("IntegerAttr", prop_def(one_of(enum), prop_name=name, default_value=value))


def opt_enum_prop(enum: Enum, *, name: str | None = None) -> IntegerAttr | None:
    """One of the cases of `enum`, or nothing."""
    return cast("IntegerAttr | None", opt_prop_def(one_of(enum), prop_name=name))


def string_prop(*, name: str | None = None) -> StringAttr:
    """A string."""
    return cast("StringAttr", prop_def(_STRING_PROPERTY, prop_name=name))


def ints_prop(*, name: str | None = None, optional: bool = False) -> DenseArrayBase[IntegerType]:
    """An array of 32-bit integers."""
    if optional:
        value = DenseArrayBase.from_list(i32, [])
        found = prop_def(I32_ARRAY_ATTR, prop_name=name, default_value=value)
    else:
        found = prop_def(I32_ARRAY_ATTR, prop_name=name)
    return cast("DenseArrayBase[IntegerType]", found)


def unit_prop(*, name: str | None = None) -> UnitAttr | None:
    """A mark that is there or not."""
    return opt_prop_def(UnitAttr, prop_name=name)


def ints_attr(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """An array of 32-bit integers."""
    return DenseArrayBase.from_list(i32, [int(value) for value in values])


def i32_attr(value: int) -> IntegerAttr[IntegerType]:
    """A 32-bit integer."""
    return IntegerAttr(value, i32)
