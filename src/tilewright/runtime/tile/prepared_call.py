"""Repeated calls of a `T` kernel with tensors of torch: a generated function calls the driver.

The first call for some shapes checks its arguments and plans its launches (`gpu`, `device`). When
it is repeated, a function is generated that compares what the plan depends on, and launches:

    def call(arguments):
        if len(arguments) != 3 or memory.as_it_is is not as_it_is:
            return NotImplemented
        a0, a1, a2 = arguments
        if type(a0) is not T0 or a0.shape != S0 or a0.stride() != R0 or ...:
            return NotImplemented
        p0, p1, p2 = a0.data_ptr(), a1.data_ptr(), a2.data_ptr()
        if (p0 | p1 | p2) & 15 or (p2 < p0 + 4096 and p0 < p2 + 4096) or ...:
            return NotImplemented                                  # misaligned, or they share bytes
        s = stream(0)
        launch0(s, 8, 1, 1, map0(p0) or encode0(p0), p1, p2)

`NotImplemented` is no error: the call then takes the long way, with all checks and messages.

Where the launcher in C is there (`runtime.cuda.native`), and torch shows it its tensors (DLPack's
exchange functions, torch 2.10 and later), the same is done in C, without a Python object for each
shape and address. Calls that make tensors stay in Python.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tilewright.runtime.arrays import torch_memory
from tilewright.runtime.cuda.arrays import DeviceArray, is_torch
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.native import native
from tilewright.runtime.cuda.streams import quick_torch_stream
from tilewright.runtime.cuda.tensor_map import encode
from tilewright.runtime.tile.device import Address, Map, Plan, PlannedLaunch
from tilewright.runtime.tile.host_checks import ACCESS_BYTES

if TYPE_CHECKING:
    from tilewright.language.T.dtypes import dtype as Dtype

_MAX_CACHED_MAPS = 1024
_SCALARS = (bool, int, float, type(None))

Prepared = Callable[[tuple[Any, ...]], Any]


@dataclass(frozen=True)
class Repeated:
    """A call that was made: what it was given, and what it does."""

    arguments: Sequence[Any]
    """As they were passed."""
    given: Sequence[Any]
    """The same, with arrays as memory of a GPU."""
    outputs: Sequence[tuple[int, tuple[int, ...], Dtype]]
    """Position among the parameters, shape and dtype of the tensors that the call makes."""
    overlaps: Sequence[tuple[int, int, int, int]]
    """Two arguments that must not share bytes, and how many bytes each of them has."""
    plan: Plan
    launcher: Callable[[str, int], Launcher]
    """The launcher of a kernel on a device."""
    returned: Sequence[int] | None
    """Positions of what an eager kernel returns; None if a call returns what it made."""


def prepared(call: Repeated) -> Prepared | None:
    """The function for calls like this one; None if not all is tensors of torch and numbers."""
    devices = {each.device for each in call.given if isinstance(each, DeviceArray)}
    if call.plan.workspace or len(devices) != 1:
        return None
    if not all(map(_is_plain, call.arguments, call.given)):
        return None
    device = devices.pop()
    return _native_call(call, device) or _Text(call, device).function()


def _is_plain(argument: Any, given: Any) -> bool:
    if isinstance(given, DeviceArray):
        return is_torch(argument)
    # Zeros of both signs are equal, and not the same.
    return type(argument) in _SCALARS and not (type(argument) is float and argument == 0)


_EXCHANGE = "__dlpack_c_exchange_api__"


def _native_call(call: Repeated, device: int) -> Prepared | None:
    """The call in C; None where it is not possible."""
    module = native()
    if module is None or call.outputs or call.returned:
        return None
    arguments: list[tuple[type[object], bool, Any]] = []
    exchanges: dict[int, Any] = {}
    for argument, given in zip(call.arguments, call.given, strict=True):
        is_tensor = isinstance(given, DeviceArray)
        kind = _type_of(argument)
        arguments.append((kind, is_tensor, argument))
        if is_tensor:
            found: Any = getattr(kind, _EXCHANGE, None)
            exchanges[id(found)] = found
    launches = [_native_launch(call, each, device) for each in call.plan.launches]
    if len(exchanges) != 1 or None in launches:
        return None
    try:
        return module.Call(
            exchange=exchanges.popitem()[1],
            owner=torch_memory,
            name="as_it_is",
            expected=nullcontext,
            stream=quick_torch_stream(sys.modules["torch"]),
            device=device,
            mask=ACCESS_BYTES - 1,
            arguments=tuple(arguments),
            pairs=tuple(call.overlaps),
            launches=tuple(launches),
        )
    except (BufferError, OverflowError, TypeError, ValueError, struct.error):
        return None  # nothing that DLPack describes, or more than there is space for


def _type_of(value: object) -> type[object]:
    return type(value)


def _native_launch(
    call: Repeated, planned: PlannedLaunch, device: int
) -> tuple[Any, tuple[int, int, int], tuple[Any, ...]] | None:
    """A launch as the function in C takes it; None if it needs Python."""
    launcher = call.launcher(planned.kernel, device)
    if launcher.native is None or launcher.native is not launcher.launch:
        return None
    return launcher.native, planned.grid, tuple(_native_value(call, v) for v in planned.arguments)


def _native_value(call: Repeated, value: Any) -> tuple[Any, ...]:
    if isinstance(value, Map):
        argument, offset, _ = _native_value(call, value.address)
        maps: dict[int, bytes] = {}
        encoded = map_encoder(maps, value)

        def map_of(address: int) -> bytes:
            return maps.get(address) or encoded(address)

        return argument, offset, map_of
    if not isinstance(value, Address):
        return (value,)
    given = call.given[value.parameter]
    # None is for a parameter that the kernel does nothing with.
    return (value.parameter, value.offset, None) if isinstance(given, DeviceArray) else (0,)


class _Text:
    """Writes the function of one kind of call."""

    def __init__(self, call: Repeated, device: int) -> None:
        self._call, self._device = call, device
        torch: Any = sys.modules["torch"]
        self._scope: dict[str, Any] = {
            "memory": torch_memory,
            "as_it_is": nullcontext,
            "stream": quick_torch_stream(torch),
        }
        if call.outputs:
            self._scope["empty"] = torch.empty
        self._conditions: list[str] = []
        made = {position: index for index, (position, *_) in enumerate(call.outputs)}
        names = iter(f"a{index}" for index in range(len(call.arguments)))
        count = len(call.arguments) + len(made)
        self._names = [f"o{made[n]}" if n in made else next(names) for n in range(count)]
        """Of the values of all parameters."""

    def function(self) -> Prepared:
        call = self._call
        arguments = [f"a{index}" for index in range(len(call.arguments))]
        for name, argument, given in zip(arguments, call.arguments, call.given, strict=True):
            self._compare(name, argument, given)
        pointers = [
            name.replace("a", "p")
            for name, given in zip(arguments, call.given, strict=True)
            if isinstance(given, DeviceArray)
        ]
        lines = [
            f"if len(arguments) != {len(arguments)} or memory.as_it_is is not as_it_is:",
            "    return NotImplemented",
            f"{', '.join(arguments)}{',' if len(arguments) == 1 else ''} = arguments",
            f"if {' or '.join(self._conditions)}:",
            "    return NotImplemented",
            *(f"{name} = {name.replace('p', 'a')}.data_ptr()" for name in pointers),
            f"if ({' | '.join(pointers)}) & {ACCESS_BYTES - 1}{''.join(self._overlaps())}:",
            "    return NotImplemented",
            *self._outputs(),
            f"s = stream({self._device})",
            *self._launches(),
            f"return {self._returned()}",
        ]
        source = "\n".join(["def call(arguments):", *(f"    {line}" for line in lines)])
        exec(compile(source, "<prepared call>", "exec"), self._scope)
        return self._scope["call"]

    def _compare(self, name: str, argument: Any, given: Any) -> None:
        """An argument is like the one of the call."""
        scope = self._scope
        scope[f"T{name}"] = type(argument)
        self._conditions.append(f"type({name}) is not T{name}")
        if not isinstance(given, DeviceArray):
            scope[f"V{name}"] = argument
            self._conditions.append(f"{name} != V{name}")
            return
        scope |= {f"S{name}": given.shape, f"R{name}": given.strides, f"D{name}": argument.dtype}
        self._conditions += [
            f"{name}.shape != S{name}",
            f"{name}.stride() != R{name}",
            f"{name}.dtype is not D{name}",
            f"{name}.get_device() != {self._device}",
        ]

    def _overlaps(self) -> list[str]:
        return [
            f" or (p{one} < p{other} + {size_of_other} and p{other} < p{one} + {size})"
            for one, other, size, size_of_other in self._call.overlaps
        ]

    def _outputs(self) -> list[str]:
        """The tensors that the call makes are like its first argument."""
        if not self._call.outputs:
            return []
        lines: list[str] = []
        like = next(each for each in self._call.given if isinstance(each, DeviceArray)).owner
        self._scope["DEVICE"] = like.device
        for index, (_, shape, dtype) in enumerate(self._call.outputs):
            self._scope |= {
                f"S{index}": shape,
                f"D{index}": dtype.as_torch(),
                "DEVICE": like.device,
            }
            lines += [
                f"o{index} = empty(S{index}, dtype=D{index}, device=DEVICE)",
                f"q{index} = o{index}.data_ptr()",
            ]
        return lines

    def _launches(self) -> list[str]:
        lines: list[str] = []
        for index, each in enumerate(self._call.plan.launches):
            self._scope[f"launch{index}"] = self._call.launcher(each.kernel, self._device).launch
            values = [self._value(f"{index}_{n}", value) for n, value in enumerate(each.arguments)]
            lines.append(f"launch{index}({', '.join(['s', *map(str, each.grid), *values])})")
        return lines

    def _value(self, name: str, value: Any) -> str:
        if isinstance(value, Address):
            return self._address(value)
        if isinstance(value, Map):
            maps: dict[int, bytes] = {}
            self._scope |= {f"map{name}": maps.get, f"encode{name}": map_encoder(maps, value)}
            address = self._address(value.address)
            return f"map{name}({address}) or encode{name}({address})"
        self._scope[f"v{name}"] = value
        return f"v{name}"

    def _address(self, address: Address) -> str:
        name = self._names[address.parameter]
        if name.startswith("o"):
            pointer = name.replace("o", "q")
        else:
            index = int(name[1:])
            if not isinstance(self._call.given[index], DeviceArray):
                return "0"  # None, for a parameter that the kernel does nothing with
            pointer = f"p{index}"
        return f"{pointer} + {address.offset}" if address.offset else pointer

    def _returned(self) -> str:
        made = [f"o{index}" for index in range(len(self._call.outputs))]
        if self._call.returned is not None:  # an eager kernel defines what it returns
            made = [self._names[position] for position in self._call.returned]
            return made[0] if len(made) == 1 else f"({', '.join(made)})" if made else "None"
        if not made:
            return "None"
        return made[0] if len(made) == 1 else f"[{', '.join(made)}]"


def map_encoder(maps: dict[int, bytes], map: Map) -> Callable[[int], bytes]:
    """Makes the tensor maps of one parameter, and keeps them in `maps`."""

    def encoded(address: int) -> bytes:
        if len(maps) >= _MAX_CACHED_MAPS:
            maps.clear()
        found = maps[address] = encode(address, **map.spec)
        return found

    return encoded


def pairs_with_a_written_one(
    sizes: Sequence[tuple[int, int, bool]],
) -> list[tuple[int, int, int, int]]:
    """Arguments of which one is written, from their index, bytes, and whether they are."""
    return [
        (one, other, size, size_of_other)
        for (one, size, is_written), (other, size_of_other, other_is) in combinations(sizes, 2)
        if is_written or other_is
    ]
