"""Repeated launches of raised kernels: what the first of them worked out is used again.

A launch flattens its arguments, compares the memory of arrays, checks integers that may wrap, and
works out views, grids and tensor maps. All of that depends on integers, sizes, strides and the
grid; a function generated for one combination of those compares addresses and calls the driver:

    def launch(stream, a0, a1, a2):
        p0, p1 = a0.data_ptr(), a1.base.data_ptr()
        if p0 & 15 or (p1 < p0 + 4096 and p0 < p1 + 4096):
            raise NotOrdinary                                # they share bytes
        launch0(stream, 8, 1, 1, p0, map1(p1) or encode1(p1))

Where anything is out of the ordinary, nothing is launched and the ordinary way is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.runtime.arrays import torch_memory
from tilewright.runtime.cuda.arrays import DeviceArray, is_torch
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.specialise import CONSTEXPR, Key
from tilewright.runtime.tile.device import Address, DeviceProgram, Map
from tilewright.runtime.tile.prepared_call import map_encoder
from tilewright.runtime.tile.thread_level import thread_runs

if TYPE_CHECKING:
    from tilewright.runtime.pointer.raised import RaisedTileKernel

_MAX_PREPARED = 256
_TENSOR, _DESCRIPTOR, _SCALAR, _CONSTANT = "tensor", "descriptor", "scalar", "constant"

Prepared = Callable[..., None]


class NotOrdinary(Exception):
    """A launch that takes the ordinary way."""


@dataclass(frozen=True)
class Passed:
    """A scalar of a launch that reaches the kernel on the device as it is."""

    parameter: int


class RaisedCalls:
    """The launches of a raised kernel that were made, by what their functions depend on."""

    def __init__(
        self, kernel: RaisedTileKernel, keys: Sequence[Key], values: Sequence[Any]
    ) -> None:
        self._kernel = kernel
        self._kinds = [_kind(key, value) for key, value in zip(keys, values, strict=True)]
        self._positions = _positions(self._kinds, values)
        self._key = _key_function(self._kinds, self._positions, kernel.passed_on)
        self._prepared: dict[tuple[Any, ...], Prepared] = {}

    def __call__(self, stream: int, x: int, y: int, z: int, values: tuple[Any, ...]) -> bool:
        """Launch as before; False if there was no launch like this one."""
        if thread_runs() is not None or torch_memory.as_it_is is not nullcontext:
            raise NotOrdinary
        found = self._prepared.get(self._key(x, y, z, *values))
        if found is None:
            return False
        found(stream, *values)
        return True

    def learn(self, grid: tuple[int, int, int], values: tuple[Any, ...]) -> None:
        """Make launches like this one, which was made the ordinary way, quick."""
        if len(self._prepared) >= _MAX_PREPARED:
            self._prepared.clear()
        made = _prepared(self._kernel, self._kinds, self._positions, grid, values)
        if made is not None:
            self._prepared[self._key(*grid, *values)] = made


def raised_calls(
    kernel: RaisedTileKernel, keys: Sequence[Key], values: Sequence[Any]
) -> RaisedCalls | None:
    """The quick way for launches like the one with `values`; None where there is none."""
    kinds = [_kind(key, value) for key, value in zip(keys, values, strict=True)]
    return None if None in kinds else RaisedCalls(kernel, keys, values)


def _kind(key: Key, value: Any) -> str | None:
    if key[0] == CONSTEXPR:
        return _CONSTANT
    if isinstance(value, TensorDescriptor):
        return _DESCRIPTOR if is_torch(value.base) else None
    if is_torch(value):
        return _TENSOR
    return _SCALAR if isinstance(value, (bool, int, float)) else None


def _positions(kinds: Sequence[str | None], values: Sequence[Any]) -> list[int]:
    """Where the raised function has each argument, of several parameters the first."""
    found: list[int] = []
    position = 0
    for kind, value in zip(kinds, values, strict=True):
        found.append(position)
        if kind == _DESCRIPTOR:
            position += len(value.shape) + len(value.strides)
        position += kind != _CONSTANT
    return found


def _key_function(
    kinds: Sequence[str | None], positions: Sequence[int], passed_on: frozenset[int]
) -> Callable[..., tuple[Any, ...]]:
    """What a launch depends on besides addresses: constants are in the key of the kernel."""
    parts = ["x", "y", "z"]
    for index, (kind, position) in enumerate(zip(kinds, positions, strict=True)):
        name = f"a{index}"
        tensor = f"{name}.base" if kind == _DESCRIPTOR else name
        if kind == _SCALAR and position not in passed_on:
            # Zeros of both signs are equal, and not the same.
            parts += [f"type({name})", f"{name} if {name} else str({name})"]
        elif kind in (_TENSOR, _DESCRIPTOR):
            # A kernel may reach all of the storage that follows the first element.
            parts += [
                f"{tensor}.untyped_storage().nbytes()",
                f"{tensor}.storage_offset()",
                f"{tensor}.shape",
                f"{tensor}.stride()",
            ]
        if kind == _DESCRIPTOR:
            parts += [f"tuple({name}.shape)", f"tuple({name}.strides)"]
    names = [f"a{index}" for index in range(len(kinds))]
    scope: dict[str, Any] = {}
    exec(f"def key({', '.join(['x', 'y', 'z', *names])}):\n    return ({', '.join(parts)},)", scope)
    return scope["key"]


def _prepared(
    kernel: RaisedTileKernel,
    kinds: Sequence[str | None],
    positions: Sequence[int],
    grid: tuple[int, int, int],
    values: tuple[Any, ...],
) -> Prepared | None:
    """The function of launches like one; None if it needs memory, or arrays that are merged."""
    found = kernel.planned(grid, values)
    if found is None:
        return None
    kernel, given, plan = found
    devices = {each.device for each in given if isinstance(each, DeviceArray)}
    program = None if kernel.gpu is None else kernel.gpu.device
    if plan.workspace or len(devices) != 1 or not isinstance(program, DeviceProgram):
        return None
    scope: dict[str, Any] = {"NotOrdinary": NotOrdinary}
    lines: list[str] = []
    conditions: list[str] = []
    for index, (kind, position) in enumerate(zip(kinds, positions, strict=True)):
        if kind == _SCALAR and position in kernel.passed_on:
            scope[f"make{position}"] = kernel.maker(position)
            lines.append(f"n{position} = make{position}(a{index})")
        elif kind in (_TENSOR, _DESCRIPTOR):
            base = ".base" if kind == _DESCRIPTOR else ""
            lines.append(f"p{position} = a{index}{base}.data_ptr()")
            alignment = kernel.alignment(position)
            conditions += [f"p{position} & {alignment - 1}"] if alignment > 1 else []
            conditions += [f"not p{position}"] if position in kernel.raised.not_null else []
    conditions += _overlaps(kernel, given)
    if conditions:
        lines += [f"if {' or '.join(conditions)}:", "    raise NotOrdinary"]
    for index, each in enumerate(plan.launches):
        scope[f"launch{index}"] = program.launcher(each.kernel, *devices).launch
        passed = [_value(f"{index}_{n}", v, scope) for n, v in enumerate(each.arguments)]
        lines.append(f"launch{index}({', '.join(['stream', *map(str, each.grid), *passed])})")
    names = [f"a{index}" for index in range(len(kinds))]
    body = "\n".join(f"    {line}" for line in lines or ["pass"])
    source = f"def launch({', '.join(['stream', *names])}):\n{body}"
    exec(compile(source, f"<launch of {kernel.name}>", "exec"), scope)
    return scope["launch"]


def _overlaps(kernel: RaisedTileKernel, given: Sequence[Any]) -> list[str]:
    """Conditions under which arrays, one of them written, share bytes."""
    spans = kernel.spans(given)
    return [
        f"(p{one.position} < p{other.position} + {other.size} "
        f"and p{other.position} < p{one.position} + {one.size})"
        for index, one in enumerate(spans)
        for other in spans[index + 1 :]
        if {one.position, other.position} & kernel.written
    ]


def _value(name: str, value: Any, scope: dict[str, Any]) -> str:
    if isinstance(value, Address):
        return f"p{value.parameter} + {value.offset}" if value.offset else f"p{value.parameter}"
    if isinstance(value, Passed):
        return f"n{value.parameter}"
    if isinstance(value, Map):
        maps: dict[int, bytes] = {}
        scope |= {f"map{name}": maps.get, f"encode{name}": map_encoder(maps, value)}
        address = _value(name, value.address, scope)
        return f"map{name}({address}) or encode{name}({address})"
    scope[f"v{name}"] = value
    return f"v{name}"
