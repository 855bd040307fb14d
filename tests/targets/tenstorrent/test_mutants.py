"""Mutants of kernels: none gives a wrong result without a finding.

Each program runs once for each mutant. A synchronisation mutant is reported or changes nothing; a
value mutant that is not reported gives other values than the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.targets.tenstorrent.mutants import Mutant, instrument
from tests.targets.tenstorrent.own_programs import PROGRAMS, Case, values
from tilewright.targets.tenstorrent.artefact import artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions, RunResult
from tilewright.targets.tenstorrent.formats import tilize
from tilewright.targets.tenstorrent.program import Program
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

MIN_MUTANTS = {"add_relu": 70, "gemm_multicast": 80, "softmax": 130, "emitted_gemm": 50}


def emitted_gemm(texts: dict[str, str] | None = None) -> Case:
    """A GEMM as Tilewright emits it, one block of several tiles on each core."""
    module, _ = compiled(gemm(128, 64, 64, block=(64, 32, 32)))
    program = artefact_of(module).program(with_sources=True)
    kernels = tuple(
        replace(kernel, text=(texts or {}).get(kernel.name, kernel.text))
        for kernel in program.kernels
    )
    a, b = values((128, 64), 1), values((64, 64), 2)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    inputs = {"A": tilize(a), "B": tilize(b)}
    return Case(replace(program, kernels=kernels), inputs, expected, 2**-6, output="C")


CASES: dict[str, Callable[..., Case]] = {**PROGRAMS, "emitted_gemm": emitted_gemm}


def mutated(name: str) -> tuple[Case, tuple[Mutant, ...]]:
    """The program with instrumented kernels, and its mutants."""
    texts: dict[str, str] = {}
    mutants: list[Mutant] = []
    for kernel in CASES[name]().program.kernels:
        texts[kernel.name], found = instrument(kernel.name, kernel.source)
        mutants += found
    return CASES[name](texts), tuple(mutants)


def selected(program: Program, mutant: Mutant | None) -> Program:
    kernels = (
        replace(
            kernel,
            common_runtime_args=(mutant.id if mutant and mutant.kernel == kernel.name else 0,),
        )
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


@pytest.mark.parametrize("name", CASES)
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
