"""GEMMs of which threads write an operand to shared memory, as dequantisation does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.dialects.arith import ShrsiOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.nv import BarOp, MBarrierWaitOp, WgmmaOp, WgmmaWaitOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync

BLOCK_M, BLOCK_N, BLOCK_K, THREADS = 128, 64, 64, 256
PACKED = BLOCK_K // 2
PER_THREAD = 4
"""Bytes that a thread unpacks at a time."""


def packed_gemm(m: int, n: int, k: int, stages: int) -> Any:
    """`A @ B.T`, with two elements of B, 4 bits each, in a byte: the element is the value less 8."""

    @tw.jit
    def gemm(A, B):
        A: T.Tensor((m, k), "float16")
        B: T.Tensor((n, k // 2), "uint8")
        C = T.empty((m, n), "float32")
        with T.Kernel(T.ceildiv(n, BLOCK_N), T.ceildiv(m, BLOCK_M), threads=THREADS) as (bx, by):
            a = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            b = T.alloc_shared((BLOCK_N, PACKED), "uint8")
            unpacked = T.alloc_shared((BLOCK_N, BLOCK_K), "float16")
            c = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            tx = T.get_thread_binding()
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, BLOCK_K), num_stages=stages):
                T.copy(A[by * BLOCK_M, step * BLOCK_K], a)
                T.copy(B[bx * BLOCK_N, step * PACKED], b)
                for i in T.serial(BLOCK_N * PACKED // THREADS // PER_THREAD):
                    for v in T.vectorized(PER_THREAD):
                        at = (i * THREADS + tx) * PER_THREAD + v
                        row, column = at // PACKED, at % PACKED
                        byte = T.cast(b[row, column], "int32")
                        unpacked[row, 2 * column] = T.cast((byte & 15) - 8, "float16")
                        unpacked[row, 2 * column + 1] = T.cast((byte >> 4) - 8, "float16")
                T.gemm(a, unpacked, c, transpose_B=True)
            T.copy(c, C[by * BLOCK_M, bx * BLOCK_N])
        return C

    return gemm


def fragment_gemm(m: int, n: int, k: int) -> Any:
    """The same by tiles, with a scale for each row of B: threads own what they unpack."""

    @tw.jit
    def gemm(A, B, S):
        A: T.Tensor((m, k), "float16")
        B: T.Tensor((n, k // 2), "uint8")
        S: T.Tensor((n,), "float16")
        C = T.empty((m, n), "float32")
        with T.Kernel(T.ceildiv(n, BLOCK_N), T.ceildiv(m, BLOCK_M), threads=THREADS) as (bx, by):
            a = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            b = T.alloc_shared((BLOCK_N, PACKED), "uint8")
            s = T.alloc_shared((BLOCK_N,), "float16")
            packed = T.alloc_fragment((BLOCK_N, PACKED), "uint8")
            weights = T.alloc_fragment((BLOCK_N, BLOCK_K), "float16")
            unpacked = T.alloc_shared((BLOCK_N, BLOCK_K), "float16")
            c = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            T.clear(c)
            T.copy(S[bx * BLOCK_N], s)
            for step in T.Pipelined(T.ceildiv(k, BLOCK_K), num_stages=2):
                T.copy(A[by * BLOCK_M, step * BLOCK_K], a)
                T.copy(B[bx * BLOCK_N, step * PACKED], b)
                T.copy(b, packed)
                for j, i in T.Parallel(BLOCK_N, BLOCK_K):
                    nibble = (packed[j, i // 2] >> ((i % 2) * 4).astype("uint8")) & T.uint8(15)
                    weights[j, i] = (T.cast(nibble, "float16") - T.float16(8)) * s[j]
                T.copy(weights, unpacked)
                T.gemm(a, unpacked, c, transpose_B=True)
            T.copy(c, C[by * BLOCK_M, bx * BLOCK_N])
        return C

    return gemm


def scaled_gemm(m: int, n: int, k: int) -> Any:
    """The same by threads, with a scale for each step of a row, which they read from the tensor.

    Beside `more`, shared memory has space for two slots.
    """

    @tw.jit
    def gemm(A, B, S):
        A: T.Tensor((m, k), "float16")
        B: T.Tensor((n, k // 2), "uint8")
        S: T.Tensor((n, k // BLOCK_K), "float16")
        C = T.empty((m, n), "float32")
        with T.Kernel(n // BLOCK_N, m // BLOCK_M, threads=THREADS) as (bx, by):
            a = T.alloc_shared((BLOCK_M, BLOCK_K), "float16")
            b = T.alloc_shared((BLOCK_N, PACKED), "uint8")
            more = T.alloc_shared((170 * 256,), "float32")
            unpacked = T.alloc_shared((BLOCK_N, BLOCK_K), "float16")
            c = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
            scale = T.alloc_local((1,), "float16")
            tx = T.get_thread_binding()
            T.clear(c)
            T.fill(more, 1.0)
            for step in T.Pipelined(k // BLOCK_K, num_stages=2):
                T.copy(A[by * BLOCK_M, step * BLOCK_K], a)
                T.copy(B[bx * BLOCK_N, step * PACKED], b)
                for i in T.serial(BLOCK_N * PACKED // THREADS // PER_THREAD):
                    first = (i * THREADS + tx) * PER_THREAD
                    scale[0] = S[bx * BLOCK_N + first // PACKED, step]
                    for v in T.vectorized(PER_THREAD):
                        row, column = (first + v) // PACKED, (first + v) % PACKED
                        byte = T.cast(b[row, column], "int32")
                        low, high = T.cast((byte & 15) - 8, "float16"), (byte >> 4) - 8
                        unpacked[row, 2 * column] = low * scale[0]
                        unpacked[row, 2 * column + 1] = T.cast(high, "float16") * scale[0]
                T.gemm(a, unpacked, c, transpose_B=True)
            for i, j in T.Parallel(BLOCK_M, BLOCK_N):
                c[i, j] += more[i * BLOCK_N + j]
            T.copy(c, C[by * BLOCK_M, bx * BLOCK_N])
        return C

    return gemm


def arguments(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, the packed B, and what the GEMM gives."""
    nibbles = np.random.default_rng(m + n + k).integers(0, 16, (n, k))
    a = whole(m, m, k)
    packed = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).astype(np.uint8)
    return a, packed, a.astype(np.float32) @ (nibbles - 8).astype(np.float32).T


