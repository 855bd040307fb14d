"""What a function of the mathematics is."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.targets.hip.header.function import Function


@dataclass(frozen=True)
class MathFunction(Function):
    """A function of floats; or a part of one, which takes no arguments of its own."""

    arguments: int = 0
    is_double: bool = False


def function(
    name: str,
    body: str,
    needs: tuple[str, ...] = (),
    *,
    arguments: int = 1,
    type: str,
) -> MathFunction:
    """A function of `arguments` numbers, called x, y, z; `body` has no braces."""
    parameters = ", ".join(f"{type} {each}" for each in "xyz"[:arguments])
    text = f"__device__ __forceinline__ {type} {name}({parameters}) {{\n{body}\n}}"
    return MathFunction(text, needs, arguments, type == "double")
