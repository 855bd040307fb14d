"""Kernels that get the codes of the registry: what `tilewright explain` prints is what happens.

One small kernel for a code, compiled for a GPU (no GPU is needed) or run on the host, as its entry
shows it. Codes of IR have lit tests, those of wrong kernels have cases with their whole messages
(`tests/wrong_kernels`).
"""

from __future__ import annotations

import itertools
import linecache
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T, tl
from tilewright.ir.codes.registry import CODES
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, pretty_all
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of

_serial = itertools.count()


def built(source: str, name: str = "main") -> Any:
    """What `source` defines as `name`; kernels are compiled from text that linecache has."""
    source = textwrap.dedent(source).strip() + "\n"
    file = f"<explained {next(_serial)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"T": T, "np": np, "tl": tl, "tw": tw}
    exec(compile(source, file, "exec"), names)
    return names[name]


def tile_kernel(parameters: str, body: str, launch: str = "T.Kernel(1, threads=128)") -> Any:
    """A kernel of one block."""
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    head = f"@T.prim_func\ndef main({parameters}):\n    with {launch} as bx:\n"
    return built(f"{head}{inner}")


def reports_of(make: Callable[[], Any], target: str) -> str:
    """All diagnostics of a kernel on its way to CUDA."""
    engine = DiagnosticEngine()
    try:
        module = make().module.clone()
        GpuPipeline(target=target).run(module, engine)
        if not engine.has_errors:
            for kernel in kernels_of(module):
                emit_kernel(kernel)
    except CompileError as error:
        return str(error)
    return pretty_all(engine.diagnostics, engine.sources)


# -- compiled for a GPU --------------------------------------------------------------------------

VECTORS = 'A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")'
HALVES = 'A: T.Tensor((64, 256), "float16"), B: T.Tensor((64, 64), "float32")'
ROLES = 'A: T.Tensor((64, 256), "float16"), B: T.Tensor((64, 64), "float16")'
GEMM = """
    S = T.alloc_shared((64, 64), "float16")
    C = T.alloc_fragment((64, 64), "float32")
    T.clear(C)
    for k in T.Pipelined(4, {schedule}):
        T.copy(A[0, k * 64], S)
        T.gemm(S, S, C)
    T.copy(C, B)
"""

