"""Buffers in shared memory: allocation, access as a whole, access by indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, enum_prop, i32_prop
from tilewright.dialects.tt.constraints import I32_ATTR, INT_TENSOR, TENSOR
from tilewright.dialects.tt.enums import RMW_OP
from tilewright.dialects.ttg.base import I1_TENSOR, ttg_traits
from tilewright.dialects.ttg.checks import (
    have_same_layout,
    memdesc,
    verify_axis,
    verify_mutable,
    verify_rank,
    verify_same_contents,
    verify_shared,
)
from tilewright.dialects.ttg.effects import AccessEffect, LocalAllocation
from tilewright.dialects.ttg.interfaces import SharedEncoding
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE, MemDescType, SharedMemorySpace
from tilewright.dialects.type_utils import (
    element_type_of,
    i1_like,
    is_int_or_float,
    rank_of,
    shape_of,
)
from tilewright.ir.text.assembly import AsmOp, TypeRule

_MIN_ALIGNMENT = 16


@irdl_op_definition
class LocalAllocOp(AsmOp):
    """A buffer in shared memory, with the contents of `src` if given. Without, it is mutable."""

    name = "ttg.local_alloc"
    src = opt_operand_def(TENSOR)
    alignment = cast("IntegerAttr | None", opt_prop_def(I32_ATTR))
    result = result_def(MEMDESC)
    traits = ttg_traits(LocalAllocation())

    ASM: ClassVar[str] = "($src^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, type: MemDescType, src: Operand | None = None) -> None:
        super().__init__(operands=[src], result_types=[type])

    @property
    def alignment_bytes(self) -> int:
        """The requested alignment, or the one the layout needs."""
        if self.alignment is not None:
            return self.alignment.value.data
        layout = memdesc(self.result.type).encoding
        return layout.alignment if isinstance(layout, SharedEncoding) else _MIN_ALIGNMENT

    @override
    def verify_(self) -> None:
        type = memdesc(self.result.type)
        if not isinstance(type.memory_space, SharedMemorySpace):
            raise VerifyException("should create a buffer of shared memory")
        if self.src is not None:
            verify_rank("source", self.src.type, type)
        if type.shape != type.alloc_shape:
            raise VerifyException("result shape and its alloc shape must match")
        if self.src is not None:
            verify_same_contents(self.src.type, type)
        elif not type.mutable:
            raise VerifyException("uninitialized alloc must have a mutable memdesc type")


@irdl_op_definition
class LocalDeallocOp(AsmOp):
    """The end of a buffer's life. Without it, the buffer lives as long as it is used."""

    name = "ttg.local_dealloc"
    src = operand_def(MEMDESC)
    traits = ttg_traits(AccessEffect(frees=("src",)))

    ASM: ClassVar[str] = "$src attr-dict `:` type($src)"

    def __init__(self, src: Operand) -> None:
        super().__init__(operands=[src])


@irdl_op_definition
class LocalLoadOp(AsmOp):
    """The contents of a buffer as a tensor. The token stands for work to be waited for."""

    name = "ttg.local_load"
    src = operand_def(MEMDESC)
    token = opt_operand_def(TOKEN_TYPE)
    result = result_def(TENSOR)
    traits = ttg_traits(AccessEffect(reads=("src",)))

    ASM: ClassVar[str] = "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, type: Attribute, token: Operand | None = None) -> None:
        super().__init__(operands=[src, token], result_types=[type])

    @override
    def verify_(self) -> None:
        verify_rank("result", self.result.type, self.src.type)
        verify_same_contents(self.src.type, self.result.type)


@irdl_op_definition
class LocalStoreOp(AsmOp):
    """Replaces the contents of a buffer by a tensor."""

    name = "ttg.local_store"
    src = operand_def(TENSOR)
    dst = operand_def(MEMDESC)
    traits = ttg_traits(AccessEffect(writes=("dst",)))

    ASM: ClassVar[str] = "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"

    def __init__(self, src: Operand, dst: Operand) -> None:
        super().__init__(operands=[src, dst])

    @override
    def verify_(self) -> None:
        verify_mutable(self.dst.type)
        verify_rank("source", self.src.type, self.dst.type)
        verify_same_contents(self.src.type, self.dst.type)


