"""Family `stores`: parallel loops that write several memories in one iteration.

A fragment that several threads hold and memory in the same body must not be treated alike: each
thread writes its registers, one of them writes memory. So a body of this family writes its element
of a second and a third target as well: a buffer of the same shape, or the block's tile of a result.
Results of reductions are where threads really hold the same elements: such a row is written together
with memory, and read by all of its threads afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fuzz.tile import values
from tests.fuzz.tile.elementwise import Body
from tests.fuzz.tile.scope import Index, Memory, Scope
from tests.fuzz.tile.statements import Statements

_MOST = 2
"""Further targets of a body."""
_BOUND = 128.0
"""Of the elements of rows that are reduced."""


class SeveralStores(Statements):
    """Statements whose parallel loops write more than one target."""

    def _allocate(self) -> None:
        super()._allocate()
        rows, columns = self.tile_shape()
        dtype = self.rng.choice(("float32", "int32"))
        self._buffer("RT", "fragment", (rows, columns), dtype, _BOUND)
        self._buffer("RV", "fragment", (rows,), dtype, _BOUND)
        self.tile_of_rows, self.rows = self.buffers[-2:]

    def statement(self, scope: Scope) -> bool:
        if self.rng.random() < 0.25:
            self._write_reduced_rows(scope)
            return True
        return super().statement(scope)

    def _write_reduced_rows(self, scope: Scope) -> None:
        rows, columns = self.tile_shape()
        box = (Index("i", 0, rows), Index("j", 0, columns))
        with self._loop_over(scope, *box) as (inner, body):
            body.written["RT"] = ("RT", ("i", "j"))
            self._assign(inner, self.tile_of_rows, ("i", "j"), body, None)
        scope.ready |= {"RT", "RV"}
        self.text.add("T.reduce_max(RT, RV, dim=1)", "RV[...] = np.max(RT, axis=1)")
        with self._loop_over(scope, box[0]) as (inner, body):
            body.written["RV"] = ("RV", ("i",))
            value = values.binary("+", self.read(scope, self.rows, ("i",)), values.number(1))
            value = values.binary("max", value, self.value(inner, inner.indices, body, 1))
            fitting = values.stored(value, self.rows.dtype, _BOUND)
            self.text.add(
                f"RV[i] = {fitting.tile}",
                f"put(RV, (i,), cast({fitting.numpy}, {self.rows.dtype!r}))",
            )
            self.also_write(inner, self.rows, ("i",), body, scope)
        with self._loop_over(scope, *box):
            one, other = (self.read(scope, self.tile_of_rows, ("i", "j")),
                          self.read(scope, self.rows, ("i",)))  # fmt: skip
            least = values.stored(values.binary("min", one, other), self.rows.dtype, _BOUND)
            self.text.add(
                f"RT[i, j] = {least.tile}",
                f"put(RT, (i, j), cast({least.numpy}, {self.rows.dtype!r}))",
            )
        for result in self.tensors:
            if self._fits(result, self.tile_of_rows, Body()) and self.rng.random() < 0.5:
                self.copy_between(scope, self.tile_of_rows, result)

    @contextmanager
    def _loop_over(self, scope: Scope, *indices: Index) -> Iterator[tuple[Scope, Body]]:
        names = ", ".join(each.name for each in indices)
        extents = ", ".join(str(each.high) for each in indices)
        comma = "," if len(indices) == 1 else ""
        self.text.add(f"for {names} in T.Parallel({extents}):", f"{names}{comma} = box({extents})")
        with self.text.block_of_tile():
            yield scope.inner(1, *indices), Body()

    def also_write(
        self, inner: Scope, target: Memory, index: tuple[str, ...], body: Body, scope: Scope
    ) -> None:
        local = self._local_index(target, index)
        if local is None:
            return
        others = [each for each in (*self.buffers, *self.tensors) if self._fits(each, target, body)]
        self.rng.shuffle(others)
        for other in others[: self.rng.randint(1, _MOST)]:
            if other.root in body.written or other.root in body.elsewhere:
                continue
            place = self._place(other, local)
            body.written[other.root] = (other.name, place)
            self._assign(inner, other, place, body, None)
            if not other.is_global:
                scope.ready.add(other.root)
                inner.ready.add(other.root)

    def _local_index(self, target: Memory, index: tuple[str, ...]) -> tuple[str, ...] | None:
        """The index inside the tile: a result's without the beginning of the block's own tile."""
        if not target.is_global:
            return index
        starts, places = self.own[-2:], index[-2:]
        if any(not each.startswith(start) for start, each in zip(starts, places, strict=True)):
            return None
        inside = [each[len(start) :] for start, each in zip(starts, places, strict=True)]
        return tuple(each.removeprefix(" + ") or "0" for each in inside)

    def _fits(self, other: Memory, target: Memory, body: Body) -> bool:
        if other.root in body.written or other.root in body.elsewhere or not other.writable:
            return False
        shape = self.tile_shape() if target.is_global else target.shape
        if other.is_global:
            is_row = shape == self.tile_shape()[:1]
            return (
                other.name[0] == "O"
                and len(other.shape) < 4
                and (is_row or shape == self.tile_shape())
            )
        return other.shape == shape

    def _place(self, other: Memory, local: tuple[str, ...]) -> tuple[str, ...]:
        """Of a result one element per iteration, in its first column if the loop has rows only."""
        if not other.is_global:
            return local
        inside = (local if len(local) > 1 else (*local, "0"))[-len(other.shape) :]
        inside = ("0",) * (len(other.shape) - len(inside)) + inside
        pairs = zip(self.own, inside, strict=True)
        return tuple(f"{start} + {each}" if each != "0" else start for start, each in pairs)
