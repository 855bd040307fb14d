"""Loads and stores through pointers.

A pointer is a scalar, a tensor of pointers, or (before Triton 3.8) a block pointer, whose accesses
may be checked against the bounds of their tensor instead of carrying a mask. Types of the
other operands and of the result follow from the pointer's and are not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    FALSE,
    Operand,
    bool_prop,
    ints_attr,
    ints_prop,
    opt_enum_prop,
    tt_traits,
)
from tilewright.dialects.tt.cache_text import CachedAccess, access_attributes, check_cache_policy
from tilewright.dialects.tt.constraints import BOOL_LIKE, PTR_LIKE, VALUE
from tilewright.dialects.tt.enums import PADDING
from tilewright.dialects.tt.traits import (
    GlobalWrite,
    SameAccessShape,
    SameOperandsAndResultEncoding,
    SameOperandsEncoding,
    VolatileRead,
)
from tilewright.dialects.type_utils import i1_like, pointee_type
from tilewright.ir.text.assembly import Directive, TypeRule

LOAD_MODIFIERS = frozenset(("none", "ca", "cg", "cs", "cv"))
STORE_MODIFIERS = frozenset(("none", "wb", "cg", "cs", "wt"))

_NO_CHECKS = ints_attr(())
_MASK = TypeRule("mask type matches ptr type", lambda types: i1_like(pointee_type(types["ptr"])))


@irdl_op_definition
class LoadOp(CachedAccess):
    """The values that pointers point to; `other` where the mask is false, undefined without it."""

    name = "tt.load"

    ptr = operand_def(PTR_LIKE)
    mask = opt_operand_def(BOOL_LIKE)
    other = opt_operand_def(VALUE)
    boundary_check = ints_prop(name="boundaryCheck", optional=True)
    padding = opt_enum_prop(PADDING)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    is_volatile = bool_prop(False, name="isVolatile")
    result = result_def(VALUE)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = tt_traits(SameAccessShape(), SameOperandsAndResultEncoding(), VolatileRead())

    ASM: ClassVar[str] = (
        "$ptr (`,` $mask^)? (`,` $other^)? `` "
        "custom<Attributes>($boundaryCheck, $padding, $cachePolicy, $isVolatile) `:` type($ptr)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": access_attributes(
            ("boundaryCheck", "padding", "isVolatile"),
            {"boundaryCheck": _NO_CHECKS, "isVolatile": FALSE},
        )
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule("result matches ptr type", lambda types: pointee_type(types["ptr"])),
        "mask": _MASK,
        "other": TypeRule("other matches ptr type", lambda types: pointee_type(types["ptr"])),
    }

    def __init__(
        self,
        ptr: Operand,
        mask: Operand | None = None,
        other: Operand | None = None,
        *,
        policy: Attribute | None = None,
        is_volatile: bool = False,
        boundary_check: Sequence[int] = (),
        padding: str | None = None,
    ) -> None:
        value = SSAValue.get(ptr)
        super().__init__(
            operands=[value, mask, other],
            result_types=[pointee_type(value.type)],
            properties={
                "boundaryCheck": ints_attr(boundary_check),
                "padding": None if padding is None else PADDING.attribute(padding),
                "cachePolicy": policy,
                "isVolatile": IntegerAttr.from_bool(is_volatile),
            },
        )

    @override
    def verify_(self) -> None:
        if self.other is not None and self.mask is None:
            # Without the mask, the text would take `other` for it.
            raise VerifyException(f"failed to verify that {_MASK.description}")
        check_cache_policy(self.policy, "loads", LOAD_MODIFIERS)


@irdl_op_definition
class StoreOp(CachedAccess):
    """Write values to where pointers point, except where the mask is false."""

    name = "tt.store"

    ptr = operand_def(PTR_LIKE)
    value = operand_def(VALUE)
    mask = opt_operand_def(BOOL_LIKE)
    boundary_check = ints_prop(name="boundaryCheck", optional=True)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")

    traits = tt_traits(SameAccessShape(), SameOperandsEncoding(), GlobalWrite())

    ASM: ClassVar[str] = (
        "$ptr `,` $value (`,` $mask^)? `` "
        "custom<Attributes>($boundaryCheck, $cachePolicy) `:` type($ptr)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": access_attributes(("boundaryCheck",), {"boundaryCheck": _NO_CHECKS})
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "value": TypeRule("value type matches ptr type", lambda types: pointee_type(types["ptr"])),
        "mask": _MASK,
    }

    def __init__(
        self,
        ptr: Operand,
        value: Operand,
        mask: Operand | None = None,
        *,
        policy: Attribute | None = None,
        boundary_check: Sequence[int] = (),
    ) -> None:
        super().__init__(
            operands=[ptr, value, mask],
            properties={"boundaryCheck": ints_attr(boundary_check), "cachePolicy": policy},
        )

    @override
    def verify_(self) -> None:
        check_cache_policy(self.policy, "stores", STORE_MODIFIERS)
