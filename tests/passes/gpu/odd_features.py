"""Small kernels whose sizes do not come out even, and whose threads need what others hold.

They are added to `FEATURES`.
"""

from __future__ import annotations

from typing import Any

from tests.passes.gpu.features import feature
from tilewright import T

STAGED = ("results_held_elsewhere", "an_element_that_the_data_name", "an_element_for_all_threads")
"""Those in which something has to go through shared memory."""


def reduction(shape: tuple[int, ...], dim: int, threads: int, word: str) -> Any:
    rest = (*shape[:dim], *shape[dim + 1 :])
    reduce = getattr(T, word)

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), B: T.Tensor(rest, "float32")):
        with T.Kernel(1, threads=threads):
            f = T.alloc_fragment(shape, "float32")
            r = T.alloc_fragment(rest, "float32")
            T.copy(A, f)
            reduce(f, r, dim=dim)
            T.copy(r, B)

    return main


@feature()
def rows_by_96_threads():
    return reduction((100, 100), 1, 96, "reduce_max")


@feature()
def columns_by_224_threads():
    return reduction((100, 100), 0, 224, "reduce_sum")


@feature()
def columns_of_seven():
    return reduction((100, 7), 0, 128, "reduce_sum")


@feature()
def rows_of_a_prime_length():
    return reduction((13, 1021), 1, 160, "reduce_abssum")


@feature()
def the_middle_of_three_dimensions():
    return reduction((8, 3, 40), 1, 128, "reduce_min")


@feature()
def a_warp_for_each_row():
    return reduction((4, 1000), 1, 128, "reduce_sum")


@feature(2)
def results_held_elsewhere():
    @T.prim_func
    def main(
        X: T.Tensor((8, 16), "float32"),
        Y: T.Tensor((8,), "float32"),
        Z: T.Tensor((2, 8), "float32"),
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((8, 16), "float32")
            y = T.alloc_fragment((8,), "float32")
            T.clear(y)
            for k in T.serial(2):
                for i in T.Parallel(8):
                    Z[k, i] = y[k] + X[i, k]
            T.copy(X, x)
            T.reduce_min(x, y, dim=1, clear=False)
            T.copy(y, Y)

    return main


@feature()
def a_fragment_turned_by_threads_that_do_not_divide_it():
    @T.prim_func
    def main(A: T.Tensor((100, 33), "float32"), B: T.Tensor((33, 100), "float32")):
        with T.Kernel(1, threads=160):
            f = T.alloc_fragment((100, 33), "float32")
            s = T.alloc_fragment((100,), "float32")
            t = T.alloc_fragment((33, 100), "float32")
            T.copy(A, f)
            T.reduce_sum(f, s, dim=1)
            for i, j in T.Parallel(33, 100):
                t[i, j] = f[j, i] + s[j]
            T.copy(t, B)

    return main


@feature()
def an_element_that_the_data_name():
    @T.prim_func
    def main(
        A: T.Tensor((128,), "float32"), P: T.Tensor((128,), "int32"), B: T.Tensor((128,), "float32")
    ):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((128,), "float32")
            T.copy(A, f)
            for i in T.Parallel(128):
                B[i] = f[P[i] + 64]

    return main


@feature()
def an_element_for_all_threads():
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((128,), "float32")
            s = T.alloc_shared((128,), "float32")
            most = T.alloc_fragment((1,), "float32")
            T.copy(A, f)
            T.reduce_max(f, most, dim=0)
            if most[0] > 1:
                T.copy(f, s)
                for i in T.Parallel(128):
                    B[i] = s[127 - i]
            else:
                T.copy(f, B)

    return main


@feature()
def a_condition_in_shared_memory():
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "float32")
            t = T.alloc_shared((128,), "float32")
            T.copy(A, s)
            if s[3] > -100:
                T.copy(A, t)
                for i in T.Parallel(128):
                    B[i] = t[127 - i] + s[i]

    return main


def passed_on(rows: int, columns: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((rows * 3, columns), "float32"), B: T.Tensor((rows * 3, columns), "float32")
    ):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((rows, columns), "float32")
            t = T.alloc_shared((rows, columns), "float32")
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[k * rows, 0], s)
                for i, j in T.Parallel(rows, columns):
                    t[i, j] = s[i, columns - 1 - j]
                T.copy(t, B[k * rows, 0])

    return main


@feature()
def rows_wider_than_a_box():
    return passed_on(4, 300)


@feature()
def rows_of_two_boxes():
    return passed_on(1, 512)


@feature()
def swizzled_rows_wider_than_a_box():
    return passed_on(16, 320)


@feature()
def a_line_of_a_thousand():
    @T.prim_func
    def main(A: T.Tensor((1000,), "float32"), B: T.Tensor((1000,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((1000,), "float32")
            T.copy(A, s)
            T.cumsum(s, dim=0, reverse=True)
            T.copy(s, B)

    return main


@feature()
def matrices_in_pieces():
    @T.prim_func
    def main(
        A: T.Tensor((4, 64, 128), "float16"),
        B: T.Tensor((4, 128, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((2, 64, 128), "float16")
            b = T.alloc_shared((2, 128, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[k * 2, 0, 0], a)
                T.copy(B[k * 2, 0, 0], b)
                for i in T.serial(2):
                    T.gemm(a[i, :, :], b[i, :, :], c)
            T.copy(c, C)

    return main


@feature()
def scan_along_columns_of_halves():
    @T.prim_func
    def main(A: T.Tensor((96, 40), "float16"), B: T.Tensor((96, 40), "float16")):
        with T.Kernel(1, threads=256):
            f = T.alloc_fragment((96, 40), "float16")
            T.copy(A, f)
            T.cummax(f, dim=0)
            T.copy(f, B)

    return main
