"""The kernels' source, compiled by us and, with TileLang at hand, by TileLang."""

from __future__ import annotations

import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from benchmarks.h200.peers import load_file

KERNELS = Path(__file__).with_name("kernels")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "tile"
_OURS = ("import tilewright as tw\n", "from tilewright import T\n")
_TILELANG = ("import tilelang as tw\n", "import tilelang.language as T\n")
_PACKAGE = "from benchmarks.workloads.kernels."


@cache
def _file(stem: str) -> Path:
    inside = KERNELS / f"{stem}.py"
    return inside if inside.exists() else EXAMPLES / f"{stem}.py"


@cache
def ours(stem: str) -> ModuleType:
    """A file of `kernels`, or of the examples."""
    return load_file(_file(stem), f"workload_{stem}")


@cache
def tilelang(stem: str, directory: str) -> ModuleType:
    """The same file, with the names that it takes from us taken from TileLang."""
    if directory not in sys.path:
        sys.path.insert(0, directory)
    made = Path(tempfile.gettempdir()) / "tilelang-workloads"
    made.mkdir(exist_ok=True)
    if str(made) not in sys.path:
        sys.path.insert(0, str(made))
    text = _file(stem).read_text()
    for name, other in zip(_OURS, _TILELANG, strict=True):
        text = text.replace(name, other)
    for needed in KERNELS.glob("*.py"):
        if f"{_PACKAGE}{needed.stem} " in text:
            text = text.replace(f"{_PACKAGE}{needed.stem} ", f"from tilelang_{needed.stem} ")
            tilelang(needed.stem, directory)
    path = made / f"tilelang_{stem}.py"
    path.write_text(text)
    return load_file(path, f"tilelang_{stem}")
