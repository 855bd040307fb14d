"""TMA stores a part of a buffer where it consists of whole atoms of the buffer's swizzle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.gpu.seeds import source_of
from tests.targets.numpy.simt.mutants import erase
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtFault, SimtOptions, compile_simt

HALF = "float16"
Part = tuple[int, int, int, int]
"""The first row, the first column, rows, columns."""


def of_part(rows: int, columns: int, part: Part) -> Any:
    row, column, height, width = part

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), HALF), B: T.Tensor((rows, columns), HALF)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((rows, columns), HALF)
            for i, j in T.Parallel(rows, columns):
                tile[i, j] = A[i, j] * 2
            T.copy(
                tile[row : row + height, column : column + width],
                B[row : row + height, column : column + width],
            )

    return kernel


def by_roles() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((16, 256), HALF), B: T.Tensor((16, 256), HALF)):
        with T.Kernel(1, threads=256):
            tile = T.alloc_shared((16, 256), HALF)
            with T.ws(0):
                for i, j in T.Parallel(16, 128):
                    tile[i, j] = A[i, j] * 2
                T.copy(tile[:, :128], B[0:16, 0:128])
            with T.ws(1):
                for i, j in T.Parallel(16, 128):
                    tile[i, j + 128] = A[i, j + 128] * 2
                T.copy(tile[:, 128:], B[0:16, 128:256])

    return kernel


def again_and_again() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64, 128), HALF), B: T.Tensor((64, 128), HALF)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((16, 128), HALF)
            for k in T.serial(4):
                for i, j in T.Parallel(16, 128):
                    tile[i, j] = A[k * 16 + i, j] * 2
                T.copy(tile[:, :64], B[k * 16 : k * 16 + 16, 0:64])
                T.copy(tile[:, 64:], B[k * 16 : k * 16 + 16, 64:128])

    return kernel


def lowered(function: Any) -> tuple[Any, list[str]]:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline(target="cuda:sm_90a").run(module, engine)
    engine.raise_if_errors()
    return module, [each.message for each in engine.diagnostics]


def outcome(module: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    given = np.random.default_rng(0).integers(-9, 9, shape).astype(HALF)
    out = np.full_like(given, 77)
    compile_simt(module).launch([Buffer("A", given), Buffer("B", out)], SimtOptions(schedules=3))
    return given, out


def check_part(module: Any, shape: tuple[int, int], part: Part) -> None:
    row, column, height, width = part
    given, out = outcome(module, shape)
    expected = np.full_like(given, 77)
    inside = slice(row, row + height), slice(column, column + width)
    expected[inside] = given[inside] * 2
    np.testing.assert_array_equal(out, expected)


BY_TMA: dict[str, tuple[int, int, Part]] = {
    "left half": (16, 128, (0, 0, 16, 64)),
    "right half": (16, 128, (0, 64, 16, 64)),
    "two boxes of nine": (16, 576, (0, 256, 16, 128)),
    "lower rows": (32, 64, (8, 0, 24, 64)),
    "rows and columns": (32, 192, (16, 64, 8, 128)),
    "a swizzle of 64 bytes": (16, 96, (0, 32, 16, 64)),
    "a swizzle of 32 bytes": (16, 48, (8, 16, 8, 16)),
}


@pytest.mark.parametrize("name", BY_TMA)
def test_tma_stores_whole_atoms(name: str) -> None:
    rows, columns, part = BY_TMA[name]
    module, _ = lowered(of_part(rows, columns, part))
    assert "nv.tma_store %" in print_module(module)
    check_part(module, (rows, columns), part)


BY_THREADS: dict[str, tuple[int, int, Part]] = {
    "half an atom's columns": (16, 128, (0, 32, 16, 64)),
    "part of an atom's columns": (16, 128, (0, 64, 16, 32)),
    "rows within an atom": (16, 64, (4, 0, 8, 64)),
    "some of an atom's rows": (16, 64, (8, 0, 4, 64)),
    "a matrix that is not swizzled": (12, 128, (0, 64, 8, 64)),
    "rows too narrow for a swizzle": (16, 24, (0, 8, 16, 16)),
}


@pytest.mark.parametrize("name", BY_THREADS)
def test_threads_store_other_parts(name: str) -> None:
    rows, columns, part = BY_THREADS[name]
    module, remarks = lowered(of_part(rows, columns, part))
    assert "nv.tma_store %" not in print_module(module)
    assert any("it copies part of a buffer in shared memory" in each for each in remarks)
    check_part(module, (rows, columns), part)


IN_PARTS = {"roles": (by_roles, (16, 256)), "a loop": (again_and_again, (64, 128))}


@pytest.mark.parametrize("name", IN_PARTS)
def test_parts_are_stored_one_by_one(name: str) -> None:
    make, shape = IN_PARTS[name]
    module, _ = lowered(make())
    assert print_module(module).count("nv.tma_store %") >= 2
    given, out = outcome(module, shape)
    np.testing.assert_array_equal(out, given * 2)


@pytest.mark.parametrize("name", IN_PARTS)
@pytest.mark.parametrize("erased", ["nv.tma_store.wait", "nv.fence_proxy_async", "barrier"])
def test_an_erased_synchronisation_is_found(name: str, erased: str) -> None:
    make, shape = IN_PARTS[name]
    module, _ = lowered(make())
    names = ("gpu.barrier", "nv.bar") if erased == "barrier" else (erased,)
    found = [op for op in walk(module) if op.name in names]
    assert found
    for op in found:
        erase(*names)(op)
    with pytest.raises(SimtFault):
        outcome(module, shape)


def test_the_text_compiles() -> None:
    for make, _ in IN_PARTS.values():
        text = compile_source(source_of(lowered(make())[0]), "sm_90a").ptx
        assert "cp.async.bulk.tensor.2d.global.shared" in text
