"""Kernels that were once compiled wrong for a GPU: what they compute, and the fault they showed.

`KERNELS` has them by the name of the fault. Each gives the function, its arguments, and what the
arguments hold afterwards, by position; the others are only read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tilewright import T

Arrays: TypeAlias = list[np.ndarray]
Wanted: TypeAlias = Mapping[int, np.ndarray]
Made: TypeAlias = tuple[Any, Arrays, Wanted]
KERNELS: dict[str, Callable[[], Made]] = {}

F16, F32 = "float16", "float32"


def kernel(make: Callable[[], Made]) -> Callable[[], Made]:
    KERNELS[make.__name__] = make
    return make


def numbers(*shape: int, dtype: Any = np.float16) -> np.ndarray:
    """Small numbers that every dtype holds exactly."""
    rng = np.random.default_rng(sum(shape))
    return (rng.integers(-3, 4, shape) / 4).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


@kernel
def operand_of_two_products_lost_its_place() -> Made:
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), F16),
        B: T.Tensor((64, 64), F16),
        C: T.Tensor((64, 64), F32),
        D: T.Tensor((64, 64), F16),
    ):
        with T.Kernel(1, threads=128):
            b = T.alloc_shared((64, 64), F16)
            a = T.alloc_shared((64, 64), F16)
            between = T.alloc_shared((64, 64), F16)
            x = T.alloc_fragment((64, 64), F32)
            y = T.alloc_fragment((64, 64), F32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(x)
            T.gemm(a, b, x)
            T.fill(between, 2.0)
            T.copy(between, D)
            T.clear(y)
            T.gemm(a, b, y, transpose_B=True)
            for i, j in T.Parallel(64, 64):
                y[i, j] += x[i, j]
            T.copy(y, C)

    a, b = numbers(64, 64), numbers(64, 64)
    both = product(a, b) + product(a, b.T)
    out = np.empty((64, 64), np.float32), np.empty((64, 64), np.float16)
    return main, [a, b, *out], {2: both, 3: np.full((64, 64), 2.0)}


@kernel
def storage_alias_reached_the_threads() -> Made:
    @T.prim_func
    def main(A: T.Tensor((64, 64), F16), B: T.Tensor((64, 64), F16), C: T.Tensor((64, 64), F32)):
        with T.Kernel(1, threads=128):
            spec = T.storage_alias_spec()
            a = T.alloc_shared((64, 64), F16)
            b = T.alloc_shared((64, 64), F16)
            scores = T.alloc_shared((64, 64), F32, reuse=spec)
            weights = T.alloc_shared((64, 64), F16, reuse=spec)
            largest = T.alloc_shared((64,), F32, reuse=spec)
            right = T.reuse_group(weights, largest, group_type="distinct")
            spec.set_buffer_overlap(T.reuse_group(scores, right))
            s = T.alloc_fragment((64, 64), F32)
            r = T.alloc_fragment((64,), F32)
            o = T.alloc_fragment((64, 64), F32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(s)
            T.gemm(a, b, s)
            T.copy(s, scores)
            for i, j in T.Parallel(64, 64):
                s[i, j] = scores[63 - i, j]
            T.reduce_max(s, r, dim=1)
            T.copy(r, largest)
            T.copy(s, weights)
            T.clear(o)
            T.gemm(weights, b, o)
            for i, j in T.Parallel(64, 64):
                o[i, j] += largest[63 - i]
            T.copy(o, C)

    a, b = numbers(64, 64), numbers(64, 64)
    scores = product(a, b)[::-1]
    total = scores @ b.astype(np.float64) + scores.max(axis=1)[::-1, None]
    return main, [a, b, np.empty((64, 64), np.float32)], {2: total}


@kernel
def truths_overlapped_their_neighbour() -> Made:
    @T.prim_func
    def main(A: T.Tensor((64, 64), F32), M: T.Tensor((64, 64), "bool"), R: T.Tensor((64, 64), F32)):
        with T.Kernel(1, threads=128):
            mask = T.alloc_shared((64, 64), "bool")
            a = T.alloc_shared((64, 64), F32)
            T.copy(M, mask)
            T.copy(A, a)
            for i, j in T.Parallel(64, 64):
                R[i, j] = T.if_then_else(mask[i, j], a[i, j], a[63 - i, j])

    a = numbers(64, 64, dtype=np.float32)
    mask = numbers(64, 64) > 0
    return main, [a, mask, np.empty_like(a)], {2: np.where(mask, a, a[::-1])}


@kernel
def even_numbers_became_false() -> Made:
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), F32), R: T.Tensor((2, 64), "bool")):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((64,), "int32")
            b = T.alloc_fragment((64,), F32)
            is_odd = T.alloc_fragment((64,), "bool")
            is_not_zero = T.alloc_fragment((64,), "bool")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a, is_odd)
            T.copy(b, is_not_zero)
            T.copy(is_odd, R[0, 0])
            T.copy(is_not_zero, R[1, 0])

    a = np.arange(64, dtype=np.int32) - 8
    b = (a / 4).astype(np.float32)
    return main, [a, b, np.empty((2, 64), np.bool_)], {2: np.stack([a != 0, b != 0])}


@kernel
def small_floats_did_not_know_each_other() -> Made:
    one, other = "float8_e4m3fn", "float8_e5m2"

    @T.prim_func
    def main(A: T.Tensor((128,), one), B: T.Tensor((128,), other), C: T.Tensor((128,), F32)):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((128,), one)
            b = T.alloc_fragment((128,), other)
            T.copy(A, a)
            T.copy(a, b)
            T.copy(b, B)
            for i in T.Parallel(128):
                C[i] = T.if_then_else(T.isnan(a[i]), 1.0, T.cast(-a[i], F32))

    a = numbers(128).astype(T.dtype(one).as_numpy())
    wide = a.astype(np.float64)
    out = np.empty(128, T.dtype(other).as_numpy()), np.empty(128, np.float32)
    return main, [a, *out], {1: wide, 2: -wide}


@kernel
def numbers_without_a_sign_were_not_compared() -> Made:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "uint8"),
        B: T.Tensor((64,), "uint64"),
        C: T.Tensor((64,), "bool"),
        D: T.Tensor((64,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                C[i] = T.cast(A[i] > A[63 - i], "bool")
                D[i] = T.cast(B[i] < B[63 - i], "int32") + T.cast(T.popcount(A[i]), "int32")

    a = (np.arange(64) * 4).astype(np.uint8)
    b = np.uint64(1 << 63) + np.arange(64, dtype=np.uint64)[::-1]
    bits = np.array([bin(each).count("1") for each in a])
    out = np.empty(64, np.bool_), np.empty(64, np.int32)
    return main, [a, b, *out], {2: a > a[::-1], 3: (b < b[::-1]) + bits}


@kernel
def atomics_of_other_types() -> Made:
    @T.prim_func
    def main(
        A: T.Tensor((64,), F16),
        B: T.Tensor((64,), "uint32"),
        C: T.Tensor((64,), "int64"),
        largest: T.Tensor((1,), F16),
        least: T.Tensor((1,), "uint32"),
        total: T.Tensor((1,), "int64"),
    ):
        with T.Kernel(1, threads=64):
            T.fill(largest, -100.0)
            T.fill(least, 0xFFFFFFFF)
            T.fill(total, 0)
            for i in T.Parallel(64):
                T.atomic_max(largest[0], A[i])
                T.atomic_min(least[0], B[i])
                T.atomic_add(total[0], C[i])

    a = numbers(64)
    b = (np.arange(64, dtype=np.uint64) * 60_000_000 + 5).astype(np.uint32)
    c = np.arange(64) * 10**12
    out = np.empty(1, np.float16), np.empty(1, np.uint32), np.empty(1, np.int64)
    found = {3: a.max(keepdims=True), 4: b.min(keepdims=True), 5: c.sum(keepdims=True)}
    return main, [a, b, c, *out], found


@kernel
def roles_one_after_the_other() -> Made:
    """The one that fetches stands first, and waits for the one behind it."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), F16), B: T.Tensor((64, 64), F16), C: T.Tensor((64, 64), F32)):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((2, 64, 16), F16)
            b = T.alloc_shared((2, 16, 64), F16)
            c = T.alloc_fragment((64, 64), F32)
            full = T.alloc_barrier([128] * 2)
            empty = T.alloc_barrier([128] * 2)
            with T.ws(1):
                for k in T.serial(4):
                    T.barrier_wait(empty[k % 2], (k // 2 % 2) ^ 1)
                    T.copy(A[0, k * 16], a[k % 2, :, :])
                    T.copy(B[k * 16, 0], b[k % 2, :, :])
                    T.barrier_arrive(full[k % 2])
            with T.ws(0):
                T.clear(c)
                for k in T.serial(4):
                    T.barrier_wait(full[k % 2], k // 2 % 2)
                    T.gemm(a[k % 2, :, :], b[k % 2, :, :], c)
                    T.barrier_arrive(empty[k % 2])
                T.copy(c, C)

    a, b = numbers(64, 64), numbers(64, 64)
    return main, [a, b, np.empty((64, 64), np.float32)], {2: product(a, b)}


@kernel
def all_threads_read_what_a_role_wrote() -> Made:
    @T.prim_func
    def main(A: T.Tensor((128,), F32), R: T.Tensor((256,), F32)):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((128,), F32)
            with T.ws(1):
                for i in T.Parallel(128):
                    s[i] = A[i] * 2
            for i in T.Parallel(256):
                R[i] = s[(255 - i) // 2]

    a = numbers(128, dtype=np.float32)
    return main, [a, np.empty(256, np.float32)], {1: 2 * a[(255 - np.arange(256)) // 2]}


@kernel
def copy_engine_saw_the_tensor_behind_a_view() -> Made:
    @T.prim_func
    def main(
        X: T.Tensor((2, 32, 64), F16), W: T.Tensor((2, 2, 16, 64), F16), R: T.Tensor((64, 64), F32)
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((64, 32), F16)
            w = T.alloc_shared((32, 64), F16)
            o = T.alloc_fragment((64, 64), F32)
            left = T.reshape(X, (64, 64))
            right = T.reshape(W, (64, 64))
            T.clear(o)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(left[0, k * 32], x)
                T.copy(right[k * 32, 0], w)
                T.gemm(x, w, o)
            T.copy(o, R)

    x, w = numbers(2, 32, 64), numbers(2, 2, 16, 64)
    out = np.empty((64, 64), np.float32)
    return main, [x, w, out], {2: product(x.reshape(64, 64), w.reshape(64, 64))}


@kernel
def dot_product_took_one_byte_of_four() -> Made:
    @T.prim_func
    def main(
        A: T.Tensor((64, 16), "int8"), B: T.Tensor((64, 16), "int8"), C: T.Tensor((64,), "int32")
    ):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            a = T.alloc_local((16,), "int8")
            b = T.alloc_local((16,), "int8")
            total = T.alloc_local((1,), "int32")
            total[0] = 0
            for v in T.vectorized(16):
                a[v] = A[tx, v]
                b[v] = B[tx, v]
            for q in T.serial(4):
                T.dp4a(a[q * 4], b[q * 4], total[0])
            C[tx] = total[0]

    a = (numbers(64, 16) * 40).astype(np.int8)
    b = a[::-1].copy()
    return main, [a, b, np.empty(64, np.int32)], {2: (a.astype(int) * b).sum(axis=1)}
