"""`tl.core`: names that kernels take from below `tl`, beside everything that `tl` has.

Triton's language is spread over modules. Kernels that define their own sort, or call functions of a
device library, reach into them: ``tl.core.get_int_dtype``, ``core.static_range``, ``@core.extern``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tilewright.language.tl.aggregates import aggregate
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.dtypes import get_int_dtype
from tilewright.language.tl.extern import ExternFunction, extern_elementwise

__all__ = ["CONSTEXPR_0", "extern", "extern_elementwise", "get_int_dtype"]

CONSTEXPR_0 = constexpr(0)
_unwrap_if_constexpr = unwrap
_aggregate = aggregate


def extern(function: Callable[..., Any]) -> ExternFunction:
    """Let kernels call `function`, which calls `extern_elementwise`."""
    return ExternFunction(function)


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("tilewright.language.tl"), name)
