"""Writes random integer code as TTIR text, valid by construction.

Every scalar and tensor carries an interval that holds for ordinary launches (arguments inside the
ranges they were given), so that divisors are not zero and nothing overflows by accident; launches
with huge arguments break those intervals on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

_LIMIT = 1 << 24
"""Values are kept below this in ordinary launches."""


@dataclass(frozen=True)
class Integer:
    """An i32 scalar or tensor."""

    name: str
    lo: int
    hi: int
    shape: tuple[int, ...] = ()

    @property
    def type(self) -> str:
        return tensor(self.shape, "i32")


@dataclass(frozen=True)
class Truth:
    name: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class PointerArg:
    name: str
    element: str
    size: int
    divisibility: int | None


@dataclass(frozen=True)
class IntegerArg:
    name: str
    lo: int
    hi: int
    divisibility: int | None
    type: str = "i32"


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>" if shape else element


def pointers(shape: Sequence[int], element: str) -> str:
    return tensor(shape, f"!tt.ptr<{element}>")


@dataclass
class Writer:
    """Lines of a function, and the scalars in sight."""

    pick: Random
    lines: list[str] = field(default_factory=list[str])
    scalars: list[Integer] = field(default_factory=list[Integer])
    count: int = 0

    def fresh(self, word: str = "v") -> str:
        self.count += 1
        return f"%{word}{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def region(self) -> Iterator[None]:
        """Scalars made inside are forgotten outside."""
        before = list(self.scalars)
        yield
        self.scalars = before

    # Scalars and tensors of integers.

    def constant(self, value: int, shape: tuple[int, ...] = ()) -> Integer:
        name = self.fresh("c")
        text = f"dense<{value}>" if shape else str(value)
        self.emit(f"{name} = arith.constant {text} : {tensor(shape, 'i32')}")
        return Integer(name, value, value, shape)

    def op(self, name: str, a: Integer, b: Integer, lo: int, hi: int) -> Integer:
        result = self.fresh()
        self.emit(f"{result} = {name} {a.name}, {b.name} : {a.type}")
        return Integer(result, lo, hi, a.shape)

    def scalar(self) -> Integer:
        return self.pick.choice(self.scalars)

    def splat(self, value: Integer, shape: tuple[int, ...]) -> Integer:
        if not shape:
            return value
        result = self.fresh("s")
        self.emit(f"{result} = tt.splat {value.name} : i32 -> {tensor(shape, 'i32')}")
        return Integer(result, value.lo, value.hi, shape)

    def lanes(self, dim: int, shape: tuple[int, ...], start: int = 0) -> Integer:
        """The index along a dimension, spread over a shape."""
        extent = shape[dim]
        name = self.fresh("l")
        flat = tensor((extent,), "i32")
        end = start + extent
        self.emit(f"{name} = tt.make_range {{end = {end} : i32, start = {start} : i32}} : {flat}")
        now: tuple[int, ...] = (extent,)
        for at in [*range(dim), *range(dim + 1, len(shape))]:
            wider = (*now[:at], 1, *now[at:])
            result = self.fresh("e")
            self.emit(
                f"{result} = tt.expand_dims {name} {{axis = {at} : i32}} : "
                f"{tensor(now, 'i32')} -> {tensor(wider, 'i32')}"
            )
            name, now = result, wider
        if now != shape:
            result = self.fresh("b")
            self.emit(
                f"{result} = tt.broadcast {name} : {tensor(now, 'i32')} -> {tensor(shape, 'i32')}"
            )
            name = result
        return Integer(name, start, end - 1, shape)

    # Arithmetic that stays in range.

    def combined(self, a: Integer, b: Integer) -> Integer:
        """A random op on two values of one shape."""
        return self.pick.choice(_OPS)(self, a, b)

    def positive(self, value: Integer) -> Integer:
        """The value, made at least 1 if it may be less."""
        if value.lo >= 1:
            return value
        one = self.constant(1, value.shape)
        return self.op("arith.maxsi", value, one, 1, max(1, value.hi))

    def nonneg(self, value: Integer) -> Integer:
        if value.lo >= 0:
            return value
        zero = self.constant(0, value.shape)
        return self.op("arith.maxsi", value, zero, 0, max(0, value.hi))

    def add(self, a: Integer, b: Integer) -> Integer:
        if max(abs(a.lo + b.lo), abs(a.hi + b.hi)) > _LIMIT:
            return a
        return self.op("arith.addi", a, b, a.lo + b.lo, a.hi + b.hi)

    def sub(self, a: Integer, b: Integer) -> Integer:
        if max(abs(a.lo - b.hi), abs(a.hi - b.lo)) > _LIMIT:
            return a
        return self.op("arith.subi", a, b, a.lo - b.hi, a.hi - b.lo)

    def mul(self, a: Integer, b: Integer) -> Integer:
        ends = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        if max(map(abs, ends)) > _LIMIT:
            return a
        return self.op("arith.muli", a, b, min(ends), max(ends))

    def div(self, a: Integer, b: Integer) -> Integer:
        b = self.positive(b)
        name = self.pick.choice(
            ("arith.divsi", "arith.divsi", "arith.floordivsi", "arith.ceildivsi")
        )
        if a.lo >= 0 and self.pick.random() < 0.2:
            name = self.pick.choice(("arith.divui", "arith.ceildivui"))
        return self.op(name, a, b, min(a.lo, 0), max(a.hi, 0) + 1)

    def rem(self, a: Integer, b: Integer) -> Integer:
        b = self.positive(b)
        if a.lo >= 0 and self.pick.random() < 0.2:
            return self.op("arith.remui", a, b, 0, min(a.hi, b.hi - 1))
        low = 0 if a.lo >= 0 else -(b.hi - 1)
        return self.op("arith.remsi", a, b, low, max(0, min(a.hi, b.hi - 1)))

    def bits(self, a: Integer, b: Integer) -> Integer:
        name = self.pick.choice(("arith.andi", "arith.ori", "arith.xori"))
        if self.pick.random() < 0.7:
            number = self.pick.choice((1, 3, 4, 7, 8, 12, 15, 31, 5, -4, -8, 16))
            b = self.constant(number, a.shape)
        top = 1
        while top <= max(abs(a.lo), abs(a.hi), abs(b.lo), abs(b.hi)):
            top *= 2
        low = 0 if a.lo >= 0 and b.lo >= 0 else -top
        return self.op(name, a, b, low, top - 1)

    def shift(self, a: Integer, b: Integer) -> Integer:
        amount = self.pick.randrange(1, 5)
        by = self.constant(amount, a.shape)
        if self.pick.random() < 0.5 and max(abs(a.lo), abs(a.hi)) << amount <= _LIMIT:
            return self.op("arith.shli", a, by, a.lo << amount, a.hi << amount)
        if a.lo >= 0 and self.pick.random() < 0.4:
            return self.op("arith.shrui", a, by, a.lo >> amount, a.hi >> amount)
        return self.op("arith.shrsi", a, by, a.lo >> amount, a.hi >> amount)

    def extreme(self, a: Integer, b: Integer) -> Integer:
        unsigned = a.lo >= 0 and b.lo >= 0 and self.pick.random() < 0.3
        if self.pick.random() < 0.5:
            name = "arith.minui" if unsigned else "arith.minsi"
            return self.op(name, a, b, min(a.lo, b.lo), min(a.hi, b.hi))
        name = "arith.maxui" if unsigned else "arith.maxsi"
        return self.op(name, a, b, max(a.lo, b.lo), max(a.hi, b.hi))

    def select(self, a: Integer, b: Integer) -> Integer:
        scalar_condition = a.shape and self.pick.random() < 0.5
        condition = self.truth(()) if scalar_condition else self.compared(a, b)
        result = self.fresh()
        if condition.shape == a.shape:
            types = a.type if not a.shape else f"{tensor(a.shape, 'i1')}, {a.type}"
        else:
            types = a.type
        self.emit(f"{result} = arith.select {condition.name}, {a.name}, {b.name} : {types}")
        return Integer(result, min(a.lo, b.lo), max(a.hi, b.hi), a.shape)

    def extended(self, a: Integer, b: Integer) -> Integer:
        """Through 64 bits and back."""
        wide, result = self.fresh("w"), self.fresh()
        big = tensor(a.shape, "i64")
        name = "arith.extui" if a.lo >= 0 and self.pick.random() < 0.4 else "arith.extsi"
        self.emit(f"{wide} = {name} {a.name} : {a.type} to {big}")
        self.emit(f"{result} = arith.trunci {wide} : {big} to {a.type}")
        return Integer(result, a.lo, a.hi, a.shape)

    def narrow(self, a: Integer, b: Integer) -> Integer:
        """Through 8 bits, where it fits or wraps."""
        small, result = self.fresh("h"), self.fresh()
        byte = tensor(a.shape, "i8")
        self.emit(f"{small} = arith.trunci {a.name} : {a.type} to {byte}")
        if self.pick.random() < 0.5:
            self.emit(f"{result} = arith.extui {small} : {byte} to {a.type}")
            return Integer(result, 0, 255, a.shape)
        self.emit(f"{result} = arith.extsi {small} : {byte} to {a.type}")
        return Integer(result, -128, 127, a.shape)

    def flag(self, a: Integer, b: Integer) -> Integer:
        """A condition as a number."""
        condition = self.compared(a, b)
        result = self.fresh()
        signed = self.pick.random() < 0.4
        name = "arith.extsi" if signed else "arith.extui"
        self.emit(f"{result} = {name} {condition.name} : {tensor(a.shape, 'i1')} to {a.type}")
        return Integer(result, -1 if signed else 0, 0 if signed else 1, a.shape)

    # Conditions.

    def compared(self, a: Integer, b: Integer) -> Truth:
        result = self.fresh("t")
        relations = ["slt", "slt", "sle", "sgt", "sge", "eq", "ne", "ult", "ule", "uge", "ugt"]
        relation = self.pick.choice(relations)
        self.emit(f"{result} = arith.cmpi {relation}, {a.name}, {b.name} : {a.type}")
        return Truth(result, a.shape)

    def truth(self, shape: tuple[int, ...]) -> Truth:
        """A random condition on scalars, spread over a shape."""
        found = self.compared(self.scalar(), self.scalar())
        if self.pick.random() < 0.3:
            other = self.compared(self.scalar(), self.scalar())
            found = self.both(found, other)
        if not shape:
            return found
        result = self.fresh("s")
        self.emit(f"{result} = tt.splat {found.name} : i1 -> {tensor(shape, 'i1')}")
        return Truth(result, shape)

    def both(self, a: Truth, b: Truth) -> Truth:
        result = self.fresh("t")
        name = self.pick.choice(("arith.andi", "arith.andi", "arith.ori", "arith.xori"))
        self.emit(f"{result} = {name} {a.name}, {b.name} : {tensor(a.shape, 'i1')}")
        return Truth(result, a.shape)


_OPS = (
    Writer.add,
    Writer.add,
    Writer.add,
    Writer.sub,
    Writer.mul,
    Writer.mul,
    Writer.div,
    Writer.div,
    Writer.rem,
    Writer.rem,
    Writer.bits,
    Writer.shift,
    Writer.extreme,
    Writer.select,
    Writer.extended,
    Writer.narrow,
    Writer.flag,
)
