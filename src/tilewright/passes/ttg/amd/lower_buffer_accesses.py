"""AMD's buffer accesses as accesses through pointers, for targets without the instructions.

::

    amdg.buffer_load %p[%o], %m           tt.load (addptr (splat %p), %o), %m, 0
    amdg.buffer_store %v, %p[%o], %m      tt.store
    amdg.buffer_atomic_rmw, _cas          tt.atomic_rmw, tt.atomic_cas
    amdg.buffer_load_to_local             ttg.async_copy_global_to_local

The hardware gives 0 for an element that is masked off or whose offset is out of the buffer, so a
load without `other` gets 0. That offsets be in bounds of the *array* is left to the checks of the
pointer accesses: the buffer of the hardware ends 2 GiB after the pointer, whatever the array's
size. Cache hints go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.amdg import (
    BufferAtomicCASOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
)
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt import (
    AddPtrOp,
    AtomicCASOp,
    AtomicRMWOp,
    LoadOp,
    SplatOp,
    StoreOp,
)
from tilewright.dialects.tt.enums import MEM_SEMANTIC, MEM_SYNC_SCOPE, RMW_OP
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.type_utils import AnyTensor, element_type_of, with_element_type
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class LowerBufferAccesses(Pass):
    """Replace AMD's buffer accesses by accesses through pointers."""

    name = "lower-buffer-accesses"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for op in list(walk(module)):
            rewrite = _REWRITES.get(op.name)
            if rewrite is not None:
                rewrite(op, rewriter)


def zeros(type: Attribute) -> ConstantOp:
    """A tensor of `type` full of zeros."""
    element = element_type_of(type)
    value: Attribute
    if isinstance(element, IntegerType):
        value = IntegerAttr(0, element)
    else:
        assert isinstance(element, AnyFloat)
        value = FloatAttr(0.0, element)
    return ConstantOp(SplatElementsAttr(value, cast("AnyTensor", type)))


def _pointers(op: Operation, ptr: SSAValue, offsets: SSAValue, rewriter: Rewriter) -> SSAValue:
    splat = SplatOp(ptr, cast("AnyTensor", with_element_type(offsets.type, ptr.type)))
    pointers = AddPtrOp(splat.result, offsets)
    rewriter.insert_before(op, [splat, pointers])
    return pointers.result


def _filler(
    op: BufferLoadOp | BufferLoadToLocalOp, type: Attribute, rewriter: Rewriter
) -> SSAValue | None:
    if op.other is not None or op.mask is None:
        return op.other
    zero = zeros(type)
    rewriter.insert_before(op, zero)
    return zero.result


def _load(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, BufferLoadOp)
    pointers = _pointers(op, op.ptr, op.offsets, rewriter)
    other = _filler(op, op.result.type, rewriter)
    rewriter.replace_op(op, LoadOp(pointers, op.mask, other))


def _store(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, BufferStoreOp)
    pointers = _pointers(op, op.ptr, op.offsets, rewriter)
    rewriter.replace_op(op, StoreOp(pointers, op.value, op.mask), [])


def _order(op: BufferAtomicRMWOp | BufferAtomicCASOp) -> dict[str, str]:
    return {"sem": MEM_SEMANTIC.keyword(op.sem), "scope": MEM_SYNC_SCOPE.keyword(op.scope)}


def _update(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, BufferAtomicRMWOp)
    pointers = _pointers(op, op.ptr, op.offsets, rewriter)
    kind = RMW_OP.keyword(op.atomic_rmw_op)
    made = AtomicRMWOp(kind, pointers, op.value, op.mask, **_order(op))
    rewriter.replace_op(op, made)


def _exchange(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, BufferAtomicCASOp)
    pointers = _pointers(op, op.ptr, op.offsets, rewriter)
    rewriter.replace_op(op, AtomicCASOp(pointers, op.cmp, op.val, **_order(op)))


def _copy(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, BufferLoadToLocalOp)
    pointers = _pointers(op, op.ptr, op.offsets, rewriter)
    element = element_type_of(op.dest.type)
    other = _filler(op, with_element_type(op.offsets.type, element), rewriter)
    copy = AsyncCopyGlobalToLocalOp(pointers, op.dest, op.mask, other)
    rewriter.replace_op(op, copy)


_REWRITES: Mapping[str, Callable[[Operation, Rewriter], None]] = {
    "amdg.buffer_load": _load,
    "amdg.buffer_store": _store,
    "amdg.buffer_atomic_rmw": _update,
    "amdg.buffer_atomic_cas": _exchange,
    "amdg.buffer_load_to_local": _copy,
}
