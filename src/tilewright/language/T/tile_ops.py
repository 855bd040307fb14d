"""Ops on whole tiles: copies, fills, matrix multiplications, reductions, scans.

An operand is a buffer, a slice, or an element, which is where a region begins that is as large as
the other side. Extents of 1 have no meaning: a slice ``Q[b, 0:64, h, :]`` fits a tile of 64 x 128.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

from xdsl.ir import SSAValue

from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.dialects.tile import (
    AsyncCopyOp,
    CopyOp,
    FillOp,
    GemmOp,
    Im2colOp,
    Space,
    TransposeOp,
)
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import (
    Buffer,
    BufferRegion,
    Element,
    ScalarCell,
    same_extent,
    shape_text,
)
from tilewright.language.T.dtypes import boolean
from tilewright.language.T.expressions import (
    as_type,
    check_conversion,
    describe,
    index_expr,
    is_python_scalar,
)
from tilewright.language.T.hints import attributes_of
from tilewright.language.T.kernel_warnings import warn
from tilewright.language.T.layouts import loop_layout_attribute
from tilewright.language.T.loop_forms import BAD_ARGUMENT, Parallel, as_sequence
from tilewright.language.T.session import effect
from tilewright.language.T.session import kernel as open_kernel
from tilewright.language.T.symbols import Symbolic
from tilewright.language.T.vectors import Vector, vector_of

SHAPES = "TW1028"
"""Tiles whose extents do not fit."""
DTYPES = "TW1029"
"""Element types that an op cannot combine."""


class GemmWarpPolicy(Enum):
    """How the warps of a block divide a matrix multiplication."""

    Square = "square"
    FullRow = "full_row"
    FullCol = "full_col"

    def is_square(self) -> bool:
        return self is GemmWarpPolicy.Square


# -- operands ----------------------------------------------------------------------------------


def operand(op_name: str, name: str, value: Any) -> BufferRegion | Element:
    """`value` as a part of a buffer."""
    if isinstance(value, ScalarCell):
        return value.buffer.whole()
    if isinstance(value, (BufferRegion, Element)):
        return value
    if isinstance(value, Buffer):
        return value.whole()
    raise FrontendError(
        f"T.{op_name}: {name} must be a buffer, a slice or an element of one, got "
        f"{describe(value)}",
        code=BAD_ARGUMENT,
    )


def region(op_name: str, name: str, value: Any) -> BufferRegion:
    """`value` as a part whose extents are its own."""
    found = operand(op_name, name, value)
    if isinstance(found, BufferRegion):
        return found
    return BufferRegion(found.buffer, found.indices, [1] * len(found.indices))


def significant(extents: Sequence[Any]) -> list[Any]:
    """The extents that are not 1."""
    return [extent for extent in extents if not (isinstance(extent, int) and extent == 1)]


def may_fit(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether tiles with these extents may be copied to each other."""
    first, second = significant(one), significant(other)
    if len(first) != len(second):
        dynamic = [each for each in (*first, *second) if not isinstance(each, int)]
        return bool(dynamic)
    return all(
        not (isinstance(a, int) and isinstance(b, int)) or a == b
        for a, b in zip(first, second, strict=True)
    )


def head_region(op_name: str, head: Element, extents: Sequence[Any]) -> BufferRegion:
    """The region that begins at `head` and is as large as the other side."""
    rank = len(head.indices)
    sizes = list(extents)
    while len(sizes) > rank and isinstance(sizes[0], int) and sizes[0] == 1:
        sizes.pop(0)
    if len(sizes) > rank:
        sizes = significant(sizes)
    if len(sizes) > rank:
        raise FrontendError(
            f"T.{op_name}: a region of {head.buffer.name}, which has {rank} dimensions, cannot "
            f"have the extents {shape_text(extents)} of the other side",
            code=SHAPES,
        )
    return BufferRegion(head.buffer, head.indices, [1] * (rank - len(sizes)) + sizes)


