"""Arguments for a kernel given as IR text: from command-line text to arrays and scalars.

    f32[1024]           an array of the pointer's element type; random floats, zeros for integers
    f32[64,128]:ones    filled: zeros, ones, random, arange, empty (never written) or a number
    i32:1000, 1000      a number

Pointers and tensors (``memref``) take arrays. The type may be left out where the function has it. A
descriptor takes an array; the sizes and strides that follow it in the signature are filled in.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute

from tilewright.dialects.functions import FunctionOp
from tilewright.dialects.tt.types import PtrType, TensorDescType
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.passes import closest
from tilewright.targets.numpy.api import Argument, Array, Buffer, Descriptor
from tilewright.targets.numpy.dtypes import SCALAR_NAMES, ScalarType, scalar_type

_FILLS = ("zeros", "ones", "random", "arange", "empty")
_SPELLINGS = {"fp16": "f16", "fp32": "f32", "fp64": "f64", "bool": "i1"}
_WIDEST = 8
"""Bytes of the numbers that arrays are filled with before they get their type."""
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_EXAMPLE_SIZE = 1024


class ArgumentError(Exception):
    """Arguments that do not fit the kernel."""


@dataclass(frozen=True)
class Formal:
    """A parameter of the kernel."""

    name: str
    type: Attribute
    element: ScalarType

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, (PtrType, TensorDescType, MemRefType))

    @property
    def example(self) -> str:
        """The flag that would give it a value."""
        if not self.is_array:
            return f"--arg {self.name}={self.element.name}:{_EXAMPLE_SIZE if self.is_int else 1}"
        shape = ",".join(map(str, self._example_shape))
        return f"--arg '{self.name}={self.element.name}[{shape}]'"

    @property
    def _example_shape(self) -> list[int]:
        if isinstance(self.type, MemRefType):
            extents = self.type.get_shape()
            return [_EXAMPLE_SIZE if extent == DYNAMIC_INDEX else extent for extent in extents]
        rank = len(self.type.shape) if isinstance(self.type, TensorDescType) else 1
        return [_EXAMPLE_SIZE] * rank

    @property
    def is_int(self) -> bool:
        return self.element.kind == "i"


@dataclass(frozen=True)
class Spec:
    """One parsed argument."""

    dtype: str | None
    shape: tuple[int, ...] | None
    value: str | None


def formals_of(function: FunctionOp) -> tuple[Formal, ...]:
    """The parameters of `function`, under the names of its text."""
    found: list[Formal] = []
    for index, argument in enumerate(function.body.blocks[0].args):
        name = argument.name_hint or f"arg{index}"
        pointee = argument.type.pointee if isinstance(argument.type, PtrType) else argument.type
        element = None if is_tensor(pointee) else scalar_type(pointee)
        if element is None or element.kind == "p":
            raise ArgumentError(f"argument {name} is a {argument.type}: its value cannot be passed")
        found.append(Formal(name, argument.type, element))
    return tuple(found)


def parse_spec(text: str) -> Spec:
    """`text` in its parts; raises ArgumentError if it is none."""
    head, colon, value = text.partition(":")
    match = re.fullmatch(r"(\w*)\[([\d,x ]*)\]", head)
    if match is not None:
        extents = re.split(r"[,x]", match[2].replace(" ", "")) if match[2].strip() else []
        if not all(extents):
            raise ArgumentError(f"'{text}': a shape is written as [64,128]")
        return Spec(_dtype(match[1]), tuple(map(int, extents)), value if colon else None)
    if "[" in head:
        raise ArgumentError(f"'{text}': an array is written as f32[64,128] or f32[64,128]:zeros")
    return Spec(_dtype(head), None, value) if colon else Spec(None, None, head)


def _dtype(name: str) -> str | None:
    if not name:
        return None
    name = _SPELLINGS.get(name, name).lower()
    if name not in SCALAR_NAMES:
        close = closest(name, list(SCALAR_NAMES))
        hint = f"did you mean {close}?" if close else f"known: {', '.join(SCALAR_NAMES)}"
        raise ArgumentError(f"no element type '{name}'; {hint}")
    return name


def value_of(formal: Formal, spec: Spec, rng: np.random.Generator) -> Array | np.generic:
    """The array or number that `spec` describes."""
    element = _element(formal, spec)
    if formal.is_array:
        if spec.shape is None:
            raise ArgumentError(f"{formal.name} is an array; write for example {formal.example}")
        count = math.prod(spec.shape)
        try:
            if count > sys.maxsize // _WIDEST:
                raise MemoryError
            return _filled(formal, element, spec, rng)
        except MemoryError:
            shape, size = ",".join(map(str, spec.shape)), count * element.itemsize
            raise ArgumentError(
                f"{formal.name}: an array of shape [{shape}] takes {size} bytes, more than "
                "available: use a smaller shape"
            ) from None
    if spec.shape is not None or spec.value is None:
        raise ArgumentError(f"{formal.name} is a scalar; write for example {formal.example}")
    return _scalar(formal, spec.value)


def _element(formal: Formal, spec: Spec) -> np.dtype[Any]:
    """The element type; unsigned integers are the same bits as the kernel's signless ones."""
    if spec.dtype in (None, formal.element.name):
        return formal.element.dtype
    if formal.is_int and spec.dtype == formal.element.unsigned:
        return np.dtype(SCALAR_NAMES[spec.dtype])
    raise ArgumentError(f"{formal.name} is {formal.element.name} in the kernel, not {spec.dtype}")


