"""What compat reports where kernels have machine code, and torch a GPU: with objects in their place."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.compat import testing
from tilewright.compat.kernels import CompiledKernel
from tilewright.runtime.arrays import torch_memory
from tilewright.targets.metadata import KernelMetadata


def _kernel(artefact: Any) -> CompiledKernel:
    inner: Any = SimpleNamespace(artefact=artefact, metadata={"num_warps": 8}, name="kernel")
    kernel: Any = None
    return CompiledKernel(kernel, inner)


def test_registers_and_memory_are_those_of_the_machine_code() -> None:
    metadata = KernelMetadata("k", 90, 256, 49152, ("ptr",), registers=168, spill_bytes=12)
    kernel = _kernel(SimpleNamespace(metadata=metadata))
    assert (kernel.n_regs, kernel.n_spills) == (168, 3)
    assert (kernel.metadata.shared, kernel.metadata.num_warps) == (49152, 8)


def test_without_machine_code_they_are_made_up() -> None:
    kernel = _kernel(None)
    assert (kernel.n_regs, kernel.n_spills, kernel.metadata.shared) == (32, 0, 1024)


@contextmanager
def _as_it_is() -> Any:
    yield


def test_times_are_those_of_a_gpu_where_torch_uses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(testing, "_gpu_times", lambda call, warmup, rep: [warmup, rep, rep])
    assert testing.do_bench(lambda: None, 7, 11, return_mode="all") == [7, 11, 11]
    assert testing.do_bench(lambda: None, 7, 11, quantiles=[0.5]) == 11
    monkeypatch.setattr(torch_memory, "as_it_is", _as_it_is)  # tensors on cuda are in host memory
    assert not testing.is_on_gpu()


@pytest.mark.parametrize(("seconds", "runs"), [(0.0, 3), (30.0, 1)])
def test_a_long_first_run_is_the_measurement(
    monkeypatch: pytest.MonkeyPatch, seconds: float, runs: int
) -> None:
    clock = [0.0]
    calls: list[int] = []

    def call() -> None:
        clock[0] += 0.05 if calls else seconds
        calls.append(1)

    monkeypatch.setattr(testing.time, "perf_counter", lambda: clock[0])
    assert len(testing.do_bench(call, rep=100, return_mode="all")) == max(runs - 1, 1)
    assert len(calls) == runs
