"""From a launch with arrays on a GPU to the driver: the kernel is compiled, the GPU is not there.

Everything but the driver and torch is real, so what the driver gets must fit what is in the cubin:
its name, its shared memory, and a parameter for each that the PTX declares.
"""

from __future__ import annotations

import importlib
import re
import struct
import sys

import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import SIZES
from tests.runtime.cuda.fake_torch import Tensor, fake_torch
from tilewright import tl
from tilewright.runtime import choice
from tilewright.runtime.pointer.compiled import CompiledKernel

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")


@pytest.fixture
def gpu(cuda, monkeypatch):
    """A driver that knows how many bytes the parameters of the next launch have."""
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    choice.choose.cache_clear()
    launcher_of = importlib.import_module("tilewright.runtime.pointer.gpu").launcher_of

    def watched(artefact):
        cuda.sizes = [SIZES[kind] for kind in artefact.metadata.parameters]
        return launcher_of(artefact)

    monkeypatch.setattr("tilewright.runtime.pointer.gpu.launcher_of", watched)
    yield cuda
    choice.choose.cache_clear()


def tensor(address=0x10000, shape=(256, 128), dtype="float16"):
    return Tensor(address, shape, getattr(sys.modules["torch"], dtype))


def declared(compiled: CompiledKernel) -> list[int]:
    """Bytes of every parameter, as the PTX has them."""
    entry = re.search(r"\.entry\s+\w+\s*\(([^)]*)\)", compiled.asm["ptx"])
    assert entry
    sizes: list[int] = []
    for line in entry[1].split(","):
        found = re.search(r"\.param .*?\.(?:[bsuf](\d+)|align \d+ \.b8 \w+\[(\d+)\])", line)
        assert found, line
        sizes.append(int(found[2]) if found[2] else int(found[1]) // 8)
    return sizes


def test_a_plain_kernel(gpu):
    @tw.jit
    def kernel(x_ptr, n, scale, flag, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x_ptr + at, mask=at < n) * scale
        tl.store(x_ptr + at, tl.where(flag, value, 0.0), mask=at < n)

    compiled = kernel[(4,)](tensor(dtype="float32"), 1000, 0.5, True, BLOCK=256, num_warps=8)
    assert str(compiled.choice) == "triton:sm_90"
    (loaded,) = [arguments for name, arguments in gpu.calls if name == "cuModuleLoadData"]
    assert loaded[1] == compiled.asm["cubin"]
    (launch,) = gpu.launches
    assert (launch.grid, launch.block) == ((4, 1, 1), (256, 1, 1))
    assert [len(each) for each in launch.parameters] == declared(compiled)
    pointer, n, scale, flag, scratch, profile = launch.parameters
    assert struct.unpack("<Q", pointer) == (0x10000,)
    assert struct.unpack("<i", n) == (1000,)
    assert struct.unpack("<f", scale) == (0.5,)
    assert flag == b"\x01"
    assert scratch == profile == bytes(8)


def test_descriptors_of_the_host(gpu):
    @tw.jit
    def copy(source, into):
        row = tl.program_id(0) * 64
        into.store([row, 0], source.load([row, 0]))

    a = tw.TensorDescriptor.from_tensor(tensor(), [64, 128])
    b = tw.TensorDescriptor.from_tensor(tensor(0x90000), [64, 128])
    compiled = copy[(4,)](a, b)
    (launch,) = gpu.launches
    assert [len(each) for each in launch.parameters] == declared(compiled)
    first, second = gpu.maps
    assert (first["address"], second["address"]) == (0x10000, 0x90000)
    for made, facts in zip(gpu.maps, compiled.artefact.metadata.tensor_maps, strict=True):
        assert made["shape"] == [128, 256]  # innermost first, as the driver has it
        assert made["strides"] == [256]
        assert made["box"] == [*reversed(facts.box)] == [64, 64]
        assert made["type"] == facts.cuda_type == 6
    assert struct.unpack("<ii", b"".join(launch.parameters[1:3])) == (256, 128)
    assert struct.unpack("<qq", b"".join(launch.parameters[3:5])) == (128, 1)
    assert launch.shared == compiled.artefact.metadata.shared > 0


def test_descriptors_of_the_kernel_get_memory(gpu):
    @tw.jit
    def fill(out_ptr, n):
        out = tl.make_tensor_descriptor(out_ptr, [n, n], [n, 1], [32, 32])
        out.store([0, 0], tl.zeros((32, 32), tl.float32))

    asked: list[int] = []

    def empty(size, dtype, device):
        asked.append(size)
        return tensor(0x7F00000, (size,))

    torch = sys.modules["torch"]
    torch.empty, torch.uint8 = empty, None
    compiled = fill[(3, 2)](tensor(dtype="float32"), 64)
    facts = compiled.artefact.metadata
    assert asked == [6 * facts.scratch_bytes]
    assert facts.scratch_bytes > 0
    assert 0x7F00000 % facts.scratch_align == 0
    assert struct.unpack("<Q", gpu.launches[0].parameters[-2]) == (0x7F00000,)


def test_a_warp_specialised_kernel(gpu):
    from tests.examples.tlx_examples import load

    module = load("hopper_gemm_ws")
    a, b, c = (
        tensor(0x10000, (512, 512)),
        tensor(0x110000, (512, 512)),
        tensor(0x210000, (512, 512)),
    )
    module.gemm(a, b, out=c)
    (compiled,) = module.gemm_kernel.cache.values()
    (launch,) = gpu.launches
    facts = compiled.artefact.metadata
    assert launch.block == (facts.threads, 1, 1) == (384, 1, 1)
    assert launch.shared == facts.shared
    assert [len(each) for each in launch.parameters] == declared(compiled)
    assert [each["address"] for each in gpu.maps] == [0x10000, 0x110000, 0x210000]
