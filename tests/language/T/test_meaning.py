"""What kernels compute, for statements whose text alone says little: run with NumPy, checked."""

import numpy as np
import pytest

from tilewright import T
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module


def run(function, *arguments):
    """Trace and launch a kernel; arrays are changed in place."""
    found = T.prim_func(function)
    kernel = compile_tile_module(found.module)
    passed = [
        Buffer(param.name, value) if isinstance(value, np.ndarray) else value
        for param, value in zip(found.params, arguments, strict=True)
    ]
    kernel.launch(passed, TileOptions(checked=True))


def test_break_and_continue():
    def kernel(A: T.Tensor((10,), "int32"), out: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=1):
            total = T.alloc_var("int32", init=0)
            for i in T.serial(10):
                if A[i] == 0:
                    continue
                if A[i] < 0:
                    break
                total += A[i]
                for j in T.serial(3):
                    if j == 2:
                        break
                    out[1] += 1
                out[2] += 1
            out[0] = total
            i = T.alloc_var("int32", init=0)
            while i < 10:
                i += 1
                if A[i] == 0 and i > 1:
                    continue
                if A[i] < 0:
                    break
                out[3] += A[i]

    values = np.array([5, 0, 7, 0, 0, 9, -1, 100, 100, 100], np.int32)
    out = np.zeros(4, np.int32)
    run(kernel, values, out)
    assert out.tolist() == [5 + 7 + 9, 3 * 2, 3, 0 + 7 + 9]


def test_division_of_negative_numbers_is_pythons():
    def kernel(
        A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((64, 4), "int32")
    ):
        with T.Kernel(1, threads=1):
            for i in T.serial(64):
                C[i, 0] = A[i] // B[i]
                C[i, 1] = A[i] % B[i]
                C[i, 2] = A[i] % 5
                C[i, 3] = T.truncmod(A[i], B[i])

    rng = np.random.default_rng(0)
    a = rng.integers(-50, 50, 64).astype(np.int32)
    b = rng.choice([-7, -3, -1, 1, 2, 8], 64).astype(np.int32)
    c = np.zeros((64, 4), np.int32)
    run(kernel, a, b, c)
    expected = [
        [x // y, x % y, x % 5, int(np.fmod(x, y))]
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert c.tolist() == expected


def test_a_loop_that_counts_down_visits_what_range_does():
    def kernel(out: T.Tensor((32,), "int32"), start: T.int32):
        with T.Kernel(1, threads=1):
            n = T.alloc_var("int32", init=0)
            for i in T.serial(start, -2, -3):
                out[n] = i
                n += 1
            for i in range(1, 14, 4):
                out[n] = i
                n += 1

    out = np.full(32, -99, np.int32)
    run(kernel, out, 20)
    expected = [*range(20, -2, -3), *range(1, 14, 4)]
    assert out[: len(expected)].tolist() == expected
    assert (out[len(expected) :] == -99).all()


def test_the_untaken_arm_is_not_read():
    """An index outside of shared memory would be a fault."""

    def kernel(out: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8,), "float32")
            T.fill(s, 2)
            for i in T.Parallel(16):
                out[i] = T.if_then_else(i < 8, s[i] * 3, -1) + (s[i] if i < 8 else 0)

    out = np.zeros(16, np.float32)
    run(kernel, out)
    assert out.tolist() == [8.0] * 8 + [-1.0] * 8


def test_short_circuits_guard_reads():
    def kernel(out: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8,), "int32")
            T.fill(s, 1)
            for i in T.Parallel(16):
                if i < 8 and s[i] == 1:
                    out[i] = 1
                if i >= 8 or s[i] == 0:
                    out[i] = 2

    out = np.zeros(16, np.int32)
    run(kernel, out)
    assert out.tolist() == [1] * 8 + [2] * 8


