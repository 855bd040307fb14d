"""Run one case and print how it ended: ``python -m scripts.tlx_nvidia DIRECTORY NAME``."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from scripts.tlx_nvidia.cases import CASES, Case

TOLERANCE = 2e-2


def load(path: Path) -> ModuleType:
    name = path.stem.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest value."""
    found, expected = found.detach().float(), expected.detach().float()
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-6))


def ending(case: Case, directory: Path) -> tuple[str, str]:
    """How a run of `case` ended, and what it said."""
    from tilewright.compat import finder

    os.environ[finder.TARGET_VARIABLE] = case.target
    finder.install()
    import torch

    torch.manual_seed(0)
    started = time.perf_counter()
    try:
        module = load(directory / case.file)
    except ImportError as error:
        return "package absent", str(error)
    found = [difference(*pair) for pair in case.run(module, torch)]
    seconds = time.perf_counter() - started
    if not found:
        return "imported", "its host code needs more than one GPU"
    worst = max(found)
    verdict = "right" if worst < TOLERANCE else "wrong"
    return verdict, f"{worst:.1e} off, {seconds:.1f} s"


def main(arguments: list[str]) -> int:
    directory, name = Path(arguments[0]).resolve(), arguments[1]
    sys.path.insert(0, str(directory))
    case = next(each for each in CASES if each.name == name)
    try:
        found, said = ending(case, directory)
    except Exception as error:
        if os.environ.get("TRACEBACK"):
            traceback.print_exc()
        found = "reported" if "TW6" in str(error) else "refused"
        said = f"{type(error).__name__}: {error}"
    print(f"ENDING\t{found}\t{' '.join(said.split())[:600]}", flush=True)
    return 0 if found == "right" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
