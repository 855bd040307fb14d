"""The kernels under `examples/tile`: loaded as an author runs them, and run in any form."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import apply
from tilewright.runtime.tile.options import tile_running
from tilewright.targets.numpy import tile as tiles

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tile"
BLACKWELL = "blackwell_"
"""How examples begin that no other GPU can run; tests/targets/numpy/simt has theirs."""
NAMES = tuple(
    sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith(BLACKWELL))
)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tile_example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_pipelined(example: ModuleType) -> bool:
    return "num_stages" in inspect.signature(example.example).parameters


def as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def results(
    example: ModuleType, *passes: str, num_stages: int | None = None, schedules: int = 1
) -> list[np.ndarray]:
    """What the example computes if every kernel goes through `passes` before it runs."""

    def changed(module: ModuleOp) -> ModuleOp:
        return apply(module, *passes)

    return transformed(example, changed, num_stages=num_stages, schedules=schedules)


def transformed(
    example: ModuleType,
    change: Callable[[ModuleOp], ModuleOp],
    *,
    num_stages: int | None = None,
    schedules: int = 1,
) -> list[np.ndarray]:
    compile_before = tiles.compile_tile_module

    def compile_changed(module: ModuleOp) -> Any:
        return compile_before(change(module))

    options = {} if num_stages is None else {"num_stages": num_stages}
    tiles.compile_tile_module = compile_changed  # type: ignore[assignment]
    try:
        with tile_running(schedules=schedules):
            found, _ = fresh(example).example(np.random.default_rng(0), **options)
    finally:
        tiles.compile_tile_module = compile_before
    return [np.asarray(each) for each in as_tuple(found)]


def fresh(example: ModuleType) -> ModuleType:
    """The example again, with nothing compiled."""
    assert example.__file__ is not None
    return load(Path(example.__file__).stem)
