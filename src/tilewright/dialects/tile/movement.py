"""Ops that move data between buffers and regions.

    tile.copy %r -> %A_s : !tile.region<128x32xf16, #global> -> memref<128x32xf16, #shared>
    tile.copy %r -> %A_s fill(%v) : !tile.region<128x32xf16, #global> -> memref<128x32xf16, #shared>
    tile.async_copy %r -> %A_s barrier %full[%s] : T -> T, memref<2x!nv.mbarrier, #barrier>
    tile.fill %C, %zero : memref<128x128xf32, #fragment>, f32
    tile.transpose %a -> %b : T -> T
    tile.im2col %img -> %col at(%step, %c) kernel 3 stride 1 dilation 1 pad 1 : T -> T

The two sides of a copy agree in their extents, except that extents of 1 may be left out: a box of
``1x64x1x128`` elements goes into a buffer of ``64x128``. There is no broadcasting. A copy converts
element types; floats are rounded to nearest even. Where a region reaches out of its tensor, the
copy reads `fill`, an element of the source; without one, the safe value of the tensor, which is
zero unless the tensor has another. It is complete when the next op starts, unless
it is asynchronous: then it completes when its group of copies is waited for, or, with a barrier,
when the barrier has counted its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import Float4E2M1FNType, StringAttr, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import RegionEffects, TileOp, Unit
from tilewright.dialects.tile.allocs import LAYOUT
from tilewright.dialects.tile.attributes import FragmentAttr, LayoutAttr, Space
from tilewright.dialects.tile.base import (
    ANY,
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_of,
    integer_prop,
    mark,
    mark_prop,
    opt_integer_prop,
    opt_keyword_prop,
    opt_string_prop,
    string,
)
from tilewright.dialects.tile.mbarrier import MBarrierType
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.types import (
    BUFFER,
    BUFFER_OR_REGION,
    have_equal_extents,
    is_numeric,
    shape_text,
    space_of,
    squeezed,
)
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.text.assembly import TypeRule

EVICTION_POLICIES = KeywordSyntax(("evict_normal", "evict_first", "evict_last"))
INSTRUCTIONS = KeywordSyntax(("tma", "cp_async"))


def verify_numeric(what: str, type: Attribute) -> None:
    """Raise unless the elements of `type` are data."""
    element = element_type_of(type)
    if not is_numeric(element):
        raise VerifyException(f"{what} has elements of type '{element}', which cannot be copied")


def verify_extents(source: Attribute, destination: Attribute) -> None:
    """Raise unless both sides have the same extents, but for those of 1."""
    from_shape, to_shape = shape_of(source), shape_of(destination)
    if not have_equal_extents(from_shape, to_shape):
        raise VerifyException(
            f"extents differ: the source has {shape_text(from_shape)}, the destination "
            f"{shape_text(to_shape)}"
        )


def verify_width(width: int | None) -> None:
    if width is not None and width < 1:
        raise VerifyException(f"coalesced_width must be positive, got {width}")


@irdl_op_definition
class CopyOp(TileOp):
    """Copies all elements of one side to the other, converting their type."""

    name = "tile.copy"

    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)
    fill = opt_operand_def(ANY)
    """What is read outside of the source's tensor; the tensor's safe value if there is none."""
    coalesced_width = opt_integer_prop()
    disable_tma = mark_prop()
    eviction_policy = opt_keyword_prop(EVICTION_POLICIES)
    prefer_instruction = opt_string_prop()
    loop_layout = opt_prop_def(LAYOUT)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$src `->` $dst (`fill` `(` $fill^ `)`)? attr-dict `:` type($src) `->` type($dst)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "fill": TypeRule(
            "the fill must be an element of the source",
            lambda types: element_type_of(types["src"]),
        )
    }
    READS: ClassVar[tuple[str, ...]] = ("src",)
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(
        self,
        src: Operand,
        dst: Operand,
        *,
        fill: Operand | None = None,
        coalesced_width: int | None = None,
        disable_tma: bool = False,
        eviction_policy: str | None = None,
        prefer_instruction: str | None = None,
        loop_layout: LayoutAttr | FragmentAttr | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[src, dst, fill],
            properties=given(
                coalesced_width=integer_attr(coalesced_width),
                disable_tma=mark(disable_tma),
                eviction_policy=string(eviction_policy),
                prefer_instruction=string(prefer_instruction),
                loop_layout=loop_layout,
            ),
            attributes=dict(attributes or {}),
        )

    @override
    def verify_(self) -> None:
        verify_numeric("the source", self.src.type)
        verify_numeric("the destination", self.dst.type)
        verify_extents(self.src.type, self.dst.type)
        verify_width(integer_of(self.coalesced_width))
        if self.fill is not None and space_of(self.src.type) is not Space.GLOBAL:
            raise VerifyException(
                "a fill is what is read outside of a tensor in global memory; the source is in "
                f"{_memory_of(self.src.type)}, where nothing may be"
            )


def _memory_of(type: Attribute) -> str:
    space = space_of(type)
    return "memory" if space is None else f"{space.value} memory"


_ASYNC_SPACES = "asynchronous copies must be between global and shared memory"


@irdl_op_definition
class AsyncCopyOp(TileOp):
    """Starts a copy and goes on.

    With a barrier it is a bulk copy that reports its bytes there; without, it belongs to the group
    that the next ``nv.cp_async.commit`` closes (loads), or ``nv.tma_store.commit`` (stores).
    """

    name = "tile.async_copy"

    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)
    barrier = opt_operand_def(BUFFER)
    barrier_index = opt_operand_def(INDEX)
    coalesced_width = opt_integer_prop()
    instruction = opt_keyword_prop(INSTRUCTIONS)
    eviction_policy = opt_keyword_prop(EVICTION_POLICIES)
    cluster_mask = opt_integer_prop()
    """The blocks of the cluster that all receive the data, one bit each."""
    flatten = mark_prop()
    """The dimensions of the source before the last are the rows of the destination, row-major."""
    expands = mark_prop()
    """Bytes of a tensor have two elements of 4 bits each, which get 8 bits in shared memory."""
    zeros = mark_prop()
    """Outside of its tensor the copy reads zero, whatever the safe value of the tensor is."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$src `->` $dst (`barrier` $barrier^ `[` $barrier_index `]`)? attr-dict "
        "`:` type($src) `->` type($dst) (`,` type($barrier)^)?"
    )
    READS: ClassVar[tuple[str, ...]] = ("src",)
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(
        self,
        src: Operand,
        dst: Operand,
        barrier: Operand | None = None,
        barrier_index: Operand | None = None,
        *,
        coalesced_width: int | None = None,
        instruction: str | None = None,
        eviction_policy: str | None = None,
        cluster_mask: int | None = None,
        flatten: bool = False,
        expands: bool = False,
        zeros: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[src, dst, barrier, barrier_index],
            properties=given(
                coalesced_width=integer_attr(coalesced_width),
                instruction=string(instruction),
                eviction_policy=string(eviction_policy),
                cluster_mask=integer_attr(cluster_mask),
                flatten=mark(flatten),
                expands=mark(expands),
                zeros=mark(zeros),
            ),
            attributes=dict(attributes or {}),
        )

    @property
    def size_bytes(self) -> int | None:
        """What arrives, with zeros where the tensor ends; None if it is not known."""
        side = self.src if self.expands is not None else self.dst
        shape = shape_of(side.type)
        return None if min(shape) < 0 else prod(shape) * bit_width(side.type) // 8

    @override
    def is_async(self) -> bool:
        return True

    @property
    def is_bulk(self) -> bool:
        """Whether the copy uses TMA instead of thread copies."""
        if self.instruction is not None:
            return self.instruction.data == "tma"
        is_store = space_of(self.dst.type) is Space.GLOBAL
        return self.barrier is not None or is_store

    @override
    def unit(self) -> Unit:
        return "tma" if self.is_bulk else "threads"

    @override
    def verify_(self) -> None:
        source, destination = self.src.type, self.dst.type
        verify_numeric("the source", source)
        verify_numeric("the destination", destination)
        if self.expands is not None:
            self._verify_expanding(source, destination)
        elif self.flatten is None:
            verify_extents(source, destination)
        else:
            self._verify_flattened(shape_of(source), shape_of(destination))
        verify_width(integer_of(self.coalesced_width))
        from_type, to_type = element_type_of(source), element_type_of(destination)
        is_narrow = isinstance(from_type, Float4E2M1FNType) and to_type == i8 and self.is_bulk
        if from_type != to_type and not is_narrow:
            raise VerifyException(
                f"asynchronous copies cannot convert '{from_type}' to '{to_type}'; copy "
                "through a fragment instead"
            )
        self._verify_spaces(space_of(source), space_of(destination))
        verify_barrier(self.barrier, self.barrier_index)

    def _verify_expanding(self, source: Attribute, destination: Attribute) -> None:
        """Each byte of a tensor becomes two elements."""
        *outer, last = shape_of(source)
        if not self.is_bulk or element_type_of(source) != i8:
            raise VerifyException("expands requires a bulk copy of bytes")
        if not have_equal_extents((*outer, 2 * last), shape_of(destination)):
            raise VerifyException(
                f"expands doubles the last extent: the source has {shape_text(shape_of(source))}, "
                f"the destination {shape_text(shape_of(destination))}"
            )

    def _verify_flattened(self, source: Sequence[int], destination: Sequence[int]) -> None:
        rows, columns = (1, 1, *destination)[-2:]
        if not self.is_bulk or prod(source[:-1]) != rows or source[-1] != columns:
            raise VerifyException(
                f"flatten requires a bulk copy of a box with {rows} rows of {columns} elements, "
                f"got {shape_text(source)}"
            )

    def _verify_spaces(self, source: Space | None, destination: Space | None) -> None:
        shared = [s for s in (source, destination) if s is not None and s.is_shared]
        is_global = Space.GLOBAL in (source, destination)
        if not shared or (len(shared) == 1 and not is_global):
            names = [space.value for space in (source, destination) if space is not None]
            raise VerifyException(f"{_ASYNC_SPACES}, not from {' to '.join(names)}")
        if self.instruction is not None and self.instruction.data == "cp_async":
            if destination is Space.GLOBAL or len(shared) == 2:
                raise VerifyException("cp.async copies must be from global to shared memory")
            if self.barrier is not None:
                raise VerifyException(
                    "cp.async does not complete bytes on a barrier; use nv.cp_async.mbarrier_arrive"
                )
        if self.barrier is not None and destination is Space.GLOBAL:
            raise VerifyException("TMA stores do not signal a barrier; wait with nv.tma_store.wait")


