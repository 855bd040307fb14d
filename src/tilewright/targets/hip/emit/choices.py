"""Loads that a branch chooses between, from memories of different kinds.

    v = inside ? c[i] : Bias[j];            c is in registers, Bias in global memory

Pointers are generic until the compiler infers what they point to, and before that it makes one load
of a chosen pointer of two such loads. No kind of memory can be inferred for that one: it is a flat
access, and the registers `c` become scratch memory. `tw::pinned` keeps the loads apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, Use

from tilewright.dialects.arith import SelectOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.targets.cxx.emitter import Emitter, Rule, only_use
from tilewright.targets.cxx.memory import element, load


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    text = element(emitter, op.memref, op.indices)
    load(emitter, op, emitter.call("pinned", [text]) if _is_pinned(op) else text)


def _is_pinned(op: LoadOp) -> bool:
    """One of the two loads is: that of registers, or else the one that is not global."""
    use = only_use(op.results[0])
    other = None if use is None else _alternative(use)
    if other is None:
        return False
    own, others = space_of(op.memref.type), space_of(other.memref.type)
    if own is None or others is None or _kind(own) == _kind(others):
        return False
    return own.is_per_thread or others is Space.GLOBAL


def _kind(space: Space) -> str:
    if space.is_per_thread:
        return "registers"
    return "shared" if space.is_shared else "global"


def _alternative(use: Use) -> LoadOp | None:
    """The load that is taken instead of the value of `use`, if it is one."""
    user = use.operation
    if isinstance(user, SelectOp) and use.index > 0:
        value = user.operands[3 - use.index]
    elif isinstance(user, YieldOp) and isinstance(branch := user.parent_op(), IfOp):
        blocks = [region.block for region in branch.regions if region.blocks]
        ends = [block.last_op for block in blocks if block is not user.parent]
        if not ends or not isinstance(ends[0], YieldOp):
            return None
        value = ends[0].operands[use.index]
    else:
        return None
    return value.owner if isinstance(value.owner, LoadOp) else None


RULES: Mapping[str, Rule] = {"memref.load": _load}
