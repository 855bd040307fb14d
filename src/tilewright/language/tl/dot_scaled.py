"""Dots of operands in microscaling formats.

Small floats, of which 16 or 32 along K share an 8-bit scale, a power of two:

    lhs  [M, K]     lhs_scale  [M, K / 32]
    rhs  [K, N]     rhs_scale  [N, K / 32]

Two e2m1 numbers are packed in a `uint8`, along K unless `lhs_k_pack` or `rhs_k_pack` is false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.dialects.tt import DotScaledOp
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import bitcast
from tilewright.language.tl.dot import accumulator_of, check_block
from tilewright.language.tl.dtypes import (
    bfloat16,
    block_type,
    dtype,
    float8e4nv,
    float8e5,
    float16,
    float32,
    uint8,
    uint16,
)
from tilewright.language.tl.tensor import emit, tensor

_SCALE_FACTORS = (16, 32)


@dataclass(frozen=True)
class _Format:
    """How numbers of a microscaling format are held: as themselves, or as bits of an integer."""

    bits: dtype
    type: dtype | None = None
    packed: int = 1


_FORMATS: Mapping[str, _Format] = {
    "e2m1": _Format(uint8, packed=2),
    "e4m3": _Format(uint8, float8e4nv),
    "e5m2": _Format(uint8, float8e5),
    "bf16": _Format(uint16, bfloat16),
    "fp16": _Format(uint16, float16),
}


@dataclass(frozen=True)
class _Side:
    """One operand of a scaled dot: how its elements are stored and packed."""

    name: str
    value: tensor
    scale: tensor | None
    format: str
    k_pack: bool

    @property
    def packed(self) -> int:
        """Numbers along K in one element."""
        return _FORMATS[self.format].packed if self.k_pack else 1

    @property
    def packed_across(self) -> int:
        """Numbers along the other dimension in one element."""
        return 1 if self.k_pack else _FORMATS[self.format].packed


def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: dtype = float32,
) -> tensor:
    """The dot of two block-scaled matrices, added to `acc`.

    Formats are "e2m1", "e4m3", "e5m2", "bf16" and "fp16". Scales are e8m0 numbers held as `uint8`,
    [M, K // 32] for `lhs` and [N, K // 32] for `rhs` (16 is possible too), or None.
    """
    if unwrap(out_dtype) != float32:
        raise ValueError(f"Only float32 is supported for out_dtype at the moment, got {out_dtype}")
    left = _side("lhs", lhs, lhs_scale, lhs_format, lhs_k_pack)
    right = _side("rhs", rhs, rhs_scale, rhs_format, rhs_k_pack)
    shape = _scaled_shape(left, right)
    type = block_type(float32, shape)
    accumulator = accumulator_of(acc, type, float32)
    k = left.value.shape[-1] * left.packed
    _check_scales(left, right, shape, k)
    op = DotScaledOp(
        left.value.handle,
        right.value.handle,
        accumulator.handle,
        None if left.scale is None else left.scale.handle,
        None if right.scale is None else right.scale.handle,
        left.format,
        right.format,
        fast_math=fast_math,
        lhs_k_pack=lhs_k_pack,
        rhs_k_pack=rhs_k_pack,
    )
    return emit(op, type)


def _side(name: str, value: tensor, scale: tensor | None, format: str, k_pack: bool) -> _Side:
    if format not in _FORMATS:
        raise ValueError(
            f"Invalid float format: {format} of {name}; expected one of {', '.join(_FORMATS)}"
        )
    if not k_pack and _FORMATS[format].packed == 1:
        raise ValueError(
            "only mxfp4 inputs can be packed along a dimension different than K: "
            f"{name}_k_pack=False goes with {name}_format='e2m1'"
        )
    value = _in_format(check_block(value), format)
    if len(value.shape) not in (2, 3):
        raise ValueError(f"Both inputs must be either 2D or 3D; ({name}: {list(value.shape)})")
    return _Side(name, value, scale, format, k_pack)


def _in_format(value: tensor, format: str) -> tensor:
    """`value` as numbers of the format; two of four bits stay a `uint8`."""
    held = _FORMATS[format]
    if value.dtype == held.type:
        return value
    if value.dtype != held.bits:
        expected = held.bits if held.type is None else f"{held.type} or {held.bits}"
        raise TypeError(f"{format} values are stored as {expected}, got {value.dtype}")
    return value if held.type is None else bitcast(value, held.type)


def _scaled_shape(lhs: _Side, rhs: _Side) -> tuple[int, ...]:
    left, right = lhs.value.shape, rhs.value.shape
    if len(left) != len(right):
        raise ValueError(
            f"Both inputs must be either 2D or 3D; (lhs: {list(left)} vs rhs: {list(right)})"
        )
    if left[-1] * lhs.packed != right[-2] * rhs.packed:
        raise ValueError(
            "Reduction dimension should pack the same number of elements; (lhs: "
            f"{list(left)} holds {left[-1] * lhs.packed} vs rhs: {list(right)} holds "
            f"{right[-2] * rhs.packed})"
        )
    m, n = left[-2] * lhs.packed_across, right[-1] * rhs.packed_across
    return (*left[:-2], m, n)


def _check_scales(lhs: _Side, rhs: _Side, shape: Sequence[int], k: int) -> None:
    factors = {
        k // scale.shape[-1]
        for scale in (lhs.scale, rhs.scale)
        if scale is not None and scale.numel != 1
    }
    if len(factors) > 1:
        raise ValueError(f"Operands must have the same scale factor, got {sorted(factors)}")
    factor = factors.pop() if factors else _SCALE_FACTORS[-1]
    if factor not in _SCALE_FACTORS:
        raise ValueError(f"scale factor must be 16 or 32. Got {factor}")
    for side, extent in ((lhs, shape[-2]), (rhs, shape[-1])):
        if side.scale is not None and side.scale.shape[-2:] != (extent, k // factor):
            raise ValueError(
                f"{side.name}_scale must be a tensor of shape [..., {extent}, {k // factor}]. "
                f"Got {list(side.scale.shape)}"
            )