def verify_barrier(barrier: SSAValue | None, index: SSAValue | None) -> None:
    """Raise unless both are given or none, and the buffer holds barriers."""
    if (barrier is None) != (index is None):
        raise VerifyException("a barrier requires an index")
    if barrier is not None and not isinstance(element_type_of(barrier.type), MBarrierType):
        raise VerifyException(f"expects a buffer of barriers, but got '{barrier.type}'")


@irdl_op_definition
class FillOp(TileOp):
    """Gives all elements one value."""

    name = "tile.fill"

    dst = operand_def(BUFFER_OR_REGION)
    value = operand_def(ANY)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$dst `,` $value attr-dict `:` type($dst) `,` type($value)"
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(self, dst: Operand, value: Operand) -> None:
        super().__init__(operands=[dst, value])

    @override
    def verify_(self) -> None:
        verify_numeric("the destination", self.dst.type)
        element = element_type_of(self.dst.type)
        if self.value.type != element:
            raise VerifyException(
                f"the value is '{self.value.type}' but the elements are '{element}'"
            )


@irdl_op_definition
class TransposeOp(TileOp):
    """``dst[j, i] = src[i, j]``."""

    name = "tile.transpose"

    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$src `->` $dst attr-dict `:` type($src) `->` type($dst)"
    READS: ClassVar[tuple[str, ...]] = ("src",)
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(self, src: Operand, dst: Operand) -> None:
        super().__init__(operands=[src, dst])

    @override
    def verify_(self) -> None:
        verify_numeric("the source", self.src.type)
        verify_numeric("the destination", self.dst.type)
        source, destination = matrix("source", self.src), matrix("destination", self.dst)
        if not have_equal_extents((1, *source, 1), (1, *reversed(destination), 1)):
            raise VerifyException(
                f"the transpose of {shape_text(source)} is {shape_text(source[::-1])}, but the "
                f"destination has {shape_text(destination)}"
            )


