"""`T` examples on a GPU give what the NumPy target gives, with outputs poisoned first."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tilewright.runtime.tile.device import DeviceProgram  # noqa: E402
from tilewright.runtime.tile.kernel import CompiledTileKernel  # noqa: E402
from tilewright.targets.cuda.compile import compile_module  # noqa: E402

pytestmark = pytest.mark.device

EXAMPLES = sorted(path.stem for path in Path("examples/tile").glob("*.py"))


def recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[Any], list[Any]]]:
    """The kernels of an example, with the arguments before and after their NumPy runs."""
    found: list[tuple[Any, list[Any], list[Any]]] = []
    launch = CompiledTileKernel._launch

    def recording(self: CompiledTileKernel, values: list[Any]) -> None:
        before = [np.array(v.array) if hasattr(v, "array") else v for v in values]
        launch(self, values)
        after = [np.array(v.array) if hasattr(v, "array") else v for v in values]
        found.append((self, before, after))

    monkeypatch.setattr(CompiledTileKernel, "_launch", recording)
    monkeypatch.syspath_prepend("examples/tile")
    importlib.import_module(name).example(np.random.default_rng(0))
    return found


def on_gpu(array: np.ndarray) -> Any:
    kind = str(array.dtype)
    if kind in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        size = array.dtype.itemsize
        raw = torch.from_numpy(array.view(np.uint8 if size == 1 else np.int16).copy())
        return raw.view(getattr(torch, kind)).cuda()
    return torch.from_numpy(array.copy()).cuda()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_on_the_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel, before, after in recorded(name, monkeypatch):
        program = DeviceProgram(compile_module(kernel.prim_func.module))
        arguments = [on_gpu(v) if isinstance(v, np.ndarray) else v for v in before]
        for number in kernel.out_idx:
            arguments[number].view(torch.uint8).fill_(0xFF)
        program(arguments)
        torch.cuda.synchronize()
        for param, got, expected in zip(kernel.params, arguments, after, strict=True):
            if isinstance(expected, np.ndarray):
                a = got.float().cpu().numpy().astype(np.float64)
                b = expected.astype(np.float64)
                scale = np.abs(b[np.isfinite(b)]).max(initial=1e-6)
                assert np.array_equal(np.isfinite(a), np.isfinite(b)), (name, param.name)
                error = np.abs(np.where(np.isfinite(b), a - b, 0)).max(initial=0) / scale
                assert error < 2e-2, f"{name}.{param.name}: {error}"


