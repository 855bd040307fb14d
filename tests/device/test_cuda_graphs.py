"""Kernels that are launched while a CUDA graph is captured: nothing runs then, and each replay does.

`test_launcher.py` has kernels of the installed Triton, `test_torch_op.py` custom ops; here are our
own CUDA of `T` kernels and of raised `tl` kernels, with tensor maps and without. Outputs are NaN
before a capture and before every replay, and inputs are drawn anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw
from tests.devices import torch_on_a_device
from tilewright import T, tl

torch = torch_on_a_device()
pytestmark = pytest.mark.device

M, N, K = 256, 192, 320


@tw.jit
def affine_rows(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    row = tl.program_id(0) * columns
    x = tl.load(x_ptr + row + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + row + offsets, 2 * x + 1, mask=inside)


@tw.jit
def doubled_tiles(src, dst, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    dst.store(at, src.load(at) * 2)


@tw.jit(target="cuda")
def gemm(A, B, C, block: int = 64, step: int = 32):
    m, n, k = T.const("m n k")
    A: T.Tensor((m, k), "float16")
    B: T.Tensor((k, n), "float16")
    C: T.Tensor((m, n), "float32")
    with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):
        a = T.alloc_shared((block, step), "float16")
        b = T.alloc_shared((step, block), "float16")
        c = T.alloc_fragment((block, block), "float32")
        T.clear(c)
        for i in T.Pipelined(T.ceildiv(k, step), num_stages=3):
            T.copy(A[by * block, i * step], a)
            T.copy(B[i * step, bx * block], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * block, bx * block])


def _rows(inputs: list[Any], out: Any) -> None:
    with tw.running(target="cuda"):
        affine_rows[(M,)](inputs[0], out, N, BLOCK=256)


def _tiles(inputs: list[Any], out: Any) -> None:
    maps = [tw.TensorDescriptor.from_tensor(each, [64, 64]) for each in (inputs[0], out)]
    with tw.running(target="cuda"):
        doubled_tiles[(M // 64, N // 64)](*maps, 64, 64)


def _gemm(inputs: list[Any], out: Any) -> None:
    gemm(*inputs, out)


CASES: dict[str, tuple[Callable[[list[Any], Any], None], list[tuple[int, int]], Any, Any]] = {
    "raised rows": (_rows, [(M, N)], "float32", lambda x: 2 * x + 1),
    "raised tiles with tensor maps": (_tiles, [(M, N)], "float32", lambda x: 2 * x),
    "T, a pipelined GEMM": (_gemm, [(M, K), (K, N)], "float16", lambda a, b: a.float() @ b.float()),
}


@pytest.mark.parametrize("case", CASES)
def test_a_launch_is_captured_and_replayed(case: str):
    launch, shapes, dtype, expected = CASES[case]
    inputs = [torch.randn(shape, device="cuda").to(getattr(torch, dtype)) for shape in shapes]
    out = torch.empty((M, N), device="cuda", dtype=torch.float32)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # compiled, and the quick path of later launches
            launch(inputs, out)
    torch.cuda.current_stream().wait_stream(side)
    torch.testing.assert_close(out, expected(*inputs), rtol=1e-3, atol=1e-3)
    out.fill_(math.nan)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(inputs, out)
    torch.cuda.synchronize()
    assert out.isnan().all(), "a capture runs nothing"
    for seed in range(3):
        torch.manual_seed(seed)
        for each in inputs:
            each.copy_(torch.randn(each.shape, device="cuda"))
        out.fill_(math.nan)
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(out, expected(*inputs), rtol=1e-3, atol=1e-3)