def _filled(formal: Formal, dtype: np.dtype[Any], spec: Spec, rng: np.random.Generator) -> Array:
    shape = spec.shape or ()
    is_integer = formal.element.kind in "ib"
    fill = spec.value or ("zeros" if is_integer else "random")
    match fill:
        case "zeros" | "empty":
            return np.zeros(shape, dtype)
        case "ones":
            return np.ones(shape, dtype)
        case "arange":
            return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)
        case "random" if is_integer:
            return rng.integers(0, 2 if formal.element.kind == "b" else 100, shape).astype(dtype)
        case "random":
            return rng.standard_normal(shape).astype(dtype)
        case _:
            return np.full(shape, _scalar(formal, fill)).astype(dtype)


def _scalar(formal: Formal, text: str) -> np.generic:
    element = formal.element
    try:
        if element.kind == "b":
            return np.bool_(_TRUTH[text.lower()])
        if element.kind != "i":
            return element.dtype.type(float(text))
        value = int(text, 0)
    except (KeyError, ValueError):
        fills = ", ".join(_FILLS)
        kind = (
            f"a value or one of {fills}" if formal.is_array else f"a value of type {element.name}"
        )
        raise ArgumentError(f"{formal.name}: '{text}' is not {kind}") from None
    low, high = -(1 << (element.bits - 1)), (1 << element.bits) - 1
    if not low <= value <= high:
        raise ArgumentError(f"{formal.name}: {value} does not fit into {element.name}")
    wrapped = value - (1 << element.bits) if value >= -low else value
    return element.dtype.type(wrapped)


def loaded_value(formal: Formal, array: Array) -> Array | np.generic:
    """`array` from a file as an argument; types that files do not know come as plain bytes."""
    dtype = formal.element.dtype
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        array = array.view(dtype)
    same_bits = formal.is_int and array.dtype.kind == "u" and array.itemsize == dtype.itemsize
    if formal.is_array:
        if array.dtype != dtype and not same_bits:
            raise ArgumentError(
                f"{formal.name} is {formal.element.name}, the file has {array.dtype}"
            )
        return np.ascontiguousarray(array)
    if array.size != 1:
        raise ArgumentError(f"{formal.name} is a scalar, the file has an array of {array.shape}")
    return dtype.type(array.reshape(-1)[0])


def bind(
    kernel: str, formals: Sequence[Formal], values: Mapping[str, Any], unwritten: set[str]
) -> list[Argument]:
    """The arguments of the kernel; raises ArgumentError with the flags for what is missing."""
    known = {formal.name for formal in formals}
    unknown = [name for name in values if name not in known]
    if unknown:
        names = ", ".join(formal.name for formal in formals)
        raise ArgumentError(f"@{kernel} has no argument '{unknown[0]}'; it has {names}")
    complete = {**_sizes(formals, values), **values}
    missing = [formal for formal in formals if formal.name not in complete]
    if missing:
        flags = " \\\n".join(f"  {formal.example}" for formal in missing)
        raise ArgumentError(
            f"@{kernel} has {len(formals)} arguments, {len(missing)} of them without a value; "
            f"add, with sizes and values of your own:\n{flags}"
        )
    return [_argument(formal, complete[formal.name], unwritten) for formal in formals]


def _argument(formal: Formal, value: Any, unwritten: set[str]) -> Argument:
    if not formal.is_array:
        return value
    if isinstance(formal.type, MemRefType):
        value = _shaped(formal, formal.type.get_shape(), value)
    buffer = Buffer(formal.name, value, initialised=formal.name not in unwritten)
    if not isinstance(formal.type, TensorDescType):
        return buffer
    if value.ndim != len(formal.type.shape):
        raise ArgumentError(
            f"{formal.name} describes blocks of shape {formal.type.shape}; give it an array of "
            f"{len(formal.type.shape)} dimensions, not {value.ndim}"
        )
    return Descriptor(buffer, value.shape, _strides(value))


def _shaped(formal: Formal, extents: Sequence[int], value: Array) -> Array:
    """The array of a tensor; flat memory is taken from an array of any shape."""
    if tuple(extents) == (DYNAMIC_INDEX,):
        return value.reshape(-1)
    expected = ",".join("?" if extent == DYNAMIC_INDEX else str(extent) for extent in extents)
    pairs = zip(extents, value.shape, strict=False)
    is_equal = all(extent in (DYNAMIC_INDEX, size) for extent, size in pairs)
    if len(extents) != value.ndim or not is_equal:
        found = ",".join(map(str, value.shape))
        raise ArgumentError(f"{formal.name} has shape [{expected}] in the kernel, not [{found}]")
    return value


def _strides(array: Array) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


def _sizes(formals: Sequence[Formal], values: Mapping[str, Any]) -> dict[str, np.generic]:
    """Sizes (i32) and strides (i64) that follow a descriptor in the signature."""
    found: dict[str, np.generic] = {}
    for index, formal in enumerate(formals):
        array = values.get(formal.name)
        if not isinstance(formal.type, TensorDescType) or array is None:
            continue
        rank = array.ndim
        following = formals[index + 1 : index + 1 + 2 * rank]
        expected = ["i32"] * rank + ["i64"] * rank
        if [each.element.name for each in following if not each.is_array] != expected:
            continue
        sizes = (*array.shape, *_strides(array))
        for each, size in zip(following, sizes, strict=True):
            found[each.name] = each.element.dtype.type(size)
    return found
