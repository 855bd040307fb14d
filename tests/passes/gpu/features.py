"""Small kernels, each with something in it that the GPU path has to know how to lower.

`FEATURES` has them by name; the last `outputs` parameters are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright import T

FEATURES: dict[str, Feature] = {}


@dataclass(frozen=True)
class Feature:
    """One kernel."""

    func: Any
    outputs: int = 1
    tolerance: float = 2e-2
    runs: bool = True
    """Whether it is run on a GPU, not only compiled."""


def feature(
    outputs: int = 1, *, tolerance: float = 2e-2, runs: bool = True
) -> Callable[[Callable[[], Any]], Any]:
    def decorate(make: Callable[[], Any]) -> Any:
        func = make()
        FEATURES[make.__name__] = Feature(func, outputs, tolerance, runs)
        return func

    return decorate


@feature()
def scan_of_a_fragment():
    @T.prim_func
    def main(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32")):
        with T.Kernel(1, threads=128):
            rows = T.alloc_fragment((64, 128), "float32")
            T.copy(A, rows)
            T.cumsum(rows, dim=1)
            T.copy(rows, B)

    return main


@feature()
def scan_from_the_back():
    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=128):
            line = T.alloc_shared((256,), "float32")
            T.copy(A, line)
            T.cumsum(line, dim=0, reverse=True)
            T.copy(line, B)

    return main


def product(rows: int, columns: int, depth: int, dtype: str, total: str, turned: bool) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((rows, depth), dtype),
        B: T.Tensor((columns, depth) if turned else (depth, columns), dtype),
        C: T.Tensor((rows, columns), total),
    ):
        with T.Kernel(T.ceildiv(rows, 128), threads=128) as bx:
            a = T.alloc_shared((128, 64), dtype)
            b = T.alloc_shared((columns, 64) if turned else (64, columns), dtype)
            c = T.alloc_fragment((128, columns), total)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(depth, 64), num_stages=2):
                T.copy(A[bx * 128, k * 64], a)
                if turned:
                    T.copy(B[0, k * 64], b)
                else:
                    T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c, transpose_B=turned)
            T.copy(c, C[bx * 128, 0])

    return main


@feature()
def columns_of_176():
    return product(256, 176, 128, "float16", "float32", turned=False)


@feature()
def rows_past_a_tile():
    return product(129, 64, 72, "bfloat16", "float32", turned=False)


@feature()
def tensors_of_prime_sizes():
    return product(131, 72, 67, "float16", "float32", turned=False)


@feature()
def product_of_bytes():
    return product(128, 128, 128, "int8", "int32", turned=True)


@feature(tolerance=1e-2)
def product_of_floats():
    return product(128, 128, 128, "float32", "float32", turned=False)


@feature(tolerance=6e-2)
def product_of_small_floats():
    return product(128, 128, 128, "float8_e4m3fn", "float32", turned=True)


def attention(dim: int) -> Any:
    @T.prim_func
    def main(
        Q: T.Tensor((128, dim), "float16"),
        K: T.Tensor((128, dim), "float16"),
        V: T.Tensor((128, dim), "float16"),
        R: T.Tensor((128, dim), "float16"),
    ):
        with T.Kernel(2, threads=128) as bx:
            q = T.alloc_shared((64, dim), "float16")
            k = T.alloc_shared((64, dim), "float16")
            v = T.alloc_shared((64, dim), "float16")
            s = T.alloc_fragment((64, 64), "float32")
            p = T.alloc_fragment((64, 64), "float16")
            o = T.alloc_fragment((64, dim), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(Q[bx * 64, 0], q)
            T.clear(o)
            T.clear(total)
            for j in T.Pipelined(2, num_stages=2):
                T.copy(K[j * 64, 0], k)
                T.copy(V[j * 64, 0], v)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True)
                for x, y in T.Parallel(64, 64):
                    s[x, y] = T.exp(s[x, y] * 0.01)
                T.reduce_sum(s, total, dim=1, clear=False)
                T.copy(s, p)
                T.gemm(p, v, o)
            for x, y in T.Parallel(64, dim):
                o[x, y] /= total[x]
            T.copy(o, R[bx * 64, 0])

    return main


@feature()
def heads_of_80():
    return attention(80)


@feature()
def heads_of_96():
    return attention(96)


@feature()
def what_a_thread_has():
    @T.prim_func
    def main(A: T.Tensor((1024,), "float16"), B: T.Tensor((1024,), "float16")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            mine = T.alloc_local((8,), "float16")
            more = T.alloc_local((8,), "float16")
            T.clear(more)
            for i in T.vectorized(8):
                mine[i] = A[tx * 8 + i]
            for i in T.serial(8):
                more[i] += mine[i] * 2
            for i in T.vectorized(8):
                B[tx * 8 + i] = more[i]

    return main


@feature()
def threads_in_two_dimensions():
    @T.prim_func
    def main(A: T.Tensor((4, 32), "float32"), B: T.Tensor((4, 32), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            B[ty, tx] = A[ty, 31 - tx] + ty

    return main


@feature()
def a_variable():
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            total = T.alloc_var("int32")
            total = 0
            for i in T.serial(64):
                if A[i] > 0:
                    total += A[i]
            B[0] = total

    return main


@feature()
def layout_of_the_author():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((64, 64), "float16")
            T.annotate_layout({s: T.Layout((64, 64), lambda i, j: (i, (j + 8 * i) % 64))})
            T.copy(A, s)
            T.copy(s, B)

    return main


@feature()
def fragment_of_the_author():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=64):
            f = T.alloc_fragment((64, 64), "float32")
            T.annotate_layout({f: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})
            T.copy(A, f)
            for i, j in T.Parallel(64, 64):
                f[i, j] = f[i, j] + 1
            T.copy(f, B)

    return main


@feature()
def reduction_in_shared_memory():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((64, 64), "float32")
            r = T.alloc_shared((64,), "float32")
            T.copy(A, s)
            T.reduce_sum(s, r, dim=1)
            T.copy(r, B)

    return main


@feature(2)
def reductions_of_odd_sizes():
    @T.prim_func
    def main(
        A: T.Tensor((48, 100), "float32"),
        B: T.Tensor((48,), "float32"),
        C: T.Tensor((100,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((48, 100), "float32")
            r = T.alloc_fragment((48,), "float32")
            c = T.alloc_fragment((100,), "float32")
            T.copy(A, f)
            T.reduce_max(f, r, dim=1)
            T.reduce_sum(f, c, dim=0)
            T.copy(r, B)
            T.copy(c, C)

    return main


@feature(2)
def reductions_without_a_sign():
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "uint8"),
        B: T.Tensor((64,), "uint8"),
        C: T.Tensor((64,), "uint8"),
    ):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((64, 64), "uint8")
            most = T.alloc_fragment((64,), "uint8")
            least = T.alloc_fragment((64,), "uint8")
            T.copy(A, f)
            T.reduce_max(f, most, dim=1)
            T.reduce_min(f, least, dim=0)
            T.copy(most, B)
            T.copy(least, C)

    return main


@feature(2)
def view_of_a_swizzled_buffer():
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((4096,), "float16"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            line = T.reshape(a, (4096,))
            T.copy(line, D)
            T.copy(c, C)

    return main


@feature()
def matrices_of_a_buffer():
    @T.prim_func
    def main(
        A: T.Tensor((2, 64, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((2, 64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            for i in T.serial(2):
                T.gemm(a[i, :, :], b, c)
            T.copy(c, C)

    return main


@feature()
def columns_of_a_matrix():
    @T.prim_func
    def main(
        A: T.Tensor((64, 128), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 128), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            for i in T.serial(2):
                T.gemm(a[:, i * 64 : (i + 1) * 64], b, c)
            T.copy(c, C)

    return main


@feature(2)
def layouts_that_disagree():
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            d = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.clear(d)
            T.gemm(a, b, c)
            T.gemm(a, b, d)
            for i, j in T.Parallel(64, 64):
                c[i, j] = d[j, i]
            T.copy(c, C)
            T.copy(d, D)

    return main


@feature()
def a_reducer():
    @T.prim_func
    def main(A: T.Tensor((128, 128), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((128, 128), "float32")
            r = T.alloc_reducer((128,), "float32", op="sum", replication="all")
            T.copy(A, f)
            T.fill(r, 0)
            for i, j in T.Parallel(128, 128):
                r[i] += f[i, j] * 2
            T.finalize_reducer(r)
            T.copy(r, B)

    return main


@feature()
def a_choice():
    @T.prim_func
    def main(A: T.Tensor((100,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                B[i] = T.if_then_else(i < 100, A[i], -1.0)

    return main


@feature()
def threads_that_wait():
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            s = T.alloc_shared((128,), "float32")
            s[tx] = A[tx]
            T.sync_threads()
            B[tx] = s[127 - tx]

    return main


@feature()
def a_transpose():
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((64, 32), "float32")
            t = T.alloc_shared((32, 64), "float32")
            T.copy(A, s)
            T.transpose(s, t)
            T.copy(t, B)

    return main


@feature(runs=False)
def source_of_the_author():
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            T.import_source("__device__ float twice(float x) { return 2 * x; }")
            tx = T.get_thread_binding()
            B[tx] = T.call_extern("float32", "twice", A[tx])

    return main


@feature()
def tensors_that_stay_in_the_cache():
    """Tiles by the copy engine, wide moves and single elements, all with a policy."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        scale: T.Tensor((64, 3), "float32"),
        C: T.Tensor((128, 128), "float32"),
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            T.annotate_l2_hit_ratio({B: 0.8, scale: 1.0, C: 0.5})
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(64, 64):
                c[i, j] = c[i, j] * scale[i, 1]
            T.copy(c, C[by * 64, bx * 64])

    return main


@feature(runs=False)
def printing():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment((64,), "float32")
            T.copy(A, f)
            T.print(f, msg="f")
            T.print(A[3], msg="x")

    return main


@feature(runs=False)
def more_than_two_to_the_31():
    @T.prim_func
    def main(A: T.Tensor((65536, 65536), "float16"), B: T.Tensor((65536, 65536), "float16")):
        with T.Kernel(512, 512, threads=128) as (bx, by):
            for i, j in T.Parallel(128, 128):
                B[by * 128 + i, bx * 128 + j] = A[by * 128 + i, bx * 128 + j] * 2

    return main
