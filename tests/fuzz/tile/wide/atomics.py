"""Updates that many threads or blocks make: histograms, extremes, vectors, tickets, whole tiles."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.wide.author import Author

UFUNCS = {"add": "np.add", "max": "np.maximum", "min": "np.minimum"}
COUNTERS = ("int32", "int32", "float32", "float32", "int64", "float16", "bfloat16")


class Atomics:
    """One kernel; what each element becomes does not depend on the order of updates."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.extent = rng.choice((16, 32, 64, 128, 256))
        self.blocks = rng.randint(1, 3)
        self.threads = rng.choice((32, 64, 128, 256))
        self.word = rng.choice(("add", "add", "max", "min"))
        self.dtype = rng.choice(COUNTERS)
        if self.dtype == "int64" and self.word != "add":
            self.dtype = "int32"

    def write(self) -> None:
        rng = self.author.rng
        rng.choice((self.histogram, self.histogram, self.extremes, self.vectors, self.tickets,
                    self.columns, self.shared))()  # fmt: skip

    def _launch(self) -> AbstractContextManager[object]:
        return self.author.launch([(str(self.blocks), self.blocks)], self.threads)

    def _ufunc(self) -> str:
        return UFUNCS[self.word]

    def histogram(self) -> None:
        """Bins that the data name; those outside are dropped."""
        author = self.author
        bins = author.rng.randint(2, 24)
        total = self.extent * self.blocks
        low = -2 if author.chance(0.3) else 0
        data = author.tensor("I", (total,), "int32", bins + (3 if low else 0), fill="indices",
                             low=low)  # fmt: skip
        small = {"float16": 1, "bfloat16": 0}.get(self.dtype, 4)
        if self.word == "add" and total * 4 > 250 and self.dtype in ("float16", "bfloat16"):
            self.word = "max"
        weights = author.tensor("X", (total,), "int32", max(small, 1))
        out = author.tensor("H", (bins,), self.dtype, 2)
        with self._launch(), author.parallel(self.extent):
            at = author.read(data, f"bx * {self.extent} + i")
            value = author.read(weights, f"bx * {self.extent} + i")
            guard = author.chance(0.3)
            if guard:
                author.text.add("if i % 2 == 0:", None)
            with author.text.block_of_tile() if guard else author.text.block(None, None):
                author.text.add(
                    f"T.atomic_{self.word}({out.name}[{at.tile}], {value.tile})",
                    f"combine({self._ufunc()}, {out.name}, ({at.numpy},), "
                    f"cast({value.numpy}, {self.dtype!r}), "
                    f"{'i % 2 == 0' if guard else 'True'})",
                )

    def extremes(self) -> None:
        """All threads update one element, or one for each block."""
        author = self.author
        x = author.tensor("X", (self.extent * self.blocks,), "float32", 4)
        out = author.tensor("H", (self.blocks,), self.dtype, 2)
        if self.dtype in ("bfloat16", "float16") and self.word == "add":
            self.word = "min"
        with self._launch():
            tile = author.buffer("fragment", (self.extent,), "float32", 4, "x")
            author.load(x, [f"bx * {self.extent}"], tile)
            place = author.rng.choice(("0", "bx"))
            with author.parallel(self.extent) as indices:
                value = author.expression([author.read(tile, "i")], indices, 1)
                fitting = author.fitting(value, Memory("", "", (), self.dtype, 15))
                author.text.add(
                    f"T.atomic_{self.word}({out.name}[{place}], {fitting.tile})",
                    f"combine({self._ufunc()}, {out.name}, ({place} + 0 * i,), "
                    f"cast({fitting.numpy}, {self.dtype!r}))",
                )

    def vectors(self) -> None:
        """Two or four consecutive elements at once."""
        author = self.author
        width = author.rng.choice((2, 4))
        dtype = "float32" if width == 4 else author.rng.choice(("float32", "float16", "bfloat16"))
        columns = self.extent
        x = author.tensor("X", (self.blocks, columns), dtype, 4)
        out = author.tensor("O", (columns,), dtype, 2)
        with self._launch():
            tile = author.buffer("shared", (columns,), dtype, 4, "x")
            author.load(x, ["bx", "0"], tile)
            with author.parallel(columns // width):
                index = f"(i * {width})[..., None] + np.arange({width})"
                author.text.add(
                    f"T.atomic_addx{width}({out.name}[i * {width}], {tile.name}[i * {width}])",
                    f"combine(np.add, {out.name}, ({index},), at({tile.name}, {index}))",
                )

    def tickets(self) -> None:
        """What was there before: every element has one thread of one block."""
        author = self.author
        total = self.extent * self.blocks
        word = author.rng.choice(("add", "max", "min"))
        dtype = author.rng.choice(("int32", "float32"))
        cells = author.tensor("H", (total,), dtype, 4)
        out = author.tensor("O", (total,), dtype, 4)
        at = f"bx * {self.extent} + i"
        with self._launch(), author.parallel(self.extent):
            name = author.fresh("old")
            number = author.rng.randint(1, 3)
            author.text.add(
                f"{name} = T.atomic_{word}({cells.name}[{at}], {number}, return_prev=True)",
                f"{name} = at({cells.name}, {at})",
            )
            author.text.add(f"{out.name}[{at}] = {name}", f"put({out.name}, ({at},), {name})")
            author.text.add(
                None,
                f"combine({UFUNCS[word]}, {cells.name}, ({at},), "
                f"cast({number}, {dtype!r}) + 0 * {name})",
            )

    def columns(self) -> None:
        """A tile for every block, all to the same rows of the result."""
        author, rng = self.author, self.author.rng
        rows, columns = rng.choice((8, 16, 64)), rng.choice((16, 32, 64))
        dtype = rng.choice(("float32", "float16", "bfloat16", "int32"))
        word = rng.choice(("add", "add", "max", "min"))
        x = author.tensor("X", (self.blocks, rows, columns), dtype, 4)
        out = author.tensor("O", (rows, columns), dtype, 2)
        space = rng.choice(("shared", "fragment"))
        with self._launch():
            tile = author.buffer(space, (rows, columns), dtype, 4, "x")
            author.load(x, ["bx", "0", "0"], tile)
            tma = word == "add" and space == "shared" and author.chance(0.5)
            author.accumulate(word, tile, out, ["0", "0"], ", use_tma=True" if tma else "")

    def shared(self) -> None:
        """Counters of a block are in its shared memory, and go to global memory at the end."""
        author = self.author
        bins = author.rng.choice((8, 16, 32))
        total = self.extent * self.blocks
        dtype = author.rng.choice(("int32", "float32"))
        data = author.tensor("I", (total,), "int32", bins, fill="indices")
        out = author.tensor("H", (bins,), dtype, 2)
        with self._launch():
            counters = author.buffer("shared", (bins,), dtype, 2**20, "h")
            author.clear(counters)
            with author.parallel(self.extent):
                at = author.read(data, f"bx * {self.extent} + i")
                author.text.add(
                    f"T.atomic_add({counters.name}[{at.tile}], 1)",
                    f"combine(np.add, {counters.name}, ({at.numpy},), cast(1, {dtype!r}))",
                )
            author.accumulate("add", counters, out, ["0"])
