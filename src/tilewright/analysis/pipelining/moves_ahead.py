"""What of a statement can be an asynchronous copy: threads start it, and a later wait ends it.

* ``tile.copy`` from global to shared memory, without a conversion of elements;
* an element loop that only gathers: it loads an element of a tensor, at indices that may come from
  other tensors, and stores it to shared memory;
* a guard around one of these.

Asynchronous copies write zeros for what is outside of a tensor, so a tensor with another safe value
has none.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from tilewright.analysis.tensors.outside_values import has_zeros, other_than_zero
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import CopyOp, ParallelOp, Space, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of

_MIN_BITS = 8
"""Elements of fewer bits share bytes, which copies do not split."""


def asynchronous_part(op: Operation) -> CopyOp | ParallelOp | None:
    """The copy or the gathering loop of a statement, if it can be asynchronous."""
    if isinstance(op, IfOp):
        return _guarded(op)
    if isinstance(op, CopyOp):
        return op if _is_plain_copy(op) else None
    if isinstance(op, ParallelOp) and gathered(op) is not None:
        return op
    return None


def _guarded(guard: IfOp) -> CopyOp | ParallelOp | None:
    """What a guard guards, if that is all it does."""
    if guard.results or guard.has_else:
        return None
    statements = [op for op in _ops_of(guard.then_region.block) if not is_side_effect_free(op)]
    return asynchronous_part(statements[0]) if len(statements) == 1 else None


def _is_plain_copy(op: CopyOp) -> bool:
    same = element_type_of(op.src.type) == element_type_of(op.dst.type)
    return same and other_than_zero(op) is None


def gathered(loop: ParallelOp) -> tuple[LoadOp, StoreOp] | None:
    """The load and the store of a loop that only moves elements to shared memory.

    Other loads are of the indices: nothing but an address may depend on them.
    """
    if loop.prefer_async == BoolAttr.from_bool(False):
        return None
    ops = _ops_of(loop.body_block)
    stores = [op for op in ops if isinstance(op, StoreOp)]
    load = stores[0].value.owner if stores else None
    if len(stores) != 1 or not isinstance(load, LoadOp) or load not in ops:
        return None
    if any(use.operation is not stores[0] for use in load.result.uses):
        return None
    for op in ops:
        if isinstance(op, LoadOp):
            if space_of(op.memref.type) is not Space.GLOBAL:
                return None
        elif op is not stores[0] and (op.regions or not is_side_effect_free(op)):
            return None
    target, element = space_of(stores[0].memref.type), element_type_of(load.memref.type)
    if target is None or not target.is_shared or element != element_type_of(stores[0].memref.type):
        return None
    if bit_width(element) < _MIN_BITS or not has_zeros(load.memref):
        return None
    return load, stores[0]


def _ops_of(block: Block) -> list[Operation]:
    """The ops of a block but for its end."""
    return [op for op in block.ops if op is not block.last_op]
