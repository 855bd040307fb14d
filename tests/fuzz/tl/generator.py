"""Make the kernel of a seed: its source in `tl`, and the same computation in plain NumPy.

Both texts grow together, statement by statement. Validity is by construction: accesses are inside
their arrays or masked, no two lanes store to one element, divisors are not zero, shifts stay below
the width, floats become integers only within their range, and floats hold integers small enough for
every sum to be exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.fuzz.tl import control, elementwise, extras, memory, shapes
from tests.fuzz.tl.builder import SIZES, Argument, Builder
from tests.fuzz.tl.reference import DTYPES
from tests.fuzz.tl.values import Value

Statement = Callable[[Builder], bool]
_PLAIN: tuple[tuple[Statement, int], ...] = (
    (elementwise.add_or_multiply, 6), (elementwise.least_or_largest, 2), (elementwise.bitwise, 2),
    (elementwise.shift, 2), (elementwise.divide, 3), (elementwise.compare, 3), (elementwise.truth, 1),
    (elementwise.choose, 3), (elementwise.convert, 4), (elementwise.reinterpret, 1),
    (elementwise.unary, 2), (elementwise.ternary, 1),
    (shapes.transpose, 2), (shapes.reshape, 2), (shapes.expand, 2), (shapes.join, 1), (shapes.split, 1),
    (shapes.flip, 1), (shapes.make, 1), (shapes.outer, 1),
    (shapes.total, 3), (shapes.extreme, 2), (shapes.place_of_extreme, 2), (shapes.xor_total, 1),
    (shapes.custom_reduction, 1), (shapes.scan, 3), (shapes.sort, 1), (shapes.gather, 1),
    (shapes.histogram, 1), (shapes.dot, 3),
)  # fmt: skip
_MEMORY: tuple[tuple[Statement, int], ...] = (
    (memory.load_statement, 4), (memory.load_by_index, 2), (memory.store_statement, 2),
    (memory.atomic, 3), (memory.descriptor_load, 3), (memory.descriptor_store, 2),
    (memory.block_pointer, 1),
)  # fmt: skip
_CONTROL = (
    (control.for_loop, 4), (control.while_loop, 1), (control.condition, 3), (control.helper, 2),
    (control.matrix_loop, 2), (control.pointer_walk, 1),
)  # fmt: skip
_WIDE: tuple[tuple[Statement, int], ...] = (
    (extras.hint, 2), (extras.tuples, 2), (extras.truth_in_memory, 2), (extras.round_trip, 2),
    (extras.descriptor_reduction, 3), (extras.joint_reduction, 2), (extras.kept_function, 1),
    (extras.small_products, 1),
)  # fmt: skip
"""Of the wide family alone."""
FAMILIES = ("plain", "wide")
_MOST_RESULTS = 5


@dataclass(frozen=True)
class Case:
    """A kernel, and what it computes."""

    seed: int
    source: str
    """Without its imports, which say whose `tw` and `tl` it is."""
    reference: str
    arguments: tuple[Argument, ...]
    scalars: dict[str, int | float]
    constants: dict[str, int]
    grid: tuple[int, ...]
    num_warps: int
    num_stages: int
    uses_block_pointers: bool

    def arrays(self) -> dict[str, np.ndarray]:
        """Fresh arguments, the same ones every time."""
        rng = np.random.default_rng(self.seed)
        return {each.name: _filled(each, rng) for each in self.arguments}


def _filled(argument: Argument, rng: np.random.Generator) -> np.ndarray:
    dtype = DTYPES[argument.dtype]
    kind = np.uint64 if argument.high > 2**62 and argument.low >= 0 else np.int64
    size = argument.size + argument.is_shifted
    values = rng.integers(argument.low, argument.high, size, dtype=kind, endpoint=True)
    return values.astype(dtype)[int(argument.is_shifted) :]


class Generator:
    """The kernel of one seed."""

    def __init__(self, seed: int, family: str = "plain") -> None:
        self.seed = seed
        self.is_wide = family == "wide"
        rng = self.rng = random.Random(seed)
        rank = rng.choice((1, 1, 2, 3))
        grid = tuple(rng.randint(1, 4 if rank == 1 else 3) for _ in range(rank))
        self.builder = Builder(rng, grid, rng.sample(SIZES, rng.randint(1, 3)))
        self.num_warps = rng.choice((1, 2, 4, 4, 8))
        self.num_stages = rng.choice((1, 2, 3, 4))

    def case(self) -> Case:
        k = self.builder
        self._start()
        for _ in range(self.rng.randint(1, 2)):
            memory.load(k)
        self._statements(k, self.rng.randint(3, 9))
        self._results()
        return Case(
            self.seed, self._source(), self._reference(), tuple(k.arguments), dict(k.scalars),
            dict(k.constants), k.grid, self.num_warps, self.num_stages, k.uses_block_pointers,
        )  # fmt: skip

    def _start(self) -> None:
        """Who this program is."""
        k, rank = self.builder, len(self.builder.grid)
        names = [f"pid{axis}" for axis in range(rank)]
        terms = []
        step = 1
        for axis, (name, extent) in enumerate(zip(names, k.grid, strict=True)):
            k.text.add(f"{name} = tl.program_id({axis})", None)
            index = Value(name, name, (), "int32", 0, extent - 1)
            k.indices.append(index)
            k.values.append(index)
            terms.append(f"{name} * {step}" if step > 1 else name)
            step *= extent
        k.text.both(f"pid = {' + '.join(terms)}")
        k.indices.append(Value("pid", "pid", (), "int32", 0, step - 1))
        if k.chance(0.3):
            axis = self.rng.randrange(rank)
            count = k.grid[axis]
            k.assign(
                Value(f"tl.num_programs({axis})", f"np.int32({count})", (), "int32", count, count)
            )
        if k.chance(0.5):
            value = self.rng.choice((0, 2, 3, 16, -5, 1000))
            name = k.number_argument(value, is_constant=False)
            k.values.append(Value(name, name, (), "int32", value, value))
        if k.chance(0.3):
            value = self.rng.randint(-4, 4)
            name = k.fresh("f")
            k.scalars[name] = float(value)
            k.values.append(Value(name, name, (), "float32", value, value, True))

    def _statements(self, k: Builder, count: int) -> None:
        """Some statements; most need values of a kind that may not be there, and are left out."""
        for _ in range(count):
            for _ in range(8):
                if self._statement(k):
                    break

    def _statement(self, k: Builder) -> bool:
        if k.in_helper:
            return self._one_of(k, _PLAIN)
        if self.is_wide and k.chance(0.3):
            return self._one_of(k, _WIDE)
        match k.rng.random():
            case kind if kind < 0.66:
                return self._one_of(k, _PLAIN)
            case kind if kind < 0.86:
                return self._one_of(k, _MEMORY)
            case _:
                (chosen,) = k.rng.choices([f for f, _ in _CONTROL], [w for _, w in _CONTROL])
                return chosen(k, self._statements)

    def _one_of(self, k: Builder, table: tuple[tuple[Statement, int], ...]) -> bool:
        (chosen,) = k.rng.choices([f for f, _ in table], [w for _, w in table])
        return chosen(k)

    def _results(self) -> None:
        """Store what nothing else used, the last things first."""
        k = self.builder
        names = ("pid", "n", "f", "off")
        computed = [each for each in k.values if not each.text.startswith(names)]
        unused = [each for each in computed if each.text not in k.used] or computed[-1:]
        for value in unused[::-1][:_MOST_RESULTS]:
            memory.store(k, value)

    # -- texts -----------------------------------------------------------------------------------

    def _parameters(self) -> list[str]:
        k = self.builder
        return [*(each.name for each in k.arguments), *k.scalars]

    def _source(self) -> str:
        k = self.builder
        lines: list[str] = []
        for each in k.helpers:
            lines += [*each.tile, "", ""]
        constants = [f"{name}: tl.constexpr" for name in k.constants]
        lines += ["@tw.jit", f"def kernel({', '.join([*self._parameters(), *constants])}):"]
        return "\n".join([*lines, *("    " + line for line in k.text.tile)]) + "\n"

    def _reference(self) -> str:
        k = self.builder
        lines = [line for each in k.helpers for line in each.numpy]
        names = [f"pid{axis}" for axis in range(len(k.grid))]
        lines.append(f"def reference({', '.join([*self._parameters(), *k.constants])}):")
        grid = ", ".join(map(str, k.grid))
        lines.append(f"    for {''.join(f'{name}, ' for name in names)}in programs({grid}):")
        return "\n".join([*lines, *("        " + line for line in k.text.numpy)]) + "\n"


def generate(seed: int, family: str = "plain") -> Case:
    """The kernel of a seed in one of the `FAMILIES`."""
    return Generator(seed, family).case()
