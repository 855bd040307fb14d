"""No mutant of a compiled kernel gives a wrong result silently.

Every mutant is run under three schedules. It must be reported by a sanitizer, or leave the result
as it is under all of them (many moves commute, a larger reserve only waits longer).
"""

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.targets.tenstorrent.machine.mutations import mutants
from tilewright.targets.tenstorrent.arrays import array_of, pages_of
from tilewright.targets.tenstorrent.artefact import artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.machine import run_kernels

SEEDS = (0, 1, 4)

KERNELS = {
    "whole": (lambda: gemm(64, 64, 96), {}),
    "whole, blocks of tiles": (lambda: gemm(64, 128, 64, (64, 64, 32)), {}),
    "resident": (lambda: gemm(128, 128, 64, (128, 128, 32)), {}),
    "spill": (lambda: gemm(128, 128, 96, (128, 96, 32)), {"l1_budget": 100 * 1024}),
    "transposed": (lambda: gemm(64, 64, 64, transpose=True), {}),
}


def _program(make, options):
    module, plan = compiled(make(), cores="1x1", **options)
    artefact = artefact_of(module)
    draw = np.random.default_rng(0)
    inputs = {
        each.name: pages_of(
            draw.integers(-2, 3, each.shape).astype(ml_dtypes.bfloat16), each
        ).tobytes()
        for each in plan.tensors
        if each.role == "input"
    }
    return artefact, inputs


def _outcome(artefact, kernels, inputs, expected):
    """``reported``, ``equal`` or ``wrong``."""
    (output,) = [each for each in artefact.plan.tensors if each.role == "output"]
    outcome = "equal"
    for seed in SEEDS:
        result = run_kernels(artefact.program(), kernels, inputs, RunOptions(seed=seed))
        if result.findings:
            return "reported"
        found = array_of(result.buffers[output.name], output)
        if found.tobytes() != expected:
            outcome = "wrong"
    return outcome


def _check(name, step):
    artefact, inputs = _program(*KERNELS[name])
    (output,) = [each for each in artefact.plan.tensors if each.role == "output"]
    right = run_kernels(artefact.program(), artefact.kernels, inputs).raise_for_findings()
    expected = array_of(right.buffers[output.name], output).tobytes()
    outcomes = {
        mutant: _outcome(artefact, kernels, inputs, expected)
        for mutant, kernels in list(mutants(artefact.kernels))[::step]
    }
    assert [mutant for mutant, outcome in outcomes.items() if outcome == "wrong"] == []
    reported = sum(outcome == "reported" for outcome in outcomes.values())
    assert reported >= len(outcomes) // 2
    return len(outcomes)


@pytest.mark.parametrize("name", KERNELS)
def test_a_sample_of_mutants(name):
    assert _check(name, 8)


@pytest.mark.slow
def test_all_mutants():
    assert sum(_check(name, 1) for name in KERNELS) >= 300
