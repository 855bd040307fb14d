"""`target="auto"` of tuned kernels: both back ends are timed, and the choice is cached."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.levels import parsed
from tilewright import tl
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.tile.raise_to_tile import RaisedKernel, raise_module
from tilewright.runtime import autotune, back_ends
from tilewright.runtime.autotune import Autotuner
from tilewright.runtime.back_ends import RaisedConfig, both_ways, is_candidate
from tilewright.runtime.cuda import context
from tilewright.runtime.launch_errors import unlaunchable
from tilewright.runtime.launchable import Launchable

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

X = np.zeros(128, np.float32)


@tw.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


class OnGpu(Launchable):
    """`fill` as if its array were on a GPU; launches are noted and nothing runs."""

    name = "fill"
    arg_names = ("x_ptr", "n", "BLOCK")

    def __init__(self) -> None:
        self.launched: list[tuple[str, int]] = []
        self.refused: Exception | None = None
        """What launches of the raised kernel raise."""

    def run(self, *args, grid, warmup=False, target=None, **kwargs):
        ours = target == "cuda"
        if ours and self.refused is not None:
            raise self.refused
        named = "cuda:sm_90a" if ours else "triton:sm_90"
        compiled = fill.run(X, *args[1:], grid=grid, warmup=True, target=named, **kwargs)
        if ours:
            compiled = replace(compiled, choice=replace(compiled.choice, backend="raised"))
        compiled.device = 0
        if not warmup:
            self.launched.append(("cuda" if ours else "triton", kwargs["BLOCK"]))
        return compiled


TIMES = {("triton", 32): 4.0, ("triton", 64): 3.0, ("cuda", 32): 2.0, ("cuda", 64): 5.0}


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A GPU whose times are known, and an empty disk."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    properties = SimpleNamespace(name="Some GPU")
    monkeypatch.setattr(context, "device_properties", lambda device=None: properties)
    monkeypatch.setattr(
        back_ends, "device_array", lambda value: value if isinstance(value, np.ndarray) else None
    )
    kernel, measured = OnGpu(), []
    times = dict(TIMES)

    def bench(call, quantiles):
        call()
        measured.append(kernel.launched[-1])
        return [times[kernel.launched[-1]]] * len(quantiles)

    monkeypatch.setattr(autotune, "gpu_bench", bench)
    return SimpleNamespace(kernel=kernel, measured=measured, times=times)


def tuned(kernel, *blocks):
    return Autotuner(kernel, [tw.Config({"BLOCK": block}) for block in blocks], ["n"])


def test_both_ways_are_timed_and_the_choice_is_cached(gpu, capsys, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_PRINT_AUTOTUNING", "1")
    first = tuned(gpu.kernel, 32, 64)
    first[(1,)](X, 5)
    assert sorted(gpu.measured) == sorted(TIMES)
    assert first.best_config.all_kwargs()["target"] == "cuda"
    assert gpu.kernel.launched[-1] == ("cuda", 32)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("autotuning fill: BLOCK: 32,")
    assert lines[0].endswith("target: cuda")
    assert [line.split()[0] for line in lines[1:]] == ["4.0000", "3.0000", "2.0000", "5.0000"]
    first[(1,)](X, 5)
    second = tuned(gpu.kernel, 32, 64)  # as in the next process
    second[(1,)](X, 5)
    assert second.best_config == first.best_config
    assert second.configs_timings == first.configs_timings
    assert len(gpu.measured) == 4
    assert gpu.kernel.launched[-2:] == [("cuda", 32)] * 2


def test_triton_stays_where_it_is_faster(gpu):
    gpu.times["cuda", 32] = 3.5
    kernel = tuned(gpu.kernel, 32, 64)
    kernel[(1,)](X, 5)
    assert not isinstance(kernel.best_config, RaisedConfig)
    assert gpu.kernel.launched[-1] == ("triton", 64)


def test_a_kernel_of_one_configuration_is_timed_both_ways(gpu):
    kernel = tuned(gpu.kernel, 32)
    kernel[(1,)](X, 5)
    assert sorted(gpu.measured) == [("cuda", 32), ("triton", 32)]
    assert gpu.kernel.launched[-1] == ("cuda", 32)


def test_a_target_that_was_named_is_the_only_one(gpu):
    kernel = tuned(gpu.kernel, 32, 64)
    with tw.running(target="triton:sm_90"):
        kernel[(1,)](X, 5)
    assert {name for name, _ in gpu.measured} == {"triton"}
    kernel[(1,)](X, 5)  # "auto" has its own choice for the same key
    assert gpu.kernel.launched[-1] == ("cuda", 32)
    gpu.measured.clear()
    kernel[(1,)](X, 5, target="cuda")
    assert gpu.measured == [("cuda", 32), ("cuda", 64)]


def _not_raised() -> CompileError:
    engine = DiagnosticEngine()
    engine.error(None, "not raised", "TW8030")
    return CompileError(engine)


@pytest.mark.parametrize("error", [_not_raised(), unlaunchable(ValueError("arrays share bytes"))])
def test_a_kernel_that_is_not_raised_is_tuned_for_triton(gpu, error):
    gpu.kernel.refused = error
    kernel = tuned(gpu.kernel, 32, 64)
    kernel[(1,)](X, 5)
    assert {name for name, _ in gpu.measured} == {"triton"}
    assert kernel.best_config.kwargs == {"BLOCK": 64}


@pytest.mark.parametrize("error", [_not_raised(), unlaunchable(OverflowError("an integer wraps"))])
def test_a_launch_that_the_choice_does_not_take_goes_to_triton(gpu, error):
    kernel = tuned(gpu.kernel, 32, 64)
    kernel[(1,)](X, 5)
    gpu.kernel.refused = error
    kernel[(1,)](X, 5)
    assert gpu.kernel.launched[-1] == ("triton", 32)
    gpu.kernel.refused = ValueError("wrong call")
    with pytest.raises(ValueError, match="wrong call"):
        kernel[(1,)](X, 5)


def test_operands_copied_by_elements_in_a_loop_are_no_candidates(gpu, monkeypatch):
    monkeypatch.setattr(autotune, "is_candidate", lambda compiled: False)
    kernel = tuned(gpu.kernel, 32, 64)
    kernel[(1,)](X, 5)
    assert {name for name, _ in gpu.measured} == {"triton"}


def test_configurations_of_both_ways_differ():
    config = tw.Config({"BLOCK": 32}, num_warps=8)
    first, second = both_ways([config])
    assert first is config
    assert second != first
    assert second.all_kwargs() == {**config.all_kwargs(), "target": "cuda"}


GEMM = """
tt.func public @k(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant dense<3> : tensor<32xi32>
  %c32 = arith.constant dense<32> : tensor<32x1xi32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %third = DIVIDED
  %y = tt.expand_dims %third {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %x = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %rows = arith.muli %y, %c32 : tensor<32x1xi32>
  %ry = tt.broadcast %rows : tensor<32x1xi32> -> tensor<32x32xi32>
  %rx = tt.broadcast %x : tensor<1x32xi32> -> tensor<32x32xi32>
  %o = arith.addi %ry, %rx : tensor<32x32xi32>
  %as = tt.splat %a : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
  %ap = tt.addptr %as, %o : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
  %bs = tt.splat %b : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
  %bp = tt.addptr %bs, %o : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %o : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<32x32xf32>) : i32 {
    %av = tt.load %ap : tensor<32x32x!tt.ptr<f16>>
    %bv = tt.load %bp : tensor<32x32x!tt.ptr<f16>>
    %d = tt.dot %av, %bv, %acc : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  tt.store %cp, %sum : tensor<32x32x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.mark.parametrize(
    ("rows", "worth"),
    [
        ("arith.divsi %r, %c3 : tensor<32xi32>", False),
        ("arith.addi %r, %c3 : tensor<32xi32>", True),
    ],
)
def test_which_raised_kernels_are_candidates(rows, worth):
    result = raise_module(parsed(GEMM.replace("DIVIDED", rows)))
    assert isinstance(result, RaisedKernel)
    compiled = SimpleNamespace(raised=SimpleNamespace(raised=result))
    assert is_candidate(compiled) is worth
