"""Random `T` kernels: their CUDA text, run on the host, gives what plain NumPy says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import differences, expected, traced
from tests.targets.cuda.host_run import NotOnHost, run_on_host
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None, reason="the text of kernels is not run: there is no g++ here"
)

AMPERE = GpuPipeline(target="cuda:sm_80", wgmma=False)
WHOLE = 1_200


def problems(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str] | None:
    """What is wrong with the kernel of a seed; None if it is refused, or is none for the host."""
    case = generate(seed)
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


SAMPLE = (3, 203, 403, 18, 48)
"""The second one wrote one element in two statements, by two threads, with no barrier between."""


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All of these can be run.
    assert problems(seed, tmp_path, monkeypatch) == [], generate(seed).source


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, WHOLE, 3))
def test_all(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not problems(seed, tmp_path, monkeypatch), generate(seed).source
