"""Kernels as custom ops of PyTorch; where it is not installed, what is said about that."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.test_docs import blocks
from tilewright import tl
from tilewright.runtime.fake_tensors import has_fakes, is_fake
from tilewright.runtime.torch_op import TorchMissing

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "runtime" / "torch_ops" / "cases.py"
_AFTER = "raised"
"""The function after which the cases are."""


def _names() -> list[str]:
    functions = [node.name for node in ast.parse(FILE.read_text()).body
                 if isinstance(node, ast.FunctionDef)]  # fmt: skip
    return functions[functions.index(_AFTER) + 1 : functions.index("main")]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch, whose custom ops are tested, is not installed: make torch")
    given = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), *given])
    run = subprocess.run(
        [sys.executable, "-m", "tests.runtime.torch_ops.cases"], cwd=ROOT, capture_output=True,
        text=True, env={**os.environ, "PYTHONPATH": path}, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return dict(json.loads(line) for line in run.stdout.splitlines())


@pytest.mark.parametrize("name", _names())
def test_with_torch(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "", outcomes[name]


def test_the_script_of_the_page(tmp_path: Path, outcomes: dict[str, str]) -> None:
    (source,) = blocks("docs/frameworks.md", "python")
    (tmp_path / "layer.py").write_text(source)
    given = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([str(ROOT / "src"), *given])
    run = subprocess.run(
        [sys.executable, "layer.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path}, timeout=200,
    )  # fmt: skip
    page = (ROOT / "docs" / "frameworks.md").read_text()
    lines = run.stdout.splitlines()
    assert len(lines) == 2
    assert all(f"`{line}`" in page for line in lines)


@tw.jit
def doubled(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


def test_without_torch_an_op_names_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TorchMissing) as missing:

        @tw.torch_op(name="ours::twice")
        def twice(x):
            return x

    assert str(missing.value) == (
        "tw.torch_op needs PyTorch, which is not installed: pip install torch"
    )


def test_a_launch_with_a_fake_tensor_does_nothing(monkeypatch):
    """Without memory there is nothing to read; the other arguments are left as they are."""
    monkeypatch.setitem(sys.modules, "torch", sys.modules.get("torch") or type(sys)("torch"))
    FakeTensor = type("FakeTensor", (), {"__module__": "torch._subclasses.fake_tensor"})
    fake, out = FakeTensor(), np.zeros(8, np.float32)
    assert is_fake(fake)
    assert has_fakes([1, out, fake])
    assert not has_fakes([1, out, None, "a"])
    assert doubled[(1,)](fake, out, BLOCK=8) is None
    assert not out.any()
    x = np.arange(8, dtype=np.float32)
    assert doubled[(1,)](x, out, BLOCK=8) is not None
    assert (out == 2 * x).all()
