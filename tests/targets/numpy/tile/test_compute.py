"""GEMMs, reductions and scans against NumPy in double precision."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import DTYPES, block, random, run
from tilewright.targets.numpy.tile import TileFault


def _gemm(
    dtype: str,
    result: str,
    marks: str = "",
    m: int = 24,
    n: int = 20,
    k: int = 16,
    unsigned: str = "",
) -> str:
    a = f"{k}x{m}" if "transpose_a" in marks else f"{m}x{k}"
    b = f"{n}x{k}" if "transpose_b" in marks else f"{k}x{n}"
    attributes = f" {{{marks}}}" if marks else ""
    dt = f'{{dtype = "{unsigned}"}}' if unsigned else ""
    arg = f'{{tile.dtype = "{unsigned}"}}' if unsigned else ""
    return block(
        f"%A: memref<{a}x{dtype}, #global> {arg}, %B: memref<{b}x{dtype}, #global> {arg}, "
        f"%C: memref<{m}x{n}x{result}, #global>",
        f"""
    %As = tile.alloc "As" {dt} : memref<{a}x{dtype}, #shared>
    %Bs = tile.alloc "Bs" {dt} : memref<{b}x{dtype}, #shared>
    %Cl = tile.alloc "Cl" : memref<{m}x{n}x{result}, #fragment>
    tile.copy %A -> %As : memref<{a}x{dtype}, #global> -> memref<{a}x{dtype}, #shared>
    tile.copy %B -> %Bs : memref<{b}x{dtype}, #global> -> memref<{b}x{dtype}, #shared>
    tile.copy %C -> %Cl : memref<{m}x{n}x{result}, #global> -> memref<{m}x{n}x{result}, #fragment>
    tile.gemm %As, %Bs -> %Cl{attributes} : memref<{a}x{dtype}, #shared>, memref<{b}x{dtype}, #shared> -> memref<{m}x{n}x{result}, #fragment>
    tile.copy %Cl -> %C : memref<{m}x{n}x{result}, #fragment> -> memref<{m}x{n}x{result}, #global>
""",
    )


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "f32"),
        ("f64", "f64"),
        ("f8E4M3FN", "f32"),
        ("f8E5M2", "f32"),
        ("f16", "f16"),
        ("i8", "i32"),
        ("i16", "i32"),
    ],
)
@pytest.mark.parametrize(
    "marks", ["", "transpose_a", "transpose_b", "transpose_a, transpose_b", "clear"]
)
def test_gemm(dtype: str, result: str, marks: str) -> None:
    m, n, k = 24, 20, 16
    a = random((k, m) if "transpose_a" in marks else (m, k), dtype, 1)
    b = random((n, k) if "transpose_b" in marks else (k, n), dtype, 2)
    c = random((m, n), result, 3)
    left = a.astype(np.float64).T if "transpose_a" in marks else a.astype(np.float64)
    right = b.astype(np.float64).T if "transpose_b" in marks else b.astype(np.float64)
    start = 0 if marks == "clear" else c.astype(np.float64)
    expected = (start + left @ right).astype(DTYPES[result])
    run(_gemm(dtype, result, marks), a, b, c)
    # Operands are small multiples of 1/8, so sums are exact.
    assert np.array_equal(c.astype(np.float64), expected.astype(np.float64))


def test_gemm_of_unsigned_bytes() -> None:
    a = np.full((24, 16), 200, np.uint8)
    b = np.full((16, 20), 255, np.uint8)
    c = np.zeros((24, 20), np.int32)
    run(_gemm("i8", "i32", unsigned="uint8"), a, b, c)
    assert (c == 200 * 255 * 16).all()


def test_gemm_wraps_around_in_32_bits() -> None:
    a = np.full((24, 16), 2**15 - 1, np.int16)
    b = np.full((16, 20), 2**15 - 1, np.int16)
    c = np.zeros((24, 20), np.int32)
    run(_gemm("i16", "i32"), a, b, c)
    assert (c == np.int64((2**15 - 1) ** 2 * 16).astype(np.int32)).all()


VERSIONS = """
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %As = tile.alloc "As" : memref<3x32x48xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<3x48x40xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x40xf32, #fragment>
    tile.fill %Cl, %zero : memref<32x40xf32, #fragment>, f32
    %a = tile.region %As[VERSION, 0, 0] [1, 32, 48] : memref<3x32x48xf16, #shared> to !tile.region<1x32x48xf16, #shared>
    %b = tile.region %Bs[VERSION, 0, 0] [1, 48, 40] : memref<3x48x40xf16, #shared> to !tile.region<1x48x40xf16, #shared>
    tile.copy %A -> %a : memref<32x48xf16, #global> -> !tile.region<1x32x48xf16, #shared>
    tile.copy %B -> %b : memref<48x40xf16, #global> -> !tile.region<1x48x40xf16, #shared>
    tile.gemm %a, %b -> %Cl : !tile.region<1x32x48xf16, #shared>, !tile.region<1x48x40xf16, #shared> -> memref<32x40xf32, #fragment>
    tile.gemm %a, %b -> %Cl : !tile.region<1x32x48xf16, #shared>, !tile.region<1x48x40xf16, #shared> -> memref<32x40xf32, #fragment>
    tile.copy %Cl -> %C : memref<32x40xf32, #fragment> -> memref<32x40xf32, #global>
