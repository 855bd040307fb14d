"""What a generator knows while it writes a kernel: values in reach, arguments, both texts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.fuzz.tile.text import Text
from tests.fuzz.tl.values import BOOL, Value, limits

SIZES = ((16,), (32,), (64,), (128,), (256,), (8, 16), (16, 16), (16, 32), (32, 16), (4, 64), (1, 32),
         (64, 1), (2, 4, 8), (4, 8, 16), (2, 16, 16), (1, 8, 4), (2,), (1,), (8,))  # fmt: skip
"""Shapes of tensors; a kernel uses a few of them."""


@dataclass(frozen=True)
class Argument:
    """An array of a kernel, flat, with `low <= element <= high` before it runs."""

    name: str
    dtype: str
    size: int
    low: int
    high: int
    is_written: bool = False
    is_shifted: bool = False
    """It starts one element into its allocation, so that its address is no multiple of 16."""
    block: tuple[int, ...] = ()
    """Of an array passed as a tensor descriptor: its block."""
    shape: tuple[int, ...] = ()
    """Of an array passed as a tensor descriptor: its shape."""


Range = tuple[int, int]


@dataclass
class Builder:
    """The kernel so far."""

    rng: random.Random
    grid: tuple[int, ...]
    shapes: list[tuple[int, ...]]
    text: Text = field(default_factory=Text)
    arguments: list[Argument] = field(default_factory=list[Argument])
    scalars: dict[str, int | float] = field(default_factory=dict[str, int | float])
    constants: dict[str, int] = field(default_factory=dict[str, int])
    helpers: list[Text] = field(default_factory=list[Text])
    values: list[Value] = field(default_factory=list[Value])
    used: set[str] = field(default_factory=set[str])
    depth: int = 0
    repeats: tuple[tuple[str, int], ...] = ()
    """Variables of the loops around, each below its number: they tell iterations apart."""
    indices: list[Value] = field(default_factory=list[Value])
    """Small integers that tell programs and iterations apart, to reach different parts of arrays."""
    is_loop_countable: bool = True
    """Whether iterations of the loops around can be told apart by `repeats`."""
    uses_block_pointers: bool = False
    in_helper: bool = False
    number: int = 0

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def chance(self, odds: float) -> bool:
        return self.rng.random() < odds

    # -- values ----------------------------------------------------------------------------------

    def assign(self, value: Value, prefix: str = "v") -> Value:
        """Name a value."""
        name = self.fresh(prefix)
        self.text.add(f"{name} = {value.text}", f"{name} = {value.numpy}")
        named = replace(value, text=name, numpy=name)
        self.values.append(named)
        return named

    def pick(self, wanted: Callable[[Value], bool]) -> Value | None:
        """One of the values in reach, recent ones rather than old ones."""
        found = [each for each in self.values if wanted(each)]
        if not found:
            return None
        weights = [1 + index for index in range(len(found))]
        (chosen,) = self.rng.choices(found, weights)
        self.used.add(chosen.text)
        return chosen

    @contextmanager
    def inner(self) -> Iterator[None]:
        """Values that are named inside are out of reach afterwards."""
        before = list(self.values), list(self.indices), self.repeats, self.is_loop_countable
        self.depth += 1
        yield
        self.depth -= 1
        self.values, self.indices, self.repeats, self.is_loop_countable = before

    # -- arguments -------------------------------------------------------------------------------

    def array(
        self, prefix: str, dtype: str, size: int, span: Range, *, is_written: bool = False
    ) -> Argument:
        shifted = self.chance(0.15)
        made = Argument(self.fresh(prefix), dtype, size, *span, is_written, shifted)
        self.arguments.append(made)
        return made

    def enlarge(self, array: Argument, size: int) -> None:
        """Make an argument large enough for an access."""
        index = next(i for i, each in enumerate(self.arguments) if each.name == array.name)
        current = self.arguments[index]
        self.arguments[index] = replace(current, size=max(current.size, size))

    def number_argument(self, value: int, *, is_constant: bool | None = None) -> str:
        """An integer that the caller passes: while it runs, or when it is compiled."""
        if self.chance(0.3) if is_constant is None else is_constant:
            name = self.fresh("C")
            self.constants[name] = value
        else:
            name = self.fresh("n")
            self.scalars[name] = value
        return name

    # -- programs --------------------------------------------------------------------------------

    @property
    def programs(self) -> int:
        count = 1
        for extent in self.grid:
            count *= extent
        return count

    @property
    def places(self) -> int:
        """How many stores a line at this place makes in all, at most."""
        count = self.programs
        for _, bound in self.repeats:
            count *= bound
        return count

    @property
    def place(self) -> str:
        """Which of them this one is; the text is the same in both languages."""
        text = "pid"
        for name, bound in self.repeats:
            text = f"({text} * {bound} + {name})"
        return text

    def small_span(self, dtype: str) -> Range:
        """The range of an input: integers of any size, floats near zero."""
        least, largest = limits(dtype)
        if dtype == BOOL:
            return 0, 1
        if dtype.startswith(("float", "bfloat")):
            return -4, 4
        match self.rng.randrange(3):
            case 0:
                return least, largest
            case 1:
                return max(least, -9), 9
            case _:
                return max(least, -100), 100


def tuple_text(items: Sequence[object]) -> str:
    return "(" + "".join(f"{each}, " for each in items).rstrip(" ") + ")"


def list_text(items: Sequence[object]) -> str:
    return "[" + ", ".join(map(str, items)) + "]"
