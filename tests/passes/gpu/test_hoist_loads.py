"""Loads that `hoist-loads` moves: values, and what is in flight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.dialects.nv import WgmmaOp, WgmmaWaitOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.traversal import walk

TILE = 64


def gemm_by_threads(k: int) -> Any:
    """`A @ B` of one tile, whose operands threads copy, in a loop that is not pipelined."""

    @tw.jit(pass_configs={"tl.disable_tma_lower": True})
    def gemm(A, B, steps):
        A: T.Tensor((TILE, k), "float16")
        B: T.Tensor((k, TILE), "float16")
        steps: T.Tensor((1,), "int32")
        C = T.empty((TILE, TILE), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((TILE, TILE), "float16")
            b = T.alloc_shared((TILE, TILE), "float16")
            c = T.alloc_fragment((TILE, TILE), "float32")
            T.clear(c)
            for step in T.serial(T.min(steps[0], k // TILE)):
                T.copy(A[0, step * TILE], a)
                T.copy(B[step * TILE, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)
        return C

    return gemm


def names_ahead(module: Any) -> list[str]:
    """The arrays of registers that are loaded ahead."""
    names = [op.buffer_name for op in walk(module) if isinstance(op, AllocOp)]
    return [each for each in names if each.endswith("_ahead")]


@pytest.mark.parametrize(("k", "steps"), [(192, 3), (192, 1), (192, 0), (64, 1)])
def test_values_of_a_gemm_whose_operands_are_loaded_ahead(k: int, steps: int) -> None:
    """Whatever the trip count is: the last iteration loads nothing past the end."""
    a, b = whole(k, TILE, k), whole(k + 1, k, TILE)
    count = np.array([steps], np.int32)
    module, _ = lowered(gemm_by_threads(k), a, b, count)
    assert names_ahead(module) == ["A_ahead", "B_ahead"]
    depth = steps * TILE
    expected = a[:, :depth].astype(np.float32) @ b[:depth].astype(np.float32)
    check(gemm_by_threads(k), a, b, count, expected=expected, cubin=False)


def test_loads_of_the_next_iteration_are_before_the_wait_for_mmas() -> None:
    given = whole(1, TILE, 192), whole(2, 192, TILE), np.array([3], np.int32)
    module, _ = lowered(gemm_by_threads(192), *given)
    (loop,) = (
        op
        for op in walk(module)
        if isinstance(op, ForOp) and any(isinstance(each, WgmmaOp) for each in op.body.block.ops)
    )
    kinds = [type(op) for op in loop.body.block.ops]
    (wait,) = (index for index, kind in enumerate(kinds) if kind is WgmmaWaitOp)
    last_mma = len(kinds) - 1 - kinds[::-1].index(WgmmaOp)
    assert kinds[last_mma:wait].count(ForOp) == 2
