"""Barriers in shared memory of gfx1250, and barriers across a cluster.

An arrival returns the phase it found; waiting means waiting for the phase of a parity to be over.
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, i32_attr, i32_prop
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE
from tilewright.dialects.ttng.checks import verify_barrier
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.ir.text.assembly import AsmOp


def _verify_count(count: int) -> None:
    if count < 1:
        raise VerifyException("count must be greater than or equal to 1")


@irdl_op_definition
class InitBarrierOp(AsmOp):
    """Makes the memory a barrier whose phases take `count` arrivals."""

    name = "amdg.init_barrier"
    alloc = operand_def(MEMDESC)
    count = i32_prop()
    traits = traits_def(AccessEffect(writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc `,` $count attr-dict `:` type($alloc)"

    def __init__(self, alloc: Operand, count: int) -> None:
        super().__init__(operands=[alloc], properties={"count": i32_attr(count)})

    @override
    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)
        _verify_count(self.count.value.data)


@irdl_op_definition
class WaitBarrierOp(AsmOp):
    """Blocks until the phase of parity `phase` is complete."""

    name = "amdg.wait_barrier"
    alloc = operand_def(MEMDESC)
    phase = operand_def(i32)
    traits = traits_def(AccessEffect(reads=("alloc",), writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc `,` $phase attr-dict `:` type($alloc)"

    def __init__(self, alloc: Operand, phase: Operand) -> None:
        super().__init__(operands=[alloc, phase])

    @override
    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)


@irdl_op_definition
class ArriveBarrierOp(AsmOp):
    """Counts as `count` arrivals; returns the phase before."""

    name = "amdg.arrive_barrier"
    alloc = operand_def(MEMDESC)
    count = i32_prop()
    result = result_def(i32)
    traits = traits_def(AccessEffect(reads=("alloc",), writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc `,` $count attr-dict `:` type($alloc) `->` type($result)"

    def __init__(self, alloc: Operand, count: int = 1) -> None:
        super().__init__(
            operands=[alloc], result_types=[i32], properties={"count": i32_attr(count)}
        )

    @override
    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)
        _verify_count(self.count.value.data)


@irdl_op_definition
class ClusterBarrierArriveOp(AsmOp):
    """Signals that this workgroup has reached a point that all of the cluster will pass."""

    name = "amdg.cluster_barrier_arrive"

    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class ClusterBarrierWaitOp(AsmOp):
    """Waits until all workgroups of the cluster have arrived."""

    name = "amdg.cluster_barrier_wait"

    ASM: ClassVar[str] = "attr-dict"


@irdl_op_definition
class AsyncWaitOp(AsmOp):
    """Waits until at most `num_inst` instructions of asynchronous copies are unfinished."""

    name = "amdg.async_wait"
    async_token = var_operand_def(TOKEN_TYPE)
    num_inst = i32_prop()
    token = result_def(TOKEN_TYPE)

    ASM: ClassVar[str] = "$async_token attr-dict"
