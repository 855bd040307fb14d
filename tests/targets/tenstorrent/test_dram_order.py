"""Pages in DRAM that kernels of one program read and write: both executors report races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.tenstorrent.matrix import Traced
from tilewright import T
from tilewright.targets.tenstorrent.artefact import Executor
from tilewright.targets.tenstorrent.execution import Check, Finding, RunOptions

A = np.ones((128, 32), np.float32)


def findings(kernel: Any, cores: str, executor: Executor, seed: int) -> tuple[Finding, ...]:
    traced = Traced(kernel, (A,))
    return traced.compiled(cores).execute(traced.arrays(), RunOptions(seed), executor).findings


@T.prim_func
def shift(A: T.Tensor((128, 32), T.float32)):
    """Block i reads what block i + 1 writes."""
    with T.Kernel(3) as bx:
        a = T.alloc_shared((32, 32), T.float32)
        T.copy(A[bx * 32 + 32, 0], a)
        T.copy(a, A[bx * 32, 0])


@T.prim_func
def collide(A: T.Tensor((128, 32), T.float32)):
    """Blocks i and i + 2 write one page of a tensor that holds data before."""
    with T.Kernel(4) as bx:
        a = T.alloc_shared((32, 32), T.float32)
        T.copy(A[bx * 32, 0], a)
        T.copy(a, A[bx % 2 * 32, 0])


@pytest.mark.parametrize("executor", Executor)
@pytest.mark.parametrize("seed", range(3))
def test_a_page_that_two_cores_read_and_write(executor: Executor, seed: int) -> None:
    found = findings(shift, "3x1", executor, seed)
    assert {each.check for each in found} == {Check.UNORDERED_ACCESS}
    assert any("of 'A', which" in each.message for each in found)


@pytest.mark.parametrize("executor", Executor)
def test_a_core_may_overwrite_what_it_has_read(executor: Executor) -> None:
    assert findings(shift, "1x1", executor, 0) == ()


@pytest.mark.parametrize("executor", Executor)
def test_two_writers_of_a_tensor_that_is_also_an_input(executor: Executor) -> None:
    found = findings(collide, "4x1", executor, 0)
    assert Check.TWO_WRITERS in {each.check for each in found}
    assert any("writer on core (2,0)" in str(each) or "(0,0)" in str(each) for each in found)
