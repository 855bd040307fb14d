"""`T` kernels with a Tenstorrent target are called like any other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.tile.targets import checked_target


def scale(A: Any, factor: float = 2.0) -> Any:
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32)) as (bx, by):
        a = T.alloc_shared((32, 32), T.float32)
        T.copy(A[by * 32, bx * 32], a)
        for i, j in T.Parallel(32, 32):
            a[i, j] = a[i, j] * factor
        T.copy(a, B[by * 32, bx * 32])
    return B


@pytest.mark.parametrize("chip", ["sim", "wormhole", "blackhole"])
def test_arrays_in_and_out(chip: str) -> None:
    kernel = tw.jit(scale, target=f"tenstorrent:{chip}")
    a = np.random.default_rng(0).standard_normal((50, 70)).astype(np.float32)
    np.testing.assert_array_equal(kernel(a), 2 * a)


def test_settings() -> None:
    configs = {"tt.core_grid": "2x1", "tt.schedule.policy": "strided"}
    kernel = tw.jit(scale, target="tenstorrent:sim", pass_configs=configs).compile(
        np.zeros((64, 64), np.float32)
    )
    assert kernel.tenstorrent is not None
    plan = kernel.tenstorrent.artefact.plan
    assert plan.cores.grid == (2, 1)
    assert [each.count for each in plan.cores.assignments] == [2, 2]
    assert plan.schedule.policy == "strided"


def test_sources() -> None:
    kernel = tw.jit(scale, target="tenstorrent:wormhole").compile(np.zeros((64, 64), np.float32))
    text = kernel.get_kernel_source()
    assert "// reader.cpp" in text
    assert "noc_async_read_page(" in text
    assert "mul_unary_tile(0, " in text
    assert kernel.target == "tenstorrent:wormhole"


def test_an_op_without_intrinsic() -> None:
    @tw.jit(target="tenstorrent:sim")
    def kernel(A: Any) -> Any:
        N = T.const("N")
        A: T.Tensor((N,), T.float32)
        B = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 32)) as bx:
            a = T.alloc_fragment((32,), T.float32)
            T.copy(A[bx * 32], a)
            for i in T.Parallel(32):
                a[i] = T.sinh(a[i])
            T.copy(a, B[bx * 32])
        return B

    with pytest.raises(CompileError, match=r"TW7070.*'math\.sinh'.* log1p,.* softsign"):
        kernel(np.zeros(64, np.float32))


def test_names_of_targets() -> None:
    assert checked_target("tenstorrent") == "tenstorrent:wormhole"
    with pytest.raises(ValueError, match="unknown Tenstorrent chip 'quasar'"):
        checked_target("tenstorrent:quasar")


def test_options_of_a_run() -> None:
    kernel = tw.jit(scale, target="tenstorrent:sim")
    a = np.random.default_rng(0).standard_normal((50, 70)).astype(np.float32)
    seen: list[int] = []
    with (
        tw.tenstorrent_running(
            numerics="device",
            trace=True,
            observer=lambda _, result: seen.append(len(result.events)),
        ),
        tw.tile_running(schedules=3),
    ):
        np.testing.assert_allclose(kernel(a), 2 * a, rtol=2**-6)
    assert len(seen) == 1
    assert seen[0] > 0
    with pytest.raises(ValueError, match="executor: 'rtl' is not one of ir, source"):
        tw.tenstorrent_running(executor="rtl").__enter__()
    with pytest.raises(TypeError, match="unknown option 'seed'; expected one of executor"):
        tw.tenstorrent_running(seed=3).__enter__()


def test_findings_at_one_line_are_one_diagnostic() -> None:
    kernel = tw.jit(scale, target="tenstorrent:sim")
    a = np.ones((64, 96), np.float32)
    own = kernel.compile(a).tenstorrent
    assert own is not None
    reader = own.artefact.kernels["reader"]
    barrier = next(op for op in reader.walk() if op.name == "tensix.noc_barrier")
    barrier.detach()
    with pytest.raises(tw.NumpyFault) as fault:
        kernel(a)
    text = str(fault.value)
    assert text.count("error[TW7211]") == 1
    assert "T.copy(A[by * 32, bx * 32], a)" in text
    assert "also on core (1,0), (2,0), (3,0), (4,0) and 1 more" in text


def test_a_result_that_depends_on_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tw.jit(scale, target="tenstorrent:sim")
    a = np.ones((32, 32), np.float32)
    own = kernel.compile(a).tenstorrent
    seeds = iter(range(10))
    assert own is not None
    monkeypatch.setattr(
        type(own.artefact), "outputs", lambda *_: {"B": np.full((32, 32), next(seeds), np.float32)}
    )
    with (
        tw.tile_running(schedules=2),
        pytest.raises(tw.NumpyFault, match=r"TW6123.*seeds 0 and 1 give different bits"),
    ):
        kernel(a)
