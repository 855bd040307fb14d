"""Packages of scripts/stand_ins compute what the packages do whose names they have."""

import pytest

from scripts.stand_ins import tabulate
from scripts.stand_ins.scipy import stats


def test_kolmogorov_smirnov() -> None:
    # The sample jumps to 1 at 0.25, where the uniform distribution is 0.25.
    assert stats.kstest([0.25], "uniform").statistic == 0.75
    assert stats.kstest([0.75], "uniform").statistic == 0.75
    assert stats.kstest([0.5, 0.1, 0.9], "uniform").statistic == pytest.approx(7 / 30)
    # Of a length of 4 from 1 on: 2, 3, 4 are 1/4, 2/4, 3/4 of it.
    assert stats.kstest([4, 2, 3], "uniform", args=(1, 4)).statistic == pytest.approx(0.25)
    assert stats.kstest([-1.0, 2.0], "uniform").statistic == 0.5


def test_only_the_uniform_distribution() -> None:
    with pytest.raises(NotImplementedError, match="'norm'"):
        stats.kstest([0.5], "norm")


def test_tables() -> None:
    rows = [["input", 1.5, 2], ["kept", 0, 12.25]]
    assert tabulate.tabulate(rows) == "input  1.5  2\nkept   0    12.25"
    assert tabulate.tabulate([]) == ""
