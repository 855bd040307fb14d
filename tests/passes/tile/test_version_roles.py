"""Roles that users wrote in pipelined loops, with one version of their buffers for each stage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, by_tiles, lowered, source_of, whole
from tilewright import T
from tilewright.analysis.pipelining import RoleVersions
from tilewright.passes.tile import version_roles
from tilewright.targets.numpy.simt.api import SimtFault

ROWS, COLUMNS = 64, 16


def _kernel(steps: int, stages: int) -> Any:
    @tw.jit
    def roles(A):
        A: T.Tensor((ROWS, 16 * COLUMNS), "float16")
        Out = T.empty((ROWS, COLUMNS), "float16")
        with T.Kernel(1, threads=256):
            tile = T.alloc_shared((ROWS, COLUMNS), "float16")
            total = T.alloc_fragment((ROWS, COLUMNS), "float16")
            full = T.alloc_barrier(arrive_count=128)
            empty = T.alloc_barrier(arrive_count=128)
            with T.ws(0):
                T.clear(total)
            for k in T.Pipelined(steps, num_stages=stages):
                with T.ws(1):
                    T.barrier_wait(empty, (k + 1) % 2)
                    T.tma_copy(A[0, k * COLUMNS], tile, barrier=full)
                    T.barrier_arrive(full)
                with T.ws(0):
                    T.barrier_wait(full, k % 2)
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        total[i, j] += tile[i, j]
                    T.barrier_arrive(empty)
            with T.ws(0):
                T.copy(total, Out)
        return Out

    return roles


@pytest.mark.parametrize(("steps", "stages"), [(1, 2), (5, 2), (7, 3)])
def test_values_with_slots(steps: int, stages: int) -> None:
    kernel, a = _kernel(steps, stages), whole(steps, ROWS, 16 * COLUMNS)
    tiles = a[:, : steps * COLUMNS].reshape(ROWS, steps, COLUMNS)
    expected = tiles.sum(axis=1, dtype=np.float16)
    module, _ = lowered(kernel, a)
    assert (f"barrier_init(full + {stages - 1}, 128)" in source_of(module)) == (steps > 1)
    np.testing.assert_array_equal(by_tiles(kernel, (a,)), expected)
    np.testing.assert_array_equal(by_threads(kernel, module, (a,), expected), expected)


def _without_buffers(plan: RoleVersions) -> RoleVersions:
    return RoleVersions(plan.loop, (), plan.barriers, plan.waits)


def _without_waits(plan: RoleVersions) -> RoleVersions:
    return RoleVersions(plan.loop, plan.buffers, plan.barriers, ())


def _flipped(plan: RoleVersions) -> RoleVersions:
    waits = tuple((wait, 1 - parity) for wait, parity in plan.waits)
    return RoleVersions(plan.loop, plan.buffers, plan.barriers, waits)


@pytest.mark.parametrize("change", [_without_buffers, _without_waits, _flipped])
def test_wrong_plans_are_noticed(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, a = _kernel(6, 2), whole(0, ROWS, 16 * COLUMNS)
    plan = version_roles.plan_user_roles
    monkeypatch.setattr(version_roles, "plan_user_roles", lambda loop: change(plan(loop)))
    module, _ = lowered(kernel, a)
    with pytest.raises(SimtFault, match="TW610"):
        by_threads(kernel, module, (a,), a[:, :COLUMNS])
