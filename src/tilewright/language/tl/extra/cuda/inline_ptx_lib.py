"""`tl.extra.cuda.inline_ptx_lib`: instructions that TLX's kernels reach by inline PTX.

Blackwell multiplies and adds two floats at a time (``fma.rn.f32x2`` and others). Per element that
is one operation, rounded once, so it is written as such here: every target computes it, and a
compiler for Blackwell may pair elements.
"""

from __future__ import annotations

from typing import cast

from tilewright.language.tl.arithmetic import fma
from tilewright.language.tl.extra.cuda import libdevice
from tilewright.language.tl.tensor import tensor

__all__ = [
    "_add_f32x2",
    "_fma_f32x2",
    "_mul_f32x2",
    "_reduce_fadd2",
    "_sub_f32x2",
    "tanh_approx_fp32",
]


def _add_f32x2(a: tensor, b: tensor) -> tensor:
    """``a + b``."""
    return a + b


def _sub_f32x2(a: tensor, b: tensor) -> tensor:
    """``a - b``."""
    return a - b


def _mul_f32x2(a: tensor, b: tensor) -> tensor:
    """``a * b``."""
    return a * b


def _fma_f32x2(a: tensor, b: tensor, c: tensor) -> tensor:
    """``a * b + c``, rounded once."""
    return fma(a, b, c)


def _reduce_fadd2(
    first: tensor, second: tensor, other_first: tensor, other_second: tensor
) -> tuple[tensor, tensor]:
    """Two sums at a time: the `combine_fn` of a reduction of two tensors."""
    return first + other_first, second + other_second


def tanh_approx_fp32(x: tensor) -> tensor:
    """The hyperbolic tangent. ``tanh.approx.f32`` is right to about 2**-11; this is exact."""
    return cast("tensor", libdevice.tanh(x))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
