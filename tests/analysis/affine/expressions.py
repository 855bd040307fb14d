"""Random integer expressions with a meaning of their own, to measure the algebra against.

An expression is a plain tree. `reference` computes it with Python's integers and nothing of the
code under test; it raises Undefined where a program would have no result (division by zero, a
negative shift). `build` makes the polynomial of the same tree through a context.
"""

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from tilewright.analysis.affine import Context, Formula, Interval, Poly, Space
from tilewright.analysis.affine.formula import compare


class Undefined(Exception):
    """The program has no result for these values."""


@dataclass(frozen=True)
class Symbol:
    name: str
    lo: int | None
    hi: int | None
    divisor: int = 1


SYMBOLS = {
    symbol.name: symbol
    for symbol in (
        Symbol("lane", 0, 63),
        Symbol("row", 0, 15),
        Symbol("pid", 0, 2**31 - 2),
        Symbol("n", None, None, 16),
        Symbol("stride", 0, 2**31 - 1, 16),
        Symbol("shift", -8, 8),
        Symbol("count", 1, 9),
        Symbol("any", None, None),
    )
}

HUGE = 2**70


def declare(space: Space, symbols: dict[str, Symbol] = SYMBOLS) -> dict[str, Poly]:
    return {
        symbol.name: space.symbol(symbol.name, Interval(symbol.lo, symbol.hi), symbol.divisor)
        for symbol in symbols.values()
    }


Expr = tuple
"""("sym", name) | ("const", k) | (operation, expr, ...) | ("sel", condition, expr, expr)"""


def _floor(a: int, b: int) -> int:
    if b == 0:
        raise Undefined
    return a // b


def _trunc(a: int, b: int) -> int:
    if b == 0:
        raise Undefined
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(a: int, b: int) -> int:
    if not 0 <= b <= 200:
        raise Undefined
    return a * 2**b


def _unshift(a: int, b: int) -> int:
    if not 0 <= b <= 10**4:
        raise Undefined
    return a // 2**b


REFERENCE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fdiv": _floor,
    "mod": lambda a, b: a - b * _floor(a, b),
    "tdiv": _trunc,
    "trem": lambda a, b: a - b * _trunc(a, b),
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": _shift,
    "shr": _unshift,
}

COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

BUILD = {
    "add": lambda ctx, a, b: ctx.limited(a + b),
    "sub": lambda ctx, a, b: ctx.limited(a - b),
    "mul": lambda ctx, a, b: ctx.limited(a * b),
    "fdiv": Context.fdiv,
    "mod": Context.mod,
    "tdiv": Context.tdiv,
    "trem": Context.trem,
    "min": Context.minimum,
    "max": Context.maximum,
    "and": Context.bit_and,
    "or": Context.bit_or,
    "xor": Context.bit_xor,
    "shl": Context.shl,
    "shr": Context.shr,
}


def reference(expr: Expr, values: dict[str, int]) -> int:
    """The value; a selection computes only the chosen side."""
    head = expr[0]
    if head == "sym":
        return values[expr[1]]
    if head == "const":
        return expr[1]
    if head == "sel":
        return reference(expr[2] if reference_truth(expr[1], values) else expr[3], values)
    return REFERENCE[head](*(reference(part, values) for part in expr[1:]))


def reference_truth(condition: tuple, values: dict[str, int]) -> bool:
    head = condition[0]
    if head == "not":
        return not reference_truth(condition[1], values)
    if head in ("all", "any"):
        truths = [reference_truth(part, values) for part in condition[1:]]
        return all(truths) if head == "all" else any(truths)
    return COMPARE[head](reference(condition[1], values), reference(condition[2], values))


def build(ctx: Context, symbols: dict[str, Poly], expr: Expr) -> Poly:
    head = expr[0]
    if head == "sym":
        return symbols[expr[1]]
    if head == "const":
        return ctx.space.const(expr[1])
    if head == "sel":
        yes, no = (build(ctx, symbols, side) for side in expr[2:])
        return ctx.select(build_formula(ctx, symbols, expr[1]), yes, no)
    return BUILD[head](ctx, *(build(ctx, symbols, part) for part in expr[1:]))


def build_formula(ctx: Context, symbols: dict[str, Poly], condition: tuple) -> Formula:
    head = condition[0]
    if head == "not":
        return ~build_formula(ctx, symbols, condition[1])
    if head in ("all", "any"):
        left, right = (build_formula(ctx, symbols, part) for part in condition[1:])
        return left & right if head == "all" else left | right
    left, right = (build(ctx, symbols, part) for part in condition[1:])
    return compare(head, left, right)


