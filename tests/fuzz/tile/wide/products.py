"""GEMMs in the company that they have in real kernels: attention, dequantisation, sparse and batched operands."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.values import Value
from tests.fuzz.tile.wide.author import Author

HALVES = ("float16", "float16", "bfloat16")


def multiply(
    author: Author,
    a: str,
    b: str,
    c: Memory,
    *,
    flip_b: bool = False,
    clear: bool = False,
    word: str = "gemm",
) -> None:
    """``c (+)= a @ b``; `a` and `b` are texts that both languages read."""
    options = ["transpose_B=True"] * flip_b + ["clear_accum=True"] * clear
    before = "0" if clear else f"{c.name}.astype(np.float64)"
    author.text.add(
        f"T.{word}({', '.join([a, b, c.name, *options])})",
        f"{c.name}[...] = cast({before} + product({a}, {f'({b}).T' if flip_b else b}), "
        f"{c.dtype!r})",
    )


class Attention:
    """Scores, running maxima of rows, weights that are no exponentials but small integers, sums."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.dtype = rng.choice(HALVES)
        self.rows, self.keys = rng.choice((64, 64, 128)), rng.choice((16, 32, 64))
        self.width, self.values = rng.choice((16, 32, 64)), rng.choice((16, 32, 64))
        self.steps, self.blocks = rng.randint(1, 4), rng.randint(1, 2)
        self.threads = rng.choice((128, 128, 256))
        self.is_causal = author.chance(0.5)
        ragged = rng.randrange(self.keys) if author.chance(0.4) else 0
        length = max(1, self.steps * self.keys - ragged)
        label = author.fresh("l")
        self.q = author.tensor("Q", (self.blocks * self.rows, self.width), self.dtype, 2)
        self.k = author.tensor("K", (length, self.width), self.dtype, 2, labels=(f"n_{label}", ""))
        self.v = author.tensor("V", (length, self.values), self.dtype, 2, labels=(f"n_{label}", ""))
        self.out = author.tensor("O", (self.blocks * self.rows, self.values), "float32", 4)
        self.sums = author.tensor("R", (self.blocks * self.rows,), "float32", 4)

    def write(self) -> None:
        author, rng = self.author, self.author.rng
        with author.launch([(str(self.blocks), self.blocks)], self.threads):
            q = author.buffer("shared", (self.rows, self.width), self.dtype, 2, "q")
            k = author.buffer("shared", (self.keys, self.width), self.dtype, 2, "k")
            v = author.buffer("shared", (self.keys, self.values), self.dtype, 2, "v")
            self.s = author.buffer("fragment", (self.rows, self.keys), "float32", 256, "s")
            space = rng.choice(("fragment", "fragment", "shared"))
            self.p = author.buffer(space, (self.rows, self.keys), self.dtype, 8, "p")
            self.total = author.buffer("fragment", (self.rows, self.values), "float32", 2**18, "o")
            self.top = author.buffer("fragment", (self.rows,), "float32", 256, "m")
            self.sum = author.buffer("fragment", (self.rows,), "float32", 2**14, "l")
            author.load(self.q, [f"bx * {self.rows}", "0"], q)
            for each in (self.total, self.top, self.sum):
                author.clear(each)
            name = author.fresh("t")
            stages = rng.randint(0, 3)
            with author.text.block(
                f"for {name} in T.Pipelined({self.steps}, num_stages={stages}):",
                f"for {name} in range({self.steps}):",
            ):
                author.load(self.k, [f"{name} * {self.keys}", "0"], k)
                self._scores(q, k, name)
                self._weights()
                author.load(self.v, [f"{name} * {self.keys}", "0"], v)
                multiply(author, self.p.name, v.name, self.total)
            author.store(self.total, self.out, [f"bx * {self.rows}", "0"])
            author.store(self.sum, self.sums, [f"bx * {self.rows}"])

    def _scores(self, q: Memory, k: Memory, name: str) -> None:
        author, s = self.author, self.s
        is_masked = self.is_causal and author.chance(0.5)
        if is_masked:
            mask = f"bx * {self.rows} + i >= {name} * {self.keys} + j"
            with author.parallel(self.rows, self.keys):
                author.text.add(
                    f"{s.name}[i, j] = T.if_then_else({mask}, 0, -64)",
                    f"put({s.name}, (i, j), np.where({mask}, 0, -64))",
                )
        multiply(author, q.name, k.name, s, flip_b=True, clear=not is_masked)
        if self.is_causal and not is_masked:
            test = f"bx * {self.rows} + i < {name} * {self.keys} + j"
            with author.parallel(self.rows, self.keys):
                author.text.add(f"if {test}:", None)
                with author.text.block_of_tile():
                    author.text.add(
                        f"{s.name}[i, j] = -100", f"put({s.name}, (i, j), -100, {test})"
                    )

    def _weights(self) -> None:
        """A weight is larger the nearer its score is to the largest one of the row so far."""
        author, s, p = self.author, self.s, self.p
        author.text.add(
            f"T.reduce_max({s.name}, {self.top.name}, dim=1, clear=False)",
            f"{self.top.name}[...] = np.maximum({self.top.name}, {s.name}.max(axis=1))",
        )
        score, top = author.read(s, "i", "j"), author.read(self.top, "i")
        near = author.combined("-", Value("8.0", "cast(8, 'float32')", "float32", 8), top)
        value = author.combined("max", author.combined("+", score, near), _zero()).clamped(8)
        with author.parallel(self.rows, self.keys):
            author.assign(s, ("i", "j"), value)
        author.text.add(
            f"T.reduce_sum({s.name}, {self.sum.name}, dim=1, clear=False)",
            f"{self.sum.name}[...] = cast({self.sum.name}.astype(np.float64) + "
            f"total({s.name}, 1), 'float32')",
        )
        author.copy(s, p)


