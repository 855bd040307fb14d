"""Parallel loops and the expressions in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.tile import values
from tests.fuzz.tile.scope import Index, Memory, Scope, condition, index_within
from tests.fuzz.tile.text import Text
from tests.fuzz.tile.values import Value, is_float


@dataclass
class Body:
    """What the statements of one parallel body may touch."""

    written: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Root of each buffer that is written: the buffer's name and the only index it is used at."""
    elsewhere: set[str] = field(default_factory=set)
    """Roots that are read at some other index, and so may not be written."""


class Expressions:
    """Random values at a place."""

    def __init__(self, rng: random.Random, text: Text, tensors: Sequence[Memory]) -> None:
        self.rng = rng
        self.text = text
        self.tensors = list(tensors)
        self.buffers: list[Memory] = []
        self.own: tuple[str, ...] = ()
        """Where the block's own tile of a result begins."""
        self._names = 0

    def fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    # -- leaves ----------------------------------------------------------------------------------

    def read(self, scope: Scope, memory: Memory, index: Sequence[str]) -> Value:
        shown = [str(size - 1) if each == "-1" else each
                 for each, size in zip(index, memory.shape, strict=True)]  # fmt: skip
        value = Value(
            f"{memory.name}[{', '.join(index)}]",
            f"at({memory.name}, {', '.join(shown)})",
            memory.dtype,
            memory.limit,
        )
        if memory.dtype == "float8_e4m3fn":
            return value.cast(self.rng.choice(("float32", "float16")))
        return value

    def _global_index(self, indices: list[Index], size: int) -> str:
        """An index of global memory, which may lie outside."""
        rng = self.rng
        if not indices or rng.random() < 0.4:
            return index_within(rng, indices, size)
        picked = rng.sample(indices, min(len(indices), rng.choice((1, 2))))
        terms = [f"{each.name} * {rng.choice((1, 1, 2, 4, 8))}" for each in picked]
        return " + ".join(terms) + f" + {rng.choice((-3, -1, 0, 0, 1, 5))}"

    def leaf(self, scope: Scope, indices: list[Index], body: Body | None) -> Value:
        rng = self.rng
        kind = rng.random()
        if kind < 0.08:
            each = rng.choice(indices)
            dtype = rng.choice(("int64", "float32", "int16", "float16"))
            text = f"T.cast({each.name}, {dtype!r})"
            return Value(text, f"cast({each.name}, {dtype!r})", dtype, max(each.high, -each.low, 1))
        if kind < 0.2 and scope.scalars:
            return rng.choice(scope.scalars)
        same = [self._at_own_place(scope, body, root) for root in body.written] if body else []
        found = [each for each in same if each is not None]
        if found and kind < 0.45:
            return rng.choice(found)
        memory = self._readable(scope, body)
        if memory is None:
            return found[0] if found else values.number(rng.randint(-9, 9)).cast("int32")
        if body is not None:
            body.elsewhere.add(memory.root)
        chosen = [
            self._global_index(indices, size)
            if memory.is_global
            else index_within(rng, indices, size)
            for size in memory.shape
        ]
        if body is None and memory.space == "fragment":
            chosen = ["0"] * len(chosen)
        return self.read(scope, memory, chosen)

    def _at_own_place(self, scope: Scope, body: Body, root: str) -> Value | None:
        name, index = body.written[root]
        memory = next(each for each in (*self.buffers, *self.tensors) if each.name == name)
        if memory.name == "L" or not (memory.is_global or memory.root in scope.ready):
            return None
        return self.read(scope, memory, index)

    def _readable(self, scope: Scope, body: Body | None) -> Memory | None:
        """Memory that may be read at any index."""
        taken = body.written if body else {}
        inputs = [each for each in self.tensors if not each.writable]
        ready = [
            each
            for each in self.buffers
            if each.root in scope.ready and each.root not in taken
            and (body is not None or each.space == "shared" or len(each.shape) == 1)
        ]  # fmt: skip
        pool = [*inputs, *ready, *ready, *ready]
        return self.rng.choice(pool) if pool else None

    # -- trees -----------------------------------------------------------------------------------

    def value(self, scope: Scope, indices: list[Index], body: Body | None, depth: int = 2) -> Value:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return self.leaf(scope, indices, body)
        left = self.value(scope, indices, body, depth - 1)
        kind = rng.randrange(10)
        if kind < 5:
            right = (
                values.number(rng.randint(-5, 5))
                if rng.random() < 0.3
                else self.value(scope, indices, body, depth - 1)
            )
            return values.binary(rng.choice(("+", "-", "*", "min", "max")), left, right)
        if kind == 5:
            return values.negated(left)
        if kind == 6:
            return values.magnitude(left)
        if kind == 7:
            test = condition(rng, indices, [])
            return values.choice(test, left, self.value(scope, indices, body, depth - 1))
        if is_float(left.dtype):
            return left.clamped(rng.choice((1, 7, 50)))
        word = rng.choice(("&", "|", "^", "<<", ">>", "//", "%"))
        return values.integer(word, left, rng.randint(1, 7))

    # -- loops -----------------------------------------------------------------------------------

    def parallel(self, scope: Scope) -> bool:
        """One parallel loop with one or two statements."""
        rng = self.rng
        targets = [
            *(each for each in self.buffers),
            *(each for each in self.tensors if each.name[0] in "OL" and len(each.shape) < 4),
        ]
        target = rng.choice(targets)
        extents, index, names, is_full = self._box(scope, target)
        if not is_full and not (target.is_global or target.root in scope.ready):
            return False
        order = list(range(len(names)))
        if rng.random() < 0.3:
            rng.shuffle(order)
        shown = ", ".join(names[at] for at in order)
        loop = ", ".join(str(extents[at]) for at in order)
        indices = [Index(name, 0, size) for name, size in zip(names, extents, strict=True)]
        inner = scope.inner(1, *indices)
        comma = "," if len(names) == 1 else ""
        self.text.add(f"for {shown} in T.Parallel({loop}):", f"{shown}{comma} = box({loop})")
        with self.text.block_of_tile():
            self._statements(inner, target, index, is_full, scope)
        return True

    def _statements(
        self, inner: Scope, target: Memory, index: tuple[str, ...], is_full: bool, scope: Scope
    ) -> None:
        rng = self.rng
        body = Body()
        if rng.random() < 0.2:
            name = self.fresh("x")
            value = self.value(inner, inner.indices, body, 1)
            self.text.add(f"{name} = {value.tile}", f"{name} = {value.numpy}")
            if not value.tile.isdigit():
                inner.scalars.append(Value(name, name, value.dtype, value.bound))
        if target.root in body.elsewhere:
            body.elsewhere.discard(target.root)
            self.text.add("pass", None)
            return
        body.written[target.root] = (target.name, index)
        guard = condition(rng, inner.indices, []) if rng.random() < 0.3 else None
        if guard and not is_full_or_ready(scope, target):
            guard = None
        if guard is None:
            if rng.random() < 0.12 and is_full_or_ready(scope, target) and target.name != "L":
                self._inner_loop(inner, target, index, body)
            else:
                self._assign(inner, target, index, body, None)
            if is_full and not target.is_global:
                scope.ready.add(target.root)
                inner.ready.add(target.root)
            if is_full:
                self.also_write(inner, target, index, body, scope)
            return
        self.text.add(f"if {guard[0]}:", None)
        with self.text.block_of_tile():
            self._assign(inner, target, index, body, guard[1])
        if rng.random() < 0.4:
            self.text.add("else:", None)
            with self.text.block_of_tile():
                self._assign(inner, target, index, body, f"np.logical_not({guard[1]})")

    def also_write(
        self, inner: Scope, target: Memory, index: tuple[str, ...], body: Body, scope: Scope
    ) -> None:
        """Further stores of a body that writes all of `target`: none in this family."""

    def _inner_loop(self, inner: Scope, target: Memory, index: tuple[str, ...], body: Body) -> None:
        turns = self.rng.randint(1, 4)
        name = self.fresh("r")
        deeper = inner.inner(turns, Index(name, 0, turns))
        word = self.rng.choice(("T.serial", "range", "T.unroll"))
        with self.text.block(f"for {name} in {word}({turns}):", f"for {name} in range({turns}):"):
            self._assign(deeper, target, index, body, None)

    def _assign(
        self,
        scope: Scope,
        target: Memory,
        index: tuple[str, ...],
        body: Body,
        mask: str | None,
    ) -> None:
        value = self.value(scope, scope.indices, body)
        if target.name == "L":
            value = values.loose(value, self.rng)
        place = f"{target.name}[{', '.join(index)}]"
        last = "" if mask is None else f", {mask}"
        fitting = values.stored(value, target.dtype, target.bound)
        self.text.add(
            f"{place} = {fitting.tile}",
            f"put({target.name}, ({', '.join(index)},), "
            f"cast({fitting.numpy}, {target.dtype!r}){last})",
        )

    def _box(
        self, scope: Scope, target: Memory
    ) -> tuple[list[int], tuple[str, ...], list[str], bool]:
        """Extents, where each iteration writes, the loop's variables, and if that is everything."""
        rng = self.rng
        if target.is_global:
            sizes = [1] * (len(target.shape) - 2) + list(self.tile_shape())
        else:
            sizes = list(target.shape)
        extents = [size for size in sizes if size > 1] or [sizes[-1]]
        names = ["i", "j", "l"][: len(extents)]
        spare = iter(names)
        index = [next(spare) if size > 1 else "0" for size in sizes]
        if max(sizes) == 1:
            index[-1] = names[0]
        is_full = True
        form = rng.randrange(6)
        if form == 0 and len(extents) == 2:
            one, other = extents
            linear = iter((f"p // {other}", f"p % {other}"))
            index = [next(linear) if size > 1 else "0" for size in sizes]
            extents, names = [one * other], ["p"]
        elif form == 1 and extents[0] > 2:
            first = next(at for at, size in enumerate(sizes) if size > 1)
            is_full = False
            extents[0], start = rng.choice(((extents[0] // 2, 1), (extents[0] - 1, 1)))
            step = 2 if extents[0] * 2 <= sizes[first] else 1
            index[first] = f"{names[0]} * {step} + {start if step == 1 else 0}"
        elif form == 2:
            first = next((at for at, size in enumerate(sizes) if size > 1), len(sizes) - 1)
            index[first] = f"{sizes[first] - 1} - {names[0]}"
        if target.is_global:
            index = [f"{start} + {each}" if each != "0" else start
                     for start, each in zip(self.own, index, strict=True)]  # fmt: skip
        return extents, tuple(index), names, is_full

    def tile_shape(self) -> tuple[int, int]:
        raise NotImplementedError


def is_full_or_ready(scope: Scope, target: Memory) -> bool:
    """Whether part of the elements may be left as they are."""
    return target.is_global or target.root in scope.ready
