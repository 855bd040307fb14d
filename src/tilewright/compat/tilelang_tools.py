"""``tilelang.tools``: work and traffic of a kernel, counted; layouts, drawn.

`Analyzer` counts in the traced kernel: multiply-adds of its GEMMs and bytes that its copies
move from and to global memory, times the iterations of the loops around them and the blocks of the
grid. The time is that of the slower of the two on the GPU that is described, at its peak.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import Operation

from tilewright.compat.notices import print_once
from tilewright.dialects.tile import CopyOp, GemmOp, Im2colOp, KernelOp, Space, space_of
from tilewright.dialects.tile.mixed import integers
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.interfaces import constant_value
from tilewright.language.T.layouts import Fragment, Layout

_TERA, _GIGA = 1e12, 1e9


@dataclass(frozen=True)
class AnalysisResult:
    """What a kernel does, and how long it takes at least."""

    total_flops: int
    total_global_bytes: int
    estimated_time: float
    """Seconds."""
    expected_tflops: float | None
    expected_bandwidth_GBps: float


class Analyzer:
    """Counts the work of one kernel."""

    def __init__(self, fn: Any, device: Any) -> None:
        self.fn = fn
        self.device = device
        self.total_flops = 0
        self.total_global_bytes = 0

    def ir_pass(self) -> Analyzer:
        """Count."""
        module = getattr(self.fn, "module", self.fn)
        for op in module.walk():
            if isinstance(op, GemmOp):
                self.total_flops += 2 * _gemm_size(op) * _executions(op)
            elif isinstance(op, (CopyOp, Im2colOp)):
                self.total_global_bytes += _global_bytes(op) * _executions(op)
        return self

    def calculate(self) -> AnalysisResult:
        """The counts, and the time that they take."""
        bandwidth = float(self.device.bandwidth[1]) / 1000
        peak = self.device.peak_tflops
        seconds = self.total_global_bytes / (bandwidth * _GIGA)
        if peak:
            seconds = max(seconds, self.total_flops / (peak * _TERA))
        return AnalysisResult(self.total_flops, self.total_global_bytes, seconds, peak, bandwidth)

    @classmethod
    def analysis(cls, fn: Any, device: Any) -> AnalysisResult:
        """Count and calculate."""
        return cls(fn, device).ir_pass().calculate()


def _gemm_size(op: GemmOp) -> int:
    rows, columns = shape_of(op.c.type)[-2:]
    inner = shape_of(op.a.type)[-2 if op.transpose_a is not None else -1]
    return rows * columns * inner


def _global_bytes(op: CopyOp | Im2colOp) -> int:
    for side in (op.src, op.dst):
        if space_of(side.type) is Space.GLOBAL:
            size = prod(shape_of(op.dst.type if isinstance(op, Im2colOp) else side.type))
            return size * bit_width(cast("Any", element_type_of(side.type))) // 8
    return 0


def _executions(op: Operation) -> int:
    """How many times an op is executed, as far as extents are known."""
    return prod(extent for each in _around(op) for extent in _extents(each))


def _around(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _extents(op: Operation) -> Iterator[int]:
    if isinstance(op, KernelOp):
        yield from (each for each in integers(op.static_grid) if each != DYNAMIC_INDEX)
        return
    ranges = getattr(op, "ranges", None)
    if ranges is not None:
        for lower, upper in ranges:
            if isinstance(lower, int) and isinstance(upper, int):
                yield upper - lower
        return
    if op.name == "scf.for":
        bounds = [constant_value(each) for each in op.operands[:3]]
        if all(isinstance(each, IntegerAttr) for each in bounds):
            first, last, step = (cast("IntegerAttr", each).value.data for each in bounds)
            yield max(0, -(-(last - first) // step))


# -- layouts ---------------------------------------------------------------------------------------

_CELL = 44
_COLOURS = ("#fde0dd", "#c7e9c0", "#c6dbef", "#fee6ce", "#dadaeb", "#d9d9d9", "#fff7bc", "#ccebc5")


def plot_layout(
    layout: Layout | Fragment,
    save_directory: str = "./tmp",
    name: str = "layout",
    colormap: str | None = None,
    verbose: bool = False,
    formats: str = "svg",
    view: str = "input",
    grid_shape: tuple[int, int] | None = None,
) -> None:
    """Draw a layout as a grid in ``save_directory/name.svg``: one cell for each element."""
    if not isinstance(layout, (Layout, Fragment)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"Expected T.Layout or T.Fragment, got {type(layout).__name__}")
    if view != "input":
        raise ValueError(f"view {view!r} is not offered: the grid is that of the elements, 'input'")
    if formats != "svg":
        print_once("layouts are drawn as SVG files; other formats are not written")
    texts = _cells(layout)
    columns = int(layout.shape[-1]) if grid_shape is None else grid_shape[1]
    directory = Path(save_directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.svg").write_text(_grid(texts, columns))
    if verbose:
        print_once(str(layout))


def _cells(layout: Layout | Fragment) -> list[tuple[int, str]]:
    """A colour and a text for each element."""
    if isinstance(layout, Layout):
        found = layout.attribute().data
        locations = [found.evaluate(*point) for point in found.points()]
        return [(int(location[0]), ", ".join(map(str, location))) for location in locations]
    held = layout.attribute().data
    cells: list[tuple[int, str]] = []
    for point in held.points():
        owners = [held.evaluate(*point, replica=each) for each in range(layout.copies)]
        threads = ",".join(f"T{owner}" for owner, _ in owners[:2])
        more = "…" if len(owners) > 2 else ""
        registers = ",".join(map(str, owners[0][1]))
        cells.append((int(owners[0][0]), f"{threads}{more} L{registers}"))
    return cells


def _grid(cells: list[tuple[int, str]], columns: int) -> str:
    rows = -(-len(cells) // columns)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * _CELL}" '
        f'height="{rows * _CELL}" font-family="monospace" font-size="9">'
    ]
    for index, (colour, text) in enumerate(cells):
        x, y = index % columns * _CELL, index // columns * _CELL
        fill = _COLOURS[colour % len(_COLOURS)]
        lines.append(
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}" '
            'stroke="#555555"/>'
            f'<text x="{x + _CELL // 2}" y="{y + _CELL // 2}" text-anchor="middle" '
            f'dominant-baseline="middle">{html.escape(text)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"
