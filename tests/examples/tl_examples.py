"""The kernels under `examples/tl`, for Tilewright and, with the imports changed, for Triton.

That the same text serves both is part of what is tested: an author changes the imports and nothing
else.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tl"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.py")))
INTEGERS = "integer_kernels"
"""Kernels beside this file, for comparison to the bit."""

_IMPORTS = {
    "import tilewright as tw\n": "import triton as tw\n",
    "from tilewright import tl\n": "import triton.language as tl\n",
}


def load(name: str) -> ModuleType:
    """The example as an author runs it."""
    return _load(f"tl_example_{name}", _path(name))


def load_for_triton(name: str, scratch: Path) -> ModuleType:
    """The example with its two imports changed, written to a file because Triton reads sources."""
    text = _path(name).read_text()
    for ours, theirs in _IMPORTS.items():
        if text.count(ours) != 1:
            raise ValueError(f"{name}.py is expected to hold {ours!r} once")
        text = text.replace(ours, theirs)
    path = scratch / f"{name}.py"
    path.write_text(text)
    return _load(f"triton_example_{name}", path)


def _path(name: str) -> Path:
    return (Path(__file__).parent if name == INTEGERS else FOLDER) / f"{name}.py"


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