CONSTANTS = (16, 32, 63, 64, 127, 128, 256, 1023, 1024, -16, -64, -128, 48, 96)
DIVISORS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 32, 64, 128, 1024, 48, 96, -1, -2, -3, -8)
MASKS = (0, -1, 1, 3, 4, 7, 8, 12, 15, 63, 64, 0b1010, 0xFF0, -8, -64, -13, ~0x70, 2**40 - 1)
COEFFICIENTS = (1, 1, 2, 3, 4, 8, 9, 16, 24, 64, 128, 512, -1, -2, -8, -9, -64)
NAMES = sorted(SYMBOLS)


class Maker:
    """Draws expressions from a random source."""

    def __init__(
        self, random: Random, symbols: dict[str, Symbol] = SYMBOLS, huge: int = HUGE
    ) -> None:
        self.random = random
        self.symbols = symbols
        self.huge = huge

    def constant(self) -> Expr:
        kind = self.random.randrange(4)
        if kind < 2:
            return ("const", self.random.randint(-9, 9))
        if kind == 2:
            return ("const", self.random.choice(CONSTANTS))
        return ("const", self.random.randint(-self.huge, self.huge))

    def affine(self) -> Expr:
        expr: Expr = (
            "const",
            self.random.choice((0, 0, 1, -1, 5, 63, self.random.randint(-300, 300))),
        )
        for _ in range(self.random.randint(1, 3)):
            term = ("mul", ("const", self.random.choice(COEFFICIENTS)), self.symbol())
            expr = ("add", expr, term)
        return expr

    def symbol(self) -> Expr:
        return ("sym", self.random.choice(sorted(self.symbols)))

    def expression(self, depth: int) -> Expr:
        if depth == 0:
            return self.random.choice((self.symbol, self.constant, self.affine, self.affine))()
        return self.operation(self.random.choice(sorted(BUILD) + ["sel"] * 2), depth)

    def operation(self, name: str, depth: int) -> Expr:
        """The operation on operands of less than the given depth."""
        if name == "sel":
            return ("sel", self.condition(depth - 1), self.smaller(depth), self.smaller(depth))
        return (name, self.smaller(depth), self.second(name, depth))

    def smaller(self, depth: int) -> Expr:
        return self.expression(self.random.randint(0, depth - 1))

    def second(self, name: str, depth: int) -> Expr:
        """The other operand; more often than not one for which there are rules."""
        if name in ("fdiv", "mod", "tdiv", "trem") and self.random.randrange(3):
            return ("const", self.random.choice(DIVISORS))
        if name in ("and", "or", "xor") and self.random.randrange(2):
            return ("const", self.random.choice(MASKS))
        if name in ("shl", "shr"):
            return self.random.choice((("sym", "count"), ("const", self.random.randint(0, 9))))
        return self.smaller(depth)

    def condition(self, depth: int) -> tuple:
        head = self.random.choice([*COMPARE, "not", "all", "any", "remainder"])
        if head == "remainder":
            return self.remainder()
        if head in COMPARE:
            return (head, self.expression(self.random.randint(0, depth)), self.affine())
        if head == "not":
            return (head, self.condition(depth))
        return (head, self.condition(depth), self.condition(depth))

    def remainder(self) -> tuple:
        """An equation from which the residue of a symbol follows."""
        multiple = ("mul", ("const", self.random.choice((1, 1, 3, -5))), self.symbol())
        shifted = ("add", multiple, ("const", self.random.randint(-3, 3)))
        divisor = self.random.choice((2, 4, 7))
        return (
            "=",
            ("mod", shifted, ("const", divisor)),
            ("const", self.random.randrange(divisor)),
        )

    def valuation(self) -> dict[str, int]:
        return {name: self._value(symbol) for name, symbol in self.symbols.items()}

    def _value(self, symbol: Symbol) -> int:
        d = symbol.divisor
        lo = -(-(-HUGE if symbol.lo is None else symbol.lo) // d)
        hi = (HUGE if symbol.hi is None else symbol.hi) // d
        small = self.random.randint(max(lo, -20), min(hi, 70))
        return d * self.random.choice((small, small, self.random.randint(lo, hi), lo, hi))


# A seed, not a shrinkable source: generation is fast, and a failing tree is small anyway.
makers = st.integers(0, 2**64).map(lambda seed: Maker(Random(seed)))
