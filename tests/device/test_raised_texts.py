"""Dump kernels, raised to tiles, on a GPU: what the interpreter computes on pointers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devices import torch_on_a_device

torch = torch_on_a_device()

from tests.device.test_tile_kernels import assert_same, on_gpu  # noqa: E402
from tests.passes.raising.launches import in_order  # noqa: E402
from tests.passes.raising.levels import Launch, on_pointers, parsed  # noqa: E402
from tests.passes.raising.test_bits import DUMPS  # noqa: E402
from tests.sampling import only  # noqa: E402
from tilewright.dialects.func import FuncOp  # noqa: E402
from tilewright.language.T.prim_func import PrimFunc  # noqa: E402
from tilewright.passes.tile.raise_to_tile import RaisedKernel, raise_module  # noqa: E402
from tilewright.runtime.pointer.raised_arguments import on_device, param_of  # noqa: E402
from tilewright.runtime.tile.kernel import CompiledTileKernel  # noqa: E402
from tilewright.targets.numpy import Descriptor, NumpyFault  # noqa: E402

pytestmark = pytest.mark.device

UNORDERED = ("atomic", "spin", "clock", "random")
"""Kernels whose results depend on the order of programs or threads."""
COMPARED = [
    name
    for name in DUMPS
    if not name.startswith(UNORDERED) and not {"fp8e4b8", "fp8e5b16"} & {*name.split("_")}
]
FEW = (
    *("scaled_dot_e4m3_e5m2", "scaled_dot_packed_rows", "gemm_f32_bf16x3", "gemm_f32_ieee"),
    *("reduce_kinds", "reduce_welford", "scan_kinds", "layernorm_backward", "attention_causal"),
    *("gemm_persistent", "histograms", "sort_f32", "softmax_rows", "gathers"),
)


def compiled(result: RaisedKernel, target: str = "cuda:sm_90a") -> CompiledTileKernel:
    """The raised kernel as our launcher has it."""
    function = next(op for op in result.module.ops if isinstance(op, FuncOp))
    names = (*result.parameters, *result.grid)
    pairs = zip(names, function.body.block.args, strict=True)
    params = tuple(param_of(name, argument.type) for name, argument in pairs)
    return CompiledTileKernel(
        PrimFunc(result.name, result.module, params, "", ()), (), target=target
    )


def run(kernel: CompiledTileKernel, launch: Launch) -> list[Any]:
    """The arrays after a run on the GPU."""
    arrays: list[Any] = []
    given: list[Any] = []
    for value in (*launch.arguments, *launch.sizes):
        array = (
            value.buffer.array if isinstance(value, Descriptor) else getattr(value, "array", None)
        )
        if array is None:
            given.append(value)
        else:
            arrays.append(on_gpu(array))
            given.append(arrays[-1])
    pairs = zip(kernel.params, given, strict=True)
    assert kernel.gpu is not None
    kernel.gpu.device.launch([on_device(param, 1)(each) for param, each in pairs], None)
    torch.cuda.synchronize()
    return arrays


@pytest.mark.parametrize("name", only(FEW, COMPARED))
def test_dumps(name: str) -> None:
    from tests.dumps import test_frontend as front_end

    (case,) = [each for each in front_end.CASES if each.name == name]
    text = front_end.our_text(case, front_end._targets(case), locations=True)
    result = raise_module(parsed(text))
    if not isinstance(result, RaisedKernel):
        # How many may be refused, and why, is a test of the default suite (`test_survey`).
        pytest.skip(f"not raised: {', '.join(str(each) for each in result.refusals)}")
    launch = in_order(text)
    try:
        expected, _ = on_pointers(launch)
    except NumpyFault as fault:
        # Random data are no indices, or no locks: the pointer level has no result to compare with.
        pytest.skip(f"the pointer level faults on random data: {fault}")
    for one, other in zip(run(compiled(result), launch), expected, strict=True):
        assert_same(name, one, other.reshape(one.shape), 2e-2)
