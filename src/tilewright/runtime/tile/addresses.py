"""Launches of `T` kernels as the address analysis wants them: sizes, numbers and buffers by name.

A call may launch several kernels in sequence; each is a subject of its own. Tensors of one
call that overlap are recorded, as they are for kernels of `tl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.analysis.pid_address import AccessProperties, TileKernel, tile_kernels
from tilewright.ir.text.names import ValueNames
from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.memory_extents import Aliases, Memory, aliases_of, extent_of
from tilewright.runtime.tile.jit import TileJIT
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trace_only import observing_launches as observing_launches


def called_launches(
    kernel: object, args: Sequence[Any] | Mapping[str, Any], named: Mapping[str, Any]
) -> list[TileLaunch] | None:
    """What a call of a `T` kernel would launch; None if `kernel` is no such kernel."""
    if isinstance(kernel, PrimFunc):
        kernel = CompiledTileKernel(kernel)
    if not isinstance(kernel, CompiledTileKernel | TileJIT):
        return None
    heard: list[tuple[CompiledTileKernel, Sequence[Any]]] = []
    in_order = () if isinstance(args, Mapping) else tuple(args)
    by_name = {**args, **named} if isinstance(args, Mapping) else dict(named)
    if isinstance(kernel, CompiledTileKernel) and not in_order and not by_name:
        return tile_launches(kernel, ())
    with observing_launches(lambda one, values: heard.append((one, values)), run=False):
        made = kernel(*in_order, **by_name)
    if not heard and isinstance(made, CompiledTileKernel):
        return tile_launches(made, ())  # A factory: only what it makes is called with tensors.
    return [launch for one, values in heard for launch in tile_launches(one, values)]


@dataclass(frozen=True)
class TileLaunch:
    """One kernel of one call."""

    kernel: TileKernel
    properties: AccessProperties
    aliases: Aliases
    title: str


def tile_launches(compiled: CompiledTileKernel, values: Sequence[Any]) -> list[TileLaunch]:
    """What a call of `compiled` launches; without values, what any call does."""
    prim_func = compiled.prim_func
    names = ValueNames(prim_func.module, names_from_locations=False, use_hints=True)
    arguments = [names.of(argument) for argument in prim_func.func.args]
    integers: dict[str, int] = {}
    buffers: dict[str, int] = {}
    memories: list[tuple[str, Memory]] = []
    for name, value in zip(arguments, values, strict=False):
        if isinstance(value, HostArray):
            memory = extent_of(value.array)
            integers.update(_sizes(name, value))
            memories.append((name, memory))
            if memory.count is not None:
                buffers[name] = memory.count
        elif isinstance(value, int):
            integers[name] = int(value)
    properties = AccessProperties(None, integers, buffers)
    shown = ", ".join(_shown(arguments, values))
    return [
        TileLaunch(kernel, properties, aliases_of(memories), f"{kernel.name}({shown})")
        for kernel in tile_kernels(prim_func.module)
    ]


def _sizes(name: str, value: HostArray) -> Iterator[tuple[str, int]]:
    array = value.array
    for dim, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        yield f"{name}.shape.{dim}", int(size)
        if array.itemsize and stride % array.itemsize == 0:
            yield f"{name}.stride.{dim}", int(stride) // array.itemsize


def _shown(names: Sequence[str], values: Sequence[Any]) -> Iterator[str]:
    for name, value in zip(names, values, strict=False):
        if isinstance(value, HostArray):
            yield f"{name}: {'x'.join(map(str, value.array.shape)) or 'scalar'}"
        elif isinstance(value, int | float):
            yield f"{name}={value}"
