"""How often the analysis has no answer, on the corpus and on every launch of the examples.

The list is what ``python benchmarks/addresses.py --unknown`` prints.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "addresses.py"
MOST_ACCESSES = 0.05
MOST_CLAIMS = 0.05


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    # Not imported by name: an installed package is called `benchmarks`, too.
    spec = importlib.util.spec_from_file_location("address_benchmark", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_few_accesses_and_claims_stay_unknown(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    lines: list[str] = []
    accesses, claims = benchmark.survey(lines.append, step)
    assert accesses.asked >= 190 // step
    assert accesses.rate <= MOST_ACCESSES, "\n".join(lines)
    assert claims.asked >= 200 // step
    assert claims.rate <= MOST_CLAIMS, "\n".join(lines)
    # Each is listed with its reason, and the last two lines sum up.
    listed = accesses.weak + accesses.not_to_be_known + claims.weak + claims.not_to_be_known
    assert len(lines) == listed + 2
    assert all(line.count(": ") >= 2 for line in lines[:-2])


def test_what_cannot_be_classified_counts_unless_it_lies_in_memory(benchmark: ModuleType) -> None:
    tally = benchmark.Tally()
    weak = benchmark.Unknown("k", "%x (load)", "pattern, unsupported", False)
    hidden = benchmark.Unknown("k", "%y (load)", "pattern, data_dependent", True)
    tally.add(5, [weak, hidden])
    assert tally.rate == 1 / 4
    assert str(tally).startswith("1 of 4 unknown, 25.0%; 1 more")


@pytest.mark.parametrize("shape", ["straight", "loops", "choices"])
def test_generated_kernels_have_the_size_they_are_made_for(
    benchmark: ModuleType, shape: str
) -> None:
    module = benchmark.module_of(benchmark.SHAPES[shape](1000), shape)
    ops = sum(1 for _ in benchmark.walk(module))
    assert 900 <= ops <= 1400
    report = benchmark.analyze(module)
    assert len(report.accesses) == 1000 // (8 if shape == "choices" else 5)
