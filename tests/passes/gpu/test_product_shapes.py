"""Products whose instructions begin inside of a row of shared memory: swizzles fit their pieces."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, product, whole
from tilewright import T
from tilewright.dialects.nv import WgmmaOp


def product_of(m, n, depth, threads, turned):
    turns = {"transpose_A": "A" in turned, "transpose_B": "B" in turned}
    a_shape = (depth, m) if "A" in turned else (m, depth)
    b_shape = (n, depth) if "B" in turned else (depth, n)

    @tw.jit
    def product(A, B):
        A: T.Tensor(a_shape, "float16")
        B: T.Tensor(b_shape, "float16")
        C = T.empty((m, n), "float32")
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared(a_shape, "float16")
            b = T.alloc_shared(b_shape, "float16")
            c = T.alloc_fragment((m, n), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True, **turns)
            T.copy(c, C)
        return C

    return product


@pytest.mark.parametrize(
    ("m", "n", "threads", "turned"),
    [
        (64, 64, 256, ""),  # two groups share a row of 64 columns
        (64, 48, 256, ""),  # 24 columns for a group: pieces of 8, which no swizzle has
        (64, 192, 256, ""),  # 96 columns begin in the middle of 128 bytes
        (64, 320, 128, ""),  # two instructions of 160 columns
        (128, 64, 128, "A"),
        (192, 96, 384, "A"),
        (64, 64, 256, "B"),
        (64, 320, 128, "B"),
    ],
)
def test_every_instruction_begins_with_a_piece(m: int, n: int, threads: int, turned: str) -> None:
    depth = 32
    a, b = whole(1, m, depth), whole(2, depth, n)
    given = (a.T.copy() if "A" in turned else a, b.T.copy() if "B" in turned else b)
    kernel = product_of(m, n, depth, threads, turned)
    check(kernel, *given, expected=product(a, b), cubin=False)
    module, _ = lowered(kernel, *given)
    assert any(isinstance(op, WgmmaOp) for op in module.walk()) == (n != 48)
