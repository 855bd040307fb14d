"""Random `T` kernels: their HIP text, run on the host, gives what plain NumPy gives.

Each seed takes one of the chips in turn, and with it waves of 64 or 32 lanes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import differences, expected, traced
from tests.targets.hip.host_run import run_on_host
from tests.targets.hip.support import needs_clang
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.layouts.hardware.amd_chips import CHIPS, Chip
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.numpy.api import Buffer

pytestmark = needs_clang

WHOLE = 1_302
"""Every third seed: 405 kernels run, 29 have too few threads for a wave of 64 and are refused."""


def chip_of(seed: int) -> Chip:
    return list(CHIPS.values())[seed % len(CHIPS)]


def problems(
    seed: int, directory: Path, monkeypatch: pytest.MonkeyPatch, family: str = "plain"
) -> list[str] | None:
    """The differences of the kernel of a seed; None if the target refuses it."""
    case, chip = generate(seed, family), chip_of(seed)
    module, engine = traced(case).module.clone(), DiagnosticEngine()
    AmdPipeline(target=f"hip:{chip.name}").run(module, engine)
    if engine.error_count:
        return None
    arrays = case.arrays()
    arguments = [Buffer(name, array) for name, array in arrays.items()]
    run_on_host(module, arguments, chip, directory, monkeypatch, seed)
    return differences(arrays, expected(case), bitwise=False)


def test_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(18, tmp_path, monkeypatch) == [], generate(18).source


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, WHOLE, 3))
def test_all(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not problems(seed, tmp_path, monkeypatch), generate(seed).source


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, WHOLE, 12))
def test_wide_kernels(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not problems(seed, tmp_path, monkeypatch, "wide"), generate(seed, "wide").source
