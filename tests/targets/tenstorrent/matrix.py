"""Kernels, core grids and sizes of the matrix of runs on the simulated chip.

A kernel is one of `examples/tile` or one of this file; sizes are 1, prime, one past a tile, and
whole tiles; the expected arrays are those of the NumPy target for the same IR and inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tests.examples.tile_examples import load
from tilewright import T
from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trace_only import tracing_only
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import compile_tile_module
from tilewright.targets.tenstorrent.artefact import Artefact

Arrays: TypeAlias = dict[str, Any]
GRIDS = ("1x1", "2x2", "8x8")
"""1, 4 and 64 cores."""
SIZES: dict[str, tuple[int, int, int]] = {
    "one": (1, 1, 1),
    "prime": (37, 41, 53),
    "past": (33, 65, 33),
    "whole": (64, 96, 64),
}
"""Rows, columns and K of a GEMM."""
MANY = (256, 256, 64)
"""At least one block for each of 64 cores."""


@dataclass(frozen=True)
class Traced:
    """A kernel for fixed sizes, and its inputs."""

    prim_func: PrimFunc
    inputs: tuple[Any, ...]
    """The arrays of the first parameters; the others are outputs."""

    def arrays(self) -> Arrays:
        """Fresh arrays of all parameters; outputs hold values that no kernel computes."""
        found: Arrays = {}
        for position, param in enumerate(self.prim_func.params):
            if position < len(self.inputs):
                found[param.name] = self.inputs[position].copy()
            else:
                shape = tuple(int(size) for size in param.shape)
                found[param.name] = np.full(shape, 77, _dtype(str(param.dtype)))
        return found

    def expected(self) -> Arrays:
        """The arrays after a run on the NumPy target."""
        arrays = self.arrays()
        buffers = [Buffer(name, array) for name, array in arrays.items()]
        compile_tile_module(self.prim_func.module.clone()).launch(buffers)
        return arrays

    def compiled(self, cores: str, **configs: Any) -> Artefact:
        """The program for the simulated chip."""
        kernel = CompiledTileKernel(
            self.prim_func,
            target="tenstorrent:sim",
            pass_configs={"tt.core_grid": cores, **configs},
        )
        assert kernel.tenstorrent is not None
        return kernel.tenstorrent.artefact


def _dtype(name: str) -> Any:
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)


def errors(found: Any, expected: Any) -> tuple[float, float, float]:
    """The error relative to the Frobenius norm and to the maximum, and the correlation."""
    actual, exact = found.astype(np.float64), expected.astype(np.float64)
    difference = np.abs(actual - exact)
    norm = np.linalg.norm(difference) / max(np.linalg.norm(exact), 1e-30)
    largest = difference.max() / max(np.abs(exact).max(), 1e-30)
    norms = max(np.linalg.norm(actual) * np.linalg.norm(exact), 1e-30)
    return float(norm), float(largest), float(np.sum(actual * exact) / norms)


def differences(found: Mapping[str, Any], expected: Arrays) -> list[str]:
    """The outputs that are not equal within the bounds of their element type."""
    wrong: list[str] = []
    for name, array in found.items():
        bound = 2e-5 if array.dtype.itemsize == 4 else 2**-6
        norm, largest, _ = errors(array, expected[name])
        if not (norm <= bound and largest <= bound):
            wrong.append(f"{name}: error {norm:.2e} of the norm, {largest:.2e} of the maximum")
    return wrong


# -- kernels ---------------------------------------------------------------------------------------


def _random(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def _eager(kernel: Any, inputs: Sequence[Any], **options: Any) -> Traced:
    found: list[CompiledTileKernel] = []
    with tracing_only(found.append):
        kernel(*(each.copy() for each in inputs), **options)
    return Traced(found[0].prim_func, tuple(inputs))


def _gemm(size: tuple[int, int, int], dtype: str = "bfloat16", **options: Any) -> Traced:
    m, n, k = size
    a, b = _random(m, k, dtype=_dtype(dtype)), _random(k, n, dtype=_dtype(dtype))
    blocks = {"block_M": 32, "block_N": 32, "block_K": 32, **options}
    return _eager(load("gemm").gemm, (a, b), dtype=dtype, **blocks)


def _gemm_relu(size: tuple[int, int, int]) -> Traced:
    m, n, k = size
    a, b = _random(m, k, dtype=np.float16), _random(k, n, dtype=np.float16)
    return _eager(load("gemm_relu").matmul_relu, (a, b))


def _add(size: tuple[int, int, int]) -> Traced:
    m, n, _ = size
    return _eager(load("elementwise_add").add, (_random(m, n), _random(m, n + 1)[:, :n]))


def _rms_norm(name: str) -> Callable[[tuple[int, int, int]], Traced]:
    def traced(size: tuple[int, int, int]) -> Traced:
        m, n, _ = size
        return _eager(getattr(load("rms_norm"), name), (_random(m, n),))

    return traced


def _online_softmax(size: tuple[int, int, int]) -> Traced:
    _, n, m = size
    return _eager(load("online_softmax").softmax, (_random(min(m, 40), n),))


def _softmax(size: tuple[int, int, int]) -> Traced:
    m, n, _ = size

    @T.prim_func
    def kernel(X: T.Tensor((m, n), T.bfloat16), Y: T.Tensor((m, n), T.bfloat16)):
        with T.Kernel(T.ceildiv(m, 32)) as bx:
            x = T.alloc_fragment((32, n), T.float32)
            largest = T.alloc_fragment((32,), T.float32)
            total = T.alloc_fragment((32,), T.float32)
            T.copy(X[bx * 32, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * 32, 0])

    return Traced(kernel, (_random(m, n, dtype=ml_dtypes.bfloat16) - ml_dtypes.bfloat16(3),))


def _cast(source: str, target: str) -> Callable[[tuple[int, int, int]], Traced]:
    def traced(size: tuple[int, int, int]) -> Traced:
        m, n, _ = size

        @T.prim_func
        def kernel(A: T.Tensor((m, n), source), B: T.Tensor((m, n), target)):
            with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32)) as (bx, by):
                a = T.alloc_shared((32, 32), source)
                b = T.alloc_fragment((32, 32), target)
                T.copy(A[by * 32, bx * 32], a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] = T.cast(a[i, j], target)
                T.copy(b, B[by * 32, bx * 32])

        return Traced(kernel, (_random(m, n, dtype=_dtype(source)),))

    return traced


def _split_k(size: tuple[int, int, int]) -> Traced:
    m, n, k = size
    inner = 64 * -(-k // 32) - k % 2  # halves of whole blocks, or the example reads parts twice
    a, b = _random(m, inner, dtype=np.float16), _random(inner, n, dtype=np.float16)
    return _eager(load("split_k").matmul_split_k, (a, b, _random(m, n)), split_k=2, block_K=32)


def _batched(size: tuple[int, int, int]) -> Traced:
    m, n, k = size
    batches = 3

    @T.prim_func
    def kernel(
        A: T.Tensor((batches, m, k), T.bfloat16),
        B: T.Tensor((batches, k, n), T.bfloat16),
        C: T.Tensor((batches, m, n), T.float32),
    ):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), batches) as (bx, by, bz):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k_block in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[bz, by * 32, k_block * 32], a)
                T.copy(B[bz, k_block * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[bz, by * 32, bx * 32])

    bf16 = ml_dtypes.bfloat16
    return Traced(kernel, (_random(batches, m, k, dtype=bf16), _random(batches, k, n, dtype=bf16)))


def _transposed(is_a: bool, is_b: bool) -> Callable[[tuple[int, int, int]], Traced]:
    def traced(size: tuple[int, int, int]) -> Traced:
        m, n, k = size
        of_a, of_b = ((k, m) if is_a else (m, k)), ((n, k) if is_b else (k, n))

        @T.prim_func
        def kernel(
            A: T.Tensor(of_a, T.bfloat16),
            B: T.Tensor(of_b, T.bfloat16),
            C: T.Tensor((m, n), T.bfloat16),
        ):
            with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 64)) as (bx, by):
                a = T.alloc_shared((32, 64) if is_a else (64, 32), T.bfloat16)
                b = T.alloc_shared((32, 32), T.bfloat16)
                c = T.alloc_fragment((64, 32), T.float32)
                T.clear(c)
                for k_block in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                    if is_a:
                        T.copy(A[k_block * 32, by * 64], a)
                    else:
                        T.copy(A[by * 64, k_block * 32], a)
                    if is_b:
                        T.copy(B[bx * 32, k_block * 32], b)
                    else:
                        T.copy(B[k_block * 32, bx * 32], b)
                    T.gemm(a, b, c, transpose_A=is_a, transpose_B=is_b)
                T.copy(c, C[by * 64, bx * 32])

        bf16 = ml_dtypes.bfloat16
        return Traced(kernel, (_random(*of_a, dtype=bf16), _random(*of_b, dtype=bf16)))

    return traced


def _attention(is_causal: bool) -> Callable[[tuple[int, int, int]], Traced]:
    def traced(size: tuple[int, int, int]) -> Traced:
        context = size[1]
        shape = 1, context, 2, 32
        q, k, v = (_random(*shape, dtype=np.float16) * np.float16(n) for n in (1, -1, 0.5))
        kernel = load("attention").attention(1, 2, context, 32, is_causal, block_M=32)
        return _eager(kernel, (q, k, v))

    return traced


KERNELS: dict[str, Callable[[tuple[int, int, int]], Traced]] = {
    "gemm": _gemm,
    "gemm fp16, blocks of 4 tiles": lambda size: _gemm(
        size, "float16", block_M=64, block_N=64, block_K=64
    ),
    "gemm fp32": lambda size: _gemm(size, "float32", block_M=64, block_N=32),
    "gemm and relu": _gemm_relu,
    "addition": _add,
    "rms norm": _rms_norm("rms_norm"),
    "rms norm in chunks": _rms_norm("rms_norm_in_pieces"),
    "softmax": _softmax,
    "online softmax": _online_softmax,
    "cast fp32 to bf16": _cast("float32", "bfloat16"),
    "cast bf16 to fp32": _cast("bfloat16", "float32"),
    "split K": _split_k,
    "batched": _batched,
    "transposed A": _transposed(True, False),
    "transposed B": _transposed(False, True),
    "transposed A and B": _transposed(True, True),
    "attention": _attention(False),
    "causal attention": _attention(True),
}
