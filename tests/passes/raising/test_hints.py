"""Hints about tensors of pointers, whose addresses and strides are read from memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tilewright as tw
from benchmarks.h200.peers import our_kernels
from benchmarks.h200.raised_cases import TUTORIALS
from tests.passes.raising import levels
from tests.passes.raising.levels import compare, parsed
from tilewright import tl
from tilewright.analysis.raising.addresses import addresses_of
from tilewright.analysis.raising.hints import hinted_tensors, stated_multiples
from tilewright.dialects.tt import FuncOp
from tilewright.passes.raising.prepare import prepare
from tilewright.runtime.tile.thread_level import running_threads
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileFault

ROWS, DEPTH, K = 32, 32, 64
SIZE = 2
"""Bytes of an element."""


@tw.jit
def gemm_of_rows(
    table_ptr, strides_ptr, out_ptr,
    K: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr, AT: tl.constexpr,
):  # fmt: skip
    """A tile of rows times itself; the hint stands in the loop that advances the pointers."""
    p = tl.load(table_ptr).to(tl.pointer_type(tl.float16))
    stride = tl.load(strides_ptr)
    rows, depth = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DEPTH)
    ptrs = p + rows[:, None] * stride + depth[None, :]
    acc = tl.zeros((ROWS, ROWS), dtype=tl.float32)
    for _ in range(0, K, DEPTH):
        tl.multiple_of(ptrs, [AT, AT])
        x = tl.load(ptrs)
        acc += tl.dot(x, tl.trans(x))
        ptrs += DEPTH
    to = tl.arange(0, ROWS)
    at = tl.program_id(0) * ROWS * ROWS
    tl.store(out_ptr + at + to[:, None] * ROWS + to[None, :], acc)


@tw.jit
def gemm_of_columns(
    table_ptr, strides_ptr, out_ptr,
    K: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr, AT: tl.constexpr,
):  # fmt: skip
    """The runs are along the first dimension, and the hint before the loop."""
    p = tl.load(table_ptr).to(tl.pointer_type(tl.float16))
    stride = tl.load(strides_ptr)
    rows, depth = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, DEPTH)
    ptrs = tl.multiple_of(p + rows[None, :] * stride + depth[:, None], [AT, 1])
    acc = tl.zeros((ROWS, ROWS), dtype=tl.float32)
    for k in range(0, K, DEPTH):
        x = tl.load(ptrs + k)
        acc += tl.dot(tl.trans(x), x)
    to = tl.arange(0, ROWS)
    at = tl.program_id(0) * ROWS * ROWS
    tl.store(out_ptr + at + to[:, None] * ROWS + to[None, :], acc)


KERNELS = {"rows": gemm_of_rows, "columns": gemm_of_columns}


def _matrix(first: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that begin so many elements after a multiple of 64 bytes, and the memory of them."""
    count = 2 * ROWS * stride + K + first + 64
    memory = np.random.default_rng(first + stride).standard_normal(count).astype(np.float16)
    start = -memory.ctypes.data // SIZE % 32 + first
    rows = np.lib.stride_tricks.as_strided(
        memory[start:], (2 * ROWS, K), (stride * SIZE, SIZE), writeable=False
    )
    return rows, memory


