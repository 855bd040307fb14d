"""The examples of `tlx` against NumPy in float64, watched, under several orders of events."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tlx_examples import NAMES, as_tuple, load
from tilewright.targets.numpy.tasks.ordering import OrderingLog

TOLERANCE = {"attention": 2e-3, "gemm": 4e-2}


def check(name: str, schedules: int) -> None:
    log = OrderingLog()
    with tw.running(schedules=schedules, recorder=log.recorder):
        found, wanted = load(name).example(np.random.default_rng(1))
    assert log.unread() == []
    assert not log.not_analysed
    limit = next(limit for kind, limit in TOLERANCE.items() if kind in name)
    for result, exact in zip(as_tuple(found), as_tuple(wanted), strict=True):
        error = np.abs(np.asarray(result, np.float64) - exact)
        assert error.max() <= limit
        assert np.abs(exact).max() > 10 * error.max()


@pytest.mark.parametrize("name", NAMES)
def test_against_float64(name: str) -> None:
    check(name, schedules=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fifty_schedules(name: str) -> None:
    check(name, schedules=50)
