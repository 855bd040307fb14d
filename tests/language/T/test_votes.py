"""Votes, wide accesses, and IEEE rounding: values on the CPU, and by the code of a GPU's threads."""

from fractions import Fraction

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError


@tw.jit
def votes(limit):
    limit: T.int32
    out = T.empty((32, 10), "uint32")
    with T.Kernel(1, threads=32):
        lane = T.get_thread_binding()
        mask = T.ballot_sync(lane % 3 == 0)
        out[lane, 0] = mask
        out[lane, 1] = T.__ffs(mask << 2)
        out[lane, 2] = T.__fns(mask, 4, 2)
        out[lane, 3] = T.__fns(mask, 4, -2)
        out[lane, 4] = T.__fns(mask, lane, 0)
        out[lane, 5] = T.match_any_sync(lane // 16)
        out[lane, 6] = T.match_all_sync(lane // limit)
        out[lane, 7] = T.syncthreads_count(lane < limit)
        out[lane, 8] = T.syncthreads_and(lane < limit)
        out[lane, 9] = T.syncthreads_or(lane > limit)
    return out


@pytest.mark.parametrize("limit", [7, 32])
def test_votes(limit):
    lanes = np.arange(32)
    mask = int(sum(1 << lane for lane in lanes if lane % 3 == 0))
    found = votes(limit)
    everything = 0xFFFFFFFF
    assert (found[:, 0] == mask).all()
    assert (found[:, 1] == 3).all()
    assert (found[:, 2] == 9).all()  # bits 6 and 9 are at or above bit 4
    assert (found[:, 3] == 0).all()  # bits 3 and 0 are at or below it
    assert list(found[:, 4]) == [lane if lane % 3 == 0 else everything for lane in lanes]
    assert list(found[:, 5]) == [0xFFFF if lane < 16 else 0xFFFF0000 for lane in lanes]
    assert (found[:, 6] == (everything if limit == 32 else 0)).all()
    assert (found[:, 7] == limit).all()
    assert (found[:, 8] == (limit == 32)).all()
    assert (found[:, 9] == (limit < 31)).all()


def test_nothing_is_found_in_an_empty_mask():
    @tw.jit
    def empty(x):
        x: T.Tensor((1,), "uint32")
        out = T.empty((3,), "uint32")
        with T.Kernel(1, threads=1):
            out[0] = T.__ffs(x[0])
            out[1] = T.__fns(x[0], 0, 1)
            out[2] = T.__fns(x[0], 31, -1)
        return out

    assert list(empty(np.zeros(1, np.uint32))) == [0, 0xFFFFFFFF, 0xFFFFFFFF]


def test_a_vote_takes_no_float():
    def kernel(x: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            x[0] = T.any_sync(x[0])

    with pytest.raises(TypeError, match="requires an integer or boolean predicate") as caught:
        T.prim_func(kernel)
    assert isinstance(caught.value, CompileError)


def test_the_vote_of_a_warp_in_cuda():
    source = tw.compile(votes.get_tir(7), target="cuda:sm_90a").get_kernel_source()
    assert "__ballot_sync(0xffffffffu" in source and "atomicAdd" in source


# -- wide accesses -----------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_wide_accesses(bits, dtype):
    load, store = getattr(T, f"ldg{bits}"), getattr(T, f"stg{bits}")
    count = bits // T.dtype(dtype).bits

    @tw.jit
    def move(x):
        x: T.Tensor((8 * count,), dtype)
        y = T.empty((8 * count,), dtype)
        with T.Kernel(1, threads=8):
            lane = T.get_thread_binding()
            first = lane * count
            words = load(x[first : first + count], pred=lane != 2)
            store(y[first : first + count], words)
        return y

    given = np.arange(1, 8 * count + 1).astype(dtype)
    expected = given.reshape(8, count).copy()
    expected[2] = 0
    assert (move(given).reshape(8, count) == expected).all()


def test_a_predicated_store_leaves_the_rest():
    @tw.jit
    def move(x, y):
        x: T.Tensor((16,), "float32")
        y: T.Tensor((16,), "float32")
        with T.Kernel(1, threads=4):
            lane = T.get_thread_binding()
            tile = T.alloc_shared((16,), "float32")
            T.sts128(tile[lane * 4 : lane * 4 + 4], T.ldg128(x[lane * 4]))
            T.stg128(y[lane * 4 : lane * 4 + 4], T.lds128(tile[lane * 4]), pred=lane < 3)

    x, y = np.arange(16, dtype=np.float32), np.full(16, -1, np.float32)
    move(x, y)
    assert list(y) == [*range(12), -1, -1, -1, -1]


def test_words_are_reinterpreted():
    @tw.jit
    def halves(x):
        x: T.Tensor((4,), "float16")
        y = T.empty((2,), "uint32")
        z = T.empty((4,), "float16")
        with T.Kernel(1, threads=1):
            words = T.ldg64(x[0:4])
            y[0:2] = words
            z[0:4] = T.reinterpret(words, T.float16x4)
        return y, z

    given = np.array([1, 2, 3, 4], np.float16)
    y, z = halves(given)
    assert (y == given.view(np.uint32)).all() and (z == given).all()


def test_wide_accesses_check_their_memory_and_value():
    def from_shared(x: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            T.stg32(x[0], T.lds32(x[0]))

    with pytest.raises(
        CompileError, match=r"T\.lds32 is for a buffer in shared memory, and x is gl"
    ):
        T.prim_func(from_shared)

    def too_short(x: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            T.stg64(x[0], T.ldg32(x[0]))

    with pytest.raises(CompileError, match=r"T\.stg64 stores 64 bits, and the value is uint32: 32"):
        T.prim_func(too_short)


# -- rounding ------------------------------------------------------------------------------------


def _neighbours(exact, dtype):
    """The floats below and above an exact value."""
    nearest = dtype(float(exact))
    below = nearest if Fraction(float(nearest)) <= exact else np.nextafter(nearest, dtype(-np.inf))
    above = nearest if Fraction(float(nearest)) >= exact else np.nextafter(nearest, dtype(np.inf))
    return below, above


def _directed(exact, mode, dtype):
    below, above = _neighbours(exact, dtype)
    if mode == "rz":
        return below if exact > 0 else above
    return above if mode == "ru" else below


_EXACT = {
    "ieee_add": lambda x, y, z: x + y,
    "ieee_sub": lambda x, y, z: x - y,
    "ieee_mul": lambda x, y, z: x * y,
    "ieee_fdiv": lambda x, y, z: x / y,
    "ieee_frcp": lambda x, y, z: 1 / x,
    "ieee_fmaf": lambda x, y, z: x * y + z,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["rz", "ru", "rd"])
@pytest.mark.parametrize("name", _EXACT)
def test_rounding_modes(name, mode, dtype):
    function = getattr(T, name)
    count = {"ieee_frcp": 1, "ieee_fmaf": 3}.get(name, 2)

    @tw.jit
    def kernel(x, y, z):
        x: T.Tensor((64,), dtype)
        y: T.Tensor((64,), dtype)
        z: T.Tensor((64,), dtype)
        out = T.empty((64,), dtype)
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                out[i] = function(*[each[i] for each in (x, y, z)[:count]], mode)
        return out

    rng = np.random.default_rng(5)
    scalar = np.dtype(dtype).type
    x, y, z = (
        (rng.standard_normal(64) * 10.0 ** rng.integers(-4, 5, 64)).astype(dtype) for _ in range(3)
    )
    exact = [
        _EXACT[name](*(Fraction(float(each)) for each in point))
        for point in zip(x, y, z, strict=True)
    ]
    assert list(kernel(x, y, z)) == [_directed(each, mode, scalar) for each in exact]


@pytest.mark.parametrize("mode", ["rz", "ru", "rd"])
def test_rounding_of_square_roots(mode):
    @tw.jit
    def roots(x):
        x: T.Tensor((64,), "float32")
        out = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                out[i] = T.ieee_fsqrt(x[i], mode)
        return out

    x = np.random.default_rng(6).uniform(0.1, 100, 64).astype(np.float32)
    for given, root in zip(x, roots(x), strict=True):
        exact = Fraction(float(given))
        towards = np.inf if mode == "ru" else -np.inf
        beyond = np.nextafter(root, np.float32(towards))
        back = np.nextafter(root, np.float32(-towards))
        square, further = Fraction(float(root)) ** 2, Fraction(float(back)) ** 2
        assert (square >= exact > further) if mode == "ru" else (square <= exact < further)
        assert beyond != root


def test_sums_to_nearest_are_not_joined_with_products():
    @tw.jit
    def kernel(x):
        x: T.Tensor((3,), "float32")
        out = T.empty((2,), "float32")
        with T.Kernel(1, threads=1):
            out[0] = T.ieee_add(T.ieee_mul(x[0], x[1]), x[2])
            out[1] = T.ieee_frsqrt(x[0])
        return out

    x = np.array([1 + 2.0**-13, 1 - 2.0**-13, -1], np.float32)
    found = kernel(x)
    assert found[0] == (x[0] * x[1]) + x[2] == 0  # fused it is -2**-26
    assert found[1] == np.float32(1 / np.sqrt(np.float64(x[0])))
    source = tw.compile(kernel.get_tir(x), target="cuda:sm_90a").get_kernel_source()
    assert source.count("fmaf(") == 2


def test_rounding_modes_are_checked():
    with pytest.raises(ValueError, match="Invalid rounding mode 'up'"):
        T.ieee_add(1.0, 2.0, "up")

    def half(x: T.Tensor((1,), "float16")):
        with T.Kernel(1, threads=1):
            x[0] = T.ieee_mul(x[0], x[0], "ru")

    with pytest.raises(CompileError, match="Only rounding mode 'rn' is available for half"):
        T.prim_func(half)


def test_casts_check_their_options():
    with pytest.raises(ValueError, match="Invalid round 'up'"):
        T.cast(1.0, "float8_e4m3fn", round="up")
    with pytest.raises(ValueError, match="rbits is required"):
        T.cast(1.0, "float8_e4m3fn", round="rs")
    with pytest.raises(ValueError, match="Invalid sat 'yes'"):
        T.cast(1.0, "float8_e4m3fn", sat="yes")
