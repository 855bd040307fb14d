"""Layouts as data for pictures: who holds what, which bytes lie in which bank."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tilewright.dialects import make_context
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk
from tilewright.report import layout_html, layout_svg, layout_text
from tilewright.report.layout_document import (
    Drawing,
    KernelLayouts,
    Limits,
    layouts_of,
    selected,
)

HEAD = """
#f = #tile.space<fragment>
#s = #tile.space<shared>
"""


def drawn(*body: str, limits: Limits | None = None, threads: int = 32) -> KernelLayouts:
    """The layouts of a kernel with these lines."""
    lines = "\n".join(f"    {line}" for line in body)
    text = (
        f"{HEAD}func.func @k(%v: f32, %i: index) {{\n"
        f"  tile.kernel (%x) in (1) threads({threads}) {{\n{lines}\n  }}\n  func.return\n}}\n"
    )
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine, keep_names=True)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    (kernel,) = (op for op in walk(source.module) if isinstance(op, KernelOp))
    return layouts_of(kernel, "cuda:sm_90a", limits or Limits())


def labels(drawing: Drawing, grid: int = 0) -> list[list[str]]:
    assert drawing.diagram is not None
    found = drawing.diagram.grids[grid]
    flat = [cell.label for cell in found.cells]
    return [flat[row * found.columns : (row + 1) * found.columns] for row in range(found.rows)]


COLUMNS = "layout #tile.fragment<(i : 2, j : 4) -> thread (j) index (i)>"


def test_fragments_show_thread_and_register():
    layouts = drawn(f'%C = tile.alloc "C" {COLUMNS} : memref<2x4xf32, #f>')
    (drawing,) = layouts.drawings
    assert (layouts.kernel, layouts.threads, layouts.gemms) == ("k", 32, ())
    assert (drawing.name, drawing.kind, drawing.heading) == ("C", "fragment", "C: fragment")
    assert drawing.source == "kernel.mlir:6"
    assert labels(drawing) == [["0:0", "1:0", "2:0", "3:0"], ["0:1", "1:1", "2:1", "3:1"]]
    assert drawing.properties[0] == "2 x 4 of f32: 4 threads x 2 registers"
    assert drawing.properties[1] == "(i : 2, j : 4) -> thread (j) register (i)"


def test_replicas_are_counted():
    copied = "layout #tile.fragment<(i : 4) replicate (r : 8) -> thread (i + r * 4) index (0)>"
    (drawing,) = drawn(f'%C = tile.alloc "C" {copied} : memref<4xf32, #f>').drawings
    assert labels(drawing) == [["0:0+7", "1:0+7", "2:0+7", "3:0+7"]]
    assert "8 threads own each element" in drawing.properties[0]
    assert drawing.diagram is not None
    assert drawing.diagram.legend == "thread:register+further threads"


def test_plain_rows_of_128_bytes_put_a_column_into_one_bank():
    (drawing,) = drawn('%A = tile.alloc "A" : memref<8x64xf16, #s>').drawings
    rows = labels(drawing)
    assert rows[0] == [f"{16 * piece}/{4 * piece}" for piece in range(8)]
    assert [row[0] for row in rows] == [f"{128 * row}/0" for row in range(8)]
    assert drawing.properties == (
        "8 x 64 of f16: 1024 bytes, row-major",
        "8 consecutive rows, as read by ldmatrix: 8-way bank conflict",
    )


def test_a_swizzle_spreads_a_column_over_all_banks():
    swizzle = (
        "layout #tile.layout<(i : 8, j : 64) -> (i, (j floordiv 8 xor i) * 8 + j mod 8)> "
        "{nv.swizzle = 128 : i64}"
    )
    (drawing,) = drawn(f'%A = tile.alloc "A" {swizzle} : memref<8x64xf16, #s>').drawings
    assert [row[0] for row in labels(drawing)] == [f"{128 * i + 16 * i}/{4 * i}" for i in range(8)]
    assert "swizzle of 128 bytes" in drawing.properties[0]
    assert drawing.properties[-1].endswith("no bank conflict")
    assert drawing.diagram is not None
    assert [cell.colour for cell in drawing.diagram.grids[0].cells[:8]] == list(range(8))


def test_elements_that_are_torn_apart_are_drawn_one_by_one():
    turned = "layout #tile.layout<(i : 4, j : 4) -> (j, i)>"
    (drawing,) = drawn(f'%A = tile.alloc "A" {turned} : memref<4x4xf32, #s>').drawings
    assert labels(drawing)[0] == ["0/0", "16/4", "32/8", "48/12"]
    assert labels(drawing)[1][0] == "4/1"
    assert "user-specified layout" in drawing.properties[0]


def test_rings_show_one_version():
    (drawing,) = drawn(
        '%A = tile.alloc "A" : memref<3x4x8xf32, #s>',
        "%slot = tile.slot %A[%i] : memref<3x4x8xf32, #s> to memref<4x8xf32, #s>",
    ).drawings
    assert drawing.properties[0] == "3 versions of 4 x 8 of f32: 384 bytes, row-major"
    assert len(labels(drawing)) == 4


def test_many_outer_coordinates_are_cut():
    places = "layout #tile.fragment<(i : 8, j : 2, k : 2) -> thread (i) index (j * 2 + k)>"
    (drawing,) = drawn(f'%C = tile.alloc "C" {places} : memref<8x2x2xf32, #f>').drawings
    assert drawing.diagram is not None
    assert len(drawing.diagram.grids) == 1
    assert drawing.diagram.legend.endswith("; the first of 8 tiles")
    few = "layout #tile.fragment<(i : 3, j : 2, k : 2) -> thread (i) index (j * 2 + k)>"
    (drawing,) = drawn(f'%C = tile.alloc "C" {few} : memref<3x2x2xf32, #f>').drawings
    assert [labels(drawing, grid)[1][1] for grid in range(3)] == ["0:3", "1:3", "2:3"]


LOOP = (
    "tile.parallel (%i2, %j) in (2, 4) attributes {layout = #tile.fragment<(i : 2, j : 4) -> "
    "thread (j) index (i)>} {",
    "}",
)


def test_a_loop_with_the_layout_of_a_fragment_refers_to_it():
    layouts = drawn(f'%C = tile.alloc "C" {COLUMNS} : memref<2x4xf32, #f>', *LOOP)
    loop = layouts.drawings[1]
    assert (loop.kind, loop.diagram, loop.like) == ("loop", None, "C")
    assert loop.name == "for i2, j in T.Parallel, line 7"
    assert loop.properties[0] == "2 x 4 iterations: 4 threads x 2 iterations each"
    assert "the same as C" in layout_text.render([layouts])


def test_what_is_selected_has_its_own_picture():
    layouts = drawn(f'%C = tile.alloc "C" {COLUMNS} : memref<2x4xf32, #f>', *LOOP)
    (kernel,) = selected([layouts], None, 7)
    (loop,) = kernel.drawings
    assert labels(loop)[1] == ["0:1", "1:1", "2:1", "3:1"]
    (kernel,) = selected([layouts], "C", None)
    assert [each.name for each in kernel.drawings] == ["C"]
    with pytest.raises(LookupError, match="no buffer 'D'; the buffers are C"):
        selected([layouts], "D", None)


def test_text_says_how_much_is_missing():
    layouts = drawn('%A = tile.alloc "A" : memref<64x64xf32, #s>', limits=Limits(2, 3))
    assert "… 62 more rows, 13 more columns" in layout_text.render([layouts])


def test_names_are_escaped_in_drawings_and_pages():
    layouts = drawn(f'%C = tile.alloc "<b>&" {COLUMNS} : memref<2x4xf32, #f>')
    root = ElementTree.fromstring(layout_svg.render([layouts]))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[5] == "<b>& (1, 1): thread 1, register 1"
    page = layout_html.render([layouts])
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;: fragment" in page


def test_titles_of_cells_say_what_labels_abbreviate():
    layouts = drawn(
        '%A = tile.alloc "A" : memref<8x8xf32, #s>',
        '%C = tile.alloc "C" layout #tile.fragment<(i : 4) replicate (r : 8) -> '
        "thread (i + r * 4) index (0)> : memref<4xf32, #f>",
    )
    svg = layout_svg.render([layouts])
    assert "<title>A (0, 1): byte 16, bank 4</title>" in svg
    assert "<title>C (0, 3): thread 3, register 0, and 7 further threads</title>" in svg
