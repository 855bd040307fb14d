"""Parts of a fragment are stored by the threads that hold them."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

ROWS, COLUMNS, DEPTH = 64, 128, 32
STAGED = "TW2023"
"""Elements go through shared memory, as other threads use them than hold them."""


def kernel(rows: tuple[int, int], columns: tuple[int, int], *, by_loop: bool = False) -> Any:
    """A product of which only some rows and columns are kept."""
    (top, bottom), (left, right) = rows, columns
    shape = (bottom - top, right - left)

    @T.prim_func
    def main(
        A: T.Tensor((ROWS, DEPTH), "float16"),
        B: T.Tensor((DEPTH, COLUMNS), "float16"),
        C: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((ROWS, DEPTH), "float16")
            B_shared = T.alloc_shared((DEPTH, COLUMNS), "float16")
            C_shared = T.alloc_shared(shape, "float16")
            sums = T.alloc_fragment((ROWS, COLUMNS), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.clear(sums)
            T.gemm(A_shared, B_shared, sums)
            if by_loop:
                for i, j in T.Parallel(*shape):
                    C_shared[i, j] = sums[top + i, left + j]
            else:
                T.copy(sums[top:bottom, left:right], C_shared)
            T.copy(C_shared, C)

    return main


def ran(main: Any, c: np.ndarray, arch: str = "sm_90a") -> tuple[np.ndarray, set[Any]]:
    """Run it into `c`: the whole product, and what was said when it was compiled."""
    module, engine = main.module.clone(), DiagnosticEngine()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (ROWS, DEPTH)).astype(np.float16)
    b = rng.integers(-3, 4, (DEPTH, COLUMNS)).astype(np.float16)
    c.fill(np.nan)
    arguments = [Buffer(name, each) for name, each in zip("ABC", (a, b, c), strict=True)]
    compile_simt(module).launch(arguments, SimtOptions())
    codes = {each.code for each in engine.diagnostics}
    return a.astype(np.float32) @ b.astype(np.float32), codes


def codes_of(main: Any, rows: tuple[int, int], columns: tuple[int, int], arch: str) -> set[Any]:
    """What is said when it is compiled; its values are checked."""
    c = np.empty((rows[1] - rows[0], columns[1] - columns[0]), np.float16)
    whole, codes = ran(main, c, arch)
    np.testing.assert_array_equal(c.astype(np.float32), whole[slice(*rows), slice(*columns)])
    return codes


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("by_loop", [False, True])
@pytest.mark.parametrize("columns", [(0, 64), (64, 128), (32, 64), (96, 128)])
def test_columns_stay_with_their_threads(
    columns: tuple[int, int], by_loop: bool, arch: str
) -> None:
    main = kernel((0, ROWS), columns, by_loop=by_loop)
    found = codes_of(main, (0, ROWS), columns, arch)
    if arch == "sm_90a":  # every warp has all columns of its rows
        assert STAGED not in found


@pytest.mark.parametrize(
    ("rows", "columns"),
    [((0, 16), (0, COLUMNS)), ((16, 48), (8, 24)), ((1, 34), (3, 70)), ((0, ROWS), (1, 127))],
)
def test_parts_that_threads_hold_unevenly(rows: tuple[int, int], columns: tuple[int, int]) -> None:
    assert STAGED in codes_of(kernel(rows, columns), rows, columns, "sm_90a")


@pytest.mark.parametrize(
    ("other", "is_staged"), [(lambda j: 64 + j, False), (lambda j: 127 - j, True)]
)
def test_two_parts_in_one_loop(other: Any, is_staged: bool) -> None:
    @T.prim_func
    def main(
        A: T.Tensor((ROWS, DEPTH), "float16"),
        B: T.Tensor((DEPTH, COLUMNS), "float16"),
        C: T.Tensor((ROWS, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((ROWS, DEPTH), "float16")
            B_shared = T.alloc_shared((DEPTH, COLUMNS), "float16")
            sums = T.alloc_fragment((ROWS, COLUMNS), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.clear(sums)
            T.gemm(A_shared, B_shared, sums)
            for i, j in T.Parallel(ROWS, 64):
                C[i, j] = sums[i, j] - 2.0 * sums[i, other(j)]

    c = np.empty((ROWS, 64), np.float32)
    whole, codes = ran(main, c)
    np.testing.assert_array_equal(c, whole[:, :64] - 2.0 * whole[:, other(np.arange(64))])
    assert (STAGED in codes) == is_staged


@pytest.mark.parametrize("by_row", [True, False])
def test_a_reduction_names_the_read_that_keeps_it_from_shuffles(by_row: bool) -> None:
    @T.prim_func
    def main(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            row = T.alloc_fragment((64,), "float32")
            T.copy(X, x)
            T.reduce_max(x, row, dim=1)
            for i, j in T.Parallel(64, 64):
                x[i, j] = x[i, j] / row[i if by_row else j]
            T.copy(x, Y)

    module, engine = main.module.clone(), DiagnosticEngine()
    GpuPipeline(target="cuda:sm_90a").run(module, engine)
    notes = [
        note.message for each in engine.diagnostics if each.code == STAGED for note in each.notes
    ]
    assert notes == (
        []
        if by_row
        else [
            "row[j] is read by the thread that owns x[i, j]: with row[i] shuffles are used; if "
            "row[j] is meant, nothing has to be changed"
        ]
    )
