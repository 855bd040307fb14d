"""What the composed functions compute, run by the NumPy target against NumPy itself."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl

rng = np.random.default_rng(20261115)


@tw.jit
def philox(out, key, counter):
    words = tl.load(counter + tl.arange(0, 4)[None, :])
    c0c1, c2c3 = tl.split(tl.trans(tl.reshape(words, (1, 2, 2)), (0, 2, 1)))
    c0, c1 = tl.split(c0c1)
    c2, c3 = tl.split(c2c3)
    a, b, c, d = tl.philox(tl.load(key), c0, c1, c2, c3)
    out += tl.arange(0, 1)
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    tl.store(out + 3, d)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        # Known answers of the Random123 library for philox4x32 with 10 rounds.
        ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF, 0xFFFFFFFF),
            (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0xA4093822, 0x299F31D0),
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_of_known_answers(
    key: tuple[int, int], counter: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    out = np.zeros(4, np.uint32)
    seed = np.array([key[1] << 32 | key[0]], np.uint64)
    philox[(1,)](out, seed, np.array(counter, np.uint32))
    assert out.tolist() == list(expected)


@tw.jit
def draw(uniform, normal, seed, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(uniform + offsets, tl.rand(seed, offsets))
    tl.store(normal + offsets, tl.randn(seed, offsets))


def test_distributions() -> None:
    uniform, normal = np.full((2, 1 << 14), np.nan, np.float32)
    draw[(16,)](uniform, normal, 42, N=1024)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(uniform.var() - 1 / 12) < 0.005
    assert abs(normal.mean()) < 0.03
    assert abs(normal.var() - 1) < 0.05
    assert len(np.unique(uniform)) > 16000


@tw.jit
def sorting(x, up, down, top, low, back, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    block = tl.load(x + rows * N + columns)
    tl.store(up + rows * N + columns, tl.sort(block))
    tl.store(down + rows * N + columns, tl.sort(block, descending=True))
    tl.store(back + rows * N + columns, tl.flip(block, 0))
    first = tl.arange(0, K)[None, :]
    tl.store(top + rows * K + first, tl.topk(block, K))
    tl.store(low + rows * K + first, tl.topk(block, K, descending=False))


@pytest.mark.parametrize("element", [np.float32, np.int32, np.int8, np.float16, np.int64])
@pytest.mark.parametrize("shape", [(1, 16), (4, 8), (2, 2), (8, 64)])
def test_sorting(element: type, shape: tuple[int, int]) -> None:
    k = 2
    x = rng.integers(-100, 100, shape).astype(element)
    up, down, back = np.zeros((3, *shape), element)
    top, low = np.zeros((2, shape[0], k), element)
    sorting[(1,)](x, up, down, top, low, back, M=shape[0], N=shape[1], K=k)
    ordered = np.sort(x, axis=1)
    np.testing.assert_array_equal(up, ordered)
    np.testing.assert_array_equal(down, ordered[:, ::-1])
    np.testing.assert_array_equal(top, ordered[:, ::-1][:, :k])
    np.testing.assert_array_equal(low, ordered[:, :k])
    np.testing.assert_array_equal(back, x[::-1])


@tw.jit
def extrema(x, values, places, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    block = tl.load(x + rows[:, None] * N + tl.arange(0, N)[None, :])
    largest, at = tl.max(block, 1, return_indices=True)
    smallest, low_at = tl.min(block, 1, return_indices=True)
    tl.store(values + rows, largest)
    tl.store(values + M + rows, smallest)
    tl.store(places + rows, at)
    tl.store(places + M + rows, low_at)


def test_extrema_take_the_first_of_equals() -> None:
    x = rng.integers(0, 4, (16, 64)).astype(np.float32)
    values, places = np.zeros((2, 16), np.float32), np.zeros((2, 16), np.int32)
    extrema[(1,)](x, values, places, M=16, N=64)
    np.testing.assert_array_equal(values, [x.max(1), x.min(1)])
    np.testing.assert_array_equal(places, [x.argmax(1), x.argmin(1)])


@tw.jit
def affine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@tw.jit
def recurrence(a, b, out, N: tl.constexpr, REVERSE: tl.constexpr):
    o = tl.arange(0, N)
    _, y = tl.associative_scan((tl.load(a + o), tl.load(b + o)), 0, affine, reverse=REVERSE)
    tl.store(out + o, y)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_by_an_own_function(reverse: bool) -> None:
    a, b = rng.uniform(-1, 1, (2, 32)).astype(np.float32)
    out = np.zeros(32, np.float32)
    recurrence[(1,)](a, b, out, N=32, REVERSE=reverse)
    order = range(31, -1, -1) if reverse else range(32)
    expected, state = np.zeros(32), 0.0
    for index in order:
        state = a[index] * state + b[index]
        expected[index] = state
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@tw.jit
def swizzle(out, rows, columns, GROUP: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    new_i, new_j = tl.swizzle2d(i, j, rows, columns, GROUP)
    tl.store(out + new_i * columns + new_j, i * columns + j)


@pytest.mark.parametrize(("rows", "columns", "group"), [(4, 4, 2), (5, 3, 2), (7, 5, 4)])
def test_swizzle(rows: int, columns: int, group: int) -> None:
    out = np.full((rows, columns), -1, np.int32)
    swizzle[(rows, columns)](out, rows, columns, GROUP=group)
    expected, next_index = np.zeros((rows, columns), np.int32), 0
    for start in range(0, rows, group):
        for column in range(columns):
            for row in range(start, min(start + group, rows)):
                expected[row, column] = next_index
                next_index += 1
    np.testing.assert_array_equal(out, expected)


@tw.jit
def copy_blocks(x, y, m, n, M: tl.constexpr, N: tl.constexpr, PAD: tl.constexpr):
    source = tl.make_block_ptr(x, (m, n), (n, 1), (tl.program_id(0) * M, 0), (M, N), (1, 0))
    target = tl.make_block_ptr(y, (m + 1, n), (n, 1), (tl.program_id(0) * M, 0), (M, N), (1, 0))
    for _ in range(0, n, N):
        block = tl.load(source, boundary_check=(0, 1), padding_option=PAD)
        tl.store(target, block, boundary_check=(0, 1))
        source = tl.advance(source, (0, N))
        target = tl.advance(target, (0, N))


@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize(("m", "n"), [(7, 13), (8, 16), (1, 1), (9, 40)])
def test_block_pointers_stop_at_the_edge(m: int, n: int, padding: str) -> None:
    x = rng.normal(size=(m, n)).astype(np.float32)
    y = np.full((m + 1, n), 7, np.float32)
    copy_blocks[(-(-(m + 1) // 8),)](x, y, m, n, M=8, N=16, PAD=padding)
    np.testing.assert_array_equal(y[:m], x)
    np.testing.assert_array_equal(y[m], np.full(n, 0 if padding == "zero" else np.nan))


@tw.jit
def float_extrema(x, best, N: tl.constexpr):
    value = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_max(best + tl.arange(0, N), value)
    tl.atomic_min(best + N + tl.arange(0, N), value)


@pytest.mark.parametrize("element", [np.float32, np.float64])
def test_atomic_extrema_of_floats(element: type) -> None:
    x = rng.normal(size=(32, 16)).astype(element)
    x[3], x[4] = 0.0, -0.0
    best = np.stack([np.full(16, -np.inf), np.full(16, np.inf)]).astype(element)
    float_extrema[(32,)](x, best, N=16)
    np.testing.assert_array_equal(best, [x.max(0), x.min(0)])
