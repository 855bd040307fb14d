"""Raised kernels compute the bits of the kernels on pointers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.passes.raising.launches import NAMES, example_launches, plausible
from tests.passes.raising.levels import (
    Launch,
    assert_same,
    compare,
    on_pointers,
    on_tiles,
    parsed,
    raised,
)
from tests.sampling import only
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.raise_to_tile import NotRaised, RaisedKernel, raise_module
from tilewright.targets.numpy import Buffer, NumpyFault
from tilewright.targets.numpy.tile import TileFault


@functools.cache
def _launches(name: str) -> list[tuple[str, Launch]]:
    return example_launches(name)


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    for kernel, launch in _launches(name):
        result = raise_module(parsed(launch.text))
        assert isinstance(result, RaisedKernel), (kernel, result.refusals)
        expected, _ = on_pointers(launch)
        actual, _ = on_tiles(result, launch)
        assert_same(expected, actual)


SCHEDULED = ("vector_add", "softmax", "matmul", "attention", "layer_norm")


@pytest.mark.parametrize("name", only(SCHEDULED[:3], SCHEDULED))
def test_examples_after_scheduling(name: str) -> None:
    for _, launch in _launches(name):
        result = raise_module(parsed(launch.text))
        if isinstance(result, NotRaised):
            continue
        expected, _ = on_pointers(launch)
        actual, _ = on_tiles(result, launch, TilePipeline(), schedules=5)
        assert_same(expected, actual)


def _dumps() -> list[str]:
    try:
        from tests.dumps import test_frontend as front_end
    except Exception:
        return []
    return [case.name for case in front_end.CASES if case.available_targets]


DUMPS = _dumps()
UNSUITABLE = ("TW6108", "TW6128")
"""Two elements of the plausible data have one address; a divisor is zero."""


COMPOSED = (
    *("atomic_orders", "atomic_cas_block", "spin_lock", "layernorm_backward"),
    *("scaled_dot_e4m3_e5m2", "scaled_dot_packed_rows", "scaled_dot_loop_e2m1"),
    *("gemm_f32_bf16x3", "gemm_f64", "reduce_kinds", "reduce_welford", "scan_kinds"),
)
"""Locks, scaled GEMMs, precisions, combiners."""
FEW_DUMPS = sorted({*DUMPS[::12], *COMPOSED} & {*DUMPS})


@pytest.mark.parametrize("name", only(FEW_DUMPS, DUMPS))
def test_dumps(name: str) -> None:
    from tests.dumps import test_frontend as front_end

    (case,) = [each for each in front_end.CASES if each.name == name]
    text = front_end.our_text(case, front_end._targets(case), locations=True)
    result = raise_module(parsed(text))
    if isinstance(result, NotRaised):
        assert result.refusals
        return
    for integer in (64, 128):
        launch = plausible(text, integer=integer)
        try:
            expected, lines = on_pointers(launch)
        except NumpyFault:
            continue  # the data do not suit the kernel
        try:
            actual, printed = on_tiles(result, launch)
        except TileFault as fault:
            assert fault.diagnostic.code in UNSUITABLE, fault
            continue
        assert_same(expected, actual)
        assert len(printed) == len(lines)


# Sizes.

ADD = """
tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
  %c32 = arith.constant 32 : i32
  %pid = tt.get_program_id x : i32
  %at = arith.muli %pid, %c32 : i32
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %s = tt.splat %at : i32 -> tensor<32xi32>
  %o = arith.addi %s, %r : tensor<32xi32>
  %ns = tt.splat %n : i32 -> tensor<32xi32>
  %m = arith.cmpi slt, %o, %ns : tensor<32xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %xp, %m : tensor<32x!tt.ptr<f32>>
  %w = tt.load %yp, %m : tensor<32x!tt.ptr<f32>>
  %z = arith.addf %v, %w : tensor<32xf32>
  tt.store %yp, %z, %m : tensor<32x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize("n", [1, 7, 31, 32, 33, 97])
