"""What a launch passes to a kernel that was raised to tiles: flat memory, scalars, grid.

A pointer becomes the memory from the first element of its array to the last; what is between the
elements of a strided array belongs to it, and the rest of the storage of a tensor of torch: kernels
on pointers may access all of that. `raised_aliases` has what happens if arrays overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.dtypes import dtype_of_type
from tilewright.language.T.prim_func import Param
from tilewright.language.T.symbols import Symbol
from tilewright.runtime.arrays import HostArray, NumpyArray, host_array
from tilewright.runtime.cuda.arrays import DeviceArray, device_array, is_torch
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.memory_extents import extent_of
from tilewright.runtime.pointer.raised_aliases import Span
from tilewright.runtime.specialise import CONSTEXPR, Key, flattened

_INSTEAD = "pass a copy, or launch with target='triton'"
_SIGN_BIT = 63


class BadArgument(ValueError):
    """An argument that the raised kernel cannot take; `name` is its parameter."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def param_of(name: str, type: Attribute) -> Param:
    """The parameter of a raised function."""
    if isinstance(type, MemRefType):
        return Param(name, "tensor", dtype_of_type(type.element_type), (Symbol(f"{name}_size"),))
    return Param(name, "scalar", dtype_of_type(type))


def flat_arguments(keys: Sequence[Key], values: Sequence[Any]) -> Iterator[Any]:
    """Arrays and scalars, one for each parameter of the traced function."""
    return flattened(keys, values, lambda each: (each.base, *each.shape, *each.strides))


def flat_names(names: Sequence[str], keys: Sequence[Key]) -> Iterator[str]:
    """The names of the parameters of the traced function."""
    for name, key in zip(names, keys, strict=True):
        if key[0] == "tuple":
            inner = key[2:]
            yield from flat_names([f"{name}_{index}" for index in range(len(inner))], inner)
        elif key[0] != CONSTEXPR:
            yield name
        if key[0] == "tensordesc":
            rank = len(key[2])
            yield from (
                f"{name}_{what}_{axis}" for what in ("shape", "stride") for axis in range(rank)
            )


# -- memory of the host ----------------------------------------------------------------------------


def on_host(value: Any) -> Any:
    """An argument as memory of this machine, if it is an array."""
    if isinstance(value, DeviceArray):
        return host_array(value.owner)
    if isinstance(value, TensorDescriptor):
        return replace(value, base=host_array(value.base).array)
    if isinstance(value, tuple):
        return tuple(on_host(each) for each in cast("tuple[Any, ...]", value))
    return value


def host_memory(param: Param, value: Any) -> Any:
    """What the raised kernel gets for `value`: a `HostArray` with flat memory, or a scalar."""
    if param.kind == "scalar":
        return scalar_of(param.dtype, value)
    host = value if isinstance(value, HostArray) else host_array(value)
    return HostArray(_flat(param, host.array), host.finish)


def _flat(param: Param, array: NumpyArray) -> NumpyArray:
    count = extent_of(array).count
    if count is None:
        raise BadArgument(
            param.name,
            f"the array of strides {array.strides} has elements before its first one: {_INSTEAD}",
        )
    memory = as_strided(
        array, (count // array.itemsize,), (array.itemsize,), writeable=array.flags.writeable
    )
    expected = param.dtype.as_numpy()
    return memory if memory.dtype == expected else memory.view(expected)


def scalar_of(dtype: Dtype, value: Any) -> int | float | bool:
    """A scalar with the bits that the function takes: integers have no sign there."""
    if dtype == "bool":
        return bool(value)
    return float(value) if dtype.is_float else _integer(value)


def _integer(value: Any) -> int:
    integer = int(value)
    return integer - (1 << (_SIGN_BIT + 1)) if integer >> _SIGN_BIT == 1 else integer


def spans_on_host(values: Sequence[Any]) -> list[Span]:
    """The memory of the arrays of a launch."""
    return [
        Span(index, value.array.ctypes.data, value.array.nbytes)
        for index, value in enumerate(values)
        if isinstance(value, HostArray)
    ]


# -- memory of a GPU -------------------------------------------------------------------------------


def on_device(param: Param, alignment: int) -> Callable[[Any], Any]:
    """What makes of the value of a launch what the raised kernel gets: a flat `DeviceArray`, or a
    scalar. It is called in every launch. Addresses are multiples of `alignment`."""
    dtype, size = param.dtype, param.dtype.bytes
    if param.kind == "tensor":
        return lambda value: _device_memory(param.name, size, alignment, value)
    if dtype == "bool":
        return bool
    return float if dtype.is_float else _integer


def _device_memory(name: str, element_bytes: int, alignment: int, value: Any) -> DeviceArray:
    array = device_array(value)
    assert array is not None, "the launch has checked where its arrays are"
    reach, shape, strides = 1, array.shape, array.strides
    for extent, stride in zip(shape, strides, strict=True):
        if stride < 0:
            raise BadArgument(
                name,
                f"the array of strides {strides} has elements before its first one: {_INSTEAD}",
            )
        reach += (extent - 1) * stride
    address = array.address
    if address % alignment:
        raise BadArgument(
            name,
            f"the address is {address % alignment} bytes past a multiple of {alignment}, which the "
            f"kernel needs: {_INSTEAD}",
        )
    size = reach * array.element_bytes if 0 not in shape else 0
    if is_torch(array.owner):
        storage = array.owner.untyped_storage()
        size = max(size, storage.nbytes() - (address - storage.data_ptr()))
    return DeviceArray(
        address, array.element, (size // element_bytes,), (1,), element_bytes, array.device, value
    )


def spans_on_gpu(values: Sequence[Any]) -> list[Span]:
    """The memory that a kernel can reach through the arrays of a launch."""
    return [
        Span(index, value.address, value.shape[0] * value.element_bytes)
        for index, value in enumerate(values)
        if isinstance(value, DeviceArray)
    ]
