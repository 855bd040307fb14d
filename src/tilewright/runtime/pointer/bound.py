"""A launch that takes the arguments of a kernel function, for one specialisation of them.

`Launcher.launch` wants one raw value for each parameter of the machine code. The function made here
takes one for each parameter of the kernel function instead, and generated statements before
the launch do what `flatten` does: constants are dropped, a tensor descriptor becomes its tensor
map, its shape and its strides.

    pointer       its address
    number        itself
    constant      anything
    descriptor    (address of its base, the descriptor)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.runtime.cuda.launcher import Launch, Launcher
from tilewright.runtime.cuda.tensor_map import encode
from tilewright.runtime.specialise import CONSTEXPR, Key
from tilewright.targets.metadata import TensorMapSpec

_MAX_CACHED_MAPS = 1024

Maps = dict[tuple[int, tuple[int, ...], tuple[int, ...]], bytes]


def bound_launch(launcher: Launcher, keys: Sequence[Key]) -> Launch | None:
    """``launch(stream, x, y, z, *arguments)`` for arguments of these `keys`.

    None where they are tuples, or descriptors for a GPU without tensor maps.
    """
    kinds = [key[0] for key in keys]
    if "tuple" in kinds or kinds.count("tensordesc") != len(launcher.metadata.tensor_maps):
        return None
    descriptions = iter(launcher.metadata.tensor_maps)
    names = [f"p{index}" for index in range(len(keys))]
    prelude: list[str] = []
    expressions: list[str] = []
    scope: dict[str, Any] = {}
    for name, key in zip(names, keys, strict=True):
        if key[0] == CONSTEXPR:
            continue
        if key[0] != "tensordesc":
            expressions.append(name)
            continue
        maps: Maps = {}
        scope |= {
            f"maps_{name}": maps.get,
            f"encode_{name}": _encoder(maps, next(descriptions), key[3]),
        }
        sizes = [f"{name}_size{axis}" for axis in range(len(key[2]))]
        strides = [f"{name}_stride{axis}" for axis in range(len(key[2]))]
        prelude += [
            f"{name}_base, {name} = {name}",
            f"{', '.join(sizes)}, = {name}_shape = tuple({name}.shape)",
            f"{', '.join(strides)}, = {name}_strides = tuple({name}.strides)",
            f"{name}_map = maps_{name}(({name}_base, {name}_shape, {name}_strides))",
            f"if {name}_map is None:",
            f"    {name}_map = encode_{name}({name}_base, {name}_shape, {name}_strides)",
        ]
        expressions += [f"{name}_map", *sizes, *strides]
    return launcher.generated(names, prelude, expressions, scope)


def _encoder(maps: Maps, spec: TensorMapSpec, padding: str) -> Callable[..., bytes]:
    """Makes the maps of one parameter and keeps them in `maps`."""

    def encoded(address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
        if len(maps) >= _MAX_CACHED_MAPS:
            maps.clear()
        found = maps[address, shape, strides] = encode(
            address,
            cuda_type=spec.cuda_type,
            element_bytes=spec.element_bytes,
            shape=shape,
            strides=strides,
            box=spec.box,
            swizzle_bytes=spec.swizzle_bytes,
            padding=padding,
            fp4_padded=spec.fp4_padded,
        )
        return found

    return encoded
