"""No mutant of a compiled kernel gives a wrong result silently.

Every mutant is run under three schedules. It must be reported by a sanitizer, or leave the result
as it is under all of them (many moves commute, a larger reserve only waits longer).
"""

import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.passes.tenstorrent.test_kernels import example, random, softmax, traced
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
    "addition": (lambda: traced(example("elementwise_add").add, *random(2, 33, 70)), {}),
    "softmax": (lambda: softmax(40, 90), {}),
    "norm": (lambda: traced(example("rms_norm").rms_norm, random(5, 40)), {}),
    "attention": (lambda: _attention(), {}),
}


def _attention():
    arrays = random(3, 1, 40, 1, 32, dtype=np.float16)
    return traced(example("attention").attention(1, 1, 40, 32, True, block_M=32), *arrays)


def _program(make, options):
    module, plan = compiled(make(), cores="1x1", **options)
    draw = np.random.default_rng(0)
    inputs = {
        each.name: pages_of(draw.integers(-2, 3, each.shape).astype(np.float32), each).tobytes()
        for each in plan.tensors
        if each.role == "input"
    }
    return artefact_of(module), inputs


def _outputs(artefact, result):
    return [
        array_of(result.buffers[each.name], each).tobytes()
        for each in artefact.plan.tensors
        if each.role != "input"
    ]


def _outcome(artefact, program, kernels, inputs, expected):
    """``reported``, ``equal`` or ``wrong``."""
    outcome = "equal"
    for seed in SEEDS:
        result = run_kernels(program, kernels, inputs, RunOptions(seed=seed))
        if result.findings:
            return "reported"
        if _outputs(artefact, result) != expected:
            outcome = "wrong"
    return outcome


def _check(name, step):
    artefact, inputs = _program(*KERNELS[name])
    program = artefact.program()
    right = run_kernels(program, artefact.kernels, inputs).raise_for_findings()
    expected = _outputs(artefact, right)
    outcomes = {
        mutant: _outcome(artefact, program, kernels, inputs, expected)
        for mutant, kernels in mutants(artefact.kernels, step)
    }
    assert [mutant for mutant, outcome in outcomes.items() if outcome == "wrong"] == []
    reported = sum(outcome == "reported" for outcome in outcomes.values())
    assert reported >= len(outcomes) // 2
    return len(outcomes)


@pytest.mark.parametrize("name", KERNELS)
def test_a_sample_of_mutants(name):
    assert _check(name, 32)


@pytest.mark.slow
def test_all_mutants():
    count = sum(_check(name, 1) for name in KERNELS)
    print(f"{count} mutants of {len(KERNELS)} kernels, none wrong silently")
    assert count >= 1000
