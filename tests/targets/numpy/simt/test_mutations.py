"""Mutants of finished kernels are caught without a GPU.

All mutants of the kernels below, more than 400, are tried in ``make fuzz``; here a sample. At least
95 % of those that change behaviour must be caught; a fence whose loss cannot be shown counts as
missed.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.targets.numpy.simt.mutants import (
    FENCES,
    MUTATIONS,
    Arrays,
    Mutant,
    Subject,
    catch,
    changes_behaviour,
    mutants_of,
    subjects,
)
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import SimtOptions

HOPPER = GpuPipeline()
NO_ROLES = GpuPipeline(warp_specialize=False)
AMPERE = GpuPipeline(target="cuda:sm_80", wgmma=False)
KERNELS = [
    *((name, HOPPER) for name in ("attention", "dequant_gemm", "gemm_relu", "linear_attention")),
    *((name, HOPPER) for name in ("persistent_gemm", "rms_norm", "split_k")),
    ("gemm_relu", NO_ROLES),
    ("attention", NO_ROLES),
    ("dynamic_shapes", AMPERE),
    ("gemm_relu", AMPERE),
]
MIN_MUTANTS, MIN_SHARE = 400, 0.95
SAMPLED = 1
"""Of each mutation, in the sample."""


@cache
def gemm() -> tuple[Subject, Arrays]:
    (subject,) = subjects("gemm_relu")
    return subject, subject.run(subject.module, SimtOptions())


def _sampled() -> list[tuple[str, int]]:
    return [(mutation, number) for mutation in MUTATIONS for number in range(SAMPLED)]


@pytest.mark.parametrize(("mutation", "number"), _sampled())
def test_sample(mutation: str, number: int) -> None:
    subject, expected = gemm()
    of_kind = [each for each in mutants_of(subject.module) if each.mutation == mutation]
    if not of_kind:
        return
    mutant = of_kind[number * len(of_kind) // SAMPLED]
    changed = mutant.apply(subject.module)
    if catch(subject, expected, changed) is None:
        assert not changes_behaviour(subject, expected, changed), mutant


@pytest.mark.slow
def test_all() -> None:
    caught: list[Mutant] = []
    missed: list[tuple[str, Mutant]] = []
    for name, pipeline in KERNELS:
        for subject in subjects(name, pipeline):
            expected = subject.run(subject.module, SimtOptions())
            for mutant in mutants_of(subject.module):
                changed = mutant.apply(subject.module)
                if catch(subject, expected, changed) is not None:
                    caught.append(mutant)
                elif mutant.mutation in FENCES or changes_behaviour(subject, expected, changed):
                    missed.append((subject.name, mutant))
    total = len(caught) + len(missed)
    assert total >= MIN_MUTANTS
    assert len(caught) >= MIN_SHARE * total, missed


def test_every_kind_of_mutation_can_be_made() -> None:
    kinds = {each.mutation for each in mutants_of(gemm()[0].module)}
    (other,) = subjects("gemm_relu", NO_ROLES)
    assert kinds | {each.mutation for each in mutants_of(other.module)} == set(MUTATIONS)
