"""Memory of a kernel: ``T.alloc_*``, views, and storage that buffers share.

Allocations of a kernel are at its beginning, wherever they are written: they have one size, and
live as long as the block. A buffer is named after the variable that first holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.nv import MBARRIER
from tilewright.dialects.tile import (
    AllocOp,
    ReducerAllocOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
    Space,
    StorageAliasSpecOp,
    ViewOp,
    buffer_type,
)
from tilewright.dialects.tile.aliasing import leaves_of
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.buffers import (
    SCOPES,
    Buffer,
    BufferData,
    ScalarCell,
    shape_text,
    static_shape,
)
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import Expr, as_index, describe, is_python_scalar
from tilewright.language.T.loop_forms import BAD_ARGUMENT, as_sequence, check_integer
from tilewright.language.T.overlaps import check_spec
from tilewright.language.T.session import Stub, kernel, trace
from tilewright.language.T.symbols import Symbolic

OTHER_HARDWARE = "TW1027"
"""What no target of this compiler has."""


_TMEM_ROWS = 128


def shape_of(op_name: str, shape: Any) -> tuple[Any, ...]:
    """A shape: one size or several, each a number or a symbol."""
    sizes = tuple(check_integer(op_name, "a size", size) for size in as_sequence(shape))
    for size in sizes:
        if isinstance(size, int) and size < 0:
            raise FrontendError(
                f"T.{op_name}: a size cannot be negative, got {shape_text(sizes)}",
                code=BAD_ARGUMENT,
            )
        if not isinstance(size, (int, Symbolic, Expr)):
            raise FrontendError(
                f"T.{op_name}: a size must be an integer, got {describe(size)}", code=BAD_ARGUMENT
            )
    return sizes


def _fixed(op_name: str, shape: Any) -> tuple[int, ...]:
    sizes = shape_of(op_name, shape)
    for size in sizes:
        if not isinstance(size, int):
            raise FrontendError(
                f"T.{op_name}: a buffer size must be a compile-time constant, got "
                f"{shape_text(sizes)}. Declare the size with T.const, or pass a block size",
                code=BAD_ARGUMENT,
            )
    return cast("tuple[int, ...]", sizes)


def element_type(dtype: Dtype) -> Attribute:
    return MBARRIER if dtype == "handle" else dtype.type


def allocated(
    op_name: str,
    shape: Any,
    dtype: object,
    scope: str,
    *,
    name: str | None = None,
    init: Sequence[int] | None = None,
    alias: SSAValue | None = None,
) -> Buffer:
    """A new buffer of the open kernel."""
    if scope not in SCOPES:
        raise FrontendError(
            f"T.{op_name}: unknown scope {scope!r}, expected one of {', '.join(SCOPES)}",
            code=BAD_ARGUMENT,
        )
    found = Dtype(dtype)
    if scope == "shared.dyn" and found == "bool":
        scope = "shared"
    sizes = _fixed(op_name, shape)
    type = buffer_type(element_type(found), sizes, SCOPES[scope])
    shown = None if found == "handle" else str(found)
    op = AllocOp(type, name=name, init=init, alias=alias, dtype=shown)
    kernel(f"T.{op_name}").allocate(op, current())
    return Buffer(op.result, sizes, found, scope, name)


def alloc_shared(
    shape: Any,
    dtype: object,
    scope: str = "shared.dyn",
    *,
    reuse: Any = None,
) -> Buffer:
    """Shared memory of the block; with `reuse`, in the bytes of a `storage_alias_spec`."""
    if reuse is None:
        return allocated("alloc_shared", shape, dtype, scope)
    if not isinstance(reuse, StorageAliasSpec):
        raise FrontendError(
            f"T.alloc_shared: reuse takes a T.storage_alias_spec, got {describe(reuse)}",
            code=BAD_ARGUMENT,
        )
    return allocated("alloc_shared", shape, dtype, scope, alias=reuse.handle)


def alloc_fragment(shape: Any, dtype: object, scope: str = "local.fragment") -> Buffer:
    """A tile spread over the registers of the block."""
    return allocated("alloc_fragment", shape, dtype, scope)


def alloc_local(shape: Any, dtype: object, scope: str = "local") -> Buffer:
    """An array of its own for every thread."""
    return allocated("alloc_local", shape, dtype, scope)


def alloc_buffer(shape: Any, dtype: object = "float32", scope: str | None = None) -> Buffer:
    """Memory in any scope: without one, of the block inside a kernel, else of the call."""
    if scope is None:
        scope = "global" if trace().kernel is None else "shared.dyn"
    if scope == "global":
        return alloc_global(shape, dtype)
    return allocated("alloc_buffer", shape, dtype, scope)


def alloc_var(
    dtype: object, *args: Any, init: Any = None, scope: str | None = None, name: str | None = None
) -> ScalarCell:
    """One mutable scalar: ``alloc_var(dtype, init)``, ``(dtype, "scope")`` or both."""
    rest = list(args)
    if rest and not isinstance(rest[0], str):
        if init is not None:
            raise FrontendError("T.alloc_var: init is passed twice", code=BAD_ARGUMENT)
        init = rest.pop(0)
    if rest and scope is None:
        scope = rest.pop(0)
    if rest:
        raise FrontendError(
            f"T.alloc_var(dtype, init, scope) has no parameter for {describe(rest[0])}",
            code=BAD_ARGUMENT,
        )
    found = Dtype(dtype)
    buffer = allocated("alloc_var", (1,), found, scope or "local.var", name=name)
    cell = ScalarCell(buffer)
    if init is not None:
        cell.write(init)
    return cell


def alloc_barrier(arrive_count: int | Sequence[int] = 1) -> Buffer:
    """Barriers in shared memory; each phase ends after so many arrivals."""
    return _barriers("alloc_barrier", arrive_count, "shared.barrier")


def alloc_cluster_barrier(arrive_count: int | Sequence[int] = 1) -> Buffer:
    """Barriers that the blocks of a cluster share."""
    return _barriers("alloc_cluster_barrier", arrive_count, "shared.cluster_barrier")


def _barriers(op_name: str, arrive_count: Any, scope: str) -> Buffer:
    counts = list(as_sequence(arrive_count))
    if not counts or not all(is_python_scalar(count) and int(count) > 0 for count in counts):
        raise FrontendError(
            f"T.{op_name}: the arrive count must be a positive integer, got "
            f"{describe(arrive_count)}",
            code=BAD_ARGUMENT,
        )
    init = [int(count) for count in counts]
    return allocated(op_name, (len(counts),), DTYPES["handle"], scope, init=init)


def alloc_tmem(shape: Any, dtype: object) -> Buffer:
    """Tensor memory of Blackwell: 128 rows at most, and columns of 32 bits; stages come first."""
    sizes = _fixed("alloc_tmem", shape)
    if len(sizes) not in (2, 3):
        raise FrontendError(
            "T.alloc_tmem: tensor memory has two dimensions, or three with stages, got "
            f"{shape_text(sizes)}",
            code=BAD_ARGUMENT,
        )
    if sizes[-2] > _TMEM_ROWS:
        raise FrontendError(
            f"T.alloc_tmem: tensor memory has {_TMEM_ROWS} rows, got {shape_text(sizes)}: divide "
            "the tile, or use a pair of blocks (use_2cta)",
            code=BAD_ARGUMENT,
        )
    return allocated("alloc_tmem", sizes, dtype, "shared.tmem")


def alloc_descriptor(dtype: object = "uint64") -> ScalarCell:
    """One instruction descriptor."""
    return ScalarCell(allocated("alloc_descriptor", (1,), dtype, "local.descriptor"))


def alloc_reducer(
    shape: Any, dtype: object, op: str = "sum", replication: str | None = None
) -> Buffer:
    """A fragment that all threads reduce into; `finalize_reducer` combines their parts."""
    found = Dtype(dtype)
    if op.startswith("bit") and not found.is_integer:
        raise AssertionError(f"T.alloc_reducer: {op} needs an integer dtype, got {found}")
    sizes = _fixed("alloc_reducer", shape)
    type = buffer_type(found.type, sizes, Space.FRAGMENT)
    made = ReducerAllocOp(type, op, replication, dtype=str(found))
    kernel("T.alloc_reducer").allocate(made, current())
    return Buffer(made.result, sizes, found, "local.fragment")


def alloc_global(shape: Any, dtype: object) -> Buffer:
    """Global memory for the time of one call, allocated by the wrapper."""
    found = Dtype(dtype)
    sizes = shape_of("alloc_global", shape)
    if trace().is_survey:
        return cast("Buffer", TensorStub("workspace", sizes, found))
    dynamic = [cast("SSAValue", as_index(size)) for size in sizes if not isinstance(size, int)]
    type = buffer_type(found.type, static_shape(sizes), Space.GLOBAL)
    op = current().insert(AllocOp(type, sizes=dynamic, dtype=str(found)))
    return Buffer(op.result, sizes, found, "global")


# -- views -------------------------------------------------------------------------------------


class TensorStub(Stub):
    """A tensor while only the annotations of an eager kernel are evaluated."""

    def __init__(self, name: str, shape: Sequence[Any], dtype: Dtype) -> None:
        self.name = name
        self.shape = tuple(shape)
        self.dtype = dtype
        self.data = None


def reshape(src: Any, shape: Any) -> Buffer:
    """The same elements in another shape."""
    return view(src, shape)


def view(src: Any, shape: Any = None, dtype: object = None) -> Buffer:
    """The same bytes with another shape or dtype."""
    buffer = src.buffer if isinstance(src, (BufferData, ScalarCell)) else src
    if not isinstance(buffer, Buffer):
        raise FrontendError(f"T.view takes a buffer, got {describe(src)}", code=BAD_ARGUMENT)
    found = buffer.dtype if dtype is None else Dtype(dtype)
    sizes = buffer.shape if shape is None else shape_of("view", shape)
    _check_bytes(buffer, sizes, found)
    dynamic = [cast("SSAValue", as_index(size)) for size in sizes if not isinstance(size, int)]
    type = buffer_type(found.type, static_shape(sizes), buffer.space)
    op = current().insert(ViewOp(buffer.handle, type, sizes=dynamic))
    return Buffer(op.result, sizes, found, buffer.scope())


def _check_bytes(buffer: Buffer, sizes: Sequence[Any], dtype: Dtype) -> None:
    if not all(isinstance(size, int) for size in (*buffer.shape, *sizes)):
        return
    old = prod(cast("Sequence[int]", buffer.shape)) * buffer.dtype.bits
    new = prod(cast("Sequence[int]", sizes)) * dtype.bits
    if old != new:
        raise FrontendError(
            f"a view has the bytes of its buffer: {buffer.name} is "
            f"{buffer.dtype}{shape_text(buffer.shape)} = {old // 8} bytes, the view "
            f"{dtype}{shape_text(sizes)} = {new // 8} bytes",
            code=BAD_ARGUMENT,
        )


def strided_layout(strides: Sequence[Any]) -> StridedLayoutAttr:
    """``strided<[...]>``; a stride that is not a number is dynamic."""
    return StridedLayoutAttr(
        ArrayAttr([IntAttr(each) if isinstance(each, int) else NoneAttr() for each in strides]),
        IntAttr(0),
    )


# -- shared storage ----------------------------------------------------------------------------


class StorageAliasSpec:
    """Bytes that several buffers share; see `storage_alias_spec`."""

    def __init__(self, handle: SSAValue) -> None:
        self.handle = handle

    def set_buffer_overlap(self, group: ReuseGroup) -> None:
        """Define how the buffers in these bytes overlap."""
        self._check(group)
        current().insert(SetBufferOverlapOp(self.handle, group.handle))

    def _check(self, group: ReuseGroup) -> None:
        """Every buffer of the group is in these bytes, and in the group once."""
        seen: set[SSAValue] = set()
        for leaf in leaves_of(group.handle):
            owner = leaf.owner
            name = owner.buffer_name if isinstance(owner, AllocOp) else leaf.name_hint or "a buffer"
            if not isinstance(owner, AllocOp) or owner.alias is not self.handle:
                raise FrontendError(
                    f"T.set_buffer_overlap: {name} is not allocated from this storage_alias_spec: "
                    "allocate it with reuse=spec, or remove it from the group",
                    code=BAD_ARGUMENT,
                )
            if leaf in seen:
                raise FrontendError(
                    f"T.set_buffer_overlap: {name} is in the group twice: remove one of them",
                    code=BAD_ARGUMENT,
                )
            seen.add(leaf)


class ReuseGroup:
    """How buffers overlap; see `reuse_group`."""

    def __init__(self, handle: SSAValue) -> None:
        self.handle = handle


def storage_alias_spec(storage: str = "shared", buffer_size_bytes: int | None = None) -> Any:
    """Bytes of the block that several buffers may share, allocated with ``reuse=spec``."""
    kind = str(getattr(storage, "value", storage))
    op = StorageAliasSpecOp("shared" if kind == "smem" else kind, buffer_size_bytes)
    kernel("T.storage_alias_spec").allocate(op, current())
    return StorageAliasSpec(op.result)


def reuse_group(*args: Any, group_type: Any = "shared", group_size: int = 1) -> ReuseGroup:
    """Buffers, and groups of them, that share bytes (`shared`) or are disjoint (`distinct`).

    Groups of a spec for which no `set_buffer_overlap` is called define its overlap by themselves.
    """
    elements = [part for each in args for part in as_sequence(each)]
    kind = str(getattr(group_type, "value", group_type))
    handles = [each.handle for each in elements]
    op = current().insert(ReuseGroupOp(handles, kind, group_size))
    check_spec(op.result)
    return ReuseGroup(op.result)


def set_buffer_overlap(spec: StorageAliasSpec, group: ReuseGroup) -> None:
    """Define how the buffers of `spec` overlap."""
    spec.set_buffer_overlap(group)


# -- annotations of buffers --------------------------------------------------------------------


def annotate_safe_value(values: Mapping[Any, Any]) -> None:
    """What a read outside of a buffer gives."""
    for buffer, value in values.items():
        if not isinstance(buffer, Buffer):
            raise FrontendError(
                f"T.annotate_safe_value takes buffers, got {describe(buffer)}", code=BAD_ARGUMENT
            )
        attribute = _scalar_attribute(value, buffer.dtype)
        owner = buffer.handle.owner
        if isinstance(owner, AllocOp):
            owner.safe_value = attribute
        else:
            _annotate_argument(buffer, "tile.safe_value", attribute)


def annotate_l2_hit_ratio(ratios: Mapping[Any, float]) -> None:
    """How much of a tensor should stay in the L2 cache."""
    from tilewright.language.T.hints import attribute

    for buffer, ratio in ratios.items():
        _annotate_argument(buffer, "tile.l2_hit_ratio", attribute(float(ratio)))


def _annotate_argument(buffer: Buffer, name: str, attribute: Attribute) -> None:
    from xdsl.ir import BlockArgument

    if not isinstance(buffer.handle, BlockArgument):
        raise FrontendError(
            f"{buffer.name} is a view, not a parameter of the kernel: annotate the tensor "
            "that it views",
            code=BAD_ARGUMENT,
        )
    trace().argument_attributes.setdefault(buffer.handle.index, {})[name] = attribute


def _scalar_attribute(value: Any, dtype: Dtype) -> Attribute:
    type = dtype.type
    if isinstance(type, IntegerType):
        return IntegerAttr(int(value), type)
    return FloatAttr(float(value), cast("Any", type))
