"""Code from outside: source text, and calls into it.

    tile.source "__device__ float twice(float x) { return 2 * x; }"
    %y = tile.extern "twice"(%x) : (f32) -> f32

The effect of a call is not known: it may access what its pointers and buffers reach, as far as
their ``mode`` allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from typing_extensions import override
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def, var_result_def
from xdsl.traits import EffectInstance, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, Orders, RegionAccess, States, region_of
from tilewright.dialects.tile.base import (
    ANY,
    Operand,
    given,
    mark,
    mark_prop,
    string,
    string_prop,
)
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.dialects.tile.types import PtrType, is_buffer_or_region
from tilewright.ir.text.assembly import AsmOp


class _CallEffects(MemoryEffect):
    """Anything, unless the call is marked as a pure computation."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, ExternOp)
        return frozenset() if op.pure is not None else Orders().get_effects(op)


@irdl_op_definition
class ExternOp(AsmOp, RegionAccess):
    """A call of a function that imported source defines."""

    name = "tile.extern"
    callee = string_prop()
    arguments = var_operand_def(ANY)
    pure = mark_prop()
    """The call only computes: equal arguments give equal results, and nothing else happens."""
    results_ = var_result_def(ANY)
    traits = traits_def(_CallEffects())

    ASM: ClassVar[str] = (
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $results_)"
    )

    def __init__(
        self,
        callee: str,
        arguments: Sequence[Operand],
        result_types: Sequence[Attribute] = (),
        *,
        pure: bool = False,
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[result_types],
            properties=given(callee=string(callee), pure=mark(pure)),
        )

    def _reached(self, letter: str) -> list[AccessedRegion]:
        return [region_of(each) for each in self.arguments if _may(each, letter)]

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return self._reached("r")

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return self._reached("w")

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        if not self.callee.data:
            raise VerifyException("requires a function name")
        if self.pure is not None and (self.reads() or self.writes()):
            raise VerifyException("a pure call takes no buffers and no pointers")


def _may(value: SSAValue, letter: str) -> bool:
    """Whether code with `value` at hand may read ("r") or write ("w") through it."""
    if isinstance(value.owner, PtrOfOp):
        return letter in value.owner.mode.data
    return isinstance(value.type, PtrType) or is_buffer_or_region(value.type)


@irdl_op_definition
class SourceOp(AsmOp):
    """Source text for the translation unit of the kernel."""

    name = "tile.source"
    text = string_prop()
    traits = traits_def(States())

    ASM: ClassVar[str] = "$text attr-dict"

    def __init__(self, text: str) -> None:
        super().__init__(properties=given(text=string(text)))