def pair(op_name: str, src: Any, dst: Any) -> tuple[BufferRegion, BufferRegion] | None:
    """Both sides of a copy as regions; None if both are single elements."""
    source, target = operand(op_name, "the source", src), operand(op_name, "the destination", dst)
    if isinstance(source, Element) and isinstance(target, Element):
        return None
    if isinstance(source, Element):
        assert isinstance(target, BufferRegion)
        source = head_region(op_name, source, target.extents)
    if isinstance(target, Element):
        target = head_region(op_name, target, source.extents)
    if not may_fit(source.extents, target.extents):
        raise FrontendError(
            f"T.{op_name}: the extents differ: {source.buffer.name} gives "
            f"{shape_text(source.extents)}, {target.buffer.name} takes "
            f"{shape_text(target.extents)}. Nothing is broadcast: make them equal",
            code=SHAPES,
        )
    return source, target


# -- copies ------------------------------------------------------------------------------------


def copy(
    src: Any,
    dst: Any,
    coalesced_width: int | None = None,
    disable_tma: bool = False,
    eviction_policy: str | None = None,
    prefer_instruction: str | None = None,
    *,
    annotations: Mapping[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """Copy a tile, converting its elements; what is read outside of a tensor is zero."""
    open_kernel("T.copy")
    sides = pair("copy", src, dst)
    if sides is None:
        cast("Element", dst).write(src)
        return
    source, target = sides
    check_conversion(source.dtype, target.dtype)
    layout = loop_layout_attribute(loop_layout, significant(target.extents))
    op = CopyOp(
        source.operand(),
        target.operand(),
        coalesced_width=coalesced_width,
        disable_tma=disable_tma,
        eviction_policy=eviction_policy,
        prefer_instruction=prefer_instruction,
        loop_layout=layout,
        attributes=attributes_of(annotations),
    )
    effect(op)


def async_copy(src: Any, dst: Any, *, coalesced_width: int | None = None) -> None:
    """Start a copy with cp.async; wait for it with ``T.ptx_wait_group``."""
    open_kernel("T.async_copy")
    source, target = _sides("async_copy", src, dst)
    _same_dtype("async_copy", source, target)
    effect(
        AsyncCopyOp(
            source.operand(),
            target.operand(),
            coalesced_width=coalesced_width,
            instruction="cp_async",
        )
    )


def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: int | None = None,
    leader_scope_threads: int | None = None,
    eviction_policy: str | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> None:
    """Start a bulk copy that reports its bytes to a barrier."""
    open_kernel("T.tma_copy")
    source, target = _sides("tma_copy", src, dst)
    if not _expands(source, target):
        _same_dtype("tma_copy", source, target)
    slot = None if barrier is None else barrier_operands("tma_copy", barrier)
    attributes = attributes_of(annotations)
    if leader_scope_threads is not None:
        attributes.update(attributes_of({"leader_scope_threads": leader_scope_threads}))
    effect(
        AsyncCopyOp(
            source.operand(),
            target.operand(),
            None if slot is None else slot[0],
            None if slot is None else slot[1],
            instruction="tma",
            eviction_policy=eviction_policy,
            cluster_mask=cluster_mask,
            attributes=attributes,
        )
    )


def barrier_operands(op_name: str, barrier: Any) -> tuple[SSAValue, SSAValue]:
    """The barrier that an argument names: the buffer, and the index in it."""
    buffer = barrier.buffer if isinstance(barrier, Element) else barrier
    if not isinstance(buffer, Buffer) or not buffer.space.is_barrier:
        raise FrontendError(
            f"T.{op_name}: the barrier must come from T.alloc_barrier, got {describe(barrier)}",
            code=BAD_ARGUMENT,
        )
    index = barrier.indices[0] if isinstance(barrier, Element) else 0
    return buffer.handle, index_expr(index).handle


def _sides(op_name: str, src: Any, dst: Any) -> tuple[BufferRegion, BufferRegion]:
    sides = pair(op_name, src, dst)
    if sides is None:
        return region(op_name, "the source", src), region(op_name, "the destination", dst)
    return sides


def _expands(source: BufferRegion, target: BufferRegion) -> bool:
    """Whether elements of 4 bits get 8 bits each in shared memory, as tensor cores take them."""
    is_load = source.buffer.space is Space.GLOBAL and target.buffer.space.is_shared
    types = (str(source.dtype), str(target.dtype))
    return is_load and types == ("float4_e2m1fn", "float4_e2m1_unpacked")


def _same_dtype(op_name: str, source: BufferRegion, target: BufferRegion) -> None:
    if source.dtype != target.dtype:
        raise FrontendError(
            f"T.{op_name} cannot convert: {source.buffer.name} is {source.dtype}, "
            f"{target.buffer.name} is {target.dtype}. Use T.copy",
            code=DTYPES,
        )


def assign_region(target: BufferRegion, value: Any) -> None:
    """``buffer[a:b] = value``: a number for all elements, or the elements of another buffer."""
    if is_python_scalar(value) or isinstance(value, Symbolic):
        fill(target, value)
        return
    if isinstance(value, Vector):
        vector_of("the assignment", target).write(value)
        return
    if isinstance(value, Element) or not isinstance(value, (Buffer, BufferRegion)):
        fill(target, value)
        return
    copy(value, target)


def transpose(src: Any, dst: Any) -> None:
    """``dst[..., j, i] = src[..., i, j]``: the last two dimensions are exchanged."""
    open_kernel("T.transpose")
    source, target = region("transpose", "src", src), region("transpose", "dst", dst)
    if len(source.extents) > 2 and _is_batch_of_transposes(source, target):
        _transpose_matrices(source, target)
        return
    if not may_fit(significant(source.extents), significant(target.extents)[::-1]):
        raise FrontendError(
            f"T.transpose: the transpose of {shape_text(source.extents)} is "
            f"{shape_text(source.extents[::-1])}, but {target.buffer.name} is "
            f"{shape_text(target.extents)}: exchange its extents",
            code=SHAPES,
        )
    effect(TransposeOp(source.operand(), target.operand()))


def _is_batch_of_transposes(source: BufferRegion, target: BufferRegion) -> bool:
    *lead, rows, columns = source.extents
    expected = [*lead, columns, rows]
    return len(target.extents) == len(expected) and all(
        same_extent(one, other) for one, other in zip(target.extents, expected, strict=True)
    )


def _transpose_matrices(source: BufferRegion, target: BufferRegion) -> None:
    """Element by element, as a parallel loop over all matrices."""
    loop = Parallel(list(source.extents), {})
    block, variables = loop.enter([""] * len(source.extents))
    points = as_sequence(variables)
    with current().at(block):
        value = source.buffer[_shifted(points, source.offsets)].value()
        turned = (*points[:-2], points[-1], points[-2])
        target.buffer[_shifted(turned, target.offsets)] = value
    effect(loop.close(block))


def _shifted(indices: Sequence[Any], offsets: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        each if isinstance(offset, int) and offset == 0 else each + offset
        for each, offset in zip(indices, offsets, strict=True)
    )


def fill(buffer: Any, value: Any) -> None:
    """Give all elements one value."""
    open_kernel("T.fill")
    target = region("fill", "the buffer", buffer)
    effect(FillOp(target.operand(), as_type(value, target.dtype)))


def clear(buffer: Any) -> None:
    """Fill with zero."""
    open_kernel("T.clear")
    target = region("clear", "the buffer", buffer)
    effect(FillOp(target.operand(), as_type(0, target.dtype)))


def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    eviction_policy: str | None = None,
) -> None:
    """The patches of an image under a convolution window, as the rows of a matrix."""
    open_kernel("T.im2col")
    source, target = region("im2col", "img", img), region("im2col", "col", col)
    effect(
        Im2colOp(
            source.operand(),
            target.operand(),
            index_expr(nhw_step).handle,
            index_expr(c_step).handle,
            kernel=int(kernel),
            stride=int(stride),
            dilation=int(dilation),
            pad=int(pad),
            eviction_policy=eviction_policy,
        )
    )


# -- matrix multiplications ----------------------------------------------------------------------


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    wg_wait: int | None = None,
    mbar: Any = None,
    annotations: Mapping[str, Any] | None = None,
) -> None:
    """``C (+)= op(A) @ op(B)``.

    An accumulator from ``T.alloc_tmem`` is one of Blackwell's tensor cores: `mbar`, if given, gets
    an arrival when the result is there, and ``T.gemm`` waits for it.
    """
    if region("gemm", "C", C).buffer.space is Space.TMEM:
        from tilewright.language.T.tensor_memory import synchronous_gemm

        synchronous_gemm(A, B, C, transpose_A, transpose_B, clear_accum, mbar)
        return
    if mbar is not None:
        raise FrontendError(
            "T.gemm: mbar is for an accumulator in tensor memory (T.alloc_tmem): remove it, "
            "T.gemm returns when the result is there",
            code=BAD_ARGUMENT,
        )
    asynchronous = False
    if wg_wait is not None:
        warn("T.gemm: wg_wait is deprecated, use T.wgmma_gemm and T.wait_wgmma")
        asynchronous = wg_wait != 0
    _gemm(
        "gemm", A, B, C, transpose_A, transpose_B, policy, clear_accum, k_pack, annotations,
        asynchronous=asynchronous,
    )  # fmt: skip


