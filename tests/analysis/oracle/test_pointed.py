"""Kernels made to show one thing each: no execution refutes a claim of the analysis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.oracle.kernels import Kernel
from tests.analysis.oracle.pointed import pointed_kernels
from tests.analysis.oracle.trials import Trial
from tests.sampling import every


@pytest.mark.parametrize("kernel", every(2, pointed_kernels()), ids=lambda kernel: kernel.name)
def test_no_execution_refutes_a_claim(kernel: Kernel) -> None:
    trial = Trial.of(replace(kernel, launches=kernel.launches[::2]))
    assert len(trial.honest) >= 4
    refuted = list(trial.all_refuted(modes=("open",)))
    assert not refuted, "\n".join(map(str, refuted))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", pointed_kernels(), ids=lambda kernel: kernel.name)
def test_no_execution_refutes_a_claim_in_any_mode(kernel: Kernel) -> None:
    refuted = list(Trial.of(kernel).all_refuted())
    assert not refuted, "\n".join(map(str, refuted))
