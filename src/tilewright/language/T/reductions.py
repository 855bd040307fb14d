"""Reductions and scans along a dimension of a tile."""

from __future__ import annotations

from typing import Any

from tilewright.dialects.tile import ReduceOp, ScanOp
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import shape_text
from tilewright.language.T.expressions import describe, is_python_scalar
from tilewright.language.T.session import effect
from tilewright.language.T.session import kernel as open_kernel
from tilewright.language.T.tile_ops import SHAPES, may_fit, region


def _reduce(
    kind: str, src: Any, dst: Any, dim: int, clear: bool, nan_propagate: bool = False
) -> None:
    op_name = f"reduce_{kind}"
    open_kernel(f"T.{op_name}")
    source, target = region(op_name, "the source", src), region(op_name, "the destination", dst)
    rank = len(source.extents)
    if not is_python_scalar(dim) or not -rank <= int(dim) < rank:
        raise FrontendError(
            f"T.{op_name}: dim {describe(dim)} is outside of {source.buffer.name}, which has "
            f"{rank} dimension{'s' if rank > 1 else ''}: use {-rank} to {rank - 1}",
            code=SHAPES,
        )
    axis = int(dim) % rank
    rest = [extent for at, extent in enumerate(source.extents) if at != axis]
    if not may_fit(rest, target.extents):
        raise FrontendError(
            f"T.{op_name}: {source.buffer.name} {shape_text(source.extents)} without dimension "
            f"{axis} "
            f"is {shape_text(rest)}, but {target.buffer.name} is {shape_text(target.extents)}: "
            "reduce another dimension, or make the destination fit",
            code=SHAPES,
        )
    effect(
        ReduceOp(
            source.operand(),
            target.operand(),
            kind,
            axis,
            clear=bool(clear),
            nan_propagate=bool(nan_propagate),
        )
    )


def reduce_sum(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> None:
    """Add up along a dimension; with ``clear=False`` onto `out`."""
    del batch, annotations  # how many rows are combined at once is the compiler's choice
    _reduce("sum", buffer, out, dim, clear)


def reduce_max(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> None:
    """The largest along a dimension; with ``clear=False`` of `out` too."""
    del batch, annotations
    _reduce("max", buffer, out, dim, clear, nan_propagate)


def reduce_min(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> None:
    """The smallest along a dimension; with ``clear=False`` of `out` too."""
    del batch, annotations
    _reduce("min", buffer, out, dim, clear, nan_propagate)


def reduce_absmax(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> None:
    """The largest magnitude along a dimension."""
    del batch, annotations
    _reduce("absmax", buffer, out, dim, clear, nan_propagate)


def reduce_abssum(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> None:
    """The sum of magnitudes along a dimension."""
    del batch, annotations
    _reduce("abssum", buffer, out, dim, clear)


def reduce_bitand(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> None:
    """The bits that all elements along a dimension have."""
    del batch, annotations
    _reduce("bitand", buffer, out, dim, clear)


def reduce_bitor(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> None:
    """The bits that any element along a dimension has."""
    del batch, annotations
    _reduce("bitor", buffer, out, dim, clear)


def reduce_bitxor(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    annotations: Any = None,
) -> None:
    """The bits that an odd number of elements along a dimension have."""
    del batch, annotations
    _reduce("bitxor", buffer, out, dim, clear)


def reduce(
    buffer: Any,
    out: Any,
    reduce_type: str,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> None:
    """Combine along a dimension: sum, max, min, absmax, abssum, bitand, bitor, bitxor."""
    del batch, annotations
    _reduce(reduce_type, buffer, out, dim, clear, nan_propagate)


def cumsum(src: Any, dst: Any = None, dim: int = 0, reverse: bool = False) -> None:
    """Running sums along a dimension, in place without `dst`."""
    _scan("cumsum", "sum", src, dst, dim, reverse)


def cummax(src: Any, dst: Any = None, dim: int = 0, reverse: bool = False) -> None:
    """Running maxima along a dimension, in place without `dst`."""
    _scan("cummax", "max", src, dst, dim, reverse)


def _scan(op_name: str, kind: str, src: Any, dst: Any, dim: int, reverse: bool) -> None:
    open_kernel(f"T.{op_name}")
    source = region(op_name, "the source", src)
    target = source if dst is None else region(op_name, "the destination", dst)
    rank = len(source.extents)
    if not is_python_scalar(dim) or not -rank <= int(dim) < rank:
        raise FrontendError(
            f"T.{op_name}: dim {describe(dim)} is outside of {source.buffer.name}, which has "
            f"{rank} dimension{'s' if rank > 1 else ''}: use {-rank} to {rank - 1}",
            code=SHAPES,
        )
    if not may_fit(source.extents, target.extents):
        raise FrontendError(
            f"T.{op_name}: {source.buffer.name} is {shape_text(source.extents)}, but "
            f"{target.buffer.name} is {shape_text(target.extents)}",
            code=SHAPES,
        )
    effect(ScanOp(source.operand(), target.operand(), kind, int(dim) % rank, reverse=reverse))