def _zero() -> Value:
    return Value("0.0", "cast(0, 'float32')", "float32", 0)


class Products:
    """GEMMs whose operands need something done first, and those in unusual places."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.dtype = rng.choice(HALVES)
        self.rows, self.columns = rng.choice((64, 64, 128)), rng.choice((16, 32, 64, 128))
        self.inner = rng.choice((16, 32, 64))
        self.steps, self.blocks = rng.randint(1, 4), rng.randint(1, 3)
        self.threads = rng.choice((128, 128, 256))
        self.stages = rng.randint(0, 4)

    def write(self) -> None:
        forms = (self.dequantised, self.sparse, self.batched, self.small, self.twins, self.sliced,
                 self.waiting, self.preloaded)  # fmt: skip
        self.author.rng.choice(forms)()

    # -- pieces ----------------------------------------------------------------------------------

    def _tensors(self, kind_a: str = "", bound: int = 4) -> None:
        author = self.author
        depth = self.inner * self.steps
        self.a = author.tensor("A", (self.blocks * self.rows, depth), kind_a or self.dtype, bound)
        self.b = author.tensor("B", (depth, self.columns), self.dtype, 4)
        self.out = author.tensor("O", (self.blocks * self.rows, self.columns), "float32", 4)

    def _buffers(self, kind_a: str = "") -> tuple[Memory, Memory, Memory]:
        author = self.author
        a = author.buffer("shared", (self.rows, self.inner), kind_a or self.dtype, 4, "a")
        b = author.buffer("shared", (self.inner, self.columns), self.dtype, 4, "b")
        c = author.buffer("fragment", (self.rows, self.columns), "float32", 2**18, "c")
        return a, b, c

    def _loop(self, name: str, word: str = "Pipelined") -> tuple[str, str]:
        options = f", num_stages={self.stages}" if word == "Pipelined" else ""
        return (
            f"for {name} in T.{word}({self.steps}{options}):",
            f"for {name} in range({self.steps}):",
        )

    def _loads(self, a: Memory, b: Memory, name: str) -> None:
        self.author.load(self.a, [f"bx * {self.rows}", f"{name} * {self.inner}"], a)
        self.author.load(self.b, [f"{name} * {self.inner}", "0"], b)

    def _launch(self) -> AbstractContextManager[object]:
        return self.author.launch([(str(self.blocks), self.blocks)], self.threads)

    def _leave(self, c: Memory) -> None:
        self.author.store(c, self.out, [f"bx * {self.rows}", "0"])

    # -- kernels ---------------------------------------------------------------------------------

    def dequantised(self) -> None:
        """The left operand is of another type, and is converted in registers or in shared memory."""
        author, rng = self.author, self.author.rng
        kind = rng.choice(("int8", "uint8", "float8_e4m3fn", "int16"))
        self._tensors(kind)
        with self._launch():
            a, b, c = self._buffers(kind)
            space = rng.choice(("fragment", "shared"))
            wide = author.buffer(space, a.shape, self.dtype, 8, "w")
            author.clear(c)
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                self._loads(a, b, name)
                with author.parallel(*a.shape):
                    author.assign(wide, ("i", "j"), author.read(a, "i", "j"))
                multiply(author, wide.name, b.name, c)
            self._leave(c)

    def sparse(self) -> None:
        """Some blocks of K are left out."""
        author = self.author
        self._tensors()
        flags = author.tensor("I", (self.blocks, self.steps), "int32", 2, fill="indices")
        with self._launch():
            a, b, c = self._buffers()
            author.clear(c)
            name = author.fresh("k")
            test = f"{flags.name}[bx, {name}] != 0"
            with (
                author.text.block(*self._loop(name)),
                author.text.block(f"if {test}:", f"if {test}:"),
            ):
                self._loads(a, b, name)
                multiply(author, a.name, b.name, c)
            self._leave(c)

    def batched(self) -> None:
        """Tensors of three or four dimensions, slices of which are multiplied."""
        author, rng = self.author, self.author.rng
        heads, depth = rng.randint(1, 3), self.inner * self.steps
        is_last = author.chance(0.5)  # (batch, row, head, k) or (batch, head, row, k)
        shape = (self.blocks, self.rows, heads, depth) if is_last else (
            self.blocks, heads, self.rows, depth)  # fmt: skip
        x = author.tensor("A", shape, self.dtype, 4)
        y = author.tensor("B", (heads, depth, self.columns), self.dtype, 4)
        out = author.tensor("O", (heads, self.blocks * self.rows, self.columns), "float32", 4)
        grid = [(str(self.blocks), self.blocks), (str(heads), heads)]
        with author.launch(grid, self.threads):
            a, b, c = self._buffers()
            author.clear(c)
            name = author.fresh("k")
            start = f"{name} * {self.inner}"
            with author.text.block(*self._loop(name)):
                if is_last:
                    place = f"bx, 0:{self.rows}, by, {start} : {start} + {self.inner}"
                    author.text.add(
                        f"T.copy({x.name}[{place}], {a.name})",
                        f"{a.name}[...] = load({x.name}, (bx, 0, by, {start}), "
                        f"(1, {self.rows}, 1, {self.inner})).reshape({a.shape})",
                    )
                else:
                    author.load(x, ["bx", "by", "0", start], a)
                author.load(y, ["by", start, "0"], b)
                multiply(author, a.name, b.name, c)
            author.store(c, out, ["by", f"bx * {self.rows}", "0"])

    def small(self) -> None:
        """Tiles of few rows, for few threads."""
        rng = self.author.rng
        self.rows, self.columns = rng.choice((16, 32)), rng.choice((8, 16, 32))
        self.threads = rng.choice((32, 64)) if self.rows == 32 else 32
        self._plain()

    def _plain(self) -> None:
        author = self.author
        self._tensors()
        with self._launch():
            a, b, c = self._buffers()
            author.clear(c)
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                self._loads(a, b, name)
                multiply(author, a.name, b.name, c)
            self._leave(c)

    def twins(self) -> None:
        """Two right operands for one left one, as gates have it."""
        author = self.author
        self.columns = min(self.columns, 64)
        self._tensors()
        depth = self.inner * self.steps
        more = author.tensor("B", (depth, self.columns), self.dtype, 4)
        with self._launch():
            a, b, c = self._buffers()
            other = author.buffer("shared", b.shape, self.dtype, 4, "b")
            second = author.buffer("fragment", c.shape, "float32", 2**18, "c")
            author.clear(c)
            author.clear(second)
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                self._loads(a, b, name)
                author.load(more, [f"{name} * {self.inner}", "0"], other)
                multiply(author, a.name, b.name, c)
                multiply(author, a.name, other.name, second)
            with author.parallel(*c.shape) as indices:
                leaves = [author.read(c, "i", "j"), author.read(second, "i", "j")]
                author.assign(c, ("i", "j"), author.expression(leaves, indices))
            self._leave(c)

    def sliced(self) -> None:
        """Each GEMM takes a part of K out of a larger tile."""
        author = self.author
        self.inner = 64
        self._tensors()
        part = author.rng.choice((16, 32))
        with self._launch():
            a, b, c = self._buffers()
            author.clear(c)
            name, inner = author.fresh("k"), author.fresh("k")
            with author.text.block(*self._loop(name)):
                self._loads(a, b, name)
                count = self.inner // part
                with author.text.block(
                    f"for {inner} in T.unroll({count}):", f"for {inner} in range({count}):"
                ):
                    slice_ = f"{inner} * {part} : ({inner} + 1) * {part}"
                    multiply(author, f"{a.name}[:, {slice_}]", f"{b.name}[{slice_}, :]", c)
            self._leave(c)

    def waiting(self) -> None:
        """`T.wgmma_gemm` does not wait; the author does."""
        author = self.author
        author.only_hopper = True
        self.threads = 128
        self._tensors()
        with self._launch():
            a, b, c = self._buffers()
            author.clear(c)
            name = author.fresh("k")
            with author.text.block(*self._loop(name, "serial")):
                self._loads(a, b, name)
                multiply(author, a.name, b.name, c, word="wgmma_gemm")
                author.text.add("T.wait_wgmma(0)", None)
            self._leave(c)

    def preloaded(self) -> None:
        """The accumulator begins with a tile of memory, not with zeros."""
        author = self.author
        self._tensors()
        start = author.tensor("C", (self.rows, self.columns), author.rng.choice(
            ("float32", "float16")), 4)  # fmt: skip
        with self._launch():
            a, b, c = self._buffers()
            author.load(start, ["0", "0"], c)
            name = author.fresh("k")
            with author.text.block(*self._loop(name)):
                self._loads(a, b, name)
                multiply(author, a.name, b.name, c)
            self._leave(c)
