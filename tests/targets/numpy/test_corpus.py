"""Kernels as Triton prints them: values against double precision, and batches against sequential runs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sampling import only
from tests.targets.numpy.kernels import compiled, same_bits
from tilewright.dialects import make_context
from tilewright.dialects.tt.types import PtrType, TensorDescType
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.targets.numpy import (
    Buffer,
    Descriptor,
    NumpyFault,
    NumpyKernel,
    RunOptions,
    Unsupported,
    compile_module,
)
from tilewright.targets.numpy.dtypes import scalar_type

CORPUS = Path(__file__).parents[2] / "corpus" / "ttir"
RNG = np.random.default_rng(0)


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def single(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def launched(
    name: str, grid: Sequence[int], arguments: Sequence[Any], outputs: Sequence[int]
) -> list[np.ndarray]:
    """The outputs of a kernel, which are the same however many programs run at once."""
    kernel = compiled((CORPUS / f"{name}.ttir").read_text())
    results: list[list[np.ndarray]] = []
    for batch in (None, 1, 3):
        given = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        buffers = [
            Buffer(parameter.name, x) if isinstance(x, np.ndarray) else x
            for parameter, x in zip(kernel.parameters, given, strict=True)
        ]
        kernel.launch(grid, buffers, RunOptions(batch=batch))
        results.append([given[index] for index in outputs])
    for other in results[1:]:
        assert all(same_bits(a, b) for a, b in zip(results[0], other, strict=True))
    return results[0]


def test_vector_add() -> None:
    x, y = single(3001), single(3001)
    (out,) = launched("vector_add", (3,), [x, y, np.full_like(x, np.nan), 3001], [2])
    np.testing.assert_array_equal(out, x + y)


def test_softmax() -> None:
    x = single(7, 1000)
    (out,) = launched("softmax_row", (7,), [np.full_like(x, np.nan), x, 1000, 1000, 1000], [0])
    expected = np.exp(double(x) - double(x).max(1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(1, keepdims=True), rtol=1e-5)


def test_layernorm() -> None:
    x, w, b = half(5, 1500), half(1500), half(1500)
    outputs = [np.zeros_like(x), np.zeros(5, np.float32), np.zeros(5, np.float32)]
    arguments = [x, outputs[0], w, b, outputs[1], outputs[2], 1500, 1500, 1e-5]
    y, mean, rstd = launched("layernorm_fwd", (5,), arguments, [1, 4, 5])
    centre = double(x).mean(1, keepdims=True)
    scale = 1 / np.sqrt(((double(x) - centre) ** 2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(mean, centre[:, 0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(rstd, scale[:, 0], rtol=1e-5)
    expected = (double(x) - centre) * scale * double(w) + double(b)
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=2e-3)


def test_transpose() -> None:
    x = single(70, 45)
    arguments = [x, np.zeros((45, 70), np.float32), 70, 45, 45, 70]
    (y,) = launched("transpose_2d", (3, 2), arguments, [1])
    np.testing.assert_array_equal(y, x.T)


def test_embedding() -> None:
    ids, table = RNG.integers(0, 50, 37).astype(np.int32), half(50, 200)
    arguments = [ids, table, np.zeros((37, 200), np.float16), 37, 200]
    (out,) = launched("embedding_gather", (3, 2), arguments, [2])
    np.testing.assert_array_equal(out, table[ids])


def test_histogram() -> None:
    x = RNG.integers(-3, 40, 3000).astype(np.int32)
    (hist,) = launched("histogram_atomic", (6,), [x, np.zeros(32, np.int32), 3000, 32], [1])
    assert hist.tolist() == [int((x == value).sum()) for value in range(32)]


def test_called_function() -> None:
    x, w = single(6, 512), single(512)
    (out,) = launched("noinline_rowsum", (6,), [x, w, np.zeros(6, np.float32), 512, 400], [2])
    expected = double(x)[:, :400].sum(1) * double(w)[:400].sum()
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["matmul_grouped", "matmul_block_ptr", "matmul_tma"])
def test_matmul(name: str) -> None:
    m, n, k = 160, 304, 96
    a, b = half(m, k), half(k, n)
    expected = double(a) @ double(b)
    if name == "matmul_grouped":
        c = np.zeros((m, n), np.float16)
        arguments, grid = [a, b, c, m, n, k, k, n, n], (2 * 2,)
    elif name == "matmul_block_ptr":
        c = np.zeros((m, n), np.float32)
        arguments, grid = [a, b, c, m, n, k, k, n, n], (2, 5)
    else:
        c = np.zeros((m, n), np.float16)
        arguments, grid = [a, b.T.copy(), c, m, n, k], (2, 3)
    (found,) = launched(name, grid, arguments, [2])
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-2)


def test_attention() -> None:
    heads, length, width = 3, 200, 64
    q, k, v = (half(1, heads, length, width) for _ in range(3))
    strides = [heads * length * width, length * width, width]
    arguments = [q, k, v, np.zeros_like(q), np.zeros((heads, length), np.float32), 0.125]
    arguments += [*strides, *strides, heads, length]
    out, lse = launched("flash_attn_fwd", (2, heads), arguments, [3, 4])
    scores = double(q) @ double(k).swapaxes(-1, -2) * 0.125
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(out, weights / total @ double(v), rtol=5e-3, atol=2e-3)
    np.testing.assert_allclose(lse, (top + np.log(total))[0, ..., 0], rtol=1e-4, atol=1e-4)


# Everything Triton makes of the dump kernels.


def _cases() -> list[Any]:
    if find_spec("triton") is None:
        return []
    from tests.dumps.generate import cases

    return [case for case in cases() if case.language == "triton" and case.available_targets]


def _argument(parameter: Any, rng: np.random.Generator) -> Any:
    """Plausible data: enough memory for most kernels, small numbers."""
    type = parameter.type
    if isinstance(type, TensorDescType):
        rank = len(type.shape)
        shape = (300, 200)[:rank] if rank <= 2 else (4,) * (rank - 1) + (104,)
        strides = tuple(prod(shape[axis + 1 :]) for axis in range(rank))
        buffer = Buffer(parameter.name, _numbers(parameter.scalar.dtype, 1 << 18, rng))
        return Descriptor(buffer, shape, strides)
    if isinstance(type, PtrType):
        pointee = scalar_type(type.pointee)
        assert pointee is not None
        return Buffer(parameter.name, _numbers(pointee.dtype, 1 << 18, rng))
    return {"i": 64, "b": True}.get(parameter.scalar.kind, 0.5)


def _numbers(dtype: np.dtype, count: int, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind in "bi":
        return rng.integers(0, 2 if dtype.kind == "b" else 64, count).astype(dtype)
    return rng.standard_normal(count).astype(np.float32).astype(dtype)


def _outcome(kernel: NumpyKernel, batch: int | None) -> tuple[list[bytes], list[str], str]:
    """Memory, output and the first line of a fault after a run."""
    rng = np.random.default_rng(5)
    arguments = [_argument(parameter, rng) for parameter in kernel.parameters]
    lines: list[str] = []
    fault = ""
    try:
        kernel.launch((3, 2, 2), arguments, RunOptions(batch=batch, output=lines.append))
    except NumpyFault as error:
        fault = str(error).splitlines()[0]
    buffers = [x.buffer if isinstance(x, Descriptor) else x for x in arguments]
    memory = [x.array.tobytes() for x in buffers if isinstance(x, Buffer)]
    return ([] if fault else memory), lines, fault


REFUSED = ("clocks", "inline_assembly")
OP = re.compile(r"\b(?:ttng|ttg|tt|amdg|rocdl|arith|math|scf|cf|llvm)\.[a-z_0-9.]+")
MORE_OPS = {
    "alignment_hints", "assumptions", "atomic_orders", "atomic_plain_access", "atomic_wait",
    "call_multiple_returns", "call_noinline", "copy_all_access_kinds", "dependent_launch",
    "descriptor_reduce_i32", "descriptor_rows", "float_arithmetic_f32", "gathers", "grid_shape",
    "histograms", "inline_assembly_packed", "integer_arithmetic_i32", "join_and_split",
    "libdevice_functions", "mapped_scalars", "math_functions", "pointer_arithmetic",
    "prints_and_asserts", "rounded_functions", "standard_casts", "while_condition_hint",
}  # fmt: skip
"""With each eighth case these have every op of all of them."""


def _default(cases: list[Any]) -> list[Any]:
    return [*cases[::8], *(case for case in cases if case.name in MORE_OPS)]


@pytest.mark.slow
def test_the_default_run_has_every_op() -> None:
    from tests.dumps.generate import dump

    def ops(cases: list[Any]) -> set[str]:
        texts = (dump(case, case.available_targets[0])["ttir"] for case in cases)
        return {op for text in texts for op in OP.findall(text)}

    assert {case.name for case in _cases()} >= MORE_OPS
    assert ops(_cases()) - ops(_default(_cases())) == set()


@pytest.mark.parametrize("case", only(_default(_cases()), _cases()), ids=lambda case: case.name)
def test_batches_come_to_the_same_as_one_by_one(case: Any) -> None:
    from tests.dumps.generate import dump

    text = dump(case, case.available_targets[0])["ttir"]
    if case.name.startswith(REFUSED):
        with pytest.raises(Unsupported, match="inline assembly is not supported on target numpy"):
            compiled(text)
        return
    kernel = compiled(text)
    together = _outcome(kernel, None)
    assert "TW9061" not in together[2]
    assert together == _outcome(kernel, 1)
    assert together == _outcome(kernel, 5)


def test_attention_compiles_quickly(
    benchmark_seconds: Callable[[Callable[[], object]], float],
) -> None:
    text = (CORPUS / "flash_attn_fwd.ttir").read_text()
    module = _parsed(text)
    assert benchmark_seconds(lambda: compile_module(module)) < 0.06


def _parsed(text: str) -> Any:
    source = parse_source(make_context(), text, "attention.ttir", DiagnosticEngine())
    assert source is not None
    return source.module


@pytest.fixture
def benchmark_seconds() -> Callable[[Callable[[], object]], float]:
    """Processor time of the best of some calls: waiting for others does not count."""

    def best(function: Callable[[], object]) -> float:
        function()
        times: list[float] = []
        for _ in range(5):
            start = time.thread_time()
            function()
            times.append(time.thread_time() - start)
        return min(times)

    return best
