"""Configurations are compiled beside each other, measured on the GPU, and the best is right."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devices import torch_on_a_device

torch = torch_on_a_device()

import tilewright as tw  # noqa: E402
from tilewright import T  # noqa: E402

pytestmark = pytest.mark.device

SIZE = 1024
TOO_LARGE = 1024


def product(block: int, stages: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((SIZE, SIZE), "float16"),
        B: T.Tensor((SIZE, SIZE), "float16"),
        C: T.Tensor((SIZE, SIZE), "float16"),
    ):
        with T.Kernel(T.ceildiv(SIZE, block), T.ceildiv(SIZE, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, 64), "float16")
            b = T.alloc_shared((64, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(SIZE, 64), num_stages=stages):
                T.copy(A[by * block, k * 64], a)
                T.copy(B[k * 64, bx * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block, bx * block])

    return main


@pytest.mark.parametrize("workers", [1, 4])
def test_the_best_configuration_is_right(workers, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    configs = [{"block": block, "stages": stages} for block in (32, 64, 128) for stages in (1, 3)]
    configs.append({"block": TOO_LARGE, "stages": 3})
    tuner = tw.AutoTuner.from_kernel(product, configs).set_compile_args(out_idx=-1, target="cuda")
    tuner.set_profile_args(ref_prog=lambda a, b: a @ b, num_workers=workers)
    result = tuner.run(warmup=3, rep=20)
    *fine, large = result.trials
    assert large.latency is None and large.remark
    assert result.latency == min(trial.latency for trial in fine)
    assert result.ref_latency > 0
    a, b = (torch.randn(SIZE, SIZE, dtype=torch.float16, device="cuda") for _ in range(2))
    torch.testing.assert_close(result.kernel(a, b), a @ b, rtol=2e-2, atol=2e-2 * SIZE**0.5)
