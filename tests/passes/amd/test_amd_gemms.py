"""GEMMs by matrix cores of AMD GPUs: every type, operands of every layout, exact results.

Values are small whole numbers, so that no order of adding up can hide a wrong element.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import as_tuple, fresh, load
from tests.passes.amd.amd_support import amd_pipeline
from tests.passes.amd.lds_reads import recorded
from tests.targets.numpy.simt.simt_support import example_results, lowered
from tests.targets.numpy.simt.test_mma import DTYPES, product
from tilewright import T
from tilewright.dialects.amd.ops import MatrixCoreOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

TYPES: dict[str, Any] = {
    **DTYPES,
    "uint8": np.uint8,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
ARCHS = tuple(CHIPS)


def slow(*values: str) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def instructions(module: ModuleOp) -> set[str]:
    """``f16 16x16x16`` and the like."""
    return {
        f"{element_type_of(op.a.type)} {'x'.join(map(str, op.mnk))}"
        for op in walk(module)
        if isinstance(op, MatrixCoreOp)
    }


def run(
    arch: str,
    m: int,
    n: int,
    k: int,
    block_k: int,
    dtype: str,
    trans: tuple[bool, bool],
    seed: int = 0,
) -> tuple[set[str], Any]:
    """Multiply and compare; the instructions that did it, and what they read from LDS."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype == "uint8" else -3
    a = rng.integers(low, 4, (m, k)).astype(TYPES[dtype])
    b = rng.integers(low, 4, (k, n)).astype(TYPES[dtype])
    if dtype == "uint8":
        a[0, :], b[:, 0] = 200, 255
    c = np.full((m, n), 99, np.int32 if "int" in dtype else np.float32)
    module = lowered(product(m, n, k, block_k, dtype, *trans).module, amd_pipeline(arch))  # type: ignore[arg-type]
    given = [np.ascontiguousarray(x.T if t else x) for x, t in zip((a, b), trans, strict=True)]
    buffers = [Buffer(name, array) for name, array in zip("ABC", (*given, c), strict=True)]
    with recorded(CHIPS[arch]) as reads:
        compile_simt(module).launch(buffers, SimtOptions())
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))
    return instructions(module), reads


def side(arch: str, wide: int = 32) -> int:
    """Rows of the instruction that is chosen for a tile of whole 32 x 32."""
    return 16 if CHIPS[arch].wave == 32 else wide


@pytest.mark.parametrize(
    ("arch", "trans"),
    [
        ("gfx90a", (True, True)),
        ("gfx942", (False, False)),
        ("gfx950", (True, False)),
        ("gfx1100", (False, True)),
        ("gfx1201", (False, False)),
    ],
)
def test_halves(arch: str, trans: tuple[bool, bool]) -> None:
    found, reads = run(arch, 64, 64, 64, 32, "float16", trans)
    depth = {"gfx950": 16, "gfx1100": 16, "gfx1201": 16}.get(arch, 8)
    assert found == {f"f16 {side(arch)}x{side(arch)}x{depth}"}
    assert set(reads.widths) == {16}
    assert reads.conflicts.total() == 0


@pytest.mark.parametrize(
    ("dtype", "arch", "instruction"),
    [
        ("bfloat16", "gfx90a", "bf16 16x16x16"),
        ("float32", "gfx942", "f32 16x16x4"),
        ("uint8", "gfx1100", "i8 16x16x16"),
        ("float8_e5m2", "gfx1201", "f8E5M2 16x16x16"),
        ("float8_e5m2fnuz", "gfx942", "f8E5M2FNUZ 16x16x32"),
        slow("bfloat16", "gfx1201", "bf16 16x16x16"),
        slow("int8", "gfx90a", "i8 16x16x16"),
        slow("int8", "gfx942", "i8 16x16x32"),
        slow("int8", "gfx950", "i8 16x16x64"),
        slow("uint8", "gfx1201", "i8 16x16x16"),
        slow("float8_e4m3fn", "gfx950", "f8E4M3FN 16x16x32"),
    ],
)
def test_other_types(dtype: str, arch: str, instruction: str) -> None:
    found, reads = run(arch, 32, 96, 128, 64, dtype, (True, False))
    assert found == {instruction}
    assert set(reads.widths) == {16}
    assert reads.conflicts.total() == 0


def test_deep_tiles_of_eighths_use_the_deep_instruction() -> None:
    found, _ = run("gfx950", 64, 64, 128, 128, "float8_e4m3fn", (False, True))
    assert found == {"f8E4M3FN 32x32x64"}


@pytest.mark.parametrize("arch", ["gfx942", slow("gfx90a"), slow("gfx1100")])
def test_eighths_of_another_format_are_multiplied_as_halves(arch: str) -> None:
    found, _ = run(arch, 64, 64, 64, 32, "float8_e4m3fn", (False, False))
    assert {each.split()[0] for each in found} == {"f16"}