"""
PLAIN = """
    %zero = arith.constant 0.0 : f32
    %As = tile.alloc "As" : memref<32x48xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<48x40xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x40xf32, #fragment>
    tile.fill %Cl, %zero : memref<32x40xf32, #fragment>, f32
    tile.copy %A -> %As : memref<32x48xf16, #global> -> memref<32x48xf16, #shared>
    tile.copy %B -> %Bs : memref<48x40xf16, #global> -> memref<48x40xf16, #shared>
    tile.gemm %As, %Bs -> %Cl : memref<32x48xf16, #shared>, memref<48x40xf16, #shared> -> memref<32x40xf32, #fragment>
    tile.gemm %As, %Bs -> %Cl : memref<32x48xf16, #shared>, memref<48x40xf16, #shared> -> memref<32x40xf32, #fragment>
    tile.copy %Cl -> %C : memref<32x40xf32, #fragment> -> memref<32x40xf32, #global>
"""
GEMM_ARGUMENTS = (
    "%A: memref<32x48xf16, #global>, %B: memref<48x40xf16, #global>, %C: memref<32x40xf32, #global>"
)


def test_versions_of_a_buffer_give_the_same_bits() -> None:
    draw = np.random.default_rng(0)
    a = draw.standard_normal((32, 48)).astype(np.float16)
    b = draw.standard_normal((48, 40)).astype(np.float16)
    results: list[Any] = []
    for body in (PLAIN, *(VERSIONS.replace("VERSION", str(v)) for v in range(3))):
        c = np.zeros((32, 40), np.float32)
        run(block(GEMM_ARGUMENTS, body), a, b, c)
        results.append(c)
    assert all(np.array_equal(results[0].view(np.uint32), r.view(np.uint32)) for r in results[1:])
    exact = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    assert np.abs(results[0] - exact).max() < 1e-4


def test_clear_if() -> None:
    text = block(
        "%A: memref<4x8xf32, #global>, %B: memref<8x4xf32, #global>, %C: memref<4x4xf32, #global>, %first: i32",
        """
    %z = arith.constant 0 : i32
    %c = arith.cmpi eq, %first, %z : i32
    %As = tile.alloc "As" : memref<4x8xf32, #shared>
    %Bs = tile.alloc "Bs" : memref<8x4xf32, #shared>
    %Cl = tile.alloc "Cl" : memref<4x4xf32, #fragment>
    tile.copy %A -> %As : memref<4x8xf32, #global> -> memref<4x8xf32, #shared>
    tile.copy %B -> %Bs : memref<8x4xf32, #global> -> memref<8x4xf32, #shared>
    tile.copy %C -> %Cl : memref<4x4xf32, #global> -> memref<4x4xf32, #fragment>
    tile.gemm %As, %Bs -> %Cl clear_if %c : memref<4x8xf32, #shared>, memref<8x4xf32, #shared> -> memref<4x4xf32, #fragment>
    tile.copy %Cl -> %C : memref<4x4xf32, #fragment> -> memref<4x4xf32, #global>
