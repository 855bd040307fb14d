"""Launches to compare: those of the examples, and plausible ones of the dump kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from tests.examples.tl_examples import NAMES, load
from tests.passes.raising.levels import Launch, copied, parsed
from tilewright.dialects.tt.types import PtrType, TensorDescType
from tilewright.runtime.compiled import CompiledKernel
from tilewright.targets.numpy import Buffer, Descriptor, NumpyKernel, compile_module
from tilewright.targets.numpy.dtypes import scalar_type

__all__ = ["NAMES", "example_launches", "plausible", "recorded"]


@contextmanager
def recorded() -> Iterator[list[tuple[str, Launch]]]:
    """What is launched on the host meanwhile, with the arrays as they are before each launch."""
    found: list[tuple[str, Launch]] = []
    running: list[CompiledKernel] = []
    launch, launch_numpy = CompiledKernel.launch, NumpyKernel.launch

    def record(self: Any, *args: Any, **kwargs: Any) -> Any:
        running.append(self)
        try:
            return launch(self, *args, **kwargs)
        finally:
            running.pop()

    def record_numpy(self: Any, grid: Any, arguments: Any, options: Any = None) -> Any:
        text = running[-1].text("ttir", locations=True)
        copies = [copied(each) for each in arguments]
        found.append((running[-1].name, Launch(text, tuple(grid), copies)))
        return launch_numpy(self, grid, arguments, options)

    CompiledKernel.launch, NumpyKernel.launch = record, record_numpy
    try:
        yield found
    finally:
        CompiledKernel.launch, NumpyKernel.launch = launch, launch_numpy


def example_launches(name: str, seed: int = 0) -> list[tuple[str, Launch]]:
    """What an example launches."""
    with recorded() as found:
        load(name).example(np.random.default_rng(seed))
    return found


def plausible(text: str, seed: int = 5, integer: int = 64) -> Launch:
    """A launch with enough memory for most kernels, and small integers."""
    kernel = compile_module(parsed(text))
    rng = np.random.default_rng(seed)
    arguments: list[Any] = []
    following: list[int] = []
    for parameter in kernel.parameters:
        if following:
            arguments.append(following.pop(0))
            continue
        arguments.append(_argument(parameter, rng, integer))
        if isinstance(arguments[-1], Descriptor):
            following = [*arguments[-1].shape, *arguments[-1].strides]
    return Launch(text, (3, 2, 2), arguments)


def _argument(parameter: Any, rng: np.random.Generator, integer: int) -> Any:
    type = parameter.type
    if isinstance(type, TensorDescType):
        rank = len(type.shape)
        shape = (300, 208)[:rank] if rank <= 2 else (4,) * (rank - 1) + (104,)
        strides = tuple(prod(shape[axis + 1 :]) for axis in range(rank))
        buffer = Buffer(parameter.name, _random(parameter.scalar.dtype, 1 << 18, rng))
        return Descriptor(buffer, shape, strides)
    if isinstance(type, PtrType):
        pointee = scalar_type(type.pointee)
        assert pointee is not None
        values = _random(pointee.dtype, 1 << 18, rng)
        if parameter.name == "lock":
            values[:] = 0  # free
        return Buffer(parameter.name, values)
    return {"i": integer, "b": True}.get(parameter.scalar.kind, 0.5)


def _random(dtype: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind in "bi":
        return rng.integers(0, 2 if dtype.kind == "b" else 64, count).astype(dtype)
    return rng.standard_normal(count).astype(np.float32).astype(dtype)
