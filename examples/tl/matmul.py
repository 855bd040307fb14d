"""Matrix product with grouped program ids: neighbours share rows of A and columns of B in L2."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@tw.jit
def grouped_tile(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Walk the tiles of the result column by column inside groups of GROUP rows."""
    per_group = GROUP * tiles_n
    first_m = (pid // per_group) * GROUP
    height = min(tiles_m - first_m, GROUP)
    return first_m + (pid % per_group) % height, (pid % per_group) // height


@tw.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = grouped_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP)
    # Rows and columns past the edge are read from the other side: no mask in the loop over K.
    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=depth[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=depth[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    out_rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    out_columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * out_rows[:, None] + stride_cn * out_columns[None, :]
    inside = (out_rows[:, None] < M) & (out_columns[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=inside)


def strides(array):
    return [stride // array.itemsize for stride in array.strides]


def matmul(a, b, activation=""):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), dtype=a.dtype)
    matmul_kernel[(tw.cdiv(M, 64) * tw.cdiv(N, 64),)](
        a, b, c, M, N, K, *strides(a), *strides(b), *strides(c),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP=8, ACTIVATION=activation,
    )  # fmt: skip
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((301, 173)).astype(np.float16)
    b = rng.standard_normal((173, 259)).astype(np.float16)
    product = a.astype(np.float64) @ b.astype(np.float64)
    return matmul(a, b, "leaky_relu"), np.where(product >= 0, product, 0.01 * product)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
