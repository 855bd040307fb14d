"""The loops a user writes: ``for i in T.serial(8)`` and its relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute

from tilewright.frontend.errors import FrontendError
from tilewright.language.T.expressions import Expr, is_python_scalar
from tilewright.language.T.hints import attributes_of
from tilewright.language.T.kernel_warnings import warn
from tilewright.language.T.layouts import loop_layout_attribute
from tilewright.language.T.loop_forms import (
    BAD_ARGUMENT,
    Grid,
    Serial,
    as_sequence,
    integer_attribute,
    mark,
)
from tilewright.language.T.loop_forms import (
    Parallel as _Parallel,
)
from tilewright.language.T.loop_forms import Persistent as _Persistent
from tilewright.language.T.loop_forms import Pipelined as _Pipelined


def serial(
    start: Any, stop: Any = None, step: Any = None, *, annotations: Mapping[str, Any] | None = None
) -> Serial:
    """A loop whose iterations run sequentially."""
    return Serial(start, stop, step, attributes=attributes_of(annotations))


def grid(*extents: Any) -> Grid:
    """Serial loops in one another, for all points of a box."""
    return Grid(extents)


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> Serial:
    """A loop that becomes straight code, `explicit` by this compiler, else by the device's."""
    if explicit and unroll_factor is not None:
        raise FrontendError(
            "T.unroll: explicit and unroll_factor are mutually exclusive: explicit unrolling "
            f"is complete. Remove explicit=True or unroll_factor={unroll_factor}",
            code=BAD_ARGUMENT,
        )
    attributes: dict[str, Attribute] = {**attributes_of(annotations), **mark("tile.unroll")}
    if explicit:
        attributes.update(mark("tile.unroll_explicit"))
    if unroll_factor is not None:
        attributes.update(integer_attribute("tile.unroll_factor", unroll_factor))
    return Serial(start, stop, step, op_name="unroll", attributes=attributes)


def vectorized(
    start: Any, stop: Any = None, *, annotations: Mapping[str, Any] | None = None
) -> Serial:
    """An innermost loop that must become vector accesses."""
    attributes = {**attributes_of(annotations), **mark("tile.vectorize")}
    return Serial(start, stop, op_name="vectorized", attributes=attributes)


def Parallel(
    *extents: Any,
    coalesced_width: int | None = None,
    loop_layout: Any = None,
    prefer_async: bool | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> _Parallel:
    """All points of a box: element-wise work for all threads of the block, in any order."""
    options: dict[str, Any] = {
        "coalesced_width": coalesced_width,
        "layout": loop_layout_attribute(loop_layout, extents),
        "prefer_async": prefer_async,
        "attributes": attributes_of(annotations),
    }
    return _Parallel(extents, options)


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: Any = 0,
    order: Sequence[int] | None = None,
    stage: Sequence[int] | None = None,
    sync: Sequence[Sequence[int]] | None = None,
    group: Sequence[Sequence[int]] | None = None,
    *,
    annotations: Mapping[str, Any] | None = None,
) -> _Pipelined:
    """A serial loop that may be pipelined; the results are those of the serial loop."""
    if num_stages is None or isinstance(num_stages, Expr) or not is_python_scalar(num_stages):
        raise FrontendError(
            f"T.Pipelined: num_stages must be an integer, got {num_stages!r}", code=BAD_ARGUMENT
        )
    if num_stages < 0:
        raise FrontendError(
            f"T.Pipelined: num_stages cannot be negative, got {num_stages}", code=BAD_ARGUMENT
        )
    if group:
        warn("T.Pipelined: group is deprecated and ignored")
    _check_lists(stage, order)
    options: dict[str, Any] = {
        "num_stages": int(num_stages),
        "order": list(order) if order else None,
        "stage": list(stage) if stage else None,
        "sync": [list(each) for each in sync] if sync else None,
        "attributes": attributes_of(annotations),
    }
    return _Pipelined(start, stop, options)


def _check_lists(stage: Sequence[int] | None, order: Sequence[int] | None) -> None:
    """The user's schedule, as far as it can be wrong without its statements."""
    if bool(stage) != bool(order):
        there, missing = ("stage", "order") if stage else ("order", "stage")
        raise FrontendError(
            f"T.Pipelined: {there} is given without {missing}: a schedule has both, one entry for "
            "each statement of the loop, or num_stages alone",
            code=BAD_ARGUMENT,
        )
    if not stage or not order:
        return
    if len(stage) != len(order):
        raise FrontendError(
            f"T.Pipelined: stage has {len(stage)} entries and order has {len(order)}: both have "
            "one for each statement of the loop",
            code=BAD_ARGUMENT,
        )
    positions = [position for position in order if position != -1]
    if len(set(positions)) < len(positions):
        raise FrontendError(
            f"T.Pipelined: order has duplicates: {list(order)} is not a "
            f"permutation of 0 to {len(order) - 1}",
            code=BAD_ARGUMENT,
        )


def Persistent(
    domain: Sequence[Any], wave_size: Any, index: Any, group_size: int = 8
) -> _Persistent:
    """The tiles of a domain that fall to worker `index` of `wave_size`."""
    return _Persistent(as_sequence(domain), wave_size, index, group_size)
