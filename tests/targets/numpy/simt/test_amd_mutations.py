"""Mutants of finished kernels for AMD GPUs are caught without a GPU.

A sample here, of a small GEMM; all mutants of GEMM and attention on four GPUs in ``make fuzz``. At
least 95 % of those that change behaviour must be caught.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.passes.amd.amd_support import amd_pipeline
from tests.targets.numpy.simt.amd_mutants import AMD_MUTATIONS, OF_COPIES
from tests.targets.numpy.simt.mutants import (
    Arrays,
    Mutant,
    Subject,
    catch,
    changes_behaviour,
    mutants_of,
    subjects,
)
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.targets.numpy.simt import SimtOptions

MIN_MUTANTS, MIN_SHARE = 150, 0.95
CHIPS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


@T.prim_func
def small_gemm(
    A: T.Tensor((64, 128), "float16"),
    B: T.Tensor((64, 128), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        B_shared = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.clear(C_local)
        for step in T.Pipelined(2, num_stages=2):
            T.copy(A[0, step * 64], A_shared)
            T.copy(B[0, step * 64], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_B=True)
        T.copy(C_local, C)


@cache
def subject_of(chip: str) -> tuple[Subject, Arrays]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (64, 128)).astype(np.float16) for _ in range(2))
    module = lowered(small_gemm.module.clone(), amd_pipeline(chip))
    c = np.zeros((64, 64), np.float32)
    subject = Subject("gemm", small_gemm.module, module, ("A", "B", "C"), (a, b, c))
    found = subject.run(module, SimtOptions())
    np.testing.assert_array_equal(found[2], a.astype(np.float32) @ b.astype(np.float32).T)
    return subject, found


@pytest.mark.parametrize("mutation", [each for each in AMD_MUTATIONS if each not in OF_COPIES])
def test_sample(mutation: str) -> None:
    table = {mutation: AMD_MUTATIONS[mutation]}
    is_made = False
    for chip in ("gfx942", "gfx1100"):  # waves of 64 lanes and of 32
        subject, expected = subject_of(chip)
        mutants = mutants_of(subject.module, table)
        for mutant in mutants[len(mutants) // 2 :][:1]:
            changed = mutant.apply(subject.module, table)
            is_made = True
            if catch(subject, expected, changed) is None:
                assert not changes_behaviour(subject, expected, changed), mutant
    assert is_made


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_all(chip: str) -> None:
    caught: list[Mutant] = []
    missed: list[tuple[str, Mutant]] = []
    for name in ("gemm_relu", "attention", "batched_gemm"):
        for subject in subjects(name, amd_pipeline(chip)):
            expected = subject.run(subject.module, SimtOptions())
            for mutant in mutants_of(subject.module, AMD_MUTATIONS):
                changed = mutant.apply(subject.module, AMD_MUTATIONS)
                if catch(subject, expected, changed) is not None:
                    caught.append(mutant)
                elif changes_behaviour(subject, expected, changed):
                    missed.append((subject.name, mutant))
    total = len(caught) + len(missed)
    print(chip, len(caught), missed)
    assert total >= MIN_MUTANTS // len(CHIPS)
    assert len(caught) >= MIN_SHARE * total, missed
