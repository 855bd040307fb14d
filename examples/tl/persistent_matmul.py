"""Persistent matrix product through tensor descriptors: as many programs as the chip has cores.

Each program walks over tiles of the result; loads and stores name a block of a tensor, and what
lies outside the tensor reads as zero and is not written.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def persistent_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        pid_m, pid_n = tl.swizzle2d(tile // tiles_n, tile % tiles_n, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            a_tile = a.load([pid_m * BLOCK_M, k * BLOCK_K])
            b_tile = b.load([pid_n * BLOCK_N, k * BLOCK_K])
            acc = tl.dot(a_tile, b_tile.T, acc)
        c.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c.dtype))


def matmul(a, b_transposed, programs=6):
    (M, K), N = a.shape, b_transposed.shape[0]
    c = np.empty((M, N), dtype=a.dtype)
    persistent_kernel[(programs,)](
        a, b_transposed, c, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP=4
    )
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((200, 136)).astype(np.float16)
    b = rng.standard_normal((264, 136)).astype(np.float16)
    return matmul(a, b), a.astype(np.float64) @ b.astype(np.float64).T


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
