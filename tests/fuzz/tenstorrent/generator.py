"""Make the kernel of a seed.

Grids of one, two or three dimensions, blocks of whole and of partial tiles, loops over K with
loads, GEMMs and accumulators in them, element-wise expressions, reductions, conversions,
transpositions and branches; sizes that are 1, prime, one past a tile and whole.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tests.fuzz.tenstorrent.scope import Dim, Memory, Offsets, Scalar, Scope
from tests.fuzz.tenstorrent.statements import FAMILIES, INPUT, Statements
from tests.fuzz.tenstorrent.values import Known

SIZES = (1, 2, 7, 13, 31, 32, 33, 37, 53, 64, 64, 65, 70, 96, 97, 128)
BLOCKS = (32, 32, 32, 64, 64, 96, 16, 8, 4, 1)
GRIDS = ("1x1", "2x1", "2x2", "3x2", "8x8")
DTYPES = {
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float32": np.float32,
    "int32": np.int32,
}
_CHOICES = {"policy": ("contiguous", "contiguous", "strided", "rect"),
            "order": ("row_major", "row_major", "column_major", "block_linear:2x2",
                      "z_order", "hilbert")}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A kernel, and how it is compiled."""

    seed: int
    source: str
    tensors: tuple[Memory, ...]
    batches: int
    outputs: dict[str, Known]
    """What is known of each output."""
    scalars: tuple[Scalar, ...]
    rows: Offsets | None
    cores: str
    policy: str
    order: str

    def arrays(self) -> dict[str, np.ndarray]:
        """Fresh arguments; outputs hold a value that no kernel computes."""
        rng = np.random.default_rng(self.seed)
        found: dict[str, np.ndarray] = {}
        for each in self.tensors:
            shape = (self.batches,) * (self.batches > 0) + each.shape
            bound = int(INPUT.bound)
            dtype = DTYPES[each.dtype]
            drawn = rng.integers(-bound, bound + 1, shape).astype(dtype)
            found[each.name] = drawn if each.role == "input" else np.full(shape, 77, dtype)
        if self.rows is not None:
            found[self.rows.name] = np.array(self.rows.values, np.int32)
        return found


def generate(seed: int) -> Case:
    """The kernel of a seed."""
    return _Maker(random.Random(seed)).case(seed)


