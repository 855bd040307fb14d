"""Programmatic dependent launch: the wait is there in launches with `launch_pdl`."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare
from tilewright import tl


@tw.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.extra.cuda.gdc_wait()
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out_ptr + at, x + y, mask=inside)


def _arrays() -> list[np.ndarray]:
    x, y = np.random.default_rng(0).standard_normal((2, 100)).astype(np.float32)
    return [x, y, np.full(100, np.nan, np.float32)]


def test_the_same_values() -> None:
    with recorded() as launches:
        add[(2,)](*_arrays(), 100, BLOCK=64)
    ((_, launch),) = launches
    compare(launch, schedules=2)


@pytest.mark.parametrize("is_dependent", [False, True])
def test_the_launch_decides(is_dependent: bool) -> None:
    options = {"grid": (2,), "target": "cuda:sm_90a", "launch_pdl": is_dependent}
    kernel = add.warmup(*_arrays(), 100, BLOCK=64, **options).raised
    source = kernel.get_kernel_source()
    body = source.partition('extern "C"')[2]
    assert ("tw::grid_wait();" in body) == is_dependent
    assert "tw::grid_trigger();" in body
    assert kernel.gpu is not None
    (compiled,) = kernel.gpu.program.kernels.values()
    assert compiled.metadata.pdl == is_dependent
    if is_dependent:
        assert body.index("tw::grid_wait();") < body.index("tw::grid_trigger();")
