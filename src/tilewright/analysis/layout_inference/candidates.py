"""Layouts for a loop whose layout is not determined yet, best first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.analysis.layout_inference.accesses import accesses_fragments
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import Table
from tilewright.analysis.layout_inference.vectors import row_width_of, width_of
from tilewright.dialects.tile import ParallelOp


def candidates_of(loop: ParallelOp, shape: tuple[int, ...], reduces_rows: bool) -> Iterator[Table]:
    """The layouts; the last one stands for "none of them"."""
    scope = threads_of(loop)
    threads = scope.count
    width, widest = width_of(loop, shape, threads), row_width_of(loop, shape, threads)
    table = Table.free(shape, threads, width)
    is_alone = not accesses_fragments(loop)
    if widest > width:
        # Rows that do not divide evenly, but in wide vectors.
        table = Table.rows(shape, threads, widest)
        through = Table.free(shape, threads, widest)
        if is_alone and through.num_registers < table.num_registers:
            table = through
    if is_alone:
        # No result stays in registers: the remaining threads have nothing to do.
        yield Table(table.owners[..., :1], table.registers) if table.replicas > 1 else table
        return
    if reduces_rows and np.prod(shape[:-1]) >= scope.warps > 0:
        # A row in one warp needs no shared memory to be reduced.
        yield Table.rows(shape, threads, widest, max_threads=scope.warp_size)
    yield table
    if table.replicas > 1:
        yield Table(table.owners[..., :1], table.registers)
    while widest >= 1:
        if shape[-1] % widest == 0:
            yield Table.rows(shape, threads, widest)
        widest //= 2
    yield Table.free(shape, threads, width)
