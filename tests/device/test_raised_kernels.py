"""`tl` kernels raised to tiles, through our own CUDA on a GPU, give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import BlockArgument

from tests.devices import torch_on_a_device

torch = torch_on_a_device()

import tilewright as tw  # noqa: E402
from benchmarks.h200 import tutorial_cases  # noqa: E402
from benchmarks.h200.peers import our_kernels  # noqa: E402
from benchmarks.h200.raised_cases import TUTORIALS  # noqa: E402
from benchmarks.raised import TorchArrays  # noqa: E402
from tests.device.test_tile_kernels import assert_same, on_gpu, poisoned  # noqa: E402
from tests.examples.tl_examples import NAMES, load  # noqa: E402
from tests.runtime.pointer.test_raised import add  # noqa: E402
from tilewright.dialects.tt import DescriptorStoreOp, StoreOp  # noqa: E402
from tilewright.passes.tile.raise_to_tile import RaisedKernel, raise_module  # noqa: E402
from tilewright.runtime.pointer.compiled import CompiledKernel  # noqa: E402
from tilewright.runtime.pointer.raised_arguments import flat_names  # noqa: E402

pytestmark = pytest.mark.device

EXAMPLES = tuple(name for name in NAMES if name != "grouped_gemm")
"""All examples but the one that finds arrays by their addresses, which are those of the host."""
Recorded = tuple[CompiledKernel, tuple[int, int, int], list[Any], list[Any]]


def recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """The launches of an example, with the arguments before and after their runs on the host."""
    found: list[Recorded] = []
    launch = CompiledKernel.launch

    def copied(values: Any) -> list[Any]:
        return [np.array(each) if isinstance(each, np.ndarray) else each for each in values]

    def recording(self: CompiledKernel, grid: Any, values: Any, stream: Any = None) -> Any:
        before = copied(values)
        report = launch(self, grid, values, stream)
        found.append((self, grid, before, copied(values)))
        return report

    monkeypatch.setattr(CompiledKernel, "launch", recording)
    load(name).example(np.random.default_rng(0))
    monkeypatch.undo()
    return found


def arrays_read(compiled: CompiledKernel) -> set[str]:
    """The pointers that a kernel reads or updates: their memory is not poisoned."""
    result = raise_module(compiled.module)
    assert isinstance(result, RaisedKernel)
    names = list(flat_names(compiled.kernel.arg_names, compiled.keys))
    return {
        names[access.base.index]
        for op, access in result.plan.accesses.items()
        if not isinstance(op, StoreOp | DescriptorStoreOp)
        and isinstance(access.base, BlockArgument)
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for compiled, grid, before, after in recorded(name, monkeypatch):
        arguments = [on_gpu(each) if isinstance(each, np.ndarray) else each for each in before]
        names, read = compiled.kernel.arg_names, arrays_read(compiled)
        for parameter, argument, one, other in zip(names, arguments, before, after, strict=True):
            is_changed = isinstance(one, np.ndarray) and one.tobytes() != other.tobytes()
            if is_changed and parameter not in read:
                poisoned(argument)  # an output
        options = {key: compiled.metadata[key] for key in ("num_warps", "num_stages")}
        compiled.kernel[grid](*arguments, **options, target="cuda")
        torch.cuda.synchronize()
        for parameter, got, expected in zip(names, arguments, after, strict=True):
            if isinstance(expected, np.ndarray):
                assert_same(f"{name}.{parameter}", got, expected, 2e-2)


@pytest.mark.parametrize("size", [1, 1000, 4096, 4097])
def test_sizes(size: int) -> None:
    x, y = torch.randn(2, size + 8, device="cuda").unbind()
    x, y = x[:size].clone(), y[:size].clone()
    memory = torch.empty(size + 64, device="cuda")
    poisoned(memory)
    out = memory[:size]
    add[(-(-size // 256),)](x, y, out, size, BLOCK=256, target="cuda")
    torch.cuda.synchronize()
    assert torch.equal(out, x + y)
    assert torch.isnan(memory[size:]).all()  # nothing is written past the end


@pytest.mark.parametrize("shift", [0, 1, 4])
def test_arrays_that_overlap(shift: int) -> None:
    memory = torch.arange(2048, device="cuda").float()
    x, y, out = memory[:1024], torch.ones(1024, device="cuda"), memory[shift : shift + 1024]
    expected = memory.clone()
    expected[shift : shift + 1024] = x + y
    add[(1,)](x, y, out, 1024, BLOCK=1024, target="cuda")
    assert torch.equal(memory, expected)


@pytest.mark.parametrize("size", [4096, 4097])
def test_auto_takes_what_the_tuner_measured(
    size: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both back ends are timed and right; the next tuner finds the choice on disk."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    configs = [tw.Config({"BLOCK": 256}), tw.Config({"BLOCK": 1024})]
    x, y = torch.randn(2, size, device="cuda").unbind()
    x, y = x.clone(), y.clone()
    found = []
    for _ in range(2):
        tuned = tw.autotune(configs, key=["n"])(add)
        out = torch.full_like(x, float("nan"))
        tuned[lambda meta: (-(-size // meta["BLOCK"]),)](x, y, out, size)
        torch.cuda.synchronize()
        assert torch.equal(out, x + y)
        found.append((tuned.best_config, tuned.configs_timings))
    targets = [each.all_kwargs().get("target") for each in found[0][1]]
    assert sorted(map(str, targets)) == ["None", "None", "cuda", "cuda"]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("grouped_kernel", ((256, 384, 192), (128, 128, 64), (512, 128, 320))),
        ("grouped_descriptors_kernel", ((256, 384, 192), (128, 128, 64), (512, 128, 320))),
        ("grouped_descriptors_kernel", ((200, 72, 136), (1, 8, 8), (129, 264, 64))),
    ],
)
def test_grouped_gemm(
    name: str, problems: tuple[tuple[int, int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The addresses of the matrices are in memory of the GPU."""
    monkeypatch.setattr(tutorial_cases, "_PROBLEMS", problems)
    arrays = TorchArrays()
    call = tutorial_cases._grouped(name)(our_kernels(TUTORIALS), arrays)
    arrays.poison()
    (launch,) = call.launches
    launch.kernel[launch.grid](*launch.arguments, **launch.options, target="cuda")
    torch.cuda.synchronize()
    count = len(problems)
    for index, actual in enumerate(call.outputs):
        a, b = (each.float() for each in call.reached[index::count])
        expected = a @ (b.T if name == "grouped_descriptors_kernel" else b)
        torch.testing.assert_close(actual.float(), expected, rtol=2e-3, atol=2e-2)
