"""Tensor memory: allocation, views, and copies from and to it.

Registers and tensor memory exchange data in a few fixed layouts only. Tokens order the accesses
to one buffer while the compiler moves them around::

    %m, %t = ttng.tmem_alloc : () -> (M, !ttg.async.token)
    %t2 = ttng.tmem_store %v, %m[%t], %p : V -> M
    %r, %t3 = ttng.tmem_load %m[%t2] : M -> V
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, f32, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, enum_prop, i32_attr, i32_prop
from tilewright.dialects.tt.constraints import BOOL_ATTR, TENSOR
from tilewright.dialects.ttg.checks import memdesc, verify_same_contents
from tilewright.dialects.ttg.interfaces import SharedEncoding
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE, MemDescType, SharedMemorySpace
from tilewright.dialects.ttng.attributes import (
    ReduceModifier,
    TensorMemoryEncoding,
    TensorMemoryLayout,
    TensorMemoryScalesEncoding,
    TensorMemorySpace,
)
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.checks import layout_of
from tilewright.dialects.ttng.effects import AccessEffect, TensorMemoryAllocation
from tilewright.dialects.ttng.text import RenamedProperties, attributes, rename, token_directive
from tilewright.dialects.type_utils import bit_width, rank_of
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.flavour import Flavour
from tilewright.ir.text.syntax import Enum

WAIT_KIND = Enum({"load": 0, "store": 1})
_ONE = i32_attr(1)


def _opt_bool_prop(name: str) -> IntegerAttr | None:
    return cast("IntegerAttr | None", opt_prop_def(BOOL_ATTR, prop_name=name))


def _verify_registers(what: str, type: Attribute) -> None:
    if rank_of(type) != 2:
        raise VerifyException(f"{what} must be a 2D tensor")


@irdl_op_definition
class TMEMAllocOp(AsmOp):
    """Allocates a buffer, filled with `src` if given; an immutable one must be."""

    name = "ttng.tmem_alloc"
    src = opt_operand_def(TENSOR)
    result = result_def(MEMDESC)
    token = opt_result_def(TOKEN_TYPE)
    traits = ttng_traits(TensorMemoryAllocation())

    ASM: ClassVar[str] = "($src^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, result_type: Attribute, src: Operand | None = None) -> None:
        super().__init__(operands=[src], result_types=[result_type, None])

    def asm_result_names(self) -> list[str]:
        return ["result", "token"][: len(self.results)]

    def verify_(self) -> None:
        type = memdesc(self.result.type)
        if not isinstance(layout_of(type), TensorMemoryLayout):
            raise VerifyException("should use tensor memory encoding")
        if self.src is None:
            if not type.mutable:
                raise VerifyException("uninitialized alloc must have a mutable memdesc type")
            return
        _verify_registers("source", self.src.type)
        verify_same_contents(self.src.type, type)


@irdl_op_definition
class TMEMLoadOp(AsmOp):
    """Copies a buffer to registers, and reduces its rows if `red_op` is given."""

    name = "ttng.tmem_load"
    src = operand_def(MEMDESC)
    dep = opt_operand_def(TOKEN_TYPE)
    red_op = opt_prop_def(ReduceModifier, prop_name="redOp")
    use_abs = _opt_bool_prop("abs")
    use_nan = _opt_bool_prop("NaN")
    result = result_def(TENSOR)
    token = opt_result_def(TOKEN_TYPE)
    red = opt_result_def(TENSOR)
    irdl_options = (AttrSizedResultSegments(as_property=True),)
    traits = ttng_traits(AccessEffect(reads=("src",)))

    ASM: ClassVar[str] = (
        "$src `` custom<Token>() attr-dict `:` type($src) `->` type($result) (`,` type($red)^)?"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Token": token_directive("dep")}

    def __init__(self, src: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[src, None], result_types=[result_type, None, None])

    def asm_result_names(self) -> list[str]:
        optional = (("token", self.token), ("red", self.red))
        return ["result", *(name for name, value in optional if value is not None)]

    def verify_(self) -> None:
        type = memdesc(self.src.type)
        if not isinstance(type.memory_space, TensorMemorySpace):
            raise VerifyException("source must be a tensor memory buffer.")
        layout = layout_of(type)
        if not isinstance(layout, TensorMemoryLayout) or isinstance(
            layout, TensorMemoryScalesEncoding
        ):
            raise VerifyException("should use tensor memory encoding.")
        _verify_registers("result", self.result.type)
        self._verify_reduction(type)
        verify_same_contents(type, self.result.type)

    def _verify_reduction(self, type: MemDescType) -> None:
        if self.red_op is not None and self.red is None:
            raise VerifyException("redOp is set but 'red' result is not present")
        if self.red is not None and self.red_op is None:
            raise VerifyException("'red' result is present but redOp is not set")
        for name, value in (("abs", self.use_abs), ("NaN", self.use_nan)):
            if value is None or not value.value.data:
                continue
            if self.red_op is None:
                raise VerifyException(f"'{name}' requires 'redOp' to be set")
            if type.element_type != f32:
                raise VerifyException(f"'{name}' requires floating-point element type (f32)")


@irdl_op_definition
class TMEMStoreOp(AsmOp):
    """Copies registers to a buffer where `pred` is true."""

    name = "ttng.tmem_store"
    dst = operand_def(MEMDESC)
    dep = opt_operand_def(TOKEN_TYPE)
    src = operand_def(TENSOR)
    pred = operand_def(i1)
    token = opt_result_def(TOKEN_TYPE)
    traits = ttng_traits(AccessEffect(writes=("dst",)))

    ASM: ClassVar[str] = (
        "$src `,` $dst `` custom<Token>() `,` $pred attr-dict `:` type($src) `->` type($dst)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Token": token_directive("dep")}

    def __init__(self, src: Operand, dst: Operand, pred: Operand) -> None:
        super().__init__(operands=[dst, None, src, pred], result_types=[None])

    def verify_(self) -> None:
        type = memdesc(self.dst.type)
        if not isinstance(layout_of(type), TensorMemoryLayout):
            raise VerifyException("should use tensor memory encoding.")
        if not type.mutable:
            raise VerifyException("Cannot store into an immutable alloc")
        _verify_registers("source", self.src.type)
        verify_same_contents(self.src.type, type)


def _format_slice(shown: dict[str, Attribute], flavour: Flavour) -> dict[str, Attribute]:
    if not flavour.is_tlx and flavour.at_least(3, 9):
        return shown
    return rename({name: value for name, value in shown.items() if name != "dim"}, "offset", "N")


@irdl_op_definition
class TMEMSubSliceOp(RenamedProperties):
    """A view of `offset`, `offset + 1`, ... along dimension `dim` of a buffer."""

    name = "ttng.tmem_subslice"
    src = operand_def(MEMDESC)
    offset = i32_prop()
    dim = i32_prop(1)
    result = result_def(MEMDESC)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$src `` custom<Attributes>() `:` type($src) `->` type($result)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": attributes({"offset": None, "dim": _ONE}, _format_slice)
    }
    OLD_NAMES: ClassVar[Mapping[str, str]] = {"N": "offset"}

    @classmethod
    @override
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        **parts: Any,
    ) -> Self:
        # Older text counts columns, which TLX has in the last dimension of several buffers.
        if "N" in attributes and operands:
            properties = {**properties, "dim": i32_attr(memdesc(operands[0].type).rank - 1)}
        return super().create(
            operands=operands, properties=properties, attributes=attributes, **parts
        )

    def __init__(self, src: Operand, offset: int, size: int, dim: int = 1) -> None:
        value = SSAValue.get(src)
        source = memdesc(value.type)
        shape = (*source.shape[:dim], size, *source.shape[dim + 1 :])
        super().__init__(
            operands=[value],
            result_types=[source.with_shape(shape, source.alloc_shape)],
            properties={"offset": i32_attr(offset), "dim": i32_attr(dim)},
        )

    def verify_(self) -> None:
        source, result = memdesc(self.src.type), memdesc(self.result.type)
        if not isinstance(source.memory_space, TensorMemorySpace):
            raise VerifyException("The source must be a tensor memory buffer.")
        if not isinstance(result.memory_space, TensorMemorySpace):
            raise VerifyException("The destination must be a tensor memory buffer.")
        if source.element_type != result.element_type:
            raise VerifyException("The source and result must have the same element type.")
        if source.rank != result.rank or source.rank not in (2, 3):
            raise VerifyException(
                "The source and result must both be 2D or 3D tensor memory buffers."
            )
        self._verify_extents(source, result)

    def _verify_extents(self, source: MemDescType, result: MemDescType) -> None:
        dim, offset = self.dim.value.data, self.offset.value.data
        if not 0 <= dim < source.rank:
            raise VerifyException("The slice dimension must be within the descriptor rank.")
        if any(
            extent != whole
            for axis, (extent, whole) in enumerate(zip(result.shape, source.shape, strict=True))
            if axis != dim
        ):
            raise VerifyException(
                "The result must have the same size as the source in the dimensions "
                "that are not being sliced."
            )
        if offset < 0 or offset + result.shape[dim] > source.shape[dim]:
            raise VerifyException("The split offset may not exceed the source shape")


@irdl_op_definition
class TMEMCopyOp(AsmOp):
    """Copies shared memory to tensor memory, asynchronously.

    Ordered before matrix instructions that are started later. Older text may name a barrier that
    completion is signalled on.
    """

    name = "ttng.tmem_copy"
    src = operand_def(MEMDESC)
    dst = operand_def(MEMDESC)
    barrier = opt_operand_def(MEMDESC)
    traits = ttng_traits(AccessEffect(reads=("src",), writes=("dst", "barrier")))

    ASM: ClassVar[str] = (
        "$src `,` $dst (`,` $barrier^)? attr-dict "
        "`:` type($src) `,` type($dst) (`,` type($barrier)^)?"
    )

    def __init__(self, src: Operand, dst: Operand) -> None:
        super().__init__(operands=[src, dst, None])

    def verify_(self) -> None:
        source, target = memdesc(self.src.type), memdesc(self.dst.type)
        if not isinstance(source.memory_space, SharedMemorySpace):
            raise VerifyException("The source must be a shared memory buffer")
        if not target.mutable:
            raise VerifyException("Cannot copy into an immutable alloc")
        layout = layout_of(source)
        if isinstance(layout, SharedEncoding) and layout.alignment < 16:
            raise VerifyException(
                "Source must have at least 16-byte alignment to be representable in a "
                "matrix descriptor."
            )
        if isinstance(layout, NvmmaSharedEncoding) and (layout.transposed or layout.fp4_padded):
            raise VerifyException("The source should not be transposed or padded")
        tensor_memory = layout_of(target)
        if isinstance(tensor_memory, TensorMemoryEncoding):
            self._verify_matrix(source, target, tensor_memory)
        elif isinstance(layout, NvmmaSharedEncoding) and layout.swizzling_byte_width != 0:
            raise VerifyException("The source should not be swizzled for now")

    def _verify_matrix(
        self, source: MemDescType, target: MemDescType, layout: TensorMemoryEncoding
    ) -> None:
        if source.shape != target.shape:
            raise VerifyException("The source and destination must have the same shape.")
        if layout.block_m != 128:
            raise VerifyException("Tmem layout must have blockM=128.")
        shared = layout_of(source)
        if isinstance(shared, NvmmaSharedEncoding) and shared.swizzling_byte_width == 0:
            raise VerifyException("Source layout should be swizzled.")
        if bit_width(source.element_type) != 32:
            raise VerifyException("Source element type should be 32-bit.")


@irdl_op_definition
class TMEMWaitOp(AsmOp):
    """Waits for all loads, or all stores, that this thread has started."""

    name = "ttng.tmem_wait"
    kind = enum_prop(WAIT_KIND)

    ASM: ClassVar[str] = "$kind attr-dict"
