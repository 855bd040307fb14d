"""Mutants of kernels: none gives a wrong result without a finding.

Each program runs once for each mutant. A synchronisation mutant is reported or changes nothing; a
value mutant that is not reported gives other values than the program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.tenstorrent.mutants import Mutant, instrument
from tests.targets.tenstorrent.own_programs import PROGRAMS, Case
from tilewright.targets.tenstorrent.execution import RunOptions, RunResult
from tilewright.targets.tenstorrent.program import Program
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

MIN_MUTANTS = {"add_relu": 70, "gemm_multicast": 80, "softmax": 130}


def mutated(name: str) -> tuple[Case, tuple[Mutant, ...]]:
    """The program with instrumented kernels, and its mutants."""
    texts: dict[str, str] = {}
    mutants: list[Mutant] = []
    for kernel in PROGRAMS[name]().program.kernels:
        texts[kernel.name], found = instrument(kernel.name, kernel.source)
        mutants += found
    return PROGRAMS[name](texts), tuple(mutants)


def selected(program: Program, mutant: Mutant | None) -> Program:
    kernels = (
        replace(
            kernel,
            common_runtime_args=(mutant.id if mutant and mutant.kernel == kernel.name else 0,),
        )
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_mutant_is_silently_wrong(name: str):
    case, mutants = mutated(name)
    assert len(mutants) >= MIN_MUTANTS[name]

    def outcome(mutant: Mutant | None) -> RunResult:
        options = RunOptions(seed=1, timeout_seconds=2, max_findings=3)
        return run(selected(case.program, mutant), case.inputs, options)

    try:
        expected = case.actual(outcome(None).raise_for_findings())
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"mutants were NOT run: {reason}")
    silent: list[str] = []
    for mutant in mutants:
        result = outcome(mutant)
        is_wrong = not np.array_equal(case.actual(result), expected)
        if is_wrong and mutant.synchronisation and not result.findings:
            silent.append(str(mutant))
    assert silent == []
