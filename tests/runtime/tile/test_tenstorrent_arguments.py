"""Calls for Tenstorrent with arrays or settings that cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError


def _increment(**configs: Any) -> Any:
    @tw.jit(target="tenstorrent:sim", pass_configs=configs)
    def increment(A: Any, B: Any) -> None:
        M, N = T.const("M, N")
        A: T.Tensor((M, N), "float32")
        B: T.Tensor((M, N), "float32")
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32)) as (bx, by):
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] + 1
            T.copy(a, B[by * 32, bx * 32])

    return increment


def _zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def test_arrays_that_share_bytes_are_refused_before_the_run() -> None:
    both = _zeros(96, 64)
    with pytest.raises(
        tw.NumpyFault, match=r"TW6141.*B and A share bytes, and the kernel writes B"
    ):
        _increment()(both[:64], both[32:])
    assert not both.any()


def test_without_checks_they_are_computed_as_if_they_did_not() -> None:
    both = _zeros(64, 64)
    with tw.tile_running(checked=False):
        _increment()(both, both)
    assert (both == 1).all()


def test_a_result_that_cannot_be_written_is_refused_before_the_run() -> None:
    result = _zeros(64, 64)
    result.flags.writeable = False
    with pytest.raises(tw.NumpyFault, match=r"TW6106.*write to read-only buffer B"):
        _increment()(_zeros(64, 64), result)


def test_an_empty_grid() -> None:
    with pytest.raises(CompileError, match=r"TW7010.*the launch grid is empty: 2 x 0 x 1 blocks"):
        _increment()(_zeros(0, 64), _zeros(0, 64))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tt.stages", "two", "tt.stages is 'two': expected a number of blocks"),
        ("tt.choose", "banana", "tt.choose is 'banana': expected True or False"),
        ("tt.l1_budget", 10**9, "tt.l1_budget is 1000000000: .* has 1368064 bytes"),
        ("tt.shard", ["A"], r"tt.shard is \[.A.\]: expected tensors and their memory"),
    ],
)
def test_settings_that_cannot_be(key: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _increment(**{key: value})(_zeros(64, 64), _zeros(64, 64))


@pytest.mark.parametrize("value", [False, "off", "False"])
def test_choice_that_is_switched_off(value: object) -> None:
    kernel = _increment(**{"tt.choose": value})
    arrays = _zeros(64, 64), _zeros(64, 64)
    kernel(*arrays)
    assert kernel.compile(*arrays).tenstorrent.choice is None


@pytest.mark.parametrize("budget", ["lots", -5, 0])
def test_a_budget_that_is_no_size(budget: Any) -> None:
    with pytest.raises(ValueError, match=f"tt.l1_budget is {budget!r}: expected a number of bytes"):
        _increment(**{"tt.l1_budget": budget})(_zeros(64, 64), _zeros(64, 64))