@pytest.mark.parametrize("stages", [0, 2, 3])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 192), (200, 72, 128)])
def test_values_of_an_operand_that_threads_unpack(m: int, n: int, k: int, stages: int) -> None:
    a, packed, expected = arguments(m, n, k)
    check(packed_gemm(m, n, k, stages), a, packed, expected=expected, cubin=False)


def test_no_barrier_in_the_loop_that_unpacks_an_operand() -> None:
    """Each of its iterations had two: the reads of a wgmma seemed to last after the wait for it."""
    a, packed, _ = arguments(128, 64, 192)
    module, _ = lowered(packed_gemm(128, 64, 192, 2), a, packed)
    loops = [set(map(type, walk(op))) for op in walk(module) if isinstance(op, ForOp)]
    unpacking = [inside for inside in loops if ShrsiOp in inside and WgmmaOp not in inside]
    assert unpacking
    assert not any(inside & {BarOp, BarrierOp} for inside in unpacking)


@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 128), (200, 72, 128)])
def test_values_of_fragments_of_packed_elements(m: int, n: int, k: int) -> None:
    a, packed, expected = arguments(m, n, k)
    scales = whole(7, n)
    check(
        fragment_gemm(m, n, k),
        a,
        packed,
        scales,
        expected=expected * scales.astype(np.float32),
        cubin=False,
    )


def test_fragments_of_packed_elements_are_read_and_written_in_vectors() -> None:
    """A thread had a column of elements, since lanes that share a byte had no formula."""
    a, packed, _ = arguments(128, 64, 128)
    module, _ = lowered(fragment_gemm(128, 64, 128), a, packed, whole(7, 64))
    moved = {
        (op.src.name_hint, op.dst.name_hint): op.width for op in walk(module) if type(op) is MoveOp
    }
    assert moved["b", "b_lanes"] == 4
    assert moved["unpacked_lanes", "unpacked"] == 8


def deferred(module: Any) -> bool:
    """Whether the loop leaves an MMA in flight when it begins anew."""
    return any(isinstance(op, WgmmaWaitOp) and op.count == 1 for op in walk(module))


@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 256), (128, 64, 448), (200, 72, 320)])
def test_values_of_a_gemm_in_flight_while_threads_unpack_the_next_operand(
    m: int, n: int, k: int
) -> None:
    a, packed, expected = arguments(m, n, k)
    module, _ = lowered(packed_gemm(m, n, k, 2), a, packed)
    assert deferred(module)
    check(packed_gemm(m, n, k, 2), a, packed, expected=expected, cubin=False)


