"""Rows that an index array picks: read, written, multiplied; tiles and single elements."""

from __future__ import annotations

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.wide.author import Author, Tensor

INPUTS = ("float16", "float16", "float32", "bfloat16", "int32", "int8", "float8_e4m3fn")


class Gathers:
    """One kernel whose addresses come from memory."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.height = rng.choice((8, 16, 32, 64))
        self.width = rng.choice((16, 32, 64, 128))
        self.blocks = rng.randint(1, 3)
        self.threads = rng.choice((64, 128, 128, 256))
        self.count = rng.randint(3, 70)
        self.dtype = rng.choice(INPUTS)

    def write(self) -> None:
        rng = self.author.rng
        rng.choice((self.elements, self.elements, self.rows, self.scattered, self.staged,
                    self.multiplied))()  # fmt: skip

    def _matrix(self, rows: int, columns: int) -> Tensor:
        return self.author.tensor("X", (rows, columns), self.dtype, 4)

    def _indices(self, shape: tuple[int, ...], below: int, prefix: str = "I") -> Tensor:
        """Some of them lie outside of what they index, at times."""
        author = self.author
        low, high = (-2, below + 3) if author.chance(0.3) else (0, below)
        dtype = author.rng.choice(("int32", "int32", "int32", "int64"))
        return author.tensor(prefix, shape, dtype, high, fill="indices", low=low)

    def _space(self) -> str:
        return self.author.rng.choice(("shared", "fragment"))

    # -- kernels ---------------------------------------------------------------------------------

    def elements(self) -> None:
        """``X[I[i], j]`` in a parallel loop, inside a loop over the columns or not."""
        author = self.author
        steps = author.rng.choice((1, 1, 2, 3))
        x = self._matrix(self.count, self.width * steps)
        indices = self._indices((self.blocks * self.height,), self.count)
        out = author.tensor("O", (self.blocks * self.height, self.width * steps), "float32", 4)
        with author.launch([(str(self.blocks), self.blocks)], self.threads):
            tile = author.buffer(self._space(), (self.height, self.width), self.dtype, 4, "x")
            name = author.fresh("k")
            word = author.rng.choice(("serial", "Pipelined", "unroll"))
            with author.text.block(
                f"for {name} in T.{word}({steps}):", f"for {name} in range({steps}):"
            ):
                at = author.read(indices, f"bx * {self.height} + i")
                with author.parallel(self.height, self.width):
                    row = Memory(x.name, "global", x.shape, x.dtype, x.bound)
                    self._take(tile, row, at.tile, at.numpy, f"{name} * {self.width} + j")
                author.store(tile, out, [f"bx * {self.height}", f"{name} * {self.width}"])

    def _take(self, tile: Memory, x: Memory, row: str, row_numpy: str, column: str) -> None:
        self.author.text.add(
            f"{tile.name}[i, j] = {x.name}[{row}, {column}]",
            f"put({tile.name}, (i, j), cast(at({x.name}, {row_numpy}, {column}), {tile.dtype!r}))",
        )

    def rows(self) -> None:
        """A copy of a whole row for each index, which is a scalar."""
        author, rng = self.author, self.author.rng
        steps = rng.randint(1, 5)
        x = self._matrix(self.count, self.width)
        indices = self._indices((self.blocks, steps), self.count)
        out = author.tensor("O", (self.blocks, self.width), "float32", 4)
        with author.launch([(str(self.blocks), self.blocks)], self.threads):
            row = author.buffer("shared", (self.width,), self.dtype, 4, "x")
            total = author.buffer("fragment", (self.width,), "float32", 100, "t")
            author.clear(total)
            name, scalar = author.fresh("k"), author.fresh("n")
            header = f"for {name} in T.Pipelined({steps}, num_stages={rng.randint(0, 3)}):"
            with author.text.block(header, f"for {name} in range({steps}):"):
                author.text.add(
                    f"{scalar} = {indices.name}[bx, {name}]",
                    f"{scalar} = int(at({indices.name}, bx, {name}))",
                )
                author.load(x, [scalar, "0"], row)
                with author.parallel(self.width):
                    small = author.fitting(
                        author.read(row, "i"), Memory("", "", (), "float32", 10)
                    ).cast("float32")
                    author.assign(
                        total, ("i",), author.combined("+", author.read(total, "i"), small)
                    )
            author.store(total, out, ["bx", "0"])

    def scattered(self) -> None:
        """Rows that go to places which a permutation says."""
        author = self.author
        rows = self.blocks * self.height
        x = self._matrix(rows, self.width)
        places = author.tensor("P", (rows,), "int32", rows, fill="permutation")
        out = author.tensor("O", (rows, self.width), author.rng.choice(("float32", "int32")), 4)
        with author.launch([(str(self.blocks), self.blocks)], self.threads):
            tile = author.buffer(self._space(), (self.height, self.width), self.dtype, 4, "x")
            author.load(x, [f"bx * {self.height}", "0"], tile)
            with author.parallel(self.height, self.width) as indices:
                value = author.expression([author.read(tile, "i", "j")], indices)
                fitting = author.fitting(value, Memory("", "", (), out.dtype, 1000))
                at = author.read(places, f"bx * {self.height} + i")
                author.text.add(
                    f"{out.name}[{at.tile}, j] = {fitting.tile}",
                    f"put({out.name}, ({at.numpy}, j), cast({fitting.numpy}, {out.dtype!r}))",
                )

    def staged(self) -> None:
        """Indices are copied to shared memory first; so is the table they index."""
        author = self.author
        size = author.rng.choice((16, 32, 64))
        x = self._matrix(size, self.width)
        count = self.blocks * self.height
        indices = author.tensor("I", (count,), "int32", size, fill="indices")
        out = author.tensor("O", (count, self.width), "float32", 4)
        with author.launch([(str(self.blocks), self.blocks)], self.threads):
            table = author.buffer("shared", x.shape, self.dtype, 4, "x")
            held = author.buffer("shared", (self.height,), "int32", size, "h")
            author.load(x, ["0", "0"], table)
            author.load(indices, [f"bx * {self.height}"], held)
            with author.parallel(self.height, self.width):
                index = author.read(held, "i")
                found = author.read(table, index.tile, "j")
                numpy = found.numpy.replace(index.tile, index.numpy)
                value = type(found)(found.tile, numpy, found.dtype, found.bound)
                author.assign(out, (f"bx * {self.height} + i", "j"), value, limit=100)

    def multiplied(self) -> None:
        """Gathered rows are the left operand of a GEMM."""
        author, rng = self.author, self.author.rng
        dtype = rng.choice(("float16", "bfloat16"))
        rows, columns, inner, steps = 64, rng.choice((16, 32, 64)), 32, rng.randint(1, 3)
        x = author.tensor("X", (self.count, inner * steps), dtype, 4)
        y = author.tensor("Y", (inner * steps, columns), dtype, 4)
        indices = self._indices((self.blocks * rows,), self.count)
        out = author.tensor("O", (self.blocks * rows, columns), "float32", 4)
        with author.launch([(str(self.blocks), self.blocks)], 128):
            a = author.buffer("shared", (rows, inner), dtype, 4, "a")
            b = author.buffer("shared", (inner, columns), dtype, 4, "b")
            c = author.buffer("fragment", (rows, columns), "float32", 2**20, "c")
            author.clear(c)
            name = author.fresh("k")
            header = f"for {name} in T.Pipelined({steps}, num_stages={rng.randint(0, 3)}):"
            with author.text.block(header, f"for {name} in range({steps}):"):
                at = author.read(indices, f"bx * {rows} + i")
                with author.parallel(rows, inner):
                    self._take(a, x, at.tile, at.numpy, f"{name} * {inner} + j")
                author.load(y, [f"{name} * {inner}", "0"], b)
                author.text.add(
                    f"T.gemm({a.name}, {b.name}, {c.name})",
                    f"{c.name}[...] = cast({c.name}.astype(np.float64) + "
                    f"product({a.name}, {b.name}), 'float32')",
                )
            author.store(c, out, [f"bx * {rows}", "0"])
