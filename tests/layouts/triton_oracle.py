"""The linear layout that the installed Triton computes for a layout, as one of ours.

Only tests use it. `require()` skips with the reason where Triton, or this part of it, is missing.
Triton's ``to_linear_layout`` leaks objects, which its library mentions when Python ends.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tilewright.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout, dim


@functools.cache
def _builder() -> tuple[Any, Any, Any]:
    from triton._C.libtriton import gluon_ir, ir
    from triton.experimental.gluon.language import _layouts as kinds

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    if not hasattr(builder, "to_linear_layout"):
        raise ImportError("this Triton does not expose linear layouts")
    return context, builder, kinds


def require() -> Any:
    """Triton's classes of layouts; the test is skipped without them."""
    try:
        return _builder()[2]
    except ImportError as missing:
        pytest.skip(f"not compared with Triton: {missing}")


def _outs(shape: list[int]) -> dict[str, int]:
    return {dim(axis): size for axis, size in enumerate(shape)}


def linear(layout: Any, shape: list[int]) -> LinearLayout:
    """Triton's linear layout of one of its layouts."""
    _, builder, _ = _builder()
    found = builder.to_linear_layout(layout._to_ir(builder), list(shape))
    return from_triton(found, shape)


def from_triton(found: Any, shape: list[int]) -> LinearLayout:
    """One of Triton's classes of linear layouts as ours."""
    if hasattr(found, "reg_bases"):
        bases = {
            REGISTER: found.reg_bases,
            LANE: found.lane_bases,
            WARP: found.warp_bases,
            BLOCK: found.block_bases,
        }
    elif hasattr(found, "offset_bases"):
        bases = {OFFSET: found.offset_bases, BLOCK: found.block_bases}
    else:
        bases = {"row": found.rows, "col": found.cols}
    return LinearLayout.of(bases, _outs(list(shape)))
