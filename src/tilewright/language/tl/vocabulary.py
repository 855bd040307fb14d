"""What `tl` decides for the frontend: `TL`, the vocabulary of Triton's language.

A number becomes a tensor when it is given a name, unless the name is annotated ``tl.constexpr``; a
number passed to a function stays a number. Tensors decide branches when the kernel runs, numbers
when it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Literal, cast

from xdsl.ir import Attribute, SSAValue

from tilewright.frontend.functions.function import LIBRARY, KernelFunction
from tilewright.frontend.values import Value, is_namedtuple
from tilewright.frontend.vocabulary import CountedLoop, StaticLoop
from tilewright.language.tl.bitwise import logical_and, logical_not, logical_or
from tilewright.language.tl.constants import is_python_scalar, to_tensor
from tilewright.language.tl.constexpr import ConstexprFunction, constexpr, constexpr_type, unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.debug import device_assert
from tilewright.language.tl.dtypes import dtype, int1
from tilewright.language.tl.extern import ExternFunction
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.operations import tensor
from tilewright.language.tl.promotion import operand
from tilewright.language.tl.pythonic import BUILTINS
from tilewright.language.tl.ranges import condition, range, static_range
from tilewright.language.tl.shape import item
from tilewright.language.tl.type_of import type_of

_UNROLLED = (tuple, list, static_range, zip, enumerate, reversed)
_CONDITIONS = (bool, int, type(None))
_IN_SYMBOLS: Mapping[str, str] = {"'": "_sq_", "[": "_", "]": "_"}
"""Characters of a constant's text that the name of a function cannot have."""


class TlVocabulary:
    """The vocabulary of `tl`."""

    @property
    def name(self) -> str:
        return "tl"

    @property
    def builtins(self) -> Mapping[str, object]:
        return BUILTINS

    def bind(self, name: str, value: object) -> object:
        """``name = value``: numbers become tensors, in tuples too."""
        value = unwrap(value)
        if is_python_scalar(value):
            return to_tensor(value)
        return _map_tuple(lambda part: self.bind(name, part), value)

    def argument(self, name: str, value: object, *, constexpr: bool) -> object:
        """An argument of a kernel function: what is known stays known."""
        return _as_tuples(unwrap(value))

    def returned(self, value: object) -> object:
        return _as_tuples(unwrap(value))

    def condition(self, value: object) -> bool | SSAValue:
        value = unwrap(value.condition if isinstance(value, condition) else value)
        if isinstance(value, tensor):
            return _decided_at_run_time(value)
        if type(value) in _CONDITIONS:
            return bool(value)
        names = ", ".join(each.__name__ for each in _CONDITIONS)
        raise TypeError(
            f"`if` conditionals can only accept values of type {{{names}}}, not objects of type "
            f"{value.__class__.__name__}: write a comparison"
        )

    def while_attributes(self, value: object) -> Mapping[str, Attribute]:
        """Attributes that the condition of a ``while`` puts on the loop."""
        return value.attributes() if isinstance(value, condition) else {}

    def loop(self, iterable: Any) -> StaticLoop | CountedLoop:
        iterable = unwrap(iterable)
        if isinstance(iterable, range):
            return iterable.loop()
        if isinstance(iterable, _UNROLLED):
            return StaticLoop(tuple(cast("Sequence[object]", iterable)))
        if isinstance(iterable, tensor):
            iter(iterable)  # raises with the reason
        raise TypeError(
            "Only `range` and `static_range` iterators are currently supported, not "
            f"{iterable.__class__.__name__}: write `for i in range(...)`, or unroll over a tuple"
        )

    def known_items(self, iterable: Any) -> Sequence[object] | None:
        iterable = unwrap(iterable)
        return iterable.known() if isinstance(iterable, range) else None

    def logical(self, op: Literal["and", "or"], left: object, right: object) -> object:
        return (logical_and if op == "and" else logical_or)(left, right)

    def invert(self, value: object) -> object:
        return logical_not(to_tensor(value))

    def as_value(self, value: object) -> object:
        return value if isinstance(value, Value) else to_tensor(value)

    def captured(self, name: str, value: object) -> object:
        """A name of the surrounding module: only what cannot change while a kernel is cached."""
        if isinstance(value, constexpr):
            return unwrap(value)
        if value is None or isinstance(value, _CAPTURED) or _is_of_language(value):
            return value
        raise NameError(
            f"Cannot access global variable {name} from within @jit'ed function: "
            + _fix(name, value)
        )

    def type_of(self, value: object) -> object | None:
        return type_of(value)

    def check(self, condition: object, message: object) -> None:
        device_assert(operand(condition), str(message))

    def mangle(self, value: object) -> str:
        """The type of an argument, or its value if that is known, as part of a function's name."""
        if isinstance(value, Value):
            return cast("Any", value).type.mangle()
        if isinstance(value, tuple):
            parts = cast("tuple[object, ...]", value)
            return f"T{'_'.join(self.mangle(part) for part in parts)}T"
        text = constexpr_type(value).mangle()
        for character, spelling in _IN_SYMBOLS.items():
            text = text.replace(character, spelling)
        return text


_CAPTURED = (ModuleType, KernelFunction, ConstexprFunction, ExternFunction, dtype, type)


def _is_of_language(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith(LIBRARY)


def _fix(name: str, value: object) -> str:
    if isinstance(value, FunctionType):
        return (
            f"decorate {name} with @jit to run it inside the kernel, or with "
            "@constexpr_function to evaluate it at compile time"
        )
    if is_python_scalar(value) or isinstance(value, (str, tuple)):
        return (
            "it may change after the kernel is compiled. Define it as "
            f"`{name} = tl.constexpr({value!r})`, or pass it as a parameter"
        )
    if hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
        return f"a kernel accesses arrays through pointers. Pass {name} as a launch argument"
    return (
        f"an object of type {value.__class__.__name__} cannot be used in a kernel. Pass it as a "
        f"parameter, or define it as `{name} = tl.constexpr(...)` if it never changes"
    )


def _decided_at_run_time(value: tensor) -> SSAValue:
    if value.numel != 1:
        raise TypeError(
            f"Boolean value of Tensor with more than one value is ambiguous, got {value}: reduce "
            "it with tl.max or tl.reduce_or, or choose element by element with tl.where"
        )
    if value.type.is_block():
        warn(
            "If conditional called with multidimensional Tensor instead of scalar; please use "
            "x.item() instead",
        )
    return convert(item(value), int1).handle


def _map_tuple(function: Callable[[object], object], value: object) -> object:
    """`function` of every element of a tuple or list, as a tuple; other values themselves."""
    if not isinstance(value, (tuple, list)):
        return value
    whole = cast("Any", value)
    parts = [function(part) for part in whole]
    return type(whole)(*parts) if is_namedtuple(whole) else tuple(parts)


def _as_tuples(value: object) -> object:
    """Lists, which a kernel cannot change anyway, as tuples."""
    return _map_tuple(_as_tuples, value)


TL = TlVocabulary()
