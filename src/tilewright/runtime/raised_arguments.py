"""What a launch passes to a kernel that was raised to tiles: flat memory, scalars, grid.

A pointer becomes the memory from the first element of its array to the last; what is between the
elements of a strided array belongs to it. Raised kernels take different pointers for different
memory (``__restrict__`` in our CUDA), which Triton does not guarantee: a launch compares the bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
from tilewright.runtime.specialise import CONSTEXPR, Key
from tilewright.runtime.tile.gpu import reach
from tilewright.runtime.tile.host_checks import ACCESS_BYTES

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
    for key, value in zip(keys, values, strict=True):
        if key[0] == CONSTEXPR:
            continue
        if key[0] == "tuple":
            yield from flat_arguments(key[2:], value)
        elif isinstance(value, TensorDescriptor):
            yield value.base
            yield from value.shape
            yield from value.strides
        else:
            yield value


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
    if dtype.is_float:
        return float(value)
    integer = int(value)
    return integer - (1 << (_SIGN_BIT + 1)) if integer >> _SIGN_BIT == 1 else integer


def overlapping_on_host(
    params: Sequence[Param], values: Sequence[Any], written: Collection[int]
) -> tuple[str, str] | None:
    """The names of two arrays that share bytes, one of them written."""
    spans = [
        (index, value.array.ctypes.data, value.array.nbytes)
        for index, value in enumerate(values)
        if isinstance(value, HostArray)
    ]
    return _overlapping(params, spans, written)


# -- memory of a GPU -------------------------------------------------------------------------------


def device_memory(param: Param, value: Any) -> Any:
    """What the raised kernel gets for `value`: a flat `DeviceArray`, or a scalar."""
    if param.kind == "scalar":
        return scalar_of(param.dtype, value)
    array = device_array(value)
    assert array is not None, "the launch has checked where its arrays are"
    if any(stride < 0 for stride in array.strides):
        raise BadArgument(
            param.name,
            f"the array of strides {array.strides} has elements before its first one: {_INSTEAD}",
        )
    if array.address % ACCESS_BYTES:
        raise BadArgument(
            param.name,
            f"the address is {array.address % ACCESS_BYTES} bytes past a multiple of "
            f"{ACCESS_BYTES}, which kernels on tiles need: {_INSTEAD}",
        )
    element_bytes = param.dtype.bytes
    count = _bytes_from(array) // element_bytes
    return replace(
        array, shape=(count,), strides=(1,), element=array.element, element_bytes=element_bytes
    )


def _bytes_from(array: DeviceArray) -> int:
    """Bytes of memory from the first element on; of torch's tensors, to the end of their storage.

    Kernels on pointers may access what is beyond the view that they got.
    """
    own = _reach_bytes(array)
    if not is_torch(array.owner):
        return own
    storage = array.owner.untyped_storage()
    return max(own, storage.nbytes() - (array.address - storage.data_ptr()))


def _reach_bytes(array: DeviceArray) -> int:
    return reach(array) * array.element_bytes if all(array.shape) else 0


def overlapping_on_gpu(
    params: Sequence[Param], values: Sequence[Any], written: Collection[int]
) -> tuple[str, str] | None:
    """The names of two arrays that share bytes, one of them written; `values` as passed."""
    arrays = [None if isinstance(each, int | float) else device_array(each) for each in values]
    spans = [
        (index, array.address, _reach_bytes(array))
        for index, array in enumerate(arrays)
        if array is not None
    ]
    return _overlapping(params, spans, written)


def _overlapping(
    params: Sequence[Param], spans: Sequence[tuple[int, int, int]], written: Collection[int]
) -> tuple[str, str] | None:
    for one, start, size in spans:
        if one not in written:
            continue
        for other, begin, length in spans:
            if other != one and start < begin + length and begin < start + size:
                return params[one].name, params[other].name
    return None
