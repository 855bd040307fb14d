"""Values known when a kernel is compiled.

While a kernel is traced such a value is the plain Python object. `constexpr` is the box that marks
one outside: as an annotation of a parameter or a variable, and around a global that kernels read.

    BLOCK = tl.constexpr(128)            # a global that kernels may use

    @tw.jit
    def kernel(x, SIZE: tl.constexpr): ...

Arithmetic on boxes gives boxes, so that globals can be computed from globals. Where arithmetic is
not enough, a Python function with `@constexpr_function` runs while the kernel is compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, ClassVar, TypeVar, cast

from typing_extensions import override

from tilewright.frontend.builder import is_tracing
from tilewright.frontend.values import Value, is_namedtuple

_T = TypeVar("_T")


@dataclass(frozen=True)
class constexpr_type:
    """The type of a value known when the kernel is compiled: the value itself."""

    value: object

    @override
    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"

    def mangle(self) -> str:
        mangle = getattr(self.value, "mangle", None)
        return f"c{repr(self.value) if mangle is None else mangle()}"


def _binary(name: str) -> Callable[[constexpr, object], constexpr]:
    function = getattr(operator, name)

    def method(self: constexpr, other: object) -> constexpr:
        if isinstance(other, Value):  # has its own idea of the operation
            return NotImplemented
        return constexpr(function(self.value, unwrap(other)))

    return method


def _reflected(name: str) -> Callable[[constexpr, object], constexpr]:
    function = getattr(operator, name)

    def method(self: constexpr, other: object) -> constexpr:
        return constexpr(function(unwrap(other), self.value))

    return method


class constexpr:
    """A value known when the kernel is compiled."""

    # A kernel may hold any Python object; what can be done with it is up to that object.
    value: Any

    def __new__(cls, value: object) -> Any:
        """A box outside of kernels; inside, where nothing needs a mark, the value itself."""
        return unwrap(value) if is_tracing() else super().__new__(cls)

    def __init__(self, value: object) -> None:
        self.value = unwrap(value)

    @property
    def type(self) -> constexpr_type:
        return constexpr_type(self.value)

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __lshift__, __rlshift__ = _binary("lshift"), _reflected("lshift")
    __rshift__, __rrshift__ = _binary("rshift"), _reflected("rshift")
    __and__, __rand__ = _binary("and_"), _reflected("and_")
    __or__, __ror__ = _binary("or_"), _reflected("or_")
    __xor__, __rxor__ = _binary("xor"), _reflected("xor")
    __lt__, __le__ = _binary("lt"), _binary("le")
    __gt__, __ge__ = _binary("gt"), _binary("ge")

    __eq__ = _binary("eq")  # pyright: ignore[reportAssignmentType]
    __ne__ = _binary("ne")  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, index: object) -> Any:
        return self.value[unwrap(index)]

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.value(*args, **kwargs)

    @override
    def __hash__(self) -> int:
        return hash(self.value)

    @override
    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"


def unwrap(value: _T) -> _T:
    """`value` without boxes: out of a `constexpr`, out of the elements of lists and tuples."""
    if isinstance(value, constexpr):
        return value.value
    if isinstance(value, list):
        return cast("_T", [unwrap(item) for item in cast("list[object]", value)])
    if isinstance(value, tuple):
        items = [unwrap(item) for item in cast("tuple[object, ...]", value)]
        is_plain = type(cast("Any", value)) is tuple or not is_namedtuple(cast("Any", value))
        return cast("_T", tuple(items) if is_plain else type(cast("Any", value))(*items))
    return value


class ConstexprFunction:
    """A Python function that runs when the kernel is compiled, on values known then."""

    runs_when_compiled: ClassVar[bool] = True

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: object, **kwargs: object) -> Any:
        known = {name: unwrap(value) for name, value in kwargs.items()}
        for value in (*args, *known.values()):
            if isinstance(value, Value):
                raise TypeError(
                    f"{self._function.__name__} is evaluated at compile time, but got the "
                    f"run-time value {value}: decorate it with @jit instead"
                )
        return unwrap(self._function(*unwrap(args), **known))

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        """A function that is part of a class is called like a method."""
        return self if instance is None else partial(self._of, instance)

    def _of(self, instance: object, *args: object, **kwargs: object) -> Any:
        """Whatever else the instance holds, its methods may use what is known of it."""
        return ConstexprFunction(partial(self._function, instance))(*args, **kwargs)


def constexpr_function(function: Callable[..., Any]) -> ConstexprFunction:
    """Let kernels call `function` while they are compiled, with constants as arguments."""
    return ConstexprFunction(function)