COMPILED: dict[str, tuple[str, str]] = {
    "TW1020": (
        'A: T.Tensor((64,), "float32")',
        "with T.Kernel(1, threads=128) as by:\n    A[0] = 0.0",
    ),
    "TW1022": ('A: T.Tensor((32, 64), "float32")', "A[bx] = 0.0"),
    "TW1023": ('A: T.Tensor((64,), "float32")', "while True:\n    A[0] = 0.0"),
    "TW1024": (
        'A: T.Tensor((64,), "float32")',
        'S = T.alloc_shared((64,), "float32")\nfor x in S:\n    A[0] = 0.0',
    ),
    "TW1025": (
        'A: T.Tensor((64,), "float32")',
        "for i in T.Parallel(64):\n    if A[i] < 0:\n        break",
    ),
    "TW1026": ('A: T.Tensor((64,), "float32")', "for i in T.serial(0, 64, 0):\n    A[i] = 0.0"),
    "TW1027": ('A: T.Tensor((64,), "float32")', "T.mma_gemm_blockscaled(A, A, A)"),
    "TW1028": (
        'A: T.Tensor((64,), "float32")',
        """
        A_shared = T.alloc_shared((32, 64), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C = T.alloc_fragment((32, 32), "float32")
        T.gemm(A_shared, B_shared, C)
        """,
    ),
    "TW1029": (
        'A: T.Tensor((64,), "float32")',
        'S = T.alloc_shared((64,), "float16")\nT.async_copy(A[0:64], S)',
    ),
    "TW1030": ('A: T.Tensor((64,), "float32")', 'M = T.const("M")'),
    "TW1034": (
        'A: T.Tensor((64,), "float32"), n: T.int32',
        "values = []\nfor i in T.serial(n):\n    values.append(i)",
    ),
    "TW1036": (
        'A: T.Tensor((64,), "float32"), n: T.int32',
        "for i in T.unroll(n, explicit=True):\n    A[i] = 0.0",
    ),
    "TW1037": (
        'A: T.Tensor((100000,), "float32")',
        "for i in T.unroll(100000, explicit=True):\n    A[i] = 0.0",
    ),
    "TW2001": (
        'A: T.Tensor((64,), "float32")',
        """
        a = T.alloc_fragment((64, 64), "float32")
        f = T.alloc_fragment((64,), "float32")
        T.clear(a)
        T.reduce_sum(a, f)
        A[0] = f[3]
        """,
    ),
    "TW2010": (
        VECTORS,
        'r = T.alloc_reducer((64,), "float32")\nT.fill(r, 0)\nT.fill(r, 0)\nT.finalize_reducer(r)',
    ),
    "TW2011": (
        VECTORS,
        """
        r = T.alloc_reducer((64,), "float32")
        T.fill(r, 0)
        T.finalize_reducer(r)
        T.finalize_reducer(r)
        """,
    ),
    "TW2012": (
        VECTORS,
        """
        r = T.alloc_reducer((64,), "float32")
        T.fill(r, 0)
        for i in T.Parallel(64):
            A[i] = r[i]
        T.finalize_reducer(r)
        """,
    ),
    "TW2013": (
        VECTORS,
        """
        r = T.alloc_reducer((64,), "float32")
        T.fill(r, 0)
        T.finalize_reducer(r)
        for i in T.Parallel(64):
            r[i] += 1
        """,
    ),
    "TW2020": (
        HALVES,
        """
        S = T.alloc_shared((64, 64), "float16")
        C = T.alloc_fragment((64, 64), "float32")
        T.annotate_layout({C: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})
        T.copy(A[0:64, 0:64], S)
        T.gemm(S, S, C, clear_accum=True)
        T.copy(C, B)
        """,
    ),
    "TW2021": (
        'A: T.Tensor((64,), "float32"), n: T.int32',
        "for i in T.Parallel(n):\n    A[i] = 0.0",
    ),
    "TW2022": (
        'A: T.Tensor((64,), "float32"), I: T.Tensor((64,), "int32")',
        """
        f = T.alloc_fragment((64,), "float32")
        T.annotate_layout({f: T.Fragment((64,), forward_fn=lambda i: (i, 0))})
        T.clear(f)
        for i in T.Parallel(64):
            A[i] = f[I[i]]
        """,
    ),
    "TW2024": (
        'A: T.Tensor((64,), "float32")',
        """
        f = T.alloc_fragment((8,), "float32")
        for i in T.Parallel(64):
            f[i] = A[0]
        for i in T.Parallel(64):
            A[i] = f[i]
        """,
    ),
    "TW2023": (
        'A: T.Tensor((64,), "float32"), I: T.Tensor((64,), "int32")',
        """
        f = T.alloc_fragment((64,), "float32")
        T.clear(f)
        for i in T.Parallel(64):
            A[i] = f[I[i]]
        """,
    ),
    "TW3002": (
        'A: T.Tensor((64, 100), "float16")',
        'S = T.alloc_shared((64, 64), "float16")\nT.clear(S)\nT.copy(S, A[0, 1])',
    ),
    "TW3006": (
        HALVES,
        """
        S = T.alloc_shared((32, 64), "float16")
        C = T.alloc_fragment((32, 32), "float32")
        T.copy(A[0:32, 0:64], S)
        T.gemm(S, S, C, transpose_B=True, clear_accum=True)
        T.copy(C, B[0:32, 0:32])
        """,
    ),
    "TW3007": (
        'A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")',
        """
        S = T.alloc_shared((64, 64), "float32")
        C = T.alloc_fragment((64, 64), "float32")
        T.copy(A, S)
        T.gemm(S, S, C, clear_accum=True)
        T.copy(C, B)
        """,
    ),
    "TW3008": (
        'A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "float16")',
        """
        S = T.alloc_shared((64, 64), "bfloat16")
        C = T.alloc_fragment((64, 64), "float16")
        T.copy(A, S)
        T.gemm(S, S, C, clear_accum=True)
        T.copy(C, B)
        """,
    ),
    "TW3010": (
        'A: T.Tensor((64, 101), "float16"), B: T.Tensor((64, 64), "float16")',
        'S = T.alloc_shared((64, 64), "float16")\nT.copy(A[0:64, 0:64], S)\nT.copy(S, B)',
    ),
    "TW3015": (
        ROLES,
        """
        S = T.alloc_shared((64, 64), "float16")
        full = T.alloc_barrier(128)
        T.tma_copy(A[0, 1], S, barrier=full)
        T.mbarrier_arrive(full)
        T.mbarrier_wait_parity(full, 0)
        T.copy(S, B)
        """,
    ),
    "TW3016": (
        ROLES + ", column: T.int32",
        """
        S = T.alloc_shared((64, 64), "float16")
        full = T.alloc_barrier(128)
        T.tma_copy(A[0, column], S, barrier=full)
        T.mbarrier_arrive(full)
        T.mbarrier_wait_parity(full, 0)
        T.copy(S, B)
        """,
    ),
    "TW3020": (
        'A: T.Tensor((4096,), "float32")',
        "for i in T.unroll(4096):\n    A[i] = A[i] + 1.0",
    ),
    "TW3030": (
        VECTORS,
        """
        S = T.alloc_shared((64,), "float32")
        for i in T.Parallel(63):
            S[i] = A[i]
            S[i + 1] = B[i]
        T.copy(S, B)
        """,
    ),
    "TW3031": (
        VECTORS,
        """
        S = T.alloc_shared((64,), "float32")
        T.clear(S)
        for i in T.Parallel(63):
            S[i] = S[i + 1]
        T.copy(S, B)
        """,
    ),
    "TW3040": (
        HALVES,
        """
        S = T.alloc_shared((64, 64), "float16")
        C = T.alloc_fragment((64, 64), "float32")
        T.copy(A[0:64, 0:64], S)
        T.gemm(S, S, C)
        T.copy(C, B)
        """,
    ),
    "TW4021": (
        'A: T.Tensor((64, 100), "float16"), A2: T.Tensor((64, 128), "float16"), '
        'B: T.Tensor((64, 64), "float32")',
        """
        S = T.alloc_shared((64, 32), "float16")
        S2 = T.alloc_shared((64, 32), "float16")
        C = T.alloc_fragment((64, 64), "float32")
        T.clear(C)
        for k in T.Pipelined(3, num_stages=3):
            T.copy(A[0, k * 32], S)
            T.copy(A2[0, k * 32], S2)
            T.gemm(S, S2, C, transpose_B=True)
        T.copy(C, B)
        """,
    ),
    "TW4040": (HALVES, GEMM.format(schedule="stage=[0, 1, 1], order=[0, 1, 2]")),
    "TW4042": (HALVES, GEMM.format(schedule="stage=[1, 0], order=[0, 1]")),
    "TW4043": (
        HALVES,
        """
        S = T.alloc_shared((64, 64), "float16")
        C = T.alloc_fragment((64, 64), "float32")
        T.clear(C)
        T.clear(S)
        for k in T.Pipelined(2, stage=[0, 2], order=[0, 1]):
            T.copy(A[k * 32, 0], S[0:32, 0:64])
            T.gemm(S, S, C)
        T.copy(C, B)
        """,
    ),
    "TW4044": (
        HALVES,
        """
        S = T.alloc_shared((64, 64), "float16")
        for k in T.Pipelined(4, stage=[0, 0, 1], order=[0, 1, 2]):
            x = B[0, k]
            T.copy(A[0, k * 64], S)
            B[1, k] = x
        """,
    ),
    "TW4045": (
        HALVES,
        """
        C = T.alloc_fragment((64, 64), "float32")
        T.clear(C)
        for k in T.Pipelined(4, num_stages=3):
            for i, j in T.Parallel(64, 64):
                C[i, j] += A[i, j + k * 64]
        T.copy(C, B)
        """,
    ),
    "TW4072": (
        VECTORS,
        """
        S = T.alloc_shared((64,), "float32")
        tx = T.get_thread_binding()
        if tx < 48:
            S[tx] = A[tx]
            B[tx] = S[47 - tx]
        """,
    ),
    "TW4073": (
        VECTORS,
        """
        S = T.alloc_shared((64,), "float32")
        tx = T.get_thread_binding()
        if tx < 48:
            T.copy(A[0:64], S)
        T.copy(S, B)
        """,
    ),
    "TW4088": (
        'A: T.Tensor((128,), "float32")',
        """
        S = T.alloc_shared((128,), "float32")
        full = T.alloc_barrier(128)
        tx = T.get_thread_binding()
        S[tx + 1] = A[0]
        T.mbarrier_arrive(full)
        T.mbarrier_wait_parity(full, 0)
        A[tx] = S[tx]
        """,
    ),
    "TW4089": (
        'A: T.Tensor((64,), "float32"), I: T.Tensor((64,), "int32")',
        """
        S = T.alloc_shared((64,), "float32")
        T.clear(S)
        tx = T.get_thread_binding()
        if tx < 64:
            S[I[tx]] = A[0]
        T.sync_threads()
        A[tx % 64] = S[tx % 64]
        """,
    ),
    "TW5001": (
        'A: T.Tensor((256, 1024), "float32"), B: T.Tensor((256, 128), "float32")',
        """
        S = T.alloc_shared((256, 128), "float32")
        C = T.alloc_fragment((256, 128), "float32")
        T.clear(C)
        for k in T.Pipelined(8, num_stages=4):
            T.copy(A[0, k * 128], S)
            for i, j in T.Parallel(256, 128):
                C[i, j] += S[i, j]
        T.copy(C, B)
        """,
    ),
    "TW5010": (
        'A: T.Tensor((128,), "float32"), I: T.Tensor((128,), "int32")',
        """
        L = T.alloc_local((8,), "float32")
        tx = T.get_thread_binding()
        for j in T.unroll(8):
            L[j] = A[j]
        A[tx] = L[I[tx]]
        """,
    ),
    "TW5011": (
        'B: T.Tensor((256, 256), "float32")',
        'C = T.alloc_fragment((256, 256), "float32")\nT.clear(C)\nT.copy(C, B)',
    ),
    "TW6006": ('A: T.Tensor((64, 64), "float8_e4m3fnuz")', "A[0, 0] = 0.0"),
    "TW6017": (
        'A: T.Tensor((8, 16), "int4"), B: T.Tensor((8, 16), "int4")',
        "for i, j in T.Parallel(8, 16):\n    B[i, (j + 1) % 16] = A[i, j]",
    ),
    "TW6014": (VECTORS, "T.annotate_l2_hit_ratio({A: 1.5})\nA[0] = 0.0"),
    "TW6015": (VECTORS, "T.annotate_l2_hit_ratio({A: 0.8})\nT.atomic_add(A[0], 1.0)"),
    "TW6211": ('A: T.Tensor((64,), "int8")', "T.atomic_add(A[0], 1)"),
    "TW9021": (
        'A: T.Tensor((64, 32), "float32"), B: T.Tensor((64,), "float32")',
        """
        row = T.alloc_shared((64,), "float32")
        for i, j in T.Parallel(64, 32):
            row[i] = A[i, j]
        T.copy(row, B)
        """,
    ),
    "TW9023": (
        HALVES,
        """
        S = T.alloc_shared((64, 64), "float16")
        C = T.alloc_fragment((64, 64), "float32")
        T.copy(A[0:64, 0:64], S)
        T.wgmma_gemm(S, S, C, clear_accum=True)
        T.copy(C, B)
        """,
    ),
    "TW9028": (
        'A: T.Tensor((128,), "float32")',
        """
        S = T.alloc_shared((128,), "float32")
        tx = T.get_thread_binding()
        S[tx + 1] = A[0]
        T.sync_threads()
        A[tx] = S[tx]
        """,
    ),
}


