"""Where kernels come from: ours from `examples`, peers' from the same source, compiled by them."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_OUR_END = "_ours"
_OURS = "import tilewright as tw\nfrom tilewright import tl\n"
_TRITON = "import triton as tw\nimport triton.language as tl\n"
_LIBRARY = "from tilewright.language.tl.extra import"
_TRITON_LIBRARY = "from triton.language.extra import"
_TILE = ("import tilewright as tw\n", "from tilewright import T\n")
_TILELANG = ("import tilelang as tw\n", "import tilelang.language as T\n")


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
def tile_example(name: str) -> ModuleType:
    """A kernel of ours in `T`."""
    return load_file(ROOT / "examples" / "tile" / f"{name}.py", f"example_tile_{name}")


@cache
def our_kernels(name: str = "kernels") -> ModuleType:
    """The plain kernels, or those of another file beside this one, compiled by us."""
    return load_file(Path(__file__).with_name(f"{name}.py"), f"plain_{name}{_OUR_END}")


@cache
def triton_kernels(name: str = "kernels") -> ModuleType:
    """The same, compiled by Triton."""
    text = Path(__file__).with_name(f"{name}.py").read_text()
    assert _OURS in text
    path = Path(tempfile.mkdtemp(prefix="plain-kernels-")) / f"{name}.py"
    path.write_text(text.replace(_OURS, _TRITON).replace(_LIBRARY, _TRITON_LIBRARY))
    return load_file(path, f"plain_{name}_triton")


@cache
def tilelang_kernels(folder: str) -> ModuleType:
    """The `T` kernels of the benchmark, compiled by the TileLang that lies in `folder`."""
    sys.path.insert(0, folder)
    made = Path(tempfile.mkdtemp(prefix="tile-kernels-"))
    sources = (Path(__file__).with_name("tile_kernels.py"), ROOT / "examples" / "tile" / "gemm.py")
    modules: list[ModuleType] = []
    for source in sources:
        text = source.read_text()
        for ours, theirs in zip(_TILE, _TILELANG, strict=True):
            assert ours in text, source
            text = text.replace(ours, theirs)
        path = made / source.name
        path.write_text(text)
        modules.append(load_file(path, f"tilelang_{source.stem}"))
    kernels, gemm = modules
    kernels.gemm = gemm.gemm  # which the file itself takes from our examples
    return kernels


def descriptor(module: ModuleType, tensor: Any, block: list[int]) -> Any:
    """A descriptor of the compiler that a module of plain kernels is for."""
    if module.__name__.endswith(_OUR_END):
        from tilewright import TensorDescriptor

        return TensorDescriptor.from_tensor(tensor, block)
    from triton.tools.tensor_descriptor import TensorDescriptor as TritonDescriptor

    return TritonDescriptor.from_tensor(tensor, block)
