"""Fake tensors of torch: shapes and dtypes without memory, with which torch.compile traces.

A kernel that gets one computes nothing: a launch over a grid ends at once, and a kernel of `T`
returns tensors of the right shapes, fake ones too. Only the slow paths look for them: the quick
ones read addresses, which fake tensors do not have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

_FAKE = "FakeTensor"
_FUNCTIONAL = "FunctionalTensor"
_types: dict[type, bool] = {}


def is_fake(value: object) -> bool:
    """Whether `value` is a tensor of torch without memory."""
    kind = type(value)
    found = _types.get(kind)
    if found is None:
        is_torch = kind.__module__.partition(".")[0] == "torch"
        found = _types[kind] = is_torch and kind.__name__ in (_FAKE, _FUNCTIONAL)
    return found


def has_fakes(values: Iterable[object]) -> bool:
    """Whether any of the arguments of a launch, or the base of a descriptor among them, is fake."""
    if "torch" not in sys.modules:
        return False
    return any(is_fake(value) or is_fake(getattr(value, "base", None)) for value in values)
