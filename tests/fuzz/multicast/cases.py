"""The case of a seed: a batched GEMM, and how its blocks are distributed and moved."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright import T

ORDERS = ("row_major", "column_major", "block_linear:2x2", "block_linear:1x3", "z_order", "hilbert")
TARGETS = ("sim", "sim", "blackhole")


@dataclass(frozen=True)
class Case:
    """One program."""

    seed: int
    grid: tuple[int, int]
    """Rows and columns of output blocks."""
    batches: int
    block: tuple[int, int, int]
    """Rows, columns and K step of a block, in tiles."""
    steps: int
    """K steps."""
    ragged: int
    """Elements that the matrices are smaller than whole blocks."""
    transposed: bool
    stages: int
    cores: str
    policy: str
    order: str
    target: str
    multicast: str
    residency: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and depth of the matrices."""
        (rows, columns), (high, wide, deep) = self.grid, self.block
        return (
            rows * high * 32 - self.ragged,
            columns * wide * 32 - self.ragged,
            self.steps * deep * 32 - self.ragged,
        )

    @property
    def options(self) -> Mapping[str, str]:
        return {
            "target": f"tenstorrent:{self.target}",
            "cores": self.cores,
            "policy": self.policy,
            "order": self.order,
            "multicast": self.multicast,
            "residency": self.residency,
        }

    def arrays(self) -> tuple[Any, Any, Any]:
        """A, B and A @ B; all sums are exact in bfloat16."""
        m, n, k = self.shape
        draw = np.random.default_rng(self.seed)
        a = draw.integers(-1, 2, (self.batches, m, k)).astype(ml_dtypes.bfloat16)
        b = draw.integers(-1, 2, (self.batches, k, n)).astype(ml_dtypes.bfloat16)
        result = a.astype(np.float32) @ b.astype(np.float32)
        stored = np.ascontiguousarray(b.swapaxes(1, 2)) if self.transposed else b
        return a, stored, result.astype(ml_dtypes.bfloat16)

    def module(self) -> ModuleOp:
        m, n, k = self.shape
        bm, bn, bk = (32 * each for each in self.block)
        batches, stages, transposed = self.batches, self.stages, self.transposed
        b_shape = (batches, n, k) if transposed else (batches, k, n)
        b_block = (bn, bk) if transposed else (bk, bn)

        @T.prim_func
        def gemm(
            A: T.Tensor((batches, m, k), T.bfloat16),
            B: T.Tensor(b_shape, T.bfloat16),
            C: T.Tensor((batches, m, n), T.bfloat16),
        ):
            with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batches, threads=128) as (bx, by, bz):
                a = T.alloc_shared((bm, bk), T.bfloat16)
                b = T.alloc_shared(b_block, T.bfloat16)
                c = T.alloc_fragment((bm, bn), T.float32)
                T.clear(c)
                for step in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                    T.copy(A[bz, by * bm, step * bk], a)
                    if transposed:
                        T.copy(B[bz, bx * bn, step * bk], b)
                    else:
                        T.copy(B[bz, step * bk, bx * bn], b)
                    T.gemm(a, b, c, transpose_B=transposed)
                T.copy(c, C[bz, by * bm, bx * bn])

        return gemm.module


def case_of(seed: int) -> Case:
    """The case of a seed, and of nothing else."""
    draw = random.Random(seed)
    cores = (draw.randint(1, 4), draw.randint(1, 4))
    if draw.random() < 0.5:
        # Rectangles that are whole or almost: ghost steps stay below their limit.
        grid = tuple(max(1, each * draw.randint(1, 2) - draw.randint(0, 1)) for each in cores[::-1])
    else:
        grid = (draw.randint(1, 7), draw.randint(1, 7))
    multicast = draw.choice(("on", "on", "auto"))
    policies = ("rect", "rect", "rect", "contiguous") + (
        ("strided",) if multicast == "auto" else ()
    )
    return Case(
        seed,
        (grid[0], grid[1]),
        draw.choice((1, 1, 1, 2, 3)),
        draw.choice(((1, 1, 1), (1, 1, 1), (2, 1, 1), (1, 2, 2), (2, 2, 1), (1, 3, 1))),
        draw.randint(1, 3),
        draw.choice((0, 0, 1, 31)),
        draw.random() < 0.3,
        draw.randint(0, 3),
        f"{cores[0]}x{cores[1]}",
        draw.choice(policies),
        draw.choice(ORDERS),
        draw.choice(TARGETS),
        multicast,
        draw.choice(("off", "auto", "on")),
    )
