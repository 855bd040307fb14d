"""Helpers: kernels of tasks from text, descriptors of arrays, and mutations of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.targets.numpy import Buffer, Descriptor, compile_module
from tilewright.targets.numpy.tasks.kernel import TaskKernel

ROOT = Path(__file__).parents[4]
CORPUS = ROOT / "tests" / "corpus" / "ttgir"


def compiled(text: str, **options: Any) -> TaskKernel:
    """The kernel in `text`, as tasks."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None and verify(source.module, engine)
    kernel = compile_module(source.module, sources=engine.sources, **options)
    assert isinstance(kernel, TaskKernel)
    return kernel


def descriptor(name: str, array: np.ndarray) -> Descriptor:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return Descriptor(Buffer(name, array), array.shape, strides)


def described(name: str, array: np.ndarray) -> list[Any]:
    """What Triton passes for a host descriptor: itself, its extents, its strides."""
    made = descriptor(name, array)
    extents = [np.int32(extent) for extent in made.shape]
    return [made, *extents, *[np.int64(stride) for stride in made.strides]]


def without(text: str, line: str, count: int = 1) -> str:
    """`text` without the lines that hold `line`, of which there are `count`."""
    lines = text.split("\n")
    kept = [each for each in lines if line not in each]
    assert len(lines) - len(kept) == count, f"{len(lines) - len(kept)} lines hold {line!r}"
    return "\n".join(kept)


def changed(text: str, old: str, new: str) -> str:
    """`text` with `old`, which occurs once, replaced."""
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    return text.replace(old, new)
