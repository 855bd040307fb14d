"""Kernels on 1, 4 and 64 cores at sizes 1, prime, one past a tile and whole, against NumPy.

The default run takes one size and grid of each kernel, in turn; `-m slow` all of them under 20
schedules, and every third through the emitted sources as well. A sanitizer that reports is an
error, as is a result that depends on the schedule and traffic that the plan does not predict.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sampling import every
from tests.targets.tenstorrent.matrix import (
    GRIDS,
    KERNELS,
    MANY,
    SIZES,
    Traced,
    differences,
    errors,
)
from tilewright.targets.tenstorrent.artefact import Artefact, Executor, Run
from tilewright.targets.tenstorrent.execution import Numerics, RunOptions

SCHEDULES = 20
CASES = [(name, size, cores) for name in KERNELS for size in SIZES for cores in GRIDS]
SIXTEEN_BITS = ("gemm", "gemm and relu", "softmax", "transposed A and B", "attention")


def check(traced: Traced, artefact: Artefact, seeds: range, *, source: bool) -> None:
    expected = traced.expected()
    runs = [artefact.run(traced.arrays(), RunOptions(seed=seed)) for seed in seeds]
    assert all(_bytes(run) == _bytes(runs[0]) for run in runs), "it depends on the schedule"
    if source:  # which sums in another order than NumPy does
        runs.append(artefact.run(traced.arrays(), RunOptions(seed=1), Executor.SOURCE))
    planned = artefact.plan.traffic
    for run in (runs[0], runs[-1]):
        assert differences(run.arrays, expected) == []
        counted = run.result.traffic.dram_page_reads, run.result.traffic.dram_page_writes
        assert counted == (planned.dram_page_reads, planned.dram_page_writes)


def _bytes(run: Run) -> dict[str, Any]:
    return {name: array.tobytes() for name, array in run.arrays.items()}


@pytest.mark.parametrize(("kernel", "size", "cores"), every(13, CASES))
def test_matrix(kernel: str, size: str, cores: str, request: pytest.FixtureRequest) -> None:
    traced = KERNELS[kernel](SIZES[size])
    is_slow = request.node.get_closest_marker("slow") is not None
    source = CASES.index((kernel, size, cores)) % 3 == 1 if is_slow else kernel == "softmax"
    seeds = range(SCHEDULES if is_slow else 2)
    check(traced, traced.compiled(cores), seeds, source=source)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_sixty_four_busy_cores(kernel: str) -> None:
    traced = KERNELS[kernel](MANY)
    check(traced, traced.compiled("8x8"), range(3), source=True)


@pytest.mark.parametrize("policy", every(2, ("rect", "strided")))
@pytest.mark.parametrize("kernel", every(9, KERNELS))
def test_schedule_policies(kernel: str, policy: str) -> None:
    traced = KERNELS[kernel](SIZES["past"])
    artefact = traced.compiled("2x2", **{"tt.schedule.policy": policy})
    check(traced, artefact, range(2), source=False)


@pytest.mark.parametrize("kernel", every(3, SIXTEEN_BITS))
def test_numerics_of_the_device(kernel: str) -> None:
    """With truncated operands and DST in 16 bits, results stay within the bounds of bf16."""
    traced = KERNELS[kernel](SIZES["prime"])
    run = traced.compiled("2x2").run(traced.arrays(), RunOptions(numerics=Numerics.DEVICE))
    expected = traced.expected()
    for name, array in run.arrays.items():
        norm, _, correlation = errors(array, expected[name])
        assert norm <= 2**-6
        assert correlation >= 0.999
