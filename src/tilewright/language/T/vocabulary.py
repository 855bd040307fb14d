"""What `T` decides for the frontend: `TILE`, the vocabulary of TileLang's language.

Everything known while tracing is Python's: numbers, lists, functions and classes of the module
around are used as they are. Values of the kernel decide branches when it runs.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from xdsl.ir import Attribute, SSAValue

from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.vocabulary import CountedLoop, StaticLoop
from tilewright.language.T import arithmetic, scalars
from tilewright.language.T.arithmetic import absolute
from tilewright.language.T.buffers import Buffer, BufferRegion
from tilewright.language.T.dtypes import boolean
from tilewright.language.T.expressions import Expr, as_expr, condition, describe
from tilewright.language.T.lazy import choose, reads_memory, recent
from tilewright.language.T.loop_forms import Serial
from tilewright.language.T.operators import Operators
from tilewright.language.T.session import trace
from tilewright.language.T.symbols import Symbolic


def _range(*bounds: Any) -> Any:
    """``range``: of numbers it is Python's, with values of the kernel a serial loop."""
    if not any(isinstance(bound, Operators) for bound in bounds):
        return range(*bounds)
    return Serial(*bounds)


def _len(value: Any) -> int:
    if isinstance(value, Symbolic):
        raise TypeError(f"{value} is a scalar: it has no len()")
    return len(value)


def _isinstance(value: Any, kinds: Any) -> bool:
    if isinstance(value, Expr):
        raise TypeError(
            f"isinstance() of a value of type {value.dtype} is not supported in a kernel: look at "
            "its .dtype"
        )
    return isinstance(value, kinds)


def _minimum(*values: Any, **options: Any) -> Any:
    return _python_or("min", values, options)


def _maximum(*values: Any, **options: Any) -> Any:
    return _python_or("max", values, options)


def _python_or(function: str, values: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    items = values[0] if len(values) == 1 else values
    if isinstance(items, (tuple, list)):
        several = cast("Sequence[Any]", items)
        if any(isinstance(each, Operators) for each in several):
            return getattr(scalars, function)(*several)
    return getattr(builtins, function)(*values, **options)


def _absolute(value: Any) -> Any:
    return absolute(as_expr(value)) if isinstance(value, Expr) else abs(value)


BUILTINS: Mapping[str, object] = {
    **{name: value for name, value in vars(builtins).items() if not name.startswith("_")},
    "__build_class__": None,
    "__name__": "kernel",
    "abs": _absolute,
    "isinstance": _isinstance,
    "len": _len,
    "max": _maximum,
    "min": _minimum,
    "range": _range,
}
"""Python's built-ins, and those of them that have to know values of a kernel."""


class TileVocabulary:
    """The vocabulary of `T`."""

    @property
    def name(self) -> str:
        return "T"

    @property
    def builtins(self) -> Mapping[str, object]:
        return BUILTINS

    def bind(self, name: str, value: object) -> object:
        return value

    def argument(self, name: str, value: object, *, constexpr: bool) -> object:
        return value

    def returned(self, value: object) -> object:
        return value

    def condition(self, value: object) -> bool | SSAValue:
        """Values of the kernel decide when it runs, everything else now."""
        if isinstance(value, (Expr, Symbolic)):
            if trace().is_survey:
                raise TypeError(
                    "the condition depends on sizes that have no value yet: tensors are declared "
                    "before their sizes are known. Move it inside `with T.Kernel(...)`, where the "
                    "sizes of T.const have values"
                )
            return condition(value)
        if isinstance(value, (Buffer, BufferRegion)):
            raise TypeError(f"{value!r} has no truth value: compare one of its elements")
        return bool(value)

    def while_attributes(self, value: object) -> Mapping[str, Attribute]:
        return {}

    def known_items(self, iterable: Any) -> None:
        """Nothing beyond what is unrolled."""

    def loop(self, iterable: Any) -> StaticLoop | CountedLoop:
        raise TypeError(f"Invalid for loop, got {describe(iterable)}({type(iterable)})")

    def logical(self, op: Literal["and", "or"], left: object, right: object) -> object:
        """The right side is evaluated only if the left one leaves it open."""
        first, second = condition(left), condition(right)
        if not reads_memory(second, recent(current().block)):
            operator = "&" if op == "and" else "|"
            return arithmetic.binary(operator, Expr(first, boolean), Expr(second, boolean))
        known = condition(op == "or")
        sides = (second, known) if op == "and" else (known, second)
        return Expr(choose(first, *sides), boolean)

    def invert(self, value: object) -> object:
        return arithmetic.unary("~", Expr(condition(value), boolean))

    def as_value(self, value: object) -> object:
        return value

    def captured(self, name: str, value: object) -> object:
        return value

    def type_of(self, value: object) -> object | None:
        return None

    def check(self, condition: object, message: object) -> None:
        """``assert``: now, or when the kernel runs."""
        if isinstance(condition, (Expr, Symbolic)):
            if trace().is_survey:
                return  # checked again when sizes are known
            from tilewright.language.T.sync import device_assert

            device_assert(condition, str(message))
        elif not condition:
            raise FrontendError(
                f"assertion failed while tracing: {message}"
                if message
                else "assertion failed while tracing"
            )

    def mangle(self, value: object) -> str:
        raise NotImplementedError("functions of T are inlined")  # no call needs a symbol


TILE = TileVocabulary()
