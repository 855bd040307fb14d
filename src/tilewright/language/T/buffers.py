"""Buffers of a kernel, their elements and their parts.

    A[i, j]              `Element`: read when it is used as a number, written by ``A[i, j] = x``;
                         for a tile op the offsets of a region
    A[i : i + 64, j]     `BufferRegion`: a part, for tile ops
    x = T.alloc_var(..)  `ScalarCell`: one mutable scalar; reading reads memory, ``x = e`` writes it

A region has an offset and an extent for every dimension; an index counts as a slice of one element.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NoReturn, Self, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.ir import Block, SSAValue
from xdsl.traits import IsTerminator

from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.regions import RegionOp
from tilewright.frontend.attributes import attribute_of
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.values import Value
from tilewright.ir.hints import name_hint_of
from tilewright.language.T import stock
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import (
    Expr,
    as_index,
    as_type,
    describe,
    emit,
    index_expr,
    is_python_scalar,
)
from tilewright.language.T.linear import Linear, combined, of_constant
from tilewright.language.T.operators import Operators
from tilewright.language.T.session import effect, is_tracing_tile, trace
from tilewright.language.T.symbols import Symbolic, text

SCOPES = {
    "global": Space.GLOBAL,
    "shared.dyn": Space.SHARED,
    "shared": Space.SHARED_STATIC,
    "local.fragment": Space.FRAGMENT,
    "local": Space.LOCAL,
    "local.var": Space.VAR,
    "shared.barrier": Space.BARRIER,
    "shared.cluster_barrier": Space.CLUSTER_BARRIER,
    "shared.tmem": Space.TMEM,
    "local.descriptor": Space.DESCRIPTOR,
}
"""Names of memories in the language, and the spaces they are."""

UNNAMED = "buffer"

ARITY = "TW1022"
"""As many indices as dimensions."""


def shape_text(shape: Sequence[Any]) -> str:
    """A shape as the user writes it."""
    shown = ", ".join(_size_text(size) for size in shape)
    return f"({shown},)" if len(shape) == 1 else f"({shown})"


def _size_text(size: Any) -> str:
    if isinstance(size, (int, Symbolic)):
        return text(size)
    return "?" if isinstance(size, (Expr, SSAValue)) else str(size)


class Buffer(Value):
    """Memory with a shape and a dtype."""

    def __init__(
        self,
        handle: SSAValue,
        shape: Sequence[Any],
        dtype: Dtype,
        scope: str,
        name: str | None = None,
        strides: Sequence[Any] | None = None,
    ) -> None:
        self.handle = handle
        self.shape = tuple(shape)
        self.dtype = dtype
        self._scope = scope
        self.name = name or UNNAMED
        self.strides = tuple(strides) if strides is not None else None

    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        other = Buffer(next(handles), self.shape, self.dtype, self._scope, self.name, self.strides)
        return cast("Self", other)

    def kind(self) -> object:
        return ("buffer", self.handle.type, str(self.dtype))

    def take(self, name: str) -> None:
        """The buffer is called `name`, unless it has a name already."""
        if self.name != UNNAMED:
            return
        self.name = name
        owner = self.handle.owner
        if isinstance(owner, AllocOp):
            owner.name_hint = StringAttr(name)
        if name_hint_of(name) is not None:
            self.handle.name_hint = name

    def scope(self) -> str:
        """The memory it is in."""
        return self._scope

    @property
    def space(self) -> Space:
        return SCOPES[self._scope]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def data(self) -> BufferData:
        """Its bytes, to be seen as another tensor."""
        return BufferData(self)

    def sizes(self) -> tuple[int | SSAValue, ...]:
        """Its extents, as the IR takes them."""
        return tuple(as_index(size) for size in self.shape)

    # -- access ------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        parts = self._parts(index)
        if any(isinstance(part, Ramp) for part in parts):
            from tilewright.language.T.vectors import elements_at

            return elements_at(self, parts)
        if any(isinstance(part, slice) for part in parts):
            return self._region(parts)
        return Element(self, [self._normal(part, axis) for axis, part in enumerate(parts)])

    def __setitem__(self, index: Any, value: Any) -> None:
        element = self[index]
        if not isinstance(element, BufferRegion):  # an element, or those of a `Ramp`
            element.write(value)
            return
        from tilewright.language.T.tile_ops import assign_region

        assign_region(element, value)

    def _parts(self, index: Any) -> tuple[Any, ...]:
        parts: tuple[Any, ...]
        if isinstance(index, (tuple, list)):
            parts = tuple(cast("Sequence[Any]", index))
        else:
            parts = (index,)
        if Ellipsis in [part for part in parts if part is Ellipsis]:
            position = next(at for at, part in enumerate(parts) if part is Ellipsis)
            missing = self.ndim - (len(parts) - 1)
            parts = (*parts[:position], *[slice(None)] * missing, *parts[position + 1 :])
        if len(parts) != self.ndim:
            letters = "ijklmn"[: self.ndim]
            raise FrontendError(
                f"Buffer {self.name} is {self.ndim}-dimensional (shape={shape_text(self.shape)}), "
                f"but {len(parts)} index(es) were provided",
                code=ARITY,
                notes=[(None, f"write one for each dimension: {self.name}[{', '.join(letters)}]")],
            )
        return parts

    def _normal(self, index: Any, axis: int) -> Any:
        """`index` along `axis`, counted from the front."""
        if isinstance(index, Buffer):
            raise TypeError(
                f"index {axis} of {self.name} is the buffer {index.name}: index with one of its "
                f"elements, {index.name}[...]"
            )
        if is_python_scalar(index):
            if isinstance(index, bool) or not isinstance(index, Integral):
                raise TypeError(f"index {axis} of {self.name} must be an integer, got {index!r}")
            return self.shape[axis] + int(index) if int(index) < 0 else int(index)
        if not isinstance(index, Operators):
            raise TypeError(
                f"index {axis} of {self.name} must be an integer or a slice, got {describe(index)}"
            )
        return self.shape[axis] + index if _is_negative(index) else index

    def _region(self, parts: Sequence[Any]) -> BufferRegion:
        offsets: list[Any] = []
        extents: list[Any] = []
        for axis, part in enumerate(parts):
            if not isinstance(part, slice):
                offsets.append(self._normal(part, axis))
                extents.append(1)
                continue
            if part.step is not None and not (is_python_scalar(part.step) and part.step == 1):
                raise TypeError(
                    f"a slice of {self.name} must be contiguous: step {part.step} is not "
                    "supported. Copy the elements with T.Parallel"
                )
            start = 0 if part.start is None else self._normal(part.start, axis)
            stop = self.shape[axis] if part.stop is None else self._normal(part.stop, axis)
            offsets.append(start)
            extents.append(difference(stop, start))
        return BufferRegion(self, offsets, extents)

    def whole(self) -> BufferRegion:
        return BufferRegion(self, [0] * self.ndim, list(self.shape))

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len() is not supported for the buffer {self.name}: its sizes are "
            f"{self.name}.shape = {shape_text(self.shape)}"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"cannot iterate over the buffer {self.name}: loop over its indices with T.serial or "
            "T.Parallel"
        )

    def __bool__(self) -> bool:
        raise TypeError(f"the buffer {self.name} has no truth value: compare one of its elements")

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a buffer has no attribute {name}", name=name, obj=self)

    def as_scalar(self) -> Expr:
        raise TypeError(
            f"the buffer {self.name} with shape {shape_text(self.shape)} is used as a scalar: "
            f"index it, {self.name}[{', '.join('...' for _ in self.shape)}]"
        )

    def vload(self, indices: Any) -> Expr:
        """The element at `indices`."""
        return cast("Expr", self[tuple(indices)])

    def vstore(self, indices: Any, value: Any) -> None:
        self[tuple(indices)] = value

    def __repr__(self) -> str:
        return f"{self.name}: {self._scope} {self.dtype}{shape_text(self.shape)}"


def _used_as_scalar(self: Buffer | BufferRegion, *_: object) -> NoReturn:
    """Arithmetic on a whole buffer: describes what to write."""
    self.as_scalar()
    raise AssertionError("a buffer is no scalar")


class BufferData:
    """The bytes of a buffer."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer


