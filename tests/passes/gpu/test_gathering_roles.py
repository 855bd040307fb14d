"""A role that copies rows whose numbers it loads: values, and what its addresses cost."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T

ROWS, COLUMNS, SOURCES = 64, 64, 100


def gathered() -> Any:
    @tw.jit
    def main(X, Rows):
        X: T.Tensor((SOURCES, COLUMNS), "float16")
        Rows: T.Tensor((ROWS,), "int32")
        Out = T.empty((ROWS, COLUMNS), "float16")
        with T.Kernel(1, threads=256):
            x = T.alloc_shared((ROWS, COLUMNS), "float16")
            out = T.alloc_fragment((ROWS, COLUMNS), "float16")
            ready = T.alloc_barrier(arrive_count=128)
            tx = T.get_thread_binding()
            if tx < 128:
                T.barrier_wait(ready, 0)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    out[i, j] = x[i, j] + x[i, j]
                T.copy(out, Out)
            else:
                for r in T.serial(4):
                    row = Rows[r * 16 + (tx - 128) // 8]
                    T.ptx_cp_async(
                        T.access_ptr(x[r * 16 + (tx - 128) // 8, (tx - 128) % 8 * 8], "w", 8),
                        T.access_ptr(X[row, (tx - 128) % 8 * 8], "r", 8),
                        8,
                    )
                T.cp_async_barrier_noinc(ready)
        return Out

    return main


def arguments() -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(5).integers(0, SOURCES, ROWS).astype(np.int32)
    rows[3], rows[60] = 0, SOURCES - 1
    return whole(4, SOURCES, COLUMNS), rows


def test_values() -> None:
    x, rows = arguments()
    check(gathered(), x, rows, expected=x[rows] * 2)


def test_threads_of_a_role_are_not_negative() -> None:
    """Rows and columns of a thread were tested, and divided as signed integers."""
    text = source_of(lowered(gathered(), *arguments())[0])
    assert "floor_divide" not in text
    loop = text[text.index("for (int r = 0; r < 4; ++r)") :]
    assert text[: text.index(loop)].rstrip().endswith("#pragma unroll")
    assert loop.count("const bool") == 1  # of the number of the row
