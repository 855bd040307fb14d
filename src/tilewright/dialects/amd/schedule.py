"""Hints to the compiler's scheduler and to the hardware's; none changes what a kernel computes.

    amd.sched_group mfma count(4)
    amd.sched_group lds_read count(1)
    amd.sched_barrier 0
    amd.setprio 1
    amd.iglp 0

A run of `amd.sched_group` in a block is the order in which instructions of these kinds are to
follow. `amd.sched_barrier` lets only the kinds of its mask cross. `amd.setprio` raises the
wave's priority among those of its SIMD. `amd.iglp` selects one of the compiler's own patterns.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from typing_extensions import override
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import Orders, States
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    string,
    verify_range,
)
from tilewright.ir.text.assembly import AsmOp

GROUP_MASKS: Mapping[str, int] = MappingProxyType(
    {
        "valu": 0x2,
        "salu": 0x4,
        "mfma": 0x8,
        "vmem": 0x10,
        "vmem_read": 0x20,
        "vmem_write": 0x40,
        "lds": 0x80,
        "lds_read": 0x100,
        "lds_write": 0x200,
    }
)
"""Bits of ``sched_group_barrier`` (LLVM's "User Guide for AMDGPU Backend"); `mfma` is WMMA too."""
GROUPS = KeywordSyntax(tuple(GROUP_MASKS))
_MASK_LIMIT = 0x7FF
_PRIORITIES = 3
_PATTERNS = 3


@irdl_op_definition
class SchedGroupOp(AsmOp):
    """The next `count` instructions of a kind."""

    name = "amd.sched_group"
    kind = keyword_prop(GROUPS)
    count = integer_prop()
    sync = integer_prop(0)
    """Groups with one number are ordered among each other."""

    traits = traits_def(States())
    ASM: ClassVar[str] = "$kind `count` `(` $count `)` attr-dict"

    def __init__(self, kind: str, count: int, sync: int = 0) -> None:
        super().__init__(
            properties=given(kind=string(kind), count=integer_attr(count), sync=integer_attr(sync))
        )

    @property
    def mask(self) -> int:
        return GROUP_MASKS[self.kind.data]

    @override
    def verify_(self) -> None:
        if self.count.value.data < 1:
            raise VerifyException(f"count must be at least 1, got {self.count.value.data}")


@irdl_op_definition
class SchedBarrierOp(AsmOp):
    """The compiler moves no instruction over this point, except kinds of the mask."""

    name = "amd.sched_barrier"
    mask = integer_prop()
    traits = traits_def(Orders())
    ASM: ClassVar[str] = "$mask attr-dict"

    def __init__(self, mask: int = 0) -> None:
        super().__init__(properties=given(mask=integer_attr(mask)))

    @override
    def verify_(self) -> None:
        verify_range("mask", self.mask, _MASK_LIMIT)


@irdl_op_definition
class SetPrioOp(AsmOp):
    """The wave's priority, 0 (at first) to 3."""

    name = "amd.setprio"
    priority = integer_prop()
    traits = traits_def(Orders())
    ASM: ClassVar[str] = "$priority attr-dict"

    def __init__(self, priority: int) -> None:
        super().__init__(properties=given(priority=integer_attr(priority)))

    @override
    def verify_(self) -> None:
        verify_range("priority", self.priority, _PRIORITIES)


@irdl_op_definition
class IglpOp(AsmOp):
    """One of the compiler's own patterns for the block around it."""

    name = "amd.iglp"
    pattern = integer_prop()
    traits = traits_def(States())
    ASM: ClassVar[str] = "$pattern attr-dict"

    def __init__(self, pattern: int = 0) -> None:
        super().__init__(properties=given(pattern=integer_attr(pattern)))

    @override
    def verify_(self) -> None:
        verify_range("pattern", self.pattern, _PATTERNS)
