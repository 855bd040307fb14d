"""Allocators in Triton's own dialect: the shared pool as one buffer, slices as views of it.

    %pool = ttg.local_alloc {alignment = 16 : i32} : () -> !ttg.memdesc<9x8xi8, ...>

    tt.func private @allocate_k1(%shared: !ttg.memdesc<9x8xi8, ...>) -> !ttg.memdesc<4xf64, ...> {
      %part = ttg.memdesc_subslice %shared[3, 0] : ... -> !ttg.memdesc<4x8xi8, ..., 9x8>
      %view = ttg.memdesc_reinterpret %part : ... -> !ttg.memdesc<4xf64, ...>
      tt.return %view : !ttg.memdesc<4xf64, ...>
    }

A dimension of a descriptor is a power of two, except the first where that counts buffers. So a pool
is an array of *rows*, as many bytes each as divide everything in it. A buffer is one tensor if its
size is a power of two and it is known to start at a multiple of 16 bytes, which wide loads and
stores demand: register it with ``alignment=16``. Any other is an array of single elements, of which
the kernel takes element i with ``ttg.memdesc_index``.

Only shared memory is memory here. What is local or persistent to a thread is a value of the kernel,
carried through its loops, and has no allocator; nor has a buffer of no elements a descriptor. A
kernel whose barriers are placed by a pass sees one buffer, so slices are ordered like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np

from tilewright.memory.registry.buffer import CUDABuffer
from tilewright.memory.registry.guards import BYTE_PATTERN, Canary, runs_of
from tilewright.memory.registry.ir_text import ELEMENTS, symbol
from tilewright.memory.registry.layout import Layouts

_SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
_WIDEST_ROW = 16
"""Bytes: no load or store of a thread is wider, and none is less aligned than it is wide."""


@dataclass(frozen=True)
class Pool:
    """A shared pool: `rows` of `row` bytes, at a multiple of `alignment`."""

    rows: int
    row: int
    alignment: int

    @property
    def type(self) -> str:
        return memdesc(f"{self.rows}x{self.row}xi8")

    @property
    def text(self) -> str:
        """The allocation that a kernel starts with."""
        align = max(self.alignment, _WIDEST_ROW)
        return f"%pool = ttg.local_alloc {{alignment = {align} : i32}} : () -> {self.type}"


def memdesc(shape: str, allocated: str = "") -> str:
    """A mutable descriptor; `allocated` is the shape it is part of."""
    part = f", {allocated}" if allocated else ""
    return f"!ttg.memdesc<{shape}, {_SHARED}, #ttg.shared_memory, mutable{part}>"


def pool_of(at: Layouts, alignment: int) -> Pool:
    """The pool of a component whose layout, in bytes, is `at`."""
    extent = at.shared_extent
    if not extent:
        raise ValueError("There is no shared memory to allocate.")
    edges = [edge for window in at.shared.values() for edge in (window.start, window.stop)]
    row = gcd(_WIDEST_ROW, alignment, extent, *edges)
    return Pool(extent // row, row, alignment)


def ttg_allocator(
    buffer: CUDABuffer, at: Layouts, pool: Pool, zero: bool, num_warps: int, region: Pool | None
) -> str:
    """The function that allocates `buffer`; of a child's region, the child's own pool."""
    window = at.shared.get(buffer.name)
    if window is None:
        raise ValueError(
            f"Buffer '{buffer.name}' belongs to a thread: it is a value of the kernel, not memory."
        )
    if window.stop == window.start:
        raise ValueError(f"Buffer '{buffer.name}' is empty, and no descriptor is.")
    element = ELEMENTS[np.dtype(buffer.precision).name]
    is_whole = region is None and _is_whole(buffer, window, pool)
    shape = f"{buffer.size}x{element}" if is_whole else f"{buffer.size}x1x{element}"
    result = memdesc(shape) if region is None else region.type
    body = [*_view(window, pool, result)]
    if zero and is_whole:
        body += _zero_whole(buffer.size, element, result, num_warps)
    elif zero and region is None:
        body += _zero_rows(buffer.size, 1, element, result, num_warps)
    elif zero and region is not None:
        body += _zero_rows(region.rows, region.row, "i8", result, num_warps)
    body.append(f"tt.return %view : {result}")
    head = f"tt.func private @{symbol(buffer.name)}(%shared: {pool.type}) -> {result}"
    return _function(head, body)


def _function(head: str, body: list[str]) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return f"{head} {{\n{lines}\n}}\n"


def _is_whole(buffer: CUDABuffer, window: slice, pool: Pool) -> bool:
    """Whether all of a buffer can be loaded and stored as one tensor."""
    known = gcd(window.start, pool.alignment)
    return buffer.size & (buffer.size - 1) == 0 and known >= min(_WIDEST_ROW, buffer.nbytes)


def _view(window: slice, pool: Pool, result: str) -> Iterator[str]:
    first, rows = window.start // pool.row, (window.stop - window.start) // pool.row
    if rows == pool.rows:
        yield f"%view = ttg.memdesc_reinterpret %shared : {pool.type} -> {result}"
        return
    part = memdesc(f"{rows}x{pool.row}xi8", f"{pool.rows}x{pool.row}")
    yield f"%part = ttg.memdesc_subslice %shared[{first}, 0] : {pool.type} -> {part}"
    yield f"%view = ttg.memdesc_reinterpret %part : {part} -> {result}"


def _tensor(size: int, element: str, num_warps: int) -> str:
    layout = (
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], "
        f"warpsPerCTA = [{num_warps}], order = [0]}}>"
    )
    return f"tensor<{size}x{element}, {layout}>"


def _zero_whole(size: int, element: str, view: str, num_warps: int) -> Iterator[str]:
    tensor = _tensor(size, element, num_warps)
    yield f"%zero = arith.constant dense<{_zero(element)}> : {tensor}"
    yield f"ttg.local_store %zero, %view : {tensor} -> {view}"


def _zero_rows(rows: int, row: int, element: str, view: str, num_warps: int) -> Iterator[str]:
    tensor, one = _tensor(row, element, num_warps), memdesc(f"{row}x{element}")
    yield f"%zero = arith.constant dense<{_zero(element)}> : {tensor}"
    yield from _loop(0, rows, "")
    yield f"  %one = ttg.memdesc_index %view[%i] : {view} -> {one}"
    yield f"  ttg.local_store %zero, %one : {tensor} -> {one}"
    yield "}"


def _zero(element: str) -> str:
    return "0.0" if element.startswith("f") else "0"


def _loop(start: int, stop: int, tag: str) -> Iterator[str]:
    yield f"%start{tag} = arith.constant {start} : i32"
    yield f"%stop{tag} = arith.constant {stop} : i32"
    yield f"%step{tag} = arith.constant 1 : i32"
    yield f"scf.for %i = %start{tag} to %stop{tag} step %step{tag} : i32 {{"


def ttg_guards(canary: Canary, pool: Pool, num_warps: int) -> str:
    """``@arm(%shared)`` and ``@check(%shared, %report: !tt.ptr<i32>)``: the guards of the pool."""
    runs = runs_of(canary.shared_words)
    # Guards of children may be at finer offsets than anything of the component itself.
    row = gcd(pool.row, *(edge for run in runs for edge in (run.start, run.stop)))
    fine = Pool(pool.rows * pool.row // row, row, pool.alignment)
    start = [f"%rows = ttg.memdesc_reinterpret %shared : {pool.type} -> {fine.type}"]
    arm, check, first = [*start], [*start], 0
    for run in runs:
        arm += _arm(run, fine, num_warps)
        check += _check(run, first, fine, num_warps)
        first += len(run)
    return _function(f"tt.func private @arm(%shared: {pool.type})", [*arm, "tt.return"]) + (
        _function(
            f"tt.func private @check(%shared: {pool.type}, %report: !tt.ptr<i32>)",
            [*check, "tt.return"],
        )
    )


def _arm(run: range, pool: Pool, num_warps: int) -> Iterator[str]:
    row, small = memdesc(f"{pool.row}xi8"), _tensor(pool.row, "i8", num_warps)
    yield from _loop(run.start // pool.row, run.stop // pool.row, str(run.start))
    yield from _expected(pool, num_warps)
    yield f"  ttg.local_store %expected, %row : {small} -> {row}"
    yield "}"


def _expected(pool: Pool, num_warps: int) -> Iterator[str]:
    """Row %i of the pool, the offsets of its bytes, and what armed guards hold there."""
    wide, small = (_tensor(pool.row, element, num_warps) for element in ("i32", "i8"))
    base, step, period = BYTE_PATTERN
    row = memdesc(f"{pool.row}xi8")
    yield f"  %row = ttg.memdesc_index %rows[%i] : {pool.type} -> {row}"
    yield f"  %lane = tt.make_range {{end = {pool.row} : i32, start = 0 : i32}} : {wide}"
    for name, value in (("base", base), ("step", step), ("period", period), ("width", pool.row)):
        yield f"  %{name} = arith.constant dense<{value}> : {wide}"
    yield f"  %number = tt.splat %i : i32 -> {wide}"
    yield f"  %above = arith.muli %number, %width : {wide}"
    yield f"  %place = arith.addi %above, %lane : {wide}"
    yield f"  %scaled = arith.muli %place, %step : {wide}"
    yield f"  %wrapped = arith.remui %scaled, %period : {wide}"
    yield f"  %sum = arith.addi %wrapped, %base : {wide}"
    yield f"  %expected = arith.trunci %sum : {wide} to {small}"


def _check(run: range, first: int, pool: Pool, num_warps: int) -> Iterator[str]:
    row, small = memdesc(f"{pool.row}xi8"), _tensor(pool.row, "i8", num_warps)
    wide, bits = (_tensor(pool.row, element, num_warps) for element in ("i32", "i1"))
    pointers = _tensor(pool.row, "!tt.ptr<i32>", num_warps)
    yield from _loop(run.start // pool.row, run.stop // pool.row, str(run.start))
    yield from _expected(pool, num_warps)
    yield f"  %found = ttg.local_load %row : {row} -> {small}"
    yield f"  %changed = arith.cmpi ne, %found, %expected : {small}"
    # Byte p of this run has the counter p - run.start + first.
    yield f"  %shift = arith.constant dense<{first - run.start}> : {wide}"
    yield f"  %counter = arith.addi %place, %shift : {wide}"
    yield f"  %bases = tt.splat %report : !tt.ptr<i32> -> {pointers}"
    yield f"  %counters = tt.addptr %bases, %counter : {pointers}, {wide}"
    yield f"  %ones = arith.constant dense<1> : {wide}"
    yield "  %old = tt.atomic_rmw add, relaxed, gpu, %counters, %ones, %changed : " + (
        f"({pointers}, {wide}, {bits}) -> {wide}"
    )
    yield "}"
