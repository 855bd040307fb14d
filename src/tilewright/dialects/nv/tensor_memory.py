"""Tensor memory (sm_100a): allocation, moves from and to registers, copies from shared memory.

    nv.tcgen05.alloc %slot[%c0] columns(512) : memref<1xi32, #shared>
    nv.tcgen05.relinquish
    nv.tcgen05.ld %t -> %acc[%c0] shape("32x32b") count(64) : memref<64xf32, #local>
    nv.tcgen05.wait_ld
    nv.tcgen05.st %p[%c0] -> %t shape("32x32b") count(32) : memref<64xf16, #local>
    nv.tcgen05.wait_st
    nv.tcgen05.cp %scales -> %t shape("32x128b")
    nv.tcgen05.dealloc %base columns(512)

`alloc`, `relinquish` and `dealloc` are executed by all threads of one warp, the same for a kernel's
allocations and deallocations; columns are a power of two from 32 to 512. With ``group(2)`` a warp
of each CTA of the pair executes them, and both get the same columns.

`ld` and `st` are executed by all threads of a warp and move 32-bit registers. Warp ``w`` accesses
lanes ``32 * (w % 4) …`` only: the address names that lane (or, for shapes of 16 lanes, lane 16 of
the quarter). `count` is the ``.xN`` of PTX. Register r of lane t is

==========  ============================================  =======================
shape       lane of tensor memory                         column
==========  ============================================  =======================
32x32b      t                                             r
16x64b      t // 4 + 8*(t % 2)                            2*r + t // 2 % 2
16x128b     t // 4 + 8*(r % 2)                            4*(r // 2) + t % 4
16x256b     t // 4 + 8*(r // 2 % 2)                       8*(r // 4) + 2*(t % 4) + r % 2
==========  ============================================  =======================

Elements of 16 and 8 bits are packed in registers. With `pack16` (ld) and `unpack16` (st) a register
has the low halves of two columns, and covers both.

Registers of an `ld` may be read after `wait_ld`, those of an `st` be overwritten, and its result be
read, after `wait_st`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, StringAttr, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.nv.barriers import PlainOp
from tilewright.dialects.nv.matrix import MatrixDescriptorOp
from tilewright.dialects.nv.tcgen05 import verify_group
from tilewright.dialects.simt.register_mma import register_run
from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionAccess,
    base_of,
    element_of,
    somewhere,
    with_unit,
)
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_prop,
    mark,
    mark_prop,
    string,
)
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.dialects.tile.types import BUFFER, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import ANY, AttributeSyntax

MIN_COLUMNS = 32
MAX_COLUMNS = 512
MAX_REPEATS = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32}
REGISTERS_PER_REPEAT = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}
COPY_SHAPES = ("32x128b", "128x128b", "128x256b")
"""32x128b goes to all four quarters of the lanes (``.warpx4``)."""
_REGISTER_BITS = 32
_PACKED_BITS = 16


def _verify_columns(columns: int) -> None:
    is_power = columns & (columns - 1) == 0
    if not MIN_COLUMNS <= columns <= MAX_COLUMNS or not is_power:
        raise VerifyException(
            f"tensor memory is allocated in {MIN_COLUMNS}, 64, 128, 256 or {MAX_COLUMNS} columns, "
            f"got {columns}"
        )


@irdl_op_definition
class Tcgen05AllocOp(AsmOp, RegionAccess):
    """Allocates columns and writes their address to shared memory; waits until there are some."""

    name = "nv.tcgen05.alloc"
    slot = operand_def(BUFFER)
    index = operand_def(INDEX)
    columns = integer_prop()
    group = integer_prop(1)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = (
        "$slot `[` $index `]` `columns` `(` $columns `)` (`group` `(` $group^ `)`)? attr-dict "
        "`:` type($slot)"
    )

    def __init__(self, slot: Operand, index: Operand, columns: int, *, group: int = 1) -> None:
        super().__init__(
            operands=[slot, index],
            properties=given(columns=integer_attr(columns), group=integer_attr(group)),
        )

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [element_of(self.slot, (known(self.index),))]

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        _verify_columns(self.columns.value.data)
        verify_group(self.group.value.data)
        space, element = space_of(self.slot.type), element_type_of(self.slot.type)
        is_address = isinstance(element, IntegerType) and bit_width(element) == _REGISTER_BITS
        if space is None or not space.is_shared or not is_address:
            raise VerifyException(
                "the address is written to 32-bit integers in shared memory, "
                f"got '{self.slot.type}'"
            )


@irdl_op_definition
class Tcgen05DeallocOp(AsmOp):
    """Frees columns: the same number, at the address that `alloc` returned."""

    name = "nv.tcgen05.dealloc"
    address = operand_def(i32)
    columns = integer_prop()
    group = integer_prop(1)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$address `columns` `(` $columns `)` (`group` `(` $group^ `)`)? attr-dict"

    def __init__(self, address: Operand, columns: int, *, group: int = 1) -> None:
        super().__init__(
            operands=[address],
            properties=given(columns=integer_attr(columns), group=integer_attr(group)),
        )

    @override
    def verify_(self) -> None:
        _verify_columns(self.columns.value.data)
        verify_group(self.group.value.data)


@irdl_op_definition
class Tcgen05RelinquishOp(AsmOp):
    """The CTA will not allocate any more."""

    name = "nv.tcgen05.relinquish"
    group = integer_prop(1)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "(`group` `(` $group^ `)`)? attr-dict"

    def __init__(self, *, group: int = 1) -> None:
        super().__init__(properties=given(group=integer_attr(group)))

    @override
    def verify_(self) -> None:
        verify_group(self.group.value.data)


class Tcgen05MoveOp(AsmOp, RegionAccess):
    """Base of moves between registers and tensor memory, by a warp."""

    address = operand_def(i32)
    registers_buffer = operand_def(BUFFER)
    registers_index = operand_def(INDEX)
    shape = prop_def(StringAttr)
    repeats = integer_prop()

    traits = traits_def(Orders())
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"shape": ANY}

    @property
    def registers(self) -> int:
        """32-bit registers that a thread moves."""
        return REGISTERS_PER_REPEAT[self.shape.data] * self.repeats.value.data

    @property
    def elements(self) -> int:
        """The same in elements of the buffer."""
        bits = bit_width(element_type_of(self.registers_buffer.type))
        return self.registers * _REGISTER_BITS // bits

    def run(self) -> AccessedRegion:
        """The registers."""
        return register_run(self.registers_buffer, self.registers_index, self.elements)

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        shape, repeats = self.shape.data, self.repeats.value.data
        if shape not in MAX_REPEATS:
            raise VerifyException(
                f"shape of a move must be one of {', '.join(MAX_REPEATS)}, got {shape}"
            )
        if not 1 <= repeats <= MAX_REPEATS[shape] or repeats & (repeats - 1):
            raise VerifyException(
                f"count of {shape} must be a power of two up to {MAX_REPEATS[shape]}, got {repeats}"
            )
        if space_of(self.registers_buffer.type) is not Space.LOCAL:
            raise VerifyException(f"moves registers, got '{self.registers_buffer.type}'")

    def verify_halves(self, name: str) -> None:
        bits = bit_width(element_type_of(self.registers_buffer.type))
        if bits != _PACKED_BITS:
            raise VerifyException(f"{name} moves elements of 16 bits, got {bits} bits")


@irdl_op_definition
class Tcgen05LdOp(Tcgen05MoveOp):
    """Starts the load of registers from tensor memory."""

    name = "nv.tcgen05.ld"
    pack16 = mark_prop()

    ASM: ClassVar[str] = (
        "$address `->` $registers_buffer `[` $registers_index `]` `shape` `(` $shape `)` "
        "`count` `(` $repeats `)` attr-dict `:` type($registers_buffer)"
    )

    def __init__(
        self,
        address: Operand,
        dst: tuple[Operand, Operand],
        shape: str,
        repeats: int,
        *,
        pack16: bool = False,
    ) -> None:
        super().__init__(
            operands=[address, *dst],
            properties=given(
                shape=string(shape), repeats=integer_attr(repeats), pack16=mark(pack16)
            ),
        )

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [self.run()]

    @override
    def verify_(self) -> None:
        super().verify_()
        if self.pack16 is not None:
            self.verify_halves("pack16")


@irdl_op_definition
class Tcgen05StOp(Tcgen05MoveOp):
    """Starts the store of registers to tensor memory."""

    name = "nv.tcgen05.st"
    unpack16 = mark_prop()

    ASM: ClassVar[str] = (
        "$registers_buffer `[` $registers_index `]` `->` $address `shape` `(` $shape `)` "
        "`count` `(` $repeats `)` attr-dict `:` type($registers_buffer)"
    )

    def __init__(
        self,
        src: tuple[Operand, Operand],
        address: Operand,
        shape: str,
        repeats: int,
        *,
        unpack16: bool = False,
    ) -> None:
        super().__init__(
            operands=[address, *src],
            properties=given(
                shape=string(shape), repeats=integer_attr(repeats), unpack16=mark(unpack16)
            ),
        )

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [self.run()]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def has_writes(self) -> bool:
        return True  # tensor memory, which is not a buffer

    @override
    def verify_(self) -> None:
        super().verify_()
        if self.unpack16 is not None:
            self.verify_halves("unpack16")


@irdl_op_definition
class Tcgen05WaitLdOp(PlainOp):
    """Waits for all loads from tensor memory that this warp has started."""

    name = "nv.tcgen05.wait_ld"


@irdl_op_definition
class Tcgen05WaitStOp(PlainOp):
    """Waits for all stores to tensor memory that this warp has started."""

    name = "nv.tcgen05.wait_st"


@irdl_op_definition
class Tcgen05CpOp(AsmOp, RegionAccess):
    """Starts a copy from shared to tensor memory, in order with MMAs; by one thread.

    Row r of the operand goes to lane r (``32x128b``: and to the same lane of the other quarters).
    """

    name = "nv.tcgen05.cp"
    src = operand_def(i64)
    address = operand_def(i32)
    shape = prop_def(StringAttr)
    group = integer_prop(1)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = (
        "$src `->` $address `shape` `(` $shape `)` (`group` `(` $group^ `)`)? attr-dict"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"shape": ANY}

    def __init__(self, src: Operand, address: Operand, shape: str, *, group: int = 1) -> None:
        super().__init__(
            operands=[src, address],
            properties=given(shape=string(shape), group=integer_attr(group)),
        )

    @property
    def extent(self) -> tuple[int, int]:
        """Rows, and columns of tensor memory."""
        rows, bits = self.shape.data.removesuffix("b").split("x")
        return int(rows), int(bits) // _REGISTER_BITS

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        owner = self.src.owner
        if not isinstance(owner, MatrixDescriptorOp):
            return []
        return [with_unit(somewhere(base_of(owner.buffer)), "tensor_core")]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return []

    @override
    def has_writes(self) -> bool:
        return True  # tensor memory, which is not a buffer

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        verify_group(self.group.value.data)
        if self.shape.data not in COPY_SHAPES:
            raise VerifyException(
                f"shape of a copy must be one of {', '.join(COPY_SHAPES)}, got {self.shape.data}"
            )