@irdl_op_definition
class LocalGatherOp(AsmOp):
    """Elements of a buffer by index: ``result[i, j] = src[i, indices[i, j]]`` for axis 1."""

    name = "ttg.local_gather"
    src = operand_def(MEMDESC)
    indices = operand_def(INT_TENSOR)
    token = opt_operand_def(TOKEN_TYPE)
    axis = i32_prop()
    result = result_def(TENSOR)
    traits = ttg_traits(AccessEffect(reads=("src",)))

    ASM: ClassVar[str] = (
        "$src `[` $indices `]` (`token` $token^)? attr-dict "
        "`:` type($src) `,` type($indices) `->` type($result)"
    )

    def __init__(
        self,
        src: Operand,
        indices: Operand,
        axis: int,
        type: Attribute,
        token: Operand | None = None,
    ) -> None:
        super().__init__(
            operands=[src, indices, token],
            result_types=[type],
            properties={"axis": IntegerAttr(axis, i32)},
        )

    @override
    def verify_(self) -> None:
        source, indices, result = self.src.type, self.indices.type, self.result.type
        verify_shared("source", source)
        if shape_of(result) != shape_of(indices):
            raise VerifyException("result shape must match indices shape")
        if rank_of(source) != rank_of(indices):
            raise VerifyException("source and indices must have the same rank")
        verify_axis(self.axis.value.data, source, "source")
        if element_type_of(source) != element_type_of(result):
            raise VerifyException("result element type must match source element type")
        if not have_same_layout(indices, result):
            raise VerifyException("indices and result must have the same layout")


@irdl_op_definition
class LocalScatterOp(AsmOp):
    """Writes elements by index: ``dst[i, indices[i, j]] = values[i, j]`` for axis 1."""

    name = "ttg.local_scatter"
    dst = operand_def(MEMDESC)
    values = operand_def(TENSOR)
    indices = operand_def(INT_TENSOR)
    token = opt_operand_def(TOKEN_TYPE)
    axis = i32_prop()
    traits = ttg_traits(AccessEffect(writes=("dst",)))

    ASM: ClassVar[str] = (
        "$dst `[` $indices `]` `,` $values (`token` $token^)? attr-dict "
        "`:` type($dst) `,` type($indices) `,` type($values)"
    )

    def __init__(
        self,
        dst: Operand,
        values: Operand,
        indices: Operand,
        axis: int,
        token: Operand | None = None,
    ) -> None:
        super().__init__(
            operands=[dst, values, indices, token], properties={"axis": IntegerAttr(axis, i32)}
        )

    @override
    def verify_(self) -> None:
        destination, values, indices = self.dst.type, self.values.type, self.indices.type
        verify_shared("destination", destination)
        if shape_of(values) != shape_of(indices):
            raise VerifyException("values shape must match indices shape")
        if rank_of(destination) != rank_of(indices):
            raise VerifyException("destination and indices must have the same rank")
        verify_axis(self.axis.value.data, destination, "destination")
        if not have_same_layout(values, indices):
            raise VerifyException("values must have the same layout as indices")
        if element_type_of(destination) != element_type_of(values):
            raise VerifyException("values element type must match destination element type")


@irdl_op_definition
class LocalAtomicScatterRMWOp(AsmOp):
    """As ``local_scatter``, but combines with what is there, atomically.

    The result holds what was there before; where the mask is false, nothing is defined.
    """

    name = "ttg.local_atomic_scatter_rmw"
    dst = operand_def(MEMDESC)
    values = operand_def(TENSOR)
    indices = operand_def(INT_TENSOR)
    mask = opt_operand_def(I1_TENSOR)
    atomic_rmw_op = enum_prop(RMW_OP)
    axis = i32_prop()
    result = result_def(TENSOR)
    traits = ttg_traits(AccessEffect(reads=("dst",), writes=("dst",)))

    ASM: ClassVar[str] = (
        "$atomic_rmw_op `,` $dst `[` $indices `]` `,` $values (`,` $mask^)? attr-dict "
        "`:` functional-type(operands, results)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule("result type matches values type", lambda types: types["values"]),
        "mask": TypeRule("mask type matches values type", lambda types: i1_like(types["values"])),
    }

    @override
    def verify_(self) -> None:
        destination, values, indices = self.dst.type, self.values.type, self.indices.type
        verify_mutable(destination)
        verify_shared("destination", destination)
        if not is_int_or_float(element_type_of(values)):
            raise VerifyException("values must have integer or floating element type")
        verify_rank("values", values, destination)
        if shape_of(values) != shape_of(indices):
            raise VerifyException("values shape must match indices shape")
        verify_axis(self.axis.value.data, destination, "destination")
        if not have_same_layout(values, indices):
            raise VerifyException("values must have the same layout as indices")
        if element_type_of(destination) != element_type_of(values):
            raise VerifyException("values element type must match destination element type")
