"""The trace of one `T` function: the state that ops need beyond their insertion point.

While a function is traced one `Trace` is current. It holds the parameters (sizes such as
``T.dynamic("m")`` are read from their shapes), the kernel that is open (allocations go to its
beginning, hints onto it), and counts writes to memory, so that two loads of one element can be
compared to be equal.

In the first of the two phases of an eager kernel nothing is emitted for good: only annotations are
of interest, and the bodies of kernels are left out (`is_survey`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.simt.across import StrideOp
from tilewright.frontend.builder import Builder, current, insert, is_outside
from tilewright.frontend.errors import FrontendError
from tilewright.ir.hints import name_hint_of
from tilewright.language.T.expressions import INDEX, Expr, as_expr, constant
from tilewright.language.T.stock import DimOp
from tilewright.language.T.symbols import Computed, Size, Symbol, Symbolic

if TYPE_CHECKING:
    from tilewright.frontend.rewriter import Rewritten
    from tilewright.language.T.buffers import Buffer, Element

_Op = TypeVar("_Op", bound=Operation)

OUTSIDE = "TW1020"
"""A construct of a kernel where there is no kernel."""


@dataclass
class OpenKernel:
    """A kernel whose body is being traced."""

    body: Block
    threads: tuple[int, ...] | None
    grid: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Hints of the body about the kernel."""
    last_allocation: Operation | None = None

    def allocate(self, op: _Op, builder: Builder) -> _Op:
        """Put `op` after the allocations at the beginning of the kernel."""
        op.location = builder.location()
        if self.last_allocation is not None:
            self.body.insert_ops_after([op], self.last_allocation)
        elif self.body.first_op is not None:
            self.body.insert_ops_before([op], self.body.first_op)
        else:
            self.body.add_op(op)
        self.last_allocation = op
        return op


