"""Matrix products in the shapes that tensor cores have: dtypes, transposes, tiles, epilogues."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.values import BITS, is_float
from tests.fuzz.tile.wide.author import Author, Tensor
from tests.fuzz.tile.wide.epilogues import chosen
from tests.fuzz.tile.wide.places import Tiles, moved, ragged, row_shift, shift

DTYPES = ("float16",) * 4 + ("bfloat16",) * 3 + ("float8_e4m3fn",) * 3 + (
    "float8_e5m2", "int8", "int8", "uint8", "float32",
)  # fmt: skip
BOUNDS = {"float8_e4m3fn": 2, "float8_e5m2": 2, "int8": 8, "uint8": 8}


@dataclass
class Plan:
    """One product C += op(A) @ op(B), tiled."""

    dtype: str
    total: str
    block: tuple[int, int, int]
    flip_a: bool
    flip_b: bool
    threads: int
    stages: int
    bound: int

    @staticmethod
    def of(author: Author) -> Plan:
        rng = author.rng
        dtype = rng.choice(DTYPES)
        size = BITS[dtype] // 8
        # A row of shared memory with K innermost is 32, 64 or 128 bytes, as swizzles are.
        inner = rng.choice([each // size for each in (32, 64, 64, 128)])
        threads = rng.choice((128, 128, 128, 256))
        rows = rng.choice((64, 64, 64, 128))
        columns = rng.choice((8, 16, 32, 32, 64, 64, 128, 24, 48, 96))
        if threads == 256 and rows == 64:
            columns = max(columns, 32) // 32 * 32
        if rows == 128:
            columns = min(columns, 64)
        total = "int32" if "int" in dtype else "float32"
        bound = BOUNDS.get(dtype, 4)
        if dtype == "float16" and author.chance(0.1):
            total, bound = "float16", 2
        is_wide = size > 1
        return Plan(
            dtype, total, (rows, columns, inner),
            is_wide and author.chance(0.25), author.chance(0.35 if is_wide else 0.8),
            threads, rng.choice((0, 1, 2, 2, 3, 4)), bound,
        )  # fmt: skip

    def shape_a(self) -> tuple[int, int]:
        rows, _, inner = self.block
        return (inner, rows) if self.flip_a else (rows, inner)

    def shape_b(self) -> tuple[int, int]:
        _, columns, inner = self.block
        return (columns, inner) if self.flip_b else (inner, columns)


class Gemm:
    """A kernel around one product."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.plan = Plan.of(author)
        rows, columns, inner = self.plan.block
        unit = 128 // BITS[self.plan.dtype]
        if author.chance(0.15):
            unit = 1  # rows that TMA cannot address
        self.m = ragged(author, rows, rng.randint(1, 3), unit)
        self.n = ragged(author, columns, rng.randint(1, 3), unit)
        self.k = ragged(author, inner, rng.randint(1, 4), unit)
        label = author.fresh("g")
        self.labels = {name: f"{name}_{label}" for name in "mnk"}
        self.a = self._operand("A", "km" if self.plan.flip_a else "mk")
        self.b = self._operand("B", "nk" if self.plan.flip_b else "kn")
        self.shift_a = (row_shift(author), shift(author, self.plan.dtype))
        self.shift_b = (row_shift(author), shift(author, self.plan.dtype))
        self.tiles = Tiles.of(
            author, (str(-(-self.m // rows)), -(-self.m // rows)),
            (str(-(-self.n // columns)), -(-self.n // columns)),
        )  # fmt: skip

    def _operand(self, prefix: str, axes: str) -> Tensor:
        return self.author.tensor(
            prefix, [getattr(self, axis) for axis in axes], self.plan.dtype, self.plan.bound,
            labels=[self.labels[axis] for axis in axes],
        )  # fmt: skip

    @property
    def limit(self) -> float:
        """The magnitude of an element of the result."""
        inner = self.plan.block[2] * (-(-self.k // self.plan.block[2]))
        return inner * self.plan.bound**2

    def write(self) -> None:
        """The kernel, with one of the epilogues."""
        author, plan = self.author, self.plan
        epilogue = chosen(self)
        steps = -(-self.k // plan.block[2])
        with author.launch([*self.tiles.grid(), *epilogue.grid()], plan.threads):
            if self.tiles.mode == "grid" and author.chance(0.2):
                author.text.add(f"T.use_swizzle({author.rng.randint(1, 4)})", None)
            a, b, c = self.buffers()
            epilogue.allocate(c)
            with self.tiles.loop(author) as (row, column):
                self.accumulate(a, b, c, row, column, epilogue.steps(steps))
                epilogue.write(c, row, column)

    # -- the loop over K -------------------------------------------------------------------------

    def buffers(self) -> tuple[Memory, Memory, Memory]:
        author, plan = self.author, self.plan
        a = author.buffer("shared", plan.shape_a(), plan.dtype, plan.bound, "a")
        b = author.buffer("shared", plan.shape_b(), plan.dtype, plan.bound, "b")
        c = author.buffer("fragment", plan.block[:2], plan.total, self.limit, "c")
        if author.chance(0.12):
            shown = ", ".join(
                f"{each.name}: T.make_swizzled_layout({each.name})" for each in (a, b)
            )
            author.text.add(f"T.annotate_layout({{{shown}}})", None)
        return a, b, c

    def accumulate(
        self, a: Memory, b: Memory, c: Memory, row: str, column: str, steps: tuple[str, int]
    ) -> None:
        """A loop over K: it begins at a step (a text) and makes so many iterations."""
        author, plan = self.author, self.plan
        rows, columns, inner = plan.block
        first, count = steps
        name = author.fresh("k")
        clears = author.chance(0.25)
        if not clears:
            author.clear(c)
        registers = None
        if not plan.flip_a and author.chance(0.15):
            registers = author.buffer("fragment", a.shape, plan.dtype, plan.bound, "f")
        bounds = str(count)
        if first == "0" and author.chance(0.5):
            bounds = f"T.ceildiv({self.a.name}.shape[{0 if plan.flip_a else 1}], {inner})"
        header = f"for {name} in T.Pipelined({bounds}, num_stages={plan.stages}):"
        at = name if first == "0" else f"({first} + {name})"
        along = f"{at} * {inner}"
        with author.text.block(header, f"for {name} in range({count}):"):
            self._load(self.a, a, plan.flip_a, f"{row} * {rows}", along, self.shift_a)
            self._load(self.b, b, not plan.flip_b, f"{column} * {columns}", along, self.shift_b)
            used = a
            if registers is not None:
                author.copy(a, registers)
                used = registers
            self.gemm(used, b, c, f"{name} == 0" if clears else "")

    def _load(
        self,
        source: Tensor,
        target: Memory,
        is_k_first: bool,
        outer: str,
        along: str,
        by: tuple[int, int],
    ) -> None:
        starts = (along, outer) if is_k_first else (outer, along)
        offsets = [moved(start, each) for start, each in zip(starts, by, strict=True)]
        self.author.load(source, offsets, target)

    def gemm(self, a: Memory, b: Memory, c: Memory, clear: str = "") -> None:
        author, plan = self.author, self.plan
        options = ["transpose_A=True"] * plan.flip_a + ["transpose_B=True"] * plan.flip_b
        if clear:
            options.append(f"clear_accum={clear}")
        if author.chance(0.2):
            word = "FullRow" if plan.block[1] < 64 else author.rng.choice(("FullRow", "Square"))
            options.append(f"policy=T.GemmWarpPolicy.{word}")
        one = f"{a.name}.T" if plan.flip_a else a.name
        other = f"{b.name}.T" if plan.flip_b else b.name
        before = f"np.where({clear}, 0, {c.name})" if clear else c.name
        kind = "np.float64" if is_float(c.dtype) else "np.int64"
        author.text.add(
            f"T.gemm({', '.join([a.name, b.name, c.name, *options])})",
            f"{c.name}[...] = cast(({before}).astype({kind}) + product({one}, {other}), "
            f"{c.dtype!r})",
        )
