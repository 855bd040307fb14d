"""Pictures of layouts, as text and as cells."""

from __future__ import annotations

from tests.oracles.layouts.diagrams import (
    difference_diagram,
    fragment_diagram,
    layout_diagram,
    linear_diagram,
)
from tilewright.layouts.encodings import Blocked, NvidiaMma, Slice, SwizzledShared
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.mma_sync import mma_c
from tilewright.layouts.index_map import Layout


def test_a_fragment():
    diagram = fragment_diagram(mma_c(), max_rows=2)
    assert diagram.text() == (
        "Fragment(16 x 8 -> 32 threads x 4)   (thread:register)\n"
        "     0   1   2   3   4   5   6   7\n"
        "0  0:0 0:1 1:0 1:1 2:0 2:1 3:0 3:1\n"
        "1  4:0 4:1 5:0 5:1 6:0 6:1 7:0 7:1\n"
        "… 14 more rows\n"
    )
    cell = diagram.grids[0].cells[11]
    assert (cell.row, cell.column, cell.label, cell.colour) == (1, 3, "5:1", 5)


def test_replicas_are_counted():
    every = Fragment.replicated((2,), 4)
    assert fragment_diagram(every).text() == (
        "Fragment(2 -> 4 threads x 2, 4 replicas)   (thread:register+further owners)\n"
        "       0     1\n"
        "0  0:0+3 0:1+3\n"
    )


def test_offsets_are_coloured_by_bank():
    diagram = layout_diagram(Layout((2, 4), lambda i, j: (i, j ^ i)), element_bits=64)
    assert diagram.text() == (
        "Layout(2 x 4 -> 2 x 4)   (offset in elements, coloured by bank)\n"
        "   0 1 2 3\n"
        "0  0 1 2 3\n"
        "1  5 4 7 6\n"
    )
    assert [cell.colour for cell in diagram.grids[0].cells] == [0, 2, 4, 6, 10, 8, 14, 12]


def test_layouts_over_bits():
    registers = Slice(1, NvidiaMma((2, 0), (1, 1), (16, 8))).to_linear([16])
    assert linear_diagram(registers, max_columns=4).text() == (
        "16   (thread:register)\n"
        "        0      1      2      3\n"
        "0   0:0+3  4:0+3  8:0+3 12:0+3\n"
        "… 12 more columns\n"
    )
    assert [cell.label for cell in linear_diagram(registers).grids[0].cells][8:10] == [
        "0:1+3",
        "4:1+3",
    ]
    shared = SwizzledShared(1, 1, 2, (1, 0)).to_linear([2, 2])
    assert linear_diagram(shared).grids[0].text() == "   0 1\n0  0 1\n1  3 2"


def test_clusters_and_leading_dimensions():
    layout = Blocked((1, 1), (1, 32), (1, 1), (1, 0), ((1, 0),)).to_linear([2, 32])
    diagram = linear_diagram(layout, max_columns=2)
    assert diagram.legend == "CTA/thread:register"
    assert [cell.label for cell in diagram.grids[0].cells] == ["0/0:0", "0/1:0", "1/0:0", "1/1:0"]
    stacked = layout_diagram(Layout.row_major((2, 1, 2)))
    assert [grid.title for grid in stacked.grids] == ["[0, …]", "[1, …]"]
    assert stacked.grids[1].cells[1].label == "3"


def test_differences_name_both_sides():
    one = Fragment((2, 2), lambda i, j: i, lambda i, j: j)
    other = Fragment((2, 2), lambda i, j: i ^ j, lambda i, j: j)
    diagram = difference_diagram(one, other, ("the GEMM", "the loop"))
    assert diagram.text() == (
        "difference   (thread:register by the GEMM ≠ by the loop)\n"
        "         0       1\n"
        "0        · 0:1≠1:1\n"
        "1        · 1:1≠0:1\n"
    )
