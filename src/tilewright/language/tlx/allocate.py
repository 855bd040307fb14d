"""`local_alloc`: buffers in shared and tensor memory, and the layout they have if none is given.

shared memory, one dimension                row by row
shared memory, more dimensions, NVIDIA      what TMA writes and matrix instructions read
shared memory, AMD                          row by row
tensor memory, 16 bits and more, or fp8     one block
tensor memory, other bytes (scales)         decided by how they are used
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation

from tilewright.dialects.tlx import LocalAliasOp, StorageAliasLocalAllocOp, UserLayout
from tilewright.dialects.ttg import LocalAllocOp, MemDescIndexOp, MemDescType
from tilewright.dialects.ttng import TMEMAllocOp
from tilewright.frontend.builder import current
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.kernel_warnings import warn
from tilewright.language.tl.options import current_options
from tilewright.language.tlx.aliasing import storage_alias_spec_value
from tilewright.language.tlx.layouts import (
    DummyTMEMLayoutEncoding,
    layout_encoding,
    nv_mma_shared_layout_encoding,
    shared_layout_encoding,
    swizzled_layout,
    swizzled_shared_layout_encoding,
    tensor_memory_layout_encoding,
)
from tilewright.language.tlx.storage import buffered_tensor, memdesc_type, name_of, storage_kind

BLACKWELL = 100
"""The compute capability from which on there is tensor memory."""

storage_alias_spec = storage_alias_spec_value
"""The name that annotations know the class of specs by."""


def check_tensor_memory() -> None:
    """Raise unless the target has tensor memory."""
    if not current_options().target.is_cuda_from(BLACKWELL):
        raise AssertionError("tmem is only available on Blackwell")


def local_alloc(
    shape: Sequence[int],
    dtype: dtype,
    num: int | constexpr,
    storage: storage_kind = storage_kind.smem,
    reuse: buffered_tensor | storage_alias_spec | None = None,
    layout: shared_layout_encoding | swizzled_layout | None = None,
) -> buffered_tensor:
    """Allocate `num` buffers of `shape`.

    `reuse` is a spec that several allocations share. A buffer, whose memory is used again from its
    beginning, is accepted with a `DeprecationWarning`.
    `layout` is how elements are in shared memory; without it the compiler may choose.
    """
    storage, element, count = unwrap(storage), unwrap(dtype), unwrap(num)
    if storage == storage_kind.tmem:
        check_tensor_memory()
    if not isinstance(count, int) or isinstance(count, bool):
        raise ValueError(
            "`num` must reach local_alloc as a constexpr, but a variable that is assigned an "
            "integer holds a run-time value: write the integer in the call, as in num=2 or "
            "num=tl.constexpr(2), or declare the variable as `NUM: tl.constexpr = 2`"
        )
    extents = [int(extent) for extent in unwrap(tuple(shape))]
    chosen, encoding = _layout(extents, element, storage, unwrap(layout))
    type = memdesc_type([count, *extents], element.to_ir(), encoding, storage)
    op = current().insert(_allocation(type, storage, reuse))
    return buffered_tensor(op.results[0], element, extents, count, storage, chosen)


def _layout(
    shape: Sequence[int], element: dtype, storage: storage_kind, given: object
) -> tuple[layout_encoding, Attribute]:
    """The layout of a buffer, and what stands for it in the IR."""
    if given is None:
        chosen = _default_layout(shape, element, storage)
        return chosen, chosen.to_ir()
    if storage != storage_kind.smem:
        raise NotImplementedError(
            "User-specified layout encoding is only supported for shared memory (smem)"
        )
    resolved = given.resolved(shape) if isinstance(given, swizzled_layout) else given
    if not isinstance(resolved, shared_layout_encoding):
        raise TypeError(
            f"`layout` must be a tlx.shared_layout_encoding, got {type(resolved).__name__}"
        )
    # Propagation leaves alone what the user requested.
    return resolved, UserLayout(resolved.to_ir())


def _default_layout(
    shape: Sequence[int], element: dtype, storage: storage_kind
) -> shared_layout_encoding:
    if storage == storage_kind.tmem:
        if element.primitive_bitwidth < 16 and not element.is_fp8():
            return DummyTMEMLayoutEncoding()
        return tensor_memory_layout_encoding.make_default(shape)
    if len(shape) == 1 or not current_options().target.is_cuda:
        return swizzled_shared_layout_encoding.make_default(len(shape))
    return nv_mma_shared_layout_encoding.make_default(shape, element)


def _allocation(
    type: MemDescType, storage: storage_kind, reuse: buffered_tensor | storage_alias_spec | None
) -> Operation:
    if reuse is None:
        return TMEMAllocOp(type) if storage == storage_kind.tmem else LocalAllocOp(type)
    if isinstance(reuse, buffered_tensor):
        if reuse.type.storage != storage:
            raise ValueError("reuse tensor has different storage")
        _check_whole(reuse)
        warn(
            f"reuse of the buffer '{name_of(reuse.handle)}' is deprecated; allocate both from one "
            "storage_alias_spec and name it in reuse=",
            DeprecationWarning,
        )
        return LocalAliasOp(reuse.handle, type)
    if isinstance(reuse, storage_alias_spec_value):  # pyright: ignore[reportUnnecessaryIsInstance]
        if reuse.storage != storage:
            raise ValueError(
                f"storage_alias_spec storage ({reuse.storage.value}) doesn't match local_alloc "
                f"storage ({storage.value})"
            )
        return StorageAliasLocalAllocOp(reuse.ssa, type)
    raise ValueError(
        f"reuse must be a buffered_tensor or storage_alias_spec, got {reuse.__class__}"
    )


def _check_whole(owner: buffered_tensor) -> None:
    """Raise where `owner` is one buffer of an allocation instead of all of it."""
    if isinstance(owner.handle.owner, MemDescIndexOp):
        name = name_of(owner.handle.owner.src)
        raise ValueError(
            f"reuse= expects a whole allocation, got one buffer of '{name}': use reuse={name}, "
            "or allocate both from one storage_alias_spec and name it in reuse="
        )
