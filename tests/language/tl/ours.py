"""Stands in for `triton` in kernels that our front end reads, as far as the corpus needs it."""

from collections.abc import Callable
from typing import Any

from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.trace import Argument
from tilewright.language.tl.constexpr import constexpr_function
from tilewright.language.tl.descriptors import tensor_descriptor_type
from tilewright.language.tl.dtypes import block_type, named_dtype, pointer_type
from tilewright.language.tl.tensor import tensor
from tilewright.language.tl.vocabulary import TL

__all__ = ["argument", "constexpr_function", "jit"]


def jit(function: Callable[..., Any] | None = None, *, noinline: bool = False) -> Any:
    """The decorator, with or without options."""
    if function is None:
        return lambda function: KernelFunction(function, TL, noinline=noinline)
    return KernelFunction(function, TL, noinline=noinline)


def argument(spelled: str) -> Argument:
    """An argument of a type as Triton's signatures spell it."""
    if spelled.startswith("tensordesc"):
        element, _, block = spelled.removeprefix("tensordesc<").removesuffix("]>").partition("[")
        shape = [int(extent) for extent in block.split(",")]
        descriptor = tensor_descriptor_type(block_type(named_dtype(element), shape))
        return Argument(descriptor.flattened(), descriptor.make)
    type = named_dtype(spelled.removeprefix("*").removeprefix("k"))
    if spelled.startswith("*"):
        type = pointer_type(type, const=spelled.startswith("*k"))
    return Argument([type.to_ir()], lambda handles: tensor(next(handles), type))
