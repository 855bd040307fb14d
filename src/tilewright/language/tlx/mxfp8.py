"""Blocks of 8-bit floats with one power of two as scale for each group of elements (MXFP8)."""

from __future__ import annotations

from typing import cast

from tilewright.language.tl.arithmetic import abs
from tilewright.language.tl.cast import cast as cast_to
from tilewright.language.tl.comparison import clamp, where
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import dtype, float8e4nv, float8e5, float32, uint8, uint32
from tilewright.language.tl.reductions import max
from tilewright.language.tl.shape import reshape
from tilewright.language.tl.tensor import tensor
from tilewright.language.tlx.access import local_store
from tilewright.language.tlx.storage import buffered_tensor

_LARGEST = {float8e4nv: 448.0, float8e5: 57344.0}
_MANTISSA = 0x007FFFFF
_EXPONENT = 0x7F800000
_MANTISSA_BITS = 23
_BLOCK = 128
_GROUP = 32


def _quantised(data: tensor, largest: tensor, group: int, element: dtype) -> tuple[tensor, tensor]:
    """Scales of groups whose largest magnitudes are `largest`, and the scaled elements."""
    rows, columns = data.shape
    limit = _LARGEST[element]
    # The scale is rounded up to a power of two: its mantissa, if there is one, carries.
    bits = (cast_to(largest / limit, uint32, bitcast=True) + _MANTISSA) & _EXPONENT
    scale = cast_to(bits, float32, bitcast=True)
    exponent = convert(bits >> _MANTISSA_BITS, uint8)
    inverse = reshape(where(scale == 0, 0.0, 1.0 / scale), [rows, columns // group, 1])
    groups = reshape(data, [rows, columns // group, group])
    scaled = clamp(groups * inverse, -limit, limit)
    return exponent, convert(reshape(scaled, [rows, columns]), element)


def to_mxfp8_block(
    data_input: tensor,
    data_out_tile: buffered_tensor,
    scale_out_tile: buffered_tensor,
    VEC_SIZE: int,
    dtype: dtype,
) -> None:
    """Write a 128x128 block of fp32 as 8-bit floats, and the scales of its groups of 32."""
    group, element = unwrap(VEC_SIZE), unwrap(dtype)
    _check(data_input, group, element)
    rows, columns = data_input.shape
    magnitudes = abs(reshape(data_input, [rows, columns // group, group]))
    largest = cast("tensor", max(magnitudes, axis=2))
    _store(data_input, largest, group, element, data_out_tile, scale_out_tile)


def to_mxfp8_block_with_block_amax(
    data_input: tensor,
    block_amax: tensor,
    data_out_tile: buffered_tensor,
    scale_out_tile: buffered_tensor,
    VEC_SIZE: int,
    dtype: dtype,
) -> None:
    """The same where the largest magnitude of each group is known."""
    group, element = unwrap(VEC_SIZE), unwrap(dtype)
    _check(data_input, group, element)
    _store(data_input, block_amax, group, element, data_out_tile, scale_out_tile)


def _check(data: tensor, group: int, element: dtype) -> None:
    if data.shape != (_BLOCK, _BLOCK) or group != _GROUP:
        raise AssertionError(
            f"MXFP8 blocks are {_BLOCK}x{_BLOCK} in groups of {_GROUP}, got {list(data.shape)} in "
            f"groups of {group}"
        )
    if element not in _LARGEST:
        raise AssertionError(f"MXFP8 elements are fp8e4nv or fp8e5, got {element}")


def _store(
    data: tensor,
    largest: tensor,
    group: int,
    element: dtype,
    tile: buffered_tensor,
    scales: buffered_tensor,
) -> None:
    exponent, quantised = _quantised(data, largest, group, element)
    local_store(tile, quantised)
    local_store(scales, exponent)
