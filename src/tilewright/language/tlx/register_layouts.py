"""Layouts of tensors in registers that a user can request.

`layout` is CuTe's ``Shape:Stride`` for threads and values: the modes of the first half state which
element thread ``t`` begins with, those of the second which elements follow. A mode ``(2**k, s)``
contributes the strides ``s, 2s, ...``, one for each bit; the bits of a thread number are its lane,
the lowest, and its warp::

    tlx.layout(shape=((32, 4), (8,)), stride=((8, 256), (1,)))     1024 elements, 8 in a row each

Strides count elements of the tensor row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import override
from xdsl.ir import Attribute

from tilewright.dialects.ttg import (
    AmdMfmaEncoding,
    DotOperandEncoding,
    GenericLinearEncoding,
    LinearEncoding,
    NvidiaMmaEncoding,
    SliceEncoding,
)
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.options import current_options
from tilewright.language.tlx.layouts import layout_encoding

Ints = tuple[int, ...]


def _flat(value: object) -> list[int]:
    """The numbers of nested tuples, in order."""
    if isinstance(value, (tuple, list)):
        return [extent for part in cast("Sequence[object]", value) for extent in _flat(part)]
    return [int(cast("Any", value))]


def _strides(shape: object, stride: object) -> list[int]:
    """One stride for each bit of a coordinate in `shape`."""
    extents, steps = _flat(shape), _flat(stride)
    if len(extents) != len(steps):
        raise ValueError(f"layout shape {shape} and stride {stride} differ in structure")
    bits: list[int] = []
    for extent, step in zip(extents, steps, strict=True):
        if extent < 1 or extent & (extent - 1):
            raise ValueError(f"layout extents must be powers of two, got {extent}")
        bits += [step << bit for bit in range(extent.bit_length() - 1)]
    return bits


@dataclass(frozen=True)
class _RegisterLayout(layout_encoding):
    """CuTe's layout of threads and values."""

    shape: tuple[object, ...]
    stride: tuple[object, ...]

    @override
    def to_ir(self) -> Attribute:
        raise TypeError("tlx.layout requires a tensor of known shape")

    def for_tensor(self, shape: Sequence[int]) -> Attribute:
        """The layout of a tensor of `shape`."""
        thread = _strides(self.shape[0], self.stride[0])
        value = _strides(self.shape[1], self.stride[1])
        lanes = current_options().target.warp_size.bit_length() - 1
        register, lane, warp = (
            tuple(_coordinates(step, shape) for step in steps)
            for steps in (value, thread[:lanes], thread[lanes:])
        )
        bases = (*register, *lane, *warp)
        is_permutation = all(_is_unit(basis) for basis in bases) and len(set(bases)) == len(bases)
        kind = LinearEncoding if is_permutation else GenericLinearEncoding
        return kind(register=register, lane=lane, warp=warp, block=())


def _coordinates(offset: int, shape: Sequence[int]) -> Ints:
    """Element number `offset`, counted row by row, as coordinates."""
    position: list[int] = []
    for extent in reversed(shape):
        position.append(offset % extent)
        offset //= extent
    if offset:
        raise ValueError(f"layout exceeds the tensor shape {list(shape)}")
    return tuple(reversed(position))


def _is_unit(basis: Ints) -> bool:
    """Whether a basis moves by a power of two along one dimension."""
    moved = [step for step in basis if step]
    return len(moved) == 1 and not moved[0] & (moved[0] - 1)


def layout(shape: object = None, stride: object = None) -> layout_encoding:
    """A layout of registers, or, for a layout of shared memory, that one itself."""
    given = unwrap(shape)
    if isinstance(given, layout_encoding):
        return given
    extents, steps = cast("tuple[object, ...]", given), cast("tuple[object, ...]", unwrap(stride))
    for name, value in (("shape", extents), ("stride", steps)):
        if not isinstance(value, (tuple, list)) or len(value) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"layout {name} must be ((threads), (values)), got {value}")
    return _RegisterLayout(_frozen(extents), _frozen(steps))


def _frozen(value: object) -> Any:
    if not isinstance(value, (tuple, list)):
        return value
    return tuple(_frozen(part) for part in cast("Sequence[object]", value))


@dataclass(frozen=True)
class amd_mfma_layout(layout_encoding):
    """The accumulator of an MFMA instruction."""

    version: int
    instr_shape: Sequence[int]
    transposed: bool
    warps_per_cta: Sequence[int]
    tiles_per_warp: Sequence[int] = ()
    element_bitwidth: int = 32
    cga_layout: Sequence[Sequence[int]] = ()

    @override
    def to_ir(self) -> AmdMfmaEncoding:
        return AmdMfmaEncoding(
            version=self.version,
            warps_per_cta=tuple(unwrap(tuple(self.warps_per_cta))),
            instr_shape=tuple(unwrap(tuple(self.instr_shape))),
            is_transposed=bool(self.transposed),
            cga_layout=tuple(tuple(basis) for basis in self.cga_layout),
            tiles_per_warp=tuple(unwrap(tuple(self.tiles_per_warp))),
            element_bit_width=self.element_bitwidth,
        )


@dataclass(frozen=True)
class nv_mma_layout(layout_encoding):
    """The accumulator of a wgmma instruction."""

    version: Sequence[int]
    warps_per_cta: Sequence[int]
    instr_shape: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.version) != 2 or self.version[0] != 3:
            raise ValueError("nv_mma_layout currently supports version (3, 0) only")

    @override
    def to_ir(self) -> NvidiaMmaEncoding:
        return NvidiaMmaEncoding(
            version_major=self.version[0],
            version_minor=self.version[1],
            warps_per_cta=tuple(self.warps_per_cta),
            instr_shape=tuple(self.instr_shape),
        )


@dataclass(frozen=True)
class dot_operand_layout(layout_encoding):
    """Operand `operand_index` of a dot whose result has layout `parent`."""

    operand_index: int
    parent: layout_encoding
    k_width: int

    @override
    def to_ir(self) -> DotOperandEncoding:
        return DotOperandEncoding(
            op_idx=self.operand_index, parent=self.parent.to_ir(), k_width=self.k_width
        )


@dataclass(frozen=True)
class slice_layout(layout_encoding):
    """The layout of a tensor that becomes `parent` once dimension `dim` is added."""

    dim: int
    parent: layout_encoding

    @override
    def to_ir(self) -> SliceEncoding:
        return SliceEncoding(dim=self.dim, parent=self.parent.to_ir())


def register_encoding(expected: layout_encoding, shape: Sequence[int], element: dtype) -> Attribute:
    """`wanted` in the IR, for a tensor or buffer of `shape` and `element`."""
    if isinstance(expected, _RegisterLayout):
        return expected.for_tensor(shape)
    return expected.to_ir()
