"""Choosing by time: kernels for a GPU compiled beside each other, with a clock instead of a GPU."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_clock import Clock
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime import progress
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.tile.trials import Trial

pytestmark = pytest.mark.filterwarnings("ignore:.*no GPU available")  # the clock stands in for it
A = np.arange(1024, dtype=np.float32)
TOO_LARGE = 1 << 18


def plus(block, shared=128, amount=1):
    @T.prim_func
    def main(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(T.ceildiv(1024, block), threads=128) as bx:
            tile = T.alloc_shared((shared,), "float32")
            for i in T.Parallel(block):
                tile[i] = A[bx * block + i]
            for i in T.Parallel(block):
                B[bx * block + i] = tile[i] + amount

    return main


@pytest.fixture
def clock(monkeypatch, tmp_path):
    """Measures by the size of blocks; how long each of them takes can be set."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_AUTOTUNE", "time")
    state = SimpleNamespace(times={}, measured=[], limits=[], references=0)

    def do_bench(fn, *_, early_stop_baseline=None, **__):
        if not hasattr(fn.func, "gpu"):
            state.references += 1
            return 9.0
        assert "program" in vars(fn.func.gpu)  # not compiled only now
        blocks = re.search(r"tile.kernel \(%bx\) in \((\d+)\)", fn.func.prim_func.script())
        block = 1024 // int(blocks[1])
        state.measured.append(block)
        state.limits.append(early_stop_baseline)
        return state.times[block]

    monkeypatch.setattr("tilewright.runtime.tile.profiler.do_bench", do_bench)
    return state


def tuner(configs, **profile):
    made = tw.AutoTuner.from_kernel(plus, configs).set_compile_args(out_idx=-1, target="cuda")
    return made.set_profile_args(**profile)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_quickest_is_taken_and_what_fails_is_named(clock, workers):
    clock.times = {32: 5.0, 64: 2.0, 128: 2.0}
    configs = [
        {"block": 32},
        {"block": 8, "shared": TOO_LARGE},
        {"block": 64},
        {"block": 128},
        {"block": "wide"},
    ]
    result = tuner(configs, num_workers=workers).run()
    assert (result.config, result.latency) == ({"block": 64}, 2.0)  # the first of equal ones
    assert sorted(clock.measured) == [32, 64, 128]
    assert result.kernel.config == {"block": 64}
    fine, large, *_, strange = result.trials
    assert fine == Trial({"block": 32}, 5.0)
    assert [trial.config for trial in result.trials] == configs
    assert large.latency is None
    assert re.search(r"test_config_search.py:\d+:\d+: error\[TW\d+\]: ", large.remark)
    assert strange.latency is None
    assert result.remarks == (str(large), str(strange))
    assert str(large).startswith("{'block': 8, 'shared': 262144}: left out (")


def test_what_is_known_is_neither_compiled_nor_measured(clock, monkeypatch):
    clock.times = {32: 7.0, 64: 1.0, 128: 2.0}
    configs = [{"block": block} for block in (64, 128, 32)]
    first = tuner(configs, num_workers=1).run()
    assert clock.measured == [64, 128, 32]
    assert clock.limits == [None, 3.0, 3.0]
    assert first.remarks == (
        "{'block': 32}: 7 ms (measured briefly: clearly slower than the best)",
    )
    assert tuner(configs).run().trials == first.trials
    assert clock.measured == [64, 128, 32]
    # Without the one it was compared with, a brief measurement says nothing.
    clock.times = {32: 6.0}
    assert tuner(configs[2:]).run().trials == (Trial({"block": 32}, 6.0),)
    assert clock.measured == [64, 128, 32, 32]
    monkeypatch.setenv("TILEWRIGHT_AUTOTUNE", "fresh")
    clock.times = {64: 1.5, 128: 2.0, 32: 6.0}
    assert tuner(configs, early_stop=True, early_stop_factor=1.2).run().latency == 1.5
    assert clock.limits[-2:] == pytest.approx([1.8, 1.8])


def test_settings_of_the_compiler_count(clock):
    clock.times = {64: 1.0}
    configs = [{"block": 64}]
    tuner(configs).run()
    made = tw.AutoTuner.from_kernel(plus, configs)
    options = {"tl.enable_fast_math": True}
    fast = made.set_compile_args(out_idx=-1, target="cuda", pass_configs=options)
    fast.run()
    fast.run()
    assert len(clock.measured) == 2


def test_configurations_may_set_passes(clock):
    clock.times = {64: 1.0}
    fast = {"block": 64, "pass_configs": {"tl.enable_fast_math": True}}
    jit = tw.jit(out_idx=-1, target="cuda", pass_configs={"tl.disable_wgmma": True})(plus)
    kernel = tw.autotune(configs=[fast])(jit)()
    assert kernel.config == fast
    assert (kernel.gpu.settings.fast_math, kernel.gpu.settings.wgmma) == (True, False)


