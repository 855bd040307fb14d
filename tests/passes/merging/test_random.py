"""Random functions: whatever is merged, the trace finds nothing lost, and sharing does happen.

Buffers are written and read at random in loops and branches, by ops and by engines whose waits come
at once, later or never. The same functions with every buffer at one address must be noticed unless
nobody is hurt, so the trace is not blind either.
"""

import random
from dataclasses import replace

import pytest

from tests.analysis.buffer_liveness_support import text_of
from tests.passes.pass_support import parse
from tilewright.analysis.buffer_liveness import BufferLiveness
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.verify import verify
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import plan_buffers
from tilewright.passes.merging.groups import groups_of
from tilewright.passes.merging.merge_shared_memory import MERGED, MergeSharedMemory
from tilewright.passes.merging.rewrite import merge
from tilewright.passes.merging.trace import Run, check_module

RUNS = tuple(
    Run((n,), turns, branch) for n, turns in ((0, 0), (1, 1), (3, 2)) for branch in (True, False)
)


class Author:
    """Writes one function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = [f"b{n}" for n in range(self.random.randint(2, 5))]
        self.count = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def body(self) -> str:
        head = "".join(f"%{name} = ttg.local_alloc : () -> !buf\n" for name in self.names)
        head += "%m = ttg.local_alloc : () -> !bar\nttng.init_barrier %m, 1 : !bar\n"
        return head + self.lines(self.random.randint(4, 9), 2)

    def lines(self, count: int, depth: int) -> str:
        return "".join(self.line(depth) for _ in range(count))

    def line(self, depth: int) -> str:
        kinds = [self.put, self.put, self.get, self.get, self.store, self.copy, self.load, self.dot]
        if depth and self.random.random() < 0.35:
            return self.random.choice([self.loop, self.branch])(depth - 1)
        return self.random.choice(kinds)(self.random.choice(self.names))

    def put(self, name: str) -> str:
        return f"ttg.local_store %x, %{name} : !tile -> !buf\n"

    def get(self, name: str) -> str:
        return f"%y{self.fresh()} = ttg.local_load %{name} : !buf -> !tile\n"

    def maybe(self, text: str) -> str:
        return text if self.random.random() < 0.9 else ""

    def store(self, name: str) -> str:
        wait = f"ttng.async_tma_store_wait {{pendings = {self.random.randint(0, 1)} : i32}}\n"
        return (
            f"ttng.async_tma_copy_local_to_global %d[%c0, %c0] %{name} : !desc, !buf\n"
            + self.maybe(wait)
        )

    def copy(self, name: str) -> str:
        n = self.fresh()
        text = f"%k{n} = ttg.async_copy_global_to_local %p, %{name} : tensor<64x64x!tt.ptr<f16>, #blocked> -> !buf\n"
        text += f"%g{n} = ttg.async_commit_group tokens %k{n}\n"
        return text + self.maybe(
            f"%h{n} = ttg.async_wait %g{n} {{num = {self.random.randint(0, 1)} : i32}}\n"
        )

    def load(self, name: str) -> str:
        text = "ttng.barrier_expect %m, 8192, %true : !bar\n"
        text += f"ttng.async_tma_copy_global_to_local %d[%c0, %c0] %{name}, %m, %true : !desc, !bar -> !buf\n"
        return text + self.maybe("ttng.wait_barrier %m, %c0 : !bar\n")

    def dot(self, name: str) -> str:
        n, other = self.fresh(), self.random.choice(self.names)
        text = f"%o{n} = ttng.warp_group_dot %{name}, %{other}, %acc {{inputPrecision = 0 : i32, isAsync = true}} : !buf * !buf -> tensor<64x64xf32, #mma>\n"
        wait = f"%v{n}:1 = ttng.warp_group_dot_wait %o{n} {{pendings = {self.random.randint(0, 1)} : i32}} : tensor<64x64xf32, #mma>\n"
        return text + self.maybe(wait)

    def loop(self, depth: int) -> str:
        n = self.fresh()
        return f"scf.for %i{n} = %c0 to %n step %c1 : i32 {{\n{self.lines(3, depth)}}}\n"

    def branch(self, depth: int) -> str:
        return f"scf.if %t {{\n{self.lines(2, depth)}}} else {{\n{self.lines(2, depth)}}}\n"


def check(seed: int) -> tuple[bool, bool]:
    """Whether something was merged, and whether putting all in one place was noticed."""
    text = text_of(Author(seed).body())
    module, engine = parse(text), DiagnosticEngine()
    MergeSharedMemory().run(module, engine)
    verify(module, engine)
    engine.raise_if_errors()
    assert check_module(module, RUNS).faults == ()
    wrong = parse(text)
    ((op, function),) = BufferLiveness(wrong).functions.items()
    buffers = [b if b.is_barrier else replace(b, spans=()) for b in function.buffers]
    plan = plan_buffers(op, function, buffers)
    merge(plan, groups_of(plan, Memory.SMEM), Rewriter())
    is_noticed = bool(check_module(wrong, RUNS).faults)
    return any(each.code == MERGED for each in engine.diagnostics), is_noticed


def test_random_functions():
    results = [check(seed) for seed in range(16)]
    assert sum(merged for merged, _ in results) >= 4
    assert all(noticed for _, noticed in results)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2200, 200))
def test_many_random_functions(start: int):
    results = [check(seed) for seed in range(start, start + 200)]
    assert sum(merged for merged, _ in results) >= 30
