"""Make the kernel of a seed: its source in `T`, and the same computation in plain NumPy.

Both texts grow together, statement by statement. Validity is by construction: buffers are read
behind writes that reach all their elements, indices of on-chip memory stay within it, the
iterations of a parallel loop write elements of their own, blocks write tiles of their own, and
floats hold integers small enough for every sum to be exact.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tests.fuzz.tile.hashes import Mixing
from tests.fuzz.tile.reference import DTYPES
from tests.fuzz.tile.scope import Filled, Index, Memory, Scope
from tests.fuzz.tile.statements import Statements
from tests.fuzz.tile.stores import SeveralStores
from tests.fuzz.tile.text import Text
from tests.fuzz.tile.values import is_float

FORMS = ("static", "static", "dynamic", "eager")
INPUT_DTYPES = ("float16", "float16", "float32", "bfloat16", "int8", "uint8", "int32", "int16")
EXTENTS = (4, 4, 8, 8, 16, 5, 12, 1)
ALIGNED = (8, 16)
SMALL = 4
"""Magnitude of inputs."""


@dataclass(frozen=True)
class Case:
    """A kernel, and what it computes."""

    seed: int
    form: str
    source: str
    reference: str
    tensors: tuple[Memory, ...]
    family: str = "plain"
    only_hopper: bool = False
    """Whether it names what older GPUs do not have, as TMA and clusters."""
    only_threads: bool = False
    """Whether it is run thread by thread only: blocks of a cluster have a copy in common."""

    @property
    def label(self) -> str:
        return f"seed {self.seed}" if self.family == "plain" else f"{self.family} seed {self.seed}"

    def arrays(self) -> dict[str, np.ndarray]:
        """Fresh arguments, the same ones every time."""
        rng = np.random.default_rng(self.seed)
        return {each.name: _filled(each, rng) for each in self.tensors}


def _filled(tensor: Memory, rng: np.random.Generator) -> np.ndarray:
    if isinstance(tensor, Filled):
        return tensor.filled(rng)
    dtype = DTYPES[tensor.dtype]
    if tensor.name == "Ids":
        return rng.integers(0, 6, tensor.shape).astype(dtype)
    if dtype.kind == "u":
        return rng.integers(0, 256, tensor.shape).astype(dtype)
    if is_float(tensor.dtype) or tensor.dtype != "int8":
        return rng.integers(-SMALL, SMALL + 1, tensor.shape).astype(dtype)
    return rng.integers(-128, 128, tensor.shape).astype(dtype)


class Generator:
    """The kernel of one seed."""

    statements: type[Statements] = Statements

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.text = Text()
        self.form = self.rng.choice(FORMS)
        self.is_aligned = self.rng.random() < 0.6
        """Whether rows are multiples of 16 bytes, as bulk copies want them."""
        extents = ALIGNED if self.is_aligned else EXTENTS
        self.extents = [self.rng.choice(extents) for _ in range(3)]
        if max(self.extents) == 1:
            self.extents[0] = 8
        rank = self.rng.choice((1, 2, 2, 2, 3))
        self.grid = [self.rng.randint(1, 3) for _ in range(rank)]
        self.blocks = ["bx", "by", "bz"][:rank]
        self.sizes: dict[str, int] = {}

    def case(self) -> Case:
        tensors = self._tensors()
        body = self.statements(self.rng, self.text, tensors, self.extents, self.blocks, self.grid)
        body.is_aligned = self.is_aligned
        scope = Scope(
            indices=[
                Index(name, 0, count) for name, count in zip(self.blocks, self.grid, strict=True)
            ]
        )
        body.kernel(scope)
        return Case(
            self.seed, self.form, self._source(tensors), self._reference(tensors), tuple(tensors)
        )

    # -- tensors ---------------------------------------------------------------------------------

    def _tensors(self) -> list[Memory]:
        """Inputs of any size, results with a tile for every block, counters for all blocks."""
        rng = self.rng
        found = [Memory("Ids", "global", (rng.randint(4, 9),), "int32", 6, writable=False)]
        for number in range(rng.randint(1, 3)):
            rank = rng.choice((1, 2, 2, 2, 3))
            shape = tuple(rng.randint(3, 40) for _ in range(rank))
            if rank == 3:
                shape = (rng.randint(1, 4), *shape[1:])
            dtype = rng.choice(INPUT_DTYPES)
            if self.is_aligned:
                shape = (*shape[:-1], rng.choice((16, 32, 48)))
                dtype = rng.choice(("float16", "float16", "float32", "bfloat16", "int32"))
            found.append(Memory(f"A{number}", "global", shape, dtype, SMALL, writable=False))
        for number in range(rng.randint(1, 2)):
            found.append(self._result(f"O{number}"))
        if rng.random() < 0.5:
            dtype = rng.choice(("int32", "float32"))
            found.append(Memory("H", "global", (rng.randint(3, 20),), dtype, 2**22))
        if rng.random() < 0.4:
            found.append(Memory("L", "global", self._own_shape(), "float32", 1e9))
        return found

    def _own_shape(self) -> tuple[int, ...]:
        """A tile of ``extents[0]`` rows and ``extents[1]`` columns per block; the last is ragged."""
        rng = self.rng
        rows, columns = self.extents[:2]
        heights = [columns, rows][: len(self.grid)][::-1]
        counts = self.grid[:2][::-1]
        full = [height * count for height, count in zip(heights, counts, strict=True)]
        ragged = [size - rng.choice((0, 0, rng.randrange(height))) for size, height in
                  zip(full, heights, strict=True)]  # fmt: skip
        if len(self.grid) == 1:
            return (rows, *ragged)
        return (*self.grid[2:], *ragged)

    def _result(self, name: str) -> Memory:
        dtype = self.rng.choice(("float32", "float16", "int32", "int8", "bfloat16", "int64"))
        return Memory(name, "global", self._own_shape(), dtype, 128)

    # -- texts -----------------------------------------------------------------------------------

    def _dimension(self, tensor: Memory, axis: int) -> str:
        size = tensor.shape[axis]
        if self.form == "static" or self.rng.random() < 0.3:
            return str(size)
        name = f"{tensor.name.lower()}_{axis}"
        self.sizes[name] = size
        return name

    def _annotation(self, tensor: Memory) -> str:
        shape = ", ".join(self._dimension(tensor, axis) for axis in range(len(tensor.shape)))
        return f"T.Tensor(({shape},), {tensor.dtype!r})"

    def _source(self, tensors: list[Memory]) -> str:
        annotated = [f"{each.name}: {self._annotation(each)}" for each in tensors]
        symbols = ", ".join(self.sizes)
        lines = ["from tilewright import T", ""]
        body = ["        " + line for line in self.text.tile]
        if self.form == "eager":
            lines += [f"def kernel({', '.join(each.name for each in tensors)}):"]
            lines += [f"    {symbols} = T.const({symbols!r})"] if symbols else []
            lines += [f"    {each}" for each in annotated]
            lines += [line[4:] for line in body]
            return "\n".join(lines) + "\n"
        lines += ["def make():"]
        lines += [f"    {name} = T.dynamic({name!r})" for name in self.sizes]
        lines += ["    @T.prim_func", f"    def kernel({', '.join(annotated)}):", *body]
        return "\n".join([*lines, "    return kernel"]) + "\n"

    def _reference(self, tensors: list[Memory]) -> str:
        lines = [f"def reference({', '.join(each.name for each in tensors)}):"]
        return "\n".join([*lines, *("    " + line for line in self.text.numpy)]) + "\n"


class Stores(Generator):
    """The kernel of one seed, with several stores in a loop."""

    statements = SeveralStores


class Hashes(Generator):
    """The kernel of one seed, with integers that overflow."""

    statements = Mixing


_SMALL_KERNELS: dict[str, type[Generator]] = {
    "plain": Generator,
    "stores": Stores,
    "hashes": Hashes,
}


def generate(seed: int, family: str = "plain") -> Case:
    """The kernel of a seed: small ones of all kinds (plain), with several stores in a loop
    (stores), with integers that overflow (hashes), or those of `tests.fuzz.tile.wide`."""
    if family in _SMALL_KERNELS:
        return _SMALL_KERNELS[family](seed).case()
    if family != "wide":
        known = ", ".join((*_SMALL_KERNELS, "wide"))
        raise ValueError(f"no family of kernels is called {family!r}: {known}")
    from tests.fuzz.tile.wide.generator import generate as wide

    return wide(seed)
