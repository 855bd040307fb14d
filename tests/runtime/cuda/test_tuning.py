"""Tuning of kernels that run on a GPU: measured there, with what they change put back."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_torch import Tensor, fake_torch
from tilewright.runtime import autotune as tuning
from tilewright.runtime.autotune import Autotuner
from tilewright.runtime.cuda.errors import OutOfResources
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.snapshots import make_zero, snapshot

MILLISECONDS = {16: 3.0, 32: 1.0, 64: 2.0}


class Kernel(Launchable):
    """Takes a time that depends on BLOCK; 128 needs more shared memory than there is."""

    name = "kernel"
    arg_names = ("x", "n", "BLOCK")

    def __init__(self):
        self.launched = []

    def run(self, *args, grid, warmup=False, **kwargs):
        block = kwargs["BLOCK"]
        if not warmup:
            if block == 128:
                raise OutOfResources("kernel needs 300000 bytes of shared memory")
            self.launched.append(block)
        choice = SimpleNamespace(is_gpu=True, is_raised=False, is_simulated=False)
        return SimpleNamespace(choice=choice, device=0)


class DeviceTensor(Tensor):
    """Counts what is done to its contents."""

    def __init__(self):
        super().__init__(0x1000, (16,), fake_torch().float32)
        self.done = []

    def detach(self):
        return self

    def clone(self):
        return "what it held"

    def copy_(self, other):
        self.done.append(f"is {other} again")

    def zero_(self):
        self.done.append("is zero")


DeviceTensor.__module__ = "torch"


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    calls = []

    def bench(call, quantiles):
        call()
        calls.append(quantiles)
        time = MILLISECONDS[kernel.launched[-1]]
        return [time] * len(quantiles)

    kernel = Kernel()
    monkeypatch.setattr(tuning, "gpu_bench", bench)
    return SimpleNamespace(kernel=kernel, calls=calls)


def tuned(kernel, *blocks, **options):
    return Autotuner(kernel, [tw.Config({"BLOCK": block}) for block in blocks], ["n"], **options)


def test_kernels_on_a_gpu_are_measured_there(measured):
    kernel = tuned(measured.kernel, 16, 32, 64)
    kernel[(1,)](DeviceTensor(), 5)
    assert kernel.best_config.kwargs == {"BLOCK": 32}
    assert [each.kwargs["BLOCK"] for each in kernel.configs_timings] == [16, 32, 64]
    assert measured.kernel.launched == [16, 32, 64, 32]
    assert len(measured.calls) == 3
    kernel[(1,)](DeviceTensor(), 5)
    assert len(measured.calls) == 3


def test_what_does_not_fit_is_left_out(measured):
    kernel = tuned(measured.kernel, 128, 64)
    kernel[(1,)](DeviceTensor(), 5)
    assert kernel.best_config.kwargs == {"BLOCK": 64}


def test_if_nothing_fits_the_reasons_are_given(measured):
    with pytest.raises(OutOfResources, match="needs 300000 bytes") as caught:
        tuned(measured.kernel, 128, 128)[(1,)](DeviceTensor(), 5)
    assert "none of the 2 configurations of kernel compiles" in caught.value.__notes__[0]


def test_what_timed_runs_change_is_put_back_on_the_device(measured):
    x = DeviceTensor()
    tuned(measured.kernel, 16, 32, restore_value=["x"])[(1,)](x, 5)
    assert x.done == ["is what it held again"] * 2
    y = DeviceTensor()
    tuned(measured.kernel, 16, 32, reset_to_zero=["x"])[(1,)](y, 5)
    assert y.done == ["is zero"] * 3  # before each timed run, and before the launch itself


def test_contents_of_host_arrays_are_zeroed_and_put_back():
    array = np.arange(4.0)
    put_back = snapshot(array)
    make_zero(array)
    assert array.tolist() == [0, 0, 0, 0]
    put_back()
    assert array.tolist() == [0, 1, 2, 3]


def test_contents_of_other_device_arrays_are_set_by_their_library():
    class Array:
        """Like CuPy's, with memory that can be looked at."""

        device = SimpleNamespace(id=0)

        def __init__(self, values):
            self.values = np.array(values)
            self.dtype = self.values.dtype
            self.__cuda_array_interface__ = self.values.__array_interface__

        def copy(self):
            return self.values.copy()

        def __setitem__(self, where, values):
            self.values[where] = values

    array = Array([1.0, 2.0])
    put_back = snapshot(array)
    make_zero(array)
    assert array.values.tolist() == [0, 0]
    put_back()
    assert array.values.tolist() == [1, 2]
