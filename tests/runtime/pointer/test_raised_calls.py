"""Repeated launches of raised kernels: a generated function makes them, or leaves them alone."""

from __future__ import annotations

import struct
import sys
from types import SimpleNamespace

import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import FakeDriver
from tests.runtime.cuda.fake_torch import Tensor, fake_torch
from tilewright import tl
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.pointer.raised import RaisedTileKernel
from tilewright.runtime.tile.device import DevicePlanner


@tw.jit
def scaled(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * scale, mask=at < n)


@tw.jit
def copied(x_desc, out_desc):
    at = tl.program_id(0) * 16
    out_desc.store([at, 0], x_desc.load([at, 0]))


@tw.jit
def biased(x_ptr, b_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    if b_ptr:
        x += tl.load(b_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x, mask=at < n)


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A driver and a torch that are not there, and a count of launches the ordinary way."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_NATIVE_LAUNCH", "0")
    torch = fake_torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    ordinary = []
    launch = RaisedTileKernel._launch

    def counted(self, *given):
        ordinary.append(given)
        return launch(self, *given)

    monkeypatch.setattr(RaisedTileKernel, "_launch", counted)
    library = FakeDriver()
    for kernel in (scaled, copied, biased):
        kernel.replace_function(kernel.fn)  # nothing is left of another driver
    with using(library):
        yield SimpleNamespace(driver=library, torch=torch, ordinary=ordinary)
    for kernel in (scaled, copied, biased):
        kernel.replace_function(kernel.fn)


_BYTES = {"ptr": 8, "tensormap": 128, "i64": 8}


def _expect(scene, kernel):
    """Tell the driver how large the parameters of a raised kernel are."""
    (code,) = kernel.gpu.device.program.kernels.values()
    scene.driver.sizes = [_BYTES.get(each, 4) for each in code.metadata.parameters]


def _launch(scene, x=0x1000, out=0x9000, n=100, scale=2.0, grid=1, **tensor):
    shape = tensor.pop("shape", (1024,))
    arrays = [Tensor(each, shape, scene.torch.float32, **tensor) for each in (x, out)]
    options = {"BLOCK": 128, "target": "cuda:sm_90a"}
    if not scene.driver.sizes:
        _expect(scene, scaled.warmup(*arrays, n, scale, **options).raised)
    scaled[(grid,)](*arrays, n, scale, **options)
    return scene.driver.launches[-1]


def _repeated(scene, **changes):
    """How many launches took the ordinary way, of one that is made after three equal ones."""
    for _ in range(3):
        _launch(scene)
    before = len(scene.ordinary)
    launched = _launch(scene, **changes)
    return len(scene.ordinary) - before, launched


def test_a_repeated_launch_is_quick(scene):
    ways, launched = _repeated(scene)
    assert ways == 0
    assert launched.grid == (1, 1, 1)
    assert len(scene.driver.launches) == 4
    assert launched.parameters == scene.driver.launches[0].parameters


def test_other_addresses_and_scalars_are_passed(scene):
    ways, launched = _repeated(scene, x=0x20000, out=0x30000, scale=-0.0)
    assert ways == 0
    values = {struct.unpack("<Q", each)[0] for each in launched.parameters if len(each) == 8}
    assert values == {0x20000, 0x30000}
    assert struct.pack("<f", -0.0) in launched.parameters  # zeros of both signs are distinguished


@pytest.mark.parametrize(
    "changes",
    [{"n": 101}, {"grid": 2}, {"shape": (2048,)}, {"after": 64}, {"before": 64}],
    ids=str,
)
def test_what_a_launch_depends_on_is_compared(scene, changes):
    ways, _ = _repeated(scene, **changes)
    assert ways == 1
    assert _repeated(scene, **changes)[0] == 0  # and is learnt


@pytest.mark.parametrize("out", [0x1000, 0x1200])
def test_arrays_that_share_bytes_take_the_ordinary_way(scene, out):
    ways, _ = _repeated(scene, out=out)
    assert ways >= 1
    assert _repeated(scene, out=out)[0] >= 1  # each time: they are merged


def test_launches_as_threads_take_the_ordinary_way(scene, monkeypatch):
    from tilewright.runtime.pointer import raised_calls

    _repeated(scene)
    monkeypatch.setattr(raised_calls, "thread_runs", object)
    assert _repeated(scene)[0] == 1


def test_scalars_that_are_only_passed_need_no_plan(scene, monkeypatch):
    """A seed or a rate that is another one in every launch."""
    planned = []
    plan = DevicePlanner.planned
    monkeypatch.setattr(
        DevicePlanner, "planned", lambda self, given: planned.append(0) or plan(self, given)
    )
    for step in range(6):
        _launch(scene, scale=1.0 + step)
    assert len(scene.ordinary) == 2
    assert len(planned) <= 3


def test_descriptors(scene):
    def blocks(address, rows):
        arrays = [
            Tensor(each, (rows, 64), scene.torch.float16) for each in (address, address + 0x8000)
        ]
        return [tw.TensorDescriptor.from_tensor(each, [16, 64]) for each in arrays]

    def launch(address=0x1000, rows=64):
        copied[(4,)](*blocks(address, rows), target="cuda:sm_90a")

    compiled = copied.warmup(*blocks(0x1000, 64), target="cuda:sm_90a")
    _expect(scene, compiled.raised.of_whole_rows)
    for _ in range(3):
        launch()
    before = len(scene.ordinary)
    launch()
    launch(0x40000)
    assert len(scene.ordinary) == before
    launch(rows=48)  # another tensor map
    assert len(scene.ordinary) == before + 1


def test_a_pointer_that_the_kernel_tests_is_not_null(scene):
    def launch(address, count):
        arrays = [
            Tensor(each, (size,), scene.torch.float32)
            for each, size in ((0x1000, 128), (address, count))
        ]
        biased[(1,)](*arrays, 128, BLOCK=128, target="cuda:sm_90a")

    scene.driver.sizes = [8, 8, 8]
    for _ in range(4):
        launch(0x9000, 128)
    assert len(scene.ordinary) == 2
    with pytest.raises(ValueError, match="the array is empty, its address is 0"):
        launch(0, 0)
    assert len(scene.driver.launches) == 4
