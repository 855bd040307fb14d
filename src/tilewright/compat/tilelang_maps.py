"""Which lane holds an element of a matrix instruction's operand, and in which of its registers.

Rows are spatial (M or N), columns run along K (``sr``). The maps are those of the PTX manual
(``mma.m16n8k*``, two of them for N = 16) and of AMD's instruction calculator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.language.T.dtypes import dtype as Dtype

Map = Callable[[Any, Any], tuple[Any, Any]]


def _mma(group: int, *, rows_first: bool) -> Map:
    """`group` consecutive elements along K for each of four lanes; then the next quarter."""

    def locate(i: Any, j: Any) -> tuple[Any, Any]:
        lane = 4 * (i % 8) + j % (4 * group) // group
        right, below = j // (4 * group), i // 8
        quarter = 2 * below + right if rows_first else 2 * right + below
        return lane, quarter * group + j % group

    return locate


shared_16x8_to_mma_32x4_layout_sr_a = _mma(1, rows_first=False)
shared_16x8_to_mma_32x4_layout_sr_b = _mma(1, rows_first=True)
shared_16x16_to_mma_32x8_layout_sr_a = _mma(2, rows_first=False)
shared_16x16_to_mma_32x8_layout_sr_b = _mma(2, rows_first=True)
shared_16x32_to_mma_32x16_layout_sr_a = _mma(4, rows_first=False)
shared_16x32_to_mma_32x16_layout_sr_b = _mma(4, rows_first=True)


def _mfma(group: int) -> Map:
    def locate(i: Any, j: Any) -> tuple[Any, Any]:
        return i + 16 * (j // group), j % group

    return locate


shared_16x4_to_local_64x1_layout_A = _mfma(1)
shared_16x16_to_local_64x4_layout_A = _mfma(4)
shared_16x32_to_local_64x8_layout_A = _mfma(8)
shared_16x64_to_local_64x16_layout_A = _mfma(16)


def get_mfma_micro_size(dtype: object) -> tuple[int, int, int]:
    """Rows, columns and k of the tiles of a wave."""
    return 16, 16, 32 if Dtype(dtype).bits == 8 else 16
