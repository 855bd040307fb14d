"""Where tiles begin: at multiples of their size, at odd places, in front of a tensor or past it.

A TMA copy wants the innermost start to be a multiple of 16 bytes; what does not is the compiler's
to notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.fuzz.tile.values import BITS
from tests.fuzz.tile.wide.author import Author

ODD = (1, 3, -2, 4, 5, 7, -1, 12)
MODES = ("grid", "grid", "grid", "persistent", "strided", "while")


def shift(author: Author, dtype: str, odd: float = 0.3) -> int:
    """What is added to every start along the innermost axis."""
    rng = author.rng
    unit = 128 // BITS[dtype]
    if author.chance(odd):
        return rng.choice(ODD)
    return rng.choice((0, 0, 0, 0, unit, 2 * unit, -unit))


def row_shift(author: Author) -> int:
    return author.rng.choice((0, 0, 0, 0, 0, 1, -3, 8))


def moved(start: str, by: int) -> str:
    if not by:
        return start
    return f"{start} + {by}" if by > 0 else f"{start} - {-by}"


@dataclass(frozen=True)
class Tiles:
    """Tiles of a matrix, and how blocks divide them."""

    mode: str
    rows: tuple[str, int]
    columns: tuple[str, int]
    workers: int

    @staticmethod
    def of(author: Author, rows: tuple[str, int], columns: tuple[str, int]) -> Tiles:
        mode = author.rng.choice(MODES)
        total = rows[1] * columns[1]
        workers = author.rng.randint(1, min(total, 3))
        return Tiles(mode, rows, columns, workers)

    def grid(self) -> list[tuple[str, int]]:
        if self.mode == "grid":
            return [self.columns, self.rows]
        return [(str(self.workers), self.workers)]

    @contextmanager
    def loop(self, author: Author) -> Iterator[tuple[str, str]]:
        """Names of the row and of the column of the tile."""
        if self.mode == "grid":
            yield "by", "bx"
            return
        with getattr(self, f"_{self.mode}")(author):
            yield "row", "column"

    @contextmanager
    def _persistent(self, author: Author) -> Iterator[None]:
        group = author.rng.randint(1, 4)
        domain = [self.rows[1], self.columns[1]]
        shown = f"[{self.rows[0]}, {self.columns[0]}]"
        with author.text.block(
            f"for row, column in T.Persistent({shown}, {self.workers}, bx, group_size={group}):",
            f"for row, column in tiles({domain}, {self.workers}, bx, {group}):",
        ):
            yield

    @contextmanager
    def _strided(self, author: Author) -> Iterator[None]:
        total, name = self._total(), author.fresh("t")
        bound = f"({total[1]} - bx)"
        with author.text.block(
            f"for {name} in T.serial(T.ceildiv({total[0]} - bx, {self.workers})):",
            f"for {name} in range(-(-{bound} // {self.workers})):",
        ):
            self._decoded(author, f"bx + {name} * {self.workers}")
            yield

    @contextmanager
    def _while(self, author: Author) -> Iterator[None]:
        total, name = self._total(), author.cell(0)
        author.text.both(f"{name} = bx")
        with author.text.block(f"while {name} < {total[0]}:", f"while {name} < {total[1]}:"):
            self._decoded(author, name)
            yield
            author.text.both(f"{name} = {name} + {self.workers}")

    def _total(self) -> tuple[str, int]:
        number = self.rows[1] * self.columns[1]
        return f"({self.rows[0]}) * ({self.columns[0]})", number

    def _decoded(self, author: Author, tile: str) -> None:
        columns = self.columns
        author.text.add(f"row = ({tile}) // ({columns[0]})", f"row = ({tile}) // {columns[1]}")
        author.text.add(f"column = ({tile}) % ({columns[0]})", f"column = ({tile}) % {columns[1]}")


def ragged(author: Author, block: int, tiles: int, unit: int = 1) -> int:
    """A size of so many tiles, of which the last may be cut off at a multiple of `unit`."""
    rng = author.rng
    cut = rng.choice((0, 0, 0, rng.randrange(block)))
    return max(unit, block * tiles - cut // unit * unit)


def split(extent: int, options: Sequence[int]) -> list[int]:
    return [each for each in options if extent % each == 0]
