"""Ops that access global memory at one address per element: what addresses, under which mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.amdg import (
    BufferAtomicCASOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
)
from tilewright.dialects.tt import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
    LoadOp,
    StoreOp,
)
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.type_utils import is_tensor


@dataclass(frozen=True)
class PointerAccess:
    """The addresses of an access, a tensor of pointers, and which of them count."""

    pointers: SSAValue
    mask: SSAValue | None = None
    base: SSAValue | None = None
    """The scalar pointer that `pointers` are offsets from, in AMD's buffer accesses."""
    known_run: int = 1
    """How many elements are consecutive by what the kernel states."""


def _pointer(op: Operation) -> PointerAccess:
    return PointerAccess(op.operands[0])


def _masked(op: Operation) -> PointerAccess:
    access = cast("LoadOp | StoreOp | AtomicRMWOp | AtomicLoadOp | AtomicStoreOp", op)
    return PointerAccess(access.ptr, access.mask)


def _copy(op: Operation) -> PointerAccess:
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    return PointerAccess(op.src, op.mask)


def _buffer(op: Operation) -> PointerAccess:
    access = cast("BufferLoadOp | BufferStoreOp | BufferAtomicRMWOp | BufferLoadToLocalOp", op)
    run = access.contiguity.value.data
    return PointerAccess(access.offsets, access.mask, access.ptr, run)


def _buffer_exchange(op: Operation) -> PointerAccess:
    assert isinstance(op, BufferAtomicCASOp)
    return PointerAccess(op.offsets, None, op.ptr)


_ACCESSES: Mapping[type[Operation], Callable[[Operation], PointerAccess]] = {
    LoadOp: _masked,
    StoreOp: _masked,
    AtomicRMWOp: _masked,
    AtomicLoadOp: _masked,
    AtomicStoreOp: _masked,
    AtomicCASOp: _pointer,
    AtomicPollOp: _pointer,
    AsyncCopyGlobalToLocalOp: _copy,
    BufferLoadOp: _buffer,
    BufferStoreOp: _buffer,
    BufferAtomicRMWOp: _buffer,
    BufferLoadToLocalOp: _buffer,
    BufferAtomicCASOp: _buffer_exchange,
}


def access_of(op: Operation) -> PointerAccess | None:
    """The access that `op` makes through a tensor of pointers, if it is one."""
    find = _ACCESSES.get(type(op))
    found = None if find is None else find(op)
    return found if found is not None and is_tensor(found.pointers.type) else None
