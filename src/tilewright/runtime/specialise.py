"""What of an argument a compiled kernel depends on.

One compiled kernel serves every call whose arguments agree in this. As in Triton:

* a pointer counts by its element type and by whether its address is a multiple of 16;
* an integer counts by its type (the first of i32, i64, u64 that holds it) and by whether it is a
  multiple of 16; exactly 1 is compiled in as a constant, because strides are so often 1;
* a float or bool counts by its type, ``None`` and constexpr arguments by their value.

The result is a plain tuple, hashed on every launch: ``("*fp32", "D")``, ``("constexpr", 64)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from math import copysign
from typing import Any, TypeAlias, cast

import numpy as np

from tilewright.frontend.values import is_namedtuple
from tilewright.runtime.arrays import HostArray, element_name, host_array, is_array
from tilewright.runtime.cuda.arrays import DeviceArray, device_array
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.parameters import Parameter

DIVISIBILITY = 16
DIVISIBLE = "D"
CONSTEXPR = "constexpr"

Key: TypeAlias = tuple[Any, ...]

_INTEGER_RANGES = (
    ("i32", -(2**31), 2**31 - 1),
    ("i64", -(2**63), 2**63 - 1),
    ("u64", 0, 2**64 - 1),
)


def integer_type(value: int) -> str:
    """The type an integer argument gets: the first that holds it."""
    for name, low, high in _INTEGER_RANGES:
        if low <= value <= high:
            return name
    raise OverflowError(f"the integer {value} does not fit into 64 bits")


def array_key(array: Any, *, const: bool, align: bool) -> Key:
    """The key of NumPy memory passed as a pointer."""
    return pointer_key(
        element_name(array.dtype), array.__array_interface__["data"][0], const=const, align=align
    )


def pointer_key(element: str, address: int, *, const: bool, align: bool) -> Key:
    """The key of memory passed as a pointer."""
    aligned = align and address % DIVISIBILITY == 0
    return (("*k" if const else "*") + element, DIVISIBLE if aligned else "")


def _integer_key(value: int, parameter: Parameter) -> Key:
    declared = parameter.declared_type
    if not parameter.specialise:
        return (declared or integer_type(value), "")
    if value == 1 and not declared:
        return (CONSTEXPR, 1)
    divisible = parameter.align and value % DIVISIBILITY == 0
    return (declared or integer_type(value), DIVISIBLE if divisible else "")


def plain(value: object) -> object:
    """Numbers of NumPy as Python's, lists as tuples: what kernels can be compiled for."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return tuple(plain(item) for item in cast("list[object]", value))
    return value


def constant_key(value: object) -> Key:
    """The key of a value that is compiled in."""
    value = plain(value)
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"a constexpr must be hashable, got {type(value).__name__}: pass a scalar, a string "
            "or a tuple, or remove `tl.constexpr` from the parameter"
        ) from None
    return (CONSTEXPR, value, kind_of(value))


def kind_of(value: object) -> object:
    """What distinguishes values that are equal: 1, 1.0 and True hash alike, as do 0.0 and -0.0."""
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return (type(items), *map(kind_of, items))
    if isinstance(value, float) and value == 0.0:
        return type(value), copysign(1.0, value)
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), *(kind_of(getattr(value, each.name)) for each in fields(value)))
    return type(value)


def _tuple_key(value: tuple[object, ...], parameter: Parameter) -> tuple[Key, object]:
    fields = type(value) if is_namedtuple(value) else None
    parts = [key_of(item, parameter) for item in value]
    return ("tuple", fields, *(key for key, _ in parts)), tuple(item for _, item in parts)


def _block_of(descriptor: TensorDescriptor) -> tuple[int, ...]:
    """The shape of a descriptor's block. It may be set after the descriptor was made."""
    block = tuple(int(extent) for extent in descriptor.block_shape)
    for axis, (extent, given) in enumerate(zip(block, descriptor.block_shape, strict=True)):
        if extent != given or extent < 1 or extent & (extent - 1):
            next_power = 1 << max(extent - 1, 0).bit_length()
            raise ValueError(
                f"extent {given} of dimension {axis} of the descriptor's block "
                f"{list(descriptor.block_shape)} is not a power of two: use {next_power}; "
                "out-of-bounds elements are padded"
            )
    return block


