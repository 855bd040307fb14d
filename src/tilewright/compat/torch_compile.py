"""``torch.compile`` where ``triton`` is Tilewright's: functions run as they are written.

torch's own compiler generates Triton kernels and looks into the package that it finds under that
name; the stand-in has what kernels are written with, not Triton's internals. So functions under
``torch.compile`` run eagerly, with the same results, and a notice is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.compat.notices import print_once


def run_compiled_functions_eagerly(torch: Any) -> None:
    """Replace ``torch.compile`` by a decorator that changes nothing."""

    def compile(model: Any = None, **options: Any) -> Any:
        if model is None:
            return _unchanged
        return _unchanged(model)

    torch.compile = compile


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    print_once("torch.compile has no effect: functions run eagerly, with the same results")
    return function
