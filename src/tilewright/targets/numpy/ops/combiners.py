"""Which NumPy function a combiner is, and in which order it combines: the same at every level.

A combiner that is one known op becomes a ufunc; sums and multiplications of floats round, so their
order is fixed, and zeros have an order for the greatest and the least (`support/reductions.py`).
Other combiners become functions of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.targets.numpy.dtypes import ScalarType
from tilewright.targets.numpy.ops.elementwise import is_narrow

_UFUNCS: Mapping[str, str] = {
    "arith.addf": "np.add",
    "arith.addi": "np.add",
    "arith.mulf": "np.multiply",
    "arith.muli": "np.multiply",
    "arith.maxsi": "np.maximum",
    "arith.minsi": "np.minimum",
    "arith.maximumf": "np.maximum",
    "arith.minimumf": "np.minimum",
    "arith.maxnumf": "np.fmax",
    "arith.minnumf": "np.fmin",
    "arith.andi": "np.bitwise_and",
    "arith.ori": "np.bitwise_or",
    "arith.xori": "np.bitwise_xor",
}
_BOOL_UFUNCS: Mapping[str, str] = {
    "arith.addi": "np.logical_xor",
    "arith.muli": "np.logical_and",
    "arith.maxsi": "np.logical_and",
    "arith.minsi": "np.logical_or",
    "arith.andi": "np.logical_and",
    "arith.ori": "np.logical_or",
    "arith.xori": "np.logical_xor",
}
ROUNDED = frozenset(("np.add", "np.multiply"))
EXTREMES = frozenset(("np.maximum", "np.minimum", "np.fmax", "np.fmin"))
SAME_AGAIN = frozenset(
    ("np.maximum", "np.minimum", "np.fmax", "np.fmin", "np.bitwise_and", "np.bitwise_or",
     "np.logical_and", "np.logical_or")
)  # fmt: skip
"""Combining a number with itself gives the number."""


def ufunc_of(single: Operation, type: ScalarType) -> str | None:
    """The ufunc that does what a combiner of one op does to elements of a type."""
    return (_BOOL_UFUNCS if type.kind == "b" else _UFUNCS).get(single.name)


def summation(ufunc: str, type: ScalarType) -> str | None:
    """The function that fixes the order in which rounded results combine, or the order of zeros;
    None: one call of the ufunc is exact."""
    if type.kind not in "fs":
        return None
    if ufunc in EXTREMES:
        return "extreme"
    if ufunc not in ROUNDED:
        return None
    return "fold" if is_narrow(type) else "total"
