"""Statements on whole tiles: copies, fills, products, reductions, scans, atomics."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.tile import values
from tests.fuzz.tile.elementwise import Body, Expressions
from tests.fuzz.tile.scope import Index, Memory, Scope, index_within
from tests.fuzz.tile.text import Text
from tests.fuzz.tile.values import is_float, largest

EXACT = {"float32": 2**24, "float16": 2**11, "bfloat16": 2**8}
"""Up to here, every integer is a value of the type."""
REDUCTIONS = {
    "max": ("{s}.max(axis={d})", "np.maximum"),
    "min": ("{s}.min(axis={d})", "np.minimum"),
    "absmax": ("np.abs({s}).max(axis={d})", "np.maximum"),
    "bitand": ("np.bitwise_and.reduce({s}, axis={d})", "np.bitwise_and"),
    "bitor": ("np.bitwise_or.reduce({s}, axis={d})", "np.bitwise_or"),
    "bitxor": ("np.bitwise_xor.reduce({s}, axis={d})", "np.bitwise_xor"),
}


def converts(source: Memory, target: Memory) -> bool:
    """Whether every value that `source` may hold is one that `target` may hold."""
    if is_float(source.dtype) and is_float(target.dtype):
        return source.bound <= target.bound
    if is_float(target.dtype):
        return largest(source.dtype) <= target.bound
    if is_float(source.dtype):
        return source.bound <= 100 and target.dtype != "uint8"
    return True


class TileStatements(Expressions):
    """Copies and whatever else works on tiles."""

    def __init__(
        self, rng: random.Random, text: Text, tensors: Sequence[Memory], extents: Sequence[int]
    ) -> None:
        super().__init__(rng, text, tensors)
        self.extents = list(extents)
        self.block_count = 1
        self._grown: dict[str, float] = {}
        """How much was added to what may grow."""
        self._atomic = rng.choice(("add", "add", "max", "min"))

    def tile_shape(self) -> tuple[int, int]:
        return self.extents[0], self.extents[1]

    def _may_grow(self, scope: Scope, target: Memory, by: float, everywhere: bool = False) -> bool:
        """Note that something adds up to `by` to every element each time; whether it fits."""
        if not is_float(target.dtype):
            return True
        limit = min(target.bound, EXACT[target.dtype])
        grown = self._grown.get(target.root, 4)
        grown += by * scope.turns * (self.block_count if everywhere else 1)
        if grown > limit:
            return False
        self._grown[target.root] = grown
        return True

    # -- fills and copies ------------------------------------------------------------------------

    def any_fill(self, scope: Scope) -> bool:
        self.fill(scope, self.rng.choice(self.buffers))
        return True

    def fill(self, scope: Scope, target: Memory) -> None:
        rng = self.rng
        number = rng.randint(0, 3)
        if target.root in scope.ready and rng.random() < 0.3:
            start = rng.randrange(target.shape[0])
            part = f"{target.name}[{start}:{rng.randint(start + 1, target.shape[0])}"
            part += ", :]" * (len(target.shape) - 1) or "]"
            tile = f"T.fill({part}, {number})" if rng.random() < 0.5 else f"{part} = {number}"
            self.text.add(tile, f"{part} = {number}")
            return
        word = f"T.fill({target.name}, {number})" if number else f"T.clear({target.name})"
        self.text.add(word, f"{target.name}[...] = {number}")
        scope.ready.add(target.root)

    def copy(self, scope: Scope) -> bool:
        rng = self.rng
        target = rng.choice([*self.buffers, *(t for t in self.tensors if t.name[0] == "O")])
        if not target.is_global and rng.random() < 0.5:
            return self.load(scope, target)
        sources = [each for each in self.buffers if each.root in scope.ready]
        rng.shuffle(sources)
        return any(self.copy_between(scope, each, target) for each in sources)

    def load(self, scope: Scope, target: Memory) -> bool:
        """From a place of global memory, which may lie partly or wholly outside."""
        rng = self.rng
        sources = [
            each
            for each in self.tensors
            if not each.writable and len(each.shape) >= len(target.shape) and converts(each, target)
        ]
        if not sources:
            return False
        source = rng.choice(sources)
        extra = len(source.shape) - len(target.shape)
        extents = [1] * extra + list(target.shape)
        offsets = [self._offset(scope, size, extent)
                   for size, extent in zip(source.shape, extents, strict=True)]  # fmt: skip
        if rng.random() < 0.6:
            place = ", ".join(offsets)
        else:
            place = ", ".join(f"{at} : {at} + {extent}" if at != "0" else f"0:{extent}"
                              for at, extent in zip(offsets, extents, strict=True))  # fmt: skip
        numpy = f"load({source.name}, ({', '.join(offsets)},), {tuple(extents)})"
        self.text.add(
            f"T.copy({source.name}[{place}], {target.name})",
            f"{target.name}[...] = cast({numpy}, {target.dtype!r}).reshape({target.shape})",
        )
        scope.ready.add(target.root)
        return True

    def _offset(self, scope: Scope, size: int, extent: int) -> str:
        rng = self.rng
        picked = rng.sample(scope.indices, min(len(scope.indices), rng.choice((0, 1, 1, 2))))
        if not picked:
            return str(rng.choice((0, 0, 1, max(0, size - extent), max(0, size - 2))))
        terms = [f"{each.name} * {rng.choice((extent, extent, 1, 3))}" for each in picked]
        last = rng.choice(("", "", "", " + 1", " - 2"))
        return f"({' + '.join(terms)}{last})"

    def copy_between(self, scope: Scope, source: Memory, target: Memory) -> bool:
        rng = self.rng
        if source.root == target.root or not converts(source, target):
            return False
        if target.is_global:
            if source.shape != self.tile_shape():
                return False
            extents = [1] * (len(target.shape) - 2) + list(source.shape)
            self.text.add(
                f"T.copy({source.name}, {target.name}[{', '.join(self.own)}])",
                f"store({target.name}, ({', '.join(self.own)},), {tuple(extents)}, "
                f"cast({source.name}, {target.dtype!r}))",
            )
            return True
        if source.shape == target.shape and rng.random() < 0.7:
            self.text.add(
                f"T.copy({source.name}, {target.name})",
                f"{target.name}[...] = cast({source.name}, {target.dtype!r})",
            )
            scope.ready.add(target.root)
            return True
        if target.root not in scope.ready:
            return False
        return self._copy_part(scope, source, target)

    def _copy_part(self, scope: Scope, source: Memory, target: Memory) -> bool:
        rng = self.rng
        short, long = sorted((len(source.shape), len(target.shape)))
        one = [1] * (long - len(source.shape)) + list(source.shape)
        other = [1] * (long - len(target.shape)) + list(target.shape)
        extents = [rng.randint(1, min(pair)) for pair in zip(one, other, strict=True)]
        if short == 1 and long == 2:
            extents[0] = 1
        sides = [self._part(scope, each, extents) for each in (source, target)]
        self.text.add(
            f"T.copy({sides[0]}, {sides[1]})",
            f"{sides[1]} = cast({sides[0]}, {target.dtype!r}).reshape({sides[1]}.shape)",
        )
        return True

    def _part(self, scope: Scope, memory: Memory, extents: Sequence[int]) -> str:
        own = list(extents)[len(extents) - len(memory.shape) :]
        starts = [index_within(self.rng, scope.indices, size - extent + 1)
                  for size, extent in zip(memory.shape, own, strict=True)]  # fmt: skip
        starts = ["0" if each == "-1" else each for each in starts]
        shown = ", ".join(f"({at}):({at}) + {extent}" for at, extent in
                          zip(starts, own, strict=True))  # fmt: skip
        return f"{memory.name}[{shown}]"

    def transposition(self, scope: Scope) -> bool:
        pairs = [
            (source, target)
            for source in self.buffers
            for target in self.buffers
            if source.root in scope.ready and source.root != target.root
            and len(source.shape) == 2 and target.shape == source.shape[::-1]
            and converts(source, target) and source.dtype == target.dtype
        ]  # fmt: skip
        if not pairs:
            return False
        source, target = self.rng.choice(pairs)
        self.text.add(
            f"T.transpose({source.name}, {target.name})",
            f"{target.name}[...] = cast({source.name}.T, {target.dtype!r})",
        )
        scope.ready.add(target.root)
        return True

    # -- products, reductions, scans -------------------------------------------------------------

    def product(self, scope: Scope) -> bool:
        named = {each.name: each for each in self.buffers}
        if not {"GA", "GB", "GC"} <= set(named):
            return False
        rng = self.rng
        a, b, c = (named[name] for name in ("GA", "GB", "GC"))
        for each in (a, b):
            if each.root not in scope.ready:
                self.load(scope, each) or self.fill(scope, each)
        rows, columns, inner = self.extents
        clear = rng.random() < 0.3
        is_first = rng.random() < 0.2
        if c.root not in scope.ready and not clear:
            self.fill(scope, c)
        if not self._may_grow(scope, c, inner * a.bound * b.bound):
            return False
        flip_a, flip_b = a.shape != (rows, inner), b.shape != (inner, columns)
        if a.shape == a.shape[::-1]:
            flip_a = rng.random() < 0.5
        if b.shape == b.shape[::-1]:
            flip_b = rng.random() < 0.5
        options = [f"transpose_A={flip_a}"] * flip_a + [f"transpose_B={flip_b}"] * flip_b
        loop = next((i for i in reversed(scope.indices) if i.name[0] == "k"), None)
        test = "False"
        if clear:
            test = "True"
        elif is_first and loop is not None:
            test = f"{loop.name} == {loop.low}"
        if test != "False":
            options.append(f"clear_accum={test}")
        shown = ", ".join(["GA", "GB", "GC", *options])
        one, other = "GA.T" if flip_a else "GA", "GB.T" if flip_b else "GB"
        before = f"np.where({test}, 0, GC)" if test != "False" else "GC"
        kind = "np.float64" if is_float(c.dtype) else "np.int64"
        self.text.add(
            f"T.gemm({shown})",
            f"GC[...] = cast(({before}).astype({kind}) + product({one}, {other}), {c.dtype!r})",
        )
        scope.ready.add(c.root)
        return True

    def reduction(self, scope: Scope) -> bool:
        rng = self.rng
        pairs = [
            (source, target, dim)
            for source in self.buffers
            for target in self.buffers
            for dim in (0, 1)
            if len(source.shape) == 2 and source.root in scope.ready
            and target.shape == (source.shape[1 - dim],) and source.dtype == target.dtype
            and source.root != target.root and source.dtype != "float8_e4m3fn"
        ]  # fmt: skip
        if not pairs:
            return False
        source, target, dim = rng.choice(pairs)
        kinds = ["sum", "sum", "max", "min", "absmax", "abssum"]
        kinds += [] if is_float(source.dtype) else ["bitand", "bitor", "bitxor"]
        kind = rng.choice(kinds)
        clear = target.root not in scope.ready or rng.random() < 0.5
        s, t = source.name, target.name
        if kind in ("sum", "abssum"):
            by = source.limit * source.shape[dim]
            if is_float(target.dtype) and by > target.bound:
                return False
            if not clear and not self._may_grow(scope, target, by):
                return False
            sign = s if kind == "sum" else f"np.abs({s})"
            wide = "np.float64" if is_float(target.dtype) else "np.int64"
            before = "" if clear else f"{t}.astype({wide}) + "
            numpy = f"{t}[...] = cast({before}total({sign}, {dim}), {target.dtype!r})"
        else:
            if is_float(target.dtype) and source.bound > target.bound:
                return False
            pattern, ufunc = REDUCTIONS[kind]
            found = pattern.format(s=s, d=dim)
            numpy = f"{t}[...] = {found if clear else f'{ufunc}({t}, {found})'}"
        shown = dim if rng.random() < 0.5 else dim - 2
        option = "" if clear else ", clear=False"
        self.text.add(f"T.reduce_{kind}({s}, {t}, dim={shown}{option})", numpy)
        scope.ready.add(target.root)
        return True

    def scan(self, scope: Scope) -> bool:
        rng = self.rng
        sources = [each for each in self.buffers
                   if each.root in scope.ready and each.dtype != "float8_e4m3fn"]  # fmt: skip
        if not sources:
            return False
        source = rng.choice(sources)
        targets = [each for each in self.buffers
                   if each.shape == source.shape and each.dtype == source.dtype
                   and each.root != source.root]  # fmt: skip
        target = rng.choice([source, *targets])
        axis = rng.randrange(len(source.shape))
        kind = rng.choice(("sum", "max"))
        if is_float(source.dtype):
            grows = source.bound * source.shape[axis] if kind == "sum" else source.bound
            if grows > min(target.bound, EXACT[source.dtype]):
                return False
        reverse = rng.random() < 0.4
        into = "" if target is source else f", {target.name}"
        option = ", reverse=True" if reverse else ""
        self.text.add(
            f"T.cum{kind}({source.name}{into}, dim={axis}{option})",
            f"{target.name}[...] = running({kind!r}, {source.name}, {axis}, {reverse})",
        )
        scope.ready.add(target.root)
        return True

    # -- elements and atomics --------------------------------------------------------------------

    def element(self, scope: Scope) -> bool:
        """One element, written outside of a parallel loop."""
        rng = self.rng
        targets = [each for each in self.buffers if each.root in scope.ready
                   and each.dtype != "float8_e4m3fn"
                   and (each.space == "shared" or len(each.shape) == 1)]  # fmt: skip
        if not targets:
            return False
        target = rng.choice(targets)
        index = [index_within(rng, scope.indices, size) for size in target.shape]
        if target.space == "fragment":
            index = ["0"] * len(index)
        body = Body(written={target.root: (target.name, tuple(index))})
        hidden = scope.ready - {target.root}
        plain = Scope(scope.indices, scope.scalars, hidden, scope.turns, scope.depth)
        value = self._scalar_value(plain, body, target)
        fitting = values.stored(value, target.dtype, target.bound)
        shown = [str(size - 1) if each == "-1" else each
                 for each, size in zip(index, target.shape, strict=True)]  # fmt: skip
        self.text.add(
            f"{target.name}[{', '.join(index)}] = {fitting.tile}",
            f"put({target.name}, ({', '.join(shown)},), cast({fitting.numpy}, {target.dtype!r}))",
        )
        return True

    def _scalar_value(self, scope: Scope, body: Body, target: Memory) -> values.Value:
        """A value outside of a parallel loop: of a fragment, element 0 only."""
        del body, target
        return self.value(scope, scope.indices, None, 1)

    def atomic(self, scope: Scope) -> bool:
        rng = self.rng
        target = next((each for each in self.tensors if each.name == "H"), None)
        if target is None:
            return False
        ufunc = {"add": "np.add", "max": "np.maximum", "min": "np.minimum"}[self._atomic]
        sources = [each for each in self.buffers if len(each.shape) == 1
                   and each.root in scope.ready and each.dtype == target.dtype]  # fmt: skip
        start = rng.choice(["0", "2", *(f"{i.name} * 3" for i in scope.indices)])
        if sources and rng.random() < 0.5:
            source = rng.choice(sources)
            if not self._may_grow(scope, target, source.bound, everywhere=True):
                return False
            span = source.shape[0]
            self.text.add(
                f"T.atomic_{self._atomic}(H[{start}], {source.name})",
                f"combine({ufunc}, H, (({start}) + np.arange({span}),), {source.name})",
            )
            return True
        extent = rng.randint(1, 12)
        if not self._may_grow(scope, target, 16 * extent, everywhere=True):
            return False
        inner = scope.inner(1, Index("i", 0, extent))
        index = self._global_index(inner.indices, target.shape[0])
        shown = str(target.shape[0] - 1) if index == "-1" else index
        value = self.value(inner, inner.indices, Body(), 1)
        fitting = values.stored(value, target.dtype, 16)
        self.text.add(f"for i in T.Parallel({extent}):", f"(i,) = box({extent})")
        with self.text.block_of_tile():
            self.text.add(
                f"T.atomic_{self._atomic}(H[{index}], {fitting.tile})",
                f"combine({ufunc}, H, (({shown}) + 0 * i,), "
                f"cast({fitting.numpy}, {target.dtype!r}))",
            )
        return True
