"""`examples/tile/batched_gemm.py`: its matrices share B, which saves page reads and changes no bit."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tile_examples import load

READS = {("off", "off"): 216, ("on", "off"): 144, ("off", "on"): 162, ("on", "on"): 78}
"""Page reads by multicast and residency: 3 matrices of 2 x 3 blocks on 2 x 2 cores."""


def run(multicast: str, residency: str) -> tuple[np.ndarray, int, int]:
    configs = {"tt.core_grid": "2x2", "tt.multicast": multicast, "tt.residency": residency}
    function = load("batched_gemm").batched_gemm.function
    kernel = tw.jit(function, target="tenstorrent:sim", pass_configs=configs)
    rng = np.random.default_rng(5)
    a = rng.standard_normal((3, 100, 96)).astype(np.float16)
    b = rng.standard_normal((96, 130)).astype(np.float16)
    found = np.asarray(kernel(a, b))
    np.testing.assert_allclose(found, a.astype(np.float64) @ b.astype(np.float64), atol=0.02)
    compiled = kernel.compile(a, b).tenstorrent
    counted = compiled.result.traffic.dram_page_reads
    return found, counted, compiled.artefact.plan.traffic.dram_page_reads


@pytest.mark.parametrize(("multicast", "residency"), READS)
def test_page_reads(multicast: str, residency: str) -> None:
    found, counted, planned = run(multicast, residency)
    assert (counted, planned) == (READS[multicast, residency],) * 2
    np.testing.assert_array_equal(found, run("off", "off")[0])
