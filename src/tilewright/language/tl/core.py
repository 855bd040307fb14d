"""`tl.core`: names that kernels take from below `tl`, beside everything that `tl` has.

Triton's language is spread over modules. Kernels that define their own sort, or call functions of a
device library, reach into them: ``tl.core.get_int_dtype``, ``core.static_range``, ``@core.extern``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from tilewright.language.tl.aggregates import aggregate
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.dtypes import get_int_dtype
from tilewright.language.tl.extern import ExternFunction, extern_elementwise

__all__ = [
    "CONSTEXPR_0",
    "builtin",
    "extern",
    "extern_elementwise",
    "get_int_dtype",
    "must_use_result",
]

CONSTEXPR_0 = constexpr(0)
_unwrap_if_constexpr = unwrap
_aggregate = aggregate


def extern(function: Callable[..., Any]) -> ExternFunction:
    """Let kernels call `function`, which calls `extern_elementwise`."""
    return ExternFunction(function)


def builtin(function: Callable[..., Any]) -> ExternFunction:
    """Let kernels call `function`, which works with values of the language."""
    return ExternFunction(function)


def must_use_result(function: Any, reason: str | bool = True) -> Any:
    """Mark `function`: a call as a statement is meant to be an error. That is not checked here."""
    if isinstance(function, str):
        return partial(must_use_result, reason=function)
    function._must_use_result = reason
    return function


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("tilewright.language.tl"), name)
