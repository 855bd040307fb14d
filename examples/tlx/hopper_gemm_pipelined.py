"""C = A @ B on Hopper without roles: asynchronous copies run ahead of the products of one task.

Stage `k % STAGES` of the ring is read by product `k`. Its slot is filled again only after the wait
that leaves one product in flight, so that product `k - 1`, the last reader, is done.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def load_stage(a_ptrs, b_ptrs, a, b, rows, columns, k, K, stride_ak, stride_bk, M, N,
               BK: tl.constexpr):  # fmt: skip
    """Start the copies of one step of K."""
    depth = k * BK + tl.arange(0, BK)
    a_mask = (rows[:, None] < M) & (depth[None, :] < K)
    b_mask = (depth[:, None] < K) & (columns[None, :] < N)
    tlx.async_load(a_ptrs + k * BK * stride_ak, a, mask=a_mask, other=0.0)
    tlx.async_load(b_ptrs + k * BK * stride_bk, b, mask=b_mask, other=0.0)


@tw.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    a = tlx.local_alloc((BM, BK), tlx.dtype_of(a_ptr), STAGES)
    b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_ptr), STAGES)
    steps = tl.cdiv(K, BK)
    for stage in tl.static_range(STAGES - 1):
        load_stage(
            a_ptrs, b_ptrs, a[stage], b[stage], rows, columns, stage, K, stride_ak, stride_bk,
            M, N, BK,
        )  # fmt: skip
        tlx.async_load_commit_group()
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, steps, num_stages=0):
        slot = k % STAGES
        tlx.async_load_wait_group(STAGES - 2)
        acc = tlx.async_dot(a[slot], b[slot], acc)
        acc = tlx.async_dot_wait(1, acc)
        ahead = k + STAGES - 1
        free = ahead % STAGES
        load_stage(  # beyond the last step all of it is masked
            a_ptrs, b_ptrs, a[free], b[free], rows, columns, ahead, K, stride_ak, stride_bk,
            M, N, BK,
        )  # fmt: skip
        tlx.async_load_commit_group()
    acc = tlx.async_dot_wait(0, acc)
    tlx.async_load_wait_group(0)  # copies beyond the last step still fill their slots
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptrs, acc.to(tlx.dtype_of(c_ptr)), mask=inside)


class Config(NamedTuple):
    """Sizes for an H200."""

    block: tuple[int, int, int] = (128, 256, 64)
    stages: int = 4
    num_warps: int = 8


SMALL = Config(block=(64, 64, 32), stages=3, num_warps=4)
"""Quick to run without a GPU."""


def strides(x):
    """Steps of the dimensions in elements, of NumPy arrays or tensors of torch."""
    return x.stride() if hasattr(x, "stride") else [step // x.itemsize for step in x.strides]


def empty(like, shape):
    """An array where `like` is: NumPy's, or a tensor of torch on the same device."""
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def gemm(a, b, config=None, out=None):
    """The product of two matrices of half precision, NumPy's or on a GPU."""
    (BM, BN, BK), stages, num_warps = config or Config()
    (M, K), N = a.shape, b.shape[1]
    c = empty(a, (M, N)) if out is None else out
    gemm_kernel[(tw.cdiv(M, BM), tw.cdiv(N, BN))](
        a, b, c, M, N, K, *strides(a), *strides(b), *strides(c),
        BM=BM, BN=BN, BK=BK, STAGES=stages, num_warps=num_warps,
    )  # fmt: skip
    return c


def example(rng, config=SMALL):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((100, 150)).astype(np.float16)
    b = rng.standard_normal((150, 130)).astype(np.float16)
    return gemm(a, b, config), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
