"""Parameters of a kernel as IR arguments, from their specialisation at launch.

A key describes what the argument is: ``("*fp32", "D")`` a pointer at an address divisible by 16,
``("i32", "")`` an integer, ``("tensordesc", "fp16", (64, 32), "zero")`` a tensor descriptor,
``("constexpr", 64)`` a value that is compiled in, and ``("tuple", fields, ...)`` several of these
under one name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from tilewright.frontend.trace import Argument
from tilewright.language.tl.descriptors import tensor_descriptor_type
from tilewright.language.tl.dtypes import block_type, dtype, named_dtype, pointer_type
from tilewright.language.tl.tensor import tensor

Key: TypeAlias = tuple[Any, ...]

_DIVISIBLE: Mapping[str, Attribute] = {"tt.divisibility": IntegerAttr(16, i32)}


def scalar_type(text: str) -> dtype:
    """The type a signature writes: ``*kfp32`` is a read-only pointer to fp32."""
    if not text.startswith("*"):
        return named_dtype("i1" if text == "u1" else text)
    const = text.startswith("*k")
    return pointer_type(scalar_type(text.removeprefix("*k").removeprefix("*")), const=const)


def argument_of(key: Key) -> object:
    """What to trace a kernel with for one key: an `Argument`, or the constant itself."""
    kind = key[0]
    if kind == "constexpr":
        return key[1]
    if kind == "tuple":
        return _tuple(key)
    if kind == "tensordesc":
        described = tensor_descriptor_type(block_type(named_dtype(key[1]), key[2]))
        return Argument(described.flattened(), described.make)
    return _scalar(scalar_type(kind), divisible=key[1] == "D")


def _scalar(kind: dtype, *, divisible: bool) -> Argument:
    def make(handles: Iterator[SSAValue]) -> tensor:
        return tensor(next(handles), kind)

    return Argument((kind.to_ir(),), make, _DIVISIBLE if divisible else {})


def _tuple(key: Key) -> Argument:
    """One argument for all of a tuple's items; a NamedTuple stays one."""
    items = [argument_of(inner) for inner in key[2:]]
    arguments = [item for item in items if isinstance(item, Argument)]

    def make(handles: Iterator[SSAValue]) -> object:
        made = [item.make(handles) if isinstance(item, Argument) else item for item in items]
        return tuple(made) if key[1] is None else key[1](*made)

    return Argument(
        [each for argument in arguments for each in argument.types],
        make,
        [each for argument in arguments for each in argument.each_attributes()],
    )
