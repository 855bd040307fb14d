"""Helpers of warp-specialised kernels."""

from __future__ import annotations

from typing import cast

from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.tensor import Operand, tensor


def get_bufidx_phase(accum_cnt: Operand, NUM_BUFFERS_KV: int | constexpr) -> tuple[tensor, tensor]:
    """Which buffer of a ring step `accum_cnt` uses, and the parity of its round."""
    count, buffers = cast("int | tensor", unwrap(accum_cnt)), int(unwrap(NUM_BUFFERS_KV))
    return to_tensor(count % buffers), to_tensor((count // buffers) & 1)
