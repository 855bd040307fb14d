"""Custom ops on a GPU: eager, compiled by Inductor, and captured in a CUDA graph."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.devices import torch_on_a_device
from tilewright import T, tl

torch = torch_on_a_device()
pytestmark = pytest.mark.device


@tw.jit
def scale_kernel(x_ptr, out_ptr, factor, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x * factor, mask=inside)


def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    out = torch.empty_like(x)
    scale_kernel[(tw.cdiv(x.numel(), 1024),)](x, out, factor, x.numel(), BLOCK=1024)
    return out


# Annotations are text here, and torch reads them as types.
scaled.__annotations__ = {"x": torch.Tensor, "factor": float, "return": torch.Tensor}


@tw.jit(out_idx=-1, target="cuda")
def added(M, N):
    @T.prim_func
    def add(
        A: T.Tensor((M, N), "float32"),
        B: T.Tensor((M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M, threads=128) as row:
            for column in T.Parallel(N):
                C[row, column] = A[row, column] + B[row, column]

    return add


@pytest.fixture(scope="module")
def layer():
    scale = tw.torch_op(scaled, name="device::scaled")
    plus = tw.torch_op(added(64, 256))
    return lambda x: plus(scale(x.sin(), 3.0), x) * 2


def wanted(x):
    return (3 * x.sin() + x) * 2


def test_an_op_is_compiled_by_inductor(layer):
    x = torch.randn(64, 256, device="cuda")
    torch.testing.assert_close(layer(x), wanted(x))
    torch.testing.assert_close(torch.compile(layer, fullgraph=True)(x), wanted(x))


def test_an_op_is_captured_in_a_cuda_graph(layer):
    x = torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # compiled, and the quick path of later launches
            layer(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = layer(x)
    for seed in range(3):
        torch.manual_seed(seed)
        x.copy_(torch.randn(64, 256, device="cuda"))
        graph.replay()
        torch.testing.assert_close(out, wanted(x))


def test_torch_captures_compiled_ops_itself(layer):
    function = torch.compile(layer, fullgraph=True, mode="reduce-overhead")
    for seed in range(5):
        torch.manual_seed(seed)
        x = torch.randn(64, 256, device="cuda")
        torch.testing.assert_close(function(x).clone(), wanted(x))


def test_memory_that_is_ours_is_exported():
    import numpy as np

    from tilewright.runtime.cuda.memory import DeviceMemory

    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = torch.from_dlpack(DeviceMemory.of(array))
    assert tensor.is_cuda
    torch.testing.assert_close(tensor.cpu(), torch.from_numpy(array))
