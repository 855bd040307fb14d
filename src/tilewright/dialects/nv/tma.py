"""TMA: tiles of tensors, and contiguous bytes, between global and shared memory.

    %map = nv.tensormap %A box [128, 64] swizzle(128) : memref<?x?xf16, #global>
    nv.tma_load %map[%row, %column] -> %As[%o] barrier %full[%s]
        : memref<8192xf16, #shared>, memref<3x!nv.mbarrier, #barrier>
    nv.tma_store %Cs[%o] -> %map[%row, %column] : memref<8192xf16, #shared>

A tensor map is created by the host and passed to the kernel; it describes the tile (its box), the
tensor, and the swizzle in shared memory. Coordinates are those of the tensor, outermost
first. One thread issues a copy; what a box has outside the tensor reads as zero and is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i16, i64
from xdsl.ir import ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.simt.moves import Hintable
from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionAccess,
    RegionEffects,
    base_of,
    box_of,
    somewhere,
    with_unit,
)
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    mark,
    mark_prop,
    opt_keyword_prop,
    string,
)
from tilewright.dialects.tile.mbarrier import MBarrierType
from tilewright.dialects.tile.mixed import INDEX, Integers, integers, integers_attr, integers_prop
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import INT64_ARRAY, AttributeSyntax

REDUCTIONS = KeywordSyntax(("add", "min", "max", "and", "or", "xor"))
FILLS = KeywordSyntax(("zero", "nan"))
POLICIES = KeywordSyntax(("evict_normal", "evict_first", "evict_last"))
_SWIZZLES = (0, 32, 64, 128)
_MAX_BOX = 256
_MAX_RANK = 5


@irdl_attr_definition
class TensorMapType(ParametrizedAttribute, TypeAttribute):
    """A tensor map: 128 bytes that describe a tensor and its tiles to TMA."""

    name = "nv.tensormap"


TENSORMAP = TensorMapType()


@irdl_op_definition
class TensorMapOp(AsmOp):
    """Makes the map of a tensor, on the host."""

    name = "nv.tensormap"

    tensor = operand_def(BUFFER)
    box: Integers = integers_prop()
    """Elements of a tile along each dimension of the tensor, outermost first."""
    swizzle = integer_prop()
    fill = keyword_prop(FILLS, "zero")
    expands = mark_prop()
    """The bytes of the tensor have two elements of 4 bits each, and the box counts elements. In
    shared memory 16 of them are the first 8 of 16 bytes."""
    result = result_def(TENSORMAP)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$tensor `box` $box `swizzle` `(` $swizzle `)` (`fill` $fill^)? attr-dict `:` type($tensor)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"box": INT64_ARRAY}

    def __init__(
        self,
        tensor: Operand,
        box: Sequence[int],
        swizzle: int,
        fill: str = "zero",
        *,
        expands: bool = False,
    ) -> None:
        super().__init__(
            operands=[tensor],
            result_types=[TENSORMAP],
            properties=given(
                box=integers_attr(box),
                swizzle=integer_attr(swizzle),
                fill=string(fill),
                expands=mark(expands),
            ),
        )

    @property
    def extents(self) -> tuple[int, ...]:
        return integers(self.box)

    @override
    def verify_(self) -> None:
        if self.swizzle.value.data not in _SWIZZLES:
            raise VerifyException(
                f"swizzle must be 0, 32, 64 or 128 bytes, got {self.swizzle.value.data}"
            )
        if not 1 <= len(self.extents) <= _MAX_RANK:
            raise VerifyException(f"TMA box must have 1 to {_MAX_RANK} dimensions")
        for extent in self.extents:
            if not 1 <= extent <= _MAX_BOX:
                raise VerifyException(
                    f"TMA box extents must be 1 to {_MAX_BOX} elements, got {extent}"
                )


@irdl_op_definition
class PrefetchMapOp(AsmOp):
    """Loads a tensor map into the cache of the TMA unit, before its first copy."""

    name = "nv.prefetch_map"

    map = operand_def(TENSORMAP)

    traits = traits_def(Orders())
    ASM: ClassVar[str] = "$map attr-dict"

    def __init__(self, map: Operand) -> None:
        super().__init__(operands=[map])


def _in_shared(buffer: SSAValue) -> AccessedRegion:
    return with_unit(somewhere(base_of(buffer)), "tma")


@irdl_op_definition
class TmaLoadOp(AsmOp, RegionAccess, Hintable):
    """Starts the copy of a tile into shared memory; its bytes are reported to the barrier."""

    name = "nv.tma_load"

    map = operand_def(TENSORMAP)
    coordinates = var_operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_index = operand_def(INDEX)
    barrier = operand_def(BUFFER)
    barrier_index = operand_def(INDEX)
    multicast = opt_operand_def(i16)
    """The blocks of the cluster that all receive the tile, one bit each."""
    policy = opt_operand_def(i64)
    eviction_policy = opt_keyword_prop(POLICIES)
    pair = mark_prop()
    """The bytes are reported to the barrier of the leading block of the pair (2-CTA MMA)."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$map `[` $coordinates `]` `->` $dst `[` $dst_index `]` "
        "`barrier` $barrier `[` $barrier_index `]` (`multicast` $multicast^)? "
        "(`policy` $policy^)? attr-dict "
        "`:` type($dst) `,` type($barrier)"
    )

    def __init__(
        self,
        map: Operand,
        coordinates: Sequence[Operand],
        dst: tuple[Operand, Operand],
        barrier: tuple[Operand, Operand],
        *,
        multicast: Operand | None = None,
        eviction_policy: str | None = None,
        pair: bool = False,
    ) -> None:
        super().__init__(
            operands=[map, coordinates, *dst, *barrier, multicast, None],
            properties=given(eviction_policy=string(eviction_policy), pair=mark(pair)),
        )

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        owner = self.map.owner
        return [with_unit(somewhere(owner.tensor), "tma")] if isinstance(owner, TensorMapOp) else []

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [_in_shared(self.dst)]

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        if not isinstance(element_type_of(self.barrier.type), MBarrierType):
            raise VerifyException(f"expects a buffer of barriers, but got '{self.barrier.type}'")


