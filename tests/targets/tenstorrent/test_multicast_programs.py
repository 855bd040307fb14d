"""Programs with multicast in both executors, on all chips, and from their host program.

The default run takes a few of them; `-m slow` all kernels of the matrix, and 20 schedules of the
example of the design and of ragged grids on every chip.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.sampling import every
from tests.targets.tenstorrent.matrix import KERNELS, MANY, SIZES, Traced, differences
from tilewright.dialects.tensix.chips import simulated
from tilewright.targets.tenstorrent.artefact import Artefact, Executor, artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions, Traffic
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable
from tilewright.targets.tenstorrent.source.host import run_host

SCHEDULES = 20
ON = {"tt.multicast": "on"}


def is_as_planned(counted: Traffic, artefact: Artefact) -> bool:
    plan = artefact.plan.traffic
    pages = counted.dram_page_reads, counted.dram_page_writes, counted.multicast_pages
    return pages == (plan.dram_page_reads, plan.dram_page_writes, plan.multicast_pages)


def check(traced: Traced, cores: str, seeds: range, *, source: bool) -> None:
    """The bits of the program without multicast, and the traffic of the plan."""
    alone = traced.compiled(cores, **{"tt.schedule.policy": "rect"}).run(traced.arrays())
    artefact = traced.compiled(cores, **ON)
    for seed in seeds:
        run = artefact.run(traced.arrays(), RunOptions(seed=seed))
        assert is_as_planned(run.result.traffic, artefact)
        for name, array in run.arrays.items():
            assert array.tobytes() == alone.arrays[name].tobytes()
    if source:
        run = artefact.run(traced.arrays(), RunOptions(seed=5), Executor.SOURCE)
        assert is_as_planned(run.result.traffic, artefact)
        assert differences(run.arrays, traced.expected()) == []


CASES = [(kernel, size, cores) for kernel in KERNELS for size in SIZES for cores in ("2x2", "3x2")]


@pytest.mark.parametrize(("kernel", "size", "cores"), every(29, CASES))
def test_matrix(kernel: str, size: str, cores: str, request: pytest.FixtureRequest) -> None:
    is_slow = request.node.get_closest_marker("slow") is not None
    check(KERNELS[kernel](SIZES[size]), cores, range(5 if is_slow else 2), source=is_slow)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_sixty_four_cores(kernel: str) -> None:
    check(KERNELS[kernel](MANY), "8x8", range(3), source=True)


# -- schedules -------------------------------------------------------------------------------------


def integers(seed: int, *shape: int) -> Any:
    """Elements whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(ml_dtypes.bfloat16)


GRIDS = [(9, 3, 2, "2x4"), (7, 5, 2, "4x4"), (9, 3, 2, "8x7"), (5, 11, 1, "3x3"), (8, 8, 8, "8x7")]


@pytest.mark.parametrize("chip", ["sim", "wormhole", "blackhole"])
@pytest.mark.parametrize(("rows", "columns", "kt", "cores"), every(5, GRIDS))
def test_schedules(
    rows: int, columns: int, kt: int, cores: str, chip: str, request: pytest.FixtureRequest
) -> None:
    """No deadlock and no other result under any schedule."""
    is_slow = request.node.get_closest_marker("slow") is not None
    m, n, k = 32 * rows, 32 * columns, 32 * kt
    target = f"tenstorrent:{chip}"
    module, _ = compiled(gemm(m, n, k), multicast="on", cores=cores, target=target)
    artefact = artefact_of(module)
    a, b = integers(m, m, k), integers(n, k, n)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    for seed in range(SCHEDULES if is_slow else 2):
        run = artefact.run({"A": a, "B": b}, RunOptions(seed=seed))
        assert run.arrays["C"].tobytes() == expected.tobytes()
        assert is_as_planned(run.result.traffic, artefact)


# -- sources ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_host_program_creates_groups(tmp_path: Path) -> None:
    """main.cpp: kernels on their cores, semaphores, NoC coordinates; ghost steps in a row."""
    module, plan = compiled(gemm(96, 64, 64), multicast="on", cores="2x2")
    assert plan.multicast is not None
    assert any(any(each.ghosts) for each in plan.cores.assignments)
    artefact = artefact_of(module)
    artefact.write(tmp_path)
    a, b = integers(1, 96, 64), integers(2, 64, 64)
    (tmp_path / "A.bin").write_bytes(a.tobytes())
    (tmp_path / "B.bin").write_bytes(b.tobytes())
    try:
        found = run_host(
            tmp_path / "main.cpp",
            simulated(2, 2),
            kernel_roots=(tmp_path,),
            arguments=(str(tmp_path),),
            options=RunOptions(seed=3),
        )
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the host program was NOT run: {reason}")
    assert (found.status, found.output) == (0, "")
    (result,) = found.results
    assert result.findings == ()
    assert is_as_planned(result.traffic, artefact)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert (tmp_path / "C.bin").read_bytes() == expected.tobytes()