@pytest.mark.parametrize("code", COMPILED)
def test_compiled_kernels(code: str) -> None:
    text = reports_of(lambda: tile_kernel(*COMPILED[code]), "cuda:sm_90a")
    assert f"{CODES[code].severity}[{code}]" in text


OTHER_TARGETS: dict[str, tuple[str, str, str]] = {
    "TW3005": (
        "T.Kernel(1, threads=128)",
        'A: T.Tensor((64, 64), "float8_e4m3fn"), B: T.Tensor((64, 64), "float32")',
        """
        S = T.alloc_shared((64, 64), "float8_e4m3fn")
        C = T.alloc_fragment((64, 64), "float32")
        T.copy(A, S)
        T.gemm(S, S, C, clear_accum=True)
        T.copy(C, B)
        """,
    ),
    "TW4001": (
        "T.Kernel(1, threads=128)",
        VECTORS,
        "full = T.alloc_barrier(128)\nT.mbarrier_arrive(full)",
    ),
    "TW4020": ("T.Kernel(1, threads=128)", HALVES, GEMM.format(schedule="num_stages=3")),
    "TW6008": ("T.ClusterKernel(8, cluster_dims=(2, 1, 1), threads=128)", VECTORS, "A[0] = 0.0"),
}


@pytest.mark.parametrize("code", OTHER_TARGETS)
def test_kernels_for_ampere(code: str) -> None:
    launch, parameters, body = OTHER_TARGETS[code]
    text = reports_of(lambda: tile_kernel(parameters, body, launch), "cuda:sm_80")
    assert f"{CODES[code].severity}[{code}]" in text


