"""The vendor's own kernels, unmodified, on the source executor, under three seeds.

They are read from the checkout of tenstorrent/tt-metal that TILEWRIGHT_TT_METAL names. Sanitizers
are strict except for those that a program is known to violate, and those have to report.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.targets.tenstorrent.mutants import Mutant, instrument
from tests.targets.tenstorrent.test_mutants import selected
from tests.targets.tenstorrent.vendor_programs import EXAMPLES, FURTHER, REQUIRED
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.program import KernelSource
from tilewright.targets.tenstorrent.source import run

VARIABLE = "TILEWRIGHT_TT_METAL"
CASES = {**REQUIRED, **FURTHER}


@pytest.fixture(scope="module")
def checkout() -> Path:
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(f"{VARIABLE} is not set: the vendor's programs were NOT run")
    path = Path(root)
    if not (path / EXAMPLES).is_dir():
        pytest.fail(f"{VARIABLE}={root} has no {EXAMPLES}")
    return path


@pytest.mark.parametrize("name", CASES)
def test_vendor_program(name: str, checkout: Path):
    case = CASES[name](checkout)
    for seed in (1, 2, 3):
        options = RunOptions(seed=seed, off=case.off, keep_l1=case.keep_l1)
        outcome = run(case.program, case.inputs, options).raise_for_findings()
        case.check(outcome)
    if case.off:
        strict = run(
            case.program, case.inputs, replace(options, off=frozenset(), max_findings=1000)
        )
        assert {finding.check for finding in strict.findings} == case.off


def test_the_kernel_that_writes_past_its_circular_buffer_is_reported(checkout: Path):
    case = REQUIRED["shard_data_rm"](checkout)
    findings = run(case.program, case.inputs, RunOptions(seed=1)).findings
    assert any("outside every circular buffer" in finding.message for finding in findings)


@pytest.mark.parametrize("name", ["matmul_single_core", "matmul_multicore_reuse_mcast"])
def test_no_mutant_of_a_vendor_kernel_is_silently_wrong(name: str, checkout: Path):
    case = REQUIRED[name](checkout)
    kernels: list[KernelSource] = []
    mutants: list[Mutant] = []
    for kernel in case.program.kernels:
        text, found = instrument(kernel.name, kernel.source)
        kernels.append(replace(kernel, text=text, path=None))
        mutants += found
    program = replace(case.program, kernels=tuple(kernels))
    options = RunOptions(seed=1, off=case.off, timeout_seconds=4, max_findings=3)
    expected = run(selected(program, None), case.inputs, options).raise_for_findings().buffers
    silent: list[str] = []
    for mutant in mutants:
        outcome = run(selected(program, mutant), case.inputs, options)
        is_wrong = outcome.buffers != expected
        if is_wrong and mutant.synchronisation and not outcome.findings:
            silent.append(str(mutant))
    assert silent == []
