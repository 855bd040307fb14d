"""Code from outside: pointers to buffers, calls of imported functions, thread-wide reductions.

T.import_source(text)
T.call_extern("handle", "decode", T.access_ptr(buffer, "r"), 1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, cast

from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.dialects.tile import ExternOp, PtrOfOp, ReduceOp
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.values import Value
from tilewright.language.T.buffers import Buffer, BufferData, BufferRegion, Element, ScalarCell
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import (
    Expr,
    as_expr,
    describe,
    emit,
    index_expr,
    is_python_scalar,
)
from tilewright.language.T.kernel import ThreadIndex
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel

_MODES = {"r": "r", "w": "w", "rw": "rw", 1: "r", 2: "w", 3: "rw"}


class Pointer(Value):
    """An address."""

    def __init__(self, handle: SSAValue, dtype: Dtype) -> None:
        self.handle = handle
        self.dtype = dtype

    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return cast("Self", Pointer(next(handles), self.dtype))

    def kind(self) -> object:
        return self.handle.type


def access_ptr(
    base: Any, access_type: Any = "rw", *extents: Any, offset: Any = None, extent: Any = None
) -> Pointer:
    """The address of a buffer or of an element, for code from outside."""
    element = _element("access_ptr", base)
    if access_type not in _MODES:
        raise FrontendError(
            f'T.access_ptr: the mode is "r", "w" or "rw", got {describe(access_type)}',
            code=BAD_ARGUMENT,
        )
    indices = element.index_values()
    if offset is not None and not (is_python_scalar(offset) and int(offset) == 0):
        last = Expr(indices[-1], index_expr(0).dtype)
        indices[-1] = index_expr(last + offset).handle
    length: Any = extent
    for more in extents:
        length = more if length is None else length * more
    size = None if length is None else index_expr(length).handle
    op = PtrOfOp(element.buffer.handle, indices, mode=_MODES[access_type], extent=size)
    return Pointer(emit(op), element.buffer.dtype)


def address_of(location: Any) -> Pointer:
    """The address of an element."""
    return access_ptr(location, "rw")


def _element(op_name: str, value: Any) -> Element:
    if isinstance(value, Element):
        return value
    if isinstance(value, BufferRegion):
        return Element(value.buffer, value.offsets)
    buffer = value.buffer if isinstance(value, BufferData) else value
    if isinstance(buffer, Buffer):
        return Element(buffer, [0] * buffer.ndim)
    raise FrontendError(
        f"T.{op_name} takes a buffer or an element of one, got {describe(value)}", code=BAD_ARGUMENT
    )


def call_extern(*args: Any, dtype: object = None) -> Any:
    """Call a function of imported source: ``call_extern(dtype, "name", *args)``."""
    given = list(args)
    if dtype is None:
        dtype = given.pop(0)
    if not given or not isinstance(given[0], str):
        raise FrontendError(
            "T.call_extern(dtype, name, *arguments) needs the name of a function", code=BAD_ARGUMENT
        )
    name = given.pop(0)
    kernel("T.call_extern")
    found = Dtype("handle" if dtype == "void" else dtype)
    pointers = any(isinstance(each, (Pointer, Buffer, BufferData)) for each in given)
    results = [] if found == "handle" or pointers else [found.type]
    op = effect(ExternOp(name, [_argument(each) for each in given], results))
    return Expr(op.results[0], found) if results else None


call_pure_extern = call_extern


def _argument(value: Any) -> SSAValue:
    if isinstance(value, ScalarCell):
        return value.handle
    if isinstance(value, (Pointer, Buffer)):
        return value.handle
    if isinstance(value, BufferData):
        return access_ptr(value).handle
    if isinstance(value, BufferRegion):
        return value.operand()
    found = as_expr(value)
    if found.is_index:
        return emit(arith.IndexCastOp(found.handle, found.dtype.type))
    return found.handle


# -- the thread-wide reduction of gemv ---------------------------------------------------------


class CommReducer:
    """How values of several threads are combined, found by trying the function."""

    def __init__(self, function: Callable[[Any, Any], Any], identity: Sequence[Any]) -> None:
        self.kind = _kind_of(function)
        self.identity = identity


def _kind_of(function: Callable[[Any, Any], Any]) -> str:
    found = function(_Probe(), _Probe())
    kind = found.kind if isinstance(found, _Probe) else ""
    if not kind:
        raise FrontendError(
            "T.comm_reducer takes lambda x, y: x + y, x * y, T.max(x, y) or T.min(x, y)",
            code=BAD_ARGUMENT,
        )
    return kind


class _Probe:
    """Records what a function of two values does with them."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind

    def __add__(self, other: object) -> _Probe:
        return _Probe("sum")

    def __radd__(self, other: object) -> _Probe:
        return _Probe("sum")

    def __mul__(self, other: object) -> _Probe:
        return _Probe("prod")

    def extreme(self, op_name: str) -> _Probe:
        return _Probe(op_name)


def comm_reducer(function: Callable[[Any, Any], Any], identity: Sequence[Any]) -> CommReducer:
    """A way to combine values of several threads."""
    return CommReducer(function, identity)


_active: list[CommReducer] = []


class AttributeScope:
    """``with T.attr(reducer, "reduce_scope", ...)``."""

    def __init__(self, reducer: CommReducer) -> None:
        self._reducer = reducer

    def __enter__(self) -> None:
        _active.append(self._reducer)

    def __exit__(self, *_: object) -> None:
        _active.pop()


def attr(node: Any, key: str, value: Any) -> AttributeScope:
    """The scope of a ``T.comm_reducer``; there is no other use."""
    del value
    if not isinstance(node, CommReducer) or key != "reduce_scope":
        raise FrontendError(
            f'T.attr is for `with T.attr(T.comm_reducer(...), "reduce_scope", ...)`, got '
            f"{describe(node)} and {key!r}",
            code=BAD_ARGUMENT,
        )
    return AttributeScope(node)


class AllReduce:
    """A reduction over threads, to be done by ``T.evaluate``."""

    def __init__(self, source: Element, target: Element, axis: int) -> None:
        self.source, self.target, self.axis = source, target, axis


def tvm_thread_allreduce(
    count: Any, value: Any, condition: Any, result: Any, *axes: Any, dtype: object = None
) -> AllReduce:
    """Combine `value` of all threads along an axis into `result`."""
    del count, condition, dtype
    if not isinstance(value, Element) or not isinstance(result, Element):
        raise FrontendError(
            "T.tvm_thread_allreduce combines an element of a T.alloc_local buffer into another: "
            f"got {describe(value)} and {describe(result)}",
            code=BAD_ARGUMENT,
        )
    if len(axes) != 1 or not isinstance(axes[0], ThreadIndex):
        raise FrontendError(
            "T.tvm_thread_allreduce needs one axis, a value of T.get_thread_binding",
            code=BAD_ARGUMENT,
        )
    return AllReduce(value, result, axes[0].axis)


def evaluate(value: Any) -> None:
    """Do what an expression stands for."""
    if not isinstance(value, AllReduce):
        return
    if not _active:
        raise FrontendError(
            "T.tvm_thread_allreduce must be inside `with T.attr(T.comm_reducer(...), ...)`",
            code=BAD_ARGUMENT,
        )
    source, target = (
        BufferRegion(each.buffer, each.indices, [1] * len(each.indices)).operand()
        for each in (value.source, value.target)
    )
    effect(ReduceOp(source, target, _active[-1].kind, value.axis, scope="threads"))
