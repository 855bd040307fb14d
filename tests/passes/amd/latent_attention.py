"""Attention whose keys and values are one latent tile, which two GEMMs read along both dimensions.

A query has `dim` elements that are compared with the latent tile, and `rope` that are compared with
keys of their own; the result is a weighted sum of rows of the latent tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import T
from tilewright.language.T.prim_func import PrimFunc

SCALE = 0.125
LOG2_E = 1.4426950408889634


def latent_attention(
    heads: int,
    keys: int,
    dim: int,
    *,
    rope: int = 32,
    rows: int = 32,
    block: int = 64,
    threads: int = 128,
    dtype: str = "float16",
    weights_in: str = "shared",
) -> PrimFunc:
    """Blocks of `rows` heads and `block` keys.

    The weights of the second GEMM are in shared memory, in registers, or copied from one to the
    other (``shared``, ``registers``, ``both``).
    """
    factor = SCALE * LOG2_E

    @T.prim_func
    def kernel(
        Q: T.Tensor((heads, dim), dtype),
        QR: T.Tensor((heads, rope), dtype),
        KV: T.Tensor((keys, dim), dtype),
        KR: T.Tensor((keys, rope), dtype),
        Out: T.Tensor((heads, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(heads, rows), threads=threads) as bx:
            Qs = T.alloc_shared((rows, dim), dtype)
            QRs = T.alloc_shared((rows, rope), dtype)
            KVs = T.alloc_shared((block, dim), dtype)
            KRs = T.alloc_shared((block, rope), dtype)
            Ps = T.alloc_shared((rows, block), dtype)
            Os = T.alloc_shared((rows, dim), dtype)
            scores = T.alloc_fragment((rows, block), "float32")
            weights = T.alloc_fragment((rows, block), dtype)
            result = T.alloc_fragment((rows, dim), "float32")
            largest = T.alloc_fragment((rows,), "float32")
            before = T.alloc_fragment((rows,), "float32")
            shrink = T.alloc_fragment((rows,), "float32")
            added = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(Q[bx * rows, 0], Qs)
            T.copy(QR[bx * rows, 0], QRs)
            T.clear(result)
            T.clear(total)
            T.fill(largest, -1e30)
            for n in T.Pipelined(T.ceildiv(keys, block), num_stages=2):
                T.copy(KV[n * block, 0], KVs)
                T.copy(KR[n * block, 0], KRs)
                T.gemm(Qs, KVs, scores, transpose_B=True, clear_accum=True)
                T.gemm(QRs, KRs, scores, transpose_B=True)
                for i, j in T.Parallel(rows, block):
                    scores[i, j] = T.if_then_else(
                        n * block + j < keys, scores[i, j] * factor, -1e30
                    )
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(rows):
                    shrink[i] = T.exp2(before[i] - largest[i])
                for i, j in T.Parallel(rows, block):
                    scores[i, j] = T.exp2(scores[i, j] - largest[i])
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * shrink[i] + added[i]
                for i, j in T.Parallel(rows, dim):
                    result[i, j] = result[i, j] * shrink[i]
                if weights_in != "registers":
                    T.copy(scores, Ps)
                if weights_in == "shared":
                    T.gemm(Ps, KVs, result)
                else:
                    T.copy(scores if weights_in == "registers" else Ps, weights)
                    T.gemm(weights, KVs, result)
            for i, j in T.Parallel(rows, dim):
                result[i, j] = result[i, j] / total[i]
            T.copy(result, Os)
            T.copy(Os, Out[bx * rows, 0])

    return kernel


def reference(q: Any, q_rope: Any, latent: Any, k_rope: Any) -> Any:
    """The same in float64."""
    q, q_rope, latent, k_rope = (each.astype(np.float64) for each in (q, q_rope, latent, k_rope))
    scores = (q @ latent.T + q_rope @ k_rope.T) * SCALE
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ latent
