"""Random `T` kernels give at the thread level what plain NumPy says.

The kernels are those of the tile level's tests. Not all can be compiled for a GPU (a product of
eight rows, a fragment indexed by a number that only the run knows): those are refused with an
error, which counts as an answer, and a thousand others have to run. Each goes through one of the
paths: with roles, without, and for a GPU without copy engine; under an order of events by its seed.
"""

from __future__ import annotations

import pytest

from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import differences, expected, traced
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

PATHS = (
    GpuPipeline(),
    GpuPipeline(warp_specialize=False),
    GpuPipeline(target="cuda:sm_80", wgmma=False),
)
FAULT_OF_OURS = "TW9"
"""How codes begin that say that the compiler broke its own promise."""
WHOLE, BATCH, WANTED = 3_600, 60, 1_000
FAULTS = (
    774,
    929,
    1442,
    1464,
    1743,
    1760,
    1952,
    2673,
    3060,
    5799,
    5801,
    5928,
    50002272,
    50009912,
    60000054,
)
"""A tensor read after it was written, a loop that is passed by, units of two bytes, elements that all
threads read, results of reductions held elsewhere, rows from the back, groups that are left over, a
grid that no caller has, buffers that only the producer accesses.
"""
SAMPLE = (*range(2, WHOLE, 480), *FAULTS)
STORES = 600
"""Seeds of the family whose loops write several memories."""
HASHES = 600
"""Seeds of the family whose integers overflow."""
HASHES_FAULTS = (88801415,)
"""A magnitude that was left out, of a sum of natural numbers that wraps around."""


def problems(seed: int, family: str = "plain") -> list[str] | None:
    """What is wrong with the kernel of a seed; None if it is refused."""
    case = generate(seed, family)
    module = traced(case).module.clone()
    engine = DiagnosticEngine()
    PATHS[seed % len(PATHS)].run(module, engine)
    errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
    if errors:
        own = [each.message for each in errors if (each.code or "").startswith(FAULT_OF_OURS)]
        return own or None
    arrays = case.arrays()
    arguments = [Buffer(name, array) for name, array in arrays.items()]
    compile_simt(module).launch(arguments, SimtOptions(seed=seed % 7))
    return differences(arrays, expected(case), bitwise=False)


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int) -> None:
    assert not problems(seed), generate(seed).source


@pytest.mark.parametrize("seed", range(1, STORES, 100))
def test_sample_of_several_stores(seed: int) -> None:
    assert not problems(seed, "stores"), generate(seed, "stores").source


@pytest.mark.parametrize("seed", (*range(2, HASHES, 100), *HASHES_FAULTS))
def test_sample_of_overflowing_integers(seed: int) -> None:
    assert not problems(seed, "hashes"), generate(seed, "hashes").source


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "family"),
    [
        *((first, "plain") for first in range(0, WHOLE, BATCH)),
        *((first, "stores") for first in range(0, STORES, BATCH)),
        *((first, "hashes") for first in range(0, HASHES, BATCH)),
    ],
)
def test_all(first: int, family: str) -> None:
    found: dict[int, object] = {}
    for seed in range(first, first + BATCH):
        try:
            wrong = problems(seed, family)
        except Exception as error:  # a seed that fails must not hide the others of its batch
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            found[seed] = wrong
    assert found == {}


@pytest.mark.slow
def test_a_thousand_run() -> None:
    """How many of the seeds are compiled, by a tenth of them."""
    tenth = [problems(seed) for seed in range(0, WHOLE, 10)]
    assert 10 * sum(each is not None for each in tenth) >= WANTED
