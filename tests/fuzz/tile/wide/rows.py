"""Rows of a matrix, tile by tile: reductions that go on, running sums with a carry, normalisation."""

from __future__ import annotations

from tests.fuzz.tile.scope import Memory
from tests.fuzz.tile.values import BITS, is_float
from tests.fuzz.tile.wide.author import Author
from tests.fuzz.tile.wide.places import moved, ragged, shift

INPUTS = ("float32", "float32", "float16", "bfloat16", "int32", "int8", "int16", "uint8")
KINDS = {
    "sum": ("total({s}, {d})", "+"),
    "abssum": ("total(np.abs({s}), {d})", "+"),
    "max": ("{s}.max(axis={d})", "np.maximum"),
    "min": ("{s}.min(axis={d})", "np.minimum"),
    "absmax": ("np.abs({s}).max(axis={d})", "np.maximum"),
    "bitand": ("np.bitwise_and.reduce({s}, axis={d})", "np.bitwise_and"),
    "bitor": ("np.bitwise_or.reduce({s}, axis={d})", "np.bitwise_or"),
    "bitxor": ("np.bitwise_xor.reduce({s}, axis={d})", "np.bitwise_xor"),
}


class Rows:
    """One kernel over blocks of rows."""

    def __init__(self, author: Author) -> None:
        self.author = author
        rng = author.rng
        self.height = rng.choice((1, 4, 8, 16, 32, 64, 128))
        self.width = rng.choice((16, 32, 64, 128, 256) if self.height < 64 else (16, 32, 64))
        self.threads = rng.choice((32, 64, 128, 128, 256))
        self.blocks = rng.randint(1, 3)
        self.steps = rng.randint(1, 4)
        dtype = rng.choice(INPUTS)
        self.dtype = rng.choice((dtype, dtype, "float32" if is_float(dtype) else "int32"))
        unit = 1 if author.chance(0.3) else 128 // BITS[dtype]
        m = ragged(author, self.height, self.blocks)
        n = ragged(author, self.width, self.steps, unit)
        label = author.fresh("n")
        self.x = author.tensor("X", (m, n), dtype, 2, labels=(f"m_{label}", f"k_{label}"))
        self.by = shift(author, dtype, 0.2)
        self.limit = 2.0 * self.width * self.steps

    def write(self) -> None:
        rng = self.author.rng
        rng.choice((self.reduced, self.reduced, self.scanned, self.scanned, self.normalised,
                    self.by_reducer, self.flat))()  # fmt: skip

    # -- pieces ----------------------------------------------------------------------------------

    def _load(self, tile: Memory, name: str) -> None:
        offsets = [f"bx * {self.height}", moved(f"{name} * {self.width}", self.by)]
        self.author.load(self.x, offsets, tile)

    def _loop(self, name: str, is_staged: bool) -> tuple[str, str]:
        author = self.author
        count = str(self.steps)
        if author.chance(0.5):
            count = f"T.ceildiv({self.x.name}.shape[1], {self.width})"
        word, options = "serial", ""
        if is_staged and author.chance(0.8):
            word, options = "Pipelined", f", num_stages={author.rng.randint(0, 3)}"
        return f"for {name} in T.{word}({count}{options}):", f"for {name} in range({self.steps}):"

    def _tile(self) -> Memory:
        """Where tiles of the matrix arrive."""
        author = self.author
        space = author.rng.choice(("shared", "shared", "fragment"))
        return author.buffer(space, (self.height, self.width), self.dtype, 2, "x")

    def _worked(self, tile: Memory) -> Memory:
        """A fragment of what has arrived, possibly changed."""
        author = self.author
        found = author.buffer("fragment", tile.shape, self.dtype, 2, "f")
        return found

    def _change(self, tile: Memory, worked: Memory) -> None:
        author = self.author
        if author.chance(0.5):
            author.copy(tile, worked)
            return
        with author.parallel(*tile.shape) as indices:
            value = author.expression([author.read(tile, "i", "j")], indices, 1)
            author.assign(worked, ("i", "j"), value)

    def _reduce(self, kind: str, tile: Memory, vector: Memory, clear: bool) -> None:
        pattern, word = KINDS[kind]
        s, t = tile.name, vector.name
        found = pattern.format(s=s, d=1)
        wide = "np.float64" if is_float(vector.dtype) else "np.int64"
        if clear:
            numpy = f"{t}[...] = cast({found}, {vector.dtype!r})"
        elif word == "+":
            numpy = f"{t}[...] = cast({t}.astype({wide}) + {found}, {vector.dtype!r})"
        else:
            numpy = f"{t}[...] = {word}({t}, {found})"
        option = "" if clear else ", clear=False"
        self.author.text.add(f"T.reduce_{kind}({s}, {t}, dim=1{option})", numpy)

    def _kind(self) -> str:
        kinds = ["sum", "sum", "max", "min", "absmax", "abssum"]
        if not is_float(self.dtype):
            kinds += ["bitand", "bitor", "bitxor"]
        if self.dtype in ("bfloat16", "float16") and self.limit > 256:
            kinds = ["max", "min", "absmax"]
        return self.author.rng.choice(kinds)

    # -- kernels ---------------------------------------------------------------------------------

    def reduced(self) -> None:
        """A vector that every tile goes on with."""
        author = self.author
        kind = self._kind()
        out = author.tensor("R", (self.x.shape[0],), self.dtype, 4)
        with author.launch([author.count(self.x, 0, self.height)], self.threads):
            tile = self._tile()
            worked = self._worked(tile) if author.chance(0.7) else tile
            vector = author.buffer("fragment", (self.height,), self.dtype, self.limit, "r")
            author.clear(vector, 0 if "sum" in kind else author.rng.randint(0, 1))
            name = author.fresh("k")
            with author.text.block(*self._loop(name, tile.space == "shared")):
                self._load(tile, name)
                if worked is not tile:
                    self._change(tile, worked)
                self._reduce(kind, worked, vector, clear=False)
            author.store(vector, out, [f"bx * {self.height}"])

    def scanned(self) -> None:
        """Running sums or maxima along rows, carried from tile to tile."""
        author = self.author
        is_sum = not (self.dtype in ("bfloat16", "float16") and self.limit > 256)
        kind = "sum" if is_sum and author.chance(0.6) else "max"
        out = author.tensor("O", self.x.shape, self.dtype, 4)
        with author.launch([author.count(self.x, 0, self.height)], self.threads):
            tile = self._tile()
            scanned = tile
            if author.chance(0.5):
                space = author.rng.choice(("shared", "fragment"))
                scanned = author.buffer(space, tile.shape, self.dtype, self.limit, "y")
            carry = author.buffer("fragment", (self.height,), self.dtype, self.limit, "r")
            author.clear(carry)
            name = author.fresh("k")
            with author.text.block(*self._loop(name, tile.space == "shared")):
                self._load(tile, name)
                self._scan(kind, tile, scanned)
                self._carried(kind, scanned, carry)
                author.store(scanned, out, [f"bx * {self.height}", f"{name} * {self.width}"])

    def _scan(self, kind: str, tile: Memory, scanned: Memory) -> None:
        into = "" if scanned is tile else f", {scanned.name}"
        reverse = self.author.chance(0.25)
        option = ", reverse=True" if reverse else ""
        self.author.text.add(
            f"T.cum{kind}({tile.name}{into}, dim=1{option})",
            f"{scanned.name}[...] = running({kind!r}, {tile.name}, 1, {reverse})",
        )

    def _carried(self, kind: str, scanned: Memory, carry: Memory) -> None:
        author = self.author
        s, c, dtype = scanned.name, carry.name, self.dtype
        word, ufunc = ("+", "np.add") if kind == "sum" else ("max", "np.maximum")
        value = f"{s}[i, j] + {c}[i]" if word == "+" else f"T.max({s}[i, j], {c}[i])"
        with author.parallel(*scanned.shape):
            author.text.add(
                f"{s}[i, j] = {value}",
                f"put({s}, (i, j), cast({ufunc}(at({s}, i, j), at({c}, i)), {dtype!r}))",
            )
        self._reduce("max", scanned, carry, clear=True)
        if kind == "sum":
            with author.parallel(self.height):
                author.assign(carry, ("i",), author.read(carry, "i").clamped(64))

    def normalised(self) -> None:
        """Each element less the largest of its row: two passes over the matrix."""
        author = self.author
        out = author.tensor("O", self.x.shape, author.rng.choice(("float32", "int32")), 4)
        with author.launch([author.count(self.x, 0, self.height)], self.threads):
            tile = self._tile()
            worked = self._worked(tile)
            vector = author.buffer("fragment", (self.height,), self.dtype, 2, "r")
            author.clear(vector)
            name = author.fresh("k")
            with author.text.block(*self._loop(name, tile.space == "shared")):
                self._load(tile, name)
                author.copy(tile, worked)
                self._reduce("max", worked, vector, clear=False)
            name = author.fresh("k")
            # With one step every start may be negative, and such an index counts from the end.
            is_reversed = author.chance(0.5) and self.steps > 1
            last = f"{self.steps - 1} - {name}" if is_reversed else name
            with author.text.block(*self._loop(name, tile.space == "shared")):
                self._load(tile, f"({last})")
                with author.parallel(*tile.shape):
                    value = author.combined(
                        "-", author.read(tile, "i", "j"), author.read(vector, "i")
                    )
                    index = (f"bx * {self.height} + i", f"({last}) * {self.width} + j")
                    author.assign(out, index, value, limit=1000)

    def by_reducer(self) -> None:
        """A matrix times a vector: all threads add to a reducer."""
        author = self.author
        vector = author.tensor("V", (self.x.shape[1],), self.x.dtype, 2)
        out = author.tensor("R", (self.x.shape[0],), "float32", 4)
        with author.launch([author.count(self.x, 0, self.height)], self.threads):
            tile = author.buffer("shared", (self.height, self.width), self.x.dtype, 2, "x")
            held = author.buffer("shared", (self.width,), self.x.dtype, 2, "v")
            total = author.fresh("r")
            option = author.rng.choice(("", ", replication='all'"))
            author.text.add(
                f"{total} = T.alloc_reducer(({self.height},), 'float32', op='sum'{option})",
                f"{total} = np.zeros(({self.height},), np.float32)",
            )
            author.text.add(f"T.clear({total})", f"{total}[...] = 0")
            name = author.fresh("k")
            with author.text.block(*self._loop(name, True)):
                self._load(tile, name)
                author.load(vector, [f"{name} * {self.width}"], held)
                one = author.read(tile, "i", "j").cast("float32")
                other = author.read(held, "j").cast("float32")
                with author.parallel(self.height, self.width):
                    author.text.add(
                        f"{total}[i] += {one.tile} * {other.tile}",
                        f"np.add.at({total}, i, {one.numpy} * {other.numpy})",
                    )
            author.text.add(f"T.finalize_reducer({total})", None)
            memory = Memory(total, "fragment", (self.height,), "float32", 2**20)
            author.store(memory, out, [f"bx * {self.height}"])

    def flat(self) -> None:
        """A vector, tile by tile: changed, scanned, reduced to one number for each block."""
        author, rng = self.author, self.author.rng
        extent = rng.choice((32, 64, 128, 256, 512))
        kind = rng.choice(("sum", "max", "min"))
        x = author.tensor("X", (extent * self.blocks - rng.choice((0, 0, 5)),), "float32", 4)
        out = author.tensor("O", x.shape, "float32", 4)
        ends = author.tensor("R", (self.blocks,), "float32", 4)
        with author.launch([author.count(x, 0, extent)], self.threads):
            tile = author.buffer(rng.choice(("shared", "fragment")), (extent,), "float32", 2**12)
            author.load(x, [f"bx * {extent}"], tile)
            if author.chance(0.5):
                word = rng.choice(("sum", "max"))
                author.text.add(
                    f"T.cum{word}({tile.name}, dim=0)",
                    f"{tile.name}[...] = running({word!r}, {tile.name}, 0, False)",
                )
            one = author.buffer("fragment", (1,), "float32", 2**20, "r")
            numpy = KINDS[kind][0].format(s=tile.name, d=0)
            author.text.add(
                f"T.reduce_{kind}({tile.name}, {one.name}, dim=0)",
                f"{one.name}[...] = cast({numpy}, 'float32')",
            )
            author.store(tile, out, [f"bx * {extent}"])
            author.store(one, ends, ["bx"])