def key_of(value: Any, parameter: Parameter) -> tuple[Key, object]:
    """What the kernel depends on in `value`, and what is passed at launch.

    Arrays on a GPU stay there: a `DeviceArray` is passed.
    """
    if parameter.is_constexpr:
        return constant_key(value), value
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, np.dtype[Any]]", value)
        return array_key(array, const=parameter.is_const, align=parameter.align), array
    if isinstance(value, (bool, np.bool_)):
        return (parameter.declared_type or "u1", ""), bool(value)
    if isinstance(value, (int, np.integer)):
        integer = int(cast("int", value))
        return _integer_key(integer, parameter), integer
    if isinstance(value, (float, np.floating)):
        return (parameter.declared_type or "fp32", ""), float(cast("float", value))
    return _less_common(value, parameter)


def _less_common(value: Any, parameter: Parameter) -> tuple[Key, object]:
    if isinstance(value, TensorDescriptor):
        return ("tensordesc", value.element, _block_of(value), value.padding), value
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return _tuple_key(items, parameter)
    if is_array(value):
        on_device = device_array(value)
        if on_device is not None:
            key = pointer_key(
                on_device.element,
                on_device.address,
                const=parameter.is_const,
                align=parameter.align,
            )
            return key, on_device
        host = host_array(value)
        key = array_key(host.array, const=parameter.is_const, align=parameter.align)
        return key, host if host.finish else host.array
    if value is None or _is_constant(value):
        return constant_key(value), value
    raise TypeError(
        f"a kernel cannot take a {type(value).__name__}; pass an array (NumPy, torch, DLPack, "
        "CuPy), a scalar, None, a tuple or a TensorDescriptor, or annotate the parameter as "
        f"`{parameter.name}: tl.constexpr`"
    )


def device_of(values: Iterable[object]) -> int | None:
    """The GPU that holds the first array on a GPU among `values`; None if all are on the host."""
    for value in values:
        for array in _arrays(value):
            on_device = device_array(array)
            if on_device is not None:
                return on_device.device
    return None


def check_device(value: object, device: int | None) -> None:
    """Refuse arrays that a kernel on GPU `device` does not reach; None: all are on the host."""
    for array in _arrays(value):
        on_device = device_array(array)
        if on_device is None:
            where = "a GPU" if device is None else f"GPU {device}, where other arguments are"
            raise ValueError(
                f"the array of shape {tuple(array.shape)} is in host memory: move it to {where}, "
                'or launch with target="numpy"'
            )
        if on_device.device != device:
            raise ValueError(
                f"the array of shape {on_device.shape} is on GPU {on_device.device}, but other "
                f"arguments are on GPU {device}: move all to one GPU"
            )


def _arrays(value: object) -> Iterator[Any]:
    if isinstance(value, (np.ndarray, DeviceArray)):
        yield value
    elif isinstance(value, HostArray):
        yield value.array
    elif isinstance(value, TensorDescriptor):
        yield value.base
    elif isinstance(value, tuple):
        for item in cast("tuple[object, ...]", value):
            yield from _arrays(item)
    elif is_array(value):
        yield value


def _is_constant(value: object) -> bool:
    return isinstance(value, str) or callable(value)


def flattened(
    keys: Sequence[Key], values: Sequence[Any], of_descriptor: Callable[[Any], Iterable[Any]]
) -> Iterator[Any]:
    """The values of parameters that a compiled kernel has for `values`, one for each of `keys`.

    What is compiled in has no parameter. A tuple has one for each item, and a tensor descriptor
    those of `of_descriptor`.
    """
    for key, value in zip(keys, values, strict=True):
        kind = key[0]
        if kind == "tuple":
            yield from flattened(key[2:], value, of_descriptor)
        elif kind == "tensordesc":
            yield from of_descriptor(value)
        elif kind != CONSTEXPR:
            yield value