def difference(stop: Any, start: Any) -> Any:
    """How far it is from `start` to `stop`: a number wherever that can be known."""
    if isinstance(start, int) and start == 0:
        return stop
    if isinstance(stop, (int, Symbolic)) and isinstance(start, (int, Symbolic)):
        return stop - start
    found = combined("-", linear_of(stop), linear_of(start))
    if found is not None and found.constant_value is not None:
        return found.constant_value
    return stop - start


def _is_negative(index: Any) -> bool:
    """Whether an index is below zero whatever its variables are: ``-1 - i``, counted from the end.

    One that may have either sign is an offset, and out of bounds where it is negative.
    """
    if not isinstance(index, Expr) or index.dtype.is_unsigned or index.is_natural:
        return False
    linear = index.linear
    naturals = trace().naturals
    return linear.constant < 0 and all(
        factor < 0 and atom in naturals for atom, factor in linear.terms
    )


def linear_of(value: Any) -> Linear:
    return of_constant(int(value)) if is_python_scalar(value) else index_or_same(value).linear


def index_or_same(value: Any) -> Expr:
    return value if isinstance(value, Expr) else index_expr(value)


class Element(Expr):
    """One element of a buffer: an lvalue, and a scalar when it is read.

    The number is what the element was when it was indexed, as in Python: in ``a[i], a[j] = a[j],
    a[i]`` both are read before one is written. It is read when it is used, or else before memory
    changes for the first time (`keep`).
    """

    def __init__(self, buffer: Buffer, indices: Sequence[Any]) -> None:
        super().__init__(buffer.handle, buffer.dtype)
        self.buffer = buffer
        self.indices = tuple(indices)
        self._cached: SSAValue | None = None
        self._writes: int | None = None
        self._block: Block | None = None
        if is_tracing_tile() and not isinstance(self, ScalarCell):
            self._writes, self._block = trace().writes, current().block
            trace().unread.append(weakref.ref(self))

    def keep(self) -> None:
        """Read the element where it was indexed: what follows may change it."""
        block = self._block
        if block is None or self._cached is not None or self.buffer.space.is_barrier:
            return
        if block.last_op is not None and block.last_op.has_trait(IsTerminator):
            return  # it was indexed in a region that has ended
        with current().at(block):
            self._cached = emit(stock.LoadOp(self.buffer.handle, self.index_values()))

    def index_values(self) -> list[SSAValue]:
        """The indices, as the IR takes them."""
        return [index_expr(index).handle for index in self.indices]

    @property
    def handle(self) -> SSAValue:
        """The element as a number."""
        if self._cached is not None:
            return self._cached
        if self.buffer.space.is_barrier:
            raise TypeError(
                f"{self.buffer.name} is a barrier: wait for it with T.barrier_wait, it has no value"
            )
        return emit(stock.LoadOp(self.buffer.handle, self.index_values()))

    @property
    def is_index(self) -> bool:
        return False

    @property
    def linear(self) -> Linear:
        indices = tuple(linear_of(index) for index in self.indices)
        writes = trace().writes if self._cached is None else self._writes
        return Linear.atom(("load", self.buffer.handle, indices, writes))

    def handles(self) -> Sequence[SSAValue]:
        return ()

    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return self

    def kind(self) -> object:
        return ("element", self.buffer.handle, id(self))

    def write(self, value: Any) -> None:
        """``buffer[indices] = value``."""
        if not (is_python_scalar(value) or isinstance(value, (Expr, Symbolic))):
            scalar = attribute_of(value, "as_scalar")
            if scalar is None:
                raise TypeError(
                    f"an element of {self.buffer.name} is {self.dtype}, it cannot hold "
                    f"{describe(value)}"
                )
            value = scalar()
        converted = as_type(value, self.dtype)
        effect(stock.StoreOp(converted, self.buffer.handle, self.index_values()))

    def value(self) -> Expr:
        """The element as a plain number."""
        linear = self.linear
        return Expr(self.handle, self.dtype, is_natural=self.dtype.is_unsigned, linear=linear)

    def __repr__(self) -> str:
        shown = ", ".join(_size_text(index) for index in self.indices)
        return f"{self.buffer.name}[{shown}]"


