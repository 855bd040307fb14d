"""`tensor`: a block of values, a scalar or a pointer of a kernel.

A tensor is an SSA value and its `tl` type. Operators and methods are looked up where they are
defined: a function of `tl` becomes a method with `@tensor_method`, and the function after an
operator registers itself with `@operator("add")`. So this file depends on none of them, and each of
them may import this file.

    emit(arith.AddiOp(x.handle, y.handle), x.type)      insert an op, get its result as a tensor
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NoReturn, Self, TypeAlias, TypeVar

from typing_extensions import override
from xdsl.ir import Operation, SSAValue

from tilewright.frontend.builder import insert
from tilewright.frontend.values import Value
from tilewright.language.tl.agreement import agreement
from tilewright.language.tl.dtypes import dtype

_Function = TypeVar("_Function", bound=Callable[..., Any])

OperatorName: TypeAlias = Literal[
    "add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor",
    "lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "index", "transpose", "to",
    "logical_and", "logical_or",
]  # fmt: skip

_operators: dict[OperatorName, Callable[..., Any]] = {}


def operator(name: OperatorName) -> Callable[[_Function], _Function]:
    """The decorated function is what an operator of tensors does."""

    def register(function: _Function) -> _Function:
        _operators[name] = function
        return function

    return register


def tensor_method(function: _Function) -> _Function:
    """The decorated function is also a method of tensors, with the tensor as first argument."""
    setattr(tensor, function.__name__, function)
    return function


class tensor(Value):
    """A value of a kernel: a block of elements, or one element."""

    __slots__ = ("handle", "type")

    # Functions of NumPy would otherwise take a tensor for an array of one object.
    __array_ufunc__ = None

    elsewhere = {
        "astype": "x.to(tl.float32), with the type you need",
        "clip": "tl.clamp(x, low, high)",
        "copy": "x itself: a tensor never changes",
        "float": "x.to(tl.float32)",
        "half": "x.to(tl.float16)",
        "int": "x.to(tl.int32)",
        "ndim": "len(x.shape)",
        "pow": "x * x, or tl.exp2(y * tl.log2(x))",
        "mean": "tl.sum(x, axis=0) / n",
        "size": "x.numel, or x.shape[0]",
        "stride": "the strides as parameters of the kernel",
        "t": "tl.trans(x)",
        "transpose": "tl.trans(x)",
    }

    def __init__(self, handle: SSAValue, type: dtype) -> None:
        self.handle = handle
        self.type = type

    @property
    def dtype(self) -> dtype:
        """The type of an element."""
        return self.type.scalar

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def numel(self) -> int:
        return self.type.numel

    # As control flow sees it.

    @override
    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return self.__class__(next(handles), self.type)

    @override
    def kind(self) -> dtype:
        return self.type

    @override
    def agreement(self, other: Value) -> str:
        if isinstance(other, tensor):
            return agreement(self.handle, self.type, other.handle, other.type)
        return super().agreement(other)

    # Operators.

    def __add__(self, other: object) -> tensor:
        return _operators["add"](self, other)

    def __radd__(self, other: object) -> tensor:
        return _operators["add"](other, self)

    def __sub__(self, other: object) -> tensor:
        return _operators["sub"](self, other)

    def __rsub__(self, other: object) -> tensor:
        return _operators["sub"](other, self)

    def __mul__(self, other: object) -> tensor:
        return _operators["mul"](self, other)

    def __rmul__(self, other: object) -> tensor:
        return _operators["mul"](other, self)

    def __truediv__(self, other: object) -> tensor:
        return _operators["truediv"](self, other)

    def __rtruediv__(self, other: object) -> tensor:
        return _operators["truediv"](other, self)

    def __floordiv__(self, other: object) -> tensor:
        return _operators["floordiv"](self, other)

    def __rfloordiv__(self, other: object) -> tensor:
        return _operators["floordiv"](other, self)

    def __mod__(self, other: object) -> tensor:
        return _operators["mod"](self, other)

    def __rmod__(self, other: object) -> tensor:
        return _operators["mod"](other, self)

    def __lshift__(self, other: object) -> tensor:
        return _operators["lshift"](self, other, self)

    def __rlshift__(self, other: object) -> tensor:
        return _operators["lshift"](other, self, self)

    def __rshift__(self, other: object) -> tensor:
        return _operators["rshift"](self, other, self)

    def __rrshift__(self, other: object) -> tensor:
        return _operators["rshift"](other, self, self)

    def __and__(self, other: object) -> tensor:
        return _operators["and_"](self, other)

    def __rand__(self, other: object) -> tensor:
        return _operators["and_"](other, self)

    def __or__(self, other: object) -> tensor:
        return _operators["or_"](self, other)

    def __ror__(self, other: object) -> tensor:
        return _operators["or_"](other, self)

    def __xor__(self, other: object) -> tensor:
        return _operators["xor"](self, other)

    def __rxor__(self, other: object) -> tensor:
        return _operators["xor"](other, self)

    def __lt__(self, other: object) -> tensor:
        return _operators["lt"](self, other)

    def __le__(self, other: object) -> tensor:
        return _operators["le"](self, other)

    def __gt__(self, other: object) -> tensor:
        return _operators["gt"](self, other)

    def __ge__(self, other: object) -> tensor:
        return _operators["ge"](self, other)

    @override
    def __eq__(self, other: object) -> tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _operators["eq"](self, other)

    @override
    def __ne__(self, other: object) -> tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _operators["ne"](self, other)

    # Comparing emits code, so sets and dictionaries distinguish tensors by identity.
    __hash__ = object.__hash__

    def __neg__(self) -> tensor:
        return _operators["neg"](self)

    def __pos__(self) -> tensor:
        return self

    def __invert__(self) -> tensor:
        return _operators["invert"](self)

    def __getitem__(self, index: object) -> tensor:
        return _operators["index"](self, index)

    def logical_and(self, other: object) -> tensor:
        return _operators["logical_and"](self, other)

    def logical_or(self, other: object) -> tensor:
        return _operators["logical_or"](self, other)

    @property
    def T(self) -> tensor:
        """The transpose of a matrix."""
        return _operators["transpose"](self)

    def to(
        self, dtype: dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
    ) -> tensor:
        """The same values as another type, or with `bitcast` the same bits."""
        return _operators["to"](self, dtype, fp_downcast_rounding, bitcast)

    # What Python could do with other objects, but no kernel with a value it does not know yet.

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the truth value of {self} is unknown at compile time: combine conditions with &, "
            "| and ~, choose values with tl.where, or branch with `if` inside the kernel"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"the elements of {self} cannot be iterated over: operate on the whole tensor, "
            "reduce it with tl.sum or tl.reduce, or load scalars in a loop"
        )

    def __contains__(self, item: object) -> NoReturn:
        self.__iter__()

    def __index__(self) -> NoReturn:
        raise TypeError(
            f"{self} is a run-time value, but a compile-time integer is required here: pass it "
            "as a parameter annotated tl.constexpr"
        )

    @override
    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @override
    def __repr__(self) -> str:
        return f"tensor({self})"


Operand: TypeAlias = tensor | int | float | bool
"""What arithmetic takes: a tensor, or a Python number known when the kernel is compiled."""


def emit(op: Operation, type: dtype) -> tensor:
    """Insert `op` where the kernel is being traced; its (first) result as a tensor of `type`."""
    return tensor(insert(op).results[0], type)
