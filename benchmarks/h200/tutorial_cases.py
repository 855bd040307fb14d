"""What `benchmarks/raised.py` launches of `tutorial_kernels.py`: Triton's tutorials 04 to 11."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchmarks.h200.raised_cases import TUTORIALS, Arrays, Call, Case, Launch, cdiv

_COUNT, _SIZE = 1 << 26, 4096
_PROBLEMS = ((2048, 2048, 2048), (1024, 1024, 1024), (512, 512, 512), (256, 256, 256))
"""Rows, columns and depth of each GEMM of a group."""
_HEADS, _CONTEXT, _HEAD = 32, 4096, 64


def _elementwise(name: str, count: int) -> Any:
    """A kernel with so many inputs and one output."""

    def make(module: ModuleType, arrays: Arrays) -> Call:
        inputs = [arrays.uniform(_COUNT) for _ in range(count)]
        out = arrays.empty(_COUNT, type="float32")
        options: dict[str, Any] = {"BLOCK": 1024}
        if name == "dependent_add_kernel":
            options["launch_pdl"] = True
        launch = Launch(
            getattr(module, name), (cdiv(_COUNT, 1024),), (*inputs, out, _COUNT), options
        )
        return Call((launch,), (out,))

    return make


def _masked_dropout(module: ModuleType, arrays: Arrays) -> Call:
    x, keep = arrays.uniform(_COUNT), arrays.integers(0, 2, _COUNT, type="int32")
    out = arrays.empty(_COUNT, type="float32")
    grid = (cdiv(_COUNT, 1024),)
    launch = Launch(
        module.masked_dropout_kernel, grid, (x, keep, out, _COUNT, 0.5), {"BLOCK": 1024}
    )
    return Call((launch,), (out,))


_TILE = {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3}


def _described(module: ModuleType, arrays: Arrays) -> Call:
    a, b, c = arrays.random(_SIZE, _SIZE), arrays.random(_SIZE, _SIZE), arrays.empty(_SIZE, _SIZE)
    blocks = [[128, 64], [256, 64], [128, 256]]
    descriptors = [
        arrays.descriptor(module, array, block)
        for array, block in zip((a, b, c), blocks, strict=True)
    ]
    grid = (_SIZE // 128 * (_SIZE // 256),)
    launch = Launch(module.described_kernel, grid, (*descriptors, _SIZE, _SIZE, _SIZE), _TILE)
    return Call((launch,), (c,))


def _persistent_pointers(module: ModuleType, arrays: Arrays) -> Call:
    a, b, c = arrays.random(_SIZE, _SIZE), arrays.random(_SIZE, _SIZE), arrays.empty(_SIZE, _SIZE)
    arguments = (a, b, c, _SIZE, _SIZE, _SIZE, *[_SIZE, 1] * 3)
    launch = Launch(module.persistent_pointers_kernel, (arrays.num_cores,), arguments, _TILE)
    return Call((launch,), (c,))


def _own_descriptors(module: ModuleType, arrays: Arrays) -> Call:
    a, b, c = arrays.random(_SIZE, _SIZE), arrays.random(_SIZE, _SIZE), arrays.empty(_SIZE, _SIZE)
    arguments = (a, b, c, _SIZE, _SIZE, _SIZE)
    launch = Launch(module.own_descriptors_kernel, (arrays.num_cores,), arguments, _TILE)
    return Call((launch,), (c,))


def _grouped(name: str) -> Any:
    def make(module: ModuleType, arrays: Arrays) -> Call:
        is_transposed = name == "grouped_descriptors_kernel"
        a = [arrays.random(m, k) for m, _, k in _PROBLEMS]
        b = [arrays.random(*((n, k) if is_transposed else (k, n))) for _, n, k in _PROBLEMS]
        c = [arrays.empty(m, n) for m, n, _ in _PROBLEMS]
        sizes = [extent for problem in _PROBLEMS for extent in problem]
        strides = [stride for _, n, k in _PROBLEMS for stride in (k, k if is_transposed else n, n)]
        launch = Launch(
            getattr(module, name),
            (arrays.num_cores,),
            (
                *(arrays.addresses(each) for each in (a, b, c)),
                arrays.given(sizes, "int32"),
                arrays.given(strides, "int32"),
                len(_PROBLEMS),
            ),
            {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
        )
        return Call((launch,), tuple(c), (*a, *b))

    return make


def _backward(module: ModuleType, arrays: Arrays) -> Call:
    """What the forward pass leaves is drawn, too: only that values agree is compared."""
    shape = (_HEADS, _CONTEXT, _HEAD)
    k, v, out, grad = (arrays.random(*shape) for _ in range(4))
    q = arrays.random(*shape, scale=0.1)
    lse = arrays.uniform(_HEADS, _CONTEXT)
    delta = arrays.empty(_HEADS, _CONTEXT, type="float32")
    dq, dk, dv = (arrays.empty(*shape) for _ in range(3))
    prepare = Launch(
        module.delta_kernel,
        (_HEADS * _CONTEXT // 128,),
        (out, grad, delta),
        {"BM": 128, "HEAD": _HEAD},
    )
    backward = Launch(
        module.attention_backward_kernel,
        (_CONTEXT // 128, _HEADS),
        (q, k, v, grad, lse, delta, dq, dk, dv, _HEAD**-0.5, _CONTEXT),
        {"BLOCK": 128, "STEP": 32, "HEAD": _HEAD, "num_warps": 4, "num_stages": 5},
    )
    return Call((prepare, backward), (delta, dq, dk, dv))


_CUBE = 2.0 * _SIZE**3
_GROUP = sum(2.0 * m * n * k for m, n, k in _PROBLEMS)
TUTORIAL_CASES = (
    Case("dropout, mask given, 64M f32", TUTORIALS, _COUNT, _masked_dropout, None, 1e-6, 4),
    Case(
        "attention backward, causal, d64, pointers",
        TUTORIALS,
        5.0 * _HEADS * _CONTEXT**2 * _HEAD,
        _backward,
        None,
        1e-2,
        6,
    ),
    Case("asin, 64M f32", TUTORIALS, _COUNT, _elementwise("asin_kernel", 1), None, 1e-6, 7),
    Case("grouped GEMM, pointers", TUTORIALS, _GROUP, _grouped("grouped_kernel"), None, 2e-3, 8),
    Case(
        "grouped GEMM, descriptors",
        TUTORIALS,
        _GROUP,
        _grouped("grouped_descriptors_kernel"),
        None,
        2e-3,
        8,
    ),
    Case("matmul, descriptors", TUTORIALS, _CUBE, _described, None, 2e-3, 9),
    Case("matmul, persistent, pointers", TUTORIALS, _CUBE, _persistent_pointers, None, 2e-3, 9),
    Case("matmul, persistent, own descriptors", TUTORIALS, _CUBE, _own_descriptors, None, 2e-3, 9),
    Case(
        "vector add, dependent launch, 64M f32",
        TUTORIALS,
        _COUNT,
        _elementwise("dependent_add_kernel", 2),
        None,
        1e-7,
        11,
    ),
)
