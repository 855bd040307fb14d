"""Launches on AMD GPUs as AMD's bindings get them; there is no GPU here."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.runtime.hip.fake_hip import FakeHip
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.hip import bindings
from tilewright.runtime.hip.bindings import HipError, HipUnavailable, using
from tilewright.runtime.hip.launcher import HipLauncher
from tilewright.runtime.tile.hip import HipDeviceProgram
from tilewright.targets.hip.artefact import HipKernel, HipProgram
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.host.steps import Step

METADATA = HipKernelMetadata(
    "scale", "gfx942", 256, 4096, 0, ("ptr", "ptr", "f32", "i32", "bf16", "i64")
)
KERNEL = HipKernel("source", b"\x7fELF code", "", METADATA, "")
SIZES = (8, 8, 4, 4, 2, 8)


@pytest.fixture
def hip() -> Iterator[FakeHip]:
    fake = FakeHip()
    with using(fake):
        yield fake


def test_a_launch_passes_pointers_to_its_parameters(hip: FakeHip) -> None:
    hip.sizes = SIZES
    HipLauncher(KERNEL).launch(0x77, 3, 2, 1, 0xABC0, 0, 0.5, -7, 1.0, 1 << 40)
    assert hip.calls == [("load", b"\x7fELF code"), ("function", "scale")]
    (launch,) = hip.launches
    expected = struct.pack("<Q", 0xABC0), bytes(8), struct.pack("<f", 0.5), struct.pack("<i", -7)
    assert launch["parameters"] == [*expected, b"\x80\x3f", struct.pack("<q", 1 << 40)]
    assert (launch["grid"], launch["block"]) == ((3, 2, 1), (256, 1, 1))
    assert (launch["stream"], launch["shared"], launch["cooperative"]) == (0x77, 0, False)


def test_the_default_stream_is_no_handle(hip: FakeHip) -> None:
    hip.sizes = SIZES
    HipLauncher(KERNEL).launch(0, 1, 1, 1, 0, 0, 0.0, 0, 0.0, 0)
    assert hip.launches[0]["stream"] is None


def test_an_empty_grid_is_no_launch(hip: FakeHip) -> None:
    HipLauncher(KERNEL).launch(0, 4, 0, 1)
    assert hip.launches == []


def test_unsigned_numbers_wrap(hip: FakeHip) -> None:
    hip.sizes = SIZES
    HipLauncher(KERNEL).launch(0, 1, 1, 1, 0, 0, 1e39, 0xFFFFFFFF, 0.0, 0)
    assert hip.launches[0]["parameters"][2:4] == [struct.pack("<f", float("inf")), b"\xff" * 4]


def test_the_size_of_large_dynamic_lds_is_announced(hip: FakeHip) -> None:
    hip.chip = "gfx950"
    metadata = replace(METADATA, chip="gfx950", shared=131072, dynamic_shared=131072, parameters=())
    HipLauncher(replace(KERNEL, metadata=metadata)).launch(0, 1, 1, 1)
    attribute = "hipFuncAttributeMaxDynamicSharedMemorySize"
    assert ("attribute", "scale", attribute, 131072) in hip.calls
    assert hip.launches[0]["shared"] == 131072


def test_a_cooperative_kernel_has_its_own_launch(hip: FakeHip) -> None:
    metadata = replace(METADATA, parameters=("ptr",), cooperative=True)
    HipLauncher(replace(KERNEL, metadata=metadata)).launch(0, 1, 1, 1, 16)
    assert hip.launches[0]["cooperative"]


def test_code_for_another_chip_is_refused_before_it_is_loaded(hip: FakeHip) -> None:
    hip.chip = "gfx90a:sramecc+"
    with pytest.raises(
        ValueError, match=r"compiled for gfx942, .* is gfx90a: use target 'hip:gfx90a'"
    ):
        HipLauncher(KERNEL)
    assert hip.calls == []


@pytest.mark.parametrize("is_old", [False, True])
def test_a_status_is_an_error_with_the_runtimes_text(hip: FakeHip, is_old: bool) -> None:
    hip.is_old = is_old
    launcher = HipLauncher(replace(KERNEL, metadata=replace(METADATA, parameters=())))
    hip.fails["hipModuleLaunchKernel"] = 719
    with pytest.raises(HipError, match="HIP error 719 in hipModuleLaunchKernel") as error:
        launcher.launch(0, 2, 1, 1)
    assert ": text of hipErrorLaunchFailure\n" in str(error.value)
    assert "kernel scale, grid (2, 1, 1), 256 threads" in str(error.value)


def test_more_threads_than_an_axis_can_have(hip: FakeHip) -> None:
    with pytest.raises(ValueError, match=r"16777216 blocks, and HIP launches 16777215"):
        HipLauncher(replace(KERNEL, metadata=replace(METADATA, parameters=()))).launch(
            0, 1 << 24, 1, 1
        )


def test_the_wrong_number_of_parameters(hip: FakeHip) -> None:
    with pytest.raises(TypeError, match=r"scale takes 6 parameters \(ptr, ptr, f32.*got 1"):
        HipLauncher(KERNEL).launch(0, 1, 1, 1, 5)


def test_without_bindings_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bindings, "_loaded", None)
    monkeypatch.setattr(bindings, "_MODULES", ("no.such.bindings",))
    assert not bindings.is_available()
    with pytest.raises(HipUnavailable, match=r"hip-python.*pip install 'tilewright\[hip\]'"):
        bindings.hip()


def test_without_a_gpu_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for fake in (FakeHip(devices=0), FakeHip()):
        monkeypatch.setattr(bindings, "_loaded", None)
        monkeypatch.setattr(bindings, "_bindings", lambda fake=fake: fake)
        assert bindings.is_available() == (fake.devices > 0)


# -- whole programs --------------------------------------------------------------------------------


def _array(address: int, size: int, device: int = 0) -> DeviceArray:
    return DeviceArray(address, "fp32", (size,), (1,), 4, device, None)


@pytest.fixture
def program() -> HipProgram:
    """Two kernels with memory between them: ``scale(A, T); scale(T, B)``."""
    grid = Step("ceildiv", "%3", ("%2", 256))
    memory = Step("alloc", "%4", (), ((1024,), 4))
    extent = Step("dim", "%2", ("%0", 0))
    first = Step("launch", "", ("%3", 1, 1, "%0", "%4"), ("scale",))
    second = Step("launch", "", ("%3", 1, 1, "%4", "%1"), ("scale",))
    metadata = replace(METADATA, parameters=("ptr", "ptr"))
    return HipProgram(
        (extent, grid, memory, first, second), {"scale": replace(KERNEL, metadata=metadata)}
    )


def test_a_program_runs_its_launches_in_order(hip: FakeHip, program: HipProgram) -> None:
    run = HipDeviceProgram(program)
    run.launch([_array(0x1000, 1000), _array(0x2000, 1000)])
    run.launch([_array(0x3000, 256), _array(0x4000, 256)])
    addresses = [
        [int.from_bytes(each, "little") for each in one["parameters"]] for one in hip.launches
    ]
    assert addresses == [[0x1000, 0x5000], [0x5000, 0x2000], [0x3000, 0x5000], [0x5000, 0x4000]]
    assert [one["grid"][0] for one in hip.launches] == [4, 4, 1, 1]
    assert [each[0] for each in hip.calls] == [
        "malloc",
        "load",
        "function",
        "free",
        "malloc",
        "free",
    ]


def test_arrays_on_another_gpu(hip: FakeHip, program: HipProgram) -> None:
    with pytest.raises(ValueError, match="the arrays are on GPU 1, but the current GPU is 0"):
        HipDeviceProgram(program).launch([_array(0x1000, 8, 1), _array(0x2000, 8, 1)])
