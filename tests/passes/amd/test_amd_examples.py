"""Examples at the thread level of AMD GPUs compute what their references do, at odd sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.tile_examples import NAMES, as_tuple, fresh, load
from tests.passes.amd.amd_support import TARGETS, amd_pipeline
from tests.targets.numpy.simt.simt_support import example_results
from tilewright.targets.numpy.simt import SimtOptions

SAMPLE = {
    ("elementwise_add", "gfx942"),
    ("rms_norm", "gfx1100"),
    ("gemm_relu", "gfx942"),
    ("gemm_relu", "gfx1201"),
}
"""Those of the default suite; the others take minutes."""


def check(name: str, arch: str, schedules: int) -> None:
    example = load(name)
    found = example_results(example, amd_pipeline(arch), SimtOptions(schedules=schedules))
    _, expected = fresh(example).example(np.random.default_rng(0))
    for got, want in zip(found, as_tuple(expected), strict=True):
        wide = np.asarray(want, np.float64)
        assert np.allclose(np.asarray(got, np.float64), wide, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(("name", "arch"), sorted(SAMPLE))
def test_an_example_runs(name: str, arch: str) -> None:
    check(name, arch, schedules=2)


@pytest.mark.slow
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_under_ten_schedules(name: str, arch: str) -> None:
    check(name, arch, schedules=10)
