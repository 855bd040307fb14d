"""``T.Layout`` and ``T.Fragment``: where elements live, as functions of their coordinates.

    T.Layout((64, 64), lambda i, j: [i, j ^ (i % 8)])
    T.Fragment((64,), forward_thread_fn=lambda i: i // 2, forward_index_fn=lambda i: i % 2)

``T.annotate_layout({buffer: layout})`` pins one; it becomes part of the buffer's allocation, or,
for a parameter, of the argument. A layout needs extents that are known numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument

from tilewright.dialects.tile import AllocOp, FragmentAttr, FragmentMap, LayoutAttr, LayoutMap
from tilewright.dialects.tile.layout_bounds import physical_box
from tilewright.frontend.errors import FrontendError
from tilewright.ir.interfaces import constant_value
from tilewright.language.T.buffers import Buffer, ScalarCell, shape_text
from tilewright.language.T.expressions import Expr, describe
from tilewright.language.T.loop_forms import BAD_ARGUMENT, as_sequence
from tilewright.language.T.session import trace

_SWIZZLE_BYTES: Final = 128
"""The row of banks over which a swizzled tile spreads its columns."""
_VECTOR_BYTES: Final = 16


def _extents(shape: Any, what: str) -> tuple[int, ...]:
    sizes = tuple(as_sequence(shape))
    if not all(isinstance(size, int) for size in sizes):
        raise FrontendError(
            f"{what} needs a shape known at compile time, got {shape_text(sizes)}: use T.const for "
            "the sizes of the buffer",
            code=BAD_ARGUMENT,
        )
    return cast("tuple[int, ...]", sizes)


def _integer(value: Any) -> Any:
    """A constant of the language as the integer that it is."""
    known = constant_value(value.handle) if isinstance(value, Expr) else None
    return known.value.data if isinstance(known, IntegerAttr) else value


class Layout:
    """A function from the coordinates of a buffer to those of its memory."""

    def __init__(self, shape: Any, forward_fn: Callable[..., Any]) -> None:
        self.shape = tuple(as_sequence(shape))
        self.forward_fn = forward_fn

    def attribute(self) -> LayoutAttr:
        def forward(*indices: Any) -> list[Any]:
            return [_integer(value) for value in as_sequence(self.forward_fn(*indices))]

        extents = _extents(self.shape, "T.Layout")
        return LayoutAttr(LayoutMap.from_function(extents, forward))

    def get_input_shape(self) -> list[Any]:
        return list(self.shape)

    def get_output_shape(self) -> list[int]:
        return list(self.attribute().data.physical_shape())

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Where the element at `indices` is."""
        return list(as_sequence(self.forward_fn(*as_sequence(indices))))

    def __call__(self, *indices: Any) -> list[Any]:
        return self.map_forward_index(indices)

    def is_equal(self, other: object) -> bool:
        """Whether `other` maps the same coordinates to the same memory."""
        return isinstance(other, Layout) and _locations(self) == _locations(other)

    def repeat(self, dim: Any, factor: Any) -> Layout:
        """Consecutive copies along one dimension; which copy is a new first coordinate."""
        rank = len(self.shape)
        if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
            raise ValueError(f"Layout.repeat: factor is a positive integer, got {factor!r}")
        if isinstance(dim, bool) or not isinstance(dim, int) or not -rank <= dim < rank:
            raise ValueError(f"Layout.repeat: dim is from {-rank} to {rank - 1}, got {dim!r}")
        if factor == 1:
            return self
        axis, size = dim % rank, self.shape[dim]
        shape = list(self.shape)
        shape[axis] = size * factor

        def forward(*indices: Any) -> list[Any]:
            inside = list(indices)
            inside[axis] = indices[axis] % size
            return [indices[axis] // size, *self.map_forward_index(inside)]

        return Layout(shape, forward)

    def expand(self, leading_shape: Any) -> Layout:
        """The layout under more dimensions, which come first and stay as they are."""
        leading = tuple(as_sequence(leading_shape))
        if not all(isinstance(size, int) for size in leading):
            raise TypeError(f"Layout.expand: sizes are positive integers, got {leading}")
        if not all(size > 0 for size in leading):
            raise ValueError(f"Layout.expand: sizes are positive integers, got {leading}")
        if not leading:
            return self
        count = len(leading)
        return Layout(
            (*leading, *self.shape),
            lambda *indices: [*indices[:count], *self.map_forward_index(indices[count:])],
        )

    def __repr__(self) -> str:
        return f"Layout{shape_text(self.shape)}"

    def __str__(self) -> str:
        return str(self.attribute().data)


class Fragment:
    """Which thread holds an element of a fragment, and where in its registers."""

    def __init__(
        self,
        shape: Any,
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.shape = tuple(as_sequence(shape))
        if forward_fn is None and (forward_thread_fn is None):
            raise FrontendError(
                "T.Fragment needs forward_fn, or forward_thread_fn and forward_index_fn",
                code=BAD_ARGUMENT,
            )
        self._forward = forward_fn
        self._thread = forward_thread_fn
        self._index = forward_index_fn
        self.copies = replicate
        """How many threads hold each element."""

    def attribute(self) -> FragmentAttr:
        extents = _extents(self.shape, "T.Fragment")
        thread, index = self._functions()
        return FragmentAttr(FragmentMap.from_functions(extents, thread, index, self.copies))

    def _functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        if self._forward is None:
            assert self._thread is not None
            return self._thread, self._index or (lambda *_: (0,))
        forward = self._forward
        # A function that takes the replica is evaluated for the first: all have the same offset.
        more = (0,) if self.copies > 1 else ()
        return (
            lambda *indices: forward(*indices)[0],
            lambda *indices: forward(*indices, *more)[1],
        )

    def get_thread_size(self) -> int:
        """How many threads hold elements."""
        return self.attribute().data.num_threads()

    def get_input_shape(self) -> list[Any]:
        return list(self.shape)

    def get_output_shape(self) -> list[int]:
        """The shape of the registers of a thread."""
        return list(self.attribute().data.index_shape())

    def map_forward_thread(self, indices: Any) -> Any:
        """The thread that holds the element at `indices`; of several, the first."""
        thread, _ = self._functions()
        found = thread(*as_sequence(indices), *((0,) if self.copies > 1 else ()))
        return as_sequence(found)[0]

    def map_forward_index(self, indices: Any) -> list[Any]:
        """The registers of the element at `indices`."""
        return list(as_sequence(self._functions()[1](*as_sequence(indices))))

    def is_equal(self, other: object) -> bool:
        """Whether `other` has the same elements in the same registers of the same threads."""
        return isinstance(other, Fragment) and _locations(self) == _locations(other)

    def repeat(
        self, repeats: Any, repeat_on_thread: bool = False, lower_dim_first: bool = True
    ) -> Fragment:
        """So many copies along each dimension, in further registers or threads.

        They are counted along the last dimension first, or along the first.
        """
        shape, counts = self.shape, tuple(as_sequence(repeats))
        if len(counts) != len(shape):
            raise ValueError(
                f"Fragment.repeat takes {len(shape)} counts, one for each dimension, got {counts}"
            )
        thread, index = self._functions()
        found = self.attribute().data
        threads, registers = found.num_threads(), found.index_shape()
        if not repeat_on_thread and len(registers) != 1:
            raise ValueError("Fragment.repeat in registers needs a layout with one index")
        axes = range(len(shape))

        def copy_of(indices: Sequence[Any]) -> Any:
            position: Any = 0
            stride = 1
            for axis in reversed(axes) if lower_dim_first else axes:
                position = position + indices[axis] // shape[axis] * stride
                stride *= counts[axis]
            return position

        def inside(indices: Sequence[Any]) -> list[Any]:
            return [indices[axis] % shape[axis] for axis in axes]

        def repeated_thread(*indices: Any) -> Any:
            owner = as_sequence(thread(*inside(indices), *indices[len(shape) :]))[0]
            return owner + threads * copy_of(indices) if repeat_on_thread else owner

        def repeated_index(*indices: Any) -> Any:
            held = as_sequence(index(*inside(indices)))
            return held if repeat_on_thread else [held[0] + registers[0] * copy_of(indices)]

        return Fragment(
            [size * count for size, count in zip(shape, counts, strict=True)],
            forward_thread_fn=repeated_thread,
            forward_index_fn=repeated_index,
            replicate=self.copies,
        )

    def replicate(self, count: int) -> Fragment:
        """The same elements in so many times the threads."""
        thread, index = self._functions()
        threads, copies, rank = self.get_thread_size(), self.copies, len(self.shape)

        def replicated(*indices: Any) -> Any:
            replica = indices[rank]
            more = (replica % copies,) if copies > 1 else ()
            return as_sequence(thread(*indices[:rank], *more))[0] + threads * (replica // copies)

        if count == 1:
            return self
        return Fragment(
            self.shape,
            forward_thread_fn=replicated,
            forward_index_fn=index,
            replicate=copies * count,
        )

    def __repr__(self) -> str:
        return f"Fragment{shape_text(self.shape)}"

    def __str__(self) -> str:
        return str(self.attribute().data)


def _locations(layout: Layout | Fragment) -> tuple[Any, ...]:
    """Where every element is."""
    if isinstance(layout, Layout):
        found = layout.attribute().data
        return tuple(layout.shape), tuple(found.evaluate(*point) for point in found.points())
    held = layout.attribute().data
    return (
        tuple(layout.shape),
        layout.copies,
        *(
            held.evaluate(*point, replica=replica)
            for point in held.points()
            for replica in range(layout.copies)
        ),
    )


def make_swizzled_layout(buffer: Buffer, k_major: bool = True, allow_pad: bool = True) -> Layout:
    """Columns of a matrix in shared memory exchanged row by row, so that banks do not collide."""
    del k_major, allow_pad  # columns of either order are spread the same way
    *_, columns = buffer.shape
    width = max(1, buffer.dtype.bits // 8)
    vector = max(1, _VECTOR_BYTES // width)
    period = max(1, min(_SWIZZLE_BYTES // width, columns) // vector)
    period = 1 << (period.bit_length() - 1)

    def forward(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        group = (column // vector) ^ (row % period)
        return [*outer, row, group * vector + column % vector]

    if columns % (vector * period) or len(buffer.shape) < 2:
        return Layout(buffer.shape, lambda *indices: list(indices))
    return Layout(buffer.shape, forward)


def make_linear_layout(buffer: Buffer) -> Layout:
    """Row by row, as without a layout."""
    return Layout(buffer.shape, lambda *indices: list(indices))


def layout_attribute(layout: Any, buffer: Buffer) -> LayoutAttr | FragmentAttr:
    """A layout, or a function of the coordinates, as an attribute."""
    if isinstance(layout, (Layout, Fragment)):
        return layout.attribute()
    if isinstance(layout, (LayoutAttr, FragmentAttr)):
        return layout
    if callable(layout):
        return Layout(buffer.shape, layout).attribute()
    raise FrontendError(
        f"the layout of {buffer.name} must be T.Layout, T.Fragment or a function of its indices, "
        f"got {describe(layout)}",
        code=BAD_ARGUMENT,
    )


def loop_layout_attribute(layout: Any, extents: Sequence[Any]) -> LayoutAttr | FragmentAttr | None:
    """The layout of a parallel loop."""
    if layout is None:
        return None
    if isinstance(layout, (Layout, Fragment)):
        return layout.attribute()
    if callable(layout):
        return Layout(tuple(extents), layout).attribute()
    raise FrontendError(
        f"loop_layout must be T.Fragment or T.Layout, got {describe(layout)}", code=BAD_ARGUMENT
    )


def annotate_layout(layouts: Mapping[Any, Any]) -> None:
    """Pin the layouts of buffers."""
    for key, layout in layouts.items():
        buffer = key.buffer if isinstance(key, ScalarCell) else key
        if not isinstance(buffer, Buffer):
            raise FrontendError(
                f"T.annotate_layout takes buffers, got {describe(key)}", code=BAD_ARGUMENT
            )
        found = layout_attribute(layout, buffer)
        _check_offsets(buffer, found)
        pin(buffer, found)


def _check_offsets(buffer: Buffer, layout: LayoutAttr | FragmentAttr) -> None:
    """No two elements of a shared or local buffer may map to one offset."""
    if not isinstance(layout, LayoutAttr):
        return
    if not buffer.space.is_on_chip:
        _check_box(buffer, layout.data)
        return
    points = np.indices(layout.data.extents).reshape(len(layout.data.extents), -1)
    offsets: Any = np.array(np.broadcast_arrays(*cast("Any", layout.data.evaluate)(*points)))
    _, first, group = np.unique(offsets, axis=1, return_index=True, return_inverse=True)
    twice = np.flatnonzero(first[group.reshape(-1)] != np.arange(points.shape[1]))
    if not twice.size:
        return
    second = int(twice[0])
    pair = points[:, int(first[group.reshape(-1)[second]])], points[:, second]
    one, other, offset = (
        shape_text([int(n) for n in each]) for each in (*pair, offsets[:, second])
    )
    raise FrontendError(
        f"T.annotate_layout: elements {one} and {other} of {buffer.name} both map to {offset}: "
        "the layout must be injective",
        code=BAD_ARGUMENT,
    )


def _check_box(buffer: Buffer, map: LayoutMap) -> None:
    """A layout of a tensor has to stay within its memory."""
    box, size = physical_box(map), prod(map.extents)
    if box is not None and prod(box) <= size:
        return
    needed = "negative indices" if box is None else f"{prod(box)} elements {shape_text(box)}"
    raise FrontendError(
        f"T.annotate_layout: the layout of {buffer.name} addresses {needed}, but the tensor has "
        f"{size}: use a layout that only reorders elements, and extents that it divides evenly",
        code=BAD_ARGUMENT,
    )


def pin(buffer: Buffer, layout: LayoutAttr | FragmentAttr) -> None:
    """`layout` is that of `buffer` from now on."""
    owner = buffer.handle.owner
    if isinstance(owner, AllocOp):
        owner.layout = layout
        return
    if isinstance(buffer.handle, BlockArgument):
        trace().argument_attributes.setdefault(buffer.handle.index, {})["tile.layout"] = layout
        return
    raise FrontendError(
        f"{buffer.name} is a view: annotate the buffer that it views", code=BAD_ARGUMENT
    )
