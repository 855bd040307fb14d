"""The lesser and the greater of floats, as NVIDIA's hardware has them.

Two rules about NaN: the `num` forms give the other operand, the others hand NaN on. Zeros have an
order, -0.0 < +0.0 (PTX ISA, `min` and `max`), which NumPy leaves to chance: it returns either
operand, depending on the type and on the vector unit. Where both operands are zero their sum has
the sign of the greater one, and the negated sum of both negated that of the lesser one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.targets.numpy.support.select import pick


def maximumf(a: Any, b: Any) -> Any:
    """The greater one; NaN if either is."""
    return _greater_zero(np.maximum(a, b), a, b)


def maxnumf(a: Any, b: Any) -> Any:
    """The greater one; of a number and a NaN the number."""
    return _greater_zero(np.fmax(a, b), a, b)


def minimumf(a: Any, b: Any) -> Any:
    """The lesser one; NaN if either is."""
    return _lesser_zero(np.minimum(a, b), a, b)


def minnumf(a: Any, b: Any) -> Any:
    """The lesser one; of a number and a NaN the number."""
    return _lesser_zero(np.fmin(a, b), a, b)


def _greater_zero(result: Any, a: Any, b: Any) -> Any:
    zero = result == 0
    return pick(zero & (a == b), a + b, result) if zero.any() else result


def _lesser_zero(result: Any, a: Any, b: Any) -> Any:
    zero = result == 0
    return pick(zero & (a == b), -(-a + -b), result) if zero.any() else result


def clampf(x: Any, low: Any, high: Any) -> Any:
    """`x` limited to a range; NaN becomes `low`."""
    return minnumf(maxnumf(x, low), high)


def clampf_nan(x: Any, low: Any, high: Any) -> Any:
    """`x` limited to a range; NaN stays."""
    return minimumf(maximumf(x, low), high)