def _launch(kernel: Any, rows: np.ndarray, memory: np.ndarray, at: int) -> levels.Launch:
    out = np.full((2, ROWS, ROWS), np.nan, np.float32)
    table = np.array([rows.ctypes.data], np.int64)
    strides = np.array([rows.strides[0] // SIZE], np.int32)
    arguments = (table, strides, out)
    made = kernel.warmup(*arguments, grid=(2,), K=K, ROWS=ROWS, DEPTH=DEPTH, AT=at)
    text = made.text("ttir", locations=True)
    buffers = [Buffer(f"argument{index}", each) for index, each in enumerate(arguments)]
    return levels.Launch(text, (2,), buffers, [Buffer("reached", memory)])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("at", "width"), [(64, 16), (16, 16), (8, 8), (2, None), (1, None)])
def test_copies_are_as_wide_as_pointers_are_stated_to_be(
    name: str, at: int, width: int | None
) -> None:
    rows, memory = _matrix(0, 96)
    launch = _launch(KERNELS[name], rows, memory, at)
    kernel = compare(launch, schedules=2)
    (cuda,) = compile_module(kernel.module, "sm_80").kernels.values()
    for each in (4, 8, 16):
        assert (f"cp_async<{each}>(" in cuda.source) == (each == width)
    (results, _), expected = levels.on_tiles(kernel, launch), rows.astype(np.float32)
    for actual, part in zip(results[2], (expected[:ROWS], expected[ROWS:]), strict=True):
        np.testing.assert_allclose(actual, part @ part.T, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=25, deadline=None)
@example(first=4, stride=72, power=4)  # only the address is wrong
@example(first=0, stride=68, power=4)  # only the stride is wrong
@example(first=8, stride=72, power=4)
@given(first=st.integers(0, 31), stride=st.integers(K, K + 64), power=st.integers(0, 6))
def test_a_hint_is_reported_where_it_does_not_hold(
    name: str, first: int, stride: int, power: int
) -> None:
    """And nowhere else: where every row begins at such a multiple, the run is the kernel's."""
    rows, memory = _matrix(first, stride)
    launch = _launch(KERNELS[name], rows, memory, 1 << power)
    begins = rows.ctypes.data + np.arange(2 * ROWS) * rows.strides[0]
    kernel = levels.raised(launch.text)
    if (begins % (1 << power)).any():
        with pytest.raises(TileFault, match=r"is not a multiple of|a hint of the kernel"):
            levels.on_tiles(kernel, launch)
        return
    (expected, _), (actual, _) = levels.on_pointers(launch), levels.on_tiles(kernel, launch)
    levels.assert_same(expected, actual)


def _stated(body: str) -> list[tuple[str, int]]:
    """The ops that hints of a kernel say something of, and what."""
    text = f"""
tt.func public @k(%table: !tt.ptr<i64>, %sizes: !tt.ptr<i32>, %x: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %n: i32) {{
  %address = tt.load %table : !tt.ptr<i64>
  %p = tt.int_to_ptr %address : i64 -> !tt.ptr<f32>
  %s = tt.load %sizes : !tt.ptr<i32>
  %lane = tt.make_range {{start = 0 : i32, end = 64 : i32}} : tensor<64xi32>
{body}
  tt.return
}}
"""
    module = parsed(text)
    prepare(module)
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    found = stated_multiples(addresses_of(function), hinted_tensors(function))
    return [(op.results[0].name_hint or op.name, divisor) for op, divisor in found.items()]


_SPLAT = "tt.splat %{} : {} -> tensor<64x{}>"
_P = "  %ps = " + _SPLAT.format("p", "!tt.ptr<f32>", "!tt.ptr<f32>")
_X = "  %ps = " + _SPLAT.format("x", "!tt.ptr<f32>", "!tt.ptr<f32>")
_S = "  %ss = " + _SPLAT.format("s", "i32", "i32")
_N = "  %ss = " + _SPLAT.format("n", "i32", "i32")
_POINTERS = "tensor<64x!tt.ptr<f32>>"
_USE = f"  %v = tt.load %q : {_POINTERS}\n  tt.store %q, %v : {_POINTERS}"


def _add(to: str, left: str, right: str, hint: int | None = None) -> str:
    stated = "" if hint is None else f" {{tt.divisibility = dense<{hint}> : tensor<1xi32>}}"
    return f"  %{to} = tt.addptr %{left}, %{right}{stated} : {_POINTERS}, tensor<64xi32>"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([_P, _add("q", "ps", "lane", 16)], [("p", 16)]),
        ([_P, _add("q", "ps", "lane", 24)], [("p", 8)]),  # runs have a power of two of elements
        # Two values of which neither is known: their sum is a multiple, and no more.
        ([_P, _S, _add("r", "ps", "ss"), _add("q", "r", "lane", 16)], []),
        # Elements have 4 bytes, and the pointer of the argument is a multiple of 16.
        ([_X, _S, _add("r", "ps", "ss"), _add("q", "r", "lane", 8)], [("s", 2)]),
        ([_X, _S, _add("r", "ps", "ss"), _add("q", "r", "lane", 64)], [("s", 4)]),
        # Of an argument, a launch knows what divides it.
        ([_P, _N, _add("r", "ps", "ss"), _add("q", "r", "lane", 16)], []),
    ],
)
def test_what_is_stated_of_scalars(lines: list[str], expected: list[tuple[str, int]]) -> None:
    assert _stated("\n".join([*lines, _USE])) == expected


def test_nothing_is_stated_of_what_is_computed_where_the_hint_is_not() -> None:
    inner = "\n".join([_P, _add("q", "ps", "lane", 16), _USE])
    body = f"""
  %c = arith.cmpi slt, %s, %n : i32
  scf.if %c {{
{inner}
  }}
"""
    assert _stated(body) == []


@pytest.mark.parametrize("is_stated", [True, False])
def test_integers_of_a_tensor(is_stated: bool) -> None:
    """``multiple_of(start + arange, 16)`` states it of the start."""
    hint = " {tt.divisibility = dense<16> : tensor<1xi32>}" if is_stated else ""
    at = f"  %at = arith.addi %ss, %lane{hint} : tensor<64xi32>"
    body = "\n".join([_X, _S, at, _add("q", "ps", "at"), _USE])
    assert _stated(body) == ([("s", 16)] if is_stated else [])


def test_grouped_gemm_copies_sixteen_bytes() -> None:
    """The hints of the tutorial, on what its loop carries; by threads, values are the products."""
    rng = np.random.default_rng(0)
    a = [rng.standard_normal((64, k)).astype(np.float16) for k in (64, 192)]
    b = [rng.standard_normal((each.shape[1], 64)).astype(np.float16) for each in a]
    c = [np.full((64, 64), np.nan, np.float16) for _ in a]
    table = [np.array([each.ctypes.data for each in group], np.int64) for group in (a, b, c)]
    sizes = np.array([[64, 64, each.shape[1]] for each in a], np.int32)
    strides = np.array([[each.shape[1], 64, 64] for each in a], np.int32)
    kernel = our_kernels(TUTORIALS).grouped_kernel
    options = {"BM": 64, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 3}
    arguments = (*table, sizes, strides, 2)
    for target, copy in (("cuda:sm_90a", "cp_async<16>"), ("cuda:sm_80", "cp_async<16>")):
        made = kernel.warmup(*arguments, grid=(2,), target=target, **options).raised
        assert copy in made.get_kernel_source()
        assert made.n_spills == 0
        for each in c:
            each.fill(np.nan)
        with tw.reachable(*a, *b, *c), running_threads(compare=True) as runs:
            kernel[(2,)](*arguments, **options, target=target)
        (found,) = runs.launches.values()
        assert not found.wrong
        for x, y, z in zip(a, b, c, strict=True):
            expected = x.astype(np.float32) @ y.astype(np.float32)
            np.testing.assert_allclose(z.astype(np.float32), expected, rtol=2e-3, atol=2e-2)
