"""Where kernels come from: ours from `examples/tlx`, peers from Triton, both from one source."""

from __future__ import annotations

import importlib.util
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_OURS = "import tilewright as tw\nfrom tilewright import tl\n"
_TRITON = "import triton as tw\nimport triton.language as tl\n"


def load_file(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def example(name: str) -> ModuleType:
    """A kernel of ours with its wrapper."""
    return load_file(ROOT / "examples" / "tlx" / f"{name}.py", f"example_{name}")


@cache
def our_kernels() -> ModuleType:
    """The plain kernels, compiled by us."""
    return load_file(Path(__file__).with_name("kernels.py"), "plain_kernels_ours")


@cache
def triton_kernels() -> ModuleType:
    """The plain kernels, compiled by Triton."""
    text = Path(__file__).with_name("kernels.py").read_text()
    assert _OURS in text
    folder = tempfile.mkdtemp(prefix="plain-kernels-")
    path = Path(folder) / "kernels.py"
    path.write_text(text.replace(_OURS, _TRITON))
    return load_file(path, "plain_kernels_triton")


def descriptor(module: ModuleType, tensor: Any, block: list[int]) -> Any:
    """A descriptor of the compiler that a module of plain kernels is for."""
    if module is our_kernels():
        from tilewright import TensorDescriptor

        return TensorDescriptor.from_tensor(tensor, block)
    from triton.tools.tensor_descriptor import TensorDescriptor as TritonDescriptor

    return TritonDescriptor.from_tensor(tensor, block)
