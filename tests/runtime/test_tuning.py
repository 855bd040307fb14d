"""Tuning on a GPU: what was measured is found on disk again, and configurations compile together."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.runtime import autotune
from tilewright.runtime.autotune import (
    Autotuner,
    compile_together,
    remember,
    remembered,
    tuning_name,
)
from tilewright.runtime.cuda import context
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.options import target_for
from tilewright.runtime.tuning_times import Times
from tilewright.targets import store

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

TARGET = "triton:sm_90"
X = np.zeros(100, np.float32)


@tw.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


class OnGpu(Launchable):
    """`fill` as if its array were on a GPU; launches are counted and nothing runs."""

    name = "fill"
    arg_names = ("x_ptr", "BLOCK")

    def __init__(self) -> None:
        self.launched: list[int] = []

    def run(self, *args, grid, warmup=False, **kwargs):
        compiled = fill.run(X, grid=grid, warmup=True, target=TARGET, **kwargs)
        compiled.device = 0
        if not warmup:
            self.launched.append(kwargs["BLOCK"])
        return compiled


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A GPU that says its name, and an empty disk."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    facts = SimpleNamespace(name="Some GPU")
    monkeypatch.setattr(context, "device_properties", lambda device=None: facts)
    measured: list[int] = []

    def bench(call, quantiles):
        call()
        measured.append(1)
        return [float(abs(kernel.launched[-1] - 32))] * len(quantiles)

    kernel = OnGpu()
    monkeypatch.setattr(autotune, "gpu_bench", bench)
    return SimpleNamespace(kernel=kernel, measured=measured, facts=facts)


def tuned(kernel, *blocks):
    return Autotuner(kernel, [tw.Config({"BLOCK": block}) for block in blocks], [])


def test_the_next_process_does_not_measure(gpu, monkeypatch):
    first = tuned(gpu.kernel, 16, 32, 64)
    first[(1,)](X)
    assert first.best_config.kwargs == {"BLOCK": 32}
    assert len(gpu.measured) == 3
    second = tuned(gpu.kernel, 16, 32, 64)
    second[(1,)](X)
    assert second.best_config.kwargs == {"BLOCK": 32}
    assert second.configs_timings == first.configs_timings
    assert len(gpu.measured) == 3
    # Other configurations, another GPU, or a wish: measured again.
    tuned(gpu.kernel, 16, 64)[(1,)](X)
    assert len(gpu.measured) == 5
    gpu.facts.name = "Another GPU"
    tuned(gpu.kernel, 16, 32, 64)[(1,)](X)
    assert len(gpu.measured) == 8
    monkeypatch.setenv("TILEWRIGHT_AUTOTUNE", "fresh")
    tuned(gpu.kernel, 16, 32, 64)[(1,)](X)
    assert len(gpu.measured) == 11


def test_the_first_configuration_on_request(gpu, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_AUTOTUNE", "first")
    kernel = tuned(gpu.kernel, 16, 32, 64)
    kernel[(1,)](X)
    assert kernel.best_config.kwargs == {"BLOCK": 16}
    assert not gpu.measured


def test_configurations_are_compiled_before_any_is_measured(gpu, monkeypatch):
    compiled: list[int] = []
    run = OnGpu.run

    def noted(self, *args, warmup=False, **kwargs):
        if warmup:
            compiled.append(kwargs["BLOCK"])
        else:
            assert {16, 32, 64, 128} <= set(compiled)
        return run(self, *args, warmup=warmup, **kwargs)

    monkeypatch.setattr(OnGpu, "run", noted)
    tuned(gpu.kernel, 16, 32, 64, 128)[(1,)](X)
    assert gpu.kernel.launched == [16, 32, 64, 128, 32]


def test_names_of_outcomes(gpu):
    compiled = gpu.kernel.run(grid=(1,), warmup=True, BLOCK=16)
    configs = [tw.Config({"BLOCK": 16}), tw.Config({"BLOCK": 32}, num_warps=8)]
    name = tuning_name(compiled, configs, (5, "float32"))
    assert name == tuning_name(compiled, configs, (5, "float32"))
    assert name != tuning_name(compiled, configs, (6, "float32"))
    assert name != tuning_name(compiled, configs[:1], (5, "float32"))
    assert name != tuning_name(compiled, [configs[0], tw.Config({"BLOCK": 32})], (5, "float32"))
    assert tuning_name(compiled, configs, (object(),)) is None
    assert tuning_name(SimpleNamespace(), configs, ()) is None


def test_what_is_remembered(gpu):
    name, none, odd = map(store.digest, ("name", "none", "odd"))
    assert remembered(name, 2) == {}
    remember(name, {1: Times(1.5)}, 2)
    assert remembered(name, 2) == {1: Times(1.5)}
    assert remembered(name, 3) == {}
    remember(none, {}, 1)
    assert remembered(none, 1) == {}
    for damaged in (b"no json", b"{}", b"[[1]]", b'["fast"]', b"[" * 100_000, b"\xff"):
        store.store("tuning", odd, {"times": damaged})
        assert remembered(odd, 1) == {}
    remember(None, {0: Times(1.0)}, 1)
    assert remembered(None, 1) == {}


def test_calls_run_together_with_the_options_around(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    meeting = threading.Barrier(2, timeout=20)
    targets: list[str] = []

    def call() -> None:
        meeting.wait()  # ends only if both are under way
        targets.append(str(target_for()))

    def failing() -> None:
        raise ValueError("told later")

    with tw.running(target=TARGET):
        compile_together([call, call, failing])
    assert targets == [TARGET, TARGET]
