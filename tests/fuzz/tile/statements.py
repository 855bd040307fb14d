"""Statements of a kernel: which ones, how they nest, what they leave behind."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.tile.scope import Index, Memory, Scope, condition, index_within
from tests.fuzz.tile.text import Text
from tests.fuzz.tile.tile_ops import TileStatements
from tests.fuzz.tile.values import stored

DTYPES = ("float32", "float32", "float16", "float16", "bfloat16", "int32", "int32", "int8", "uint8")


class Statements(TileStatements):
    """The whole body."""

    def __init__(
        self,
        rng: random.Random,
        text: Text,
        tensors: Sequence[Memory],
        extents: Sequence[int],
        blocks: Sequence[str],
        grid: Sequence[int],
    ) -> None:
        super().__init__(rng, text, tensors, extents)
        self.grid = list(grid)
        self.block_count = 1
        for count in grid:
            self.block_count *= count
        self.blocks = list(blocks)
        rows, columns = self.tile_shape()
        starts = [f"bx * {columns}", f"by * {rows}", "bz"][: len(blocks)][::-1]
        self.own = ("0", *starts) if len(blocks) == 1 else tuple(starts)
        self.cells: list[Index] = []
        self.is_aligned = False
        self.staged: list[Memory] = []
        """Shared buffers that every turn of a pipelined loop fills, and nobody else uses."""

    # -- the kernel ------------------------------------------------------------------------------

    def kernel(self, scope: Scope) -> None:
        rng, text = self.rng, self.text
        threads = rng.choice((128, 256) if self.is_aligned else (32, 64, 128, 256))
        shown = ", ".join(map(str, self.grid))
        if rng.random() < 0.5:
            result = next(each for each in self.tensors if each.name == "O0")
            columns = len(result.shape) - 1
            first = f"T.ceildiv(O0.shape[{columns}], {self.tile_shape()[1]})"
            shown = ", ".join([first, *map(str, self.grid[1:])])
        ids = self.blocks[0] if len(self.blocks) == 1 else f"({', '.join(self.blocks)})"
        text.add(f"with T.Kernel({shown}, threads={threads}) as {ids}:", None)
        with text.block_of_tile():
            self._numpy_grid(scope, len(self.grid) - 1)

    def _numpy_grid(self, scope: Scope, axis: int) -> None:
        if axis < 0:
            self._body(scope)
            return
        with self.text.block(None, f"for {self.blocks[axis]} in range({self.grid[axis]}):"):
            self._numpy_grid(scope, axis - 1)

    def _body(self, scope: Scope) -> None:
        rng = self.rng
        self._allocate()
        if rng.random() < 0.15 and len(self.grid) > 1:
            self.text.add(f"T.use_swizzle({rng.randint(1, 4)})", None)
        for memory in self.buffers:
            if not memory.base and rng.random() < 0.5:
                self.fill(scope, memory)
        self.block(scope, rng.randint(2, 6))
        self._finish(scope)

    def _allocate(self) -> None:
        rng = self.rng
        rows, columns, inner = self.extents
        shapes = [
            (rows, columns),
            (rows, inner),
            (inner, columns),
            (columns, rows),
            (rows, columns),
        ]
        for number in range(rng.randint(2, 4)):
            space = rng.choice(("shared", "fragment"))
            self._buffer(f"S{number}", space, rng.choice(shapes), rng.choice(DTYPES))
        for number in range(rng.randint(1, 2)):
            shape = (rng.choice((rows, columns, columns, inner)),)
            self._buffer(
                f"V{number}", rng.choice(("shared", "fragment")), shape, rng.choice(DTYPES)
            )
        if rng.random() < 0.15:
            self._buffer("E0", "shared", (rows, columns), "float8_e4m3fn", 16)
        if rng.random() < 0.65:
            self._allocate_product()
        self._allocate_staged()
        if rng.random() < 0.3:
            self._allocate_view()
        for number in range(rng.choice((0, 0, 1, 2))):
            name = f"v{number}"
            self.cells.append(Index(name, 0, 17))
            self.text.add(f"{name} = T.alloc_var('int32', init={number})", f"{name} = {number}")

    def _allocate_product(self) -> None:
        rng = self.rng
        rows, columns, inner = self.extents
        dtype = rng.choice(("float16", "float16", "bfloat16", "float32", "int8", "uint8"))
        a = (rows, inner) if rng.random() < 0.6 else (inner, rows)
        b = (inner, columns) if rng.random() < 0.6 else (columns, inner)
        bound = rng.choice((4, 8))
        self._buffer("GA", rng.choice(("shared", "shared", "fragment")), a, dtype, bound)
        self._buffer("GB", "shared", b, dtype, bound)
        total = "int32" if "int" in dtype else "float32"
        self._buffer("GC", "fragment", (rows, columns), total, 2**20)

    def _allocate_staged(self) -> None:
        rng = self.rng
        rows, columns, inner = self.extents
        inputs = [each for each in self.tensors if each.name[0] == "A"]
        for number in range(rng.choice((0, 1, 2, 2, 3))):
            source = rng.choice(inputs)
            shape = rng.choice([(rows, columns), (rows, inner), (columns,), (inner,)])
            dtype = source.dtype if rng.random() < 0.85 else rng.choice(DTYPES)
            self._buffer(f"P{number}", "shared", shape, dtype, rng.choice((4, 16)))
            self.staged.append(self.buffers.pop())
        named = {each.name: each for each in self.buffers}
        if "GA" in named and named["GA"].space == "shared" and rng.random() < 0.6:
            self.staged += [named["GA"], named["GB"]]
            self.buffers = [each for each in self.buffers if each.name not in ("GA", "GB")]

    def _allocate_view(self) -> None:
        rng = self.rng
        whole = rng.choice([each for each in self.buffers if len(each.shape) == 2])
        flat = whole.shape[0] * whole.shape[1]
        shape = rng.choice([(flat,), whole.shape[::-1]])
        view = Memory("W0", whole.space, shape, whole.dtype, whole.bound, base=whole.name)
        self.buffers.append(view)
        self.text.add(
            f"W0 = T.reshape({whole.name}, {shape})", f"W0 = {whole.name}.reshape({shape})"
        )

    def _buffer(
        self, name: str, space: str, shape: tuple[int, ...], dtype: str, bound: float = 0
    ) -> None:
        bound = bound or self.rng.choice((4, 16, 128, 128, 256))
        memory = Memory(name, space, shape, dtype, bound)
        self.buffers.append(memory)
        self.text.add(
            f"{name} = T.alloc_{space}({shape}, {dtype!r})",
            f"{name} = np.full({shape}, 77).astype(DTYPES[{dtype!r}])",
        )

    def _finish(self, scope: Scope) -> None:
        """Write what was computed to the results, so that something can be seen."""
        ready = [each for each in self.buffers if each.root in scope.ready]
        for target in self.tensors:
            if target.name[0] == "O":
                for source in ready:
                    if self.copy_between(scope, source, target):
                        break
        self.parallel(scope)

    # -- blocks and control flow -----------------------------------------------------------------

    def block(self, scope: Scope, count: int) -> None:
        before = len(self.text.tile)
        for _ in range(count):
            for _ in range(8):
                if self.statement(scope):
                    break
        if len(self.text.tile) == before:
            self.fill(scope, self.rng.choice(self.buffers))

    def statement(self, scope: Scope) -> bool:
        rng = self.rng
        simple = (
            [self.copy] * 5 + [self.parallel] * 4 + [self.product] * 4 + [self.reduction] * 2
            + [self.scan, self.any_fill, self.transposition, self.atomic, self.scalar, self.cell,
               self.element]
        )  # fmt: skip
        nested = (
            [self.pipelined] * 4
            + [self.serial] * 2
            + [self.guard] * 2
            + [self.persistent, self.while_loop]
        )
        if scope.depth < 2 and scope.turns < 40 and rng.random() < 0.35:
            return rng.choice(nested)(scope)
        return rng.choice(simple)(scope)

    def _loop(
        self, scope: Scope, header: tuple[str, str], turns: int, certain: bool, *indices: Index
    ) -> None:
        inner = scope.inner(turns, *indices)
        with self.text.block(*header):
            self.block(inner, self.rng.randint(1, 4))
        if certain:
            scope.ready |= inner.ready

    def _count(self, scope: Scope) -> tuple[str, str, int, int, bool]:
        """Bounds of a loop: low and high as text, the same as numbers, and if it surely runs."""
        rng = self.rng
        bounded = [each for each in scope.indices if each.low >= 0 and each.high <= 7]
        low = rng.choice((0, 0, 0, 1, 2))
        if bounded and rng.random() < 0.25:
            each = rng.choice(bounded)
            return str(low), each.name, low, max(each.high - 1, low + 1), False
        high = low + rng.choice((1, 2, 3, 4, 5, 6))
        return str(low), str(high), low, high, True

    def pipelined(self, scope: Scope) -> bool:
        low, high, first, last, certain = self._count(scope)
        name = self.fresh("k")
        bounds = high if low == "0" and self.rng.random() < 0.7 else f"{low}, {high}"
        inner = scope.inner(last - first, Index(name, first, last))
        outer, staged = self.buffers, self.staged
        own = self._own_buffers() if self.rng.random() < 0.12 else []
        self.buffers, self.staged = [*outer, *(own or staged)], []
        place, depth = len(self.text.tile), self.rng.randint(0, 4)
        options = f"num_stages={depth}"
        with self.text.block("", f"for {name} in range({low}, {high}):"):
            if own:
                options = self._scheduled(inner, own)
            elif self.rng.random() < 0.2:
                self._guarded_turn(inner, staged)
            else:
                self._turn(inner, staged)
        indent = self.text.tile[place]
        self.text.tile[place] = f"{indent}for {name} in T.Pipelined({bounds}, {options}):"
        self.buffers, self.staged = outer, staged
        inner.ready -= {each.name for each in (*own, *staged)}
        if certain:
            scope.ready |= inner.ready
        return True

    def _turn(self, scope: Scope, staged: list[Memory]) -> None:
        """Copies from global memory, as pipelined loops have them, and what is done with them."""
        rng = self.rng
        if rng.random() < 0.2:
            self.scalar(scope)
        for memory in self.buffers:
            is_fed = rng.random() < (0.8 if memory in staged else 0.15)
            if memory.space == "shared" and not memory.base and is_fed:
                self.load(scope, memory)
        self.block(scope, rng.randint(1, 3))

    def _guarded_turn(self, scope: Scope, staged: list[Memory]) -> None:
        """A turn that is left out under a condition, as in block-sparse products."""
        if self.rng.random() < 0.4:
            self.scalar(scope)
        test = condition(self.rng, scope.indices, [])
        with self.text.block(f"if {test[0]}:", f"if {test[1]}:"):
            self._turn(scope.inner(1), staged)

    def _own_buffers(self) -> list[Memory]:
        """Buffers that one loop has for itself."""
        rng = self.rng
        rows, columns, _ = self.extents
        inputs = [each for each in self.tensors if each.name[0] == "A" and len(each.shape) > 1]
        found: list[Memory] = []
        for _ in range(rng.randint(1, 2) if inputs else 0):
            source = rng.choice(inputs)
            self._buffer(self.fresh("Q"), "shared", (rows, columns), source.dtype, 16)
            found.append(self.buffers.pop())
        return found

    def _scheduled(self, scope: Scope, own: list[Memory]) -> str:
        """Copies and one user, with a schedule of the author's."""
        rng = self.rng
        count = sum(self.load(scope, each) for each in own)
        target = next(each for each in self.buffers if each.name == "S0")
        source = rng.choice(own)
        extents = ", ".join(map(str, target.shape))
        indices = [Index(name, 0, size) for name, size in zip("ij", target.shape, strict=True)]
        places = [index_within(rng, indices, size) for size in source.shape]
        value = stored(self.read(scope, source, places), target.dtype, target.bound)
        self.text.add(f"for i, j in T.Parallel({extents}):", f"i, j = box({extents})")
        with self.text.block_of_tile():
            self.text.add(
                f"S0[i, j] = {value.tile}",
                f"put(S0, (i, j), cast({value.numpy}, {target.dtype!r}))",
            )
        scope.ready.add("S0")
        order = list(range(count + 1))
        rng.shuffle(order)
        stage = [0] * count + [rng.randint(1, 3)]
        return f"stage={stage}, order={order}"

    def serial(self, scope: Scope) -> bool:
        rng = self.rng
        name = self.fresh("k")
        low, high, first, last, certain = self._count(scope)
        word = rng.choice(("T.serial", "range", "T.unroll", "T.unroll"))
        options = ", explicit=True" if word == "T.unroll" and certain and rng.random() < 0.7 else ""
        step = rng.choice(("", "", ", 2", ", -1")) if certain else ""
        bounds = f"{high}, {low}, -1" if step == ", -1" else f"{low}, {high}{step}"
        index = Index(name, first + 1, last + 1) if step == ", -1" else Index(name, first, last)
        header = (f"for {name} in {word}({bounds}{options}):", f"for {name} in range({bounds}):")
        if not options and rng.random() < 0.2:
            self._leaving(scope, header, last - first, index)
        else:
            self._loop(scope, header, last - first, certain, index)
        return True

    def _leaving(self, scope: Scope, header: tuple[str, str], turns: int, index: Index) -> None:
        """A loop with a ``break`` or a ``continue``."""
        inner = scope.inner(turns, index)
        with self.text.block(*header):
            self.block(inner, self.rng.randint(0, 2))
            test = condition(self.rng, inner.indices, [])
            with self.text.block(f"if {test[0]}:", f"if {test[1]}:"):
                self.text.both(self.rng.choice(("break", "continue")))
            self.block(inner, self.rng.randint(1, 3))

    def guard(self, scope: Scope) -> bool:
        rng = self.rng
        sides = rng.choice((1, 1, 2))
        test = condition(rng, scope.indices, [])
        inner = [scope.inner(1) for _ in range(sides)]
        with self.text.block(f"if {test[0]}:", f"if {test[1]}:"):
            self.block(inner[0], rng.randint(1, 3))
        if sides == 2:
            with self.text.block("else:", "else:"):
                self.block(inner[1], rng.randint(1, 3))
            scope.ready |= inner[0].ready & inner[1].ready
        return True

    def persistent(self, scope: Scope) -> bool:
        rng = self.rng
        domain = [rng.randint(1, 3), rng.randint(1, 4)]
        group, wave = rng.randint(1, 4), rng.randint(1, 3)
        worker = rng.choice([*(each.name for each in scope.indices if each.low >= 0), "0"])
        names = [self.fresh("k"), self.fresh("k")]
        shown = ", ".join(names)
        self._loop(
            scope,
            (
                f"for {shown} in T.Persistent({domain}, {wave}, {worker}, group_size={group}):",
                f"for {shown} in tiles({domain}, {wave}, {worker}, {group}):",
            ),
            domain[0] * domain[1],
            False,
            *(Index(name, 0, size) for name, size in zip(names, domain, strict=True)),
        )
        return True

    def while_loop(self, scope: Scope) -> bool:
        rng = self.rng
        name = self.fresh("w")
        turns = rng.randint(1, 4)
        self.text.add(f"{name} = T.alloc_var('int32', init=0)", f"{name} = 0")
        inner = scope.inner(turns, Index(name, 0, turns))
        with self.text.block(f"while {name} < {turns}:", f"while {name} < {turns}:"):
            self.block(inner, rng.randint(1, 3))
            self.text.both(f"{name} = {name} + 1")
        scope.ready |= inner.ready
        return True

    # -- scalars ---------------------------------------------------------------------------------

    def scalar(self, scope: Scope) -> bool:
        """A number that comes from memory, or from the indices."""
        rng = self.rng
        name = self.fresh("n")
        if rng.random() < 0.6:
            size = next(each for each in self.tensors if each.name == "Ids").shape[0]
            place = rng.choice([each.name for each in scope.indices]) + f" % {size}"
            self.text.add(f"{name} = Ids[{place}]", f"{name} = int(at(Ids, {place}))")
            scope.indices.append(Index(name, 0, 6))
            return True
        one = rng.choice(scope.indices)
        self.text.both(f"{name} = ({one.name} * {rng.randint(1, 3)} + {rng.randint(0, 3)}) % 5")
        scope.indices.append(Index(name, 0, 5))
        return True

    def cell(self, scope: Scope) -> bool:
        rng = self.rng
        if not self.cells:
            return False
        cell = rng.choice(self.cells)
        one = rng.choice(scope.indices)
        self.text.both(f"{cell.name} = ({cell.name} * {rng.randint(1, 3)} + {one.name} + 1) % 17")
        if cell not in scope.indices:
            scope.indices.append(cell)
        return True
