"""Random kernels on whole blocks: loads, element-wise expressions, reductions, GEMMs, stores.

Valid by construction for the Tenstorrent target: every buffer is used as a whole, vectors run along
one axis, offsets are multiples of the block. Sizes are ragged, blocks have one or several tiles or
less than a tile, values stay small. The NumPy target says what a kernel computes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Case:
    """One kernel: its source, and the shapes and element types of its tensors."""

    seed: int
    source: str
    tensors: tuple[tuple[str, tuple[int, ...], str], ...]
    cores: str

    def arrays(self) -> dict[str, np.ndarray]:
        """Fresh arguments, the same ones every time."""
        rng = np.random.default_rng(self.seed)
        return {
            name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape, _ in self.tensors
        }


@dataclass(frozen=True)
class _Buffer:
    name: str
    kind: str
    """``matrix``, ``column`` (one element per row) or ``row`` (one element per column)."""
    dtype: str = "float32"


@dataclass
class _Generator:
    seed: int
    lines: list[str] = field(default_factory=list[str])
    allocs: list[str] = field(default_factory=list[str])
    ready: list[_Buffer] = field(default_factory=list[_Buffer])
    """Buffers that hold values of the block."""
    params: list[tuple[str, tuple[int, ...], str]] = field(default_factory=list)
    indent: int = 3
    counter: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        rng = self.rng
        self.bm, self.bn = rng.choice(
            [(32, 32), (32, 64), (64, 32), (64, 64), (16, 32), (32, 20), (8, 40)]
        )
        self.m = rng.choice([1, self.bm, self.bm + 1, 2 * self.bm, 2 * self.bm + 3])
        self.n = rng.choice([1, self.bn, self.bn + 1, 2 * self.bn])

    def case(self) -> Case:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            self.load()
        for _ in range(rng.randint(1, 5)):
            rng.choice(
                [self.elementwise, self.elementwise, self.reduce, self.gemm, self.loop, self.mask]
            )()
        for position in range(rng.randint(1, 2)):
            self.store(position)
        head = [
            "from tilewright import T",
            "",
            "@T.prim_func",
            "def kernel(",
            *(f"    {name}: T.Tensor({shape}, T.{dtype})," for name, shape, dtype in self.params),
            "):",
            f"    with T.Kernel({-(-self.n // self.bn)}, {-(-self.m // self.bm)}) as (bx, by):",
        ]
        body = [f"        {line}" for line in self.allocs] + self.lines
        cores = rng.choice(["1x1", "2x1", "2x2", "8x8"])
        return Case(self.seed, "\n".join([*head, *body]) + "\n", tuple(self.params), cores)

    # -- text ------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * (self.indent - 1) + text)

    def name(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def alloc(self, kind: str, dtype: str | None = None, place: str | None = None) -> _Buffer:
        shapes = {"matrix": (self.bm, self.bn), "column": (self.bm,), "row": (self.bn,)}
        dtype = dtype or self.rng.choice(["float32", "float32", "bfloat16"])
        buffer = _Buffer(self.name("b"), kind, dtype)
        where = place or self.rng.choice(["shared", "fragment"])
        self.allocs.append(f"{buffer.name} = T.alloc_{where}({shapes[kind]}, T.{dtype})")
        return buffer

    def box(self, kind: str) -> str:
        return {
            "matrix": f"[by * {self.bm}, bx * {self.bn}]",
            "column": f"[by * {self.bm}]",
            "row": f"[bx * {self.bn}]",
        }[kind]

    # -- statements ------------------------------------------------------------------------------

    def load(self) -> None:
        kind = (
            "matrix" if not self.ready else self.rng.choice(["matrix", "matrix", "column", "row"])
        )
        shapes = {"matrix": (self.m, self.n), "column": (self.m,), "row": (self.n,)}
        dtype = self.rng.choice(["float32", "bfloat16"])
        tensor = self.name("X")
        self.params.append((tensor, shapes[kind], dtype))
        buffer = self.alloc(kind)
        self.line(f"T.copy({tensor}{self.box(kind)}, {buffer.name})")
        self.ready.append(buffer)

    def store(self, position: int) -> None:
        if position:
            buffer = self.rng.choice(self.ready)
        else:
            buffer = self.rng.choice([each for each in self.ready if each.kind == "matrix"])
        if buffer.kind != "matrix":  # several blocks would write the same elements
            return
        tensor = self.name("Y")
        self.params.append((tensor, (self.m, self.n), self.rng.choice(["float32", "bfloat16"])))
        self.line(f"T.copy({buffer.name}, {tensor}{self.box('matrix')})")

    def leaf(self, kind: str) -> str:
        usable = [each for each in self.ready if kind == "matrix" or each.kind == kind]
        if not usable or self.rng.random() < 0.2:
            return str(round(self.rng.uniform(-1, 1), 3))
        buffer = self.rng.choice(usable)
        index = {"matrix": "i, j", "column": "i", "row": "j"}[buffer.kind]
        return f"{buffer.name}[{index}]"

    def expression(self, kind: str, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return self.leaf(kind)
        one = self.expression(kind, depth - 1)
        form = rng.choice(["+", "-", "*", "max", "min", "tanh", "exp", "abs", "select", "scale"])
        if form in "+-*":
            return f"({one} {form} {self.expression(kind, depth - 1)})"
        if form in ("max", "min"):
            return f"T.{form}({one}, {self.expression(kind, depth - 1)})"
        if form == "exp":
            return f"T.exp(T.min({one}, 1.0))"
        if form == "select":
            other = self.expression(kind, depth - 1)
            return f"T.if_then_else({one} > {self.leaf(kind)}, {one}, {other})"
        if form == "scale":
            return f"({one} * {round(rng.uniform(-1, 1), 3)} + {round(rng.uniform(-1, 1), 3)})"
        return f"T.{form}({one})"

    def elementwise(self) -> None:
        kind = self.rng.choice(["matrix", "matrix", "matrix", "column", "row"])
        candidates = [each for each in self.ready if each.kind == kind]
        if not candidates and kind != "matrix":
            return
        in_place = bool(candidates) and self.rng.random() < 0.5
        target = self.rng.choice(candidates) if in_place else self.alloc(kind)
        loops = {
            "matrix": f"i, j in T.Parallel({self.bm}, {self.bn})",
            "column": f"i in T.Parallel({self.bm})",
            "row": f"j in T.Parallel({self.bn})",
        }[kind]
        index = {"matrix": "i, j", "column": "i", "row": "j"}[kind]
        value = self.expression(kind, self.rng.randint(1, 2))
        self.line(f"for {loops}:")
        self.line(f"    {target.name}[{index}] = T.max(T.min({value}, 2.0), -2.0)")
        if not in_place:
            self.ready.append(target)

    def mask(self) -> None:
        target = self.rng.choice([each for each in self.ready if each.kind == "matrix"])
        rows, columns = f"by * {self.bm} + i", f"bx * {self.bn} + j"
        test = self.rng.choice(
            [
                f"{columns} < {self.n}",
                f"{rows} >= {columns}",
                f"i < {self.bm // 2}",
                f"{rows} < {self.m}",
            ]
        )
        self.line(f"for i, j in T.Parallel({self.bm}, {self.bn}):")
        self.line(f"    {target.name}[i, j] = T.if_then_else({test}, {target.name}[i, j], 0.25)")

    def reduce(self) -> None:
        source = self.rng.choice([each for each in self.ready if each.kind == "matrix"])
        dim = self.rng.choice([0, 1])
        target = self.alloc("row" if dim == 0 else "column", "float32", "fragment")
        kind = self.rng.choice(["max", "min", "sum", "absmax"])
        self.line(f"T.reduce_{kind}({source.name}, {target.name}, dim={dim})")
        if kind == "sum":
            extent = self.bm if dim == 0 else self.bn
            index, size = ("j", self.bn) if dim == 0 else ("i", self.bm)
            self.line(f"for {index} in T.Parallel({size}):")
            self.line(f"    {target.name}[{index}] = {target.name}[{index}] * {1 / extent}")
        self.ready.append(target)

    def gemm(self) -> None:
        """An accumulation over K, of tensors of its own."""
        rng = self.rng
        bk = rng.choice([32, 32, 64, 16])
        k = rng.choice([1, bk, bk + 1, 3 * bk])
        transposed = rng.random() < 0.3
        dtype = rng.choice(["float32", "bfloat16"])
        left, right = self.name("A"), self.name("B")
        a, b, c = self.name("a"), self.name("b"), self.alloc("matrix", "float32", "fragment")
        self.params.append((left, (self.m, k), dtype))
        shape, block = ((self.n, k), (self.bn, bk)) if transposed else ((k, self.n), (bk, self.bn))
        self.params.append((right, shape, dtype))
        self.allocs.append(f"{a} = T.alloc_shared(({self.bm}, {bk}), T.{dtype})")
        self.allocs.append(f"{b} = T.alloc_shared({block}, T.{dtype})")
        self.line(f"T.clear({c.name})")
        self.line(f"for k in T.Pipelined({-(-k // bk)}, num_stages={rng.randint(0, 3)}):")
        self.line(f"    T.copy({left}[by * {self.bm}, k * {bk}], {a})")
        at = f"bx * {self.bn}, k * {bk}" if transposed else f"k * {bk}, bx * {self.bn}"
        self.line(f"    T.copy({right}[{at}], {b})")
        self.line(f"    T.gemm({a}, {b}, {c.name}, transpose_B={transposed})")
        self.line(f"for i, j in T.Parallel({self.bm}, {self.bn}):")
        self.line(f"    {c.name}[i, j] = T.max(T.min({c.name}[i, j], 2.0), -2.0)")
        self.ready.append(c)

    def loop(self) -> None:
        """A serial loop that updates buffers, with a nested statement or two."""
        if self.indent > 4:
            return
        variable = self.name("t")
        self.line(f"for {variable} in T.serial({self.rng.randint(1, 3)}):")
        self.indent += 1
        before = len(self.ready)
        target = self.rng.choice([each for each in self.ready if each.kind == "matrix"])
        self.line(f"for i, j in T.Parallel({self.bm}, {self.bn}):")
        self.line(
            f"    {target.name}[i, j] = T.max(T.min({self.expression('matrix', 2)}, 2.0), -2.0)"
        )
        if self.rng.random() < 0.5:
            self.rng.choice([self.reduce, self.elementwise, self.mask])()
        self.indent -= 1
        del self.ready[before:]  # values of an iteration are not used after the loop


def generate(seed: int) -> Case:
    """The kernel of a seed."""
    return _Generator(seed).case()
