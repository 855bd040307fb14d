"""Assumptions, checks, synchronisation and output.

tile.assume %c                      an assumption of the compiler; a checked run on the CPU tests it
tile.assert %c, "index in range"    checked by the device
tile.sync                           all threads of the block wait for each other
tile.sync grid                      all blocks do
tile.print "x = %d", %x : index     values or whole buffers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i1
from xdsl.irdl import irdl_op_definition, operand_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, Orders, RegionAccess, States, region_of
from tilewright.dialects.tile.base import (
    ANY,
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_of,
    keyword_prop,
    opt_integer_prop,
    opt_string_prop,
    string,
    string_prop,
)
from tilewright.dialects.tile.types import is_buffer_or_region
from tilewright.ir.text.assembly import AsmOp

SYNC_SCOPES = KeywordSyntax(("block", "warp", "grid", "cluster"))
_NAMED_BARRIERS = 16
_WARP = 32


@irdl_op_definition
class AssumeOp(AsmOp):
    """The condition holds from here to the end of the block."""

    name = "tile.assume"
    condition = operand_def(i1)
    message = opt_string_prop()
    traits = traits_def(States())

    ASM: ClassVar[str] = "$condition (`,` $message^)? attr-dict"

    def __init__(self, condition: Operand, message: str | None = None) -> None:
        super().__init__(operands=[condition], properties=given(message=string(message)))


@irdl_op_definition
class AssertOp(AsmOp):
    """Ends the run with `message` unless the condition holds."""

    name = "tile.assert"
    condition = operand_def(i1)
    message = string_prop()
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$condition `,` $message attr-dict"

    def __init__(self, condition: Operand, message: str = "") -> None:
        super().__init__(operands=[condition], properties=given(message=string(message)))


@irdl_op_definition
class SyncOp(AsmOp):
    """Everyone in the scope waits for everyone; what was written before is seen after.

    With a `barrier_id` it is a named barrier for `arrive_count` threads of the block.
    """

    name = "tile.sync"
    scope = keyword_prop(SYNC_SCOPES, "block")
    barrier_id = opt_integer_prop()
    arrive_count = opt_integer_prop()
    traits = traits_def(Orders())

    ASM: ClassVar[str] = (
        "($scope^)? oilist(`barrier_id` $barrier_id | `arrive_count` $arrive_count) attr-dict"
    )

    def __init__(
        self,
        scope: str = "block",
        *,
        barrier_id: int | None = None,
        arrive_count: int | None = None,
    ) -> None:
        super().__init__(
            properties=given(
                scope=string(scope),
                barrier_id=integer_attr(barrier_id),
                arrive_count=integer_attr(arrive_count),
            )
        )

    @override
    def verify_(self) -> None:
        barrier, count = integer_of(self.barrier_id), integer_of(self.arrive_count)
        if (barrier is not None or count is not None) and self.scope.data != "block":
            raise VerifyException("named barriers synchronise threads of one block only")
        if barrier is not None and not 0 <= barrier < _NAMED_BARRIERS:
            raise VerifyException(f"named barrier id must be 0 to 15, got {barrier}")
        if count is not None and barrier is None:
            raise VerifyException("arrive_count requires a barrier_id")
        if count is not None and (count < 1 or count % _WARP):
            raise VerifyException(f"arrive_count must be a multiple of {_WARP}, got {count}")


@irdl_op_definition
class PrintOp(AsmOp, RegionAccess):
    """Prints a text and values; buffers and regions are printed element by element."""

    name = "tile.print"
    message = string_prop()
    values = var_operand_def(ANY)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$message (`,` $values^)? attr-dict (`:` type($values)^)?"

    def __init__(self, message: str, values: Sequence[Operand] = ()) -> None:
        super().__init__(operands=[values], properties=given(message=string(message)))

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [region_of(value) for value in self.values if is_buffer_or_region(value.type)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return ()

    @override
    def is_async(self) -> bool:
        return False
