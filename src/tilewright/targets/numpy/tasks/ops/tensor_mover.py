"""The tensor data mover of AMD's gfx1250: copies of blocks by descriptor, waited for by counting.

A descriptor carries the position of its block. An ``amdg.update_tensor_descriptor`` moves it, with
bounds that stay those of the tensor (``clamp_bounds``); what is outside is filled, or not
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.amdg import (
    AsyncTDMCopyGlobalToLocalOp,
    AsyncTDMCopyLocalToGlobalOp,
    AsyncTDMWaitOp,
    UpdateTensorDescriptorOp,
)
from tilewright.dialects.tt.functions import FuncOp
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.blocks import BlockAccess, block_access
from tilewright.targets.numpy.ops.checks import require_defined, tuple_text
from tilewright.targets.numpy.ops.tt.descriptors import described
from tilewright.targets.numpy.ops.tt.memory import new_site
from tilewright.targets.numpy.tasks.ops.sync import call, predicate
from tilewright.targets.numpy.tasks.ops.views import nothing, token
from tilewright.targets.numpy.values import Expr


@dataclass(frozen=True)
class _Position:
    """Where the block of a descriptor is, and whether a copy of it does anything."""

    offsets: Sequence[SSAValue] = ()
    pred: SSAValue | None = None


def _update(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, UpdateTensorDescriptorOp)
    if op.set_bounds or (op.add_offsets and op.clamp_bounds is None):
        raise emitter.unsupported(
            "a descriptor with bounds other than those of its tensor is not supported on target "
            "numpy",
            "pass clamp_bounds=True and no set_bounds",
        )
    before = _position(emitter, op.desc)
    if before.offsets and op.add_offsets:
        raise emitter.unsupported(
            "a descriptor that is moved twice is not supported on target numpy",
            "move the first descriptor by the sum of the offsets",
        )
    emitter.define(op.result, emitter.values[op.desc])


def _position(emitter: Emitter, desc: SSAValue) -> _Position:
    owner = desc.owner
    if isinstance(owner, UpdateTensorDescriptorOp):
        before = _position(emitter, owner.desc)
        return _Position(owner.add_offsets or before.offsets, owner.pred or before.pred)
    if not isinstance(owner, Operation) and not isinstance(owner.parent_op(), FuncOp):
        raise emitter.unsupported(
            "a descriptor that a loop carries is not supported on target numpy",
            "move the descriptor from outside of the loop, by offsets",
        )
    return _Position()


def _access(emitter: Emitter, desc: SSAValue, itemsize: int) -> tuple[BlockAccess, Expr]:
    block, position = described(emitter, desc), _position(emitter, desc)
    for offset in position.offsets:
        require_defined(emitter, emitter.tensor(offset), "an index of a descriptor access", ())
    offsets = [emitter.expr(offset) for offset in position.offsets]
    offsets = offsets or [emitter.constant("np.int32(0)", "zero")] * len(block.extents)
    access = block_access(emitter, block, offsets, range(len(block.extents)), itemsize)
    return access, predicate(emitter, position.pred)


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncTDMCopyGlobalToLocalOp)
    if op.indices or op.pred is not None or op.barrier is not None:
        raise emitter.unsupported(
            "a tensor copy with coordinates or an mbarrier of its own is not supported on target "
            "numpy"
        )
    type, block = emitter.scalar_type(op.result), described(emitter, op.desc)
    access, pred = _access(emitter, op.desc, type.dtype.itemsize)
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, block.extents, root, masked=True)
    fixed = [block.fill, emitter.expr(op.result), pred]
    terms = tuple_text(1 + len(fixed), len(access.terms))
    masks = tuple_text(1 + len(fixed) + len(access.terms), len(access.mask))
    text = f"{{0}}.tensor_load({site}, {terms}, {masks}, {{1}}, {{2}}, {{3}}, {{place}})"
    call(emitter, text, *fixed, *access.terms, *access.mask)
    token(emitter, op.token)


def _store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncTDMCopyLocalToGlobalOp)
    if op.indices or op.pred is not None or op.barrier is not None:
        raise emitter.unsupported(
            "a tensor copy with coordinates or an mbarrier of its own is not supported on target "
            "numpy"
        )
    type, block = emitter.scalar_type(op.src), described(emitter, op.desc)
    access, pred = _access(emitter, op.desc, type.dtype.itemsize)
    root = access.pointer.root
    site = new_site(emitter, op, "store", type, block.extents, root, masked=True)
    fixed = [emitter.expr(op.src), pred]
    terms = tuple_text(1 + len(fixed), len(access.terms))
    masks = tuple_text(1 + len(fixed) + len(access.terms), len(access.mask))
    extents = tuple(block.extents)
    text = f"{{0}}.tensor_store({site}, {terms}, {masks}, {{1}}, {extents}, {{2}}, {{place}})"
    call(emitter, text, *fixed, *access.terms, *access.mask)
    token(emitter, op.token)


def _wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncTDMWaitOp)
    if op.async_token:
        raise emitter.unsupported(
            "a wait for tokens of tensor copies is not supported on target numpy",
            "pass the number of copies that may stay unfinished",
        )
    text = f"yield from {{0}}.wait_tensors({op.num.value.data}, {{place}})"
    call(emitter, text, pauses=False)
    token(emitter, op.token)


RULES: dict[str, Rule] = {
    "amdg.update_tensor_descriptor": _update,
    "amdg.async_tdm_copy_global_to_local": _load,
    "amdg.async_tdm_copy_local_to_global": _store,
    "amdg.async_tdm_wait": _wait,
    "amdg.tdm_prefetch": nothing,
}