MULTICAST = """
    S = T.alloc_shared((64, 64), "float16")
    full = T.alloc_barrier(128)
    T.tma_copy(A[0, 0], S, barrier=full, cluster_mask={mask})
    T.mbarrier_arrive(full)
    T.mbarrier_wait_parity(full, 0)
    T.copy(S, B)
"""
LAUNCHED: dict[str, tuple[str, str]] = {
    "TW4004": ("T.ClusterKernel(8, cluster_dims=(2, 1, 1), threads=128)", MULTICAST.format(mask=3)),
    "TW4005": (
        "T.ClusterKernel(8, cluster_dims=(2, 1, 1), threads=128)",
        MULTICAST.format(mask=15),
    ),
    "TW6004": ("T.Kernel(100 // 128, threads=128)", "B[0, 0] = 0.0"),
    "TW6005": ("T.Kernel(8, 100000, threads=128)", "B[0, 0] = 0.0"),
    "TW6009": ("T.ClusterKernel(64, cluster_dims=(32, 1, 1), threads=128)", "B[0, 0] = 0.0"),
}


@pytest.mark.parametrize("code", LAUNCHED)
def test_grids_and_clusters(code: str) -> None:
    launch, body = LAUNCHED[code]
    text = reports_of(lambda: tile_kernel(ROLES, body, launch), "cuda:sm_90a")
    assert f"{CODES[code].severity}[{code}]" in text


