"""Roles that an author writes with `T.ws` and barriers, and blocks in clusters."""

from __future__ import annotations

from tests.fuzz.tile.scope import Index, Memory
from tests.fuzz.tile.values import BITS
from tests.fuzz.tile.wide.author import Author, Tensor
from tests.fuzz.tile.wide.places import moved, ragged, shift

DTYPES = ("float16", "float16", "bfloat16", "float32", "int32", "float8_e4m3fn", "int8")


class Roles:
    """A group of warps fetches tiles into a ring, another one uses them."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.is_gemm = author.chance(0.4)
        self.dtype = rng.choice(("float16", "bfloat16") if self.is_gemm else DTYPES)
        self.rows = 64 if self.is_gemm else rng.choice((8, 16, 32, 64))
        self.columns = rng.choice((16, 32, 64))
        self.depth = rng.randint(1, 3)
        self.steps = rng.randint(1, 5)
        self.blocks = rng.randint(1, 3)
        self.producer = rng.choice((0, 1, 1, 1))
        self.word = rng.choice(("tma_copy", "tma_copy", "copy"))
        unit = 128 // BITS[self.dtype]
        width = ragged(author, self.columns, self.steps, unit)
        width = -(-width // unit) * unit
        height = ragged(author, self.rows, self.blocks)
        self.x = author.tensor("X", (height, width), self.dtype, 4)
        self.by = shift(author, self.dtype, 0.0)
        author.only_hopper = True

    def write(self) -> None:
        author = self.author
        self.extra: Tensor | None = None
        if self.is_gemm:
            self.width = author.rng.choice((16, 32, 64))
            depth = self.columns * self.steps
            self.extra = author.tensor("Y", (depth, self.width), self.dtype, 4)
        columns = self.width if self.is_gemm else self.columns
        self.out = author.tensor("O", (self.blocks * self.rows, columns), "float32", 4)
        with author.launch([(str(self.blocks), self.blocks)], 256):
            self._allocate()
            self._bodies()

    def _allocate(self) -> None:
        author = self.author
        shape = (self.depth, self.rows, self.columns)
        self.ring = author.buffer("shared", shape, self.dtype, 4, "x")
        if self.extra is not None:
            self.other = author.buffer(
                "shared", (self.depth, self.columns, self.width), self.dtype, 4, "y"
            )
        columns = self.width if self.is_gemm else self.columns
        self.total = author.buffer("fragment", (self.rows, columns), "float32", 2**20, "t")
        self.full, self.empty = author.fresh("full"), author.fresh("empty")
        for name in (self.full, self.empty):
            author.text.add(f"{name} = T.alloc_barrier([128] * {self.depth})", None)

    def _bodies(self) -> None:
        """In NumPy both roles are one loop, which stands where the consumer's does."""
        order = [self._produce, self._consume]
        if self.author.chance(0.4):
            order.reverse()
        for each in order:
            each()

    def _produce(self) -> None:
        author, name = self.author, self.author.fresh("k")
        with (
            author.text.block(f"with T.ws({self.producer}):", None),
            author.text.block(f"for {name} in T.serial({self.steps}):", None),
        ):
            slot = f"{name} % {self.depth}"
            author.text.add(
                f"T.mbarrier_wait_parity({self.empty}[{slot}], ({name} // {self.depth} % 2) ^ 1)",
                None,
            )
            option = f", barrier={self.full}[{slot}]" if self.word == "tma_copy" else ""
            for source, place, ring in self._fetched(name):
                author.text.add(
                    f"T.{self.word}({source.name}[{place}], {ring.name}[{slot}, :, :]{option})",
                    None,
                )
            author.text.add(f"T.mbarrier_arrive({self.full}[{slot}])", None)

    def _fetched(self, name: str) -> list[tuple[Tensor, str, Memory]]:
        start = moved(f"{name} * {self.columns}", self.by)
        found = [(self.x, f"bx * {self.rows}, {start}", self.ring)]
        if self.extra is not None:
            found.append((self.extra, f"{name} * {self.columns}, 0", self.other))
        return found

    def _consume(self) -> None:
        author, name = self.author, self.author.fresh("k")
        with author.text.block(f"with T.ws({1 - self.producer}):", None):
            author.clear(self.total)
            slot = f"{name} % {self.depth}"
            with author.text.block(
                f"for {name} in T.serial({self.steps}):", f"for {name} in range({self.steps}):"
            ):
                author.text.add(
                    f"T.mbarrier_wait_parity({self.full}[{slot}], {name} // {self.depth} % 2)",
                    None,
                )
                for source, place, ring in self._fetched(name):
                    author.text.add(
                        None,
                        f"{ring.name}[{slot}] = load({source.name}, ({place},), {ring.shape[1:]})",
                    )
                self._use(slot, name)
                author.text.add(f"T.mbarrier_arrive({self.empty}[{slot}])", None)
            author.store(self.total, self.out, [f"bx * {self.rows}", "0"])

    def _use(self, slot: str, name: str) -> None:
        author, total = self.author, self.total
        if self.extra is not None:
            a, b = f"{self.ring.name}[{slot}, :, :]", f"{self.other.name}[{slot}, :, :]"
            author.text.add(
                f"T.gemm({a}, {b}, {total.name})",
                f"{total.name}[...] = cast({total.name}.astype(np.float64) + product({a}, {b}), "
                "'float32')",
            )
            return
        with author.parallel(self.rows, self.columns) as indices:
            leaves = [author.read(self.ring, slot, "i", "j")]
            value = author.expression(leaves, [*indices, Index(name, 0, self.steps)], 1)
            small = author.fitting(value, Memory("", "", (), "float32", 60)).cast("float32")
            author.assign(
                total, ("i", "j"), author.combined("+", author.read(total, "i", "j"), small)
            )