class _Maker(Statements):
    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.lines = []
        self.tensors = []
        self.outputs = {}
        # Drawn apart from everything else, so that it changes nothing but the types.
        self.floats = FAMILIES[random.Random(rng.getstate()[1][1]).random() < 0.3]
        self.form = rng.choice(("grid", "grid", "rows", "rows", "batched"))
        self.is_batched = self.form == "batched"
        self.batches = rng.randint(1, 3) if self.is_batched else 0
        self.dims = {
            "m": self._dim("m"),
            "n": self._dim("n", is_whole=self.form == "rows"),
            "k": self._dim("k"),
        }
        self.offsets = {
            "m": f"by * {self.dims['m'].block}",
            "n": "0" if self.form == "rows" else f"bx * {self.dims['n'].block}",
        }
        if rng.random() < 0.4:
            for position in range(rng.randint(1, 2)):
                dtype = rng.choice(("float32", "float32", "bfloat16", "float16", "int32"))
                low = 0 if dtype == "int32" else -4
                self.scalars.append(Scalar(f"p{position}", dtype, rng.randint(low, 4)))
        if rng.random() < 0.15:
            m = self.dims["m"]
            starts = [rng.randint(0, m.size) for _ in range(m.blocks)]
            self.rows = Offsets("q0", tuple(starts))
        self.indices = {
            "grid": ("bx", "by"), "rows": ("by",), "batched": ("bx", "by", "bz"),
        }[self.form]  # fmt: skip

    def _dim(self, name: str, *, is_whole: bool = False) -> Dim:
        rng = self.rng
        size = rng.choice(SIZES)
        block = size if is_whole or rng.random() < 0.1 else rng.choice(BLOCKS)
        if block < 32:
            size = min(size, 4 * block)
        return Dim(name, size, block)

    def _buffers(self) -> None:
        rng, m, n, k = self.rng, self.dims["m"], self.dims["n"], self.dims["k"]
        main = rng.choice(self.floats)
        shapes = [(m, n), (m, n), (m, k), (k, n), (n, k), (k, m), (n, m), (m, k), (m,), (m,),
                  (n,), (k,)]  # fmt: skip
        self.buffer((m, n), "float32", "fragment")
        for dims in rng.sample(shapes, rng.randint(2, 7)):
            self.buffer(dims, main if rng.random() < 0.7 else rng.choice(self.floats))
        if rng.random() < 0.25:
            for _ in range(rng.randint(1, 2)):
                self.buffer(rng.choice(((m, n), (m, k), (n,))), "int32")
        if rng.random() < 0.7:
            for dims in ((m, k), rng.choice(((k, n), (n, k)))):
                self.buffer(dims, main, "shared")

    def case(self, seed: int) -> Case:
        rng = self.rng
        self._buffers()
        scope = Scope({})
        for _ in range(rng.randint(1, 3)):
            self.statement(scope)
        for _ in range(rng.randint(1, 2)):
            if rng.random() < 0.75:
                self._loop(scope)
            for _ in range(rng.randint(0, 3)):
                self.statement(scope)
        self._store_outputs(scope)
        return Case(
            seed, self._source(), tuple(self._parameters()), self.batches, self.outputs,
            tuple(self.scalars), self.rows,
            rng.choice(GRIDS), rng.choice(_CHOICES["policy"]), rng.choice(_CHOICES["order"]),
        )  # fmt: skip

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, scope: Scope) -> None:
        rng, k = self.rng, self.dims["k"]
        over_k = rng.random() < 0.8
        trip_count = k.blocks if over_k else rng.randint(1, 3)
        inner = scope.inner()
        inner.growing = {}
        self._choose_accumulators(scope, inner, trip_count)
        for name in scope.known:
            if name not in inner.growing:
                if rng.random() < 0.6:
                    inner.frozen.add(name)
                else:
                    del inner.known[name]
        if over_k:
            inner.loops["k"] = f"kx * {k.block}"
            extent = f"T.ceildiv({k.size}, {k.block})"
            if rng.random() < 0.2 and self.dims["m"].block >= k.block:
                extent = f"T.min({extent}, T.ceildiv((by + 1) * {self.dims['m'].block}, {k.block}))"
            words = (f"T.Pipelined({extent}, num_stages={rng.randint(0, 4)})",
                     f"T.Pipelined({extent}, num_stages=2)", f"T.serial({extent})")  # fmt: skip
            header = f"for kx in {rng.choice(words)}:"
        else:
            header = f"for t in {rng.choice(('T.serial', 'range', 'T.unroll'))}({trip_count}):"
        mark = len(self.lines)
        with self.block(header):
            first = len(self.lines)
            if inner.growing and over_k and rng.random() < 0.7:
                self.gemm(inner)
            for _ in range(rng.randint(1, 4)):
                self.statement(inner)
            if over_k and self.form == "rows" and rng.random() < 0.4:
                self._store_some(inner, ("k",))
            if len(self.lines) == first:
                self._indent -= 1
                del self.lines[mark:]
                self._indent += 1
        for name, known in inner.known.items():
            is_new = name not in scope.known
            if name in inner.growing or not is_new or rng.random() < 0.3:
                scope.known[name] = known

    def _choose_accumulators(self, scope: Scope, inner: Scope, trip_count: int) -> None:
        rng = self.rng
        ready = [each for each in self.buffers if each.name in scope.known
                 and each.dtype == "float32" and not scope.known[each.name].is_coarse]  # fmt: skip
        missing = [each for each in self.buffers
                   if each.dtype == "float32" and each.name not in scope.known]  # fmt: skip
        chosen = rng.sample(ready, min(len(ready), rng.randint(0, 1)))
        for each in rng.sample(missing, min(len(missing), rng.randint(0, 2))):
            self.add(f"T.clear({each.name})")
            scope.known[each.name] = Known(0.0)
            chosen.append(each)
        for each in chosen:
            budget = 20_000.0
            before = scope.known[each.name]
            loose = rng.random() < 0.4
            bound = before.bound + budget * trip_count
            error = before.error + (2.0**-7 * budget * trip_count if loose else 0)
            inner.known[each.name] = Known(bound, error).rounded("float32")
            inner.growing[each.name] = budget

    # -- outputs ---------------------------------------------------------------------------------

    def _store_some(self, scope: Scope, must: tuple[str, ...] = ()) -> None:
        found = [
            each for each in self.buffers
            if each.name in scope.known and self._is_own(each) and each.dtype != "int32"
            and all(any(dim.name == name for dim in each.dims) for name in must)
        ]  # fmt: skip
        if not found:
            return
        source = self.rng.choice(found)
        dtype = source.dtype if self.rng.random() < 0.6 else self.rng.choice(self.floats)
        tensor = self.tensor(source.dims, dtype, "output")
        self.add(f"T.copy({source.name}, {self.box(tensor, scope)})")
        self.outputs[tensor.name] = scope.known[source.name].rounded(dtype)

    def _is_own(self, buffer: Memory) -> bool:
        """Whether each block of the grid has a block of its own of such a tensor."""
        names = {dim.name for dim in buffer.dims}
        required = {"m"} if self.form == "rows" else {"m", "n"}
        if self.dims["n"].blocks == 1:
            required.discard("n")
        if self.dims["m"].blocks == 1:
            required.discard("m")
        return required <= names

    def _store_outputs(self, scope: Scope) -> None:
        for _ in range(self.rng.randint(1, 2)):
            self._store_some(scope, ())
        if not self.outputs:
            first = self.buffers[0]
            self.ready(first, scope)
            tensor = self.tensor(first.dims, "float32", "output")
            self.add(f"T.copy({first.name}, {self.box(tensor, scope)})")
            self.outputs[tensor.name] = scope.known[first.name]

    # -- text ------------------------------------------------------------------------------------

    def _parameters(self) -> list[Memory]:
        return sorted(self.tensors, key=lambda each: each.role == "output")

    def _source(self) -> str:
        text = "\n".join(self.lines)
        lines = ["from tilewright import T", "", "", "@T.prim_func", "def kernel("]
        for each in self._parameters():
            shape = (self.batches,) * self.is_batched + each.shape
            lines.append(f"    {each.name}: T.Tensor({shape}, {each.dtype!r}),")
        if self.rows is not None:
            lines.append(f"    {self.rows.name}: T.Tensor(({len(self.rows.values)},), 'int32'),")
        lines += [f"    {each.name}: T.{each.dtype}," for each in self.scalars]
        m, n = self.dims["m"], self.dims["n"]
        grid = {
            "grid": f"{n.blocks}, {m.blocks}",
            "rows": f"{m.blocks}",
            "batched": f"{n.blocks}, {m.blocks}, {self.batches}",
        }[self.form]
        names = ", ".join(self.indices)
        lines += ["):", f"    with T.Kernel({grid}) as {f'({names})' if ',' in names else names}:"]
        for each in self.buffers:
            if f"{each.name}[" in text or f"{each.name}," in text or f"{each.name})" in text:
                shape = f"({', '.join(map(str, each.blocks))},)"
                lines.append(f"        {each.name} = T.alloc_{each.space}({shape}, {each.dtype!r})")
        return "\n".join([*lines, text, ""])
