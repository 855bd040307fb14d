"""Barriers in shared memory, asynchronous groups, and fences.

    nv.mbarrier.arrive_expect_tx %full[%s], 16384 : memref<2x!nv.mbarrier, #barrier>
    nv.mbarrier.wait %full[%s], %parity : memref<2x!nv.mbarrier, #barrier>, index
    nv.cp_async.commit
    nv.cp_async.wait 1

A barrier counts arrivals and bytes. When all expected arrivals have come and no bytes are pending,
its phase completes and the next begins; a wait for parity ``p`` returns once the phase of that
parity has completed. Waits leave at most so many groups of copies (or of MMAs) in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import Orders
from tilewright.dialects.tile.base import (
    INTEGER_OR_INDEX,
    Operand,
    given,
    integer_attr,
    integer_prop,
    mark,
    mark_prop,
)
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.mixed import (
    INDEX,
    Mixed,
    MixedLists,
    MixedOperand,
    integers,
    integers_prop,
    join,
    parse_mixed_value,
    print_mixed_value,
    split,
    split_unresolved,
    verify_mixed,
)
from tilewright.dialects.tile.types import BUFFER
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

MAX_BYTES = (1 << 20) - 1
"""A barrier counts pending bytes in 20 bits."""


@irdl_op_definition
class MBarrierInitOp(BarrierOp):
    """Sets the number of arrivals of a phase."""

    name = "nv.mbarrier.init"
    count = integer_prop()

    ASM: ClassVar[str] = "$barrier `[` $index `]` `,` $count attr-dict `:` type($barrier)"

    def __init__(self, barrier: Operand, index: Operand, count: int) -> None:
        super().__init__(operands=[barrier, index], properties=given(count=integer_attr(count)))

    @override
    def verify_(self) -> None:
        super().verify_()
        if self.count.value.data < 1:
            raise VerifyException(f"arrive count must be at least 1, got {self.count.value.data}")


@irdl_op_definition
class MBarrierArriveOp(BarrierOp):
    """One arrival per thread, here or at the same barrier of another block of the cluster."""

    name = "nv.mbarrier.arrive"
    barrier = operand_def(BUFFER)
    index = operand_def(INDEX)
    cta = opt_operand_def(i32)

    ASM: ClassVar[str] = "$barrier `[` $index `]` (`cta` $cta^)? attr-dict `:` type($barrier)"

    def __init__(self, barrier: Operand, index: Operand, cta: Operand | None = None) -> None:
        super().__init__(operands=[barrier, index, cta])


def _parse_bytes(parser: IRParser, state: ParseState) -> None:
    static, names = split_unresolved([parse_mixed_value(parser)])
    state.properties["static_bytes"] = static
    state.operands["dynamic_bytes"] = names


def _print_bytes(printer: IRPrinter, op: BytesOp) -> None:
    print_mixed_value(printer, op.bytes)


class BytesOp(BarrierOp, MixedLists):
    """Base of expect-tx ops."""

    MIXED: ClassVar[tuple[str, ...]] = ("bytes",)

    barrier = operand_def(BUFFER)
    index = operand_def(INDEX)
    dynamic_bytes = var_operand_def(INDEX)
    static_bytes = integers_prop()

    ASM: ClassVar[str] = (
        "$barrier `[` $index `]` `,` custom<Bytes>($static_bytes) attr-dict `:` type($barrier)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Bytes": Directive(_parse_bytes, _print_bytes)}

    def __init__(self, barrier: Operand, index: Operand, bytes: MixedOperand) -> None:
        static, dynamic = split((bytes,))
        super().__init__(operands=[barrier, index, dynamic], properties={"static_bytes": static})

    @property
    def bytes(self) -> Mixed:
        """How many bytes are on their way."""
        return join(self.static_bytes, self.dynamic_bytes)[0]

    @override
    def verify_(self) -> None:
        super().verify_()
        verify_mixed("bytes", self.static_bytes, self.dynamic_bytes)
        if len(integers(self.static_bytes)) != 1:
            raise VerifyException("expects exactly one byte count")
        count = self.bytes
        if isinstance(count, int) and not 0 <= count <= MAX_BYTES:
            raise VerifyException(f"transaction count must be 0 to {MAX_BYTES} bytes, got {count}")


@irdl_op_definition
class MBarrierExpectTxOp(BytesOp):
    """Expects bytes that copies will complete; no arrival."""

    name = "nv.mbarrier.expect_tx"


@irdl_op_definition
class MBarrierArriveExpectTxOp(BytesOp):
    """Expects bytes, and arrives once (one thread does both)."""

    name = "nv.mbarrier.arrive_expect_tx"


@irdl_op_definition
class MBarrierWaitOp(BarrierOp):
    """Waits until the phase with this parity has ended."""

    name = "nv.mbarrier.wait"
    barrier = operand_def(BUFFER)
    index = operand_def(INDEX)
    parity = operand_def(INTEGER_OR_INDEX)

    ASM: ClassVar[str] = (
        "$barrier `[` $index `]` `,` $parity attr-dict `:` type($barrier) `,` type($parity)"
    )

    def __init__(self, barrier: Operand, index: Operand, parity: Operand) -> None:
        super().__init__(operands=[barrier, index, parity])

    @override
    def verify_(self) -> None:
        super().verify_()
        parity = constant_integer(self.parity)
        if parity is not None and parity not in (-1, 0, 1):  # an i1 of 1 reads as -1
            raise VerifyException(f"parity must be 0 or 1, got {parity}")


@irdl_op_definition
class CpAsyncMBarrierArriveOp(BarrierOp):
    """Arrives at the barrier once the copies this thread has started are complete.

    With ``noinc`` the arrival is one of those the barrier expects anyway.
    """

    name = "nv.cp_async.mbarrier_arrive"
    noinc = mark_prop()

    def __init__(self, barrier: Operand, index: Operand, *, noinc: bool = False) -> None:
        super().__init__(operands=[barrier, index], properties=given(noinc=mark(noinc)))


# -- groups ------------------------------------------------------------------------------------


class PlainOp(AsmOp):
    """Base of ops without operands that order memory."""

    traits = traits_def(Orders())
    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


class WaitOp(AsmOp):
    """Base of waits that leave at most `pending` groups in flight."""

    pending = integer_prop()
    traits = traits_def(Orders())
    ASM: ClassVar[str] = "$pending attr-dict"

    def __init__(self, pending: int) -> None:
        super().__init__(properties=given(pending=integer_attr(pending)))

    @property
    def count(self) -> int:
        return self.pending.value.data

    @override
    def verify_(self) -> None:
        if self.count < 0:
            raise VerifyException(
                f"number of groups left in flight must not be negative, got {self.count}"
            )


@irdl_op_definition
class CpAsyncCommitOp(PlainOp):
    """Closes a group: all asynchronous loads started since the last one."""

    name = "nv.cp_async.commit"


@irdl_op_definition
class CpAsyncWaitOp(WaitOp):
    """Waits for groups of asynchronous loads, oldest first."""

    name = "nv.cp_async.wait"


@irdl_op_definition
class TmaStoreCommitOp(PlainOp):
    """Closes a group: all bulk stores started since the last one."""

    name = "nv.tma_store.commit"


@irdl_op_definition
class TmaStoreWaitOp(WaitOp):
    """Waits for groups of bulk stores, oldest first; with ``read``, until they have been read."""

    name = "nv.tma_store.wait"
    read = mark_prop()

    ASM: ClassVar[str] = "$pending attr-dict"

    def __init__(self, pending: int, *, read: bool = False) -> None:
        super().__init__(pending)
        if read:
            self.properties.update(given(read=mark(True)))


@irdl_op_definition
class WgmmaCommitOp(PlainOp):
    """Commits a group of asynchronous MMAs."""

    name = "nv.wgmma.commit"


@irdl_op_definition
class WgmmaWaitOp(WaitOp):
    """Waits for groups of asynchronous MMAs, oldest first.

    At the tile level every asynchronous ``tile.gemm`` is a group of its own.
    """

    name = "nv.wgmma.wait"


@irdl_op_definition
class FenceProxyAsyncOp(PlainOp):
    """Async proxy fence: earlier writes of threads to shared memory are visible to later reads.

    With ``tensors``, those to global memory are as well.
    """

    name = "nv.fence_proxy_async"
    tensors = mark_prop()


@irdl_op_definition
class FenceBarrierInitOp(PlainOp):
    """Barriers set up before are seen by the other blocks of the cluster."""

    name = "nv.fence_barrier_init"
