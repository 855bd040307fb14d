"""Five `tl` kernels raised to tiles: machine code for three GPUs, values on all targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tl_examples import load
from tests.sampling import only
from tilewright.runtime.compile_only import raising_for
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.thread_level import running_threads
from tilewright.targets.hip.clang import OLDEST, installed

Pair = tuple[np.ndarray, np.ndarray]


def vector_add(rng: np.random.Generator) -> Pair:
    x, y = rng.standard_normal((2, 3001), dtype=np.float32)
    return load("vector_add").add(x, y), x.astype(np.float64) + y


def softmax(rng: np.random.Generator) -> Pair:
    x = rng.standard_normal((7, 201), dtype=np.float32)
    shifted = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return load("softmax").softmax(x, programs=4), shifted / shifted.sum(axis=1, keepdims=True)


def matmul(rng: np.random.Generator) -> Pair:
    a = rng.standard_normal((65, 72)).astype(np.float16)
    b = rng.standard_normal((72, 130)).astype(np.float16)
    return load("matmul").matmul(a, b), a.astype(np.float64) @ b.astype(np.float64)


def layer_norm(rng: np.random.Generator) -> Pair:
    x = rng.standard_normal((5, 333), dtype=np.float32)
    weight, bias = rng.standard_normal((2, 333), dtype=np.float32)
    result, mean, deviation = load("layer_norm").layer_norm(x, weight, bias)
    exact = x.astype(np.float64)
    means = exact.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    found = np.column_stack((result, mean, deviation))
    return found, np.column_stack(((exact - means) * scale * weight + bias, means, scale))


def attention(rng: np.random.Generator) -> Pair:
    q, k, v = rng.standard_normal((3, 2, 90, 64)).astype(np.float16)
    result = load("attention").attention(q, k, v, causal=True)
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / 8
    scores[:, np.triu(np.ones((90, 90), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return result, weights / weights.sum(axis=2, keepdims=True) @ v.astype(np.float64)


KERNELS: dict[str, Callable[[np.random.Generator], Pair]] = {
    each.__name__: each for each in (vector_add, softmax, matmul, layer_norm, attention)
}
GPUS = ("cuda:sm_90a", "cuda:sm_80", "hip:gfx942")
TOLERANCE = 4e-3


def _assert_close(pair: Pair) -> None:
    result, expected = pair
    error = np.abs(result.astype(np.float64) - expected).max() / np.abs(expected).max()
    assert error < TOLERANCE  # NaN is not


@pytest.mark.parametrize(
    ("name", "target"),
    only(
        [("softmax", "cuda:sm_80"), ("vector_add", "hip:gfx942")],
        [(name, target) for name in KERNELS for target in GPUS],
    ),
)
def test_machine_code(name: str, target: str) -> None:
    if target.startswith("hip") and not installed():
        pytest.skip(f"clang {OLDEST} and lld are not installed: run scripts/install_clang.sh")
    found: list[CompiledTileKernel] = []
    with raising_for(target, lambda _: True, lambda kernel, _: found.append(kernel)):
        KERNELS[name](np.random.default_rng(0))
    (kernel,) = found
    assert kernel.gpu is not None
    assert kernel.gpu.program.registers > 0
    assert kernel.n_spills == 0


@pytest.mark.parametrize(
    ("name", "target"),
    only(
        [("softmax", "cuda:sm_90a"), ("matmul", "hip:gfx942")],
        [(name, target) for name in KERNELS for target in (GPUS[0], GPUS[2])],
    ),
)
def test_values_of_threads(name: str, target: str) -> None:
    with tw.running(target=target), running_threads() as runs:
        pair = KERNELS[name](np.random.default_rng(1))
    assert [launches.target for launches in runs.launches.values()] == [target]
    _assert_close(pair)


@pytest.mark.parametrize("name", KERNELS)
def test_values_on_tenstorrent(name: str) -> None:
    with tw.running(target="tenstorrent:wormhole"):
        _assert_close(KERNELS[name](np.random.default_rng(2)))
