"""What a parameter is: ``A: T.Tensor((M, K), "float16")`` and its relatives.

The same objects annotate parameters of a `T.prim_func` and, in an eager kernel, are in the body.
Called with the data of a buffer inside a kernel, ``T.Tensor`` is a view of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from typing_extensions import override

from tilewright.dialects.tile import PtrType, ViewOp, buffer_type
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.allocate import TensorStub, shape_of, strided_layout, view
from tilewright.language.T.buffers import Buffer, BufferData, shape_text, static_shape
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import Expr, as_index, constant, describe
from tilewright.language.T.extern import Pointer
from tilewright.language.T.loop_forms import BAD_ARGUMENT, as_sequence
from tilewright.language.T.session import is_tracing_tile, trace
from tilewright.language.T.symbols import Size, Symbol, Symbolic

NOT_EAGER = "TW1030"
"""A declaration of an eager kernel outside of one."""


@dataclass(frozen=True)
class TensorAnnotation:
    """A tensor in global memory."""

    shape: tuple[Size, ...]
    dtype: Dtype
    strides: tuple[Size, ...] | None = None

    def declare(self, name: str, now: object) -> object:
        """``name: T.Tensor(...)`` in the body of an eager kernel."""
        running = trace()
        if name not in running.parameters:
            raise FrontendError(
                f"{name} is annotated as a tensor, but it is not a parameter of the kernel: add "
                "it to the parameters, or make it an output with T.empty",
                code=NOT_EAGER,
            )
        _check_sizes(name, (*self.shape, *(self.strides or ())))
        if running.is_survey:
            running.declared[name] = self
            return TensorStub(name, self.shape, self.dtype)
        return now


class TensorForm:
    """``T.Tensor``: called or subscripted, it makes an annotation."""

    def __init__(self, op_name: str) -> None:
        self._op_name = op_name

    def __call__(
        self,
        shape: Any,
        dtype: object = "float32",
        data: Any = None,
        strides: Any = None,
        **options: Any,
    ) -> Any:
        if isinstance(data, BufferData):
            return view(data, shape, dtype)
        if isinstance(data, Pointer):
            return make_tensor(data, shape, dtype, strides)
        del options  # the scope of a macro's parameter and the like: for the reader
        if dtype is ptr or isinstance(dtype, PointerAnnotation):
            raise FrontendError(
                f"T.{self._op_name}: a tensor of pointers is not supported, since the size of what "
                "they point to is unknown. Pass each tensor as an argument, or all as one tensor "
                "with the offset of each in a second tensor",
                code=BAD_ARGUMENT,
            )
        sizes = cast("tuple[Size, ...]", shape_of(self._op_name, shape))
        found = None if strides is None else tuple(as_sequence(strides))
        return TensorAnnotation(sizes, Dtype(dtype), cast("Any", found))

    def __getitem__(self, parts: Any) -> TensorAnnotation:
        """``T.Tensor[(M, N), dtype]`` or ``T.Tensor[M, N, dtype]``."""
        items = tuple(as_sequence(parts))
        if len(items) == 1:
            return self(items[0])
        if len(items) == 2:
            return self(items[0], items[1])
        return self(items[:-1], items[-1])

    def __repr__(self) -> str:
        return f"T.{self._op_name}"


class StridedTensorForm:
    """``T.StridedTensor``: called or subscripted with shape, strides and dtype."""

    def __call__(self, shape: Any, strides: Any = None, dtype: object = "float32") -> Any:
        sizes = shape_of("StridedTensor", shape)
        steps = shape_of("StridedTensor", strides)
        if len(sizes) != len(steps):
            raise FrontendError(
                f"T.StridedTensor: the shape {shape_text(sizes)} has {len(sizes)} dimensions, the "
                f"strides {shape_text(steps)} have {len(steps)}",
                code=BAD_ARGUMENT,
            )
        return TensorAnnotation(cast("Any", sizes), Dtype(dtype), cast("Any", steps))

    def __getitem__(self, parts: Any) -> TensorAnnotation:
        shape, strides, dtype = as_sequence(parts)
        return self(shape, strides, dtype)


@dataclass(frozen=True)
class PointerAnnotation:
    """A raw address."""

    dtype: Dtype
    scope: str = "global"

    @property
    def type(self) -> PtrType:
        from tilewright.language.T.buffers import SCOPES

        return PtrType(self.dtype.type, SCOPES[self.scope])

    def declare(self, name: str, now: object) -> object:
        """``name: T.ptr(...)`` in the body of an eager kernel."""
        running = trace()
        if name in running.parameters and running.is_survey:
            running.declared[name] = self
        return now


def declare_scalar(name: str, annotation: object, now: object) -> object:
    """``name: T.int32`` in the body of a kernel: the parameter is a number of that type.

    Types of Python (``name: int``) are for the reader, as they are in a signature.
    """
    running = trace()
    dtype = named_dtype(annotation)
    if dtype is None or not running.is_eager or name not in running.parameters:
        return now
    if running.is_survey:
        running.declared[name] = dtype
        # Its value is not known where a kernel is compiled without one.
        return now if isinstance(now, (int, float, np.generic)) else constant(1, dtype)
    if not isinstance(now, Expr):
        raise FrontendError(
            f"{name}: {dtype!r} is declared too late: declare parameters before `with T.Kernel`, "
            "and before they get another value",
            code=NOT_EAGER,
        )
    return now


def named_dtype(annotation: object) -> Dtype | None:
    """The dtype that an annotation of a number is; None for annotations of any other kind."""
    if isinstance(annotation, Dtype):
        return annotation
    if isinstance(annotation, type) or annotation is None:
        return None
    try:
        return Dtype(annotation)
    except TypeError:
        return None


def ptr(dtype: object = None, scope: str = "global") -> PointerAnnotation:
    """A raw pointer parameter; see it as a tensor with ``T.make_tensor``."""
    return PointerAnnotation(DTYPES["uint8"] if dtype is None else Dtype(dtype), scope)


def make_tensor(pointer: Any, shape: Any, dtype: object, strides: Any = None) -> Buffer:
    """See a raw pointer as a tensor."""
    if not isinstance(pointer, Pointer):
        raise FrontendError(
            f"T.make_tensor takes a parameter annotated with T.ptr, got {describe(pointer)}",
            code=BAD_ARGUMENT,
        )
    found = Dtype(dtype)
    sizes = shape_of("make_tensor", shape)
    steps = None if strides is None else shape_of("make_tensor", strides)
    layout = None if steps is None else strided_layout(steps)
    type = buffer_type(found.type, static_shape(sizes), "global", layout)
    dynamic = [cast("Any", as_index(size)) for size in sizes if not isinstance(size, int)]
    moving = [cast("Any", as_index(step)) for step in steps or () if not isinstance(step, int)]
    op = current().insert(ViewOp(pointer.handle, type, sizes=dynamic, strides=moving))
    return Buffer(op.result, sizes, found, "global", strides=steps)


Tensor: Final = TensorForm("Tensor")
StridedTensor: Final = StridedTensorForm()
SharedBuffer: Final = TensorForm("SharedBuffer")
FragmentBuffer: Final = TensorForm("FragmentBuffer")
LocalBuffer: Final = TensorForm("LocalBuffer")


class _References(type):
    """A size that is known at run time only is an instance, for `isinstance(size, T.Var)`."""

    @override
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Symbol) or super().__instancecheck__(instance)


class Ref(metaclass=_References):
    """A parameter of a macro through which it changes a variable of its caller."""


# -- sizes -------------------------------------------------------------------------------------


def _names(names: str) -> list[str]:
    found = [name for name in names.replace(",", " ").split() if name]
    if not found:
        raise FrontendError(f"expected names of sizes, got {names!r}", code=BAD_ARGUMENT)
    return found


def const(names: str, dtype: object = "int32") -> Any:
    """Sizes that become part of an eager kernel, found out from the shapes of its arguments."""
    if not is_tracing_tile() or not trace().is_eager:
        raise FrontendError(
            f'T.const("{names}") is only for the body of an eager kernel (@tw.jit): in a '
            "T.prim_func, use an integer of the enclosing function, or T.dynamic",
            code=NOT_EAGER,
        )
    running = trace()
    found: list[Any] = []
    for name in _names(names):
        symbol = Symbol(name, Dtype(dtype), is_constant=True)
        running.symbols[name] = symbol
        found.append(symbol if running.is_survey else running.constants[name])
    return found[0] if len(found) == 1 else tuple(found)


def dynamic(names: str, dtype: object = "int32") -> Any:
    """Sizes that a kernel takes from the shapes of its arguments each time it is called."""
    found = [Symbol(name, Dtype(dtype)) for name in _names(names)]
    return found[0] if len(found) == 1 else tuple(found)


# -- outputs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class OutputAnnotation:
    """A tensor that an eager kernel returns."""

    shape: tuple[Size, ...]
    dtype: Dtype

    def take_name(self, name: str) -> object:
        _check_sizes(name, self.shape)
        return trace().output(name, self)


def _check_sizes(name: str, sizes: Sequence[object]) -> None:
    """Sizes of tensors are solved from the shapes of arguments, or computed from such sizes."""
    for size in sizes:
        if not isinstance(size, (int, Symbolic)):
            raise FrontendError(
                f"{name}: a tensor size must be an integer or an expression of sizes with "
                f"+, -, *, // and %, got {describe(size)}",
                code=BAD_ARGUMENT,
            )


def empty(*sizes: Any, dtype: object = None) -> Any:
    """An output of an eager kernel: ``C = T.empty((M, N), dtype)`` ... ``return C``.

    The sizes may also be arguments of their own: ``T.empty(M, N, dtype=T.float16)``.
    """
    given: list[Any] = list(sizes)
    types: list[object] = [] if dtype is None else [dtype]
    if len(given) > 1 and isinstance(given[-1], (str, Dtype)):
        types.append(given.pop())
    is_shape = bool(given) and isinstance(given[0], (list, tuple))
    if len(types) > 1 or (is_shape and len(given) > 1):
        raise FrontendError(
            "T.empty takes a shape and a dtype: T.empty((M, N), T.float32), or the sizes, with "
            "the dtype by its name: T.empty(M, N, dtype=T.float32)",
            code=BAD_ARGUMENT,
        )
    if not is_tracing_tile() or not trace().is_eager:
        raise FrontendError(
            "T.empty declares an output of an eager kernel (@tw.jit): in a T.prim_func, add a "
            "parameter and select it with out_idx",
            code=NOT_EAGER,
        )
    shape = shape_of("empty", given[0] if is_shape else given)
    return OutputAnnotation(cast("Any", shape), Dtype(types[0] if types else "float32"))