class Clusters:
    """Blocks in clusters, with a tile that is fetched once for all of them, or without."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.size = rng.choice((1, 2, 2, 2, 4))
        self.along = rng.randrange(2)
        self.rows, self.columns = rng.choice((16, 32, 64)), rng.choice((16, 32, 64))
        self.dtype = rng.choice(DTYPES[:4])
        self.is_multicast = self.size > 1 and author.chance(0.6)
        author.only_hopper = True
        author.only_threads |= self.is_multicast

    def write(self) -> None:
        author, rng = self.author, self.author.rng
        counts = [rng.randint(1, 2), rng.randint(1, 2)]
        counts[self.along] *= self.size
        dims = [1, 1, 1]
        dims[self.along] = self.size
        across, down = counts
        x = author.tensor("X", (down * self.rows, across * self.columns), self.dtype, 4)
        # Blocks of a cluster have one tile of this in common.
        common = (across if self.along == 1 else down) * self.columns
        y = author.tensor("Y", (self.rows, common), self.dtype, 4)
        out = author.tensor("O", x.shape, "float32", 4)
        other = "bx" if self.along == 1 else "by"
        grid = [(str(count), count) for count in counts]
        with author.launch(grid, 128, dims):
            own = author.buffer("shared", (self.rows, self.columns), self.dtype, 4, "x")
            shared = author.buffer("shared", (self.rows, self.columns), self.dtype, 4, "y")
            starts = [f"by * {self.rows}", f"bx * {self.columns}"]
            author.load(x, starts, own)
            self._common(y, shared, f"{other} * {self.columns}")
            with author.parallel(self.rows, self.columns) as indices:
                leaves = [author.read(own, "i", "j"), author.read(shared, "i", "j")]
                value = author.combined("+", leaves[0], author.expression(leaves, indices, 1))
                index = [f"{start} + {name}" for start, name in zip(starts, "ij", strict=True)]
                author.assign(out, index, value, limit=1000)

    def _common(self, y: Tensor, shared: Memory, start: str) -> None:
        author = self.author
        if not self.is_multicast:
            author.load(y, ["0", start], shared)
            return
        full, size = author.fresh("full"), self.rows * self.columns * BITS[self.dtype] // 8
        author.text.add(f"{full} = T.alloc_barrier(1)", None)
        with author.text.block("if T.get_thread_binding() == 0:", None):
            author.text.add(f"T.mbarrier_arrive_expect_tx({full}[0], {size})", None)
        with author.text.block("if T.block_rank_in_cluster() == 0:", None):
            author.text.add(
                f"T.tma_copy({y.name}[0:{self.rows}, {start} : {start} + {self.columns}], "
                f"{shared.name}, barrier={full}[0], cluster_mask={2**self.size - 1})",
                None,
            )
        author.text.add(
            f"T.mbarrier_wait_parity({full}[0], 0)",
            f"{shared.name}[...] = load({y.name}, (0, {start}), {shared.shape})",
        )
