"""A view of shared storage by address: what ``placement=explicit`` makes of a buffer.

A ``tlx.local_alias`` starts where its source starts and steps by the size of its own tile, so
sharing has to be expressed in indices. ``tlx.placed_alias`` has the addresses outright, in bytes of
shared memory or columns of tensor memory. Buffer ``i`` starts at::

    base + offset + (i mod r1) * s1 + (i div r1 mod r2) * s2 + ... + (i div r1*r2*...) * s_last

with ``radices = [r1, r2, ...]`` and ``strides = [s1, s2, ..., s_last]``. Types and indices stay as
in the kernel; the code generator's ``memdesc_index`` does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tlx.storage import I64_ARRAY_ATTR, I64_ATTR
from tilewright.dialects.tt.base import Operand
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.types import MEMDESC, MemDescType
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import INT64, INT64_ARRAY, AttributeSyntax


@irdl_op_definition
class PlacedAliasOp(AsmOp):
    """Buffers at given addresses of `src`."""

    name = "tlx.placed_alias"
    src = operand_def(MEMDESC)
    offset = cast("IntegerAttr", prop_def(I64_ATTR))
    radices = cast("DenseArrayBase[IntegerType]", prop_def(I64_ARRAY_ATTR))
    strides = cast("DenseArrayBase[IntegerType]", prop_def(I64_ARRAY_ATTR))
    result = result_def(MEMDESC)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$src `offset` `=` $offset `,` `radices` `=` $radices `,` `strides` `=` $strides "
        "attr-dict `:` type($src) `->` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "offset": INT64,
        "radices": INT64_ARRAY,
        "strides": INT64_ARRAY,
    }

    def __init__(
        self,
        src: Operand,
        result_type: MemDescType,
        offset: int,
        radices: Sequence[int],
        strides: Sequence[int],
    ) -> None:
        super().__init__(
            operands=[src],
            result_types=[result_type],
            properties={
                "offset": IntegerAttr(offset, i64),
                "radices": DenseArrayBase.from_list(i64, radices),
                "strides": DenseArrayBase.from_list(i64, strides),
            },
        )

    @property
    def start(self) -> int:
        """Where buffer 0 is."""
        return self.offset.value.data

    @property
    def levels(self) -> tuple[tuple[int | None, int], ...]:
        """Radix and stride of every level, innermost first; the last radix has no limit."""
        radices: tuple[int | None, ...] = (*self.radices.get_values(), None)
        return tuple(zip(radices, self.strides.get_values(), strict=True))

    @override
    def verify_(self) -> None:
        if memdesc(self.src.type).memory_space != memdesc(self.result.type).memory_space:
            raise VerifyException("requires the same memory space for all operands and results")
        if self.start < 0:
            raise VerifyException(f"offset must not be negative, got {self.start}")
        radices, strides = self.radices.get_values(), self.strides.get_values()
        if len(strides) != len(radices) + 1:
            raise VerifyException(
                f"expected one stride more than radices, got {len(strides)} and {len(radices)}"
            )
        if any(radix < 2 for radix in radices):
            raise VerifyException(f"radices must be at least 2, got {list(radices)}")
        if any(stride < 1 for stride in strides):
            raise VerifyException(f"strides must be positive, got {list(strides)}")