class TmaStoreBase(AsmOp, RegionAccess, Hintable):
    """Base of copies of a tile from shared memory."""

    src = operand_def(BUFFER)
    src_index = operand_def(INDEX)
    map = operand_def(TENSORMAP)
    coordinates = var_operand_def(INDEX)
    policy = opt_operand_def(i64)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    # In a kernel the tensor of the map is not known, but it is written all the same.
    traits = traits_def(Orders())

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [_in_shared(self.src)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        owner = self.map.owner
        return [with_unit(somewhere(owner.tensor), "tma")] if isinstance(owner, TensorMapOp) else []

    @override
    def is_async(self) -> bool:
        return True


@irdl_op_definition
class TmaStoreOp(TmaStoreBase):
    """Starts the copy of a tile to global memory; belongs to the next ``nv.tma_store.commit``."""

    name = "nv.tma_store"
    ASM: ClassVar[str] = (
        "$src `[` $src_index `]` `->` $map `[` $coordinates `]` (`policy` $policy^)? attr-dict "
        "`:` type($src)"
    )

    def __init__(
        self, src: tuple[Operand, Operand], map: Operand, coordinates: Sequence[Operand]
    ) -> None:
        super().__init__(operands=[*src, map, coordinates, None])


@irdl_op_definition
class TmaReduceOp(TmaStoreBase):
    """As a store, but combines with what is there."""

    name = "nv.tma_reduce"
    kind = keyword_prop(REDUCTIONS)
    ASM: ClassVar[str] = (
        "$kind $src `[` $src_index `]` `->` $map `[` $coordinates `]` (`policy` $policy^)? "
        "attr-dict `:` type($src)"
    )

    def __init__(
        self,
        kind: str,
        src: tuple[Operand, Operand],
        map: Operand,
        coordinates: Sequence[Operand],
    ) -> None:
        super().__init__(
            operands=[*src, map, coordinates, None], properties=given(kind=string(kind))
        )


class BulkOp(AsmOp, RegionAccess, Hintable):
    """Base of copies of contiguous bytes."""

    src = operand_def(BUFFER)
    src_index = operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_index = operand_def(INDEX)
    policy = opt_operand_def(i64)
    elements = integer_prop()
    traits = traits_def(RegionEffects())

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [box_of(self.src, (self.src_index,), (self.elements.value.data,), "tma")]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [box_of(self.dst, (self.dst_index,), (self.elements.value.data,), "tma")]

    @override
    def is_async(self) -> bool:
        return True


@irdl_op_definition
class BulkLoadOp(BulkOp):
    """Starts the copy of a run of elements into shared memory."""

    name = "nv.bulk_load"
    barrier = operand_def(BUFFER)
    barrier_index = operand_def(INDEX)
    ASM: ClassVar[str] = (
        "$src `[` $src_index `]` `->` $dst `[` $dst_index `]` `elements` `(` $elements `)` "
        "`barrier` $barrier `[` $barrier_index `]` (`policy` $policy^)? attr-dict "
        "`:` type($src) `,` type($dst) `,` type($barrier)"
    )

    def __init__(
        self,
        src: tuple[Operand, Operand],
        dst: tuple[Operand, Operand],
        elements: int,
        barrier: tuple[Operand, Operand],
    ) -> None:
        # Operands of a class come before those of its base.
        super().__init__(
            operands=[*barrier, *src, *dst, None], properties=given(elements=integer_attr(elements))
        )


@irdl_op_definition
class BulkStoreOp(BulkOp):
    """Starts the copy of a run of elements to global memory."""

    name = "nv.bulk_store"
    ASM: ClassVar[str] = (
        "$src `[` $src_index `]` `->` $dst `[` $dst_index `]` `elements` `(` $elements `)` "
        "(`policy` $policy^)? attr-dict `:` type($src) `,` type($dst)"
    )

    def __init__(
        self, src: tuple[Operand, Operand], dst: tuple[Operand, Operand], elements: int
    ) -> None:
        super().__init__(
            operands=[*src, *dst, None], properties=given(elements=integer_attr(elements))
        )
