"""A role that copies rows whose numbers it loads: values, and what its addresses cost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T
from tilewright.dialects.tile import SyncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

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


WIDE, STEPS = 192, 3


def flagged() -> Any:
    """Rows of three copies by eight lanes, which write and read together whether there is one."""

    @tw.jit
    def main(X, Rows, last):
        X: T.Tensor((SOURCES, WIDE), "float16")
        Rows: T.Tensor((STEPS * ROWS,), "int32")
        last: T.int32
        Out = T.empty((STEPS, ROWS, WIDE), "float16")
        with T.Kernel(1, threads=256):
            x = T.alloc_shared((ROWS, WIDE), "float16")
            found = T.alloc_shared((ROWS,), "bool")
            out = T.alloc_fragment((ROWS, WIDE), "float16")
            ready = T.alloc_barrier(arrive_count=128)
            free = T.alloc_barrier(arrive_count=128)
            tx = T.get_thread_binding()
            if tx < 128:
                for k in T.serial(STEPS):
                    T.barrier_wait(ready, k % 2)
                    for i, j in T.Parallel(ROWS, WIDE):
                        out[i, j] = T.if_then_else(found[i], x[i, j], T.cast(-1, "float16"))
                    T.copy(out, Out[k, :, :])
                    T.barrier_arrive(free)
            else:
                for k in T.serial(STEPS):
                    T.barrier_wait(free, (k + 1) % 2)
                    for r in T.serial(4):
                        row = Rows[k * ROWS + r * 16 + (tx - 128) // 8]
                        found[r * 16 + (tx - 128) // 8] = row < last
                        if found[r * 16 + (tx - 128) // 8]:
                            for u in T.serial(WIDE // 64):
                                T.ptx_cp_async(
                                    T.access_ptr(
                                        x[r * 16 + (tx - 128) // 8, 64 * u + (tx - 128) % 8 * 8],
                                        "w",
                                        8,
                                    ),
                                    T.access_ptr(X[row, 64 * u + (tx - 128) % 8 * 8], "r", 8),
                                    8,
                                )
                    T.cp_async_barrier_noinc(ready)
        return Out

    return main


def flagged_arguments() -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(6).integers(0, SOURCES, STEPS * ROWS).astype(np.int32)
    return whole(7, SOURCES, WIDE), rows


def test_gathered_rows_that_are_not_there() -> None:
    x, rows = flagged_arguments()
    wanted = np.where((rows < 70)[:, None], x[rows], np.float16(-1)).reshape(STEPS, ROWS, WIDE)
    kernel = flagged()
    np.testing.assert_array_equal(kernel(x, rows, 70), wanted)
    module = lowered(kernel, x, rows, 70)[0]
    result = Buffer("Out", np.full_like(wanted, -77), initialised=False)
    compile_simt(module).launch([Buffer("X", x.copy()), Buffer("Rows", rows), 70, result])
    np.testing.assert_array_equal(result.array, wanted)


def test_a_row_has_one_address() -> None:
    """Its copies add constants to it, also in shared memory, which has addresses of 32 bits."""
    text = source_of(lowered(flagged(), *flagged_arguments(), 70)[0])
    (copy,) = re.findall(r"tw::cp_async<16>\((.*)\);", text)
    to, of = re.fullmatch(
        r"(tw::shared_address\(x\) \+ unsigned\(.*\) \* 2u), (X \+ .*)", copy
    ).groups()
    (step,) = re.findall(r"const int (\w+) = u \* 64;", text)
    assert of.split(", ")[0].endswith(f") + {step}"), of
    assert "int64" not in to


def test_lanes_that_share_a_flag_wait_for_their_warp() -> None:
    kernel, given = flagged(), (*flagged_arguments(), 70)
    module = lowered(kernel, *given)[0]
    text = source_of(module)
    producer = text[text.index("cp_async<16>") - 2000 :]
    assert "__syncwarp();" in producer
    assert "named_barrier_sync" not in producer
    syncs = [op for op in module.walk() if isinstance(op, SyncOp) and op.scope.data == "warp"]
    for each in syncs:
        each.detach()
    engine = DiagnosticEngine()
    CheckThreadSync().run(module, engine)
    assert any(each.code == "TW4081" for each in engine.diagnostics)
