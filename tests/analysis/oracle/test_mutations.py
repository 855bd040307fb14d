"""Errors in the analysis are noticed: seeded mutants of its transfer functions, caught by runs.

``python -m pytest -m slow -s tests/analysis/oracle/test_mutations.py`` prints the table.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.analysis.oracle.corpus import FIXTURE_NAMES, fixture_trial
from tests.analysis.oracle.hunt import (
    Fate,
    Probe,
    counted,
    first_counted,
    hunt,
    hunt_all,
    probes,
    table,
)
from tests.analysis.oracle.kernels import random_kernel, seeds_with_rare_constructs
from tests.analysis.oracle.mutants import Mutant, all_mutants, applied, seeded
from tests.analysis.oracle.pointed import pointed_kernels
from tests.analysis.oracle.trials import Trial

SEED = 7
WANTED = 200
CAUGHT = 0.98
WORKERS = 2
KERNELS = 6
LARGE = frozenset(("grouped_gemm", "persistent_matmul", "triangular_walk"))


@cache
def few_probes() -> tuple[Probe, ...]:
    trials = [Trial.of(random_kernel(seed)) for seed in (0, 3, 5, 8)]
    return probes(trials, ("axis", "open"))


@cache
def all_probes() -> tuple[Probe, ...]:
    seeds = seeds_with_rare_constructs(1, range(KERNELS, 400))
    trials = [Trial.of(random_kernel(seed)) for seed in (*range(KERNELS), *seeds)]
    trials += [Trial.of(kernel) for kernel in pointed_kernels()]
    trials += [fixture_trial(name) for name in FIXTURE_NAMES if name not in LARGE]
    return probes(trials)


def named(module: str, function: str, change: str) -> Mutant:
    return next(
        one
        for one in all_mutants()
        if (one.module, one.function, one.change) == (module, function, change)
    )


SAMPLE = (
    ("pid_address.transfer.shape", "_make_range", "+ -> -"),
    ("pid_address.transfer.shape", "_expand_dims", ">= -> >"),
    ("pid_address.transfer.integers", "total", "+ -> -"),
    ("pid_address.transfer.arith", "_minimum", "minimum -> maximum"),
    ("pid_address.transfer.integers", "multiplied", "* -> +"),
    ("pid_address.lanes", "_is_aligned", "'_divisor(address, facts.first) % size == 0' -> True"),
    ("pid_address.runs", "longest_run", "== -> !="),
    ("pid_address.classify", "classify", "'not axes' -> True"),
    ("pid_address.control.closed_forms", "Sum.at", "* -> +"),
    ("axis_info.shape_rules", "_make_range", "- -> +"),
)


def test_the_unchanged_analysis_changes_no_report() -> None:
    for probe in few_probes():
        assert probe.judge() == (Fate.UNCHANGED, "")


def test_a_mutant_is_undone() -> None:
    mutant, among = named(*SAMPLE[0]), few_probes()
    with applied(mutant):
        assert any(probe.judge()[0] is not Fate.UNCHANGED for probe in among)
    for probe in among:
        assert probe.judge() == (Fate.UNCHANGED, "")


@pytest.mark.parametrize(("module", "function", "change"), SAMPLE)
def test_an_error_is_caught(module: str, function: str, change: str) -> None:
    outcome = hunt(named(module, function, change), few_probes())
    assert outcome.fate in (Fate.CAUGHT, Fate.CRASHES), outcome


@pytest.mark.slow
def test_nearly_all_errors_are_caught() -> None:
    outcomes = first_counted(hunt_all(seeded(SEED), all_probes(), WORKERS), WANTED)
    print("\n" + table(outcomes))
    judged = counted(outcomes)
    caught = [one for one in judged if one.fate is not Fate.SURVIVES]
    print(f"{len(caught)} of {len(judged)} mutants that claim something else are noticed")
    assert len(judged) == WANTED
    assert len(caught) >= CAUGHT * WANTED
