"""Examples compiled for AMD GPUs compute, lane by lane, what NumPy says in float64.

Sizes are those of the examples: odd ones, no multiples of their tiles. Schedules are seeds: other
orders of waves, and of what is in flight. LDS is poisoned before every block.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.examples.tile_examples import NAMES, as_tuple, fresh, load
from tests.targets.numpy.simt.simt_support import example_results
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.numpy.simt import SimtOptions

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
SCHEDULES = 10
TOLERANCE = 2e-2
SMALLER: dict[str, dict[str, int]] = {}
"""What an example is given where its defaults need more LDS than chips have."""


@cache
def expected(name: str) -> tuple[np.ndarray, ...]:
    _, references = fresh(load(name)).example(np.random.default_rng(0), **SMALLER.get(name, {}))
    return tuple(np.asarray(each).astype(np.float64) for each in as_tuple(references))


def check(name: str, chip: str, seed: int) -> None:
    pipeline = AmdPipeline(target=f"hip:{chip}")
    settings = SMALLER.get(name, {})
    found = example_results(load(name), pipeline, SimtOptions(seed=seed), **settings)
    for got, wanted in zip(found, expected(name), strict=True):
        scale = max(1.0, np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
        np.testing.assert_allclose(
            got.astype(np.float64), wanted, rtol=TOLERANCE, atol=TOLERANCE * scale
        )


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("attention", "gfx942"),
        pytest.param("attention_backward", "gfx1100", marks=pytest.mark.slow),
        ("gemm", "gfx1201"),
        ("gemv", "gfx90a"),
        ("online_softmax", "gfx1100"),
        ("elementwise_add", "gfx950"),
    ],
)
def test_sample(name: str, chip: str) -> None:
    check(name, chip, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SCHEDULES))
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", NAMES)
def test_every_chip_and_schedule(name: str, chip: str, seed: int) -> None:
    check(name, chip, seed)