def test_cells_and_references():
    @T.macro
    def step(total: T.Ref, value):
        value = value * 2
        total = total + value
        return value

    def kernel(out: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            total = T.alloc_var("float32", init=1.0)
            last = T.alloc_var("float32", init=3.0)
            before = total
            out[0] = step(total, last)
            out[1] = total
            out[2] = before
            out[3] = last

    out = np.zeros(4, np.float32)
    run(kernel, out)
    assert out.tolist() == [6.0, 7.0, 1.0, 3.0]


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_sizes_found_out_at_run_time(rows):
    m, k = T.dynamic("m, k")

    def kernel(A: T.Tensor((m, k), "float32"), B: T.Tensor((k, m + 1), "float32")):
        with T.Kernel(T.ceildiv(m, 8), threads=32) as bx:
            for i, j in T.Parallel(8, k):
                if bx * 8 + i < m:
                    B[j, m - (bx * 8 + i)] = A[bx * 8 + i, j] + k

    a = np.random.default_rng(1).standard_normal((rows, 5), np.float32)
    b = np.zeros((5, rows + 1), np.float32)
    run(kernel, a, b)
    expected = np.zeros_like(b)
    expected[:, 1:] = (a[::-1] + 5).T
    assert np.array_equal(b, expected)


def test_a_persistent_scheduler_covers_all_tiles():
    def kernel(out: T.Tensor((7, 5), "int32")):
        with T.Kernel(4, threads=1) as worker:
            tiles = T.PersistentTileScheduler(7, 5, num_workers=4, swizzle_size=3)
            tiles.init(worker)
            while tiles.valid():
                out[tiles.m_idx, tiles.n_idx] += 1 + 10 * tiles.linear_idx
                tiles.next_tile()

    out = np.zeros((7, 5), np.int32)
    run(kernel, out)
    assert sorted(out.ravel().tolist()) == [1 + 10 * tile for tile in range(35)]


def test_branches_meet():
    def kernel(A: T.Tensor((8,), "float32"), out: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=1) as bx:
            if A[bx] > 0:
                x = A[bx] * 2
                y = 1
            elif A[bx] < -1:
                x = -5
                y = bx
            else:
                x = 0
                y = 3
            out[bx] = x + y

    a = np.array([1, -3, 0, 2.5, -1, -2, 4, 0.5], np.float32)
    out = np.zeros(8, np.float32)
    run(kernel, a, out)
    expected = [2 * v + 1 if v > 0 else -5 + i if v < -1 else 3 for i, v in enumerate(a.tolist())]
    assert out.tolist() == expected


def test_a_grid_is_nested_loops_in_order():
    def kernel(out: T.Tensor((12, 3), "int32"), one: T.Tensor((3,), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            at = T.alloc_var("int32", init=0)
            for i, j, k in T.grid(2, n, 2):
                out[at, 0] = i
                out[at, 1] = j
                out[at, 2] = k
                at += 1
            for i in T.grid(3):
                one[i] = i + 1

    out, one = np.full((12, 3), -1, np.int32), np.zeros(3, np.int32)
    run(kernel, out, one, 3)
    assert out.tolist() == [list(index) for index in np.ndindex(2, 3, 2)]
    assert one.tolist() == [1, 2, 3]


def test_bitwise_atomics():
    def kernel(bits: T.Tensor((3,), "uint32"), before: T.Tensor((3, 4), "uint32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(4):
                mask = T.cast(1, "uint32") << T.cast(i, "uint32")
                before[0, i] = T.atomic_and(bits[0], ~mask, return_prev=True)
                before[1, i] = T.atomic_or(bits[1], mask, return_prev=True)
                T.atomic_xor(bits[2], mask)

    bits = np.array([0x1F, 0x10, 0x5], np.uint32)
    before = np.zeros((3, 4), np.uint32)
    run(kernel, bits, before)
    assert bits.tolist() == [0x10, 0x1F, 0xA]
    assert before.tolist() == [[0x1F, 0x1E, 0x1C, 0x18], [0x10, 0x11, 0x13, 0x17], [0] * 4]


def test_vectors_are_computed_by_lanes():
    def kernel(
        A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32"), C: T.Tensor((4, 8), "float32")
    ):
        with T.Kernel(1, threads=4):
            pair = T.Ramp(T.get_thread_binding() * 2, 1, 2)
            C[0, pair] = T.fma2(A[pair], B[pair], T.abs2(B[pair]))
            C[1, pair] = T.max2(A[pair], B[pair]) - T.sub2(A[pair], B[pair]) * 2.0
            swapped = T.float32x2(T.extract_lane(A[pair], 1), T.extract_lane(A[pair], 0))
            C[2, pair] = swapped
            C[3, pair] = T.add2(swapped, T.mul2(A[pair], T.min2(A[pair], B[pair])))

    rng = np.random.default_rng(5)
    a, b = (rng.integers(-9, 9, 8).astype(np.float32) for _ in range(2))
    c = np.full((4, 8), np.nan, np.float32)
    run(kernel, a, b, c)
    swapped = a.reshape(4, 2)[:, ::-1].reshape(8)
    expected = [
        a * b + np.abs(b),
        np.maximum(a, b) - (a - b) * 2,
        swapped,
        swapped + a * np.minimum(a, b),
    ]
    assert np.array_equal(c, expected)


@pytest.mark.parametrize("width", [2, 4])
def test_vector_atomics_return_what_was_there(width):
    add = {2: T.atomic_addx2, 4: T.atomic_addx4}[width]

    def kernel(
        D: T.Tensor((4,), "float32"), V: T.Tensor((4,), "float32"), P: T.Tensor((4,), "float32")
    ):
        with T.Kernel(1, threads=1):
            P[0:width] = add(D[0:width], V[0:width], return_prev=True)

    d, v, p = np.arange(4, dtype=np.float32), np.full(4, 10, np.float32), np.zeros(4, np.float32)
    run(kernel, d, v, p)
    assert d.tolist() == [at + 10 * (at < width) for at in range(4)]
    assert p.tolist() == [at * (at < width) for at in range(4)]


def test_halves_are_rounded_to_even_or_away():
    def kernel(A: T.Tensor((6,), "float32"), out: T.Tensor((3, 6), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(6):
                out[0, i] = T.round(A[i])
                out[1, i] = T.round(A[i], "ties-away-from-zero")
                out[2, i] = T.round(A[i], rounding_mode="ties-to-even")

    values = np.array([0.5, 1.5, -0.5, -2.5, 2.4, 0.49999997], np.float32)
    out = np.zeros((3, 6), np.float32)
    run(kernel, values, out)
    np.testing.assert_array_equal(out[0], [0, 2, 0, -2, 2, 0])
    np.testing.assert_array_equal(out[1], [1, 2, -1, -3, 2, 0])
    np.testing.assert_array_equal(out[2], out[0])


def test_rounding_has_two_modes():
    with pytest.raises(ValueError, match="unknown rounding mode 'up'"):
        T.round(1.5, "up")


def test_powers_of_ten_keep_the_type():
    def kernel(A: T.Tensor((4,), "float16"), out: T.Tensor((4,), "float16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                power = T.exp10(A[i])
                assert power.dtype == "float16"
                out[i] = power

    values = np.array([-2, 0, 1.5, 4], np.float16)
    out = np.zeros(4, np.float16)
    run(kernel, values, out)
    np.testing.assert_allclose(out, 10.0 ** values.astype(np.float64), rtol=1e-3)


def test_lanes_below_zero_count_from_the_end():
    def kernel(
        A: T.Tensor((16,), "float32"), B: T.Tensor((4, 4), "float32"), C: T.Tensor((16,), "float32")
    ):
        with T.Kernel(1, threads=1):
            for t in T.serial(4):
                B[t, T.Ramp(0, 1, 4)] = A[T.Ramp(t - 2, 1, 4)]
                C[T.Ramp(2 * t - 3, 1, 2)] = B[t, T.Ramp(0, 1, 2)]

    a = np.arange(16, dtype=np.float32)
    b, c = np.full((4, 4), np.nan, np.float32), np.full(16, -1, np.float32)
    run(kernel, a, b, c)
    expected = np.array([np.roll(a, 2 - t)[:4] for t in range(4)])
    np.testing.assert_array_equal(b, expected)
    stored = np.full(16, -1, np.float32)
    for t in range(4):
        stored[[2 * t - 3, 2 * t - 2]] = expected[t, :2]
    np.testing.assert_array_equal(c, stored)


def test_lanes_that_are_known_not_to_be_negative_are_taken_as_they_are():
    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=4):
            lanes = T.Ramp(T.get_thread_binding() * 2 + 1, 1, 2)
            A[lanes] = A[lanes] + 1.0

    assert "select" not in str(kernel.module)
    assert "scf.if" not in str(kernel.module)


def test_natural_numbers_that_wrap_are_negative():
    """A magnitude or a remainder is computed of what the bits say, not of what was added up."""
    big, least = 2**31 - 1, -(2**31)

    def kernel(
        A: T.Tensor((4,), "int32"), U: T.Tensor((4,), "uint32"), out: T.Tensor((8, 4), "int32")
    ):
        with T.Kernel(1, threads=1):
            for i in T.serial(4):
                x = T.abs(A[i] // 2)
                out[0, i] = T.abs(x + x + x)
                out[1, i] = (x * x) % 7
                out[2, i] = T.abs(T.abs(A[i]))
                out[3, i] = T.abs(T.cast(U[i], "int32"))
                out[4, i] = T.cast(T.cast(U[i] % 1000, "int8"), "int32") % 5
                out[5, i] = T.abs(x << 1) // 3
                out[6, i] = T.abs(T.cast((i + 1) * 1000000007, "int32"))
                out[7, i] = T.abs(T.cast(A[i] & 255, "int32"))

    a = np.array([big, least, -7, 12345], np.int32)
    u = np.array([2**31 + 5, 200, 7, 2**32 - 1], np.uint32)
    out = np.zeros((8, 4), np.int32)
    run(kernel, a, u, out)
    with np.errstate(over="ignore"):
        x = np.abs(a // 2)
        index = (np.arange(1, 5) * 1000000007).astype(np.int32)
        expected = [
            np.abs(x + x + x),
            (x * x) % 7,
            np.abs(np.abs(a)),
            np.abs(u.astype(np.int32)),
            (u % 1000).astype(np.int8).astype(np.int32) % 5,
            np.abs(x << 1) // 3,
            np.abs(index),
            a & 255,
        ]
    assert out.tolist() == np.array(expected).tolist()
