"""Element-wise loops over whole buffers."""

from __future__ import annotations

import random

from tests.fuzz.tenstorrent import values
from tests.fuzz.tenstorrent.scope import Dim, Memory, Offsets, Scalar, Scope
from tests.fuzz.tenstorrent.values import Known, Value

AXES = {"m": 0, "n": 1, "k": 1}
"""Along which axis of tiles most uses of a vector over a dimension run."""
ROUGH = ("<", ">", "<=", ">=")
OPERATORS = ("+", "+", "-", "*", "*", "min", "max")


class Expressions:
    """Random values of the elements of a loop over a block."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.buffers: list[Memory] = []
        self.offsets: dict[str, str] = {}
        """Where the block of a dimension begins, outside of loops."""
        self.scalars: list[Scalar] = []
        self.rows: Offsets | None = None

    def offset(self, dim: Dim, scope: Scope) -> str:
        return scope.loops.get(dim.name) or self.offsets.get(dim.name, "0")

    def readable(self, dims: tuple[Dim, ...], scope: Scope) -> list[tuple[str, Memory]]:
        """Elements of buffers that occur at a position of a loop over `dims`."""
        names = ("i", "j") if len(dims) == 2 else ("i",)
        found: list[tuple[str, Memory]] = []
        for each in self.buffers:
            if each.name not in scope.known or scope.known[each.name].is_coarse:
                continue
            if each.dtype == "int32":
                continue
            if each.dims == dims:
                found.append((f"{each.name}[{', '.join(names)}]", each))
            elif each.dims == dims[::-1] and self.rng.random() < 0.3:
                found.append((f"{each.name}[j, i]", each))
            elif len(each.dims) == 1 and len(dims) == 2:
                axis = AXES[each.dims[0].name]
                if self.rng.random() < 0.2:
                    axis = 1 - axis
                if dims[axis] == each.dims[0]:
                    found.append((f"{each.name}[{names[axis]}]", each))
        return found

    def integer(self, dims: tuple[Dim, ...], scope: Scope) -> Value | None:
        """An expression of int32 elements."""
        rng = self.rng
        found = [
            each
            for each in self.buffers
            if each.dims == dims and each.dtype == "int32" and each.name in scope.known
        ]
        if not found:
            return None
        names = "[i, j]" if len(dims) == 2 else "[i]"
        one, other = (rng.choice(found) for _ in range(2))
        a, b = one.name + names, other.name + names
        bounds = [scope.known[each.name].bound for each in (one, other)]
        kind = rng.randrange(6)
        if kind == 0:
            return Value(f"({a} + {b})", "int32", Known(sum(bounds)))
        if kind == 1:
            return Value(f"({a} - {rng.randint(-3, 3)})", "int32", Known(bounds[0] + 3))
        if kind == 2 and max(bounds) < 30:
            return Value(f"({a} * {b})", "int32", Known(bounds[0] * bounds[1]))
        if kind == 3:
            word = rng.choice(("max", "min"))
            return Value(f"T.{word}({a}, {b})", "int32", Known(max(bounds)))
        if kind == 4:
            word = rng.choice((*ROUGH, "==", "!="))
            test = f"{a} {word} {rng.randint(-2, 2)}"
            return Value(f"T.if_then_else({test}, {a}, {b})", "int32", Known(max(bounds)))
        return Value(a, "int32", Known(bounds[0]))

    def leaf(self, dims: tuple[Dim, ...], scope: Scope) -> Value:
        if self.rng.random() < 0.05:
            at = self.rng.randrange(len(dims))
            text = f"{self.offset(dims[at], scope)} + {'ij'[at]}"
            largest = dims[at].blocks * dims[at].block
            return Value(f"T.cast({text}, 'float32')", "float32", Known(largest))
        whole = self.integer(dims, scope) if self.rng.random() < 0.25 else None
        if whole is not None:
            return Value(f"T.cast({whole.text}, 'float32')", "float32", whole.known)
        found = self.readable(dims, scope)
        floats = [each for each in self.scalars if each.dtype != "int32"]
        if floats and self.rng.random() < 0.2:
            scalar = self.rng.choice(floats)
            return Value(scalar.name, scalar.dtype, Known(abs(scalar.value)))
        if not found or self.rng.random() < 0.08:
            return values.constant(self.rng.randint(-5, 5), "float32")
        text, memory = self.rng.choice(found)
        return Value(text, memory.dtype, scope.known[memory.name])

    def position(self, dims: tuple[Dim, ...], scope: Scope) -> str:
        """A comparison of the position of an element."""
        rng = self.rng
        at = rng.randrange(len(dims))
        name = "ij"[at]
        word = rng.choice((*ROUGH, *ROUGH, "==", "!="))
        kind = rng.randrange(4)
        if kind == 0 and len(dims) == 2:
            other = f"{self.offset(dims[1 - at], scope)} + {'ij'[1 - at]}"
            return f"{self.offset(dims[at], scope)} + {name} {word} {other}"
        if kind == 1:
            integers = [each.name for each in self.scalars if each.dtype == "int32"]
            limit = rng.choice([*integers, rng.randint(0, dims[at].size)])
            return f"{self.offset(dims[at], scope)} + {name} {word} {limit}"
        return f"{name} {word} {rng.randint(0, dims[at].block)}"

    def condition(self, dims: tuple[Dim, ...], scope: Scope) -> str:
        rng = self.rng
        one, other = self.leaf(dims, scope), self.leaf(dims, scope)
        is_exact = one.known.is_exact and other.known.is_exact and "[" in one.text + other.text
        if rng.random() < 0.5 or not is_exact:
            return self.position(dims, scope)
        return f"{one.text} {rng.choice((*ROUGH, '==', '!='))} {other.text}"

    def value(self, dims: tuple[Dim, ...], scope: Scope, depth: int) -> Value:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return self.leaf(dims, scope)
        left = self.value(dims, scope, depth - 1)
        kind = rng.randrange(10)
        if kind < 5:
            right = self.value(dims, scope, depth - 1)
            if rng.random() < 0.25:
                right = values.literal(rng.randint(-4, 4), left.dtype)
            made = values.binary(rng.choice(OPERATORS), left, right)
        elif kind < 8:
            made = values.unary(rng, left)
        elif kind == 8:
            right = self.value(dims, scope, depth - 1)
            made = values.chosen(self.condition(dims, scope), left, right)
        else:
            made = values.quotient(left, self.value(dims, scope, depth - 1))
        return left if made.known.is_coarse else made

    def stored(self, value: Value, target: Memory) -> Value:
        """`value` in the element type of a buffer."""
        small = value.clamped(60)
        return Value(small.text, target.dtype, small.known.rounded(target.dtype))
