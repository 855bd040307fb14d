"""Vectors that loops with GEMMs load without a mask: when, and without a guard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising import levels
from tests.passes.raising.levels import compare, parsed
from tilewright import tl
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt import DotOp, LoadOp
from tilewright.dialects.type_utils import rank_of
from tilewright.ir.traversal import walk
from tilewright.passes.raising.prepare import prepare
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileFault

ROWS, DEPTH = 32, 64


@tw.jit
def later_rows(
    x_ptr, scale_ptr, out_ptr, n, ROWS: tl.constexpr, DEPTH: tl.constexpr, BEYOND: tl.constexpr
):  # fmt: skip
    """Scaled GEMMs of the rows after those of the program: no mask, and no bound of the host."""
    first = (tl.program_id(0) + 1) * ROWS
    rows, depth = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    acc = tl.zeros((ROWS, ROWS), dtype=tl.float32)
    for step in range((n - first) // ROWS + BEYOND):
        at = first + step * ROWS + rows
        x = tl.load(x_ptr + (at % n)[:, None] * DEPTH + depth[None, :])
        product = tl.dot(x, tl.trans(x))
        scale = tl.load(scale_ptr + at)
        acc += product * scale[None, :]
    to = out_ptr + tl.program_id(0) * ROWS * ROWS
    tl.store(to + rows[:, None] * ROWS + rows[None, :], acc)


@tw.jit
def stored_scales(x_ptr, scale_ptr, out_ptr, n, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    """An iteration writes what the next one loads."""
    rows, depth = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    acc = tl.zeros((ROWS, ROWS), dtype=tl.float32)
    for step in range(n // ROWS):
        at = step * ROWS + rows
        x = tl.load(x_ptr + at[:, None] * DEPTH + depth[None, :])
        product = tl.dot(x, tl.trans(x))
        scale = tl.load(scale_ptr + rows)
        acc += product * scale[None, :]
        tl.store(scale_ptr + rows, scale + 1.0)
    tl.store(out_ptr + rows[:, None] * ROWS + rows[None, :], acc)


def _arguments(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    x = rng.integers(-2, 3, (n, DEPTH)).astype(np.float16)
    scale = rng.integers(-2, 3, n).astype(np.float32)
    return x, scale, np.full((n // ROWS, ROWS, ROWS), np.nan, np.float32)


def _launch(kernel: Any, n: int, **options: Any) -> levels.Launch:
    given = _arguments(n)
    grid = (n // ROWS,) if kernel is later_rows else (1,)
    made = kernel.warmup(*given, n, grid=grid, ROWS=ROWS, DEPTH=DEPTH, **options)
    buffers = [Buffer(f"argument{index}", each) for index, each in enumerate(given)]
    return levels.Launch(made.text("ttir", locations=True), grid, [*buffers, n])


def _order(launch: levels.Launch) -> list[str]:
    """The loads and GEMMs of the prepared loop."""
    module = parsed(launch.text)
    prepare(module)
    (loop,) = (op for op in walk(module) if isinstance(op, ForOp))
    return [
        f"load {rank_of(op.result.type)}" if isinstance(op, LoadOp) else "dot"
        for op in loop.body.block.ops
        if isinstance(op, LoadOp | DotOp)
    ]


def test_a_vector_is_loaded_before_the_first_gemm() -> None:
    assert _order(_launch(later_rows, 96, BEYOND=0)) == ["load 2", "load 1", "dot"]


def test_a_vector_that_the_loop_writes_stays_where_it_is() -> None:
    assert _order(_launch(stored_scales, 96)) == ["load 2", "dot", "load 1"]


@pytest.mark.parametrize("n", [ROWS, 2 * ROWS, 4 * ROWS])
def test_values(n: int) -> None:
    launch = _launch(later_rows, n, BEYOND=0)
    compare(launch, schedules=2)
    (results, _), (x, scale, _) = levels.on_pointers(launch), _arguments(n)
    for program, actual in enumerate(results[2]):
        expected = np.zeros((ROWS, ROWS), np.float32)
        for at in range((program + 1) * ROWS, n, ROWS):
            part = x[at : at + ROWS].astype(np.float32)
            expected += part @ part.T * scale[at : at + ROWS]
        np.testing.assert_array_equal(actual, expected)


def test_values_of_a_vector_that_the_loop_writes() -> None:
    compare(_launch(stored_scales, 96), schedules=2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_no_guard_without_a_mask(arch: str) -> None:
    """It was one of each element: the memory that is left is not known to be enough."""
    kernel = levels.raised(_launch(later_rows, 96, BEYOND=0).text)
    program = compile_module(kernel.module, arch)
    assert not [each for each in program.remarks if "guard" in each and "scale" in each]
    (cuda,) = program.kernels.values()
    reads = [line for line in cuda.source.splitlines() if "scale" in line and "[" in line]
    assert reads
    lines = cuda.source.splitlines()
    for read in reads:
        before = lines[lines.index(read) - 1]
        assert not before.strip().startswith("if ("), (before, read)


def test_an_access_outside_is_reported() -> None:
    """Without a mask, a kernel promises that there is none."""
    launch = _launch(later_rows, 64, BEYOND=1)
    with pytest.raises(TileFault, match="an access without a mask is inside its tensor"):
        levels.on_tiles(levels.raised(launch.text), launch)