def test_sizes(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal(n + 5).astype(np.float32) for _ in range(2))
    compare(Launch(ADD, (-(-n // 32),), [Buffer("x", x), Buffer("y", y), n]), schedules=2)


def test_a_changed_bound_is_found() -> None:
    """Fault injection: the comparison sees one element too few."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(40).astype(np.float32) for _ in range(2))
    launch = Launch(ADD, (2,), [Buffer("x", x), Buffer("y", y), 37])
    expected, _ = on_pointers(launch)
    short = Launch(ADD, (2,), [*launch.arguments[:2], 36])
    actual, _ = on_tiles(raised(ADD), short)
    with pytest.raises(AssertionError, match="array 1: 1 of 40 elements differ, first at \\[36\\]"):
        assert_same(expected, actual)


CONSTANT_SUM = """
tt.func public @constant_sum(%y: !tt.ptr<i32>) {
  %ones = arith.constant dense<3> : tensor<32xi32>
  %sum = "tt.reduce"(%ones) <{axis = 0 : i32}> ({
  ^bb0(%l: i32, %k: i32):
    %z = arith.addi %l, %k : i32
    tt.reduce.return %z : i32
  }) : (tensor<32xi32>) -> i32
  tt.store %y, %sum : !tt.ptr<i32>
  tt.return
}
"""


def test_a_reduction_of_a_constant() -> None:
    kernel = compare(Launch(CONSTANT_SUM, (1,), [Buffer("y", np.zeros(1, np.int32))]))
    assert kernel.name == "constant_sum"


VOLATILE_MIN = """
tt.func public @volatile_min(%x: !tt.ptr<f64>, %y: !tt.ptr<f64>, %n: i32) {
  %lane = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %count = tt.splat %n : i32 -> tensor<8xi32>
  %inside = arith.cmpi slt, %lane, %count : tensor<8xi32>
  %zeros = arith.constant dense<0.0> : tensor<8xf64>
  %base = tt.splat %x : !tt.ptr<f64> -> tensor<8x!tt.ptr<f64>>
  %p = tt.addptr %base, %lane : tensor<8x!tt.ptr<f64>>, tensor<8xi32>
  %v = tt.load %p, %inside, %zeros {isVolatile = true} : tensor<8x!tt.ptr<f64>>
  %least = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%l: f64, %k: f64):
    %z = arith.minnumf %l, %k : f64
    tt.reduce.return %z : f64
  }) : (tensor<8xf64>) -> f64
  tt.store %y, %least : !tt.ptr<f64>
  tt.return
}
"""


@pytest.mark.parametrize("n", [1, 5, 8])
def test_volatile_loads_that_a_reduction_uses(n: int) -> None:
    """Each element is read atomically, as an integer: no copy of a box does that."""
    x = np.random.default_rng(n).standard_normal(8)
    arguments = [Buffer("x", x), Buffer("y", np.zeros(1)), n]
    compare(Launch(VOLATILE_MIN, (1,), arguments), schedules=1)


TESTED_POINTER = """
tt.func public @tested(%x: !tt.ptr<f32>, %b: !tt.ptr<f32>) {
  %c0 = arith.constant 0 : i64
  %lane = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %address = tt.ptr_to_int %b : !tt.ptr<f32> -> i64
  %given = arith.cmpi ne, %address, %c0 : i64
  scf.if %given {
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %lane : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %bs = tt.splat %b : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %lane : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %v = tt.load %bp : tensor<32x!tt.ptr<f32>>
    tt.store %xp, %v : tensor<32x!tt.ptr<f32>>
  }
  tt.return
}
"""


def test_a_test_whether_an_argument_is_null() -> None:
    b = np.random.default_rng(0).standard_normal(32).astype(np.float32)
    buffers = [Buffer("x", np.zeros(32, np.float32)), Buffer("b", b)]
    kernel = compare(Launch(TESTED_POINTER, (1,), buffers), schedules=1)
    assert kernel.not_null == {1}
    assert "scf.if" not in str(kernel.module)


STEPS = """
tt.func public @steps(%y: !tt.ptr<i32>, %n: i32, %s: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%c = %s) -> (i32) : i32 {
    %p = tt.addptr %y, %i : !tt.ptr<i32>, i32
    tt.store %p, %c : !tt.ptr<i32>
    %d = arith.addi %c, %s : i32
    scf.yield %d : i32
  }
  %end = arith.maxsi %n, %c0 : i32
  %q = tt.addptr %y, %end : !tt.ptr<i32>, i32
  tt.store %q, %last : !tt.ptr<i32>
  tt.return
}
"""


@pytest.mark.parametrize("n", [-3, 0, 1, 7])
def test_integers_that_grow_by_a_step_are_not_carried(n: int) -> None:
    y = np.full(9, -1, np.int32)
    for step in (3, 2**30):  # the second one wraps around
        kernel = compare(Launch(STEPS, (1,), [Buffer("y", y), n, step]))
        assert "iter_args" not in str(kernel.module)


DIFFERENCE = """
tt.func public @difference(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %back: !tt.ptr<i32>, %n: i32) {
  %c32 = arith.constant 32 : i32
  %s = tt.load %back : !tt.ptr<i32>
  %pid = tt.get_program_id x : i32
  %next = arith.addi %n, %pid : i32
  %row = arith.subi %next, %s : i32
  %at = arith.muli %row, %c32 : i32
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %ats = tt.splat %at : i32 -> tensor<32xi32>
  %o = arith.addi %ats, %r : tensor<32xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %xp : tensor<32x!tt.ptr<f32>>
  tt.store %yp, %v : tensor<32x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize("back", [0, 3, 5])
def test_starts_that_are_differences(back: int) -> None:
    """The host's part of a difference is no origin: what is left of the start is negative."""
    x = np.random.default_rng(back).standard_normal(32 * 8).astype(np.float32)
    buffers = [Buffer("x", x), Buffer("y", np.full(32, np.nan, np.float32))]
    buffers.append(Buffer("back", np.array([back], np.int32)))
    compare(Launch(DIFFERENCE, (2,), [*buffers, 5]))


SHARED_STRIDE = """
tt.func public @shared(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %at: !tt.ptr<i32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %c29 = arith.constant 29 : i32
  %c58 = arith.constant 58 : i32
  %cs = arith.constant dense<29> : tensor<32xi32>
  %zeros = arith.constant dense<0.0> : tensor<32xf32>
  %a = tt.load %at : !tt.ptr<i32>
  %next = tt.addptr %at, %c1 : !tt.ptr<i32>, i32
  %b = tt.load %next : !tt.ptr<i32>
  %head = arith.muli %a, %c29 : i32
  %row = arith.subi %n, %b : i32
  %rows = arith.muli %row, %c58 : i32
  %start = arith.addi %head, %rows : i32
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %m = arith.cmpi slt, %r, %cs : tensor<32xi32>
  %starts = tt.splat %start : i32 -> tensor<32xi32>
  %o = arith.addi %starts, %r : tensor<32xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %xp, %m, %zeros : tensor<32x!tt.ptr<f32>>
  tt.store %yp, %v : tensor<32x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize(("head", "back"), [(1, 0), (1, 3), (0, 5)])
def test_scalars_of_one_stride_with_different_signs(head: int, back: int) -> None:
    """``29*a - 58*b`` is one dimension of stride 29; its index ``a - 2*b`` would be negative."""
    x = np.random.default_rng(back).standard_normal(58 * 8).astype(np.float32)
    buffers = [Buffer("x", x), Buffer("y", np.full(32, np.nan, np.float32))]
    buffers.append(Buffer("at", np.array([head, back], np.int32)))
    compare(Launch(SHARED_STRIDE, (1,), [*buffers, 5]), schedules=2)


QUOTIENT = """
tt.func public @quotient(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %at: !tt.ptr<i32>, %s: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %a = tt.load %at : !tt.ptr<i32>
  %next = tt.addptr %at, %c1 : !tt.ptr<i32>, i32
  %b = tt.load %next : !tt.ptr<i32>
  %length = arith.subi %b, %a : i32
  %up = arith.addi %length, %c31 : i32
  %chunks = arith.divsi %up, %c32 : i32
  %last = arith.subi %chunks, %c1 : i32
  %first = arith.muli %last, %s : i32
  %xf = tt.addptr %x, %first : !tt.ptr<f32>, i32
  %xs = tt.splat %xf : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %back = arith.subi %c0, %s : i32
  %backs = tt.splat %back : i32 -> tensor<32xi32>
  %end:2 = scf.for %i = %c0 to %chunks step %c1 iter_args(%p = %xp, %q = %yp)
      -> (tensor<32x!tt.ptr<f32>>, tensor<32x!tt.ptr<f32>>) : i32 {
    %v = tt.load %p : tensor<32x!tt.ptr<f32>>
    tt.store %q, %v : tensor<32x!tt.ptr<f32>>
    %pn = tt.addptr %p, %backs : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %c32s = arith.constant dense<32> : tensor<32xi32>
    %qn = tt.addptr %q, %c32s : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    scf.yield %pn, %qn : tensor<32x!tt.ptr<f32>>, tensor<32x!tt.ptr<f32>>
  }
  tt.return
}
"""


@pytest.mark.parametrize("length", [16, 33, 96])
def test_starts_that_are_quotients_of_differences(length: int) -> None:
    """A loop over chunks of a sequence, from the last one: ``(end - begin + 31) / 32 - 1 - i``."""
    x = np.random.default_rng(length).standard_normal(48 * 8).astype(np.float32)
    buffers = [Buffer("x", x), Buffer("y", np.full(96, np.nan, np.float32))]
    buffers.append(Buffer("at", np.array([7, 7 + length], np.int32)))
    compare(Launch(QUOTIENT, (1,), [*buffers, 48]), schedules=1)


LATER_COORDINATE = """
tt.func public @later(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<i32>, %n: i32, %g: i32) {
  %c32 = arith.constant 32 : i32
  %c28 = arith.constant 28 : i32
  %zeros = arith.constant dense<0.0> : tensor<32xf32>
  %pid = tt.get_program_id x : i32
  %block = arith.remsi %pid, %g : i32
  %row = arith.muli %block, %c32 : i32
  %left = arith.subi %row, %c28 : i32
  %c0 = arith.constant 0 : i32
  %inside = arith.maxsi %left, %c0 : i32
  %first = arith.divsi %inside, %c32 : i32
  %zp = tt.addptr %z, %first : !tt.ptr<i32>, i32
  tt.store %zp, %n : !tt.ptr<i32>
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %rows = tt.splat %row : i32 -> tensor<32xi32>
  %o = arith.addi %rows, %r : tensor<32xi32>
  %ns = tt.splat %n : i32 -> tensor<32xi32>
  %m = arith.cmpi slt, %o, %ns : tensor<32xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  MASKED
  tt.return
}
"""


@pytest.mark.parametrize("mask", [", %m, %zeros", ""])
def test_differences_that_a_later_scalar_computes(mask: str) -> None:
    """``left`` is ``row - 28``, but no index of the rows."""
    text = LATER_COORDINATE.replace(
        "MASKED",
        f"%v = tt.load %xp{mask} : tensor<32x!tt.ptr<f32>>\n"
        f"  tt.store %yp, %v{mask[:4]} : tensor<32x!tt.ptr<f32>>",
    )
    x = np.random.default_rng(3).standard_normal(96).astype(np.float32)
    buffers = [Buffer("x", x), Buffer("y", np.full(96, np.nan, np.float32))]
    buffers.append(Buffer("z", np.zeros(4, np.int32)))
    compare(Launch(text, (3,), [*buffers, 70, 3]), schedules=2)
