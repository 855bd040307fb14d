"""Stands in for `triton` in kernels that our front end reads, as far as the corpus needs it."""

from collections.abc import Callable
from typing import Any

from tilewright.frontend.function import KernelFunction
from tilewright.language.tl.constexpr import constexpr_function
from tilewright.language.tl.vocabulary import TL

__all__ = ["constexpr_function", "jit"]


def jit(function: Callable[..., Any] | None = None, *, noinline: bool = False) -> Any:
    """The decorator, with or without options."""
    if function is None:
        return lambda function: KernelFunction(function, TL, noinline=noinline)
    return KernelFunction(function, TL, noinline=noinline)
