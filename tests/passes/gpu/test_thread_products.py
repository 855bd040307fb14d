"""`T.comm_reducer(lambda x, y: x * y, ...)`: products over threads, at both levels."""

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.test_integer_kinds import lowered
from tilewright import T
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt


def products(dtype, columns, rows):
    """Each of `rows` threads, of which `columns` are in a row, gets the product of its row."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), dtype), B: T.Tensor((rows, columns), dtype)):
        with T.Kernel(1, threads=(columns, rows)):
            i, j = T.get_thread_binding(1), T.get_thread_binding(0)
            own = T.alloc_local((1,), dtype)
            total = T.alloc_local((1,), dtype)
            own[0] = A[i, j]
            with T.attr(
                T.comm_reducer(lambda x, y: x * y, [T.cast(1, dtype)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(
                    T.tvm_thread_allreduce(T.uint32(1), own[0], True, total[0], j, dtype="handle")
                )
            B[i, j] = total[0]

    return kernel


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32"])
@pytest.mark.parametrize(("columns", "rows"), [(8, 4), (2, 16), (64, 2), (32, 1)])
def test_threads_multiply_what_they_hold(dtype, columns, rows):
    rng = np.random.default_rng(columns)
    given = rng.choice([-1, 1, 2, 3] if dtype != "uint8" else [1, 2, 3], (rows, columns))
    given = np.where(rng.random((rows, columns)) < 0.7, 1, given).astype(dtype)
    expected = np.multiply.reduce(given, axis=1, dtype=dtype, keepdims=True)
    expected = np.broadcast_to(expected, given.shape)
    assert len(np.unique(expected)) > 1 or rows == 1
    kernel = products(dtype, columns, rows)
    tile = np.full((rows, columns), 99, dtype)
    tw.compile(kernel, target="numpy")(given, tile)
    np.testing.assert_array_equal(tile, expected)
    thread = np.full((rows, columns), 99, dtype)
    out = Buffer("B", thread, initialised=False)
    compile_simt(lowered(kernel)).launch([Buffer("A", given), out])
    np.testing.assert_array_equal(thread, expected)