def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    annotations: Mapping[str, Any] | None = None,
) -> None:
    """An asynchronous wgmma; wait for it with ``T.wait_wgmma``."""
    _gemm(
        "wgmma_gemm", A, B, C, transpose_A, transpose_B, policy, clear_accum, k_pack, annotations,
        asynchronous=True,
    )  # fmt: skip


def wait_wgmma(id: int = 0) -> None:
    """Wait until at most so many wgmma groups are in flight."""
    open_kernel("T.wait_wgmma")
    effect(WgmmaWaitOp(int(id)))


def _gemm(
    op_name: str,
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool,
    transpose_B: bool,
    policy: GemmWarpPolicy,
    clear_accum: Any,
    k_pack: int,
    annotations: Mapping[str, Any] | None,
    *,
    asynchronous: bool,
) -> None:
    open_kernel(f"T.{op_name}")
    a, b, c = (region(op_name, name, value) for name, value in (("A", A), ("B", B), ("C", C)))
    check_gemm(op_name, a, b, c, transpose_A, transpose_B)
    known = is_python_scalar(clear_accum)
    op = GemmOp(
        a.operand(),
        b.operand(),
        c.operand(),
        transpose_a=bool(transpose_A),
        transpose_b=bool(transpose_B),
        clear=bool(clear_accum) if known else False,
        clear_if=None if known else as_type(clear_accum, boolean),
        policy=policy.value,
        k_pack=k_pack,
        asynchronous=asynchronous,
        attributes=attributes_of(annotations),
    )
    effect(op)


