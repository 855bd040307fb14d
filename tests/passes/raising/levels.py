"""A kernel run on pointers and raised to tiles, on the same arrays: all bytes must be equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.raise_to_tile import (
    NotRaised,
    RaisedKernel,
    RaiseOptions,
    raise_module,
)
from tilewright.targets.numpy import Buffer, Descriptor, RunOptions, compile_module
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module


def parsed(text: str) -> Any:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.ttir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    return source.module


def raised(text: str, **options: Any) -> RaisedKernel:
    result = raise_module(parsed(text), RaiseOptions(**options))
    assert not isinstance(result, NotRaised), [str(each) for each in result.refusals]
    result.module.verify()
    return result


@dataclass(frozen=True)
class Launch:
    """A kernel and what it is launched with; arrays are copied before each run."""

    text: str
    grid: tuple[int, ...]
    arguments: Sequence[Any]
    """``Buffer``, ``Descriptor`` or a scalar for each parameter of the pointer level."""
    reachable: Sequence[Buffer] = ()
    """Arrays whose addresses are in memory: they are not copied, and restored after each run."""
    reached_before: Sequence[np.ndarray] | None = None
    """What they hold before each run; None: what they hold now."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        x, y, z = (*self.grid, 1, 1)[:3]
        return x, y, z


def copied(argument: Any) -> Any:
    if isinstance(argument, Buffer):
        return replace(argument, array=argument.array.copy())
    if isinstance(argument, Descriptor):
        return replace(argument, buffer=copied(argument.buffer))
    return argument


def _memory(arguments: Sequence[Any]) -> list[np.ndarray]:
    buffers = [each.buffer if isinstance(each, Descriptor) else each for each in arguments]
    return [each.array for each in buffers if isinstance(each, Buffer)]


@contextmanager
def _restored(launch: Launch) -> Iterator[Callable[[], list[np.ndarray]]]:
    """Arrays that the kernel finds by their addresses, with the values from before afterwards; what
    they hold meanwhile is what the function returns."""
    arrays = [each.array for each in launch.reachable]
    before = launch.reached_before
    if before is None:
        before = [each.copy() for each in arrays]
    try:
        for array, values in zip(arrays, before, strict=True):
            array[...] = values
        yield lambda: [each.copy() for each in arrays]
    finally:
        for array, values in zip(arrays, before, strict=True):
            array[...] = values


def on_pointers(launch: Launch) -> tuple[list[np.ndarray], list[str]]:
    """Arrays and output after a run of the kernel as it is."""
    kernel = compile_module(parsed(launch.text))
    arguments = [copied(each) for each in launch.arguments]
    lines: list[str] = []
    options = RunOptions(output=lines.append, reachable=tuple(launch.reachable))
    with _restored(launch) as reached:
        kernel.launch(launch.sizes, arguments, options)
        return [*_memory(arguments), *reached()], lines


def flat(argument: Any, type: Any) -> Any:
    """An argument of the raised kernel."""
    if isinstance(argument, Buffer):
        array = argument.array.reshape(-1)
        element = np.dtype(type)
        return replace(argument, array=array.view(element) if array.dtype != element else array)
    return argument


def on_tiles(
    kernel: RaisedKernel,
    launch: Launch,
    pipeline: TilePipeline | None = None,
    schedules: int = 1,
) -> tuple[list[np.ndarray], list[str]]:
    """Arrays and output after a run of the raised kernel, perhaps scheduled."""
    module = kernel.module
    if pipeline is not None:
        module = module.clone()
        engine = DiagnosticEngine()
        pipeline.run(module, engine)
        assert not engine.error_count, pretty_all(engine.diagnostics, engine.sources)
    compiled = compile_tile_module(module)
    arguments = [copied(each) for each in launch.arguments]
    given: list[Any] = []
    for argument in arguments:
        parameter = compiled.parameters[len(given)]
        if isinstance(argument, Descriptor):
            given.append(flat(argument.buffer, parameter.scalar.dtype))
        elif isinstance(argument, Buffer):
            given.append(flat(argument, parameter.scalar.dtype))
        else:
            given.append(argument)
    lines: list[str] = []
    options = TileOptions(
        output=lines.append,
        schedules=schedules,
        check_races=False,
        check_uninitialised=False,
        reachable=tuple(launch.reachable),
    )
    with _restored(launch) as reached:
        compiled.launch([*given, *launch.sizes], options)
        return [*_memory(arguments), *reached()], lines


def assert_same(expected: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> None:
    """All bytes equal."""
    for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if one.tobytes() == other.tobytes():
            continue
        left, right = one.reshape(-1), other.reshape(-1)
        size = one.dtype.itemsize
        bytes_left = left.view(np.uint8).reshape(-1, size)
        bytes_right = right.view(np.uint8).reshape(-1, size)
        wrong = np.flatnonzero((bytes_left != bytes_right).any(1))
        at = wrong[:5].tolist()
        raise AssertionError(
            f"array {index}: {len(wrong)} of {left.size} elements differ, first at {at}: "
            f"{left[at]} on pointers, {right[at]} on tiles"
        )


def compare(launch: Launch, *, schedules: int = 0, **options: Any) -> RaisedKernel:
    """Run both levels; with `schedules`, the scheduled kernel too."""
    kernel = raised(launch.text, **options)
    expected, _ = on_pointers(launch)
    actual, _ = on_tiles(kernel, launch)
    assert_same(expected, actual)
    if schedules:
        actual, _ = on_tiles(kernel, launch, TilePipeline(), schedules)
        assert_same(expected, actual)
    return kernel
