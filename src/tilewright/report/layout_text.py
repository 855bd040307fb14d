"""Layouts for terminals.

::

    matmul_relu for cuda:sm_90a, 256 threads

    GEMMs
      line 29: 64 x 64 x 32 by wgmma 64 x 64 x 16, 4 warps as 4 x 1

    C_local: fragment                                                       gemm_relu.py:22
      64 x 64 of float32: 128 threads x 32 registers
      (i : 64, j : 64) -> thread (...) register (...)
      thread:register
           0    1    2    3
      0  0:0  0:1  1:0  1:1
      1  4:0  4:1  5:0  5:1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from tilewright.report.layout_document import Drawing, KernelLayouts

WIDTH = 96
_INDENT = "  "


def render(kernels: Sequence[KernelLayouts]) -> str:
    """All kernels, one below the other."""
    return "\n".join("\n".join(_kernel(each)) + "\n" for each in kernels)


def drawing_text(drawing: Drawing) -> str:
    """One buffer or loop."""
    return "\n".join(_drawing(drawing)) + "\n"


def _kernel(layouts: KernelLayouts) -> Iterator[str]:
    yield f"{layouts.kernel} for {layouts.target}, {layouts.threads} threads"
    if layouts.gemms:
        yield ""
        yield "GEMMs"
        yield from (f"{_INDENT}{each}" for each in layouts.gemms)
    for drawing in layouts.drawings:
        yield ""
        yield from _drawing(drawing)


def _drawing(drawing: Drawing) -> Iterator[str]:
    source = f"{Path(drawing.file).name}:{drawing.line}" if drawing.line else ""
    gap = max(2, WIDTH - len(drawing.heading) - len(source))
    yield f"{drawing.heading}{' ' * gap}{source}".rstrip()
    for each in drawing.properties:
        yield from wrap(each, WIDTH, initial_indent=_INDENT, subsequent_indent=2 * _INDENT)
    if drawing.diagram is None:
        yield f"{_INDENT}the same as {drawing.like}"
        return
    yield f"{_INDENT}{drawing.diagram.legend}"
    for grid in drawing.diagram.grids:
        yield from (f"{_INDENT}{line}" for line in grid.text().splitlines())