def _matrix(op_name: str, name: str, part: BufferRegion) -> tuple[Any, Any]:
    extents = list(part.extents)
    while len(extents) > 2 and isinstance(extents[0], int) and extents[0] == 1:
        extents.pop(0)
    if len(extents) > 2:
        extents = significant(extents)
    if len(extents) != 2:
        raise FrontendError(
            f"T.{op_name}: {name} must be a matrix, got {part.buffer.name} with extents "
            f"{shape_text(part.extents)}",
            code=SHAPES,
        )
    return extents[0], extents[1]


def check_gemm(
    op_name: str,
    a: BufferRegion,
    b: BufferRegion,
    c: BufferRegion,
    transpose_a: bool,
    transpose_b: bool,
    *,
    pairs: bool = False,
) -> None:
    """Raise unless the extents fit; of `pairs` of blocks each has half of the columns of B."""
    rows, inner = _matrix(op_name, "A", a)[:: -1 if transpose_a else 1]
    inner_b, columns = _matrix(op_name, "B", b)[:: -1 if transpose_b else 1]
    rows_c, columns_c = _matrix(op_name, "C", c)
    if pairs and isinstance(columns, int):
        columns *= 2
    shown = (
        f"{a.buffer.name} is {shape_text(a.extents)}{' transposed' if transpose_a else ''}, "
        f"{b.buffer.name} is {shape_text(b.extents)}{' transposed' if transpose_b else ''}, "
        f"{c.buffer.name} is {shape_text(c.extents)}"
    )
    for letter, one, other, names in (
        ("K", inner, inner_b, "A and B"),
        ("M", rows, rows_c, "A and C"),
        ("N", columns, columns_c, "B and C"),
    ):
        known = isinstance(one, int) and isinstance(other, int)
        if known and not same_extent(one, other):
            raise FrontendError(
                f"T.{op_name} {letter} shape check failed: {letter} of {names} is {one} and "
                f"{other}: {shown}. Change a tile, or transpose_A / transpose_B",
                code=SHAPES,
            )


def index_to_coordinates(index: Any, shape: Sequence[Any]) -> list[Any]:
    """The coordinates of element number `index` of a tile."""
    coordinates: list[Any] = []
    for extent in reversed(list(shape)):
        coordinates.append(index % extent)
        index = index // extent
    return coordinates[::-1]
