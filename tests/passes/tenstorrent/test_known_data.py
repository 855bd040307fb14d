"""Kernels whose addresses, loops and branches depend on data that the host has at launch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.tenstorrent.execution import compiled
from tests.test_docs import ROOT
from tilewright import T
from tilewright.dialects.tensix.chips import chip_named
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.tenstorrent.source.host import run_host
from tilewright.targets.tenstorrent.source.toolchain import SourceExecutorUnavailable


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "tile"))


def example(name: str, function: str) -> tuple[Any, Any]:
    """A module of examples/tile, and one of its kernels for the simulated chip."""
    module = importlib.import_module(name)
    kernel = getattr(module, function).function
    return module, tw.jit(kernel, target="tenstorrent:sim")


def grouped(sizes: list[int], block: int, seed: int = 0) -> tuple[Any, Any, Any, Any, Any]:
    """Operands of a grouped GEMM, where groups begin, and the result."""
    module, _ = example("grouped_gemm", "grouped_gemm")
    rng, rows = np.random.default_rng(seed), np.array(sizes)
    first_row, first_tile = module.starts(rows), module.starts(-(-rows // block))
    a = rng.integers(-3, 4, (rows.sum(), 40)).astype(np.float16)
    b = rng.integers(-3, 4, (len(sizes), 40, 33)).astype(np.float16)
    parts = [
        a[first_row[g] : first_row[g + 1]].astype(np.float32) @ b[g].astype(np.float32)
        for g in range(len(sizes))
    ]
    return a, b, first_row, first_tile, np.concatenate(parts)


@pytest.mark.parametrize(
    ("sizes", "block"), [([70, 1, 0, 64], 64), ([5], 32), ([32, 64, 96], 32), ([1, 1, 33], 32)]
)
def test_grouped_gemm(sizes: list[int], block: int) -> None:
    _, kernel = example("grouped_gemm", "grouped_gemm")
    a, b, first_row, first_tile, expected = grouped(sizes, block)
    options = {"block_M": block, "block_N": 32, "block_K": 32, "tiles": int(first_tile[-1])}
    for executor in ("ir", "source") if sizes == [70, 1, 0, 64] else ("ir",):
        with tw.tenstorrent_running(executor=executor):
            found = kernel(a, b, first_row, first_tile, **options)
        np.testing.assert_array_equal(found, expected, err_msg=executor)


def test_other_groups_are_another_program() -> None:
    _, kernel = example("grouped_gemm", "grouped_gemm")
    options = {"block_M": 32, "block_N": 32, "block_K": 32, "tiles": 3}
    for sizes in ([40, 3], [3, 40], [43 - 32, 32]):
        a, b, first_row, first_tile, expected = grouped(sizes, 32)
        tiles = int(first_tile[-1])
        found = kernel(a, b, first_row, first_tile, **{**options, "tiles": tiles})
        np.testing.assert_array_equal(found, expected)


def test_the_host_program_gathers_and_scatters(tmp_path: Path) -> None:
    _, kernel = example("grouped_gemm", "grouped_gemm")
    a, b, first_row, first_tile, expected = grouped([70, 1, 0, 64], 64)
    options = {"block_M": 64, "block_N": 32, "block_K": 32, "tiles": int(first_tile[-1])}
    made = kernel.traced(a, b, first_row, first_tile, **options)
    made(a, b, first_row, first_tile)
    made.tenstorrent.artefact.write(tmp_path)
    for name, array in (("A", a), ("B", b), ("C", np.zeros_like(expected, np.float16))):
        (tmp_path / f"{name}.bin").write_bytes(array.tobytes())
    try:
        found = run_host(
            tmp_path / "main.cpp",
            chip_named("sim"),
            kernel_roots=(tmp_path,),
            arguments=(str(tmp_path),),
        )
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the host program was NOT run: {reason}")
    assert (found.status, found.output, found.results[0].findings) == (0, "", ())
    result = np.frombuffer((tmp_path / "C.bin").read_bytes(), np.float16)
    np.testing.assert_array_equal(result.reshape(expected.shape), expected)


def test_a_mask_leaves_out_steps() -> None:
    module, kernel = example("block_sparse_gemm", "block_sparse_gemm")
    rng = np.random.default_rng(4)
    a = rng.integers(-3, 4, (70, 96)).astype(np.float16)
    b = rng.integers(-3, 4, (96, 64)).astype(np.float16)
    for share in (0.0, 0.5, 1.0):
        mask = rng.random((3, 2, 3)) < share
        expected = module.reference(a, b, mask, 32, 32, 32)
        np.testing.assert_array_equal(kernel(a, b, mask, 32, 32, 32), expected)


@tw.jit(target="tenstorrent:sim")
def shifted(A, block=32, shift=1):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block)) as (bx, by):
        a = T.alloc_shared((block, block), "float32")
        b = T.alloc_shared((block, block), "float32")
        T.copy(A[by * block, bx * block], a)
        T.copy(A[by * block + shift, bx * block], b)
        for i, j in T.Parallel(block, block):
            a[i, j] = b[i, j] - a[i, j]
        T.copy(a, C[by * block, bx * block])
    return C


@pytest.mark.parametrize("shift", [1, 31, 32, 40])
def test_a_shifted_copy(shift: int) -> None:
    a = np.random.default_rng(0).integers(-9, 10, (70, 40)).astype(np.float32)
    below = np.zeros_like(a)
    below[: 70 - shift] = a[shift:]
    np.testing.assert_array_equal(shifted(a, shift=shift), below - a)


@tw.jit(target="tenstorrent:sim")
def overlapping(A, starts, block=32):
    M, N, G = T.const("M, N, G")
    A: T.Tensor((M, N), "float32")
    starts: T.Tensor((G,), T.int32)
    C = T.empty((M, N), "float32")
    with T.Kernel(G) as by:
        a = T.alloc_shared((block, N), "float32")
        row = starts[by]
        T.copy(A[row : row + block, :], a)
        T.copy(a, C[row : row + block, :])
    return C


def test_blocks_that_write_the_same_rows_are_refused() -> None:
    a = np.random.default_rng(0).integers(-9, 10, (96, 32)).astype(np.float32)
    starts = np.array([0, 32, 64], np.int32)
    np.testing.assert_array_equal(overlapping(a, starts), a)
    with pytest.raises(CompileError, match=r"TW7062|TW7061"):
        overlapping(a, np.array([0, 31, 64], np.int32))


@tw.jit(target="tenstorrent:sim")
def under_a_condition(A, starts, block=32):
    M, N, G = T.const("M, N, G")
    A: T.Tensor((M, N), "float32")
    starts: T.Tensor((G,), T.int32)
    C = T.empty((G * block, N), "float32")
    with T.Kernel(G) as by:
        a = T.alloc_shared((block, N), "float32")
        T.clear(a)
        if by < 2:
            T.copy(A[starts[by] : starts[by] + block, :], a)
        T.copy(a, C[by * block, 0])
    return C


def test_an_offset_that_some_blocks_do_not_use() -> None:
    a = np.random.default_rng(0).integers(-9, 10, (96, 32)).astype(np.float32)
    found = under_a_condition(a, np.array([7, 40, 1], np.int32))
    expected = np.concatenate([a[7:39], a[40:72], np.zeros((32, 32), np.float32)])
    np.testing.assert_array_equal(found, expected)


@tw.jit(target="tenstorrent:sim")
def persistent(A, workers=3, block=32):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(workers) as worker:
        a = T.alloc_shared((block, block), "float32")
        for bx, by in T.Persistent([T.ceildiv(M, block), T.ceildiv(N, block)], workers, worker):
            T.copy(A[bx * block, by * block], a)
            for i, j in T.Parallel(block, block):
                a[i, j] = a[i, j] * 2
            T.copy(a, C[bx * block, by * block])
    return C


def test_a_persistent_loop_is_a_grid() -> None:
    a = np.random.default_rng(0).integers(-9, 10, (70, 130)).astype(np.float32)
    np.testing.assert_array_equal(persistent(a), a * 2)


def test_data_that_is_not_given_is_an_error() -> None:
    _, kernel = example("grouped_gemm", "grouped_gemm")
    a, b, first_row, first_tile, _ = grouped([40, 3], 32)
    made = kernel.traced(a, b, first_row, first_tile, block_M=32, tiles=3)
    with pytest.raises(CompileError, match=r"TW70|TW7110"):
        compiled(made.prim_func.module)


@pytest.fixture(autouse=True)
def _forget_examples() -> Iterator[None]:
    yield
    for name in ("grouped_gemm", "block_sparse_gemm"):
        sys.modules.pop(name, None)
