"""Atomic accesses: read-modify-write, compare-and-swap, load, store, poll.

Each has a memory semantic (``relaxed``, ``acquire``, ``release``, ``acq_rel``) and a scope within
which it is atomic (``cta``, ``gpu``, ``sys``). Loads and polls order what follows and stores what
precedes, so all of them count as reading and writing: no access may be moved across.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, enum_prop, tt_traits
from tilewright.dialects.tt.constraints import BOOL_LIKE, INT_LIKE, PTR_LIKE, VALUE
from tilewright.dialects.tt.enums import MEM_SEMANTIC, MEM_SYNC_SCOPE, RMW_OP
from tilewright.dialects.tt.traits import (
    GlobalReadWrite,
    SameOperandsAndResultEncoding,
    SameOperandsAndResultShape,
    SameOperandsEncoding,
    SameOperandsShape,
)
from tilewright.dialects.tt.types import pointer_like
from tilewright.dialects.type_utils import i1_like, pointee_type
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.text.syntax import AttributeSyntax

_SYNTAX: Mapping[str, AttributeSyntax] = {"sem": MEM_SEMANTIC, "scope": MEM_SYNC_SCOPE}
_MASK_OF_PTR = TypeRule(
    "mask type matches ptr type", lambda types: i1_like(pointee_type(types["ptr"]))
)


class _AtomicOp(AsmOp):
    """Base of atomic accesses."""

    sem = enum_prop(MEM_SEMANTIC)
    scope = enum_prop(MEM_SYNC_SCOPE)

    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = _SYNTAX

    @property
    def semantic(self) -> str:
        """The memory semantic as a keyword."""
        return MEM_SEMANTIC.keyword(self.sem)

    def _check_semantic(self, one: str, other: str) -> None:
        if self.semantic not in (one, other):
            raise VerifyException(f"only supports {one} and {other} semantics")


def _order(sem: str, scope: str) -> dict[str, Attribute]:
    return {"sem": MEM_SEMANTIC.attribute(sem), "scope": MEM_SYNC_SCOPE.attribute(scope)}


@irdl_op_definition
class AtomicRMWOp(_AtomicOp):
    """Combine a value with what is stored; returns what was stored before."""

    name = "tt.atomic_rmw"

    atomic_rmw_op = enum_prop(RMW_OP)
    ptr = operand_def(PTR_LIKE)
    val = operand_def(VALUE)
    mask = opt_operand_def(BOOL_LIKE)
    result = result_def(VALUE)

    traits = tt_traits(
        SameOperandsAndResultShape(), SameOperandsAndResultEncoding(), GlobalReadWrite()
    )

    ASM: ClassVar[str] = (
        "$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? attr-dict "
        "`:` functional-type(operands, $result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {**_SYNTAX}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "ptr": TypeRule("ptr type matches value type", lambda types: pointer_like(types["val"])),
        "mask": TypeRule("mask type matches value type", lambda types: i1_like(types["val"])),
    }

    def __init__(
        self,
        kind: str,
        ptr: Operand,
        val: Operand,
        mask: Operand | None = None,
        *,
        sem: str = "acq_rel",
        scope: str = "gpu",
    ) -> None:
        value = SSAValue.get(val)
        super().__init__(
            operands=[ptr, value, mask],
            result_types=[value.type],
            properties={"atomic_rmw_op": RMW_OP.attribute(kind), **_order(sem, scope)},
        )

    @property
    def kind(self) -> str:
        """How the value is combined, as a keyword."""
        return RMW_OP.keyword(self.atomic_rmw_op)


@irdl_op_definition
class AtomicCASOp(_AtomicOp):
    """Store a value if what is stored equals another; returns what was stored before."""

    name = "tt.atomic_cas"

    ptr = operand_def(PTR_LIKE)
    cmp = operand_def(VALUE)
    val = operand_def(VALUE)
    result = result_def(VALUE)

    traits = tt_traits(
        SameOperandsAndResultShape(), SameOperandsAndResultEncoding(), GlobalReadWrite()
    )

    ASM: ClassVar[str] = (
        "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict "
        "`:` functional-type(operands, $result)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "cmp": TypeRule("ptr type matches cmp type", lambda types: pointee_type(types["ptr"])),
        "val": TypeRule("ptr type matches value type", lambda types: pointee_type(types["ptr"])),
    }

    def __init__(
        self, ptr: Operand, cmp: Operand, val: Operand, *, sem: str = "acq_rel", scope: str = "gpu"
    ) -> None:
        value = SSAValue.get(val)
        super().__init__(
            operands=[ptr, cmp, value], result_types=[value.type], properties=_order(sem, scope)
        )


@irdl_op_definition
class AtomicLoadOp(_AtomicOp):
    """The value stored, read at once."""

    name = "tt.atomic_load"

    ptr = operand_def(PTR_LIKE)
    mask = opt_operand_def(BOOL_LIKE)
    result = result_def(VALUE)

    traits = tt_traits(
        SameOperandsAndResultShape(), SameOperandsAndResultEncoding(), GlobalReadWrite()
    )

    ASM: ClassVar[str] = (
        "$sem `,` $scope `,` $ptr (`,` $mask^)? attr-dict `:` functional-type(operands, $result)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule("result matches ptr type", lambda types: pointee_type(types["ptr"])),
        "mask": _MASK_OF_PTR,
    }

    def __init__(
        self,
        ptr: Operand,
        mask: Operand | None = None,
        *,
        sem: str = "acquire",
        scope: str = "gpu",
    ) -> None:
        value = SSAValue.get(ptr)
        super().__init__(
            operands=[value, mask],
            result_types=[pointee_type(value.type)],
            properties=_order(sem, scope),
        )

    @override
    def verify_(self) -> None:
        self._check_semantic("acquire", "relaxed")


@irdl_op_definition
class AtomicStoreOp(_AtomicOp):
    """Store a value at once."""

    name = "tt.atomic_store"

    ptr = operand_def(PTR_LIKE)
    value = operand_def(VALUE)
    mask = opt_operand_def(BOOL_LIKE)

    traits = tt_traits(SameOperandsShape(), SameOperandsEncoding(), GlobalReadWrite())

    ASM: ClassVar[str] = (
        "$sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "value": TypeRule("value type matches ptr type", lambda types: pointee_type(types["ptr"])),
        "mask": _MASK_OF_PTR,
    }

    def __init__(
        self,
        ptr: Operand,
        value: Operand,
        mask: Operand | None = None,
        *,
        sem: str = "release",
        scope: str = "gpu",
    ) -> None:
        super().__init__(operands=[ptr, value, mask], properties=_order(sem, scope))

    @override
    def verify_(self) -> None:
        self._check_semantic("release", "relaxed")


@irdl_op_definition
class AtomicPollOp(_AtomicOp):
    """Wait until what is stored equals a value; returns false where the time ran out."""

    name = "tt.atomic_poll"

    ptr = operand_def(PTR_LIKE)
    expected = operand_def(INT_LIKE)
    timeout = opt_operand_def(i64)
    result = result_def(BOOL_LIKE)

    traits = tt_traits(GlobalReadWrite())

    ASM: ClassVar[str] = (
        "$sem `,` $scope `,` $ptr `,` $expected (`timeout` $timeout^)? attr-dict "
        "`:` type($ptr) `,` type($expected) `->` type($result)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "ptr": TypeRule(
            "ptr type matches expected type", lambda types: pointer_like(types["expected"])
        ),
        "result": TypeRule(
            "result type matches expected shape", lambda types: i1_like(types["expected"])
        ),
    }

    def __init__(
        self,
        ptr: Operand,
        expected: Operand,
        timeout: Operand | None = None,
        *,
        sem: str = "acquire",
        scope: str = "gpu",
    ) -> None:
        value = SSAValue.get(expected)
        super().__init__(
            operands=[ptr, value, timeout],
            result_types=[i1_like(value.type)],
            properties=_order(sem, scope),
        )

    @override
    def verify_(self) -> None:
        self._check_semantic("acquire", "relaxed")
