"""`T` kernels on a GPU give what the NumPy target gives, with outputs poisoned first."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.devices import torch_on_a_device

torch = torch_on_a_device()

import tilewright as tw  # noqa: E402
from tests.passes.gpu import test_unsigned_gemms as unsigned_gemms  # noqa: E402
from tests.passes.gpu.features import FEATURES, Feature  # noqa: E402
from tests.targets.cuda.test_spills import two_sums  # noqa: E402
from tilewright.runtime.tile.kernel import CompiledTileKernel  # noqa: E402

pytestmark = pytest.mark.device

EXAMPLES = sorted(
    path.stem
    for path in Path("examples/tile").glob("*.py")
    if not path.stem.startswith("blackwell_")
)
SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def on_gpu(array: np.ndarray) -> Any:
    kind = str(array.dtype)
    if kind in SMALL:
        size = array.dtype.itemsize
        raw = torch.from_numpy(array.view(np.uint8 if size == 1 else np.int16).copy())
        return raw.view(getattr(torch, kind)).cuda()
    return torch.from_numpy(array.copy()).cuda()


def poisoned(tensor: Any) -> None:
    tensor.view(torch.uint8).fill_(0xFF)


def assert_same(name: str, got: Any, expected: np.ndarray, tolerance: float) -> None:
    a = got.double().cpu().numpy() if got.dtype.itemsize > 1 else got.float().cpu().numpy()
    b = expected.astype(np.float64)
    scale = np.abs(b[np.isfinite(b)]).max(initial=1e-6)
    assert np.array_equal(np.isfinite(a), np.isfinite(b)), name
    error = np.abs(np.where(np.isfinite(b), a - b, 0)).max(initial=0) / scale
    assert error < tolerance, f"{name}: {error}"


def recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[Any], list[Any]]]:
    """The kernels of an example, with the arguments before and after their NumPy runs."""
    found: list[tuple[Any, list[Any], list[Any]]] = []
    launch = CompiledTileKernel.launch

    def recording(self: CompiledTileKernel, values: list[Any]) -> None:
        before = [np.array(v.array) if hasattr(v, "array") else v for v in values]
        launch(self, values)
        after = [np.array(v.array) if hasattr(v, "array") else v for v in values]
        found.append((self, before, after))

    monkeypatch.setattr(CompiledTileKernel, "launch", recording)
    monkeypatch.syspath_prepend("examples/tile")
    importlib.import_module(name).example(np.random.default_rng(0))
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_on_the_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel, before, after in recorded(name, monkeypatch):
        # Outputs are passed, so that they can be poisoned.
        compiled = CompiledTileKernel(kernel.prim_func, (), target="cuda")
        compiled.out_idx = ()
        arguments = [on_gpu(v) if isinstance(v, np.ndarray) else v for v in before]
        for number in kernel.out_idx:
            poisoned(arguments[number])
        compiled(*arguments)
        torch.cuda.synchronize()
        for param, got, expected in zip(kernel.params, arguments, after, strict=True):
            if isinstance(expected, np.ndarray):
                assert_same(f"{name}.{param.name}", got, expected, 2e-2)


def inputs(feature: Feature) -> list[np.ndarray]:
    """Values that every dtype can hold."""
    rng = np.random.default_rng(1)
    found: list[np.ndarray] = []
    for param in feature.func.params:
        values = rng.integers(-3, 4, tuple(param.shape)).astype(np.float32)
        if "int" not in str(param.dtype):
            values = values / 4 + 0.5
        found.append(values.astype(param.dtype.as_numpy()))
    return found


@pytest.mark.parametrize("name", [name for name, each in FEATURES.items() if each.runs])
def test_features_run_on_the_gpu(name: str) -> None:
    feature = FEATURES[name]
    arrays = inputs(feature)
    tensors = [on_gpu(each) for each in arrays]
    for tensor in tensors[-feature.outputs :]:
        poisoned(tensor)
    tw.compile(feature.func, target="numpy")(*arrays)
    tw.compile(feature.func, target="cuda")(*tensors)
    torch.cuda.synchronize()
    for number in range(len(arrays)):
        what = feature.func.params[number].name
        assert_same(f"{name}.{what}", tensors[number], arrays[number], feature.tolerance)


@pytest.mark.parametrize("transposed", [True, False])  # wgmma, mma.sync
@pytest.mark.parametrize(("a", "b"), [("uint8", "uint8"), ("uint8", "int8"), ("int8", "uint8")])
def test_unsigned_gemms(a: str, b: str, transposed: bool) -> None:
    """Bytes above 127: only then does the sign of an operand change the result."""
    rng = np.random.default_rng(3)
    raw = [rng.integers(0, 256, (unsigned_gemms.SIDE,) * 2).astype(np.uint8) for _ in range(2)]
    left, right = raw[0].view(a), raw[1].view(b)
    kernel = unsigned_gemms.gemm(a, b, transposed=transposed, in_registers=False)
    found = torch.empty((unsigned_gemms.SIDE,) * 2, dtype=torch.int32, device="cuda")
    poisoned(found)
    tw.compile(kernel, target="cuda")(on_gpu(left), on_gpu(right), found)
    torch.cuda.synchronize()
    expected = left.astype(np.int32) @ (right.T if transposed else right).astype(np.int32)
    np.testing.assert_array_equal(found.cpu().numpy(), expected)


def gemm() -> Any:
    module = importlib.import_module("gemm_relu")
    return module.matmul_relu


@pytest.mark.parametrize(
    "size",
    [
        (1, 1, 1),
        (1, 64, 64),
        (131, 67, 257),
        (65, 65, 33),
        (64, 65, 32),
        (129, 8, 40),
        (200, 136, 72),
    ],
)
def test_products_of_odd_sizes(size: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("examples/tile")
    m, n, k = size
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    got = gemm()(a, b)
    expected = torch.relu(a.double() @ b.double())
    assert got.shape == (m, n)
    assert (got.double() - expected).abs().max() < 2e-2 * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("size", [(1, 1), (3, 131), (5, 129), (17, 128)])
def test_norms_of_odd_sizes(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("examples/tile")
    module = importlib.import_module("rms_norm")
    a = torch.randn(*size, device="cuda")
    expected = a * torch.rsqrt((a * a).mean(dim=1, keepdim=True) + module.EPSILON)
    for kernel in (module.rms_norm, module.rms_norm_in_pieces):
        assert torch.allclose(kernel(a), expected, rtol=1e-4, atol=1e-5), kernel


def test_one_kernel_for_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("examples/tile")
    matmul = importlib.import_module("dynamic_shapes").matmul
    for m, n, k in (
        (1, 1, 1),
        (33, 70, 17),
        (64, 32, 48),
        (128, 64, 256),
        (127, 65, 1),
        (64, 32, 0),
    ):
        a = torch.randn(m, k, device="cuda", dtype=torch.float16)
        b = torch.randn(k, n, device="cuda", dtype=torch.float16)
        expected = a.double() @ b.double()
        error = (matmul(a, b).double() - expected).abs().max()
        assert error < 2e-2 * max(1.0, float(expected.abs().max())), (m, n, k)


def test_twice_as_many_threads() -> None:
    """Registers do not suffice for those that the kernel asks for."""
    kernel = tw.compile(two_sums(names_a_thread=False), target="cuda")
    a = torch.randn(128, 512, device="cuda", dtype=torch.float16)
    b = torch.randn(512, 128, device="cuda", dtype=torch.float16)
    c = torch.full((128, 128), float("nan"), device="cuda")
    kernel(a, b, c)
    assert torch.allclose(c.double(), a.double() @ b.double(), rtol=1e-3, atol=1e-2)


def test_buffers_that_change_hands_in_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("examples/tile")
    module = importlib.import_module("persistent_gemm")
    matmul = tw.jit(
        module.matmul_persistent.function,
        target="cuda",
        pass_configs={
            "tl.enable_aggressive_shared_memory_merge": True,
            "tl.disable_warp_specialized": True,
        },
    )
    a = torch.randn(1000, 512, device="cuda", dtype=torch.float16)
    b = torch.randn(512, 1000, device="cuda", dtype=torch.float16)
    got = matmul(a, b, block_M=128, block_N=128, block_K=64, num_stages=3)
    expected = a.double() @ b.double()
    assert (got.double() - expected).abs().max() < 2e-2 * float(expected.abs().max())


def test_misaligned_tensors_are_refused() -> None:
    add = FEATURES["a_choice"].func
    a = torch.zeros(101, device="cuda")[1:]
    with pytest.raises(
        ValueError, match=r"is misaligned: its address is 4 bytes past a multiple of 16"
    ):
        tw.compile(add, target="cuda")(a, torch.zeros(128, device="cuda"))
