"""The tensor memory accelerator (TMA): copies of whole blocks by descriptor.

One thread starts a copy between global and shared memory and goes on. Loads complete on an
mbarrier; stores are collected in groups that are waited for::

    ttng.async_tma_copy_global_to_local %d[%i, %j] %buf, %bar, %p : D, Mb -> M
    ttng.async_tma_copy_local_to_global %d[%i, %j] %buf : D, M
    ttng.async_tma_store_wait {pendings = 0 : i32}

In the TLX fork a store may return a token to wait for instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    Signedness,
    i1,
    i16,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    FALSE,
    Operand,
    bool_prop,
    enum_prop,
    i32_attr,
    i32_prop,
    unit_prop,
)
from tilewright.dialects.tt.cache_text import CachedAccess, access_attributes
from tilewright.dialects.tt.constraints import DESC, I32_TENSOR
from tilewright.dialects.tt.enums import DESCRIPTOR_REDUCE_KIND
from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.checks import cga_of, layout_of, verify_tma_barrier
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.ttng.types import ANY_DESC, TensorDescIm2ColType
from tilewright.dialects.type_utils import num_elements, rank_of, shape_of, tensor_of
from tilewright.ir.text.assembly import AsmOp, Directive

MAX_RANK = 5
_SI64 = IntegerType(64, Signedness.SIGNED)
_POLICY = "custom<Attributes>($cachePolicy)"


# -- checks --------------------------------------------------------------------------------------


def _verify_coordinates(desc: Attribute, count: int) -> None:
    if isinstance(desc, TensorDescIm2ColType):
        if count < 3:
            raise VerifyException(f"IM2COL mode requires at least 3D coordinates, but got {count}D")
        if count > MAX_RANK:
            raise VerifyException(f"IM2COL mode supports at most 5D coordinates, but got {count}D")
        return
    rank = rank_of(desc)
    if count != rank:
        raise VerifyException(f"expected {rank} coordinates, but got {count}")
    if not 1 <= count <= MAX_RANK:
        raise VerifyException("must have between 1 and 5 coordinates")


def _verify_offsets(desc: Attribute, num_coordinates: int, num_offsets: int) -> None:
    if not isinstance(desc, TensorDescIm2ColType):
        if num_offsets:
            raise VerifyException("TILED mode does not support offsets")
        return
    if not num_offsets:
        raise VerifyException("IM2COL mode requires offsets to be provided")
    if num_offsets != num_coordinates - 2:
        raise VerifyException(
            f"IM2COL mode with {num_coordinates}D coordinates requires {num_coordinates - 2} "
            f"offsets, but got {num_offsets}"
        )


def _verify_block(desc: Attribute, buffer: Attribute) -> None:
    """Raise if a block of `desc` and `buffer` do not hold the same elements."""
    assert isinstance(desc, (TensorDescType, TensorDescIm2ColType))
    block, type = desc.block_type, memdesc(buffer)
    if num_elements(block) != num_elements(type):
        raise VerifyException(
            "descriptor block and tensor must have the same number of elements, "
            f"but got descriptor block with {num_elements(block)} elements "
            f"tensor with {num_elements(type)} elements"
        )
    if block.element_type != type.element_type:
        raise VerifyException(
            "descriptor block and tensor element types must match, "
            f"but got descriptor element type '{block.element_type}' "
            f"and tensor element type '{type.element_type}'"
        )


def _verify_layout(desc: Attribute, buffer: Attribute) -> None:
    """Raise if a copy would change the arrangement of elements."""
    assert isinstance(desc, (TensorDescType, TensorDescIm2ColType))
    layout = layout_of(buffer)
    if not isinstance(layout, NvmmaSharedEncoding):
        raise VerifyException("TMA descriptor must have NVMMA shared layout")
    if desc.encoding is not None:
        # The descriptor's layout is chosen late. Ranks may differ: a load may drop dimensions.
        chosen = unwrapped(desc.encoding)
        if not isinstance(chosen, NvmmaSharedEncoding) or _tiling(chosen) != _tiling(layout):
            raise VerifyException(
                "TMA descriptor layout must match shared layout, "
                f"but got descriptor layout {chosen} and shared memory layout {layout}"
            )
    if layout.transposed and layout.rank > 1:
        raise VerifyException("TMA descriptor layout must not be transposed")


def _tiling(layout: NvmmaSharedEncoding) -> tuple[object, ...]:
    return (
        layout.transposed,
        layout.swizzling_byte_width,
        layout.element_bit_width,
        layout.fp4_padded,
    )


def _verify_target(buffer: Attribute) -> None:
    if not memdesc(buffer).mutable:
        raise VerifyException("cannot store into immutable memory")


def _verify_source(desc: Attribute, buffer: Attribute) -> None:
    layout = layout_of(buffer)
    if isinstance(layout, NvmmaSharedEncoding) and layout.fp4_padded:
        raise VerifyException("does not support fp4_padded operands")
    _verify_layout(desc, buffer)


def _verify_multicast(is_multicast: bool, buffer: Attribute) -> None:
    if is_multicast and all(any(basis) for basis in cga_of(buffer)):
        raise VerifyException("multicast requires the shared layout to broadcast across CTAs")


# -- loads ---------------------------------------------------------------------------------------


@irdl_op_definition
class AsyncTMACopyGlobalToLocalOp(CachedAccess):
    """Copies a block to shared memory.

    Several CTAs receive it where `multicast` and the layout are set so, or, in the TLX fork,
    those whose bits are set in `multicast_targets`.
    """

    name = "ttng.async_tma_copy_global_to_local"
    desc = operand_def(ANY_DESC)
    coord = var_operand_def(i32)
    offsets = var_operand_def(i16)
    barrier = operand_def(MEMDESC)
    result = operand_def(MEMDESC)
    pred = operand_def(i1)
    multicast_targets = opt_operand_def(i32)
    multicast = unit_prop()
    two_ctas = unit_prop()
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    is_volatile = bool_prop(False, name="isVolatile")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = ttng_traits(AccessEffect(reads=("desc",), writes=("barrier", "result")))

    ASM: ClassVar[str] = (
        "$desc `[` $coord `]` (`offsets` `=` `[` $offsets^ `]`)? $result `,` $barrier `,` $pred "
        "(`,` $multicast_targets^)? `` "
        "custom<Attributes>($multicast, $two_ctas, $cachePolicy, $isVolatile) "
        "`:` type($desc) `,` type($barrier) `->` type($result)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": access_attributes(
            ("multicast", "two_ctas", "isVolatile"), {"isVolatile": FALSE}
        )
    }

    def __init__(
        self,
        desc: Operand,
        coord: Sequence[Operand],
        result: Operand,
        barrier: Operand,
        pred: Operand,
        *,
        multicast_targets: Operand | None = None,
        policy: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[desc, coord, (), barrier, result, pred, multicast_targets],
            properties={"cachePolicy": policy},
        )

    @override
    def verify_(self) -> None:
        desc = self.desc.type
        _verify_coordinates(desc, len(self.coord))
        _verify_block(desc, self.result.type)
        verify_tma_barrier(self, self.barrier.type)
        _verify_target(self.result.type)
        _verify_layout(desc, self.result.type)
        _verify_offsets(desc, len(self.coord), len(self.offsets))
        _verify_multicast(self.multicast is not None, self.result.type)


@irdl_op_definition
class AsyncTMAGatherOp(CachedAccess):
    """Copies rows `x_offsets`, from column `y_offset` on, to shared memory."""

    name = "ttng.async_tma_gather"
    desc = operand_def(DESC)
    x_offsets = operand_def(I32_TENSOR)
    y_offset = operand_def(i32)
    barrier = operand_def(MEMDESC)
    result = operand_def(MEMDESC)
    pred = operand_def(i1)
    multicast = unit_prop()
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    traits = ttng_traits(AccessEffect(reads=("desc",), writes=("barrier", "result")))

    ASM: ClassVar[str] = (
        "$desc `[` $x_offsets `,` $y_offset `]` $result `,` $barrier `,` $pred `` "
        "custom<Attributes>($multicast, $cachePolicy) `:` type($desc) `,` type($x_offsets) `,` "
        "type($y_offset) `,` type($barrier) `,` type($result) `,` type($pred)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": access_attributes(("multicast",))
    }

    def __init__(
        self,
        desc: Operand,
        x_offsets: Operand,
        y_offset: Operand,
        result: Operand,
        barrier: Operand,
        pred: Operand,
        *,
        policy: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[desc, x_offsets, y_offset, barrier, result, pred],
            properties={"cachePolicy": policy},
        )

    @override
    def verify_(self) -> None:
        verify_tma_barrier(self, self.barrier.type)
        _verify_target(self.result.type)
        _verify_source(self.desc.type, self.result.type)
        _verify_multicast(self.multicast is not None, self.result.type)
        _verify_rows(self.desc.type, self.result.type, self.x_offsets.type)


def _verify_rows(desc: Attribute, buffer: Attribute, indices: Attribute) -> None:
    """Raise if `indices` do not choose the rows of `buffer` from what `desc` describes."""
    assert isinstance(desc, TensorDescType)
    block = tensor_of(desc.signless_element_type, desc.shape)
    type = memdesc(buffer)
    if len(desc.shape) != 2:
        raise VerifyException(f"descriptor block must be a 2D tensor, but got '{block}'")
    if desc.shape[0] != 1:
        raise VerifyException(f"descriptor block must have exactly 1 row, but got '{block}'")
    if rank_of(indices) != 1:
        raise VerifyException(f"x offsets must be a 1D tensor, but got '{indices}'")
    if type.rank != 2:
        raise VerifyException("TMA shared memory and layout ranks must match")
    if type.shape[0] != shape_of(indices)[0]:
        raise VerifyException(
            f"result tensor must have as many rows as indices ({shape_of(indices)[0]}), "
            f"but got '{type}'"
        )
    if type.shape[1] != desc.shape[1]:
        raise VerifyException(
            f"result tensor number of columns must match block ({desc.shape[1]}), but got '{type}'"
        )
    if type.element_type != block.element_type:
        raise VerifyException(
            f"result tensor element type must match block ('{block.element_type}'), "
            f"but got '{type}'"
        )


@irdl_op_definition
class AsyncTMAPrefetchOp(CachedAccess):
    """Prefetches a block into the L2 cache."""

    name = "ttng.async_tma_prefetch"
    desc = operand_def(DESC)
    coord = var_operand_def(i32)
    pred = operand_def(i1)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    traits = ttng_traits(AccessEffect(reads=("desc",), writes=("desc",)))

    ASM: ClassVar[str] = f"$desc `[` $coord `]` `,` $pred `` {_POLICY} `:` type($desc)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Attributes": access_attributes(())}

    def __init__(
        self,
        desc: Operand,
        coord: Sequence[Operand],
        pred: Operand,
        *,
        policy: Attribute | None = None,
    ) -> None:
        super().__init__(operands=[desc, coord, pred], properties={"cachePolicy": policy})

    @override
    def verify_(self) -> None:
        _verify_coordinates(self.desc.type, len(self.coord))


# -- stores --------------------------------------------------------------------------------------


_STORE = (
    f"$desc `[` $coord `]` $src `` {_POLICY} `:` type($desc) `,` type($src) (`->` type($token)^)?"
)


@irdl_op_definition
class AsyncTMACopyLocalToGlobalOp(CachedAccess):
    """Copies a block from shared memory."""

    name = "ttng.async_tma_copy_local_to_global"
    desc = operand_def(DESC)
    coord = var_operand_def(i32)
    src = operand_def(MEMDESC)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    token = opt_result_def(TOKEN_TYPE)
    traits = ttng_traits(AccessEffect(reads=("desc", "src"), writes=("desc",)))

    ASM: ClassVar[str] = _STORE
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Attributes": access_attributes(())}

    def __init__(
        self,
        desc: Operand,
        coord: Sequence[Operand],
        src: Operand,
        *,
        policy: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[desc, coord, src], result_types=[None], properties={"cachePolicy": policy}
        )

    @override
    def verify_(self) -> None:
        _verify_coordinates(self.desc.type, len(self.coord))
        _verify_block(self.desc.type, self.src.type)
        _verify_source(self.desc.type, self.src.type)


@irdl_op_definition
class AsyncTMAReduceOp(CachedAccess):
    """Combines a block in shared memory with one in global memory, element by element."""

    name = "ttng.async_tma_reduce"
    desc = operand_def(DESC)
    coord = var_operand_def(i32)
    src = operand_def(MEMDESC)
    kind = enum_prop(DESCRIPTOR_REDUCE_KIND)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    token = opt_result_def(TOKEN_TYPE)
    traits = ttng_traits(AccessEffect(reads=("desc", "src"), writes=("desc",)))

    ASM: ClassVar[str] = f"$kind `,` {_STORE}"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Attributes": access_attributes(())}

    def __init__(
        self,
        kind: str,
        desc: Operand,
        coord: Sequence[Operand],
        src: Operand,
        *,
        policy: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[desc, coord, src],
            result_types=[None],
            properties={"kind": DESCRIPTOR_REDUCE_KIND.attribute(kind), "cachePolicy": policy},
        )

    @override
    def verify_(self) -> None:
        _verify_coordinates(self.desc.type, len(self.coord))
        _verify_block(self.desc.type, self.src.type)
        _verify_source(self.desc.type, self.src.type)
        kind = DESCRIPTOR_REDUCE_KIND.keyword(self.kind)
        assert isinstance(self.desc.type, TensorDescType)
        element = self.desc.type.element_type
        if not can_reduce(kind, element):
            raise VerifyException(f"unsupported reduce kind {kind} for element type '{element}'")


def can_reduce(kind: str, element: Attribute) -> bool:
    """Whether the hardware combines `element`s in this way."""
    is_half = isinstance(element, (Float16Type, BFloat16Type))
    width = element.bitwidth if isinstance(element, IntegerType) else 0
    match kind:
        case "add":
            is_wide = width == 64 and element != _SI64
            return width == 32 or is_wide or is_half or isinstance(element, Float32Type)
        case "min" | "max":
            return width in (32, 64) or is_half
        case "and" | "or" | "xor":
            return width in (32, 64)
        case _:
            return False


@irdl_op_definition
class AsyncTMAScatterOp(CachedAccess):
    """Copies shared memory to rows `x_offsets`, from column `y_offset` on."""

    name = "ttng.async_tma_scatter"
    desc = operand_def(DESC)
    x_offsets = operand_def(I32_TENSOR)
    y_offset = operand_def(i32)
    src = operand_def(MEMDESC)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    traits = ttng_traits(AccessEffect(reads=("desc", "src"), writes=("desc",)))

    ASM: ClassVar[str] = (
        f"$desc `[` $x_offsets `,` $y_offset `]` $src `` {_POLICY} "
        "`:` type($desc) `,` type($x_offsets) `,` type($y_offset) `,` type($src)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Attributes": access_attributes(())}

    def __init__(
        self,
        desc: Operand,
        x_offsets: Operand,
        y_offset: Operand,
        src: Operand,
        *,
        policy: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[desc, x_offsets, y_offset, src], properties={"cachePolicy": policy}
        )

    @override
    def verify_(self) -> None:
        _verify_source(self.desc.type, self.src.type)
        _verify_rows(self.desc.type, self.src.type, self.x_offsets.type)


@irdl_op_definition
class TMAStoreWaitOp(AsmOp):
    """Waits until at most `pendings` groups of stores are unfinished.

    With `read_only` until they have read shared memory, which can then be written again.
    """

    name = "ttng.async_tma_store_wait"
    pendings = i32_prop()
    read_only = unit_prop()

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self, pendings: int) -> None:
        super().__init__(properties={"pendings": i32_attr(pendings)})


_NOTHING = Directive(lambda parser, state: None, lambda printer, op: None)


@irdl_op_definition
class TMAStoreTokenWaitOp(AsmOp):
    """Waits for the store that returned the token."""

    name = "ttng.async_tma_store_token_wait"
    token = operand_def(TOKEN_TYPE)

    # The fork prints a space for each of two lists that are empty outside of its own passes.
    ASM: ClassVar[str] = "$token custom<Nothing>() custom<Nothing>() attr-dict `:` type($token)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Nothing": _NOTHING}
