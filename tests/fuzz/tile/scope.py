"""What a generator knows at a place of the kernel: buffers, index variables, what holds values."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

from tests.fuzz.tile.reference import DTYPES
from tests.fuzz.tile.values import Value, is_float, largest


@dataclass(frozen=True)
class Memory:
    """A buffer or a tensor."""

    name: str
    space: str
    """global, shared or fragment."""
    shape: tuple[int, ...]
    dtype: str
    bound: float
    """No element is larger in magnitude."""
    base: str = ""
    """The buffer whose memory it is seen in, if it is not its own."""
    writable: bool = True

    @property
    def root(self) -> str:
        return self.base or self.name

    @property
    def is_global(self) -> bool:
        return self.space == "global"

    @property
    def limit(self) -> float:
        """The magnitude of an element that is read."""
        return self.bound if is_float(self.dtype) else largest(self.dtype)


@dataclass(frozen=True)
class Filled(Memory):
    """A tensor that says what a caller puts into it."""

    fill: str = "values"
    """values, indices (from `low` up to below `bound`) or permutation."""
    low: int = 0

    def filled(self, rng: np.random.Generator) -> np.ndarray:
        dtype = DTYPES[self.dtype]
        if self.fill == "permutation":
            return rng.permutation(self.shape[0]).astype(dtype)
        if self.fill == "indices":
            return rng.integers(self.low, int(self.bound), self.shape).astype(dtype)
        low = 0 if self.dtype.startswith("u") else -int(self.bound)
        return rng.integers(low, int(self.bound) + 1, self.shape).astype(dtype)


@dataclass(frozen=True)
class Index:
    """An integer variable with `low <= it < high`; the same text in both languages."""

    name: str
    low: int
    high: int


@dataclass
class Scope:
    """The state at a place of the program."""

    indices: list[Index] = field(default_factory=list)
    scalars: list[Value] = field(default_factory=list)
    """Values that have names."""
    ready: set[str] = field(default_factory=set)
    """Buffers all of whose elements were written."""
    turns: int = 1
    """How often this place is reached in a block, at most."""
    depth: int = 0
    is_certain: bool = True
    """Whether it is reached in every turn of the loops around it."""

    def inner(self, turns: int, *indices: Index) -> Scope:
        return replace(
            self,
            indices=[*self.indices, *indices],
            scalars=list(self.scalars),
            ready=set(self.ready),
            turns=self.turns * turns,
            depth=self.depth + 1,
        )


def index_within(rng: random.Random, indices: list[Index], extent: int) -> str:
    """An expression of `indices` that stays within ``0 <= it < extent``."""
    forms = [str(rng.randrange(extent))]
    for each in indices:
        name, span = each.name, each.high - each.low
        shifted = name if each.low == 0 else f"({name} - {each.low})"
        if each.low >= 0 and each.high <= extent:
            forms += [name, name, name]
        if span <= extent:
            forms += [f"{extent - 1} - {shifted}", f"{shifted} + {rng.randint(0, extent - span)}"]
        step = rng.choice((2, 3))
        if (span - 1) * step < extent:
            forms.append(f"{shifted} * {step} + {rng.randint(0, extent - 1 - (span - 1) * step)}")
        if (span - 1) // step < extent:
            forms.append(f"{shifted} // {step}")
        forms.append(f"({name} * {rng.randint(1, 3)} + {rng.randint(-4, 9)}) % {extent}")
    if len(indices) > 1:
        one, other = rng.sample(indices, 2)
        forms.append(f"({one.name} * {rng.randint(1, 3)} + {other.name}) % {extent}")
        if one.low >= 0 and other.low >= 0 and one.high + other.high - 2 < extent:
            forms.append(f"{one.name} + {other.name}")
    if rng.random() < 0.05:
        return "-1"
    return rng.choice(forms)


def condition(rng: random.Random, indices: list[Index], tests: list[str]) -> tuple[str, str]:
    """A condition on index variables, or one of `tests`, which read the same in both languages."""
    simple = list(tests)
    for each in indices:
        middle = rng.randint(each.low, each.high)
        word = rng.choice(("<", "<=", ">", ">=", "==", "!="))
        simple.append(f"{each.name} {word} {middle}")
        simple.append(f"{each.name} % 2 == {rng.randint(0, 1)}")
        simple.append(f"({each.name} + {rng.randint(0, 5)}) // 2 != {rng.randint(0, 4)}")
    if len(indices) > 1:
        one, other = rng.sample(indices, 2)
        simple.append(f"{one.name} {rng.choice(('<', '<=', '>', '!='))} {other.name}")
    if not simple:
        simple = ["T_TRUE"]
    one = rng.choice(simple)
    other = rng.choice(simple)
    match rng.randrange(6):
        case 0:
            return f"{one} and {other}", f"np.logical_and({one}, {other})"
        case 1:
            return f"{one} or {other}", f"np.logical_or({one}, {other})"
        case 2:
            return f"not ({one})", f"np.logical_not({one})"
        case 3 if indices:
            each = rng.choice(indices)
            low, high = each.low - 1, rng.randint(each.low, each.high)
            text = f"{low} < {each.name} < {high}"
            return text, f"np.logical_and({low} < {each.name}, {each.name} < {high})"
        case _:
            return one, one
