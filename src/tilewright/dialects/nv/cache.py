"""What the L2 cache should do with the memory of an access.

    %p = nv.l2_policy evict_last {fraction = 8.000000e-01 : f32}
    simt.move %A[%i] -> %a[%c0] lanes(8) policy %p : memref<?xf16, #global>, memref<64xf16, #local>
    %x = nv.load %A[%i] policy %p : memref<?xf16, #global>
    nv.store %x, %A[%i] policy %p : memref<?xf16, #global>

A policy is a value, made once in a kernel. It changes no results: part of the accesses that it is
given to, `fraction` of them, get its priority, the others are the first to be evicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import FloatAttr, f32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, RegionAccess, RegionEffects, box_of
from tilewright.dialects.tile.base import KeywordSyntax, Operand, given, keyword_prop, string
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.text.assembly import AsmOp

PRIORITIES = KeywordSyntax(("evict_first", "evict_last"))


@irdl_op_definition
class L2PolicyOp(AsmOp):
    """Makes a policy."""

    name = "nv.l2_policy"

    priority = keyword_prop(PRIORITIES)
    fraction = prop_def(BaseAttr(FloatAttr))
    """The part of the accesses that get the priority, above 0 and at most 1."""
    result = result_def(i64)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$priority attr-dict"

    def __init__(self, priority: str, fraction: float = 1.0) -> None:
        super().__init__(
            result_types=[i64],
            properties=given(priority=string(priority), fraction=FloatAttr(fraction, f32)),
        )

    @override
    def verify_(self) -> None:
        if not 0 < self.fraction.value.data <= 1:
            raise VerifyException(
                f"fraction must be above 0 and at most 1, got {self.fraction.value.data:g}"
            )


@irdl_op_definition
class HintedLoadOp(AsmOp, RegionAccess):
    """``memref.load`` with a policy."""

    name = "nv.load"

    buffer = operand_def(BUFFER)
    indices = var_operand_def(INDEX)
    policy = operand_def(i64)
    result = result_def(AnyAttr())

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$buffer `[` $indices `]` `policy` $policy attr-dict `:` type($buffer) `->` type($result)"
    )

    def __init__(self, buffer: Operand, indices: Sequence[Operand], policy: Operand) -> None:
        element = element_type_of(SSAValue.get(buffer).type)
        super().__init__(operands=[buffer, indices, policy], result_types=[element])

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [_element(self.buffer, self.indices)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def is_async(self) -> bool:
        return False


@irdl_op_definition
class HintedStoreOp(AsmOp, RegionAccess):
    """``memref.store`` with a policy."""

    name = "nv.store"

    value = operand_def(AnyAttr())
    buffer = operand_def(BUFFER)
    indices = var_operand_def(INDEX)
    policy = operand_def(i64)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$value `,` $buffer `[` $indices `]` `policy` $policy attr-dict "
        "`:` type($value) `,` type($buffer)"
    )

    def __init__(
        self, value: Operand, buffer: Operand, indices: Sequence[Operand], policy: Operand
    ) -> None:
        super().__init__(operands=[value, buffer, indices, policy])

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [_element(self.buffer, self.indices)]

    @override
    def is_async(self) -> bool:
        return False


def _element(buffer: SSAValue, indices: Sequence[SSAValue]) -> AccessedRegion:
    return box_of(buffer, [known(each) for each in indices], (1,) * len(indices))
