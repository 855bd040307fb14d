"""Tensors of elements of 4 bits: arrays of bytes with two of them, the first in the lower half.

A tensor of `M` x `N` elements is an array of `M` x `N / 2` bytes (`int8`, `uint8`, torch's
``float4_e2m1fn_x2``), whose strides are half of those of the elements. NumPy arrays of
``ml_dtypes`` with one element a byte are taken as well: they are packed before a run and written
back after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilewright.runtime.arrays import HostArray, NumpyArray
from tilewright.targets.numpy.strided_view import strided_view

if TYPE_CHECKING:
    from tilewright.language.T.dtypes import dtype as Dtype


def packed_shape(shape: Sequence[int], dtype: Dtype) -> tuple[int, ...]:
    """The shape of the array for a tensor of so many elements."""
    if not dtype.is_packed or not shape:
        return tuple(shape)
    *outer, last = shape
    if last % 2:
        raise ValueError(
            f"a tensor of {dtype} has two elements in a byte: its last dimension is {last}, an "
            "odd count"
        )
    return (*outer, last // 2)


def likeness(array: NumpyArray) -> NumpyArray:
    """An array with the shape and the strides of the elements in bytes; it is not to be read."""
    *outer, last = array.shape
    steps = [*(2 * step for step in array.strides[:-1]), array.strides[-1]]
    return strided_view(np.empty(1, np.uint8), (*outer, 2 * last), steps)


def is_of_bytes(array: NumpyArray) -> bool:
    return array.dtype in (np.dtype(np.int8), np.dtype(np.uint8)) and array.ndim > 0


def packed(host: HostArray) -> HostArray:
    """An array with an element in each byte as one with two of them."""
    array = host.array
    pairs = array.view(np.uint8).reshape(*array.shape[:-1], -1, 2)
    found = (pairs[..., 0] & 0xF | pairs[..., 1] << 4).astype(np.uint8)

    def finish() -> None:
        if array.flags.writeable:
            halves = np.stack([found & 0xF, found >> 4], axis=-1).reshape(array.shape)
            array.view(np.uint8)[...] = halves
        if host.finish is not None:
            host.finish()

    return HostArray(found, finish)