def test_values_of_a_gemm_in_flight_while_fragments_are_unpacked() -> None:
    a, packed, expected = arguments(200, 72, 320)
    scales = whole(7, 72)
    kernel = fragment_gemm(200, 72, 320)
    assert deferred(lowered(kernel, a, packed, scales)[0])
    expected = expected * scales.astype(np.float32)
    check(kernel, a, packed, scales, expected=expected, cubin=False)


def test_each_barrier_of_the_deferred_loop_is_needed() -> None:
    """Without either of them, the checker finds a race."""
    a, packed, _ = arguments(128, 64, 448)
    module, _ = lowered(packed_gemm(128, 64, 448, 2), a, packed)
    assert _faults(module) == []
    bars = [op for op in _deferred_loop(module).body.block.ops if isinstance(op, BarOp)]
    assert len(bars) == 2  # before threads write the operand, and before the MMA reads it
    for position in range(len(bars)):
        mutant = module.clone()
        loop = _deferred_loop(mutant)
        bar = [op for op in loop.body.block.ops if isinstance(op, BarOp)][position]
        bar.detach()
        bar.erase()
        assert "TW9021" in _faults(mutant), position


def scaled_arguments(m: int, n: int, k: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """What `scaled_gemm` is called with, and its result."""
    nibbles = np.random.default_rng(m + n + k).integers(0, 16, (n, k))
    a = whole(m, m, k)
    packed = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).astype(np.uint8)
    scales = np.exp2(np.arange(n * (k // BLOCK_K)) % 5 - 2).reshape(n, -1).astype(np.float16)
    weights = (nibbles - 8) * scales.astype(np.float32).repeat(BLOCK_K, 1)
    return (a, packed, scales), a.astype(np.float32) @ weights.T.astype(np.float32) + 1


@pytest.mark.parametrize("k", [64, 128, 448])
def test_values_of_a_gemm_with_two_slots_and_scales_loaded_ahead(k: int) -> None:
    given, expected = scaled_arguments(128, 128, k)
    check(scaled_gemm(128, 128, k), *given, expected=expected, cubin=False)


def test_two_slots_are_released_before_the_wait_for_copies() -> None:
    """Otherwise one copy is in flight at a time."""
    given, _ = scaled_arguments(128, 64, 448)
    module, _ = lowered(scaled_gemm(128, 64, 448), *given)
    ops = list(_deferred_loop(module).body.block.ops)
    (wait,) = (op for op in ops if isinstance(op, WgmmaWaitOp))
    copies = [op for op in ops if isinstance(op, MBarrierWaitOp)]
    assert wait.count == 0
    assert ops.index(copies[0]) < ops.index(wait) < ops.index(copies[1])
    assert not any(isinstance(op, WgmmaWaitOp) for op in ops[ops.index(copies[1]) :])


def test_one_barrier_is_enough_with_two_slots() -> None:
    """That before the MMA orders the writes of the next iteration behind the MMA before it, too."""
    given, _ = scaled_arguments(128, 64, 448)
    module, _ = lowered(scaled_gemm(128, 64, 448), *given)
    assert _faults(module) == []
    mutant = module.clone()
    (bar,) = (op for op in _deferred_loop(mutant).body.block.ops if isinstance(op, BarOp))
    bar.detach()
    bar.erase()
    assert "TW9021" in _faults(mutant)


def test_scales_are_loaded_while_the_gemm_is_in_flight() -> None:
    given, _ = scaled_arguments(128, 64, 448)
    module, _ = lowered(scaled_gemm(128, 64, 448), *given)
    loop = _deferred_loop(module)
    copied = [type(op) for op in loop.body.block.ops]
    loads = [
        index
        for index, op in enumerate(loop.body.block.ops)
        for each in walk(op)
        if isinstance(each, LoadOp) and space_of(each.memref.type) is Space.GLOBAL
    ]
    assert len(loads) == 1
    assert loads[0] + 1 == copied.index(WgmmaWaitOp)


def _deferred_loop(module: Any) -> ForOp:
    found = [
        op
        for op in walk(module)
        if isinstance(op, ForOp) and any(isinstance(each, WgmmaOp) for each in op.body.block.ops)
    ]
    (loop,) = found
    return loop


def _faults(module: Any) -> list[str]:
    engine = DiagnosticEngine()
    CheckThreadSync().run(module, engine)
    return [str(each.code) for each in engine.diagnostics if each.severity is Severity.ERROR]
