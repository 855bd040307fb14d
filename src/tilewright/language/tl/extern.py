"""Functions of device libraries, applied to every element.

A library has one symbol for each list of argument types. Arguments are broadcast to one shape but
never converted: which precision is meant is up to the user.

Users provide functions of their own libraries as Python functions marked ``@tl.core.extern``. Those
take and pass on a parameter ``_semantic``, which means nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

from tilewright.dialects.tt import ExternElementwiseOp
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.tensor import Operand, emit, tensor

Symbols = Mapping[tuple[dtype, ...], tuple[str, dtype]]
"""For each list of argument types the symbol and the type of its result."""


def extern_elementwise(
    lib_name: str,
    lib_path: str,
    args: Sequence[Operand],
    arg_type_symbol_dict: Symbols,
    is_pure: bool,
    _semantic: object = None,
) -> tensor:
    """The function for the types of `args`, called for each element."""
    values = [to_tensor(value) for value in args]
    types = tuple(value.dtype for value in values)
    if types not in arg_type_symbol_dict:
        raise ValueError(
            f"input arg type does not match. Expect one of {_texts(arg_type_symbol_dict)}, got "
            f"{_text(types)}: convert the arguments with .to()"
        )
    symbol, element = arg_type_symbol_dict[types]
    result = element
    if values:
        common = values[0]
        for value in values:
            _, common = broadcast_values(value, common)
        values = [broadcast_values(value, common)[0] for value in values]
        result = common.type.with_element_ty(element)
    op = ExternElementwiseOp(
        [value.handle for value in values],
        result.to_ir(),
        symbol,
        libname=lib_name,
        libpath=lib_path,
        pure=is_pure,
    )
    return emit(op, result)


class ExternFunction:
    """A Python function that calls a library, for kernels to call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._function(*args, **kwargs)


def _text(types: Sequence[dtype]) -> str:
    return f"({', '.join(map(str, types))})"


def _texts(symbols: Symbols) -> str:
    return " or ".join(_text(types) for types in symbols)
