"""Starts, bounds and conditions that are run-time values: ragged groups, sparse blocks, loops that end early.

TMA takes a start of any value as long as it can be shown to be a multiple of 16 bytes along the
innermost axis: `Cols[k] * 16` can, `Cols[k]` cannot.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.fuzz.tile.scope import Index, Memory
from tests.fuzz.tile.values import BITS
from tests.fuzz.tile.wide.author import Author
from tests.fuzz.tile.wide.places import moved, shift

DTYPES = ("float16", "float16", "bfloat16", "float32", "int32", "int8", "float8_e4m3fn")


class RunTime:
    """One kernel over tiles of a matrix, of which memory says where they are."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.height, self.width = rng.choice((8, 16, 32, 64)), rng.choice((16, 32, 64))
        self.threads = rng.choice((128, 128, 256))
        self.dtype = rng.choice(DTYPES)
        self.steps = rng.randint(1, 4)
        self.blocks = rng.randint(1, 3)
        self.stages = rng.randint(0, 4)
        unit = 128 // BITS[self.dtype]
        self.unit = unit
        shape = (rng.randint(self.height, 3 * self.height), rng.randint(1, 12) * unit)
        self.x = author.tensor("X", shape, self.dtype, 4)

    def write(self) -> None:
        rng = self.author.rng
        rng.choice((self.starts, self.starts, self.groups, self.sparse, self.ends, self.counted))()

    # -- pieces ----------------------------------------------------------------------------------

    def _buffers(self) -> tuple[Memory, Memory]:
        author = self.author
        tile = author.buffer("shared", (self.height, self.width), self.dtype, 4, "x")
        total = author.buffer("fragment", (self.height, self.width), "float32", 2**14, "t")
        author.clear(total)
        return tile, total

    def _add(self, tile: Memory, total: Memory, *more: Index) -> None:
        author = self.author
        with author.parallel(self.height, self.width) as indices:
            value = author.expression([author.read(tile, "i", "j")], [*indices, *more], 1)
            small = author.fitting(value, Memory("", "", (), "float32", 60)).cast("float32")
            author.assign(
                total, ("i", "j"), author.combined("+", author.read(total, "i", "j"), small)
            )

    def _scalar(self, tile: str, numpy: str) -> str:
        name = self.author.fresh("n")
        self.author.text.add(f"{name} = {tile}", f"{name} = int({numpy})")
        return name

    def _out(self) -> Memory:
        return self.author.tensor("O", (self.blocks * self.height, self.width), "float32", 4)

    def _leave(self, total: Memory, out: Memory) -> None:
        self.author.store(total, out, [f"bx * {self.height}", "0"])

    def _launch(self) -> AbstractContextManager[object]:
        return self.author.launch([(str(self.blocks), self.blocks)], self.threads)

    def _loop(self, name: str) -> tuple[str, str]:
        return (
            f"for {name} in T.Pipelined({self.steps}, num_stages={self.stages}):",
            f"for {name} in range({self.steps}):",
        )

    # -- kernels ---------------------------------------------------------------------------------

    def starts(self) -> None:
        """Rows and columns from arrays; columns in units of 16 bytes, or in elements."""
        author, rng = self.author, self.author.rng
        rows, columns = self.x.shape
        first = author.tensor("I", (self.blocks, self.steps), "int32", rows, fill="indices", low=-3)
        unit = rng.choice((self.unit, self.unit, 1, 2 * self.unit))
        second = author.tensor(
            "I", (self.steps,), "int32", columns // unit + 1, fill="indices", low=-1
        )
        out = self._out()
        by = shift(author, self.dtype, 0.1)
        with self._launch():
            tile, total = self._buffers()
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                row = f"{first.name}[bx, {name}]"
                column = f"{second.name}[{name}]"
                if author.chance(0.5):
                    row, column = self._scalar(row, row), self._scalar(column, column)
                author.load(self.x, [row, moved(f"{column} * {unit}", by)], tile)
                self._add(tile, total, Index(name, 0, self.steps))
            self._leave(total, out)

    def groups(self) -> None:
        """Groups of rows that begin anywhere; rows past the end of a group are another one's."""
        author, rng = self.author, self.author.rng
        rows = self.x.shape[0]
        begins = author.tensor("I", (self.blocks,), "int32", rows, fill="indices")
        sizes = author.tensor("I", (self.blocks,), "int32", self.height + 1, fill="indices")
        out = self._out()
        with self._launch():
            tile, total = self._buffers()
            first = self._scalar(f"{begins.name}[bx]", f"{begins.name}[bx]")
            size = self._scalar(f"{sizes.name}[bx]", f"{sizes.name}[bx]")
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                author.load(self.x, [first, f"{name} * {self.width}"], tile)
                self._add(tile, total)
            with author.parallel(self.height, self.width):
                guard = rng.choice((f"i < {size}", f"i >= {size}"))
                author.text.add(f"if {guard}:", None)
                with author.text.block_of_tile():
                    author.assign(out, (f"bx * {self.height} + i", "j"),
                                  author.read(total, "i", "j"), guard, limit=2**14)  # fmt: skip

    def sparse(self) -> None:
        """Iterations that an array of flags leaves out."""
        author = self.author
        flags = author.tensor("I", (self.blocks, self.steps), "int32", 2, fill="indices")
        out = self._out()
        with self._launch():
            tile, total = self._buffers()
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                test = f"{flags.name}[bx, {name}] != 0"
                with author.text.block(f"if {test}:", f"if {test}:"):
                    starts = [f"bx * {self.height}", f"{name} * {self.width}"]
                    author.load(self.x, starts, tile)
                    self._add(tile, total, Index(name, 0, self.steps))
            self._leave(total, out)

    def ends(self) -> None:
        """A loop that is left, or goes on early, by what it reads."""
        author, rng = self.author, self.author.rng
        stop = author.tensor("I", (self.blocks,), "int32", 5, fill="indices")
        out = self._out()
        word = rng.choice(("break", "continue"))
        with self._launch():
            tile, total = self._buffers()
            name = author.fresh("k")
            test = f"{name} {rng.choice(('>', '==', '>='))} {stop.name}[bx]"
            with author.text.block(
                f"for {name} in T.serial({self.steps}):", f"for {name} in range({self.steps}):"
            ):
                with author.text.block(f"if {test}:", f"if {test}:"):
                    author.text.both(word)
                author.load(self.x, [f"bx * {self.height}", f"{name} * {self.width}"], tile)
                self._add(tile, total)
            self._leave(total, out)

    def counted(self) -> None:
        """As many iterations as memory says, none included; a cell counts them."""
        author = self.author
        counts = author.tensor("I", (self.blocks,), "int32", 5, fill="indices")
        out = self._out()
        seen = author.tensor("O", (self.blocks,), "int32", 4)
        with self._launch():
            tile, total = self._buffers()
            cell = author.cell(0)
            count = self._scalar(f"{counts.name}[bx]", f"{counts.name}[bx]")
            name = author.fresh("k")
            with author.text.block(
                f"for {name} in T.Pipelined({count}, num_stages={self.stages}):",
                f"for {name} in range({count}):",
            ):
                author.load(self.x, [f"bx * {self.height}", f"{name} * {self.width}"], tile)
                self._add(tile, total)
                author.text.both(f"{cell} = {cell} + {name} + 1")
            self._leave(total, out)
            author.text.add(
                f"{seen.name}[bx] = {cell}", f"put({seen.name}, (bx,), np.int32({cell}))"
            )
