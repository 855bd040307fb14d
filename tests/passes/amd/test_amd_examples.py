"""Examples at the thread level of AMD GPUs compute what their references do, at odd sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.tile_examples import NAMES, as_tuple, fresh, load
from tests.passes.amd.amd_support import TARGETS, amd_pipeline
from tests.targets.numpy.simt.simt_support import example_results
from tilewright import T
from tilewright.dialects.amd.ops import MfmaOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.amd.check_amd_features import UNEVEN_WAVES
from tilewright.passes.amd.fill_waves import FILLED
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

SAMPLE = {
    ("elementwise_add", "gfx942"),
    ("rms_norm", "gfx1100"),
    ("gemm_relu", "gfx942"),
    ("gemm_relu", "gfx1201"),
}
"""Those of the default suite; the others take minutes."""


def check(name: str, arch: str, schedules: int) -> None:
    example = load(name)
    found = example_results(example, amd_pipeline(arch), SimtOptions(schedules=schedules))
    _, expected = fresh(example).example(np.random.default_rng(0))
    for got, want in zip(found, as_tuple(expected), strict=True):
        wide = np.asarray(want, np.float64)
        assert np.allclose(np.asarray(got, np.float64), wide, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(("name", "arch"), sorted(SAMPLE))
def test_an_example_runs(name: str, arch: str) -> None:
    check(name, arch, schedules=2)


@pytest.mark.slow
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_under_ten_schedules(name: str, arch: str) -> None:
    check(name, arch, schedules=10)


def sums(threads: int) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((24, 96), "float32"), B: T.Tensor((24,), "float32")) -> None:
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((24, 96), "float32")
            values = T.alloc_fragment((24, 96), "float32")
            totals = T.alloc_fragment((24,), "float32")
            T.copy(A, tile)
            T.cumsum(tile, dim=1)
            T.copy(tile, values)
            T.reduce_sum(values, totals, dim=1)
            T.copy(totals, B)

    return kernel


@pytest.mark.parametrize("threads", [32, 40, 96, 160])
def test_threads_that_do_not_fill_their_last_wave(threads: int) -> None:
    module, engine = sums(threads).module.clone(), DiagnosticEngine()
    amd_pipeline("gfx942").run(module, engine)
    engine.raise_if_errors()
    assert [each.code for each in engine.diagnostics if each.code == UNEVEN_WAVES]
    a = np.random.default_rng(2).standard_normal((24, 96)).astype(np.float32)
    found = np.zeros(24, np.float32)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", found)])
    np.testing.assert_allclose(found, np.cumsum(a, 1).sum(1), rtol=1e-3, atol=1e-3)


def test_a_gemm_of_half_a_wave_gets_a_whole_one() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((16, 32), "float16"),
        B: T.Tensor((32, 16), "float16"),
        C: T.Tensor((16, 16), "float32"),
    ) -> None:
        with T.Kernel(1, threads=32):
            A_shared = T.alloc_shared((16, 32), "float16")
            B_shared = T.alloc_shared((32, 16), "float16")
            C_local = T.alloc_fragment((16, 16), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, C_local, clear_accum=True)
            T.copy(C_local, C)

    module, engine = kernel.module.clone(), DiagnosticEngine()
    amd_pipeline("gfx942").run(module, engine)
    engine.raise_if_errors()
    assert [each.code for each in engine.diagnostics] == [FILLED]
    assert any(isinstance(op, MfmaOp) for op in walk(module))
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((16, 32), (32, 16)))
    c = np.zeros((16, 16), np.float32)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b), Buffer("C", c)])
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
