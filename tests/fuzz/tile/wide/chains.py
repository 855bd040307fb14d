"""A kernel that goes on with what an earlier one of the same function has written."""

from __future__ import annotations

from dataclasses import replace

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.wide.author import Author, Tensor
from tests.fuzz.tile.wide.moves import Moves

WRITTEN = 2**20


class Chains:
    """Reads a result again: into a new tensor, or in place; a copy, or element by element."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        found = [each for each in author.tensors if each.name[0] == "O" and len(each.shape) == 2]
        # What was written may be larger than what a caller brings.
        self.given = replace(rng.choice(found), bound=WRITTEN) if found else None
        self.height, self.width = rng.choice((8, 16, 32, 64)), rng.choice((16, 32, 64))
        self.threads = rng.choice((64, 128, 128, 256))

    def write(self) -> None:
        if self.given is None:
            Moves(self.author).write()
            return
        self.author.rng.choice((self.summed, self.changed, self.transposed))(self.given)

    def _grid(self, given: Tensor) -> list[tuple[str, int]]:
        author = self.author
        return [author.count(given, 1, self.width), author.count(given, 0, self.height)]

    def summed(self, given: Tensor) -> None:
        """Sums of rows, tile by tile in a pipelined loop."""
        author, rng = self.author, self.author.rng
        out = author.tensor("R", (given.shape[0],), "float32", 4)
        rows, columns = author.count(given, 0, self.height), author.count(given, 1, self.width)
        with author.launch([rows], self.threads):
            tile = author.buffer("shared", (self.height, self.width), given.dtype, WRITTEN, "x")
            total = author.buffer("fragment", (self.height, self.width), "float32", 2**12, "t")
            sums = author.buffer("fragment", (self.height,), "float32", 2**20, "r")
            author.clear(total)
            name = author.fresh("k")
            header = f"for {name} in T.Pipelined({columns[0]}, num_stages={rng.randint(0, 3)}):"
            with author.text.block(header, f"for {name} in range({columns[1]}):"):
                author.load(given, [f"bx * {self.height}", f"{name} * {self.width}"], tile)
                with author.parallel(self.height, self.width):
                    small = author.fitting(
                        author.read(tile, "i", "j"), Memory("", "", (), "float32", 30)
                    )
                    value = author.combined("+", author.read(total, "i", "j"), small)
                    author.assign(total, ("i", "j"), value)
            author.text.add(
                f"T.reduce_sum({total.name}, {sums.name}, dim=1)",
                f"{sums.name}[...] = cast(total({total.name}, 1), 'float32')",
            )
            author.store(sums, out, [f"bx * {self.height}"])

    def changed(self, given: Tensor) -> None:
        """In place: each element by one thread."""
        author = self.author
        bound = 15 if given.dtype.startswith("float8") else 100
        row, column = f"by * {self.height} + i", f"bx * {self.width} + j"
        with (
            author.launch(self._grid(given), self.threads),
            author.parallel(self.height, self.width) as indices,
        ):
            small = author.fitting(
                author.read(given, row, column), Memory("", "", (), "float32", 500)
            ).cast("float32")
            value = author.expression([small], indices)
            author.assign(given, (row, column), value, limit=bound)

    def transposed(self, given: Tensor) -> None:
        """Tiles change places, and so do their elements."""
        author = self.author
        out = author.tensor("Z", given.shape[::-1], given.dtype, 4)
        with author.launch(self._grid(given), self.threads):
            tile = author.buffer("shared", (self.height, self.width), given.dtype, WRITTEN, "x")
            turned = author.buffer("shared", (self.width, self.height), given.dtype, WRITTEN, "z")
            author.load(given, [f"by * {self.height}", f"bx * {self.width}"], tile)
            if author.chance(0.5):
                author.text.add(
                    f"T.transpose({tile.name}, {turned.name})",
                    f"{turned.name}[...] = {tile.name}.T",
                )
            else:
                with author.parallel(self.width, self.height):
                    author.text.add(
                        f"{turned.name}[i, j] = {tile.name}[j, i]",
                        f"put({turned.name}, (i, j), at({tile.name}, j, i))",
                    )
            author.store(turned, out, [f"bx * {self.width}", f"by * {self.height}"])
