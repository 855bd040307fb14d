"""Tiles that come from anywhere in a tensor, are changed, and go anywhere in another one.

Starts are aligned or odd, in front of a tensor, past its end; a tile leaves by threads, by a TMA
store from shared memory, or by an atomic reduction.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.tile.scope import Index, Memory
from tests.fuzz.tile.values import BITS, Value
from tests.fuzz.tile.wide.author import Author, Tensor
from tests.fuzz.tile.wide.places import Tiles, moved, ragged, row_shift, shift

INPUTS = ("float16", "float16", "bfloat16", "float32", "int32", "int8", "uint8", "float8_e4m3fn",
          "float8_e5m2", "int16")  # fmt: skip
ADDED = ("float32", "float32", "float16", "bfloat16", "int32")
BOUNDS = {"float8_e4m3fn": 4, "float8_e5m2": 4, "bfloat16": 4}
ROWS = (8, 16, 16, 32, 64)
COLUMNS = (16, 32, 64, 64, 128)


@dataclass(frozen=True)
class Source:
    """An input, and where the tiles of it begin."""

    tensor: Tensor
    by: tuple[int, int]
    scale: int
    """How far apart tiles are, in eighths of their width."""


class Moves:
    """Sums of tiles, or a stream of them."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.shape = (rng.choice(ROWS), rng.choice(COLUMNS))
        self.depth = rng.choice((0, 0, 0, 2, 3))
        self.threads = rng.choice((64, 128, 128, 256, 384))
        self.steps = rng.randint(1, 4)
        self.is_stream = author.chance(0.5)
        self.rows = rng.randint(1, 3)
        self.columns = rng.randint(1, 3)
        self.sources = [self._source() for _ in range(rng.randint(1, 2))]
        self.is_added = author.chance(0.3)
        dtype = rng.choice(ADDED if self.is_added else INPUTS)
        self.by = (row_shift(author), shift(author, dtype))
        self.out = self._out(dtype)
        self.macro = self._macro() if author.chance(0.25) else ""

    def _source(self) -> Source:
        author, rng = self.author, self.author.rng
        dtype = rng.choice(INPUTS)
        unit = 1 if author.chance(0.2) else 128 // BITS[dtype]
        rows = ragged(author, self.shape[0], self.rows)
        columns = ragged(author, self.shape[1], self.columns + self.steps - 1, unit)
        shape = (rows, -(-columns // unit) * unit)
        if self.depth:
            shape = (self.depth, *shape)
        tensor = author.tensor("X", shape, dtype, BOUNDS.get(dtype, 4))
        scale = 8 if author.chance(0.7) else rng.choice((1, 4, 12))
        return Source(tensor, (row_shift(author), shift(author, dtype)), scale)

    def _out(self, dtype: str) -> Tensor:
        author = self.author
        unit = 1 if author.chance(0.2) else 128 // BITS[dtype]
        rows = ragged(author, self.shape[0], self.rows)
        count = self.steps if self.is_stream else self.columns
        columns = -(-ragged(author, self.shape[1], count, unit) // unit) * unit
        shape = (rows, columns)
        if self.depth:
            shape = (self.depth, *shape)
        return author.tensor("O", shape, dtype, 4)

    def _macro(self) -> str:
        """A helper that combines an accumulator with a value."""
        author = self.author
        name = author.fresh("helper")
        x, y = Value("x", "x", "float32", 64), Value("y", "y", "float32", 64)
        value = author.expression([x, y], [], 1)
        value = author.combined("+", value, x).clamped(2**20)
        author.macro([f"def {name}(x, y):", f"return {value.tile}"],
                     [f"def {name}(x, y):", f"return {value.numpy}"])  # fmt: skip
        self.macro_bound = value.bound
        return name

    # -- the kernel ------------------------------------------------------------------------------

    def write(self) -> None:
        author = self.author
        rows, columns = (str(self.rows), self.rows), (str(self.columns), self.columns)
        if self.is_stream:
            columns = ("1", 1)
        tiles = Tiles.of(author, rows, columns)
        grid = tiles.grid()
        lead: list[str] = []
        if self.depth:
            lead = ["bz" if len(grid) == 2 else "by"]
            grid = [*grid, (str(self.depth), self.depth)]
        with author.launch(grid, self.threads):
            self.lead = lead
            self._allocate()
            with tiles.loop(author) as (row, column):
                if self.is_stream:
                    self._stream(row)
                else:
                    self._sum(row, column)

    def _allocate(self) -> None:
        author = self.author
        self.tiles = [self._tile(each) for each in self.sources]
        dtype = "float32"
        self.total = author.buffer("fragment", self.shape, dtype, 2**14, "t")
        space = author.rng.choice(("shared", "shared", "fragment"))
        bound = 15 if self.is_added or "float8" in self.out.dtype else 100
        self.leaving = author.buffer(space, self.shape, self.out.dtype, bound, "o")

    def _tile(self, source: Source) -> Memory:
        author = self.author
        space = author.rng.choice(("shared", "shared", "shared", "fragment"))
        found = author.buffer(space, self.shape, source.tensor.dtype, source.tensor.bound, "x")
        if space == "shared" and author.chance(0.15):
            author.text.add(
                f"T.annotate_layout({{{found.name}: T.make_swizzled_layout({found.name})}})", None
            )
        return found

    def _starts(self, row: str, column: str, by: tuple[int, int], scale: int = 8) -> list[str]:
        rows, columns = self.shape
        step = columns * scale // 8
        return [
            *self.lead, moved(f"({row}) * {rows}", by[0]), moved(f"({column}) * {step}", by[1])
        ]  # fmt: skip

    def _loads(self, row: str, column: str) -> None:
        for source, tile in zip(self.sources, self.tiles, strict=True):
            options = ", disable_tma=True" if self.author.chance(0.05) else ""
            self.author.load(
                source.tensor, self._starts(row, column, source.by, source.scale), tile, options
            )

    def _loop(self, name: str) -> tuple[str, str]:
        word = self.author.rng.choice(("Pipelined", "Pipelined", "Pipelined", "serial", "unroll"))
        options = f", num_stages={self.author.rng.randint(0, 4)}" if word == "Pipelined" else ""
        numpy = f"for {name} in range({self.steps}):"
        return f"for {name} in T.{word}({self.steps}{options}):", numpy

    def _value(self, indices: list[Index]) -> Value:
        leaves = [self.author.read(each, "i", "j") for each in self.tiles]
        return self.author.expression(leaves, indices)

    def _sum(self, row: str, column: str) -> None:
        author, name = self.author, self.author.fresh("k")
        author.clear(self.total)
        with author.text.block(*self._loop(name)):
            self._loads(row, f"{column} + {name}")
            with author.parallel(*self.shape) as indices:
                self._add(self._value([*indices, Index(name, 0, self.steps)]))
        with author.parallel(*self.shape):
            author.assign(self.leaving, ("i", "j"), author.read(self.total, "i", "j"))
        self._leave(row, column)

    def _add(self, value: Value) -> None:
        author, total = self.author, self.total
        small = author.fitting(value, Memory("", "", (), "float32", 60)).cast("float32")
        if self.macro:
            old = author.read(total, "i", "j").clamped(60)
            found = Value(f"{self.macro}({old.tile}, {small.tile})",
                          f"{self.macro}({old.numpy}, {small.numpy})", "float32",
                          self.macro_bound)  # fmt: skip
            author.assign(total, ("i", "j"), found)
            return
        author.text.add(
            f"{total.name}[i, j] += {small.tile}",
            f"put({total.name}, (i, j), at({total.name}, i, j) + {small.numpy})",
        )

    def _stream(self, row: str) -> None:
        author, name = self.author, self.author.fresh("k")
        with author.text.block(*self._loop(name)):
            self._loads(row, name)
            with author.parallel(*self.shape) as indices:
                value = self._value([*indices, Index(name, 0, self.steps)])
                author.assign(self.leaving, ("i", "j"), value)
            self._leave(row, name)

    def _leave(self, row: str, column: str) -> None:
        author = self.author
        offsets = self._starts(row, column, self.by)
        if not self.is_added:
            author.store(self.leaving, self.out, offsets)
            return
        is_staged = self.leaving.space == "shared"
        options = ", use_tma=True" if is_staged and author.chance(0.4) else ""
        author.accumulate("add", self.leaving, self.out, offsets, options)