IN_ROLES: dict[str, tuple[int, str, str]] = {
    # the arrive count of `full`, the producer and the consumer
    "TW4050": (
        1,
        """
        if T.get_thread_binding() == 0:
            T.mbarrier_arrive_expect_tx(full, 4096)
            T.tma_copy(A[0, 0], S, barrier=full)
        """,
        "T.mbarrier_wait_parity(full, 0)\nT.copy(S, B)",
    ),
    "TW4051": (
        128,
        "T.mbarrier_wait_parity(empty, 0)\nT.copy(A[0:64, 0:64], S)\nT.mbarrier_arrive(full)",
        "T.mbarrier_wait_parity(full, 0)\nT.copy(S, B)\nT.mbarrier_arrive(empty)",
    ),
    "TW4052": (128, "T.copy(A[0:64, 0:64], S)\nT.mbarrier_arrive(full)", "T.copy(S, B)"),
    "TW4053": (
        1,
        "T.copy(A[0:64, 0:64], S)\nT.mbarrier_arrive(full)",
        "T.mbarrier_wait_parity(full, 0)\nT.copy(S, B)",
    ),
    "TW4054": (
        128,
        "T.copy(A[0:64, 0:64], S)\nT.mbarrier_arrive(full)",
        "T.mbarrier_wait_parity(full, 1)\nT.copy(S, B)",
    ),
    "TW4083": (
        128,
        "T.copy(A[0:64, 0:64], S)\nT.mbarrier_arrive(full)",
        """
        C = T.alloc_fragment((64, 64), "float32")
        T.mbarrier_wait_parity(full, 0)
        T.wgmma_gemm(S, S, C, clear_accum=True)
        T.copy(C, B)
        """,
    ),
}


@pytest.mark.parametrize("code", IN_ROLES)
def test_kernels_with_roles(code: str) -> None:
    count, *roles = IN_ROLES[code]
    producer, consumer = (
        textwrap.indent(textwrap.dedent(role).strip("\n"), " " * 4) for role in roles
    )
    body = (
        'S = T.alloc_shared((64, 64), "float16")\n'
        f"full = T.alloc_barrier({count})\n"
        "empty = T.alloc_barrier(128)\n"
        f"with T.ws(0):\n{producer}\n"
        f"with T.ws(1):\n{consumer}\n"
    )
    text = reports_of(lambda: tile_kernel(ROLES, body, "T.Kernel(1, threads=256)"), "cuda:sm_90a")
    assert f"error[{code}]" in text


