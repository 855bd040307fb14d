"""Buffer accesses, and copies from global memory to LDS that use no registers.

    amd.buffer_load %A[%i] -> %a[%c0] lanes(8) elements %n if %t : memref<?xf16, #global>, ...
    amd.buffer_store %a[%c0] -> %A[%i] lanes(8) elements %n : memref<8xf16, #local>, ...
    amd.load_lds %A[%i] -> %S[%o] lanes(8) elements %n if %t : memref<?xf16, #global>, ...
    amd.wait loads(2)

A buffer access is checked by the memory system: a load past element `elements` of the tensor gives
zeros, a store is dropped, and so is every access whose predicate is false. No branch is needed. A
vector that is half outside differs between GPUs: `elements` must not cut one.

`amd.load_lds` is issued by a wave. Lane ``l`` reads at its own index of `src` and writes at
``dst_indices + lanes * l``, with the same `dst_indices` in all lanes; outside, it writes zeros. The
copy is in flight until `amd.wait loads(n)`, which leaves at most the last `n` of the wave's copies
in flight; other waves see it after a barrier that follows the wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i1
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.moves import LaneOp, run_of
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile.access import AccessedRegion, Orders
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_prop,
    mark,
    mark_prop,
    verify_range,
)
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.types import BUFFER, space_of
from tilewright.ir.text.assembly import AsmOp

_BUFFER_BYTES = (1, 2, 4, 8, 16)
_REGISTERS = (Space.LOCAL, Space.VAR)
MAX_PENDING = 63
"""The hardware counts loads in flight with six bits."""


class GuardedMoveOp(LaneOp):
    """Base of moves with a bound and a predicate."""

    MORE_OPERANDS: ClassVar[int] = 2
    ASM: ClassVar[str] = (
        "$src `[` $src_indices `]` `->` $dst `[` $dst_indices `]` `lanes` `(` $lanes `)` "
        "`elements` $elements (`if` $predicate^)? attr-dict `:` type($src) `,` type($dst)"
    )

    def __init__(
        self,
        src: Operand,
        src_indices: Sequence[Operand],
        dst: Operand,
        dst_indices: Sequence[Operand],
        lanes: int,
        elements: Operand | None,
        predicate: Operand | None = None,
        *,
        nontemporal: bool = False,
    ) -> None:
        super().__init__(src, src_indices, dst, dst_indices, lanes, elements, predicate)
        self.properties.update(given(nontemporal=mark(nontemporal)))

    def verify_spaces(self, source: tuple[Space, ...], target: tuple[Space, ...]) -> None:
        found = space_of(self.src.type), space_of(self.dst.type)
        if found[0] not in source or found[1] not in target:
            raise VerifyException(
                f"moves from {_either(source)} to {_either(target)} memory, "
                f"not '{self.src.type}' to '{self.dst.type}'"
            )


def _either(spaces: tuple[Space, ...]) -> str:
    return " or ".join(space.value for space in spaces)


@irdl_op_definition
class BufferLoadOp(GuardedMoveOp):
    """Global memory to registers; zeros where `elements` or the predicate excludes the access."""

    name = "amd.buffer_load"

    src = operand_def(BUFFER)
    src_indices = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_indices = var_operand_def(INDEX)
    elements = operand_def(INDEX)
    predicate = opt_operand_def(i1)
    nontemporal = mark_prop()
    """The data is used once."""

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        self.verify_bytes(_BUFFER_BYTES)
        self.verify_spaces((Space.GLOBAL,), _REGISTERS)


@irdl_op_definition
class BufferStoreOp(GuardedMoveOp):
    """Registers to global memory; nothing where `elements` or the predicate excludes the access."""

    name = "amd.buffer_store"

    src = operand_def(BUFFER)
    src_indices = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_indices = var_operand_def(INDEX)
    elements = operand_def(INDEX)
    predicate = opt_operand_def(i1)
    nontemporal = mark_prop()

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        self.verify_bytes(_BUFFER_BYTES)
        self.verify_spaces(_REGISTERS, (Space.GLOBAL,))


@irdl_op_definition
class LoadLdsOp(GuardedMoveOp):
    """Starts a wave's copy from global memory to LDS."""

    name = "amd.load_lds"

    src = operand_def(BUFFER)
    src_indices = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_indices = var_operand_def(INDEX)
    elements = opt_operand_def(INDEX)
    predicate = opt_operand_def(i1)
    nontemporal = mark_prop()

    traits = traits_def(Orders())
    ASM: ClassVar[str] = (
        "$src `[` $src_indices `]` `->` $dst `[` $dst_indices `]` `lanes` `(` $lanes `)` "
        "(`elements` $elements^)? (`if` $predicate^)? attr-dict `:` type($src) `,` type($dst)"
    )

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        chip = amd_chip_of(self)
        lanes = 1 if chip is None else chip.wave
        return [run_of(self.dst, self.dst_indices, lanes * self.width)]

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        super().verify_()
        self.verify_same_elements()
        chip = amd_chip_of(self)
        if chip is None:
            raise VerifyException("expects a function whose target is an AMD GPU")
        if not chip.direct_copy_bytes:
            raise VerifyException(f"{chip} has no copies from global memory to LDS")
        self.verify_bytes(chip.direct_copy_bytes)
        source, destination = space_of(self.src.type), space_of(self.dst.type)
        if source is not Space.GLOBAL or destination is None or not destination.is_shared:
            raise VerifyException(
                f"copies from global memory to LDS, not '{self.src.type}' to '{self.dst.type}'"
            )


@irdl_op_definition
class WaitOp(AsmOp):
    """Waits until at most `loads` of the wave's copies to LDS are in flight, the last ones."""

    name = "amd.wait"

    loads = integer_prop()
    traits = traits_def(Orders())
    ASM: ClassVar[str] = "`loads` `(` $loads `)` attr-dict"

    def __init__(self, loads: int) -> None:
        super().__init__(properties=given(loads=integer_attr(loads)))

    @override
    def verify_(self) -> None:
        verify_range("loads in flight", self.loads, MAX_PENDING)
