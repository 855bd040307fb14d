"""Python's built-in functions as a kernel sees them.

They mean what they mean in Python on values known when the kernel is compiled. On tensors, `min`,
`max`, `abs` and `print` act when the kernel runs; the others suggest what to write instead.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, TypeAlias, cast

from tilewright.frontend.values import Value
from tilewright.language.tl import arithmetic
from tilewright.language.tl.comparison import PropagateNan, maximum, minimum
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.debug import device_print
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.ranges import range
from tilewright.language.tl.tensor import tensor

_Extremum: TypeAlias = Callable[[object, object, PropagateNan], tensor]


def _extremum(name: str, known: Callable[..., Any], traced: _Extremum) -> Callable[..., object]:
    def function(*args: object, propagate_nan: PropagateNan | None = None) -> object:
        values: tuple[Any, ...] = unwrap(args)
        if not any(isinstance(value, Value) for value in values):
            return _of_constants(name, known, values, propagate_nan)
        if propagate_nan is not None:
            warn(
                f"passing propagate_nan to builtin {name} is deprecated, use tl.{name}imum instead",
            )
        if len(values) < 2:
            raise TypeError(f"{name} takes at least 2 values; tl.{name} reduces a tensor")
        result = values[0]
        for value in values[1:]:
            result = traced(result, value, propagate_nan or PropagateNan.NONE)
        if result.type.is_block():
            warn(
                f"builtin {name} on non-scalar tensor values is deprecated, "
                f"use tl.{name}imum instead",
            )
        return result

    function.__name__ = name
    return function


def _of_constants(
    name: str, known: Callable[..., Any], values: tuple[Any, ...], propagate_nan: object
) -> object:
    """What is known now; where Python and devices would differ, nothing is."""
    if propagate_nan is not None:
        raise TypeError(f"propagate_nan is not supported on builtin {name} of constants")
    sizes = values[0] if len(values) == 1 else values
    if any(isinstance(each, float) and math.isnan(each) for each in sizes):
        raise ValueError(f"constexpr {name} does not support NaN values")
    if any(each == 0 and math.copysign(1.0, each) < 0 for each in sizes):
        raise ValueError(f"constexpr {name} does not support negative zero")
    return known(sizes)


def _known_only(name: str, function: Callable[..., Any], instead: str) -> Callable[..., Any]:
    """`function` for constants; for a tensor, what to write `instead`."""

    def wrapper(*args: object) -> Any:
        for value in args:
            if isinstance(value, Value):
                raise TypeError(f"{name}() requires a compile-time value, got {value}: {instead}")
        return function(*unwrap(args))

    wrapper.__name__ = name
    return wrapper


def _abs(x: object) -> object:
    value = unwrap(x)
    return arithmetic.abs(value) if isinstance(value, tensor) else builtins.abs(cast("Any", value))


def _isinstance(value: object, kinds: type | UnionType | tuple[type, ...]) -> bool:
    """As in Python, except that any value known now counts as a `constexpr`."""
    classes: tuple[Any, ...] = kinds if isinstance(kinds, tuple) else (kinds,)
    if constexpr in classes and not isinstance(value, Value):
        return True
    return isinstance(unwrap(value), classes)


def _range(*args: Any, **hints: object) -> range:
    """Python's own `range` has no hints, and the IR must not depend on which `range` is used."""
    if hints:
        names = ", ".join(hints)
        warn(f"range() ignores {names} in a kernel: use tl.range() for loop hints")
    return range(*args)


BUILTINS: Mapping[str, object] = {
    "abs": _abs,
    "bool": _known_only("bool", bool, "compare with 0, or convert with .to(tl.int1)"),
    "enumerate": enumerate,
    "float": _known_only("float", float, "convert with .to(tl.float32)"),
    "getattr": getattr,
    "hasattr": hasattr,
    "int": _known_only("int", int, "convert with .to(tl.int32)"),
    "isinstance": _isinstance,
    "len": _known_only("len", len, "use x.shape[0] or x.numel"),
    "list": _known_only("list", tuple, "a tensor has no elements to list"),
    "max": _extremum("max", max, maximum),
    "min": _extremum("min", min, minimum),
    "print": device_print,
    "range": _range,
    "reversed": reversed,
    "str": _known_only("str", str, "print it with tl.device_print"),
    "tuple": _known_only("tuple", tuple, "a tensor has no elements to list"),
    "zip": zip,
}
"""Names that kernels find without importing anything. Lists are tuples: they never change."""
