"""Cluster launch control (sm_100a): a running cluster takes the work of one not launched yet.

    nv.clc.try_cancel %result[%c0] barrier %arrived[%c0] : memref<4xi32, #shared>, memref<...>
    %taken, %x, %y, %z = nv.clc.query %result[%c0] : memref<4xi32, #shared>

`try_cancel` cancels the launch of some cluster of the grid that has not been launched, and writes
16 bytes that identify it to shared memory; they are reported to the barrier, as those of TMA are.
With `multicast` all blocks of the cluster get them, each on its own barrier. By one thread. `query`
reads them: whether a launch was cancelled, and the index of its first block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionAccess,
    RegionEffects,
    Unit,
    box_of,
)
from tilewright.dialects.tile.base import Operand, given, mark, mark_prop
from tilewright.dialects.tile.mbarrier import MBarrierType
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.dialects.tile.types import BUFFER, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.text.assembly import AsmOp

RESPONSE_ELEMENTS = 4
_ELEMENT_BITS = 32


def _verify_response(type: object, element: object, is_shared: bool) -> None:
    if not is_shared or not isinstance(element, IntegerType) or bit_width(element) != _ELEMENT_BITS:
        raise VerifyException(
            f"the response is {RESPONSE_ELEMENTS} integers of 32 bits in shared memory, "
            f"got '{type}'"
        )


def _response(buffer: SSAValue, index: SSAValue, unit: Unit = "threads") -> AccessedRegion:
    return box_of(buffer, [known(index)], (RESPONSE_ELEMENTS,), unit)


@irdl_op_definition
class ClcTryCancelOp(AsmOp, RegionAccess):
    """Requests the work of a cluster that has not been launched."""

    name = "nv.clc.try_cancel"
    result_buffer = operand_def(BUFFER)
    result_index = operand_def(INDEX)
    barrier = operand_def(BUFFER)
    barrier_index = operand_def(INDEX)
    multicast = mark_prop()

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$result_buffer `[` $result_index `]` `barrier` $barrier `[` $barrier_index `]` "
        "attr-dict `:` type($result_buffer) `,` type($barrier)"
    )

    def __init__(
        self,
        result: tuple[Operand, Operand],
        barrier: tuple[Operand, Operand],
        *,
        multicast: bool = False,
    ) -> None:
        super().__init__(operands=[*result, *barrier], properties=given(multicast=mark(multicast)))

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [_response(self.result_buffer, self.result_index, "tma")]

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        if not isinstance(element_type_of(self.barrier.type), MBarrierType):
            raise VerifyException(f"expects a buffer of barriers, but got '{self.barrier.type}'")
        space = space_of(self.result_buffer.type)
        type = self.result_buffer.type
        _verify_response(type, element_type_of(type), space is not None and space.is_shared)


@irdl_op_definition
class ClcQueryOp(AsmOp, RegionAccess):
    """The response of `try_cancel`; the proxy fence before the next one is included."""

    name = "nv.clc.query"
    result_buffer = operand_def(BUFFER)
    result_index = operand_def(INDEX)
    taken = result_def(i1)
    x = result_def(i32)
    y = result_def(i32)
    z = result_def(i32)

    traits = traits_def(Orders())
    ASM: ClassVar[str] = "$result_buffer `[` $result_index `]` attr-dict `:` type($result_buffer)"

    def __init__(self, result: tuple[Operand, Operand]) -> None:
        super().__init__(operands=[*result], result_types=[i1, i32, i32, i32])

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [_response(self.result_buffer, self.result_index)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        space, type = space_of(self.result_buffer.type), self.result_buffer.type
        _verify_response(type, element_type_of(type), space is not None and space.is_shared)
