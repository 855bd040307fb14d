"""Reductions and scans: known ops, user-defined functions, and the order of combination."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.kernels import IR_NAMES, compiled, on_blocks, tensor_type

RNG = np.random.default_rng(1)


def reduction(source: np.ndarray, axis: int, body: str, result: np.ndarray, kind="reduce") -> str:
    """A reduction or scan of `%a` by `body`, which combines `%x` and `%y` into `%z`."""
    name = IR_NAMES[source.dtype]
    to = tensor_type(result) if result.ndim > 1 else name
    extra = ", reverse = REVERSE" if kind == "scan" else ""
    return f"""%r = "tt.{kind}"(%a) <{{axis = {axis} : i32{extra}}}> ({{
^bb0(%x: {name}, %y: {name}):
  {body}
  tt.{kind}.return %z : {name}
}}) : ({tensor_type(source)}) -> {to}"""


KNOWN = {
    "arith.addf": np.add,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum,
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


def sample(op: str, *shape: int) -> np.ndarray:
    if op.endswith("f"):
        return RNG.integers(-50, 50, shape).astype(np.float32)  # sums are exact
    return RNG.integers(-(2**31), 2**31, shape).astype(np.int32)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", KNOWN)
def test_reduction_by_one_op(op: str, axis: int) -> None:
    a = sample(op, 3, 16, 8)
    expected = KNOWN[op].reduce(a, axis=axis + 1, dtype=a.dtype)
    type = IR_NAMES[a.dtype]
    ops = reduction(a, axis, f"%z = {op} %x, %y : {type}", expected)
    np.testing.assert_array_equal(on_blocks(ops, expected, a), expected)


@pytest.mark.parametrize("op", KNOWN)
def test_reduction_to_a_scalar(op: str) -> None:
    a = sample(op, 3, 64)
    expected = KNOWN[op].reduce(a, axis=1, dtype=a.dtype)
    ops = reduction(a, 0, f"%z = {op} %x, %y : {IR_NAMES[a.dtype]}", expected)
    np.testing.assert_array_equal(on_blocks(ops, expected, a), expected)


@pytest.mark.parametrize("kind", ["reduce", "scan"])
@pytest.mark.parametrize("op", ["maxnumf", "minnumf", "maximumf", "minimumf"])
def test_zeros_have_an_order(op: str, kind: str) -> None:
    """-0.0 < +0.0, wherever they stand; NumPy returns either."""
    zeros = np.array([[-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0], [0.0, 0.0]], np.float32)
    a = np.repeat(zeros, 16, axis=1)  # enough for vectors
    is_positive = np.logical_or if op.startswith("max") else np.logical_and
    if kind == "reduce":
        expected = np.where(is_positive.reduce(~np.signbit(a), axis=1), 0.0, -0.0)
    else:
        expected = np.where(is_positive.accumulate(~np.signbit(a), axis=1), 0.0, -0.0)
    expected = expected.astype(np.float32)
    ops = reduction(a, 0, f"%z = arith.{op} %x, %y : f32", expected, kind)
    found = on_blocks(ops.replace("REVERSE", "false"), expected, a)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "op", ["arith.andi", "arith.ori", "arith.xori", "arith.addi", "arith.maxsi"]
)
def test_reduction_of_truth_values(op: str) -> None:
    a = RNG.random((3, 16)) < 0.9
    ufunc = {"andi": np.logical_and, "ori": np.logical_or, "maxsi": np.logical_and}
    expected = ufunc.get(op.partition(".")[2], np.logical_xor).reduce(a, axis=1)
    ops = reduction(a, 0, f"%z = {op} %x, %y : i1", expected)
    np.testing.assert_array_equal(on_blocks(ops, expected, a), expected)


def test_a_sum_over_what_does_not_change() -> None:
    a = RNG.integers(-9, 9, (3, 4)).astype(np.int32)
    wide = np.zeros((3, 4, 8), np.int32)
    expected = a * 8
    ops = """%e = tt.expand_dims %c {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
%a = tt.broadcast %e : tensor<4x1xi32> -> tensor<4x8xi32>
""" + reduction(wide, 1, "%z = arith.addi %x, %y : i32", expected)
    # `%c` is the third input so that `%a` is free for the broadcast.
    found = on_blocks(ops.replace("%a", "%w").replace("%c", "%a"), expected, a)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_additions_are_as_good_as_their_type(dtype) -> None:
    a = RNG.standard_normal((3, 4, 256)).astype(dtype)
    exact = a.astype(np.float64).sum(axis=2)
    size = np.abs(a).astype(np.float64).sum(axis=2)
    ops = reduction(a, 1, f"%z = arith.addf %x, %y : {IR_NAMES[a.dtype]}", exact.astype(dtype))
    found = on_blocks(ops, exact.astype(dtype), a).astype(np.float64)
    assert (np.abs(found - exact) <= size * np.finfo(dtype).eps).all()


def test_narrow_additions_round_at_every_step() -> None:
    # Adjacent elements first: (1 + 2^-11) rounds to 1, so the second half of every pair is lost.
    a = np.tile(np.array([1, 2**-11], np.float16), (2, 8))
    ops = reduction(a, 0, "%z = arith.addf %x, %y : f16", np.zeros(2, np.float16))
    assert on_blocks(ops, np.zeros(2, np.float16), a).tolist() == [8, 8]


def test_a_user_defined_function() -> None:
    """x + y + x * y is associative: (1 + x) * (1 + y) - 1."""
    a = RNG.uniform(-0.3, 0.3, (3, 4, 32))
    body = """%p = arith.mulf %x, %y : f64
  %s = arith.addf %x, %y : f64
  %z = arith.addf %s, %p : f64"""
    expected = np.prod(1 + a, axis=2) - 1
    found = on_blocks(reduction(a, 1, body, expected), expected, a)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_function_that_must_not_be_swapped() -> None:
    """The last element: associative, but not commutative."""
    a = RNG.integers(0, 99, (3, 16)).astype(np.int32)
    ops = reduction(a, 0, "%z = arith.maxsi %y, %y : i32", a[:, 0])
    np.testing.assert_array_equal(on_blocks(ops, a[:, 0], a), a[:, -1])


def test_control_flow_in_a_function_of_elements() -> None:
    a = RNG.integers(-9, 9, (3, 16)).astype(np.int32)
    body = """%c = arith.cmpi slt, %x, %y : i32
  %z = scf.if %c -> (i32) {
    %d = arith.muli %y, %y : i32
    %q = arith.divsi %d, %y : i32
    scf.yield %q : i32
  } else {
    scf.yield %x : i32
  }"""
    a[:, 0] = 5  # no zero is ever the greater one
    expected = a.max(axis=1)
    np.testing.assert_array_equal(on_blocks(reduction(a, 0, body, expected), expected, a), expected)


def test_captured_scalars_in_an_elementwise_function() -> None:
    a = RNG.integers(0, 9, (5, 16)).astype(np.int32)
    body = "%s = arith.addi %x, %y : i32\n  %z = arith.addi %s, %pid : i32"
    expected = a.sum(axis=1) + 15 * np.arange(5, dtype=np.int32)
    ops = reduction(a, 0, body, expected.astype(np.int32))
    np.testing.assert_array_equal(on_blocks(ops, expected.astype(np.int32), a), expected)


ARG = """%i = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
%v, %r = "tt.reduce"(%a, %i) <{axis = 0 : i32}> ({
^bb0(%v0: f32, %i0: i32, %v1: f32, %i1: i32):
  %eq = arith.cmpf oeq, %v0, %v1 : f32
  %lt = arith.cmpi slt, %i0, %i1 : i32
  %tie = arith.andi %eq, %lt : i1
  %gt = arith.cmpf PREDICATE, %v0, %v1 : f32
  %better = arith.ori %gt, %tie : i1
  %sv = arith.select %better, %v0, %v1 : f32
  %si = arith.select %better, %i0, %i1 : i32
  tt.reduce.return %sv, %si : f32, i32
}) : (tensor<16xf32>, tensor<16xi32>) -> (f32, i32)"""


@pytest.mark.parametrize(("predicate", "function"), [("ogt", np.argmax), ("olt", np.argmin)])
def test_the_index_of_the_extreme(predicate: str, function) -> None:
    a = RNG.integers(0, 5, (7, 16)).astype(np.float32)  # with ties
    ops = ARG.replace("PREDICATE", predicate)
    found = on_blocks(ops, np.zeros(7, np.int32), a)
    np.testing.assert_array_equal(found, function(a, axis=1))


def test_the_index_of_the_extreme_among_nans() -> None:
    """A NaN is never greater, and never equal: in every pair it is the right one that is taken."""
    a = np.zeros((2, 16), np.float32)
    a[0, 3], a[1, 15] = np.nan, np.nan
    a[:, 7] = 5
    found = on_blocks(ARG.replace("PREDICATE", "ogt"), np.zeros(2, np.int32), a)
    assert found.tolist() == [7, 15]


def test_argmax_is_found_by_numpy() -> None:
    text = f"""tt.func public @kernel(%p: !tt.ptr<i32>) {{
%a = arith.constant dense<1.0> : tensor<16xf32>
{ARG.replace("PREDICATE", "ogt")}
tt.store %p, %r : !tt.ptr<i32>
tt.return }}"""
    assert "arg_reduce(True, " in compiled(text).source


@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(reverse: str, axis: int) -> None:
    a = RNG.integers(-9, 9, (3, 8, 16)).astype(np.int32)
    ops = reduction(a, axis, "%z = arith.addi %x, %y : i32", a, "scan").replace("REVERSE", reverse)
    turned = np.flip(a, axis + 1) if reverse == "true" else a
    expected = np.cumsum(turned, axis=axis + 1, dtype=np.int32)
    expected = np.flip(expected, axis + 1) if reverse == "true" else expected
    np.testing.assert_array_equal(on_blocks(ops, a, a), expected)


@pytest.mark.parametrize("reverse", ["false", "true"])
def test_scan_by_a_user_defined_function(reverse: str) -> None:
    a = RNG.integers(0, 9, (3, 16)).astype(np.int32)
    body = "%s = arith.addi %x, %y : i32\n  %z = arith.remsi %s, %seven : i32"
    ops = "%seven = arith.constant 7 : i32\n" + reduction(a, 0, body, a, "scan")
    turned = np.flip(a, 1) if reverse == "true" else a
    expected = np.cumsum(turned, axis=1) % 7
    expected[:, 0] = turned[:, 0]
    expected = np.flip(expected, 1) if reverse == "true" else expected
    found = on_blocks(ops.replace("REVERSE", reverse), a, a)
    np.testing.assert_array_equal(found % 7, expected % 7)


MAP = """%r = "tt.map_elementwise"(%a, %b) <{pack = PACK : i32}> ({
BODY
}) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>"""


def test_a_function_of_each_element() -> None:
    a, b = RNG.standard_normal((2, 3, 32)).astype(np.float32)
    body = """^bb0(%x: f32, %y: f32):
  %c = arith.cmpf olt, %x, %y : f32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  tt.map_elementwise.return %x : f32
^bb2:
  %d = arith.subf %y, %x : f32
  tt.map_elementwise.return %d : f32"""
    found = on_blocks(MAP.replace("PACK", "1").replace("BODY", body), a, a, b)
    np.testing.assert_array_equal(found, np.where(a < b, a, b - a))


def test_a_function_of_pairs_of_elements() -> None:
    a, b = RNG.standard_normal((2, 3, 32)).astype(np.float32)
    body = """^bb0(%x0: f32, %x1: f32, %y0: f32, %y1: f32):
  %s = arith.addf %x0, %y1 : f32
  %p = arith.mulf %x1, %y0 : f32
  tt.map_elementwise.return %s, %p : f32, f32"""
    found = on_blocks(MAP.replace("PACK", "2").replace("BODY", body), a, a, b)
    expected = np.empty_like(a)
    expected[:, ::2], expected[:, 1::2] = a[:, ::2] + b[:, 1::2], a[:, 1::2] * b[:, ::2]
    np.testing.assert_array_equal(found, expected)
