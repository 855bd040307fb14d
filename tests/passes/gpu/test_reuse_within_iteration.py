"""Shared buffers that change hands within the turns of a loop keep what their kernel needs."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.examples.tile_examples import load
from tests.sampling import examples
from tilewright import T
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tile import mark_private_buffers
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

SIZE, BUFFERS, TURNS = 64, 4, 3
TIGHT = GpuPipeline(target="cuda:sm_80", reuse_within_iteration=True)


def shared_bytes(module: Any) -> int:
    (found,) = [
        op.attributes[simt_names.SHARED_BYTES].value.data
        for op in module.walk()
        if simt_names.SHARED_BYTES in op.attributes
    ]
    return found


def lowered(module: Any, pipeline: GpuPipeline) -> Any:
    engine, copy = DiagnosticEngine(), module.clone()
    pipeline.run(copy, engine)
    engine.raise_if_errors()
    return copy


# -- a kernel that does not fit otherwise --------------------------------------------------------


def test_a_persistent_product_fits_an_a100():
    rows, columns, depth = 200, 512, 256
    blocks = {"block_M": 128, "block_N": 256, "block_K": 64, "num_stages": 3, "processors": 2}
    kernel = load("persistent_gemm").matmul_persistent
    compiled = kernel.compile(M=rows, N=columns, K=depth, **blocks)
    engine, module = DiagnosticEngine(), compiled.prim_func.module.clone()
    GpuPipeline(target="cuda:sm_80").run(module, engine)
    engine.raise_if_errors()
    (remark,) = [each.message for each in engine.diagnostics if each.code == "TW5016"]
    assert "147456 B instead of 212992 B (166912 B available on sm_80)" in remark
    assert shared_bytes(module) == 3 * (128 + 256) * 64 * 2
    rng = np.random.default_rng(0)
    a = rng.standard_normal((rows, depth)).astype(np.float16)
    b = rng.standard_normal((depth, columns)).astype(np.float16)
    c = np.full((rows, columns), np.nan, np.float16)
    arguments = [Buffer(name, each) for name, each in zip("ABC", (a, b, c), strict=True)]
    compile_simt(module).launch(arguments, SimtOptions(schedules=2))
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=2e-3, atol=5e-2)


# -- random turns --------------------------------------------------------------------------------


@T.macro
def step(held, out, A, turn, kind, first, second):
    if kind == "fill":
        for i in T.Parallel(SIZE):
            held[first][i] = A[turn, i] * (second + 1.0)
    elif kind == "half":
        for i in T.Parallel(SIZE // 2):
            held[first][i] = A[turn, i] - second
    elif kind == "sometimes":
        if turn % 2 == second % 2:
            for i in T.Parallel(SIZE):
                held[first][i] = A[turn, SIZE - 1 - i]
    elif kind == "add":
        for i in T.Parallel(SIZE):
            held[first][i] = held[first][i] + held[second][i if first == second else SIZE - 1 - i]
    elif kind == "inner":
        for _ in T.serial(turn):
            for i in T.Parallel(SIZE):
                held[first][i] = A[turn, i] + 0.5
            for i in T.Parallel(SIZE):
                out[second, i] = out[second, i] + held[first][SIZE - 1 - i]
    else:
        for i in T.Parallel(SIZE):
            out[second, i] = out[second, i] + held[first][SIZE - 1 - i]


@T.macro
def cleared_once(buffer, turn):
    if turn == 0:
        T.clear(buffer)


def steps(held, out, A, turn, taken):
    # What no turn filled is zero, so that every kernel has one right answer.
    seen = set()
    for kind, first, second in taken:
        for buffer in sorted({first, second} if kind == "add" else {first}):
            if buffer not in seen and kind not in ("fill", "inner"):
                cleared_once(held[buffer], turn)
            if kind != "inner":  # which has no turn at first
                seen.add(buffer)
        step(held, out, A, turn, kind, first, second)


def kernel_of(taken: list[tuple[str, int, int]]) -> Any:
    used = {first for _, first, _ in taken} | {second for kind, _, second in taken if kind == "add"}
    number = {buffer: place for place, buffer in enumerate(sorted(used))}
    renamed = [
        (kind, number[first], number[second] if kind == "add" else second)
        for kind, first, second in taken
    ]
    count = len(used)

    @T.prim_func
    def main(A: T.Tensor((TURNS, SIZE), "float32"), out: T.Tensor((BUFFERS, SIZE), "float32")):
        with T.Kernel(1, threads=SIZE):
            held = [T.alloc_shared((SIZE,), "float32") for _ in range(count)]
            for turn in T.serial(TURNS):
                steps(held, out, A, turn, renamed)

    return main


numbers = st.integers(0, BUFFERS - 1)
kinds = st.sampled_from(["fill", "fill", "half", "sometimes", "add", "inner", "tell", "tell"])


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(kinds, numbers, numbers), min_size=2, max_size=9))
def test_random_turns(taken: list[tuple[str, int, int]]) -> None:
    main = kernel_of(taken)
    a = np.arange(TURNS * SIZE, dtype=np.float32).reshape(TURNS, SIZE) % 37
    wanted = np.zeros((BUFFERS, SIZE), np.float32)
    tw.compile(main, target="numpy")(a, wanted)
    module = lowered(main.module, TIGHT)
    found = np.zeros_like(wanted)
    compile_simt(module).launch([Buffer("A", a), Buffer("out", found)], SimtOptions())
    np.testing.assert_array_equal(found, wanted)


def test_bytes_do_change_hands():
    taken = [("fill", 0, 1), ("tell", 0, 0), ("fill", 1, 2), ("tell", 1, 1)]
    main = kernel_of(taken)
    apart = shared_bytes(lowered(main.module, GpuPipeline(target="cuda:sm_80")))
    assert shared_bytes(lowered(main.module, TIGHT)) < apart


# -- pipelines inside of the turns ---------------------------------------------------------------


def pipelined(stages: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((TURNS, 8, 32, 32), "float32"),
        B: T.Tensor((TURNS, 32, 32), "float32"),
        n: T.int32,
    ):
        with T.Kernel(1, threads=64):
            held = T.alloc_shared((32, 32), "float32")
            sums = T.alloc_shared((32, 32), "float32")
            total = T.alloc_fragment((32, 32), "float32")
            for turn in T.serial(TURNS):
                T.clear(total)
                for k in T.Pipelined(n, num_stages=stages):
                    T.copy(A[turn, k, :, :], held)
                    for i, j in T.Parallel(32, 32):
                        total[i, j] += held[j, i]
                T.copy(total, sums)
                for i, j in T.Parallel(32, 32):
                    B[turn, i, j] = sums[j, i]

    return main


@pytest.mark.parametrize("predicate_epilogue", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_pipeline_gives_its_bytes_away_when_it_is_over(
    stages: int, predicate_epilogue: bool
) -> None:
    main = pipelined(stages)
    module = lowered(main.module, replace(TIGHT, predicate_epilogue=predicate_epilogue))
    assert shared_bytes(module) == stages * 32 * 32 * 4
    a = np.arange(TURNS * 8 * 32 * 32, dtype=np.float32).reshape(TURNS, 8, 32, 32) % 37
    for count in (0, 1, 5):
        b = np.full((TURNS, 32, 32), np.nan, np.float32)
        compile_simt(module).launch([Buffer("A", a), Buffer("B", b), count], SimtOptions())
        np.testing.assert_array_equal(b, a[:, :count].sum(axis=1))


# -- the checker ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "taken",
    [
        [("half", 0, 1), ("tell", 0, 0), ("fill", 1, 2), ("tell", 1, 1)],
        [("sometimes", 0, 0), ("tell", 0, 0), ("fill", 1, 2), ("tell", 1, 1)],
        [("add", 0, 1), ("fill", 2, 0), ("tell", 2, 0)],
        [("tell", 0, 0), ("fill", 0, 0), ("fill", 1, 0), ("tell", 1, 0)],
    ],
)
def test_a_buffer_that_was_taken_for_private_is_noticed(
    taken: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_of_them(kernel: Any) -> list[AllocOp]:
        allocs = [op for op in kernel.walk() if isinstance(op, AllocOp)]
        return [op for op in allocs if op.space.is_shared]

    monkeypatch.setattr(mark_private_buffers, "private_buffers", all_of_them)
    with pytest.raises(
        CompileError, match=r"TW9029\]: reads buffer\[\d+\], which buffer has overwritten"
    ):
        lowered(kernel_of(taken).module, TIGHT)