def matrix(what: str, value: SSAValue) -> tuple[int, int]:
    """The two extents of a matrix; raise if it has others that are not 1.

    Extents of 1 before the last two are left out first, then others.
    """
    shape = shape_of(value.type)
    while len(shape) > 2 and shape[0] == 1:
        shape = shape[1:]
    if len(shape) != 2:
        shape = squeezed(shape)
    if len(shape) != 2:
        raise VerifyException(
            f"the {what} must have 2 dimensions, got {shape_text(shape_of(value.type))}"
        )
    return shape[0], shape[1]


@irdl_op_definition
class Im2colOp(TileOp):
    """The image patches under a convolution window as the rows of a matrix.

    The image is ``N x H x W x C``. Row ``r`` of the result belongs to output position
    ``nhw_step * rows + r`` (counted over N, height and width of the output), column ``c`` to
    element ``c_step * columns + c`` of the window (counted over kernel row, kernel column and
    channel). Elements in the padding are zero. Along each side the output has
    ``(size + 2 * pad - dilation * (kernel - 1) - 1) floordiv stride + 1`` positions.
    """

    name = "tile.im2col"

    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)
    nhw_step = operand_def(INDEX)
    c_step = operand_def(INDEX)
    kernel = integer_prop()
    stride = integer_prop()
    dilation = integer_prop()
    pad = integer_prop()
    eviction_policy = opt_keyword_prop(EVICTION_POLICIES)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$src `->` $dst `at` `(` $nhw_step `,` $c_step `)` `kernel` $kernel `stride` $stride "
        "`dilation` $dilation `pad` $pad attr-dict `:` type($src) `->` type($dst)"
    )
    READS: ClassVar[tuple[str, ...]] = ("src",)
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(
        self,
        src: Operand,
        dst: Operand,
        nhw_step: Operand,
        c_step: Operand,
        *,
        kernel: int,
        stride: int,
        dilation: int,
        pad: int,
        eviction_policy: str | None = None,
    ) -> None:
        super().__init__(
            operands=[src, dst, nhw_step, c_step],
            properties=given(
                kernel=integer_attr(kernel),
                stride=integer_attr(stride),
                dilation=integer_attr(dilation),
                pad=integer_attr(pad),
                eviction_policy=None if eviction_policy is None else StringAttr(eviction_policy),
            ),
        )

    @override
    def verify_(self) -> None:
        if len(shape_of(self.src.type)) != 4 or space_of(self.src.type) is not Space.GLOBAL:
            raise VerifyException(
                "the image must be a global tensor of N x H x W x C, got "
                f"{shape_text(shape_of(self.src.type))}"
            )
        matrix("result", self.dst)
        source, destination = element_type_of(self.src.type), element_type_of(self.dst.type)
        if source != destination:
            raise VerifyException(f"im2col cannot convert '{source}' to '{destination}'")
        for name, attribute, minimum in (
            ("kernel", self.kernel, 1),
            ("stride", self.stride, 1),
            ("dilation", self.dilation, 1),
            ("pad", self.pad, 0),
        ):
            if attribute.value.data < minimum:
                raise VerifyException(
                    f"{name} must be at least {minimum}, got {attribute.value.data}"
                )