@dataclass
class Trace:
    """What is known while one function is traced."""

    entry: Block
    is_survey: bool = False
    """Whether only the annotations are evaluated."""
    is_eager: bool = False
    """Whether the body of the function declares its parameters."""
    parameters: tuple[str, ...] = ()
    """Names of the function's parameters."""
    rewritten: Rewritten | None = None
    """The text of the function, without that of macros."""
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of ``T.const``."""
    buffers: list[Buffer] = field(default_factory=list["Buffer"])
    """Parameters with a shape, in order."""
    kernel: OpenKernel | None = None
    branches: list[Any] = field(default_factory=list[Any])
    """The ``T.If`` that are open, outermost first."""
    parallel_depth: int = 0
    """How many parallel loops are being traced, one in another."""
    writes: int = 0
    """Count of possible memory writes so far."""
    unread: list[weakref.ref[Element]] = field(default_factory=list["weakref.ref[Element]"])
    """Elements that were indexed since, and are not read yet."""
    naturals: set[object] = field(default_factory=set[object])
    """Variables of loops and blocks that are not negative."""
    bound: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that have a name: they are computed where they got it."""
    sources: list[str] = field(default_factory=list[str])
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Hints of the body about the whole function."""
    outputs: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """Declared with ``T.empty``, in order: name and annotation."""
    output_buffers: list[Buffer] = field(default_factory=list["Buffer"])
    """Their parameters."""
    declared: dict[str, Any] = field(default_factory=dict[str, Any])
    """Annotations made in the body, by parameter."""
    symbols: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    argument_attributes: dict[int, dict[str, Attribute]] = field(
        default_factory=dict[int, dict[str, Attribute]]
    )
    """Hints of the body about parameters, by their position."""
    _sizes: dict[str, Expr] = field(default_factory=dict[str, Expr])
    _last_size: Operation | None = None

    def size(self, symbol: Symbol) -> Expr:
        """The value of a symbol: the size of the first dimension that is just it."""
        found = self._sizes.get(symbol.name)
        if found is None:
            found = self._sizes[symbol.name] = self._read_size(symbol)
        return found

    def _read_size(self, symbol: Symbol) -> Expr:
        for buffer in self.buffers:
            for dimension, size in enumerate(buffer.shape):
                if isinstance(size, Symbol) and size.name == symbol.name:
                    return self._dimension(buffer.handle, dimension)
        found = self._solved_size(symbol)
        if found is None:
            found = self._stride(symbol)
        if found is not None:
            return found
        raise FrontendError(
            f"size {symbol.name} cannot be determined from the arguments: no parameter has a "
            f"dimension or stride that is exactly {symbol.name}. Declare one with this size, or "
            f"pass {symbol.name} as a parameter",
            code="TW1021",
        )

    def _solved_size(self, symbol: Symbol) -> Expr | None:
        """The value of a symbol from a dimension such as ``n * 4`` or ``n + 1``."""
        for buffer in self.buffers:
            for dimension, size in enumerate(buffer.shape):
                steps = _way_back(size, symbol.name)
                if steps is None:
                    continue
                found: Any = self._dimension(buffer.handle, dimension)
                for operator, operand in steps:
                    found = found.binary(operator, found, operand)
                return Expr(found.handle, symbol_dtype(), is_natural=True)
        return None

    def _stride(self, symbol: Symbol) -> Expr | None:
        """The value of a symbol that is the stride of a dimension."""
        for buffer in self.buffers:
            if buffer.strides is None:
                continue
            for dimension, stride in enumerate(buffer.strides):
                if isinstance(stride, Symbol) and stride.name == symbol.name:
                    op = StrideOp(buffer.handle, dimension)
                    op.location = current().location()
                    op.result.name_hint = name_hint_of(symbol.name)
                    self.at_the_top(op)
                    return Expr(op.result, symbol_dtype(), is_natural=True)
        return None

    def _dimension(self, buffer: SSAValue, dimension: int) -> Expr:
        axis = arith.ConstantOp(IntegerAttr(dimension, INDEX))
        size = DimOp(buffer, axis.results[0])
        for op in (axis, size):
            op.location = current().location()
        self.at_the_top(axis)
        self.at_the_top(size)
        return Expr(size.results[0], symbol_dtype(), is_natural=True)

    def output(self, name: str, annotation: Any) -> Any:
        """The output that ``name = T.empty(...)`` declares."""
        position = len(self.outputs)
        self.outputs.append((name, annotation))
        if self.is_survey:
            return OutputStub(position, name, annotation)
        return self.output_buffers[position]

    def read_elements(self) -> None:
        """Read what is indexed and not read yet, because memory is about to change."""
        unread, self.unread = self.unread, []
        for reference in unread:
            element = reference()
            if element is not None:
                element.keep()

    def at_the_top(self, op: Operation) -> None:
        """Put `op` after its like at the beginning of the function."""
        if self._last_size is not None:
            self.entry.insert_ops_after([op], self._last_size)
        elif self.entry.first_op is not None:
            self.entry.insert_ops_before([op], self.entry.first_op)
        else:
            self.entry.add_op(op)
        self._last_size = op


_UNDONE: Mapping[str, str] = {"+": "-", "-": "+", "*": "//"}


def _way_back(size: Any, name: str) -> list[tuple[str, int]] | None:
    """What to do with the number `size` is to get the symbol `name`; None if there is no way."""
    steps: list[tuple[str, int]] = []
    while isinstance(size, Computed):
        left, right = size.left, size.right
        if isinstance(left, int) and size.operator in ("+", "*"):
            left, right = right, left
        if not isinstance(right, int) or size.operator not in _UNDONE:
            return None
        steps.append((_UNDONE[size.operator], right))
        size = left
    return steps if isinstance(size, Symbol) and size.name == name else None


class Stub:
    """A tensor outside of ``T.Kernel``: it has a shape, and no elements to work with."""

    name: str

    def __getitem__(self, index: object) -> Any:
        return kernel(f"{self.name}[...]")

    def __setitem__(self, index: object, value: object) -> None:
        kernel(f"{self.name}[...] = ...")


class OutputStub(Stub):
    """An output while only the annotations of an eager kernel are evaluated."""

    def __init__(self, position: int, name: str, annotation: Any) -> None:
        self.position = position
        self.name = name
        self.shape = annotation.shape
        self.dtype = annotation.dtype
        self.data = None


def symbol_dtype() -> Any:
    from tilewright.language.T.dtypes import int32

    return int32


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def is_tracing_tile() -> bool:
    """Whether a function of `T` is being traced."""
    return bool(_stack.traces)


def trace() -> Trace:
    """The trace that is running."""
    if not _stack.traces:
        raise RuntimeError(
            "this function is part of a kernel: call it inside a function decorated with "
            "@T.prim_func or @tw.jit"
        )
    return _stack.traces[-1]


@contextmanager
def tracing(new: Trace) -> Generator[Trace]:
    """Make `new` the current trace inside the ``with``."""
    _stack.traces.append(new)
    try:
        yield new
    finally:
        _stack.traces.pop()


def kernel(what: str) -> OpenKernel:
    """The kernel that is open; `what` needs one."""
    if is_outside():
        return OpenKernel(current().block, None)
    found = trace().kernel
    if found is None:
        raise FrontendError(
            f"{what} is part of a kernel: put it inside `with T.Kernel(...)`", code=OUTSIDE
        )
    return found


def effect(op: _Op) -> _Op:
    """Insert an op that writes memory or waits for something."""
    if not is_outside():
        trace().read_elements()
        trace().writes += 1
    return insert(op)


def size_value(size: Symbolic) -> Expr:
    """A size as a value of the kernel being traced."""
    if not _stack.traces:
        raise TypeError(size.undecided())
    if trace().is_survey:  # what is computed of it is computed again when it is known
        return constant(1, symbol_dtype(), as_index=True)
    if isinstance(size, Symbol):
        return trace().size(size)
    found = cast("Computed", size)
    return _computed(found.operator, found.left, found.right)


def _computed(operator: str, left: Size, right: Size) -> Expr:
    from tilewright.language.T import arithmetic

    named = {
        "ceildiv": arithmetic.ceil_division,
        "min": arithmetic.minimum,
        "max": arithmetic.maximum,
    }
    first, second = _value(left), _value(right)
    if operator in named:
        return as_expr(named[operator](first, second))
    return as_expr(arithmetic.binary(operator, first, second))


def _value(size: Size) -> Any:
    return size if isinstance(size, int) else size_value(size)
