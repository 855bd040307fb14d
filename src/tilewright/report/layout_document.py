"""What the layouts of a kernel are, ready to be drawn: after `infer-layouts` has decided them.

A `Drawing` is one buffer or one parallel loop: what it is, where the user wrote it, properties as
text, and a `Diagram` of its cells. Three kinds of cells:

- *fragment*: an element; which thread owns it, in which register
- *shared*: 16 bytes of a row (or one element, if the layout tears those apart); at which byte they
  are, and in which bank that is
- *loop*: an iteration; which thread runs it, and as which of its iterations

Threads are counted from the first of those that run the code: a role has its own thread 0.

A kernel of `tl` or `tlx` that was raised to tiles has neither buffers nor loops of its own: its
fragments are values, shown where they are computed, and its loops are element-wise operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, GemmOp, KernelOp, ParallelOp
from tilewright.dialects.tile.attributes import FragmentAttr, LayoutAttr
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.mixed import integers
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import resolve
from tilewright.ir.traversal import walk
from tilewright.layouts.diagram import BANK_BYTES, BANKS, Diagram, draw
from tilewright.memory.units import element_bytes
from tilewright.passes.raising.function import GRID

Kind: TypeAlias = Literal["fragment", "shared", "loop"]

CHUNK_BYTES = 16
"""What one access of a thread, or one row of an ``ldmatrix``, takes: four banks."""
CHUNK_ROWS = 8
"""Rows that an ``ldmatrix`` takes at once."""
MAX_GRIDS = 4
"""Tiles of a buffer with more than two dimensions that are drawn."""
_OF_WAVES = ("mfma", "wmma")
"""Matrix instructions of AMD GPUs, whose waves have 64 or 32 lanes."""


@dataclass(frozen=True)
class Limits:
    """How many rows and columns of a grid are drawn."""

    rows: int = 16
    columns: int = 32


@dataclass(frozen=True)
class Drawing:
    """One buffer, or one parallel loop."""

    name: str
    kind: Kind
    file: str
    line: int
    properties: tuple[str, ...]
    diagram: Diagram | None
    """None if it is the same as that of `like`."""
    like: str = ""

    @property
    def source(self) -> str:
        return f"{self.file}:{self.line}" if self.line else ""

    @property
    def heading(self) -> str:
        """``C_local: fragment``; a loop has its header as name."""
        return self.name if self.kind == "loop" else f"{self.name}: {self.kind}"


@dataclass(frozen=True)
class KernelLayouts:
    """All diagrams of a kernel."""

    kernel: str
    target: str
    threads: int
    gemms: tuple[str, ...]
    drawings: tuple[Drawing, ...]


def layouts_of(kernel: KernelOp, target: str, limits: Limits) -> KernelLayouts:
    """The layouts of a kernel that has gone through `infer-layouts`."""
    function = kernel.parent_op()
    name = function.sym_name.data if isinstance(function, FuncOp) else "kernel"
    seen: dict[Table, str] = {}
    drawings: list[Drawing] = []
    starts = _first_uses(kernel) if _is_raised(function) else {}
    for op in walk(kernel):
        if isinstance(op, AllocOp) and isinstance(op.layout, FragmentAttr):
            where = starts.get(op, op)
            drawings.append(_fragment(op, where, Table.from_map(op.layout.data), limits, seen))
        elif isinstance(op, AllocOp) and op.space.is_shared:
            drawings.append(_shared(op, limits))
        elif isinstance(op, ParallelOp) and isinstance(op.layout, FragmentAttr):
            title = _title(op, is_raised=bool(starts))
            drawings.append(_loop(op, title, Table.from_map(op.layout.data), limits, seen))
    # A pipelined loop and its epilogue contain the same GEMM.
    gemms = dict.fromkeys(_gemm_line(op) for op in walk(kernel) if isinstance(op, GemmOp))
    return KernelLayouts(name, target, kernel.num_threads or 0, tuple(gemms), tuple(drawings))


def _is_raised(function: Operation | None) -> bool:
    """Whether a kernel was written on pointers: it takes its grid as arguments."""
    if not isinstance(function, FuncOp) or not function.body.blocks:
        return False
    names = {argument.name_hint for argument in function.body.block.args}
    return names.issuperset(GRID)


def _first_uses(kernel: KernelOp) -> dict[Operation, Operation]:
    """The op that computes the values of each buffer first."""
    found: dict[Operation, Operation] = {}
    for op in walk(kernel):
        for operand in op.operands:
            if isinstance(operand.owner, AllocOp):
                found.setdefault(operand.owner, op)
    return found


# -- threads and registers -----------------------------------------------------------------------


def _fragment(
    op: AllocOp, where: Operation, table: Table, limits: Limits, seen: dict[Table, str]
) -> Drawing:
    user = next((use.operation for use in op.result.uses), op)
    copies = f", {table.replicas} threads own each element" if table.replicas > 1 else ""
    lines = (
        f"{_sizes(table.shape)} of {_dtype(op)}: {table.num_threads} threads x "
        f"{_counted(table.num_registers, 'register')}{copies}{_role(user)}",
        _formula(op.layout, "register"),
    )
    return _tabled(op.buffer_name, "fragment", where, lines, table, limits, seen)


def _title(op: ParallelOp, *, is_raised: bool) -> str:
    """The header of a loop as it is written, or what it comes from."""
    if is_raised:
        return "element-wise operation"
    names = [each.name_hint or "" for each in op.body.block.args]
    is_written = all(name and not name.startswith("arg") for name in names)
    return f"for {', '.join(names)} in T.Parallel" if is_written else "tile operation"


def _loop(
    op: ParallelOp, title: str, table: Table, limits: Limits, seen: dict[Table, str]
) -> Drawing:
    line = _position(op)[1]
    copies = f", each by {table.replicas} threads" if table.replicas > 1 else ""
    lines = (
        f"{_sizes(table.shape)} iterations: {table.num_threads} threads x "
        f"{_counted(table.num_registers, 'iteration')} each{copies}{_role(op)}",
        _formula(op.layout, "iteration"),
    )
    return _tabled(f"{title}, line {line}", "loop", op, lines, table, limits, seen)


def _tabled(
    name: str,
    kind: Kind,
    op: Operation,
    lines: tuple[str, ...],
    table: Table,
    limits: Limits,
    seen: dict[Table, str],
) -> Drawing:
    file, line = _position(op)
    like = seen.get(table, "")
    if like:
        return Drawing(name, kind, file, line, lines, None, like)
    seen[table] = name
    return Drawing(name, kind, file, line, lines, table_diagram(table, kind, limits))


def table_diagram(table: Table, kind: Kind, limits: Limits) -> Diagram:
    """The cells of a fragment or of a loop."""
    unit = "iteration" if kind == "loop" else "register"

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        owners, register = table.owners[point], int(table.registers[point])
        more = f"+{len(owners) - 1}" if len(owners) > 1 else ""
        return f"{int(owners[0])}:{register}{more}", int(owners[0])

    legend = f"thread:{unit}" + ("+further threads" if table.replicas > 1 else "")
    return _cut(table.shape, label, legend, limits)


# -- bytes and banks -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bytes:
    """Byte offsets of the elements of one version of a shared buffer."""

    at: np.ndarray
    """Byte of each element."""
    size: int
    """Bytes of an element."""

    @property
    def chunk(self) -> int:
        """Columns of a cell: 16 bytes, if they stay together everywhere; else one element."""
        count = CHUNK_BYTES // self.size if self.size else 1
        columns = self.at.shape[-1]
        if count < 2 or columns % count:
            return 1
        runs = self.at.reshape(*self.at.shape[:-1], columns // count, count)
        together = runs == runs[..., :1] + np.arange(count) * self.size
        return count if together.all() and (runs[..., 0] % CHUNK_BYTES == 0).all() else 1

    def ways(self) -> int | None:
        """How many of 8 consecutive rows share a bank, at worst; None if there are fewer rows."""
        width = self.chunk
        if width == 1 or self.at.ndim < 2 or self.at.shape[-2] % CHUNK_ROWS:
            return None
        groups = self.at[..., ::width] // CHUNK_BYTES % CHUNK_ROWS
        rows, columns = groups.shape[-2:]
        stacked = groups.reshape(-1, rows // CHUNK_ROWS, CHUNK_ROWS, columns)
        counts = [(stacked == group).sum(axis=2).max() for group in range(CHUNK_ROWS)]
        return int(max(counts))


def _shared(op: AllocOp, limits: Limits) -> Drawing:
    shape = shape_of(op.result.type)
    versions = shape[0] if _is_ring(op.result) and len(shape) > 1 else 1
    inner = shape[1:] if versions > 1 else shape
    found = _bytes_of(op, shape)
    first = _Bytes(found.at[0] if versions > 1 else found.at, found.size)
    width = first.chunk
    total = prod(shape) * found.size
    copies = f"{versions} versions of " if versions > 1 else ""
    lines = [f"{copies}{_sizes(inner)} of {_dtype(op)}: {total} bytes, {_pattern(op)}"]
    if isinstance(op.layout, LayoutAttr):
        lines.append(_formula(op.layout, "place"))
    chip = amd_chip_of(op)
    banks = BANKS if chip is None else chip.lds_banks
    if chip is None and (ways := first.ways()) is not None:
        conflict = "no bank conflict" if ways == 1 else f"{ways}-way bank conflict"
        lines.append(f"{CHUNK_ROWS} consecutive rows, as read by ldmatrix: {conflict}")

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        *outer, column = point
        at = int(first.at[(*outer, column * width)])
        return f"{at}/{at // BANK_BYTES % banks}", at // CHUNK_BYTES % (banks // 4)

    what = f"{width} elements, {CHUNK_BYTES} bytes" if width > 1 else "element"
    grid = _cells(inner, width)
    file, line = _position(op)
    grid_shown = _cut(grid, label, f"byte/bank of each {what}", limits)
    return Drawing(op.buffer_name, "shared", file, line, tuple(lines), grid_shown)


def _cells(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """The shape of a grid whose cells are `chunk` columns wide."""
    *above, columns = shape
    return (*above, columns // width)


def _bytes_of(op: AllocOp, shape: tuple[int, ...]) -> _Bytes:
    size = element_bytes(bit_width(element_type_of(op.result.type)))
    layout = op.layout
    map = layout.data if isinstance(layout, LayoutAttr) else LayoutMap.row_major(shape)
    offsets = [np.broadcast_to(each, shape) for each in map.evaluate(*np.indices(shape))]
    flat = np.zeros(shape, dtype=np.int64)
    for each in offsets:
        flat = flat * (int(each.max()) + 1) + each
    return _Bytes(flat * size, size)


def _is_ring(buffer: SSAValue) -> bool:
    return any(isinstance(use.operation, SlotOp) for use in buffer.uses)


def _pattern(op: AllocOp) -> str:
    swizzle = op.attributes.get(nv_names.SWIZZLE)
    if isinstance(swizzle, IntegerAttr):
        return f"swizzle of {swizzle.value.data} bytes"
    if op.layout is None:
        return "row-major"
    # On AMD GPUs the compiler's own layouts have no name.
    return "user-specified layout" if amd_chip_of(op) is None else "placed as follows"


# -- text ----------------------------------------------------------------------------------------


def _cut(
    shape: Sequence[int],
    label: Callable[[tuple[int, ...]], tuple[str, int]],
    legend: str,
    limits: Limits,
) -> Diagram:
    """A diagram of at most `MAX_GRIDS` grids; outer coordinates beyond stay at their first."""
    whole = tuple(shape)
    outer = whole[:-2]
    keep = len(outer)
    while keep and prod(outer[:keep]) > MAX_GRIDS:
        keep -= 1
    fixed = (0,) * (len(outer) - keep)
    shown = (*outer[:keep], *whole[-2:])

    def cell(point: tuple[int, ...]) -> tuple[str, int]:
        return label((*point[:keep], *fixed, *point[keep:]))

    more = prod(outer[keep:])
    rest = f"; the first of {more} tiles" if more > 1 else ""
    return draw(shown, cell, "", legend + rest, limits.rows, limits.columns)


def _gemm_line(op: GemmOp) -> str:
    instruction = op.attributes.get(simt_names.INSTRUCTION)
    name = instruction.data if isinstance(instruction, StringAttr) else "?"
    m, n, k = op.mnk
    shape, warps = (op.attributes.get(each) for each in (simt_names.SHAPE, simt_names.WARPS))
    if shape is None or warps is None:
        return f"line {_position(op)[1]}: {m} x {n} x {k}"
    down, across = integers(warps)  # pyright: ignore[reportArgumentType]
    one = " x ".join(map(str, integers(shape)))  # pyright: ignore[reportArgumentType]
    unit = "waves" if name in _OF_WAVES else "warps"
    return (
        f"line {_position(op)[1]}: {m} x {n} x {k} by {name} {one}, "
        f"{down * across} {unit} as {down} x {across}"
    )


def _role(op: Operation) -> str:
    """Which threads are meant, where the kernel has several roles."""
    inner, outer = op, op.parent_op()
    while outer is not None and not isinstance(outer, KernelOp):
        if isinstance(outer, WsOp):
            threads = threads_of(op)
            index = next(
                value
                for value, region in enumerate(outer.regions)
                if inner.parent_region() is region
            )
            last = threads.first + threads.count - 1
            return f", of role {outer.roles[index].name} (threads {threads.first} to {last})"
        inner, outer = outer, outer.parent_op()
    return ""


def _formula(layout: object, last: str) -> str:
    if isinstance(layout, FragmentAttr):
        text = str(layout.data)
        return text.replace(" index (", f" {last} (")
    return str(layout.data) if isinstance(layout, LayoutAttr) else ""


def _dtype(op: AllocOp) -> str:
    stated = op.attributes.get("dtype") or op.properties.get("dtype")
    return stated.data if isinstance(stated, StringAttr) else str(element_type_of(op.result.type))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _sizes(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _position(op: Operation) -> tuple[str, int]:
    position = resolve(op.location).primary
    return ("", 0) if position is None else (position.file, position.line)


def selected(
    kernels: Sequence[KernelLayouts], buffer: str | None, line: int | None
) -> tuple[KernelLayouts, ...]:
    """The kernels with the diagrams that were requested; raises `LookupError` if there are none."""
    found: list[KernelLayouts] = []
    for kernel in kernels:
        drawings = tuple(each for each in kernel.drawings if _is_selected(each, buffer, line))
        if drawings:
            whole = tuple(_drawn(each, kernel.drawings, drawings) for each in drawings)
            found.append(
                KernelLayouts(kernel.kernel, kernel.target, kernel.threads, kernel.gemms, whole)
            )
    if not found:
        known = dict.fromkeys(
            each.name for kernel in kernels for each in kernel.drawings if each.kind != "loop"
        )
        what = (
            f"no buffer '{buffer}'"
            if buffer is not None
            else f"nothing with a layout in line {line}"
        )
        raise LookupError(f"{what}; the buffers are {', '.join(known) or 'none'}")
    return tuple(found)


def _is_selected(drawing: Drawing, buffer: str | None, line: int | None) -> bool:
    is_named = buffer is None or (drawing.kind != "loop" and drawing.name == buffer)
    return is_named and (line is None or drawing.line == line)


def _drawn(drawing: Drawing, all: Sequence[Drawing], selection: Sequence[Drawing]) -> Drawing:
    """`drawing` with a diagram of its own, if the one it refers to is left out."""
    if drawing.diagram is not None or any(each.name == drawing.like for each in selection):
        return drawing
    source = next(each for each in all if each.name == drawing.like and each.diagram is not None)
    return Drawing(
        drawing.name, drawing.kind, drawing.file, drawing.line, drawing.properties, source.diagram
    )
