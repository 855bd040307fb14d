"""NoC transfers, multicast and semaphores of data-movement kernels.

    %a = tensix.accessor %addr ct_offset(0) : !tensix.accessor<2, bf16>
    tensix.noc_read_tile %page, %a, %l1 : !tensix.accessor<2, bf16>
    tensix.noc_barrier read
    tensix.mcast %l1 to [%x0, %y0, %x1, %y1] bytes %n dests %d
    %s = tensix.sem 0
    tensix.sem_inc %s, %one at [%x, %y]

Transfers are queued; data arrives at any later time, at the latest at the barrier of the issuing
kernel. ``flush`` means that writes have left and their source may be reused.
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.base import DATA_MOVEMENT, TensixOp
from tilewright.dialects.tensix.types import ACCESSOR, SEM, AccessorType, Role
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    mark,
    mark_prop,
    opt_string_prop,
    string,
)
from tilewright.dialects.tile.mixed import INDEX
from tilewright.ir.interfaces import constant_integer

MAX_SEMAPHORES = 16
BARRIERS = KeywordSyntax(("read", "write", "flush", "atomic"))


class DataMovementOp(TensixOp):
    """Base of ops that reader and writer kernels execute."""

    ROLES: ClassVar[tuple[Role, ...]] = DATA_MOVEMENT


@irdl_op_definition
class AccessorOp(DataMovementOp):
    """Finds pages of the tensor at `address`; its layout is in the compile-time arguments."""

    name = "tensix.accessor"

    address = operand_def(INDEX)
    ct_offset = integer_prop()
    """Position of the first of its compile-time arguments: two, or more for a sharded tensor."""
    label = opt_string_prop()
    """The name of the tensor in the plan."""
    sharded = mark_prop()
    """The pages are in the L1 of cores."""
    result = result_def(ACCESSOR)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$address `ct_offset` `(` $ct_offset `)` ($label^)? attr-dict `:` type($result)"
    )

    def __init__(
        self,
        address: Operand,
        ct_offset: int,
        type: AccessorType,
        label: str | None = None,
        *,
        sharded: bool = False,
    ) -> None:
        super().__init__(
            operands=[address],
            result_types=[type],
            properties=given(
                ct_offset=integer_attr(ct_offset), label=string(label), sharded=mark(sharded)
            ),
        )

    @property
    def offset(self) -> int:
        return self.ct_offset.value.data


class PageOp(DataMovementOp):
    """Base of transfers of one page."""

    page = operand_def(INDEX)
    accessor = operand_def(ACCESSOR)
    l1 = operand_def(INDEX)

    ASM: ClassVar[str] = "$page `,` $accessor `,` $l1 attr-dict `:` type($accessor)"

    def __init__(self, page: Operand, accessor: Operand, l1: Operand) -> None:
        super().__init__(operands=[page, accessor, l1])


@irdl_op_definition
class NocReadTileOp(PageOp):
    """Queues the copy of a page from DRAM to L1."""

    name = "tensix.noc_read_tile"


@irdl_op_definition
class NocWriteTileOp(PageOp):
    """Queues the copy of a page from L1 to DRAM."""

    name = "tensix.noc_write_tile"


@irdl_op_definition
class NocBarrierOp(DataMovementOp):
    """Waits for transfers of this kernel: all reads, all writes, their departure, or atomics."""

    name = "tensix.noc_barrier"

    kind = keyword_prop(BARRIERS)

    ASM: ClassVar[str] = "$kind attr-dict"

    def __init__(self, kind: str) -> None:
        super().__init__(properties={"kind": StringAttr(kind)})


# -- multicast ---------------------------------------------------------------------------------


class RectangleOp(DataMovementOp):
    """Base of ops that reach a rectangle of cores, corners inclusive, in NoC coordinates."""

    x_start = operand_def(INDEX)
    y_start = operand_def(INDEX)
    x_end = operand_def(INDEX)
    y_end = operand_def(INDEX)

    def verify_destinations(self, count: int | None) -> None:
        if count is not None and count < 1:
            raise VerifyException(f"a multicast has at least one destination, got {count}")


_RECTANGLE = "`to` `[` $x_start `,` $y_start `,` $x_end `,` $y_end `]`"


@irdl_op_definition
class McastOp(RectangleOp):
    """Copies bytes of L1 to the same address on all cores of a rectangle but the own."""

    name = "tensix.mcast"

    l1 = operand_def(INDEX)
    x_start = operand_def(INDEX)
    y_start = operand_def(INDEX)
    x_end = operand_def(INDEX)
    y_end = operand_def(INDEX)
    bytes = operand_def(INDEX)
    dests = operand_def(INDEX)
    """How many cores receive, without the own."""

    ASM: ClassVar[str] = f"$l1 {_RECTANGLE} `bytes` $bytes `dests` $dests attr-dict"

    def __init__(
        self,
        l1: Operand,
        rectangle: tuple[Operand, Operand, Operand, Operand],
        bytes: Operand,
        dests: Operand,
    ) -> None:
        super().__init__(operands=[l1, *rectangle, bytes, dests])

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_destinations(constant_integer(self.dests))


# -- semaphores --------------------------------------------------------------------------------


@irdl_op_definition
class SemOp(DataMovementOp):
    """A semaphore of the program, by its id."""

    name = "tensix.sem"

    position = integer_prop()
    label = opt_string_prop()
    result = result_def(SEM)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$position ($label^)? attr-dict"

    def __init__(self, position: int, label: str | None = None) -> None:
        super().__init__(
            result_types=[SEM],
            properties=given(position=integer_attr(position), label=string(label)),
        )

    def asm_result_names(self) -> list[str]:
        return [f"sem{self.index}"]

    @property
    def index(self) -> int:
        return self.position.value.data

    @override
    def verify_(self) -> None:
        super().verify_()
        if not 0 <= self.index < MAX_SEMAPHORES:
            raise VerifyException(
                f"semaphore id must be 0 to {MAX_SEMAPHORES - 1}, got {self.index}"
            )


@irdl_op_definition
class SemSetOp(DataMovementOp):
    """Stores a value into the semaphore of this core."""

    name = "tensix.sem_set"
    sem = operand_def(SEM)
    value = operand_def(INDEX)

    ASM: ClassVar[str] = "$sem `,` $value attr-dict"

    def __init__(self, sem: Operand, value: Operand) -> None:
        super().__init__(operands=[sem, value])


@irdl_op_definition
class SemIncOp(DataMovementOp):
    """Adds a value to the semaphore of another core, asynchronously."""

    name = "tensix.sem_inc"
    sem = operand_def(SEM)
    value = operand_def(INDEX)
    x = operand_def(INDEX)
    y = operand_def(INDEX)

    ASM: ClassVar[str] = "$sem `,` $value `at` `[` $x `,` $y `]` attr-dict"

    def __init__(self, sem: Operand, value: Operand, x: Operand, y: Operand) -> None:
        super().__init__(operands=[sem, value, x, y])


@irdl_op_definition
class SemWaitOp(DataMovementOp):
    """Blocks until the semaphore of this core equals a value, or with ``min`` is not less."""

    name = "tensix.sem_wait"
    sem = operand_def(SEM)
    value = operand_def(INDEX)
    at_least = mark_prop("min")

    ASM: ClassVar[str] = "$sem `,` $value attr-dict"

    def __init__(self, sem: Operand, value: Operand, *, at_least: bool = False) -> None:
        super().__init__(operands=[sem, value], properties=given(min=mark(at_least)))


@irdl_op_definition
class SemMcastOp(RectangleOp):
    """Copies the semaphore of this core to all cores of a rectangle but the own."""

    name = "tensix.sem_mcast"
    sem = operand_def(SEM)
    x_start = operand_def(INDEX)
    y_start = operand_def(INDEX)
    x_end = operand_def(INDEX)
    y_end = operand_def(INDEX)
    dests = operand_def(INDEX)

    ASM: ClassVar[str] = f"$sem {_RECTANGLE} `dests` $dests attr-dict"

    def __init__(
        self, sem: Operand, rectangle: tuple[Operand, Operand, Operand, Operand], dests: Operand
    ) -> None:
        super().__init__(operands=[sem, *rectangle, dests])

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_destinations(constant_integer(self.dests))
