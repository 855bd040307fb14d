"""AMD's buffer instructions: a scalar pointer and a block of 32-bit offsets."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32

from tilewright.dialects.amdg import (
    AssumeUniformOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
)
from tilewright.dialects.tt import CachePolicyAttr
from tilewright.dialects.tt.attributes import NORMAL_EVICTION
from tilewright.frontend.builder import current
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import (
    block_type,
    dtype,
    int1,
    int32,
    pointer_type,
    uint32,
)
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, emit, tensor
from tilewright.language.tlx.storage import async_token, buffered_tensor

_PRESERVE = "tlx.preserve_layout"


def _pointee(ptr: tensor) -> dtype:
    if not isinstance(ptr.type, pointer_type):
        raise AssertionError("ptr must be a scalar pointer type")
    return ptr.type.element_ty


def _check_offsets(offsets: tensor) -> None:
    if not offsets.type.is_block():
        raise AssertionError("offsets must be a tensor type")
    if offsets.dtype not in (int32, uint32):
        raise AssertionError("offsets element type must be int32 or uint32")


def _check_contiguity(contiguity: object) -> int:
    count = unwrap(contiguity)
    is_integer = isinstance(count, int) and not isinstance(count, bool)
    if not isinstance(count, int) or not is_integer or count < 1 or count & (count - 1):
        raise AssertionError(f"contiguity must be a positive power of two, got {count!r}")
    return count


def _masked(offsets: tensor, mask: Operand | None) -> tuple[tensor, tensor | None]:
    given = unwrap(mask)
    if given is None:
        return offsets, None
    valid = convert(to_tensor(given), int1)
    return broadcast_values(offsets, valid)


def _filled(offsets: tensor, other: Operand | None, element: dtype) -> tuple[tensor, tensor | None]:
    given = unwrap(other)
    if given is None:
        return offsets, None
    return broadcast_values(offsets, convert(to_tensor(given), element))


def _policy(cache: str | None) -> CachePolicyAttr | None:
    modifier = (unwrap(cache) or "").removeprefix(".")
    return CachePolicyAttr.get(modifier, NORMAL_EVICTION) if modifier else None


def buffer_load(
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache: str | None = None,
    contiguity: int = 1,
) -> tensor:
    """The elements at `offsets` from the scalar pointer `ptr`; `other` where `mask` is false."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    if other is not None and mask is None:
        raise AssertionError("when other is set, mask must also be set")
    width = _check_contiguity(contiguity)
    offsets, valid = _masked(offsets, mask)
    offsets, filler = _filled(offsets, other, element)
    op = BufferLoadOp(
        ptr.handle,
        offsets.handle,
        None if valid is None else valid.handle,
        None if filler is None else filler.handle,
        policy=_policy(cache),
        contiguity=width,
    )
    if width > 1:
        op.attributes[_PRESERVE] = UnitAttr()
    return emit(op, block_type(element, offsets.shape))


def buffer_store(
    stored_value: tensor,
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    cache: str | None = None,
    contiguity: int = 1,
) -> None:
    """Write elements to `offsets` from the scalar pointer `ptr`, except where `mask` is false."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    offsets, value = broadcast_values(offsets, to_tensor(stored_value))
    offsets, valid = _masked(offsets, mask)
    op = BufferStoreOp(
        convert(value, element).handle,
        ptr.handle,
        offsets.handle,
        None if valid is None else valid.handle,
        policy=_policy(cache),
        contiguity=_check_contiguity(contiguity),
    )
    current().insert(op)


def buffer_atomic_add(
    ptr: tensor,
    offsets: tensor,
    value: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
    contiguity: int = 1,
) -> tensor:
    """Add elements to those at `offsets`; what was there before."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    width = _check_contiguity(contiguity)
    is_wide = element.is_int() and element.primitive_bitwidth in (32, 64)
    if not element.is_standard_floating() and not is_wide:
        raise AssertionError(
            "buffer_atomic_add supports only f16, bf16, f32, f64, i32, and i64 values"
        )
    added = convert(to_tensor(unwrap(value)), element)
    offsets, added = broadcast_values(offsets, added)
    offsets, valid = _masked(offsets, mask)
    op = BufferAtomicRMWOp(
        "fadd" if element.is_floating() else "add",
        ptr.handle,
        offsets.handle,
        added.handle,
        None if valid is None else valid.handle,
        sem=unwrap(sem) or "acq_rel",
        scope=unwrap(scope) or "gpu",
    )
    op.contiguity = IntegerAttr(width, i32)
    if width > 1:
        op.attributes[_PRESERVE] = UnitAttr()
    return emit(op, added.type)


def buffer_load_to_local(
    dest: buffered_tensor,
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: str = "",
    contiguity: int = 1,
) -> async_token:
    """Start copying the elements at `offsets` into a buffer."""
    element = _pointee(ptr)
    _check_offsets(offsets)
    if other is not None and mask is None:
        raise AssertionError("when other is set, mask must also be set")
    offsets, valid = _masked(offsets, mask)
    offsets, filler = _filled(offsets, other, element)
    op = BufferLoadToLocalOp(
        dest.handle,
        ptr.handle,
        offsets.handle,
        None if valid is None else valid.handle,
        None if filler is None else filler.handle,
        policy=_policy(cache_modifier),
        contiguity=_check_contiguity(contiguity),
    )
    return async_token(current().insert(op).token)


def assume_uniform(value: tensor) -> tensor:
    """`value`, which is asserted to be uniform across a wave."""
    if not value.type.is_ptr() and value.type.primitive_bitwidth < 16:
        raise AssertionError(
            f"assume_uniform expects a scalar pointer or a 16/32/64-bit value, got {value.type}"
        )
    if current_options().target.is_cuda:
        return value
    return emit(AssumeUniformOp(value.handle), value.type)