""",
    )
    a, b = random((4, 8), "f32", 1), random((8, 4), "f32", 2)
    c = np.ones((4, 4), np.float32)
    run(text, a, b, c, 0)
    assert np.array_equal(c, a @ b)
    run(text, a, b, c, 1)
    assert np.array_equal(c, 2 * (a @ b))


def test_accumulator_without_a_start() -> None:
    body = PLAIN.replace("    tile.fill %Cl, %zero : memref<32x40xf32, #fragment>, f32\n", "")
    with pytest.raises(TileFault) as caught:
        run(block(GEMM_ARGUMENTS, body), *(np.zeros(s, d) for s, d in (((32, 48), "f2"), ((48, 40), "f2"), ((32, 40), "f4"))))  # fmt: skip
    assert caught.value.kind == "uninitialised"
    assert "read of uninitialised Cl[0, 0]" in str(caught.value)
    assert "T.clear(Cl) first, or pass clear_accum=True" in str(caught.value)


# Reductions.


def _reduce(
    kind: str, dtype: str, dim: int, shape: tuple[int, int], target: str = "", rest: str = ""
) -> str:
    target = target or dtype
    left = shape[1 - dim]
    full = f"{shape[0]}x{shape[1]}"
    return block(
        f"%A: memref<{full}x{dtype}, #global>, %B: memref<{left}x{target}, #global>",
        f"""
    %x = tile.alloc "x" : memref<{full}x{dtype}, #fragment>
    %y = tile.alloc "y" : memref<{left}x{target}, #fragment>
    tile.copy %A -> %x : memref<{full}x{dtype}, #global> -> memref<{full}x{dtype}, #fragment>
    tile.copy %B -> %y : memref<{left}x{target}, #global> -> memref<{left}x{target}, #fragment>
    tile.reduce {kind} %x -> %y dim {dim} {rest} : memref<{full}x{dtype}, #fragment> -> memref<{left}x{target}, #fragment>
    tile.copy %y -> %B : memref<{left}x{target}, #fragment> -> memref<{left}x{target}, #global>
