"""What becomes of the accumulator of a GEMM: it is stored, changed, reduced, added, multiplied on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.values import BITS, is_float
from tests.fuzz.tile.wide.author import Tensor
from tests.fuzz.tile.wide.places import moved, row_shift, shift

if TYPE_CHECKING:
    from tests.fuzz.tile.wide.gemm import Gemm

OUTPUTS = ("float32", "float16", "bfloat16", "float8_e4m3fn", "int32", "int8")
REDUCTIONS = {
    "sum": "total({s}, {d})",
    "max": "{s}.max(axis={d})",
    "min": "{s}.min(axis={d})",
    "absmax": "np.abs({s}).max(axis={d})",
    "abssum": "total(np.abs({s}), {d})",
}


class Epilogue:
    """The tile is copied from registers to the result."""

    def __init__(self, gemm: Gemm) -> None:
        self.gemm = gemm
        self.author = gemm.author
        self.plan = gemm.plan
        self.declare()

    def declare(self) -> None:
        """Tensors, which are parameters."""
        self.out, self.by = self.result(self.copied_dtype())

    def grid(self) -> list[tuple[str, int]]:
        """Further extents of the grid."""
        return []

    def steps(self, count: int) -> tuple[str, int]:
        """Where a block begins along K, and how many steps it does."""
        return "0", count

    def allocate(self, c: Memory) -> None:
        del c

    def write(self, c: Memory, row: str, column: str) -> None:
        self.author.store(c, self.out, self.starts(row, column))

    # -- for all of them -------------------------------------------------------------------------

    def result(self, dtype: str, bound: float = 4) -> tuple[Tensor, tuple[int, int]]:
        """A tensor for all of C, and where C begins in it."""
        author = self.author
        by = (row_shift(author), shift(author, dtype))
        rows, columns = self.gemm.m + max(by[0], 0), self.gemm.n + max(by[1], 0)
        unit = 128 // BITS[dtype]
        if author.chance(0.8):
            columns = -(-columns // unit) * unit
        return author.tensor("O", (rows, columns), dtype, bound), by

    def starts(self, row: str, column: str) -> list[str]:
        rows, columns, _ = self.plan.block
        return [moved(f"{row} * {rows}", self.by[0]), moved(f"{column} * {columns}", self.by[1])]

    def copied_dtype(self) -> str:
        """A type that sums are converted to by a copy."""
        kinds = ("int32", "float32") if self.plan.total == "int32" else OUTPUTS[:3]
        return self.author.rng.choice(kinds)


class ThroughShared(Epilogue):
    """Registers, shared memory, result: as TMA stores want it."""

    def allocate(self, c: Memory) -> None:
        self.staged = self.author.buffer("shared", c.shape, self.out.dtype, self.gemm.limit)

    def write(self, c: Memory, row: str, column: str) -> None:
        self.author.copy(c, self.staged)
        self.author.store(self.staged, self.out, self.starts(row, column))


class Elementwise(Epilogue):
    """An expression of the sums, of a bias for each column, of a scale for each row."""

    def declare(self) -> None:
        rng = self.author.rng
        dtype = rng.choice(OUTPUTS)
        self.out, self.by = self.result(dtype)
        self.is_in_place = self.author.chance(0.4) and is_float(dtype) == is_float(self.plan.total)
        self.is_in_place = self.is_in_place and not dtype.startswith("float8") and dtype != "int8"
        kind = rng.choice(("float32", "float16", "int32", "bfloat16"))
        self.bias = self.author.tensor("Bias", (self.gemm.n,), kind, 4)

    def write(self, c: Memory, row: str, column: str) -> None:
        author = self.author
        rows, columns, _ = self.plan.block
        bound = min(self.gemm.limit, 2**20)
        target = Memory("", "", (), self.out.dtype, 15 if "float8" in self.out.dtype else 1000)
        if self.is_in_place:
            target = Memory("", "", (), c.dtype, bound)
        with author.parallel(rows, columns) as indices:
            leaves = [author.read(c, "i", "j"), author.read(self.bias, f"{column} * {columns} + j")]
            value = author.combined("+", leaves[0], author.expression(leaves, indices))
            value = author.fitting(value, target)
            if self.is_in_place:
                author.assign(c, ("i", "j"), value)
            else:
                first, second = self.starts(row, column)
                author.assign(
                    self.out, (f"{first} + i", f"{second} + j"), value, limit=target.bound
                )
        if self.is_in_place:
            author.store(c, self.out, self.starts(row, column))


class Reduced(Epilogue):
    """Along the rows or along the columns of each tile."""

    def declare(self) -> None:
        rng = self.author.rng
        self.kind = rng.choice(list(REDUCTIONS))
        self.dim = rng.choice((1, 1, 1, 0))
        self.other = 1 - self.dim
        rows, columns, _ = self.plan.block
        self.length = (rows, columns)[self.other]
        counts = (self.gemm.tiles.rows[1], self.gemm.tiles.columns[1])
        shape = (counts[self.dim], counts[self.other] * self.length)
        self.out = self.author.tensor("R", shape, self.plan.total, 4)

    def allocate(self, c: Memory) -> None:
        self.vector = self.author.buffer("fragment", (self.length,), c.dtype, self.gemm.limit, "r")

    def write(self, c: Memory, row: str, column: str) -> None:
        numpy = REDUCTIONS[self.kind].format(s=c.name, d=self.dim)
        target = self.vector
        self.author.text.add(
            f"T.reduce_{self.kind}({c.name}, {target.name}, dim={self.dim})",
            f"{target.name}[...] = cast({numpy}, {c.dtype!r})",
        )
        places = (row, column)
        offsets = [places[self.dim], f"{places[self.other]} * {self.length}"]
        self.author.store(target, self.out, offsets)


class Scanned(Epilogue):
    """Running sums or maxima of the tile."""

    def declare(self) -> None:
        self.out, self.by = self.result(self.plan.total)
        self.kind = self.author.rng.choice(("sum", "max"))
        self.axis = self.author.rng.randrange(2)
        self.reverse = self.author.chance(0.3)

    def allocate(self, c: Memory) -> None:
        self.staged = self.author.buffer("shared", c.shape, c.dtype, 2**22)

    def write(self, c: Memory, row: str, column: str) -> None:
        author, name = self.author, self.staged.name
        author.copy(c, self.staged)
        option = ", reverse=True" if self.reverse else ""
        author.text.add(
            f"T.cum{self.kind}({name}, dim={self.axis}{option})",
            f"{name}[...] = running({self.kind!r}, {name}, {self.axis}, {self.reverse})",
        )
        author.store(self.staged, self.out, self.starts(row, column))


class Split(Epilogue):
    """Blocks share a tile: each adds what it has of K."""

    def declare(self) -> None:
        total = self.plan.total
        self.out, self.by = self.result(total)
        self.parts = self.author.rng.randint(1, 3)
        self.is_staged = self.author.chance(0.6)
        self.use_tma = self.is_staged and self.author.chance(0.4)

    def grid(self) -> list[tuple[str, int]]:
        return [(str(self.parts), self.parts)]

    def steps(self, count: int) -> tuple[str, int]:
        each = -(-count // self.parts)
        worker = "bz" if self.gemm.tiles.mode == "grid" else "by"
        return f"{worker} * {each}", each

    def allocate(self, c: Memory) -> None:
        if self.is_staged:
            self.staged = self.author.buffer("shared", c.shape, c.dtype, self.gemm.limit)

    def write(self, c: Memory, row: str, column: str) -> None:
        source = c
        if self.is_staged:
            self.author.copy(c, self.staged)
            source = self.staged
        options = ", use_tma=True" if self.use_tma else ""
        self.author.accumulate("add", source, self.out, self.starts(row, column), options)


class Chained(Epilogue):
    """The tile is an operand of a second GEMM, as in attention."""

    def declare(self) -> None:
        rng = self.author.rng
        self.width = rng.choice((16, 32, 64))
        tiles = self.gemm.tiles
        columns = self.plan.block[1]
        self.v = self.author.tensor("V", (columns, self.width), self.plan.dtype, 2)
        self.by = (0, 0)
        rows = tiles.rows[1] * self.plan.block[0]
        self.out = self.author.tensor("O", (tiles.columns[1], rows, self.width), "float32", 4)

    def allocate(self, c: Memory) -> None:
        author = self.author
        space = author.rng.choice(("fragment", "fragment", "shared"))
        self.p = author.buffer(space, c.shape, self.plan.dtype, 16, "p")
        self.staged = author.buffer("shared", self.v.shape, self.plan.dtype, 2, "v")
        self.second = author.buffer("fragment", (c.shape[0], self.width), "float32", 2**20, "c")

    def write(self, c: Memory, row: str, column: str) -> None:
        author = self.author
        author.load(self.v, ("0", "0"), self.staged)
        with author.parallel(*c.shape):
            author.assign(self.p, ("i", "j"), author.read(c, "i", "j").clamped(15))
        author.clear(self.second)
        p, v, o = self.p.name, self.staged.name, self.second.name
        author.text.add(
            f"T.gemm({p}, {v}, {o})", f"{o}[...] = cast(product({p}, {v}), {self.second.dtype!r})"
        )
        author.store(self.second, self.out, (column, f"{row} * {c.shape[0]}", "0"))


CHOICES: Sequence[type[Epilogue]] = (
    Epilogue, Epilogue, ThroughShared, ThroughShared, ThroughShared, Elementwise, Elementwise,
    Reduced, Scanned, Split, Split, Chained,
)  # fmt: skip


def chosen(gemm: Gemm) -> Epilogue:
    kind = gemm.author.rng.choice(CHOICES)
    plan = gemm.plan
    is_half = BITS[plan.dtype] == 16 and plan.total == "float32"
    if kind is Chained and not (is_half and plan.block[1] % 16 == 0):
        kind = ThroughShared
    if plan.total == "float16" and kind in (Reduced, Scanned, Split):
        kind = Epilogue
    return kind(gemm)
