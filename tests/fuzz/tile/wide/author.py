"""What all kernels of the wide family are written with: tensors, buffers, launches, expressions.

A scheme (`gemm`, `moves`, `rows`, …) writes one kernel with it, in `T` and in NumPy. Floats hold
integers: a sum or a product that might not be exact in its type is computed in float32, and one
that might not be exact there is cut down first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.fuzz.tile import values
from tests.fuzz.tile.scope import Filled, Index, Memory, condition
from tests.fuzz.tile.text import Text
from tests.fuzz.tile.values import Value, is_float

FORMS = ("static", "static", "dynamic", "eager")
EXACT = {
    "float32": 2**23,
    "float16": 2**11,
    "bfloat16": 2**8,
    "float8_e4m3fn": 16,
    "float8_e5m2": 8,
}
"""Up to here, every integer is a value of the type."""
CUT = 1000


@dataclass(frozen=True)
class Tensor(Filled):
    """A parameter of the function."""

    labels: tuple[str, ...] = ()
    """Names of its sizes that are symbols; an empty one for a size that is a number."""


class Author:
    """Both texts of a function, and the names in them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"wide {seed}")
        self.text = Text()
        self.form = self.rng.choice(FORMS)
        self.tensors: list[Tensor] = []
        self.macros = Text()
        self.kernels = 0
        self.only_hopper = self.only_threads = False
        self._names = 0

    def fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # -- memory ----------------------------------------------------------------------------------

    def tensor(
        self,
        prefix: str,
        shape: Sequence[int],
        dtype: str,
        bound: float,
        *,
        fill: str = "values",
        low: int = 0,
        labels: Sequence[str] = (),
    ) -> Tensor:
        """A parameter. Sizes with one label are one symbol in functions that have symbols."""
        name = self.fresh(prefix)
        own = [f"{name.lower()}_{axis}" for axis in range(len(shape))]
        chosen = [label or mine for label, mine in zip(labels or own, own, strict=True)]
        if self.form == "static" or self.chance(0.3):
            chosen = [""] * len(chosen)
        elif self.chance(0.5):
            chosen[-1] = ""
        found = Tensor(name, "global", tuple(shape), dtype, bound, fill=fill, low=low,
                       labels=tuple(chosen))  # fmt: skip
        self.tensors.append(found)
        return found

    def buffer(
        self, space: str, shape: Sequence[int], dtype: str, bound: float, prefix: str = "s"
    ) -> Memory:
        name = self.fresh(prefix)
        shown = tuple(shape)
        self.text.add(
            f"{name} = T.alloc_{space}({shown}, {dtype!r})",
            f"{name} = np.full({shown}, 77).astype(DTYPES[{dtype!r}])",
        )
        return Memory(name, space, shown, dtype, bound)

    def cell(self, init: int) -> str:
        name = self.fresh("v")
        self.text.add(f"{name} = T.alloc_var('int32', init={init})", f"{name} = {init}")
        return name

    def macro(self, tile: Sequence[str], numpy: Sequence[str]) -> None:
        """A function that kernels call; the first line is its signature."""
        for header, lines, target in (
            ("@T.macro", tile, self.macros.tile),
            (None, numpy, self.macros.numpy),
        ):
            if header:
                target.append(header)
            target += [lines[0], *("    " + line for line in lines[1:])]

    # -- launches --------------------------------------------------------------------------------

    def count(self, tensor: Tensor, axis: int, block: int) -> tuple[str, int]:
        """How many tiles of `block` cover an axis: as text, and as a number."""
        number = -(-tensor.shape[axis] // block)
        if self.chance(0.5):
            return str(number), number
        return f"T.ceildiv({tensor.name}.shape[{axis}], {block})", number

    @contextmanager
    def launch(
        self,
        grid: Sequence[tuple[str, int]],
        threads: int,
        cluster: Sequence[int] | None = None,
    ) -> Iterator[list[Index]]:
        """``with T.Kernel(...)``; gives the indices of the block."""
        self.kernels += 1
        names = ["bx", "by", "bz"][: len(grid)]
        shown = ", ".join(text for text, _ in grid)
        ids = names[0] if len(names) == 1 else f"({', '.join(names)})"
        word, more = "T.Kernel", ""
        if cluster is not None:
            word, more = "T.ClusterKernel", f", cluster_dims={tuple(cluster)}"
        with ExitStack() as stack:
            stack.enter_context(
                self.text.block(f"with {word}({shown}, threads={threads}{more}) as {ids}:", None)
            )
            for name, (_, number) in reversed(list(zip(names, grid, strict=True))):
                stack.enter_context(self.text.block(None, f"for {name} in range({number}):"))
            yield [Index(name, 0, number) for name, (_, number) in zip(names, grid, strict=True)]

    # -- statements ------------------------------------------------------------------------------

    def clear(self, memory: Memory, number: int = 0) -> None:
        word = f"T.fill({memory.name}, {number})" if number else f"T.clear({memory.name})"
        self.text.add(word, f"{memory.name}[...] = {number}")

    def load(
        self, source: Memory, offsets: Sequence[str], target: Memory, options: str = ""
    ) -> None:
        """A tile of a tensor; what lies outside of it is zero."""
        extents = self._extents(source, target)
        self.text.add(
            f"T.copy({source.name}[{self._place(offsets, extents)}], {target.name}{options})",
            f"{target.name}[...] = cast(load({source.name}, ({', '.join(offsets)},), "
            f"{tuple(extents)}), {target.dtype!r}).reshape({target.shape})",
        )

    def store(
        self, source: Memory, target: Memory, offsets: Sequence[str], options: str = ""
    ) -> None:
        extents = self._extents(target, source)
        self.text.add(
            f"T.copy({source.name}, {target.name}[{self._place(offsets, extents)}]{options})",
            f"store({target.name}, ({', '.join(offsets)},), {tuple(extents)}, "
            f"cast({source.name}, {target.dtype!r}))",
        )

    def accumulate(
        self, word: str, source: Memory, target: Memory, offsets: Sequence[str], options: str = ""
    ) -> None:
        """Atomically, a whole tile."""
        ufunc = {"add": "np.add", "max": "np.maximum", "min": "np.minimum"}[word]
        extents = self._extents(target, source)
        self.text.add(
            f"T.atomic_{word}({target.name}[{', '.join(offsets)}], {source.name}{options})",
            f"accumulate({ufunc}, {target.name}, ({', '.join(offsets)},), {tuple(extents)}, "
            f"{source.name})",
        )

    def copy(self, source: Memory, target: Memory) -> None:
        self.text.add(
            f"T.copy({source.name}, {target.name})",
            f"{target.name}[...] = cast({source.name}, {target.dtype!r}).reshape({target.shape})",
        )

    def _extents(self, tensor: Memory, tile: Memory) -> list[int]:
        return [1] * (len(tensor.shape) - len(tile.shape)) + list(tile.shape)

    def _place(self, offsets: Sequence[str], extents: Sequence[int]) -> str:
        if self.chance(0.6):
            return ", ".join(offsets)
        return ", ".join(
            at if extent == 1 else f"{at} : {at} + {extent}"
            for at, extent in zip(offsets, extents, strict=True)
        )

    @contextmanager
    def parallel(self, *extents: int) -> Iterator[list[Index]]:
        names = ["i", "j", "l"][: len(extents)]
        shown, comma = ", ".join(names), "," if len(names) == 1 else ""
        sizes = ", ".join(map(str, extents))
        self.text.add(f"for {shown} in T.Parallel({sizes}):", f"{shown}{comma} = box({sizes})")
        with self.text.block_of_tile():
            yield [Index(name, 0, size) for name, size in zip(names, extents, strict=True)]

    def assign(
        self,
        target: Memory,
        index: Sequence[str],
        value: Value,
        mask: str = "",
        limit: float | None = None,
    ) -> None:
        """One element for each iteration, cut down so that it fits."""
        fitting = values.stored(value, target.dtype, limit or target.bound)
        last = f", {mask}" if mask else ""
        self.text.add(
            f"{target.name}[{', '.join(index)}] = {fitting.tile}",
            f"put({target.name}, ({', '.join(index)},), cast({fitting.numpy}, {target.dtype!r})"
            f"{last})",
        )

    def fitting(self, value: Value, target: Memory) -> Value:
        return values.stored(value, target.dtype, target.bound)

    # -- expressions -----------------------------------------------------------------------------

    def read(self, memory: Memory, *index: str) -> Value:
        place = ", ".join(index)
        found = Value(f"{memory.name}[{place}]", f"at({memory.name}, {place})", memory.dtype,
                      memory.limit)  # fmt: skip
        if memory.dtype.startswith("float8"):
            return found.cast(self.rng.choice(("float32", "float16")))
        return found

    def index_value(self, index: Index) -> Value:
        dtype = self.rng.choice(("float32", "int32", "int16"))
        bound = max(abs(index.low), abs(index.high), 1)
        text = f"T.cast({index.name}, {dtype!r})"
        return Value(text, f"cast({index.name}, {dtype!r})", dtype, bound)

    def expression(
        self, leaves: Sequence[Value], indices: Sequence[Index], depth: int = 2
    ) -> Value:
        rng = self.rng
        if depth == 0 or self.chance(0.2):
            return rng.choice([*leaves, *leaves, *(self.index_value(each) for each in indices)])
        left = self.expression(leaves, indices, depth - 1)
        kind = rng.randrange(9)
        if kind < 4:
            right = values.number(rng.randint(-3, 3))
            if self.chance(0.6):
                right = self.expression(leaves, indices, depth - 1)
            return self.combined(rng.choice(("+", "-", "*", "min", "max")), left, right)
        if kind == 4:
            return values.negated(left)
        if kind == 5:
            return values.magnitude(left)
        if kind == 6:
            test = condition(rng, list(indices), []) if indices else None
            other = self.expression(leaves, indices, depth - 1)
            return values.choice(test, left, other) if test else left
        if is_float(left.dtype):
            return left.clamped(rng.choice((1, 7, 50)))
        return values.integer(rng.choice(("&", "|", "^", "<<", ">>", "//", "%")), left,
                              rng.randint(1, 7))  # fmt: skip

    def combined(self, word: str, left: Value, right: Value) -> Value:
        """``left word right``, exact."""
        found = values.binary(word, left, right)
        if not is_float(found.dtype) or found.bound <= EXACT[found.dtype]:
            return found
        if found.dtype != "float32":
            return self.combined(word, left.cast("float32"), right.cast("float32"))
        return values.binary(word, self._cut(left), self._cut(right))

    def _cut(self, value: Value) -> Value:
        if is_float(value.dtype):
            return value.clamped(CUT)
        return values.integer("&", value, 511) if value.bound > CUT else value
