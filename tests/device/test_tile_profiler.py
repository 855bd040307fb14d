"""Made-up inputs lie on the GPU, with torch and without, and kernels that wait for the whole grid."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.cuda.memory import DeviceMemory
from tilewright.runtime.tile.kernel import CompiledTileKernel

pytestmark = pytest.mark.device


def doubled(dtype: str = "float32") -> CompiledTileKernel:
    @T.prim_func
    def main(A: T.Tensor((1 << 20,), dtype), B: T.Tensor((1 << 20,), "float32")):
        with T.Kernel(1 << 10, threads=128) as bx:
            for i in T.Parallel(1 << 10):
                B[bx * 1024 + i] = T.cast(A[bx * 1024 + i], "float32") * 2

    return tw.compile(main, out_idx=-1, target="cuda")


@pytest.mark.parametrize("has_torch", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_the_profiler_times_the_gpu(
    dtype: str, has_torch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    if not has_torch:
        monkeypatch.delitem(sys.modules, "torch")
    kernel = doubled(dtype)
    profiler = kernel.get_profiler()
    (given,) = profiler.inputs()
    assert isinstance(given, torch.Tensor if has_torch else DeviceMemory)
    host = given.float().cpu().numpy() if has_torch else np.asarray(given, np.float32)
    result = kernel(given)
    found = result.cpu().numpy() if has_torch else np.asarray(result)
    np.testing.assert_array_equal(found, host * 2)
    assert profiler.do_bench() < 1.0  # NumPy takes hundreds of milliseconds


def test_blocks_that_wait_for_the_whole_grid() -> None:
    torch = pytest.importorskip("torch")

    @T.prim_func
    def reversed_(
        A: T.Tensor((8192,), "float32"),
        B: T.Tensor((8192,), "float32"),
        C: T.Tensor((8192,), "float32"),
    ):
        with T.Kernel(64, threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] + 1
            T.sync_grid()
            for i in T.Parallel(128):
                C[bx * 128 + i] = B[8191 - bx * 128 - i] * 2

    kernel = tw.compile(reversed_, target="cuda")
    a = torch.randn(8192, device="cuda")
    for _ in range(20):
        b, c = (torch.full_like(a, float("nan")) for _ in range(2))
        kernel(a, b, c)
        assert torch.equal(c, (a + 1).flip(0) * 2)
