"""Every example computes at the thread level what it computes at the tile level.

Sums are added up in another order there (lanes, warps, instructions), so floats agree as far as
their type goes; what adds nothing up agrees bit by bit.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.examples.tile_examples import NAMES, load, results
from tests.sampling import every
from tests.targets.numpy.simt.simt_support import example_results
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import SimtOptions

BITWISE = ("cast_to_fp8", "elementwise_add", "top_k")
TOLERANCE = 2e-3
PATHS = {
    "Hopper": GpuPipeline(),
    "without roles": GpuPipeline(warp_specialize=False),
    "Ampere": GpuPipeline(target="cuda:sm_80", wgmma=False),
    "predicated epilogue": GpuPipeline(target="cuda:sm_80", wgmma=False, predicate_epilogue=True),
    "in turns": GpuPipeline(target="cuda:sm_80", wgmma=False, reuse_within_iteration=True),
}
"""TMA, wgmma and roles; cp.async and wgmma; cp.async and mma.sync, also with one loop for all, and
with buffers that share bytes wherever they can."""
SMALLER: dict[tuple[str, str], dict[str, int]] = {
    ("gemm", path): {"num_stages": 3} for path, each in PATHS.items() if each.target == "cuda:sm_80"
}
"""What an example is given where its defaults need more shared memory than there is."""


@cache
def at_tile_level(name: str) -> list[np.ndarray]:
    return results(load(name))


def agree(name: str, found: list[np.ndarray]) -> None:
    for one, other in zip(found, at_tile_level(name), strict=True):
        if name in BITWISE:
            np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
        else:
            wide = one.astype(np.float64), other.astype(np.float64)
            np.testing.assert_allclose(*wide, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", every(3, NAMES))
def test_on_hopper(name: str) -> None:
    agree(name, example_results(load(name)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", NAMES)
def test_every_path_and_order(name: str, path: str, seed: int) -> None:
    settings = SMALLER.get((name, path), {})
    agree(name, example_results(load(name), PATHS[path], SimtOptions(seed=seed), **settings))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("dynamic_shapes", "Ampere"),
        ("dynamic_shapes", "predicated epilogue"),
        ("attention", "predicated epilogue"),
        ("persistent_gemm", "in turns"),
        ("rms_norm", "without roles"),
    ],
)
def test_paths(name: str, path: str) -> None:
    agree(name, example_results(load(name), PATHS[path]))


def test_orders_of_events_change_no_bit() -> None:
    first = example_results(load("gemm_relu"), options=SimtOptions(seed=0))
    again = example_results(load("gemm_relu"), options=SimtOptions(seed=5))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))


def test_warps_as_tasks_of_their_own_change_no_bit() -> None:
    together = example_results(load("dynamic_shapes"))
    apart = example_results(load("dynamic_shapes"), options=SimtOptions(unit=32, seed=2))
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
