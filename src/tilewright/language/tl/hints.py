"""Hints of the user that the compiler cannot derive.

`multiple_of`, `max_contiguous` and `max_constancy` are notes on the op that made a value, read when
it is decided how many elements an access can take at once. Arguments have no such op: a parameter
of a kernel gets its notes from the launch, and of what a loop carries the first value has them
(`frontend.control_flow.carries`). Arguments of a kernel function that another one calls have none,
although here such a function is executed in its caller: Triton, for which it is a function of its
own until it is inlined, loses these notes, and an op with a note is not the same as one without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from tilewright.dialects.folding.constants import from_values
from tilewright.dialects.llvm import AssumeOp
from tilewright.dialects.type_utils import tensor_of
from tilewright.frontend.builder import current
from tilewright.frontend.control_flow.carries import note
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.tensor import Operand, tensor


def _note(input: tensor, values: Sequence[int] | int, function: str, attribute: str) -> tensor:
    values = unwrap(values)
    given = [values] if isinstance(values, int) else list(values)
    for index, each in enumerate(given):
        if not isinstance(each, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"values element {index} must have type `constexpr[int]`, got "
                f"`{type(each).__name__}`"
            )
    rank = len(input.shape)
    if function == "multiple_of":
        rank = max(1, rank)
    if rank != len(given):
        raise ValueError(
            f"Shape of input to {function} does not match the length of values: {input} has "
            f"{rank} dimensions, {len(given)} values are given"
        )
    values_noted = from_values(given, tensor_of(i32, [len(given)]))
    note(input.handle, attribute, cast("Attribute", values_noted))
    return input


def multiple_of(input: tensor, values: Sequence[int] | int) -> tensor:
    """`input`; the first element of each contiguous run along dimension d divides by values[d]."""
    return _note(input, values, "multiple_of", "tt.divisibility")


def max_contiguous(input: tensor, values: Sequence[int] | int) -> tensor:
    """`input`, which along dimension d consists of runs of values[d] consecutive integers."""
    return _note(input, values, "max_contiguous", "tt.contiguity")


def max_constancy(input: tensor, values: Sequence[int] | int) -> tensor:
    """`input`, which along dimension d consists of runs of values[d] equal elements."""
    return _note(input, values, "max_constancy", "tt.constancy")


def assume(cond: Operand) -> None:
    """Let the compiler take `cond` for true."""
    current().insert(AssumeOp(to_tensor(cond).handle))
