"""Mutants of emitted kernels: none gives a wrong result without a finding, whatever the schedule.

The default run takes a GEMM, `-m slow` softmax, attention and more: about 1,500 mutants. A mutant
that no sanitizer reports is run under further schedules. Value mutants, which compute something
else, have to be reported or to give the same wrong values under every schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.sampling import every
from tests.targets.tenstorrent.matrix import KERNELS, SIZES
from tests.targets.tenstorrent.mutants import Mutant, instrument
from tests.targets.tenstorrent.test_mutants import selected
from tilewright.targets.tenstorrent.arrays import pages_of
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.program import KernelSource, Program
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

NAMES = (
    "gemm fp16, blocks of 4 tiles",
    "gemm and relu",
    "softmax",
    "attention",
    "rms norm",
    "transposed A and B",
    "split K",
)


@dataclass(frozen=True)
class Instrumented:
    """A program with all its mutants, and its inputs."""

    program: Program
    inputs: Mapping[str, bytes]
    outputs: tuple[str, ...]
    mutants: tuple[Mutant, ...]


def instrumented(name: str) -> Instrumented:
    traced = KERNELS[name](SIZES["past"])
    artefact = traced.compiled("2x2")
    program = artefact.program(with_sources=True)
    kernels: list[KernelSource] = []
    mutants: list[Mutant] = []
    for kernel in program.kernels:
        text, found = instrument(kernel.name, kernel.source)
        kernels.append(replace(kernel, text=text, path=None))
        mutants += found
    arrays = traced.arrays()
    tensors = artefact.plan.tensors
    return Instrumented(
        replace(program, kernels=tuple(kernels)),
        {
            t.name: pages_of(np.asarray(arrays[t.name]), t).tobytes()
            for t in tensors
            if t.role != "output"
        },
        tuple(t.name for t in tensors if t.role != "input"),
        tuple(mutants),
    )


@pytest.mark.parametrize("name", every(len(NAMES), NAMES))
def test_no_mutant_is_silently_wrong(name: str):
    case = instrumented(name)

    def outputs(mutant: Mutant | None, seed: int) -> tuple[bytes, ...] | None:
        """The pages of all outputs, or None if a sanitizer reports."""
        options = RunOptions(seed=seed, timeout_seconds=5, max_findings=1)
        result = run(selected(case.program, mutant), case.inputs, options)
        return None if result.findings else tuple(result.buffers[n] for n in case.outputs)

    try:
        expected = outputs(None, 1)
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"mutants were NOT run: {reason}")
    assert expected is not None
    silent: list[str] = []
    for mutant in case.mutants:
        first = outputs(mutant, 1)
        if first is None:
            continue
        others = [outputs(mutant, seed) for seed in (2, 3)]
        if None in others:
            continue
        is_wrong = any(each != expected for each in (first, *others))
        depends_on_schedule = any(each != first for each in others)
        if depends_on_schedule or (is_wrong and mutant.synchronisation):
            silent.append(str(mutant))
    assert silent == []
