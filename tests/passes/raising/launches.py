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
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.targets.numpy import Buffer, Descriptor, NumpyKernel, compile_module
from tilewright.targets.numpy.dtypes import scalar_type
from tilewright.targets.numpy.tasks.kernel import TaskKernel

__all__ = ["NAMES", "example_launches", "plausible", "recorded"]


@contextmanager
def recorded() -> Iterator[list[tuple[str, Launch]]]:
    """What is launched on the host meanwhile, with the arrays as they are before each launch."""
    found: list[tuple[str, Launch]] = []
    running: list[CompiledKernel] = []
    launch = CompiledKernel.launch
    hosts = {each: each.launch for each in (NumpyKernel, TaskKernel)}

    def record(self: Any, *args: Any, **kwargs: Any) -> Any:
        running.append(self)
        try:
            return launch(self, *args, **kwargs)
        finally:
            running.pop()

    def record_numpy(self: Any, grid: Any, arguments: Any, options: Any = None) -> Any:
        text = running[-1].text("ttir", locations=True)
        copies = [copied(each) for each in arguments]
        reached = () if options is None else options.reachable
        before = [each.array.copy() for each in reached]
        found.append((running[-1].name, Launch(text, tuple(grid), copies, reached, before)))
        return hosts[type(self)](self, grid, arguments, options)

    CompiledKernel.launch = record
    for each in hosts:
        each.launch = record_numpy
    try:
        yield found
    finally:
        CompiledKernel.launch = launch
        for each, own in hosts.items():
            each.launch = own


def example_launches(name: str, seed: int = 0) -> list[tuple[str, Launch]]:
    """What an example launches."""
    with recorded() as found:
        load(name).example(np.random.default_rng(seed))
    return found


def plausible(
    text: str, seed: int = 5, integer: int = 64, *, grid: tuple[int, ...] = (3, 2, 2)
) -> Launch:
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
    return Launch(text, grid, arguments)


STRIDE, ROW = "stride", 256


def in_order(text: str) -> Launch:
    """A launch in which nothing is written twice, so that the order of writes does not matter: of
    one program, with strides that are longer than rows."""
    launch = plausible(text, grid=(1, 1, 1))
    parameters = compile_module(parsed(text)).parameters
    arguments = [
        ROW if STRIDE in parameter.name and isinstance(argument, int) else argument
        for parameter, argument in zip(parameters, launch.arguments, strict=True)
    ]
    return Launch(text, launch.grid, arguments)


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
