"""Fragments and layouts of memory from layouts over bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import Layout
from tilewright.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout

BitColumns = list[tuple[int, int, int]]
"""Axis, value of a bit of that coordinate, and what the bit adds."""


def fragment_from_linear(layout: LinearLayout) -> Fragment:
    """A register layout over bits: bits of lanes and warps that move nothing are replicas."""
    lanes = layout.in_size(LANE)
    register, lane, warp = (_bit_columns(layout, name) for name in (REGISTER, LANE, WARP))
    kernel = [_thread_change(vector, lanes) for vector in layout.without_copies().kernel()]
    rank = len(layout.out_dims)

    def thread(*index: Any) -> Any:
        found = _index_from_bits(lane, index) + lanes * _index_from_bits(warp, index)
        for bit, change in enumerate(kernel):
            found = found ^ index[rank] // (1 << bit) % 2 * change
        return found

    return Fragment(
        layout.out_shape, thread, lambda *index: _index_from_bits(register, index), 1 << len(kernel)
    )


def _bit_columns(layout: LinearLayout, name: str) -> BitColumns:
    """How bits of an element's coordinates make the number of its register, lane or warp."""
    if name not in layout.in_names:
        return []
    position = layout.in_names.index(name)
    inverse = layout.pseudo_inverse()
    return [
        (axis, 1 << bit, basis[position])
        for axis, dim in enumerate(layout.out_names)
        for bit, basis in enumerate(inverse.bases_of(dim))
        if basis[position]
    ]


def _index_from_bits(columns: BitColumns, index: Sequence[Any]) -> Any:
    found: Any = 0
    for axis, value, column in columns:
        found = found ^ index[axis] // value % 2 * column
    return found


def _thread_change(vector: dict[str, int], lanes: int) -> int:
    if vector.get(REGISTER, 0) or vector.get(BLOCK, 0):
        raise ValueError("replicas of an element are in different registers or in different CTAs")
    return vector.get(LANE, 0) + lanes * vector.get(WARP, 0)


def layout_from_linear(layout: LinearLayout) -> Layout:
    """A shared-memory layout over bits (offset to element) as a map from element to offset."""
    inverse = layout.sublayout([OFFSET], layout.out_names).pseudo_inverse()
    columns = {name: [b[0] for b in inverse.bases_of(name)] for name in inverse.in_names}
    names = layout.out_names

    def forward(*index: Any) -> Any:
        offset: Any = 0
        for name, coordinate in zip(names, index, strict=True):
            for bit, column in enumerate(columns[name]):
                offset = offset ^ coordinate // (1 << bit) % 2 * column
        return offset

    return Layout(layout.out_shape, forward)