# -- run on the host -----------------------------------------------------------------------------


def zeros(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(shape, dtype)


def read_only() -> np.ndarray:
    array = zeros(4)
    array.flags.writeable = False
    return array


def descriptor() -> tw.TensorDescriptor:
    return tw.TensorDescriptor(zeros(64, 128, dtype="float16"), (64, 128), (128, 1), (64, 64))


BLOCK = "offsets = tl.program_id(0) * 16 + tl.arange(0, 16)"
LAUNCHES: dict[str, tuple[str, str, Callable[[Any], object]]] = {
    # parameters, statements, the launch
    "TW1001": ("x_ptr, n", "for i in range(n):\n    break", lambda k: k[1,](zeros(4), 4)),
    "TW1002": (
        "x_ptr, n",
        "if n > 0:\n    x = 1\ntl.store(x_ptr, x)",
        lambda k: k[1,](zeros(4), 4),
    ),
    "TW1003": (
        "x_ptr, n",
        "total = 0\nfor i in range(n):\n    total = total + 0.5\ntl.store(x_ptr, total)",
        lambda k: k[1,](zeros(4), 4),
    ),
    "TW1004": ("x_ptr", "tl.store(x_ptr, 0.0)", lambda k: k(zeros(4))),
    "TW1006": ("x_ptr", "return tl.load(x_ptr)", lambda k: k[1,](zeros(4))),
    "TW1010": (
        "x_ptr",
        "x = tl.arange(0, 64) + tl.arange(0, 32)\ntl.store(x_ptr + x, x)",
        lambda k: k[1,](zeros(64)),
    ),
    "TW6001": (
        "x_ptr",
        'x = tl.arange(0, 16)\ny = tl.inline_asm_elementwise("lop3.b32 $0, $1, $1, $1, 0xE8;", '
        '"=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)\ntl.store(x_ptr + x, y)',
        lambda k: k[1,](zeros(16, dtype="int32")),
    ),
    "TW6010": (
        "x_ptr, n",
        f'{BLOCK}\ntl.device_assert(offsets < n, "index out of range")\ntl.store(x_ptr + offsets, 0.0)',
        lambda k: k[1,](zeros(16), 4, debug=True),
    ),
    "TW6011": (
        "x_ptr, y_ptr, n",
        f"{BLOCK}\nx = tl.load(x_ptr + offsets, mask=offsets < n)\ntl.store(y_ptr + offsets, x)",
        lambda k: k[1,](zeros(16), zeros(16), 4),
    ),
    "TW6012": (
        "lock_ptr",
        "while tl.atomic_cas(lock_ptr, 0, 1) == 1:\n    pass",
        lambda k: k[1,](np.ones(1, np.int32)),
    ),
    "TW6013": (
        "x_ptr, n, step",
        "for i in range(n, 0, step):\n    tl.store(x_ptr + i, 1.0)",
        lambda k: k[1,](zeros(16), 8, -1),
    ),
    "TW6020": ("x_ptr, n", "tl.store(x_ptr, n)", lambda k: k[4,](zeros(4))),
    "TW6101": ("x_ptr", f"{BLOCK}\ntl.store(x_ptr + offsets, 0.0)", lambda k: k[2,](zeros(20))),
    "TW6102": (
        "x_ptr, y_ptr",
        f"{BLOCK}\ntl.store(y_ptr, tl.sum(tl.load(x_ptr + offsets)))",
        lambda k: k[1,](zeros(4, 8)[:, ::2], zeros(1)),
    ),
    "TW6103": (
        "bytes_ptr, y_ptr",
        "p = (bytes_ptr + 2).to(tl.pointer_type(tl.int32))\ntl.store(y_ptr, tl.load(p))",
        lambda k: k[1,](zeros(16, dtype="int8"), zeros(4, dtype="int32")),
    ),
    "TW6105": (
        "table_ptr, y_ptr",
        "p = tl.load(table_ptr).to(tl.pointer_type(tl.float32))\ntl.store(y_ptr, tl.load(p))",
        lambda k: k[1,](zeros(4, dtype="int64"), zeros(4)),
    ),
    "TW6106": ("x_ptr", "tl.store(x_ptr, 1.0)", lambda k: k[1,](read_only())),
    "TW6107": (
        "x_ptr, y_ptr",
        "tl.store(y_ptr, tl.load(x_ptr))",
        lambda k: k[1,](tw.empty(16, "float32"), zeros(4)),
    ),
    "TW6108": (
        "x_ptr",
        f"{BLOCK}\ntl.store(x_ptr + offsets % 16, tl.program_id(0) * 1.0)",
        lambda k: k[2,](zeros(16)),
    ),
    "TW6109": (
        "x_ptr",
        f"{BLOCK}\ntl.store(x_ptr + offsets, 1.0)",
        lambda k: k[1,](tw.empty(20, "float32")),
    ),
    "TW6110": (
        "x, y_ptr",
        "tl.store(y_ptr, tl.sum(x.load([0, 1])))",
        lambda k: k[1,](descriptor(), zeros(1)),
    ),
}


@pytest.mark.parametrize("code", LAUNCHES)
def test_launches(code: str) -> None:
    parameters, body, launch = LAUNCHES[code]
    inner = textwrap.indent(body, " " * 4)
    kernel = built(f"@tw.jit\ndef main({parameters}):\n{inner}")
    with tw.running(check_races=True), warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            launch(kernel)
        except Exception as error:
            text = str(error)
        else:
            text = "\n".join(str(each.message) for each in given)
    assert f"{CODES[code].severity}[{code}]" in text


def test_a_lambda_has_no_source() -> None:
    with pytest.raises(CompileError, match="TW1007"):
        tw.jit(lambda x_ptr: None)[1,](zeros(4))


EAGER: dict[str, tuple[str, str, tuple[object, ...]]] = {
    # parameters with their declarations, statements, arguments
    "TW1031": ("A: (M * M + M,)", "A[0] = 0.0", (zeros(13),)),
    "TW1032": ("A: (M,); B: (M,)", "A[0] = B[0]", (zeros(64), zeros(65))),
    "TW6030": ("A: (M,)", "A[0] = 0.0", (zeros(64)[::2],)),
    "TW6120": (
        "A: (M,); B: (M,)",
        'S = T.alloc_shared((64,), "float32")\nT.async_copy(A[0:64], S)\nB[0] = S[0]',
        (zeros(64), zeros(64)),
    ),
    "TW6121": (
        "A: (M,)",
        "full = T.alloc_barrier(256)\nT.mbarrier_arrive(full)\nT.mbarrier_wait_parity(full, 0)",
        (zeros(64),),
    ),
    "TW6124": ("A: (M,)", "T.assume(A[0] > 0)\nA[0] = 1.0", (zeros(64),)),
    "TW6125": (
        "A: (M,); B: (M,); N: (2,)",
        'n = T.cast(N[0], "int32")\nT.copy(A[0:n], B[0 : n + 1])',
        (zeros(64), zeros(64), zeros(2)),
    ),
    "TW6128": (
        "A: (M,)",
        'n = T.cast(A[1], "int32")\nA[0] = T.cast(8 // n, "float32")',
        (zeros(64),),
    ),
    "TW6141": ("A: (M,); B: (M,)", "for i in T.Parallel(64):\n    B[i] = A[i]", ()),
}


@pytest.mark.parametrize("code", EAGER)
def test_eager_kernels(code: str) -> None:
    declared, body, arguments = EAGER[code]
    if not arguments:
        arguments = (zeros(64),) * 2
    names = [each.split(":")[0].strip() for each in declared.split(";")]
    lines = [
        each.strip().replace(": ", ": T.Tensor(", 1) + ', "float32")'
        for each in declared.split(";")
    ]
    kernel = built(
        f"@tw.jit\ndef main({', '.join(names)}):\n"
        + textwrap.indent("\n".join(['M = T.const("M")', *lines]), " " * 4)
        + "\n    with T.Kernel(1, threads=128):\n"
        + textwrap.indent(body, " " * 8)
    )
    with pytest.raises(Exception, match=rf"{CODES[code].severity}\[{code}\]"):
        kernel(*arguments)