def test_inputs_and_the_reference_are_made_once(clock):
    clock.times = {64: 1.0, 128: 2.0, 32: 2.0}
    calls = []

    def reference(a):
        calls.append(a.copy())
        a[:] = 0  # of its own copy
        return calls[-1] + 1

    configs = [{"block": 64}, {"block": 128, "amount": 2}, {"block": 32}]
    result = tuner(configs, ref_prog=reference, num_workers=1).run()
    assert result.config == {"block": 64}
    assert [trial.latency for trial in result.trials] == [1.0, None, 2.0]
    assert "differ in 1024 of 1024 elements" in result.trials[1].remark
    assert (len(calls), clock.references, result.ref_latency) == (1, 1, 9.0)


def test_an_author_may_share_inputs(clock):
    clock.times = {64: 1.0, 128: 2.0}
    asked = []

    def supply(params):
        asked.append([param.name for param in params])
        return [A]

    configs = [{"block": 64}, {"block": 128}]
    options = {"supply_prog": supply, "ref_prog": lambda a: a + 1}
    tuner(configs, cache_input_tensors=True, **options).run()
    assert asked == [["A"]]


def test_long_work_tells_how_far_it_is(clock, monkeypatch, capsys):
    now = [0.0]

    def perf_counter():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(progress.time, "perf_counter", perf_counter)
    monkeypatch.setattr("tilewright.runtime.tile.config_search.perf_counter", perf_counter)
    clock.times = {64: 1.0, 128: 2.0}
    tuner([{"block": 64}, {"block": 128}, {"block": 8, "shared": TOO_LARGE}], num_workers=1).run()
    first, second, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"tuning plus: 1 of 3 configurations, \d+ s left", first)
    assert re.fullmatch(r"tuning plus: 2 of 3 configurations, \d+ s left", second)
    assert re.match(
        r"tuning plus: \{'block': 64\} takes 1 ms, the minimum of 2 configurations, in \d+.0 s; "
        r"1 failed, the first of them \{'block': 8, 'shared': 262144\}: .*error\[TW",
        last,
    )


def test_kernels_may_be_compiled_together(clock):
    made = tw.jit(out_idx=-1, target="cuda")(plus)
    wrong = {"block": 8, "shared": TOO_LARGE}
    found = made.par_compile([(32,), wrong, {"block": 64}, (128,)], 2, ignore_error=True)
    assert [each and "program" in vars(each.gpu) for each in found] == [True, None, True, True]
    assert found[3] is made(128)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_first_error_ends_a_compilation_of_several(clock, workers):
    made = tw.jit(out_idx=-1, target="cuda")(plus)
    wrong = {"block": 8, "shared": TOO_LARGE}
    with pytest.raises(CompileError, match="shared memory"):
        made.par_compile([wrong, (16,), (256,), (512,)], workers)


def test_work_that_is_stopped_leaves_nothing_half_written(clock, tmp_path):
    clock.times = {64: 1.0}

    def interrupted(fn, *_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("tilewright.runtime.tile.profiler.do_bench", interrupted)
        tuner([{"block": block} for block in (64, 32, 128, 16)], num_workers=2).run()
    left = [path.name for path in Path(tmp_path).rglob("*") if path.is_file()]
    assert any(name.startswith("programs-") for name in left)  # what was to be measured is there
    assert not [name for name in left if "draft" in name or name.endswith(".part")]


class OnGpu:
    """An array of a GPU that is not there."""

    device = SimpleNamespace(id=0)
    dtype = np.dtype(np.float32)
    shape = (1024,)

    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "shape": self.shape,
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


class Gpu(Clock):
    """Takes a millisecond for each block."""

    def _cuLaunchKernelEx(self, *arguments):
        super()._cuLaunchKernelEx(*arguments)
        self.now += self.launches[-1].grid[0]


def test_on_a_gpu(monkeypatch, tmp_path):
    """From the configurations to launches and events, with a driver that is not there."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TILEWRIGHT_AUTOTUNE", raising=False)
    configs = [{"block": 64}, {"block": 128}, {"block": 16}, {"block": 8, "shared": TOO_LARGE}]
    inputs = OnGpu(0x10000), OnGpu(0x20000)
    gpu = Gpu(sizes=[8, 8])
    with using(gpu), tw.set_autotune_inputs(*inputs):
        made = tw.AutoTuner.from_kernel(plus, configs).set_compile_args(target="cuda")
        result = made.set_profile_args(num_workers=1).run(warmup=16, rep=160)
        assert result.config == {"block": 128}
        assert [trial.latency for trial in result.trials] == pytest.approx([16.0, 8.0, 64.0, None])
        launches = len(gpu.launches)
        grids = [launch.grid[0] for launch in gpu.launches]
        assert grids.count(8) >= 20
        assert grids.count(64) <= 6 + 6  # clearly slow
        assert made.run(warmup=16, rep=160).trials == result.trials
        assert len(gpu.launches) == launches
    assert gpu.alive == 0