class ScalarCell(Element):
    """A mutable scalar, made by ``T.alloc_var``."""

    def __init__(self, buffer: Buffer, indices: Sequence[Any] = (0,)) -> None:
        super().__init__(buffer, indices)
        self.is_fresh = True
        """Whether no variable holds it yet."""

    def take(self, name: str) -> None:
        self.is_fresh = False
        self.buffer.take(name)

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.buffer.shape

    def scope(self) -> str:
        return self.buffer.scope()

    def __getitem__(self, index: Any) -> Element:
        return cast("Element", self.buffer[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.buffer[index] = value


@dataclass(frozen=True)
class Ramp:
    """``T.Ramp``: an index for each lane of a vector."""

    base: Any
    stride: Any
    lanes: int

    def at(self, lane: int) -> Any:
        return self.base + lane * self.stride


class BufferRegion:
    """A part of a buffer."""

    def __init__(self, buffer: Buffer, offsets: Sequence[Any], extents: Sequence[Any]) -> None:
        self.buffer = buffer
        self.offsets = tuple(offsets)
        self.extents = tuple(extents)

    @property
    def dtype(self) -> Dtype:
        return self.buffer.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.extents

    @property
    def region(self) -> tuple[Any, ...]:
        return tuple(zip(self.offsets, self.extents, strict=True))

    def as_scalar(self) -> Expr:
        raise TypeError(
            f"a part of {self.buffer.name} with extents {shape_text(self.extents)} is used as a "
            "scalar: index single elements, in T.Parallel for all of them"
        )

    @property
    def is_whole(self) -> bool:
        """Whether it certainly is the whole buffer."""
        starts = all(isinstance(offset, int) and offset == 0 for offset in self.offsets)
        pairs = zip(self.extents, self.buffer.shape, strict=True)
        return starts and all(same_extent(extent, size) for extent, size in pairs)

    def operand(self) -> SSAValue:
        """The region for a tile op; a whole buffer is its own region."""
        if self.is_whole:
            return self.buffer.handle
        offsets = [as_index(offset) for offset in self.offsets]
        extents = [as_index(extent) for extent in self.extents]
        return current().insert(RegionOp(self.buffer.handle, offsets, extents)).results[0]

    def __repr__(self) -> str:
        pairs = zip(self.offsets, self.extents, strict=True)
        shown = ", ".join(f"{_size_text(start)} +{_size_text(extent)}" for start, extent in pairs)
        return f"{self.buffer.name}[{shown}]"


def same_extent(one: Any, other: Any) -> bool:
    """Whether two extents are certainly equal."""
    if one is other:
        return True
    if isinstance(one, (int, Symbolic)) and isinstance(other, (int, Symbolic)):
        return text(one) == text(other)
    return False


def static_shape(shape: Sequence[Any]) -> tuple[int, ...]:
    """A shape as a type has it: what is not a number is dynamic."""
    return tuple(size if isinstance(size, int) else DYNAMIC_INDEX for size in shape)


for _operator in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    for _class in (Buffer, BufferRegion):
        setattr(_class, f"__{_operator}__", _used_as_scalar)
        setattr(_class, f"__r{_operator}__", _used_as_scalar)
for _operator in ("lt", "le", "gt", "ge", "neg", "abs", "invert"):
    for _class in (Buffer, BufferRegion):
        setattr(_class, f"__{_operator}__", _used_as_scalar)
