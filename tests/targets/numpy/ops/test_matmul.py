"""`tt.dot` against double precision."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.kernels import DTYPES, on_blocks, tensor_type
from tilewright.targets.numpy.support import dot as support

RNG = np.random.default_rng(2)


def dot(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> str:
    return f"%r = tt.dot %a, %b, %c : {tensor_type(a)} * {tensor_type(b)} -> {tensor_type(c)}"


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2"])
def test_float_dots(type: str) -> None:
    dtype = DTYPES[type]
    a = RNG.standard_normal((5, 16, 32)).astype(dtype)
    b = RNG.standard_normal((5, 32, 64)).astype(dtype)
    c = RNG.standard_normal((5, 16, 64)).astype(np.float64 if type == "f64" else np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    found = on_blocks(dot(a, b, c), c, a, b, c)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) + np.abs(c)
    assert (np.abs(found - expected) <= 32 * np.finfo(c.dtype).eps * size).all()


def test_an_accumulator_of_half_precision_is_rounded_once() -> None:
    a, b = (RNG.integers(-4, 5, (3, 16, 16)).astype(np.float16) for _ in range(2))
    c = RNG.standard_normal((3, 16, 16)).astype(np.float16)
    exact = a.astype(np.float32) @ b.astype(np.float32) + c.astype(np.float32)
    np.testing.assert_array_equal(on_blocks(dot(a, b, c), c, a, b, c), exact.astype(np.float16))


@pytest.mark.parametrize("k", [16, 512, 2048])
def test_integer_dots_are_exact(k: int) -> None:
    a = RNG.integers(-128, 128, (3, 16, k)).astype(np.int8)
    b = RNG.integers(-128, 128, (3, k, 16)).astype(np.int8)
    a[0, 0], b[0, :, 0] = -128, -128  # the greatest magnitude
    c = RNG.integers(-(2**31), 2**31, (3, 16, 16)).astype(np.int32)
    expected = (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32)
    np.testing.assert_array_equal(on_blocks(dot(a, b, c), c, a, b, c), expected)


def test_dots_of_stacks() -> None:
    a, b = (RNG.integers(-9, 9, (3, 4, 16, 16)).astype(np.float32) for _ in range(2))
    c = np.zeros((3, 4, 16, 16), np.float32)
    np.testing.assert_array_equal(on_blocks(dot(a, b, c), c, a, b, c), a @ b)


def test_operands_that_are_broadcast() -> None:
    """A row for all rows, a transposed factor, and zero for an accumulator."""
    a = RNG.integers(-9, 9, (3, 32)).astype(np.float32)
    b = RNG.integers(-9, 9, (3, 16, 32)).astype(np.float32)
    ops = """%e = tt.expand_dims %a {axis = 0 : i32} : tensor<32xf32> -> tensor<1x32xf32>
%w = tt.broadcast %e : tensor<1x32xf32> -> tensor<16x32xf32>
%t = tt.trans %b {order = array<i32: 1, 0>} : tensor<16x32xf32> -> tensor<32x16xf32>
%z = arith.constant dense<0.0> : tensor<16x16xf32>
%r = tt.dot %w, %t, %z : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>"""
    expected = np.broadcast_to((a[:, None] @ b.swapaxes(1, 2)), (3, 16, 16))
    np.testing.assert_array_equal(on_blocks(ops, np.zeros((3, 16, 16), np.float32), a, b), expected)


def scales(*shape: int) -> np.ndarray:
    return RNG.integers(120, 135, shape).astype(np.uint8).view(np.int8)


def powers(scale: np.ndarray, k: int) -> np.ndarray:
    values = np.exp2(scale.view(np.uint8).astype(np.float64) - 127)
    return np.repeat(values, k // scale.shape[-1], axis=-1)


FORMATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize(("left", "right"), [("e4m3", "e5m2"), ("e5m2", "e4m3")])
def test_scaled_dots(left: str, right: str) -> None:
    a = RNG.standard_normal((2, 16, 64)).astype(FORMATS[left])
    b = RNG.standard_normal((2, 64, 32)).astype(FORMATS[right])
    c = RNG.standard_normal((2, 16, 32)).astype(np.float32)
    sa, sb = scales(2, 16, 2), scales(2, 32, 2)
    ops = (
        f"%r = tt.dot_scaled %a scale %d, %b scale %e, %c lhs = {left} rhs = {right} "
        f"{{fastMath = false}} : {tensor_type(a)}, {tensor_type(sa)} * {tensor_type(b)}, "
        f"{tensor_type(sb)} -> {tensor_type(c)}"
    )
    x = a.astype(np.float64) * powers(sa, 64)
    y = b.astype(np.float64) * powers(sb, 64).swapaxes(1, 2)
    found = on_blocks(ops, c, a, b, c, sa, sb)
    np.testing.assert_allclose(found, x @ y + c, rtol=1e-4, atol=1e-3)


def test_scaled_dots_of_four_bits() -> None:
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    low, high = RNG.integers(0, 16, (2, 2, 16, 32))
    a = (low | (high << 4)).astype(np.uint8).view(np.int8)
    unpacked = np.stack([values[low], values[high]], axis=-1).reshape(2, 16, 64)
    b = RNG.standard_normal((2, 64, 16)).astype(ml_dtypes.bfloat16)
    c = np.zeros((2, 16, 16), np.float32)
    sa = scales(2, 16, 2)
    ops = (
        "%r = tt.dot_scaled %a scale %d, %b, %c lhs = e2m1 rhs = bf16 {fastMath = false} : "
        f"{tensor_type(a)}, {tensor_type(sa)} * {tensor_type(b)} -> {tensor_type(c)}"
    )
    found = on_blocks(ops, c, a, b, c, sa)
    expected = (unpacked * powers(sa, 64)) @ b.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_transposed_operands_give_the_same_bits(dtype: type) -> None:
    """A tile that is read transposed, and the tensor that was transposed before."""
    a, b = (RNG.standard_normal((32, 32)).astype(dtype) for _ in range(2))
    c = np.zeros((32, 32), np.float64 if dtype is np.float64 else np.float32)
    by_rows = support.dot(a, np.ascontiguousarray(b.T), c)
    for left, right in ((a, b.T), (np.asfortranarray(a), b.T), (a[None], b.T[None])):
        np.testing.assert_array_equal(support.dot(left, right, c).reshape(c.shape), by_rows)
