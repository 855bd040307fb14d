"""Element types: from one to another as a copy or a fill converts them.

Integers of the IR are signless; buffers record whether their elements are unsigned. Floats round to
nearest even once, and saturate where the type has no infinity; floats become integers as in C++ for
CUDA (see `support/floats.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.targets.numpy.support.floats import (
    cast_signed,
    cast_unsigned,
    int_to_float,
    narrow,
    to_single,
)
from tilewright.targets.numpy.support.integers import unsigned

_SINGLES = (np.dtype(np.float32), np.dtype(np.float64))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fV" or dtype.name.startswith(("bfloat", "float"))


def converted(values: Any, dtype: np.dtype[Any], *, from_unsigned: bool, to_unsigned: bool) -> Any:
    """`values` in another type."""
    source = values.dtype
    if source == dtype:
        return values
    if dtype.kind == "b":
        return values != source.type(0)
    if source.kind == "b":
        return values.astype(dtype)
    if _is_float(source):
        if not _is_float(dtype):
            return (cast_unsigned if to_unsigned else cast_signed)(values, dtype.type)
        return _float_to_float(values, source, dtype)
    if from_unsigned:
        values = unsigned(values)
    if _is_float(dtype):
        return int_to_float(values, dtype.type)
    return values.astype(dtype)


def _float_to_float(values: Any, source: np.dtype[Any], dtype: np.dtype[Any]) -> Any:
    if dtype == np.float64:
        return values.astype(dtype)
    if dtype == np.float32:
        return to_single(values) if source != np.float64 else values.astype(dtype)
    wide = values if source in _SINGLES else to_single(values)
    return narrow(wide, dtype.type)
