"""Attention, backward: a block owns a tile of K and V, walks over Q, and adds to dQ atomically."""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[-1])
def row_products(batch, heads, context, dim, block_M=32):
    """delta = sum over the head dimension of O * dO."""
    shape = (batch, context, heads, dim)

    @T.prim_func
    def main(
        O: T.Tensor(shape, "float16"),  # noqa: E741 - the name it has in every paper
        dO: T.Tensor(shape, "float16"),
        Delta: T.Tensor((batch, heads, context), "float32"),
    ):
        with T.Kernel(heads, T.ceildiv(context, block_M), batch) as (bx, by, bz):
            o = T.alloc_fragment([block_M, dim], "float16")
            do = T.alloc_fragment([block_M, dim], "float16")
            product = T.alloc_fragment([block_M, dim], "float32")
            delta = T.alloc_fragment([block_M], "float32")
            T.copy(O[bz, by * block_M : (by + 1) * block_M, bx, :], o)
            T.copy(dO[bz, by * block_M : (by + 1) * block_M, bx, :], do)
            for i, j in T.Parallel(block_M, dim):
                product[i, j] = T.cast(o[i, j], "float32") * T.cast(do[i, j], "float32")
            T.reduce_sum(product, delta, dim=1)
            T.copy(delta, Delta[bz, bx, by * block_M : (by + 1) * block_M])

    return main


@tw.jit
def gradients(batch, heads, context, dim, is_causal, block_M=32, block_N=32, num_stages=2):
    scale = 1 / math.sqrt(dim)
    scale_log2 = scale * 1.44269504
    shape = (batch, context, heads, dim)
    dtype, accumulator = "float16", "float32"

    @T.prim_func
    def main(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        dO: T.Tensor(shape, dtype),
        Lse: T.Tensor((batch, heads, context), accumulator),
        Delta: T.Tensor((batch, heads, context), accumulator),
        dQ: T.Tensor(shape, accumulator),
        dK: T.Tensor(shape, dtype),
        dV: T.Tensor(shape, dtype),
    ):
        with T.Kernel(heads, T.ceildiv(context, block_N), batch, threads=128) as (bx, by, bz):
            K_shared = T.alloc_shared([block_N, dim], dtype)
            V_shared = T.alloc_shared([block_N, dim], dtype)
            Q_shared = T.alloc_shared([block_M, dim], dtype)
            dO_shared = T.alloc_shared([block_M, dim], dtype)
            lse = T.alloc_shared([block_M], accumulator)
            delta = T.alloc_shared([block_M], accumulator)
            p_transposed = T.alloc_fragment([block_N, block_M], accumulator)
            dp_transposed = T.alloc_fragment([block_N, block_M], accumulator)
            p_cast = T.alloc_fragment([block_N, block_M], dtype)
            ds_shared = T.alloc_shared([block_N, block_M], dtype)
            dk = T.alloc_fragment([block_N, dim], accumulator)
            dv = T.alloc_fragment([block_N, dim], accumulator)
            dq = T.alloc_fragment([block_M, dim], accumulator)

            T.copy(K[bz, by * block_N : (by + 1) * block_N, bx, :], K_shared)
            T.copy(V[bz, by * block_N : (by + 1) * block_N, bx, :], V_shared)
            T.clear(dk)
            T.clear(dv)
            first = T.floordiv(by * block_N, block_M) if is_causal else 0
            for k in T.Pipelined(first, T.ceildiv(context, block_M), num_stages=num_stages):
                T.copy(Q[bz, k * block_M : (k + 1) * block_M, bx, :], Q_shared)
                T.copy(dO[bz, k * block_M : (k + 1) * block_M, bx, :], dO_shared)
                T.copy(Lse[bz, bx, k * block_M : (k + 1) * block_M], lse)
                T.copy(Delta[bz, bx, k * block_M : (k + 1) * block_M], delta)
                T.clear(p_transposed)
                T.gemm(K_shared, Q_shared, p_transposed, transpose_B=True)
                for i, j in T.Parallel(block_N, block_M):
                    p_transposed[i, j] = T.exp2(p_transposed[i, j] * scale_log2 - lse[j])
                for i, j in T.Parallel(block_N, block_M):
                    outside = k * block_M + j >= context
                    if is_causal:
                        hidden = by * block_N + i > k * block_M + j
                        p_transposed[i, j] = T.if_then_else(
                            hidden or outside, 0, p_transposed[i, j]
                        )
                    else:
                        p_transposed[i, j] = T.if_then_else(outside, 0, p_transposed[i, j])
                T.copy(p_transposed, p_cast)
                T.gemm(p_cast, dO_shared, dv)
                T.clear(dp_transposed)
                T.gemm(V_shared, dO_shared, dp_transposed, transpose_B=True)
                for i, j in T.Parallel(block_N, block_M):
                    p_cast[i, j] = p_transposed[i, j] * (dp_transposed[i, j] - delta[j]) * scale
                T.gemm(p_cast, Q_shared, dk)
                T.copy(p_cast, ds_shared)
                T.clear(dq)
                T.gemm(ds_shared, K_shared, dq, transpose_A=True)
                for i, j in T.Parallel(block_M, dim):
                    T.atomic_add(dQ[bz, k * block_M + i, bx, j], dq[i, j])
            T.copy(dv, dV[bz, by * block_N : (by + 1) * block_N, bx, :])
            T.copy(dk, dK[bz, by * block_N : (by + 1) * block_N, bx, :])

    return main


def reference(q, k, v, do, is_causal):
    """Output, log-sum-exp (base 2) and the three gradients in float64, heads before positions."""
    q, k, v, do = (array.astype(np.float64).transpose(0, 2, 1, 3) for array in (q, k, v, do))
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ k.swapaxes(2, 3) * scale
    if is_causal:
        scores = np.where(np.tri(q.shape[2], dtype=bool), scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    total = np.exp(scores - largest).sum(axis=-1, keepdims=True)
    p = np.exp(scores - largest) / total
    out = p @ v
    dp = do @ v.swapaxes(2, 3)
    ds = p * (dp - (out * do).sum(axis=-1, keepdims=True)) * scale
    results = out, ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ do
    lse = (largest + np.log(total))[..., 0] / math.log(2)
    return lse, *(array.transpose(0, 2, 1, 3) for array in results)


def example(rng, num_stages=2):
    """dQ, dK and dV of causal attention, and what NumPy says in float64."""
    shape = batch, context, heads, dim = 1, 80, 2, 32
    q, k, v, do = rng.standard_normal((4, *shape)).astype(np.float16)
    lse, out, *expected = reference(q, k, v, do, is_causal=True)
    delta = row_products(batch, heads, context, dim)(np.ascontiguousarray(out, np.float16), do)
    dq = np.zeros(shape, np.float32)
    dk, dv = np.empty(shape, np.float16), np.empty(shape, np.float16)
    kernel = gradients(batch, heads, context, dim, True, num_stages=num_stages)
    kernel(q, k, v, do, lse.astype(np.float32), delta, dq, dk, dv)
    return (dq, dk, dv), tuple(expected)


if __name__ == "__main__":
    for name, result, expected in zip(
        ("dQ", "dK", "dV"), *example(np.random.default_rng(0)), strict=True
    ):
        print(f"largest error, {name}:", np.abs(result - expected).max())