""",
    )


_REFERENCES: dict[str, Any] = {
    "sum": lambda x, axis: x.sum(axis),
    "max": lambda x, axis: x.max(axis),
    "min": lambda x, axis: x.min(axis),
    "abssum": lambda x, axis: np.abs(x).sum(axis),
    "absmax": lambda x, axis: np.abs(x).max(axis),
    "bitand": lambda x, axis: np.bitwise_and.reduce(x, axis),
    "bitor": lambda x, axis: np.bitwise_or.reduce(x, axis),
    "bitxor": lambda x, axis: np.bitwise_xor.reduce(x, axis),
}


@pytest.mark.parametrize("kind", sorted(_REFERENCES))
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i32"])
def test_reduce(kind: str, dim: int, dtype: str) -> None:
    if kind.startswith("bit") and not dtype.startswith("i"):
        return
    a = random((7, 33), dtype, 4)
    b = random((33 if dim == 0 else 7,), dtype, 5)
    start = b.copy()
    wide = a.astype(np.int64 if dtype == "i32" else np.float64)
    expected = _REFERENCES[kind](wide, dim)
    run(_reduce(kind, dtype, dim, (7, 33)), a, b)
    assert np.array_equal(b.astype(np.float64), expected.astype(DTYPES[dtype]).astype(np.float64))
    if dtype == "bf16":
        return  # sums of both would not be exact
    b[:] = start
    run(_reduce(kind, dtype, dim, (7, 33), rest="accumulate"), a, b)
    pair = np.stack([expected, start.astype(wide.dtype)])
    combined = _REFERENCES[kind.removeprefix("abs")](pair, 0)
    assert np.array_equal(b.astype(np.float64), combined.astype(DTYPES[dtype]).astype(np.float64))


def test_reduce_in_a_wider_type() -> None:
    a = np.full((4, 2049), 1, np.float16)
    b = np.zeros(4, np.float32)
    run(_reduce("sum", "f16", 1, (4, 2049), "f32"), a, b)
    assert (b == 2049).all()  # not a number of f16


def test_maxima_and_nan() -> None:
    a = np.array([[1, np.nan, 3], [np.nan, np.nan, np.nan]], np.float32)
    b = np.zeros(2, np.float32)
    run(_reduce("max", "f32", 1, (2, 3)), a, b)
    assert b[0] == 3 and np.isnan(b[1])
    run(_reduce("max", "f32", 1, (2, 3), rest="{nan_propagate}"), a, b)
    assert np.isnan(b).all()


def test_reductions_do_not_depend_on_the_offset_of_the_tile() -> None:
    draw = np.random.default_rng(1)
    a = draw.standard_normal((16, 128)).astype(np.float32)
    results: list[Any] = []
    for version in (0, 1):
        body = f"""
    %x = tile.alloc "x" : memref<2x16x128xf32, #shared>
    %y = tile.alloc "y" : memref<16xf32, #fragment>
    %r = tile.region %x[{version}, 0, 0] [1, 16, 128] : memref<2x16x128xf32, #shared> to !tile.region<1x16x128xf32, #shared>
    tile.copy %A -> %r : memref<16x128xf32, #global> -> !tile.region<1x16x128xf32, #shared>
    tile.reduce sum %r -> %y dim 2 : !tile.region<1x16x128xf32, #shared> -> memref<16xf32, #fragment>
    tile.copy %y -> %B : memref<16xf32, #fragment> -> memref<16xf32, #global>
"""
        b = np.zeros(16, np.float32)
        run(block("%A: memref<16x128xf32, #global>, %B: memref<16xf32, #global>", body), a, b)
        results.append(b)
    plain = np.zeros(16, np.float32)
    run(_reduce("sum", "f32", 1, (16, 128)), a, plain)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], plain)
    assert np.allclose(plain, a.astype(np.float64).sum(1), atol=1e-5)


@pytest.mark.parametrize("kind", ["sum", "max"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
def test_scan(kind: str, dim: int, reverse: bool, dtype: str) -> None:
    mark = "reverse" if reverse else ""
    text = block(
        f"%A: memref<5x9x{dtype}, #global>, %B: memref<5x9x{dtype}, #global>",
        f"""
    %x = tile.alloc "x" : memref<5x9x{dtype}, #shared>
    tile.copy %A -> %x : memref<5x9x{dtype}, #global> -> memref<5x9x{dtype}, #shared>
    tile.scan {kind} %x -> %x dim {dim} {mark} : memref<5x9x{dtype}, #shared> -> memref<5x9x{dtype}, #shared>
    tile.copy %x -> %B : memref<5x9x{dtype}, #shared> -> memref<5x9x{dtype}, #global>
""",
    )
    a, b = random((5, 9), dtype, 6), np.zeros((5, 9), DTYPES[dtype])
    run(text, a, b)
    wide = np.flip(a, dim) if reverse else a
    ufunc = np.add if kind == "sum" else np.maximum
    expected = ufunc.accumulate(wide, axis=dim, dtype=a.dtype)
    assert np.array_equal(b, np.flip(expected, dim) if reverse else expected)


def test_reductions_of_small_floats_add_adjacent_elements_first() -> None:
    a = np.full((1, 300), 1, ml_dtypes.bfloat16)
    b = np.zeros(1, ml_dtypes.bfloat16)
    run(_reduce("sum", "bf16", 1, (1, 300)), a, b)
    assert float(b[0]) == 300  # a sequential sum would stop at 256, whose successor is 258
