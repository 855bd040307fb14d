"""Random kernels of the Tenstorrent subset agree with the NumPy target."""

from __future__ import annotations

import pytest

from tests.fuzz.tensix.generator import generate
from tests.fuzz.tensix.running import differences
from tilewright.targets.tenstorrent.artefact import Executor

QUICK = 6
SLOW = 1000


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_random_kernel(seed: int) -> None:
    case = generate(seed)
    assert not differences(case), case.source


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SLOW))
def test_a_random_kernel_in_both_executors(seed: int) -> None:
    case = generate(seed)
    assert not differences(case, (Executor.IR, Executor.SOURCE)), case.source


def test_kernels_are_reproducible() -> None:
    assert generate(3).source == generate(3).source
