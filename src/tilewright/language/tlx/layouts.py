"""Layouts that a user can request: of shared memory, and of tensor memory.

A layout is a value; `to_ir` makes the attribute it stands for. Nothing here decides where elements
end up: the compiler's layouts do, and these only name them.

    swizzled_shared_layout_encoding   rows whose groups are permuted     #ttg.swizzled_shared
    swizzled_layout(bits, base, shift)   the same in CuTe's terms, once the shape is known
    nv_mma_shared_layout_encoding     what TMA and tensor cores use      #ttg.nvmma_shared
    padded_shared_layout_encoding     rows with gaps (AMD)               #ttg.padded_shared
    shared_linear_layout_encoding     any linear map (AMD)               #ttg.shared_linear
    tensor_memory_layout_encoding     blocks of tensor memory      #ttng.tensor_memory_encoding
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from typing_extensions import override
from xdsl.ir import Attribute

from tilewright.dialects.tlx import DummyRegisterLayout, DummyTMemLayout
from tilewright.dialects.ttg import (
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.bases import identity_bases
from tilewright.dialects.ttg.cga import cga_bases
from tilewright.dialects.ttng.attributes import (
    TensorMemoryEncoding,
    TensorMemoryScalesEncoding,
    bases_of_splits,
)
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import dtype

_SWIZZLE_BYTES = (128, 64, 32)
"""Widths of the pattern in which TMA and tensor cores permute rows, the preferred first."""
_SWIZZLED_ROWS = 8
"""Rows that one pattern takes."""

Ints = tuple[int, ...]


class layout_encoding(ABC):
    """A layout of a tensor or a buffer."""

    @abstractmethod
    def to_ir(self) -> Attribute:
        """The layout in the IR."""


class shared_layout_encoding(layout_encoding):
    """A layout of a buffer."""

    @abstractmethod
    def make_permute(self, dims: Sequence[int]) -> shared_layout_encoding:
        """The layout of the view whose dimension ``i`` is dimension ``dims[i]`` of the buffer."""


def _ints(values: Sequence[int]) -> Ints:
    return tuple(int(value) for value in unwrap(tuple(values)))


@dataclass(frozen=True)
class swizzled_shared_layout_encoding(shared_layout_encoding):
    """Rows whose groups of `vectorSize` elements are permuted from phase to phase."""

    vectorSize: int
    perPhase: int
    maxPhase: int
    order: Sequence[int]
    numCTAs: Sequence[int]
    numCTAsPerCGA: Sequence[int]
    numCTASplit: Sequence[int]
    numCTAOrder: Sequence[int]

    def __post_init__(self) -> None:
        for name in ("order", "numCTAs", "numCTAsPerCGA", "numCTASplit", "numCTAOrder"):
            object.__setattr__(self, name, _ints(getattr(self, name)))

    @classmethod
    def make_default(cls, rank: int) -> Self:
        """Row by row, without a permutation."""
        ones = (1,) * rank
        return cls(1, 1, 1, tuple(reversed(range(rank))), ones, ones, ones, ones)

    @override
    def make_permute(self, dims: Sequence[int]) -> swizzled_shared_layout_encoding:
        return replace(self, order=tuple(self.order[dim] for dim in dims))

    @override
    def to_ir(self) -> SwizzledSharedEncoding:
        return SwizzledSharedEncoding(
            vec=self.vectorSize,
            per_phase=self.perPhase,
            max_phase=self.maxPhase,
            order=tuple(self.order),
            cga_layout=_cga(self.numCTAsPerCGA, self.numCTASplit, self.numCTAOrder),
        )


def _cga(per_cga: Sequence[int], split: Sequence[int], order: Sequence[int]) -> tuple[Ints, ...]:
    """How the CTAs of a cluster share a buffer; a single one has nothing to share."""
    if all(count == 1 for count in per_cga):
        return ()
    return cga_bases(tuple(per_cga), tuple(split), tuple(order))


@dataclass(frozen=True)
class swizzled_layout:
    """CuTe's ``Swizzle<bits, base, shift>``; what it is depends on the shape of the buffer."""

    bits: int
    base: int = 0
    shift: int = 0
    order: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for name in ("bits", "base", "shift", "order"):
            object.__setattr__(self, name, unwrap(getattr(self, name)))

    @classmethod
    def make_default(cls, rank: int) -> swizzled_shared_layout_encoding:
        """No permutation, row by row."""
        return swizzled_shared_layout_encoding.make_default(rank)

    def resolved(self, shape: Sequence[int]) -> swizzled_shared_layout_encoding:
        """The layout for a buffer of `shape`."""
        rank = len(shape)
        order = tuple(reversed(range(rank))) if self.order is None else _ints(self.order)
        ones = (1,) * rank
        row = shape[order[0]]
        per_phase = max((1 << (self.shift + self.base)) // row, 1)
        return swizzled_shared_layout_encoding(
            1 << self.base, per_phase, 1 << self.bits, order, ones, ones, ones, ones
        )


@dataclass(frozen=True)
class nv_mma_shared_layout_encoding(shared_layout_encoding):
    """The layout that TMA writes and matrix instructions read, for buffers of `shape`.

    How wide the pattern is follows from the bytes of a row; fewer than 8 rows have none.
    """

    shape: Sequence[int]
    order: Sequence[int]
    elemType: dtype
    numCTAsPerCGA: Sequence[int]
    numCTASplit: Sequence[int]
    numCTAOrder: Sequence[int]
    fp4Padded: bool = False
    swizzled: bool = True

    def __post_init__(self) -> None:
        for name in ("shape", "order", "numCTAsPerCGA", "numCTASplit", "numCTAOrder"):
            object.__setattr__(self, name, _ints(getattr(self, name)))
        object.__setattr__(self, "elemType", unwrap(self.elemType))

    @classmethod
    def make_default(cls, shape: Sequence[int], elemType: dtype, fp4Padded: bool = False) -> Self:
        """Row by row."""
        rank = len(shape)
        ones = (1,) * rank
        return cls(shape, tuple(reversed(range(rank))), elemType, ones, ones, ones, fp4Padded)

    @override
    def make_permute(self, dims: Sequence[int]) -> nv_mma_shared_layout_encoding:
        return replace(self, order=tuple(self.order[dim] for dim in dims))

    @property
    def _is_transposed(self) -> bool:
        is_first_fastest = self.order[0] == 0
        return is_first_fastest and (self.swizzled or len(self.order) > 1)

    @property
    def _swizzle_bytes(self) -> int:
        if not self.swizzled or len(self.shape) < 2:
            return 0
        shape = [
            max(extent // parts, 1)
            for extent, parts in zip(self.shape, self.numCTASplit, strict=True)
        ]
        rows = 1
        for dim in self.order[1:]:
            rows *= shape[dim]
        if rows < _SWIZZLED_ROWS:
            return 0
        packing = 2 if self.fp4Padded else 1
        row = shape[self.order[0]] * packing * self.elemType.primitive_bitwidth // 8
        return next((width for width in _SWIZZLE_BYTES if row and row % width == 0), 0)

    @override
    def to_ir(self) -> NvmmaSharedEncoding:
        return NvmmaSharedEncoding(
            swizzling_byte_width=self._swizzle_bytes,
            transposed=self._is_transposed,
            element_bit_width=self.elemType.primitive_bitwidth,
            fp4_padded=self.fp4Padded,
            tensor_rank=len(self.order),
            cga_layout=_cga(self.numCTAsPerCGA, self.numCTASplit, self.numCTAOrder),
        )


@dataclass(frozen=True)
class padded_shared_layout_encoding(shared_layout_encoding):
    """Elements in the order of linear `offset_bases`, with gaps: `paddings` after `intervals`."""

    intervals: Sequence[int]
    paddings: Sequence[int]
    offset_bases: Sequence[Sequence[int]]
    block_bases: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        for name in ("intervals", "paddings"):
            object.__setattr__(self, name, _ints(getattr(self, name)))
        for name in ("offset_bases", "block_bases"):
            object.__setattr__(self, name, tuple(_ints(basis) for basis in getattr(self, name)))
        if len(self.intervals) != len(self.paddings):
            raise ValueError("intervals and paddings must have the same length")

    @classmethod
    def with_identity_for(
        cls,
        interval_padding_pairs: Sequence[Sequence[int]],
        shape: Sequence[int],
        order: Sequence[int],
    ) -> Self:
        """Row by row along `order`, with a gap of `padding` elements after every `interval`."""
        pairs = [_ints(pair) for pair in unwrap(tuple(interval_padding_pairs))]
        bases = identity_bases(_ints(shape), _ints(order))
        return cls([each[0] for each in pairs], [each[1] for each in pairs], bases)

    @classmethod
    def with_bases(
        cls,
        interval_padding_pairs: Sequence[Sequence[int]],
        offset_bases: Sequence[Sequence[int]],
        shape: Sequence[int],
        block_bases: Sequence[Sequence[int]] | None = None,
    ) -> Self:
        """Along linear bases of a tensor of `shape`, with gaps."""
        pairs = [_ints(pair) for pair in unwrap(tuple(interval_padding_pairs))]
        rank = len(unwrap(tuple(shape)))
        bases, blocks = (
            [_ints(basis) for basis in unwrap(tuple(given or ()))]
            for given in (offset_bases, block_bases)
        )
        wrong = next((basis for basis in (*bases, *blocks) if len(basis) != rank), None)
        if wrong is not None:
            raise AssertionError(
                f"each base vector must have length rank={rank}, got {len(wrong)}: {wrong}"
            )
        return cls([each[0] for each in pairs], [each[1] for each in pairs], bases, blocks)

    @override
    def make_permute(self, dims: Sequence[int]) -> padded_shared_layout_encoding:
        return replace(
            self,
            offset_bases=_permuted(self.offset_bases, dims),
            block_bases=_permuted(self.block_bases, dims),
        )

    @override
    def to_ir(self) -> PaddedSharedEncoding:
        return PaddedSharedEncoding(
            intervals=tuple(self.intervals),
            paddings=tuple(self.paddings),
            offset=tuple(map(tuple, self.offset_bases)),
            block=tuple(map(tuple, self.block_bases)),
            padded_rank=len(self.offset_bases[0]),
        )


def _permuted(bases: Sequence[Sequence[int]], dims: Sequence[int]) -> tuple[Ints, ...]:
    return tuple(tuple(basis[dim] for dim in dims) for basis in bases)


@dataclass(frozen=True)
class shared_linear_layout_encoding(shared_layout_encoding):
    """Any linear map from offsets to elements."""

    offset_bases: Sequence[Sequence[int]]
    block_bases: Sequence[Sequence[int]] = ()
    alignment: int = 16

    def __post_init__(self) -> None:
        for name in ("offset_bases", "block_bases"):
            object.__setattr__(self, name, tuple(_ints(basis) for basis in getattr(self, name)))
        if not self.offset_bases or not self.offset_bases[0]:
            raise ValueError("offset bases must be non-empty")

    @property
    def order(self) -> Ints:
        """Dimensions from the fastest to the slowest, as the offsets run through them."""
        rank = len(self.offset_bases[0])
        seen = [dim for basis in self.offset_bases for dim in range(rank) if basis[dim]]
        return tuple(dict.fromkeys([*seen, *reversed(range(rank))]))

    @override
    def make_permute(self, dims: Sequence[int]) -> shared_linear_layout_encoding:
        return replace(
            self,
            offset_bases=_permuted(self.offset_bases, dims),
            block_bases=_permuted(self.block_bases, dims),
        )

    @override
    def to_ir(self) -> SharedLinearEncoding:
        return SharedLinearEncoding(
            offset=tuple(map(tuple, self.offset_bases)),
            block=tuple(map(tuple, self.block_bases)),
            layout_alignment=self.alignment,
        )


class TMemCTAMode(enum.IntEnum):
    """How a pair of CTAs shares a tile of 64 rows in tensor memory."""

    DEFAULT = 0
    TwoCTA_LHS = 1
    TwoCTA_RHS = 2


_CTA_MODES: Mapping[TMemCTAMode, str] = {
    TMemCTAMode.DEFAULT: "default",
    TMemCTAMode.TwoCTA_LHS: "twocta_lhs",
    TMemCTAMode.TwoCTA_RHS: "twocta_rhs",
}


class _TensorMemory(shared_layout_encoding):
    """A layout of tensor memory."""

    @override
    def make_permute(self, dims: Sequence[int]) -> shared_layout_encoding:
        raise ValueError("a buffer in tensor memory cannot be transposed")


@dataclass(frozen=True)
class tensor_memory_layout_encoding(_TensorMemory):
    """A matrix in blocks of `blockM` rows and `blockN` columns."""

    blockM: int
    blockN: int
    colStride: int = 1
    CTASplitM: int = 1
    CTASplitN: int = 1
    ctaMode: TMemCTAMode = TMemCTAMode.DEFAULT

    @classmethod
    def make_default(cls, shape: Sequence[int]) -> Self:
        """One block."""
        return cls(int(shape[0]), int(shape[1]))

    @override
    def to_ir(self) -> TensorMemoryEncoding:
        return TensorMemoryEncoding(
            block_m=self.blockM,
            block_n=self.blockN,
            col_stride=self.colStride,
            cga_layout=bases_of_splits(self.CTASplitM, self.CTASplitN),
            cta_mode=_CTA_MODES[TMemCTAMode(self.ctaMode)],
        )


@dataclass(frozen=True)
class tensor_memory_scales_layout_encoding(_TensorMemory):
    """The fixed arrangement of scale factors in tensor memory."""

    CTASplitM: int = 1
    CTASplitN: int = 1

    @classmethod
    def make_default(cls) -> Self:
        return cls()

    @override
    def to_ir(self) -> TensorMemoryScalesEncoding:
        return TensorMemoryScalesEncoding(
            cga_layout=bases_of_splits(self.CTASplitM, self.CTASplitN)
        )


@dataclass(frozen=True)
class DummyTMEMLayoutEncoding(_TensorMemory):
    """Some layout of tensor memory, chosen by how the buffer is used."""

    @override
    def to_ir(self) -> DummyTMemLayout:
        return DummyTMemLayout()


@dataclass(frozen=True)
class DummyRegisterLayoutEncoding(layout_encoding):
    """Some layout of a tensor of `shape`, chosen when the kernel is compiled."""

    shape: Sequence[int]
    element_type: dtype
    tmem_compatible: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _ints(self.shape))

    @override
    def to_ir(self) -> DummyRegisterLayout:
        return DummyRegisterLayout(
            tuple(self.shape), self.element_type.to_ir(), self.tmem_compatible
        )
