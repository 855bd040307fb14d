"""Kernels with a chain of layer norms and products, whose tiles come one after the other.

A layer norm alone keeps its rows in registers. Followed by a product its result goes to shared
memory, as does the weight, and of three such steps in a row only one needs them at a time.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tests.dumps.case import NVIDIA, case


@triton.jit
def _normalised(x, eps, SIZE: tl.constexpr):
    mean = tl.sum(x, axis=1) / SIZE
    centred = x - mean[:, None]
    variance = tl.sum(centred * centred, axis=1) / SIZE
    return centred / tl.sqrt(variance + eps)[:, None]


@triton.jit
def norm_chain(x, w1, w2, w3, out, eps, ROWS: tl.constexpr, SIZE: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, SIZE)
    tile = row[:, None] * SIZE + lane[None, :]
    square = lane[:, None] * SIZE + lane[None, :]
    y = tl.load(x + tile).to(tl.float32)
    y = tl.dot(_normalised(y, eps, SIZE).to(tl.float16), tl.load(w1 + square))
    y = tl.dot(_normalised(y, eps, SIZE).to(tl.float16), tl.load(w2 + square))
    y = tl.dot(_normalised(y, eps, SIZE).to(tl.float16), tl.load(w3 + square))
    tl.store(out + tile, y)


@triton.jit
def norm_chain_loop(x, w1, w2, out, rows, eps, ROWS: tl.constexpr, SIZE: tl.constexpr):
    lane = tl.arange(0, SIZE)
    square = lane[:, None] * SIZE + lane[None, :]
    for start in range(tl.program_id(0) * ROWS, rows, ROWS * tl.num_programs(0)):
        tile = (start + tl.arange(0, ROWS))[:, None] * SIZE + lane[None, :]
        y = tl.load(x + tile).to(tl.float32)
        y = tl.dot(_normalised(y, eps, SIZE).to(tl.float16), tl.load(w1 + square))
        y = tl.dot(_normalised(y, eps, SIZE).to(tl.float16), tl.load(w2 + square))
        tl.store(out + tile, y)


_POINTERS = dict(x="*fp16:16", w1="*fp16:16", w2="*fp16:16", out="*fp32:16", eps="fp32")

CASES = (
    case(
        "norm_chain",
        norm_chain,
        {**_POINTERS, "w3": "*fp16:16"},
        dict(ROWS=64, SIZE=64),
        targets=NVIDIA,
    ),
    case(
        "norm_chain_loop",
        norm_chain_loop,
        {**_POINTERS, "rows": "i32:16"},
        dict(ROWS=64, SIZE=64),
        targets=NVIDIA,
    ),
)
