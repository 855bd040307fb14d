"""Ops that rearrange elements, on full blocks and on blocks that do not change along some axis."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.kernels import on_blocks, tensor_type

RNG = np.random.default_rng(0)


def block(*shape: int, dtype=np.float32) -> np.ndarray:
    return RNG.integers(-99, 99, (5, *shape)).astype(dtype)


def test_transposition() -> None:
    a, r = block(4, 2, 8), np.zeros((5, 8, 4, 2), np.float32)
    ops = f"%r = tt.trans %a {{order = array<i32: 2, 0, 1>}} : {tensor_type(a)} -> {tensor_type(r)}"
    np.testing.assert_array_equal(on_blocks(ops, r, a), a.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("reorder", ["", " allow_reorder"])
def test_reshape_keeps_row_major_order(reorder: str) -> None:
    a, r = block(8, 4), np.zeros((5, 2, 16), np.float32)
    ops = f"%r = tt.reshape %a{reorder} : {tensor_type(a)} -> {tensor_type(r)}"
    np.testing.assert_array_equal(on_blocks(ops, r, a), a.reshape(5, 2, 16))


def test_reshape_of_what_is_broadcast() -> None:
    a, r = block(8), np.zeros((5, 32), np.float32)
    ops = """%e = tt.expand_dims %a {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
%w = tt.broadcast %e : tensor<8x1xf32> -> tensor<8x4xf32>
%r = tt.reshape %w : tensor<8x4xf32> -> tensor<32xf32>"""
    np.testing.assert_array_equal(on_blocks(ops, r, a), np.repeat(a, 4, axis=1))


def test_reshape_adds_and_drops_axes_of_one_element() -> None:
    a, r = block(8), np.zeros((5, 1, 8, 1, 4), np.float32)
    ops = """%e = tt.expand_dims %a {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
%w = tt.broadcast %e : tensor<8x1xf32> -> tensor<8x4xf32>
%r = tt.reshape %w : tensor<8x4xf32> -> tensor<1x8x1x4xf32>"""
    expected = np.broadcast_to(a[:, None, :, None, None], r.shape)
    np.testing.assert_array_equal(on_blocks(ops, r, a), expected)


def test_outer_sum_of_broadcasts() -> None:
    a, b, r = block(8), block(4), np.zeros((5, 8, 4), np.float32)
    ops = """%x = tt.expand_dims %a {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
%y = tt.expand_dims %b {axis = 0 : i32} : tensor<4xf32> -> tensor<1x4xf32>
%xw = tt.broadcast %x : tensor<8x1xf32> -> tensor<8x4xf32>
%yw = tt.broadcast %y : tensor<1x4xf32> -> tensor<8x4xf32>
%r = arith.subf %xw, %yw : tensor<8x4xf32>"""
    np.testing.assert_array_equal(on_blocks(ops, r, a, b), a[:, :, None] - b[:, None, :])


def test_join_and_split() -> None:
    a, b, r = block(4, 2), block(4, 2), np.zeros((5, 4, 2, 2), np.float32)
    joined = f"tt.join %a, %b : {tensor_type(a)} -> {tensor_type(r)}"
    found = on_blocks(f"%r = {joined}", r, a, b)
    np.testing.assert_array_equal(found, np.stack([a, b], axis=-1))
    for index, name in enumerate(("%r, %u", "%u, %r")):
        ops = f"%j = {joined}\n{name} = tt.split %j : {tensor_type(r)} -> {tensor_type(a)}"
        np.testing.assert_array_equal(on_blocks(ops, np.zeros_like(a), a, b), (a, b)[index])


def test_split_along_which_nothing_changes() -> None:
    a = block(8)
    ops = """%e = tt.expand_dims %a {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
%w = tt.broadcast %e : tensor<8x1xf32> -> tensor<8x2xf32>
%x, %y = tt.split %w : tensor<8x2xf32> -> tensor<8xf32>
%r = arith.addf %x, %y : tensor<8xf32>"""
    np.testing.assert_array_equal(on_blocks(ops, np.zeros_like(a), a), a + a)


def test_cat() -> None:
    a, b, r = block(8), block(8), np.zeros((5, 16), np.float32)
    ops = "%r = tt.cat %a, %b : tensor<8xf32> -> tensor<16xf32>"
    np.testing.assert_array_equal(on_blocks(ops, r, a, b), np.concatenate([a, b], axis=1))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis: int) -> None:
    a = block(8, 4)
    indices = RNG.integers(0, a.shape[axis + 1], (5, 8, 4)).astype(np.int32)
    ops = (
        f"%r = tt.gather %a[%b] {{axis = {axis} : i32}} : "
        f"({tensor_type(a)}, {tensor_type(indices)}) -> {tensor_type(a)}"
    )
    found = on_blocks(ops, np.zeros_like(a), a, indices)
    np.testing.assert_array_equal(found, np.take_along_axis(a, indices, axis + 1))


def test_gather_from_a_smaller_block() -> None:
    a = block(4)
    indices = RNG.integers(0, 4, (5, 16)).astype(np.int64)
    ops = (
        "%r = tt.gather %a[%b] {axis = 0 : i32} : (tensor<4xf32>, tensor<16xi64>) -> tensor<16xf32>"
    )
    found = on_blocks(ops, np.zeros((5, 16), np.float32), a, indices)
    np.testing.assert_array_equal(found, np.take_along_axis(a, indices, 1))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_histogram(dtype) -> None:
    a = RNG.integers(-2, 20, (5, 64)).astype(dtype)
    name = "i32" if dtype is np.int32 else "i64"
    r = np.zeros((5, 16), np.int32)
    found = on_blocks(f"%r = tt.histogram %a : tensor<64x{name}> -> tensor<16xi32>", r, a)
    expected = [[int((row == value).sum()) for value in range(16)] for row in a]
    assert found.tolist() == expected


def test_histogram_of_some_lanes() -> None:
    a = RNG.integers(0, 16, (5, 64)).astype(np.int32)
    ops = """%seven = arith.constant dense<7> : tensor<64xi32>
%low = arith.cmpi slt, %a, %seven : tensor<64xi32>
%r = tt.histogram %a, %low : tensor<64xi32> -> tensor<16xi32>"""
    found = on_blocks(ops, np.zeros((5, 16), np.int32), a)
    expected = [[int((row == value).sum()) if value < 7 else 0 for value in range(16)] for row in a]
    assert found.tolist() == expected


def test_unsplat() -> None:
    a = block(1)
    found = on_blocks("%r = tt.unsplat %a : tensor<1xf32>", np.zeros(5, np.float32), a)
    np.testing.assert_array_equal(found, a[:, 0])


def test_an_element_that_all_programs_share() -> None:
    ops = """%c = arith.constant dense<[3, 1, 4, 1]> : tensor<4xi32>
%e = tt.expand_dims %c {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
%w = tt.broadcast %e : tensor<1x4xi32> -> tensor<2x4xi32>
%r = arith.addi %w, %a : tensor<2x4xi32>"""
    a = block(2, 4, dtype=np.int32)
    np.testing.assert_array_equal(on_blocks(ops, np.zeros_like(a), a), a + np.array([3, 1, 4, 1]))