@pytest.mark.parametrize(("dtype", "arch"), [("uint8", "gfx942"), slow("float32", "gfx1100")])
def test_types_without_instruction_are_multiplied_in_loops(dtype: str, arch: str) -> None:
    found, _ = run(arch, 32, 32, 32, 32, dtype, (False, True))
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8"])
def test_random_shapes(dtype: str, arch: str) -> None:
    rng = np.random.default_rng(7)
    longest = 32 if dtype == "float32" else 96  # two tiles of 192 rows fit into shared memory
    for seed in range(8):
        m, n = (int(each) for each in rng.choice([32, 48, 64, 96, 128, 192], 2))
        block_k = int(rng.choice([each for each in (16, 32, 64, 96) if each <= longest]))
        depth = int(rng.integers(block_k, 3 * block_k))
        trans = bool(rng.integers(2)), bool(rng.integers(2))
        found, reads = run(arch, m, n, depth, block_k, dtype, trans, seed)
        if found:
            assert reads.conflicts.total() == 0, (m, n, block_k, trans)


@pytest.mark.parametrize("arch", ["gfx942", slow("gfx950"), slow("gfx1100"), slow("gfx1201")])
def test_attention_reads_operands_without_bank_conflicts(arch: str) -> None:
    example = load("attention")
    with recorded(CHIPS[arch]) as reads:
        found = example_results(example, amd_pipeline(arch))  # type: ignore[arg-type]
    _, expected = fresh(example).example(np.random.default_rng(0))
    for got, want in zip(found, as_tuple(expected), strict=True):
        wide = np.asarray(want, np.float64)
        assert np.allclose(np.asarray(got, np.float64), wide, rtol=1e-2, atol=1e-2)
    assert set(reads.widths) == {16}
    assert reads.conflicts.total() == 0


def test_conflicts_are_seen() -> None:
    """Rows of 128 bytes as they are: sixteen rows are in the same banks."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.annotate_layout({A_shared: T.Layout((64, 64), lambda i, j: i * 64 + j)})
            T.copy(A, A_shared)
            T.gemm(A_shared, A_shared, C_local, transpose_B=True, clear_accum=True)
            T.copy(C_local, C)

    a = np.random.default_rng(0).integers(-3, 4, (64, 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    module = lowered(kernel.module, amd_pipeline("gfx942"))  # type: ignore[arg-type]
    with recorded(CHIPS["gfx942"]) as reads:
        compile_simt(module).launch([Buffer("A", a), Buffer("C", c)], SimtOptions())
    np.testing.assert_array_equal(c, a.astype(np.int64) @ a.astype(np.int64).T)
    assert reads.conflicts.total() > 0


@pytest.mark.parametrize("arch", ["gfx950", slow("gfx942"), slow("gfx1100"), slow("gfx1201")])
def test_operands_that_are_read_along_both_dimensions_are_stored_twice(arch: str) -> None:
    """A @ A.T @ A, its rows and its columns along K."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 96), "float16"),
        C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((64, 96), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 96), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            C_half = T.alloc_fragment((64, 64), "float16")
            D_local = T.alloc_fragment((64, 96), "float32")
            T.copy(A, A_shared)
            T.gemm(A_shared, A_shared, C_local, transpose_B=True, clear_accum=True)
            T.copy(C_local, C_half)
            T.gemm(C_half, A_shared, D_local, clear_accum=True)
            T.copy(C_local, C)
            T.copy(D_local, D)

    a = np.random.default_rng(0).integers(-1, 2, (64, 96)).astype(np.float16)
    c, d = np.zeros((64, 64), np.float32), np.zeros((64, 96), np.float32)
    module = lowered(kernel.module, amd_pipeline(arch))  # type: ignore[arg-type]
    with recorded(CHIPS[arch]) as reads:
        buffers = [Buffer("A", a), Buffer("C", c), Buffer("D", d)]
        compile_simt(module).launch(buffers, SimtOptions())
    whole = a.astype(np.int64)
    np.testing.assert_array_equal(c, whole @ whole.T)
    np.testing.assert_array_equal(d, whole @ whole.T @ whole)
    assert set(reads.widths) == {16}
    assert reads.conflicts.total() == 0


@pytest.mark.parametrize("begin", [0, 8])
def test_parts_of_buffers(begin: int) -> None:
    """Reads are wide only if parts are known to begin at a multiple of what a wave reads."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 80), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.fill(A_shared, 0)
            T.copy(A, A_shared[:, begin : begin + 64])
            T.clear(C_local)
            for step in T.serial(2):
                at = begin + step * 32
                T.gemm(
                    A_shared[:, at : at + 32], A_shared[:, at : at + 32], C_local, transpose_B=True
                )
            T.copy(C_local, C)

    a = np.random.default_rng(0).integers(-3, 4, (64, 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    module = lowered(kernel.module, amd_pipeline("gfx942"))  # type: ignore[arg-type]
    with recorded(CHIPS["gfx942"]) as reads:
        compile_simt(module).launch([Buffer("A", a), Buffer("C", c)], SimtOptions())
    np.testing.assert_array_equal(c, a.astype(np.int64) @ a.astype(np.int64).T)
    assert set(reads.widths) == {2 if begin else 16}
