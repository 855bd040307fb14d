"""The kernels under `examples/tlx`: loaded as an author runs them, and run in any form."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import tilewright as tw
from tilewright.targets.numpy import kernel as numpy_kernels

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tlx"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.py")))
HELD_OUT_FOLDER = Path(__file__).resolve().parent / "held_out"
HELD_OUT = tuple(sorted(path.stem for path in HELD_OUT_FOLDER.glob("*.py")))
"""Kernels in other styles, each written when the checker's explanations were there."""

Change = Callable[[ModuleOp], None]


def load(name: str) -> ModuleType:
    folder = HELD_OUT_FOLDER if name in HELD_OUT else FOLDER
    spec = importlib.util.spec_from_file_location(f"tlx_example_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, tuple) else (values,)


def results(name: str, change: Change | None = None, **options: Any) -> list[np.ndarray]:
    """What an example computes if `change` is made to the IR of its kernels before they run."""
    before = numpy_kernels.compile_module

    def compile_changed(module: ModuleOp, *args: Any, **kwargs: Any) -> Any:
        if change is not None:
            change(module)
        return before(module, *args, **kwargs)

    numpy_kernels.compile_module = compile_changed  # type: ignore[assignment]
    try:
        with tw.running(**options):
            found, _ = load(name).example(np.random.default_rng(0))
    finally:
        numpy_kernels.compile_module = before
    return [np.asarray(each) for each in as_tuple(found)]
