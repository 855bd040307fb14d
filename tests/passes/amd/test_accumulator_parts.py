"""Results of GEMMs that are stored in parts: every wave has some of each part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.amd.amd_support import amd_pipeline
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

STAGED = "TW2023"


def in_parts(axis: int) -> Any:
    """A GEMM of 64 x 64 whose result goes through shared memory in two parts along `axis`."""
    part = (64, 32) if axis else (32, 64)

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 64), "float16"),
        C: T.Tensor((64, 64), "float16"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            C_shared = T.alloc_shared(part, "float16")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, C_local, clear_accum=True)
            for each in T.unroll(2, explicit=True):
                if axis:
                    T.copy(C_local[:, each * 32 : (each + 1) * 32], C_shared)
                    T.copy(C_shared, C[0, each * 32])
                else:
                    T.copy(C_local[each * 32 : (each + 1) * 32, :], C_shared)
                    T.copy(C_shared, C[each * 32, 0])

    return kernel


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("axis", [0, 1])
def test_all_threads_store_each_part(axis: int, arch: str) -> None:
    module, engine = in_parts(axis).module.clone(), DiagnosticEngine()
    amd_pipeline(arch).run(module, engine)
    engine.raise_if_errors()
    assert not [each for each in engine.diagnostics if each.code == STAGED]
    rng = np.random.default_rng(axis)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 64)))
    c = np.zeros((64, 64), np.float16)
    buffers = [Buffer(name, array) for name, array in zip("ABC", (a, b, c), strict=True)]
    compile_simt(module).launch(buffers, SimtOptions(schedules=2))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
