"""``scipy.stats.kstest`` against the uniform distribution, as far as its statistic.

The statistic is the largest distance between the sample's distribution and the expected one; it is
at a step of the former, so it is taken before and after each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KstestResult:
    """The statistic; no probability is computed from it."""

    statistic: float


def kstest(rvs: Sequence[float], cdf: str, args: tuple[float, ...] = ()) -> KstestResult:
    """The statistic of Kolmogorov and Smirnov of `rvs`; `args` are the start and the length."""
    if cdf != "uniform":
        raise NotImplementedError(f"kstest knows the distribution 'uniform' here, not {cdf!r}")
    start, length = args or (0.0, 1.0)
    found = np.sort(np.asarray(rvs, np.float64))
    expected = np.clip((found - start) / length, 0.0, 1.0)
    count = len(found)
    after = np.arange(1, count + 1) / count - expected
    before = expected - np.arange(count) / count
    return KstestResult(float(max(after.max(), before.max())))
