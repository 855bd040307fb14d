"""What `benchmarks/raised.py` launches: `tl` kernels of this repository, for two compilers.

A case names a module of kernels, which is loaded once for each compiler, and makes the launches of
one call from arrays that a factory supplies. Nothing here needs a GPU, so that the cases can be
compiled, and checked on the host, anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

KERNELS, TUTORIALS = "kernels", "tutorial_kernels"
"""The modules of kernels beside this file; other names are examples of `examples/tl`."""
LOG2_E = 1.4426950408889634


class Arrays(Protocol):
    """Makes the arrays of a case; the same values for every compiler."""

    num_cores: int

    def random(self, *shape: int, type: str = "float16", scale: float = 1.0) -> Any: ...

    def uniform(self, *shape: int) -> Any:
        """float32 between 0 and 1."""
        ...

    def small_float(self, *shape: int) -> Any:
        """float8_e4m3fn."""
        ...

    def integers(self, low: int, high: int, *shape: int, type: str) -> Any: ...

    def empty(self, *shape: int, type: str = "float16") -> Any:
        """An output, poisoned before each check."""
        ...

    def zeros(self, *shape: int, type: str) -> Any:
        """Filled with zeros before each call."""
        ...

    def given(self, values: Sequence[Any], type: str) -> Any:
        """An array of these integers."""
        ...

    def addresses(self, arrays: Sequence[Any]) -> Any:
        """Where arrays are, as an array of int64."""
        ...

    def descriptor(self, module: ModuleType, array: Any, block: list[int]) -> Any: ...


@dataclass(frozen=True)
class Launch:
    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Call:
    """The launches of one call, and where its results are."""

    launches: tuple[Launch, ...]
    outputs: tuple[Any, ...]
    reached: tuple[Any, ...] = ()
    """Arrays that the kernel finds by their addresses in memory, beside `outputs`."""


@dataclass(frozen=True)
class Case:
    title: str
    module: str
    flops: float
    make: Callable[[ModuleType, Arrays], Call]
    limit: float | None = None
    """How fast it must be, as a share of the peer; None: it counts in the means alone."""
    tolerance: float = 2e-3
    tutorial: int | None = None
    """The tutorial of Triton that has such a kernel."""


def cdiv(left: int, right: int) -> int:
    return -(-left // right)


# -- memory ----------------------------------------------------------------------------------------

_COUNT = 1 << 26


def _add(module: ModuleType, arrays: Arrays) -> Call:
    x, y = (arrays.random(_COUNT, type="float32") for _ in range(2))
    out = arrays.empty(_COUNT, type="float32")
    grid = (cdiv(_COUNT, 1024),)
    launch = Launch(module.add_kernel, grid, (x, y, out, _COUNT), {"BLOCK": 1024})
    return Call((launch,), (out,))


def _softmax(module: ModuleType, arrays: Arrays) -> Call:
    rows, columns = 8192, 8192
    x, out = arrays.random(rows, columns), arrays.empty(rows, columns)
    options = {"BLOCK": columns, "num_warps": 8}
    return Call((Launch(module.softmax_kernel, (rows,), (x, out, columns), options),), (out,))


def _rows(module: ModuleType, arrays: Arrays) -> Call:
    rows, columns = 16384, 3072
    x, out = (
        arrays.random(rows, columns, type="float32"),
        arrays.empty(rows, columns, type="float32"),
    )
    launch = Launch(
        module.softmax_kernel,
        (arrays.num_cores * 4,),
        (out, x, columns, columns, rows, columns),
        {"BLOCK": 4096, "STAGES": 2, "num_warps": 8},
    )
    return Call((launch,), (out,))


def _dropout(module: ModuleType, arrays: Arrays) -> Call:
    x, out = arrays.random(_COUNT, type="float32"), arrays.empty(_COUNT, type="float32")
    grid = (cdiv(_COUNT, 1024),)
    launch = Launch(module.dropout_kernel, grid, (x, out, _COUNT, 0.4, 1234), {"BLOCK": 1024})
    return Call((launch,), (out,))


def _layer_norm(module: ModuleType, arrays: Arrays) -> Call:
    rows, columns = 8192, 4096
    x, y = arrays.random(rows, columns), arrays.empty(rows, columns)
    weight, bias = arrays.random(columns), arrays.random(columns)
    mean, rstd = (arrays.empty(rows, type="float32") for _ in range(2))
    launch = Launch(
        module.forward_kernel,
        (rows,),
        (x, y, weight, bias, mean, rstd, columns, columns, 1e-5),
        {"BLOCK": 4096, "num_warps": 8},
    )
    return Call((launch,), (y, mean, rstd))


def _grads(module: ModuleType, arrays: Arrays) -> Call:
    rows, columns, groups = 8192, 4096, 96
    x, dy, dx = (
        arrays.random(rows, columns),
        arrays.random(rows, columns),
        arrays.empty(rows, columns),
    )
    weight = arrays.random(columns)
    mean, rstd = (arrays.random(rows, type="float32") for _ in range(2))
    partial_w, partial_b = (arrays.empty(groups, columns, type="float32") for _ in range(2))
    dw, db = (arrays.empty(columns, type="float32") for _ in range(2))
    locks = arrays.zeros(2 * groups, type="int32")
    backward = Launch(
        module.backward_kernel,
        (rows,),
        (dx, dy, partial_w, partial_b, x, weight, mean, rstd, locks, columns, columns),
        {"GROUPS": groups, "BLOCK": 4096, "num_warps": 8},
    )
    reduce = Launch(
        module.reduce_kernel,
        (cdiv(columns, 128),),
        (partial_w, partial_b, dw, db, groups, columns),
        {"BLOCK_M": 32, "BLOCK_N": 128},
    )
    return Call((backward, reduce), (dx, dw, db))


def _rms_norm(module: ModuleType, arrays: Arrays) -> Call:
    rows, columns = 16384, 4096
    x, out = (
        arrays.random(rows, columns, type="bfloat16"),
        arrays.empty(rows, columns, type="bfloat16"),
    )
    weight = arrays.random(columns, type="bfloat16")
    options = {"BLOCK": 4096, "num_warps": 8}
    arguments = (x, weight, out, columns, columns, 1e-6)
    return Call((Launch(module.rms_norm_kernel, (rows,), arguments, options),), (out,))


def _cross_entropy(module: ModuleType, arrays: Arrays) -> Call:
    rows, classes = 4096, 16000
    logits = arrays.random(rows, classes, type="float32")
    labels = arrays.integers(0, classes, rows, type="int64")
    loss, grad = arrays.empty(rows, type="float32"), arrays.empty(rows, classes, type="float32")
    launch = Launch(
        module.cross_entropy_kernel,
        (rows,),
        (logits, labels, loss, grad, classes, classes, -100, 1 / rows),
        {"BLOCK": 2048, "num_warps": 8},
    )
    return Call((launch,), (loss, grad))


# -- GEMMs and attention ---------------------------------------------------------------------------

_SIZE = 4096


def _matmul(module: ModuleType, arrays: Arrays) -> Call:
    a, b, c = arrays.random(_SIZE, _SIZE), arrays.random(_SIZE, _SIZE), arrays.empty(_SIZE, _SIZE)
    launch = Launch(
        module.matmul_kernel,
        (_SIZE // 128 * (_SIZE // 256),),
        (a, b, c, _SIZE, _SIZE, _SIZE),
        {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3},
    )
    return Call((launch,), (c,))


def _matmul_strides(module: ModuleType, arrays: Arrays) -> Call:
    """Strides of every dimension are arguments."""
    a, b, c = arrays.random(_SIZE, _SIZE), arrays.random(_SIZE, _SIZE), arrays.empty(_SIZE, _SIZE)
    launch = Launch(
        module.matmul_kernel,
        (_SIZE // 128 * (_SIZE // 256),),
        (a, b, c, _SIZE, _SIZE, _SIZE, *[_SIZE, 1] * 3),
        {
            "BLOCK_M": 128,
            "BLOCK_N": 256,
            "BLOCK_K": 64,
            "GROUP": 8,
            "ACTIVATION": "",
            "num_warps": 8,
            "num_stages": 3,
        },
    )
    return Call((launch,), (c,))


def _persistent_matmul(module: ModuleType, arrays: Arrays) -> Call:
    a, b, c = arrays.random(_SIZE, _SIZE), arrays.random(_SIZE, _SIZE), arrays.empty(_SIZE, _SIZE)
    descriptors = (
        arrays.descriptor(module, a, [128, 64]),
        arrays.descriptor(module, b, [64, 256]),
        arrays.descriptor(module, c, [128, 256]),
    )
    launch = Launch(
        module.matmul_tma_kernel,
        (arrays.num_cores,),
        (*descriptors, _SIZE, _SIZE, _SIZE),
        {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3},
    )
    return Call((launch,), (c,))


def _attention(module: ModuleType, arrays: Arrays) -> Call:
    heads, context, head, (rows, keys) = 64, 4096, 128, (128, 64)
    q, k, v = (arrays.random(heads * context, head) for _ in range(3))
    out = arrays.empty(heads * context, head)
    blocks = (rows, keys, keys, rows)
    descriptors = [
        arrays.descriptor(module, array, [block, head])
        for array, block in zip((q, k, v, out), blocks, strict=True)
    ]
    launch = Launch(
        module.attention_kernel,
        (context // rows, heads),
        (*descriptors, LOG2_E / head**0.5, context),
        {
            "HEAD": head,
            "BM": rows,
            "BN": keys,
            "CAUSAL": True,
            "num_warps": 8,
            "num_stages": 3,
        },
    )
    return Call((launch,), (out,))


def _by_pointers(module: ModuleType, arrays: Arrays) -> Call:
    heads, context, head = 64, 4096, 64
    q, k, v = (arrays.random(heads, context, head) for _ in range(3))
    out, lse = arrays.empty(heads, context, head), arrays.empty(heads, context, type="float32")
    strides = [context * head, head] * 4
    launch = Launch(
        module.attention_kernel,
        (context // 128, heads),
        (q, k, v, out, lse, head**-0.5, *strides, context),
        {
            "HEAD": head,
            "BLOCK_M": 128,
            "BLOCK_N": 64,
            "CAUSAL": True,
            "num_warps": 4,
            "num_stages": 3,
        },
    )
    return Call((launch,), (out, lse))


def _scaled(module: ModuleType, arrays: Arrays) -> Call:
    size = 2048
    a, b = arrays.small_float(size, size), arrays.small_float(size, size)
    scales = [arrays.integers(120, 132, size, size // 32, type="uint8") for _ in range(2)]
    out = arrays.empty(size, size, type="float32")
    launch = Launch(
        module.scaled_kernel,
        (size // 128, size // 128),
        (a, scales[0], b, scales[1], out, size, size, size),
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "VEC": 32, "num_warps": 8},
    )
    return Call((launch,), (out,))


_CUBE = 2.0 * _SIZE**3
_SCORES = 2.0 * 64 * 4096 * 4096
"""Work of causal attention, for each element of a head."""
CASES = (
    Case("vector add, 64M f32", KERNELS, _COUNT, _add, 0.97, 1e-7, 1),
    Case("softmax, 8192 x 8192 f16", KERNELS, 5.0 * 8192 * 8192, _softmax, 0.97),
    Case(
        "softmax, persistent, 16384 x 3072 f32", "softmax", 5.0 * 16384 * 3072, _rows, 0.97, 2e-3, 2
    ),
    Case(
        "layer norm, 8192 x 4096 f16", "layer_norm", 8.0 * 8192 * 4096, _layer_norm, 0.97, 2e-3, 5
    ),
    Case(
        "layer norm backward, 8192 x 4096 f16",
        "layer_norm",
        14.0 * 8192 * 4096,
        _grads,
        0.97,
        1e-2,
        5,
    ),
    Case("dropout, 64M f32", "dropout", _COUNT, _dropout, None, 1e-6, 4),
    Case("rms norm, 16384 x 4096 bf16", "rms_norm", 4.0 * 16384 * 4096, _rms_norm, None, 1e-2),
    Case("cross entropy, 4096 x 16000 f32", "cross_entropy", 8.0 * 4096 * 16000, _cross_entropy),
    Case("matmul by pointers, 4096 cubed f16", KERNELS, _CUBE, _matmul, 0.95, tutorial=9),
    Case(
        "matmul by pointers, all strides given", "matmul", _CUBE, _matmul_strides, 0.95, tutorial=3
    ),
    Case("matmul, persistent, descriptors", KERNELS, _CUBE, _persistent_matmul, 0.98, tutorial=9),
    Case("attention, causal, d128, descriptors", KERNELS, _SCORES * 128, _attention, 1.0, 4e-3, 6),
    Case(
        "attention, causal, d64, pointers", "attention", _SCORES * 64, _by_pointers, None, 4e-3, 6
    ),
    Case(
        "scaled matmul, 2048 cubed mxfp8",
        "block_scaled_matmul",
        2.0 * 2048**3,
        _scaled,
        None,
        1e-2,
        10,
    ),
)
MEAN = 0.9
"""The limit of the geometric mean over all cases, and over those of the tutorials."""
