"""Epochs of reducers, sparse GEMMs, batched transposes, and what is checked where it is written."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError

_NUMPY = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


@pytest.mark.parametrize("op", _NUMPY)
@pytest.mark.parametrize("start", [None, 6])
def test_an_epoch(op, start):
    @tw.jit
    def rows(x):
        x: T.Tensor((8, 96), "int32")
        out = T.empty((8,), "int32")
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), "int32", op=op)
            T.reducer_init(acc, start)
            for block in T.serial(3):
                for i, j in T.Parallel(8, 32):
                    T.reducer_update(acc[i], x[i, block * 32 + j])
            result = T.alloc_fragment((8,), "int32")
            T.finalize_reducer(acc, result)
            T.copy(result, out)
        return out

    x = np.random.default_rng(1).integers(-100, 100, (8, 96)).astype(np.int32)
    expected = _NUMPY[op].reduce(x, axis=1)
    if start is not None:
        expected = _NUMPY[op](expected, start)
    assert (rows(x) == expected).all()
    assert "rows_kernel" in tw.compile(rows.get_tir(x), target="cuda:sm_90a").get_kernel_source()


def test_a_starting_value_is_that_of_the_beginning():
    @tw.jit
    def total(x):
        x: T.Tensor((32,), "float32")
        out = T.empty((1,), "float32")
        with T.Kernel(1, threads=32):
            start = T.alloc_var("float32", init=10.0)
            acc = T.alloc_reducer((1,), "float32", op="sum")
            T.reducer_init(acc, start)
            start = 99.0
            for i in T.Parallel(32):
                T.reducer_update(acc[0], x[i])
            result = T.alloc_fragment((1,), "float32")
            T.finalize_reducer(acc, result)
            T.copy(result, out)
        return out

    assert total(np.ones(32, np.float32))[0] == 42


def epoch(body):
    def kernel(x: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            out = T.alloc_fragment((1,), "float32")
            body(acc, out, x)

    with pytest.raises(CompileError) as caught:
        T.prim_func(kernel)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_epochs_are_checked():
    @T.macro
    def update(acc, x):
        for i in T.Parallel(8):
            T.reducer_update(acc[0], x[i])

    @T.macro
    def without_beginning(acc, out, x):
        update(acc, x)

    @T.macro
    def twice(acc, out, x):
        T.reducer_init(acc)
        T.reducer_init(acc)

    @T.macro
    def without_end(acc, out, x):
        T.reducer_init(acc)
        update(acc, x)

    @T.macro
    def outside(acc, out, x):
        T.reducer_init(acc)
        T.reducer_update(acc[0], x[0])

    @T.macro
    def elsewhere(acc, out, x):
        T.reducer_init(acc)
        for _ in T.serial(2):
            T.finalize_reducer(acc, out)

    @T.macro
    def read(acc, out, x):
        T.reducer_init(acc)
        update(acc, x)
        for i in T.Parallel(1):
            out[i] = acc[i]
        T.finalize_reducer(acc, out)

    @T.macro
    def stored(acc, out, x):
        T.reducer_init(acc)
        for i in T.Parallel(1):
            acc[i] = x[i]
        T.finalize_reducer(acc, out)

    @T.macro
    def other_type(acc, out, x):
        T.reducer_init(acc, T.cast(x[0], "float16"))

    assert "T.reducer_update of acc before T.reducer_init" in epoch(without_beginning)
    assert "double T.reducer_init" in epoch(twice)
    assert "acc is never finalized" in epoch(without_end)
    assert "T.reducer_update of acc outside any T.Parallel" in epoch(outside)
    assert "is not in the scope of its T.reducer_init" in epoch(elsewhere)
    assert "illegal read of reducer acc" in epoch(read)
    assert "illegal store to reducer acc" in epoch(stored)
    assert "float16, which does not match reducer acc, float32" in epoch(other_type)


@pytest.mark.parametrize("batch", [0, 3, 128])
def test_batches_of_a_finalize_divide_it(batch):
    def kernel(x: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            acc = T.alloc_reducer((64,), "float32")
            T.finalize_reducer(acc, batch=batch)

    with pytest.raises(ValueError, match=r"batch must be >= 1|exceeds total|must evenly divide"):
        T.prim_func(kernel)


# -- sparse GEMMs ----------------------------------------------------------------------------------


def compressed(dense, group, kept, bits):
    """The elements that are not zero, and their places: two bits each, the first lowest."""
    rows, depth = dense.shape
    values = np.zeros((rows, depth // group * kept), dense.dtype)
    codes = np.zeros((rows, depth // group), np.uint64)
    for row in range(rows):
        for number in range(depth // group):
            part = dense[row, number * group : (number + 1) * group]
            places = list(np.flatnonzero(part))
            places += [each for each in range(group) if each not in places][: kept - len(places)]
            places.sort()
            values[row, number * kept : (number + 1) * kept] = part[places]
            halves = [2 * places[0], 2 * places[0] + 1] if kept == 1 else places
            codes[row, number] = halves[0] | halves[1] << 2
    per_word = bits // 4
    words = np.zeros((rows, codes.shape[1] // per_word), np.uint64)
    for at in range(per_word):
        words |= codes[:, at::per_word] << np.uint64(4 * at)
    return values, words.astype(f"u{bits // 8}").view(f"i{bits // 8}")


@pytest.mark.parametrize(
    ("dtype", "word", "transposed"),
    [("float16", "int16", False), ("float16", "int32", True), ("float32", "int16", False)],
)
def test_sparse_gemm(dtype, word, transposed):
    kept, group = (1, 2) if dtype == "float32" else (2, 4)
    m, n, k = 32, 16, 64
    words = k // group * 4 // T.dtype(word).bits
    a_shape, e_shape = (m, k * kept // group), (m, words)
    if transposed:
        a_shape, e_shape = a_shape[::-1], e_shape[::-1]

    @tw.jit
    def multiply(a, e, b):
        a: T.Tensor(a_shape, dtype)
        e: T.Tensor(e_shape, word)
        b: T.Tensor((k, n), dtype)
        out = T.empty((m, n), "float32")
        with T.Kernel(1, threads=32):
            a_tile, e_tile = T.alloc_shared(a_shape, dtype), T.alloc_shared(e_shape, word)
            b_tile, c = T.alloc_shared((k, n), dtype), T.alloc_fragment((m, n), "float32")
            T.copy(a, a_tile)
            T.copy(e, e_tile)
            T.copy(b, b_tile)
            T.clear(c)
            T.gemm_sp(a_tile, e_tile, b_tile, c, transpose_A=transposed, transpose_E=transposed)
            T.copy(c, out)
        return out

    rng = np.random.default_rng(3)
    dense = np.zeros((m, k // group, group), dtype)
    for index in np.ndindex(m, k // group):
        places = rng.choice(group, rng.integers(0, kept + 1), replace=False)
        dense[index][places] = rng.integers(1, 5, len(places))
    dense = dense.reshape(m, k)
    b = rng.integers(-3, 4, (k, n)).astype(dtype)
    values, codes = compressed(dense, group, kept, T.dtype(word).bits)
    if transposed:
        values, codes = np.ascontiguousarray(values.T), np.ascontiguousarray(codes.T)
    with pytest.warns(UserWarning, match=r"T\.gemm_sp expands A"):
        found = multiply(values, codes, b)
    assert (found == dense.astype(np.float32) @ b.astype(np.float32)).all()


def test_sparse_gemm_checks_its_metadata():
    def kernel(x: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            a, e = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 8), "int16")
            b, c = T.alloc_shared((64, 16), "float16"), T.alloc_fragment((32, 16), "float32")
            T.gemm_sp(a, e, b, c)

    with pytest.raises(CompileError, match=r"e is \(32, 8\), and \(32, 4\) is expected: 4 groups"):
        T.prim_func(kernel)


# -- transposes, lanes, atomics --------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5), (2, 1, 3)])
def test_transposes_of_several_matrices(shape):
    turned = (*shape[:-2], shape[-1], shape[-2])

    @tw.jit
    def transpose(x):
        x: T.Tensor(shape, "float32")
        out = T.empty(turned, "float32")
        with T.Kernel(1, threads=32):
            tile, result = T.alloc_shared(shape, "float32"), T.alloc_shared(turned, "float32")
            T.copy(x, tile)
            T.transpose(tile, result)
            T.copy(result, out)
        return out

    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert (transpose(x) == x.swapaxes(-1, -2)).all()


def test_one_value_in_all_lanes():
    @tw.jit
    def spread(x):
        x: T.Tensor((1,), "int8")
        out = T.empty((8,), "int8")
        with T.Kernel(1, threads=1):
            out[0:8] = T.Broadcast(x[0], 8)
        return out

    assert (spread(np.array([-37], np.int8)) == -37).all()


def test_orders_of_atomics_and_types_of_bulk_additions():
    def load(x: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=1):
            x[0] = T.atomic_load(x[0], memory_order="release")

    def store(x: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=1):
            T.atomic_store(x[0], 1, memory_order="acquire")

    def add(x: T.Tensor((16, 16), "int16")):
        with T.Kernel(1):
            tile = T.alloc_shared((16, 16), "int16")
            T.fill(tile, 1)
            T.atomic_add(x, tile, use_tma=True)

    for kernel, message in (
        (load, "T.atomic_load does not support memory_order 'release'"),
        (store, "T.atomic_store does not support memory_order 'acquire'"),
        (add, "TMA atomic add does not support dtype int16"),
    ):
        with pytest.raises(ValueError, match=message):
            T.prim_func(kernel)
