"""Many matrix products of different sizes in one launch.

Addresses, sizes and strides of the problems lie in memory: a program finds its next tile by
counting through them, and turns an address that it has read into a pointer.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def grouped_kernel(
    a_addresses, b_addresses, c_addresses, sizes_ptr, strides_ptr, problems,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    first = 0
    for problem in range(problems):
        M = tl.load(sizes_ptr + problem * 3)
        N = tl.load(sizes_ptr + problem * 3 + 1)
        K = tl.load(sizes_ptr + problem * 3 + 2)
        tiles_n = tl.cdiv(N, BLOCK_N)
        count = tl.cdiv(M, BLOCK_M) * tiles_n
        while (tile >= first) & (tile < first + count):
            stride_a = tl.load(strides_ptr + problem * 3)
            stride_b = tl.load(strides_ptr + problem * 3 + 1)
            stride_c = tl.load(strides_ptr + problem * 3 + 2)
            a_ptr = tl.load(a_addresses + problem).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_addresses + problem).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_addresses + problem).to(tl.pointer_type(tl.float16))
            rows = (tile - first) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = (tile - first) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            depth = tl.arange(0, BLOCK_K)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                a_mask = (rows[:, None] < M) & (k + depth[None, :] < K)
                b_mask = (k + depth[:, None] < K) & (columns[None, :] < N)
                a_ptrs = a_ptr + rows[:, None] * stride_a + k + depth[None, :]
                b_ptrs = b_ptr + (k + depth[:, None]) * stride_b + columns[None, :]
                a = tl.load(a_ptrs, mask=a_mask, other=0.0)
                b = tl.load(b_ptrs, mask=b_mask, other=0.0)
                acc += tl.dot(a, b)
            c_mask = (rows[:, None] < M) & (columns[None, :] < N)
            c_ptrs = c_ptr + rows[:, None] * stride_c + columns[None, :]
            tl.store(c_ptrs, acc.to(tl.float16), mask=c_mask)
            tile += tl.num_programs(0)
        first += count


def grouped_gemm(pairs, programs=5):
    results = [np.empty((a.shape[0], b.shape[1]), np.float16) for a, b in pairs]
    a_addresses = np.array([a.ctypes.data for a, _ in pairs])
    b_addresses = np.array([b.ctypes.data for _, b in pairs])
    c_addresses = np.array([c.ctypes.data for c in results])
    sizes = np.array([(*a.shape, b.shape[1]) for a, b in pairs], np.int32)[:, [0, 2, 1]].copy()
    strides = np.array([(a.shape[1], b.shape[1], b.shape[1]) for a, b in pairs], np.int32)
    with tw.reachable(*(array for pair in pairs for array in pair), *results):
        grouped_kernel[(programs,)](
            a_addresses, b_addresses, c_addresses, sizes, strides, len(pairs),
            BLOCK_M=32, BLOCK_N=32, BLOCK_K=32,
        )  # fmt: skip
    return results


def example(rng):
    """The results and what NumPy says in float64."""
    sizes = [(70, 50, 33), (32, 64, 96), (101, 17, 40)]
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float16)  # noqa: E731
    pairs = [(draw(m, k), draw(k, n)) for m, n, k in sizes]
    expected = [a.astype(np.float64) @ b.astype(np.float64) for a, b in pairs]
    return tuple(grouped_gemm(pairs)), tuple(expected)


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for result, expected in zip(results, references, strict=True):
        print(result.shape, "largest error:", np.abs(result - expected).max())
