"""Diagrams of fragments and layouts: owners of elements, offsets and banks."""

from __future__ import annotations

from tests.oracles.layouts.from_linear import layout_from_linear
from tilewright.layouts.diagram import BANK_BYTES, BANKS, MAX_COLUMNS, MAX_ROWS, Diagram, draw
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import Layout
from tilewright.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout


def fragment_diagram(
    fragment: Fragment, max_rows: int = MAX_ROWS, max_columns: int = MAX_COLUMNS
) -> Diagram:
    """Threads and registers; an element with replicas shows the first and how many more."""

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        owners = sorted(set(fragment.owners(*point)))
        thread, register = owners[0]
        more = f"+{len(owners) - 1}" if len(owners) > 1 else ""
        return f"{thread}:{register}{more}", thread

    legend = "thread:register" + ("+further owners" if fragment.replicas > 1 else "")
    return draw(fragment.shape, label, str(fragment), legend, max_rows, max_columns)


def layout_diagram(
    layout: Layout,
    element_bits: int = 32,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> Diagram:
    """Offsets in memory, coloured by bank."""

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        offset = layout.offset(*point)
        return str(offset), offset * element_bits // 8 // BANK_BYTES % BANKS

    legend = "offset in elements, coloured by bank"
    return draw(layout.shape, label, str(layout), legend, max_rows, max_columns)


def linear_diagram(
    layout: LinearLayout,
    element_bits: int = 32,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> Diagram:
    """A layout over bits: threads and registers, or offsets if it has those."""
    if OFFSET in layout.in_names:
        return layout_diagram(layout_from_linear(layout), element_bits, max_rows, max_columns)
    owners: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for inputs, point in layout.points():
        thread = inputs.get(LANE, 0) + layout.in_size(LANE) * inputs.get(WARP, 0)
        owner = (inputs.get(BLOCK, 0), thread, inputs.get(REGISTER, 0))
        owners.setdefault(point, []).append(owner)
    clusters = layout.in_size(BLOCK) > 1

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        found = sorted(owners.get(point, []))
        if not found:
            return "·", 0
        block, thread, register = found[0]
        more = f"+{len(found) - 1}" if len(found) > 1 else ""
        prefix = f"{block}/" if clusters else ""
        return f"{prefix}{thread}:{register}{more}", thread

    sizes = " x ".join(map(str, layout.out_shape))
    legend = ("CTA/" if clusters else "") + "thread:register"
    return draw(layout.out_shape, label, sizes, legend, max_rows, max_columns)


def difference_diagram(one: Fragment, other: Fragment, names: tuple[str, str]) -> Diagram:
    """Two fragments in one grid: elements that both give to the same thread are a dot."""
    if one.shape != other.shape:
        raise ValueError(f"{list(one.shape)} and {list(other.shape)} are different tiles")

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        first, second = (min(f.owners(*point)) for f in (one, other))
        if first == second:
            return "·", 0
        return f"{first[0]}:{first[1]}≠{second[0]}:{second[1]}", 1

    legend = f"thread:register by {names[0]} ≠ by {names[1]}"
    return draw(one.shape, label, "difference", legend, 16, 16)
