"""Examples at the thread level of AMD GPUs compute what their references do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.tile_examples import as_tuple, fresh, load
from tests.passes.amd.amd_support import amd_pipeline
from tests.targets.numpy.simt.simt_support import example_results


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("elementwise_add", "gfx942"),
        ("rms_norm", "gfx942"),
        ("rms_norm", "gfx1100"),
        ("gemm_relu", "gfx942"),
        ("gemm_relu", "gfx1201"),
    ],
)
def test_an_example_runs(name: str, arch: str) -> None:
    example = load(name)
    found = example_results(example, amd_pipeline(arch))
    _, expected = fresh(example).example(np.random.default_rng(0))
    for got, want in zip(found, as_tuple(expected), strict=True):
        wide = np.asarray(want, np.float64)
        assert np.allclose(np.asarray(got, np.float64), wide, rtol=1e-2, atol=1e-2)
