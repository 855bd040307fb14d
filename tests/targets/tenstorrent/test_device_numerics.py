"""Device-like numerics: both executors agree, and stay within the bounds of bf16."""

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.passes.tenstorrent.test_kernels import softmax
from tilewright import T
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of
from tilewright.targets.tenstorrent.execution import Numerics, RunOptions
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable

DEVICE = RunOptions(seed=5, numerics=Numerics.DEVICE)


def _scaled_difference():
    @T.prim_func
    def kernel(
        A: T.Tensor((40, 70), T.bfloat16),
        B: T.Tensor((40, 70), T.bfloat16),
        C: T.Tensor((40, 70), T.bfloat16),
    ):
        with T.Kernel(2, 2) as (bx, by):
            a = T.alloc_shared((32, 64), T.bfloat16)
            b = T.alloc_shared((32, 64), T.bfloat16)
            c = T.alloc_fragment((32, 64), T.bfloat16)
            T.copy(A[by * 32, bx * 64], a)
            T.copy(B[by * 32, bx * 64], b)
            for i, j in T.Parallel(32, 64):
                c[i, j] = T.tanh(a[i, j] * 1.5 - b[i, j])
            T.copy(c, C[by * 32, bx * 64])

    return kernel.module


KERNELS = {
    "GEMM": (lambda: gemm(64, 64, 96, (64, 64, 32), accumulator="bfloat16"), lambda a, b: a @ b),
    "element-wise": (_scaled_difference, lambda a, b: np.tanh(a * 1.5 - b)),
    "softmax": (
        lambda: softmax(40, 90),
        lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_both_executors_round_alike(name):
    make, reference = KERNELS[name]
    module, plan = compiled(make(), cores="2x2")
    artefact = artefact_of(module)
    draw = np.random.default_rng(0)
    inputs = {
        each.name: draw.standard_normal(each.shape).astype(ml_dtypes.bfloat16)
        for each in plan.tensors
        if each.role == "input"
    }
    expected = reference(*(each.astype(np.float64) for each in inputs.values()))
    (one,) = artefact.run(inputs, DEVICE).arrays.values()
    error = np.linalg.norm(one.astype(np.float64) - expected) / np.linalg.norm(expected)
    assert error <= 2**-6
    try:
        (two,) = artefact.run(inputs, DEVICE, Executor.SOURCE).arrays.values()
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    bits = [each.view(np.int16).astype(np.int32) for each in (one, two)]
    assert (np.abs(bits[0] - bits[1]) <= 1).all()
    assert (bits[0] == bits[1]).mean() > 0.99
