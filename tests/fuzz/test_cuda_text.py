"""Random `T` kernels: their CUDA text, run on the host, gives what plain NumPy says."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import differences, expected, traced
from tests.targets.cuda.host_run import NotOnHost, run_on_host
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None, reason="the text of kernels is not run: there is no g++ here"
)

AMPERE = GpuPipeline(target="cuda:sm_80", wgmma=False)
WHOLE = 1_200


def problems(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, family: str = "plain"
) -> list[str] | None:
    """What is wrong with the kernel of a seed; None if it is refused, or is none for the host."""
    case = generate(seed, family)
    module, engine = traced(case).module.clone(), DiagnosticEngine()
    AMPERE.run(module, engine)
    if engine.error_count:
        return None
    arrays = case.arrays()
    try:
        arguments = [Buffer(name, array) for name, array in arrays.items()]
        run_on_host(module, arguments, folder, monkeypatch)
    except NotOnHost:
        return None
    return differences(arrays, expected(case), bitwise=False)


SAMPLE = (203, 18, 48)
"""The first one wrote one element in two statements, by two threads, with no barrier between."""


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All of these can be run.
    assert problems(seed, tmp_path, monkeypatch) == [], generate(seed).source


@pytest.mark.slow
@pytest.mark.parametrize("seed", (*range(0, WHOLE, 3), 403))
def test_all(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not problems(seed, tmp_path, monkeypatch), generate(seed).source


def test_tensor_cores_were_run_as_nothing_behind_other_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first function of the header was looked at; the text of the others ran without them."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(1, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.gemm(a, a, c)
            T.copy(c, C)

    module, engine = main.module.clone(), DiagnosticEngine()
    AMPERE.run(module, engine)
    engine.raise_if_errors()
    arrays = [np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)]
    arguments = [Buffer(name, each) for name, each in zip("AC", arrays, strict=True)]
    with pytest.raises(NotOnHost):
        run_on_host(module, arguments, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, WHOLE, 12))
def test_wide_kernels(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not problems(seed, tmp_path, monkeypatch, "wide"), generate(seed, "wide").source
