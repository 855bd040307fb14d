"""Making tensor descriptors on the device, bulk copies without one, and prefetches.

A descriptor in memory is 128 bytes that the TMA hardware reads. A kernel that fills them in itself
must order that against their use with a fence::

    ttng.tensormap_create %mem, %base, [%box...], [%dims...], [%strides...], [%steps...] {...} : ...
    ttng.tensormap_fenceproxy_acquire %mem : !tt.ptr<i8>
    %desc = ttng.reinterpret_tensor_descriptor %mem : !tt.ptr<i8> to !tt.tensordesc<128x64xf16>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, i32_attr
from tilewright.dialects.tt.cache_text import CachedAccess, access_attributes
from tilewright.dialects.tt.constraints import BOOL_LIKE, DESC, I32_ATTR, PTR, PTR_LIKE
from tilewright.dialects.ttg.types import MEMDESC
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.type_utils import i1_like
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule


def _code(largest: int) -> IntegerAttr:
    """A small number whose meaning the hardware defines."""

    def holds(attribute: Attribute) -> bool:
        if not I32_ATTR.predicate(attribute):
            return False
        return 0 <= cast("IntegerAttr", attribute).value.data <= largest

    description = (
        f"{I32_ATTR.description} whose value is non-negative whose maximum value is {largest}"
    )
    return cast("IntegerAttr", prop_def(Satisfies(description, holds, (IntegerAttr,))))


@irdl_op_definition
class TensormapCreateOp(AsmOp):
    """Fills in the descriptor at `desc_ptr`; the fastest dimension comes first."""

    name = "ttng.tensormap_create"
    desc_ptr = operand_def(PTR)
    global_address = operand_def(PTR)
    box_dim = var_operand_def(i32)
    global_dim = var_operand_def(i32)
    global_stride = var_operand_def(i64)
    element_stride = var_operand_def(i32)
    elem_type = _code(15)
    interleave_layout = _code(2)
    swizzle_mode = _code(3)
    fill_mode = _code(1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = ttng_traits(
        AccessEffect(reads=("desc_ptr", "global_address"), writes=("desc_ptr", "global_address"))
    )

    ASM: ClassVar[str] = (
        "$desc_ptr `,` $global_address `,` `[` $box_dim `]` `,` `[` $global_dim `]` `,` "
        "`[` $global_stride `]` `,` `[` $element_stride `]` attr-dict "
        "`:` functional-type(operands, results)"
    )

    def __init__(
        self,
        desc_ptr: Operand,
        global_address: Operand,
        box_dim: Sequence[Operand],
        global_dim: Sequence[Operand],
        global_stride: Sequence[Operand],
        element_stride: Sequence[Operand],
        *,
        elem_type: int,
        swizzle_mode: int,
        interleave_layout: int = 0,
        fill_mode: int = 0,
    ) -> None:
        super().__init__(
            operands=[
                desc_ptr,
                global_address,
                box_dim,
                global_dim,
                global_stride,
                element_stride,
            ],
            properties={
                "elem_type": i32_attr(elem_type),
                "interleave_layout": i32_attr(interleave_layout),
                "swizzle_mode": i32_attr(swizzle_mode),
                "fill_mode": i32_attr(fill_mode),
            },
        )

    @override
    def verify_(self) -> None:
        rank = len(self.box_dim)
        for what, values, expected in (
            ("global dim", self.global_dim, rank),
            ("global stride", self.global_stride, rank - 1),
            ("element stride", self.element_stride, rank),
        ):
            if len(values) != expected:
                raise VerifyException(
                    f"Rank mismatch for {what}. Got {len(values)} but expected {expected}"
                )


@irdl_op_definition
class TensormapFenceproxyAcquireOp(AsmOp):
    """Makes a descriptor that was just filled in visible to the TMA hardware."""

    name = "ttng.tensormap_fenceproxy_acquire"
    desc_ptr = operand_def(PTR)
    traits = ttng_traits(AccessEffect(writes=("desc_ptr",)))

    ASM: ClassVar[str] = "$desc_ptr attr-dict `:` type($desc_ptr)"

    def __init__(self, desc_ptr: Operand) -> None:
        super().__init__(operands=[desc_ptr])


@irdl_op_definition
class ReinterpretTensorDescOp(AsmOp):
    """A pointer to a descriptor as the descriptor."""

    name = "ttng.reinterpret_tensor_descriptor"
    raw_desc = operand_def(PTR)
    result = result_def(DESC)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$raw_desc attr-dict `:` type($raw_desc) `to` type($result)"

    def __init__(self, raw_desc: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[raw_desc], result_types=[result_type])


# -- bulk copies ---------------------------------------------------------------------------------


@irdl_op_definition
class AsyncStoreOp(AsmOp):
    """Copies `size` bytes of shared memory to global memory; waited for in groups."""

    name = "ttng.async_store"
    src = operand_def(MEMDESC)
    dst = operand_def(PTR)
    size = operand_def(i32)
    traits = ttng_traits(AccessEffect(reads=("src",), writes=("dst",)))

    ASM: ClassVar[str] = "$src `,` $dst `,` $size attr-dict `:` type($src) `,` type($dst)"

    def __init__(self, src: Operand, dst: Operand, size: Operand) -> None:
        super().__init__(operands=[src, dst, size])


@irdl_op_definition
class AsyncBulkCopyGlobalToLocalOp(AsmOp):
    """Copies `size` bytes to shared memory; completes on an mbarrier."""

    name = "ttng.async_bulk_copy_global_to_local"
    src = operand_def(PTR)
    dst = operand_def(MEMDESC)
    size = operand_def(i32)
    barrier = operand_def(MEMDESC)
    pred = operand_def(i1)
    traits = ttng_traits(AccessEffect(reads=("src",), writes=("dst", "barrier")))

    ASM: ClassVar[str] = (
        "$src `,` $dst `,` $size `,` $barrier `,` $pred attr-dict "
        "`:` type($src) `,` type($dst) `,` type($barrier)"
    )

    def __init__(
        self, src: Operand, dst: Operand, size: Operand, barrier: Operand, pred: Operand
    ) -> None:
        super().__init__(operands=[src, dst, size, barrier, pred])


@irdl_op_definition
class AsyncBulkCopyLocalToGlobalOp(AsmOp):
    """Copies `size` bytes of shared memory to global memory; waited for in groups."""

    name = "ttng.async_bulk_copy_local_to_global"
    src = operand_def(MEMDESC)
    dst = operand_def(PTR)
    size = operand_def(i32)
    pred = operand_def(i1)
    traits = ttng_traits(AccessEffect(reads=("src",), writes=("dst",)))

    ASM: ClassVar[str] = "$src `,` $dst `,` $size `,` $pred attr-dict `:` type($src) `,` type($dst)"

    def __init__(self, src: Operand, dst: Operand, size: Operand, pred: Operand) -> None:
        super().__init__(operands=[src, dst, size, pred])


# -- prefetches ----------------------------------------------------------------------------------


@irdl_op_definition
class PrefetchOp(CachedAccess):
    """Prefetches what pointers point to into a cache: L1 for modifier ``ca``, L2 for ``cg``."""

    name = "ttng.prefetch"
    ptr = operand_def(PTR_LIKE)
    mask = opt_operand_def(BOOL_LIKE)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    traits = ttng_traits(AccessEffect(reads=("ptr",), writes=("ptr",)))

    ASM: ClassVar[str] = "$ptr (`,` $mask^)? `` custom<Attributes>($cachePolicy) `:` type($ptr)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Attributes": access_attributes(())}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "mask": TypeRule("mask type matches ptr type", lambda types: i1_like(types["ptr"]))
    }

    def __init__(
        self, ptr: Operand, mask: Operand | None = None, *, policy: Attribute | None = None
    ) -> None:
        super().__init__(operands=[ptr, mask], properties={"cachePolicy": policy})


@irdl_op_definition
class PrefetchTensormapOp(AsmOp):
    """Prefetches a descriptor itself into the cache of the TMA hardware."""

    name = "ttng.prefetch_tensormap"
    desc = operand_def(DESC)
    traits = ttng_traits(AccessEffect(reads=("desc",), writes=("desc",)))

    ASM: ClassVar[str] = "$desc attr-dict `:` type($desc)"

    def __init__(self, desc: Operand) -> None:
        super().__init__(operands=[desc])
