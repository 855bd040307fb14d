"""``T.PersistentTileScheduler``: which tile a persistent block works on next.

    sched = T.PersistentTileScheduler(m_tiles, n_tiles, num_workers=132, swizzle_size=8)
    sched.init(block_id)
    while sched.valid():
        ... sched.m_idx, sched.n_idx ...
        sched.next_tile()

Tiles are counted in groups of `swizzle_size` rows (or columns), so that blocks which run at the
same time share cached data:

    group = t // (swizzle * other)    rest = t % (swizzle * other)
    size = min(swizzle, major - group * swizzle)
    first = group * swizzle + rest % size     second = rest // size
"""

from __future__ import annotations

from typing import Any

from tilewright.frontend.errors import FrontendError
from tilewright.language.T.allocate import alloc_var
from tilewright.language.T.buffers import ScalarCell
from tilewright.language.T.expressions import Expr
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.scalars import min as smaller

DEFAULT_WORKERS = 132
"""Multiprocessors of the GPU that kernels are written for, an H100."""


class PersistentTileScheduler:
    """Assigns tiles to the blocks of a persistent kernel."""

    def __init__(
        self,
        num_m_tiles: Any,
        num_n_tiles: Any,
        num_workers: Any = None,
        swizzle_size: int = 1,
        column_major: bool = True,
        cluster_size: int = 1,
        stateful: bool = True,
        name: str | None = None,
    ) -> None:
        if swizzle_size < 1:
            raise FrontendError(
                f"T.PersistentTileScheduler: swizzle_size is at least 1, got {swizzle_size}",
                code=BAD_ARGUMENT,
            )
        self._m, self._n = num_m_tiles, num_n_tiles
        self._workers = DEFAULT_WORKERS // cluster_size if num_workers is None else num_workers
        self._swizzle = swizzle_size
        self._column_major = column_major
        stem = name or "tile"
        self._cells = (
            {field: alloc_var("int32", name=f"{stem}_{field}") for field in _STATE}
            if stateful
            else {}
        )

    def _cell(self, field: str) -> ScalarCell:
        if field not in self._cells:
            raise FrontendError(
                "this T.PersistentTileScheduler is stateless: create it with stateful=True, or "
                "use coord(tile_id)",
                code=BAD_ARGUMENT,
            )
        return self._cells[field]

    def init(self, worker: Any) -> None:
        """Begin with the first tile of `worker`."""
        self._cell("iteration").write(0)
        self._cell("linear").write(worker)
        self._set_coordinates()

    def valid(self) -> Expr:
        """Whether there is a tile left."""
        return self._cell("linear").value() < self._m * self._n

    def next_tile(self, step: Any = None) -> None:
        """Go on to the next tile of this worker."""
        linear, iteration = self._cell("linear"), self._cell("iteration")
        linear.write(linear.value() + (self._workers if step is None else step))
        iteration.write(iteration.value() + 1)
        self._set_coordinates()

    def coord(self, tile_id: Any) -> tuple[Any, Any]:
        """Row and column of tile number `tile_id`."""
        major, minor = (self._m, self._n) if self._column_major else (self._n, self._m)
        if self._swizzle == 1:
            first, second = tile_id // minor, tile_id % minor
            if self._column_major:
                first, second = tile_id % major, tile_id // major
        else:
            group = tile_id // (self._swizzle * minor)
            rest = tile_id % (self._swizzle * minor)
            size = smaller(self._swizzle, major - group * self._swizzle)
            first, second = group * self._swizzle + rest % size, rest // size
        return (first, second) if self._column_major else (second, first)

    def _set_coordinates(self) -> None:
        row, column = self.coord(self._cell("linear").value())
        self._cell("m").write(row)
        self._cell("n").write(column)

    @property
    def m_idx(self) -> Expr:
        return self._cell("m").value()

    @property
    def n_idx(self) -> Expr:
        return self._cell("n").value()

    @property
    def linear_idx(self) -> Expr:
        return self._cell("linear").value()

    @property
    def current_iter(self) -> Expr:
        return self._cell("iteration").value()


_STATE = ("linear", "iteration", "m", "n")
