"""Recognises the region of `tl.argmax` and `tl.argmin`.

It takes two values and their indices and returns the pair whose value is greater (less), or of
equal ones the pair with the lesser index::

    better = v0 > v1 | (v0 == v1 & i0 < i1)
    return select(better, v0, v1), select(better, i0, i1)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import CmpfOp, CmpiOp

_LARGER = {"ogt": True, "sgt": True, "olt": False, "slt": False}


def is_arg_reduce(combiner: Block) -> bool | None:
    """True for the greatest, False for the least, None for any other region."""
    if len(combiner.args) != 4:
        return None
    v0, i0, v1, i1 = combiner.args
    end = combiner.last_op
    assert end is not None
    better = _selected(end.operands[0], v0, v1)
    if better is None or better is not _selected(end.operands[1], i0, i1):
        return None
    sides = _operands(better, "arith.ori")
    if sides is None:
        return None
    for one, other in (sides, sides[::-1]):
        if _is_tie(other, v0, v1, i0, i1):
            predicate = _compared(one, v0, v1)
            return None if predicate is None else _LARGER.get(predicate)
    return None


def _operands(value: SSAValue, name: str) -> Sequence[SSAValue] | None:
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != name:
        return None
    return tuple(owner.operands)


def _selected(value: SSAValue, first: SSAValue, second: SSAValue) -> SSAValue | None:
    """The condition by which `value` is one of the two."""
    found = _operands(value, "arith.select")
    if found is None or found[1] is not first or found[2] is not second:
        return None
    return found[0]


def _compared(value: SSAValue, first: SSAValue, second: SSAValue) -> str | None:
    """The predicate by which the two are compared."""
    owner = value.owner
    if not isinstance(owner, CmpiOp | CmpfOp):
        return None
    return owner.predicate_name if tuple(owner.operands) == (first, second) else None


def _is_tie(value: SSAValue, v0: SSAValue, v1: SSAValue, i0: SSAValue, i1: SSAValue) -> bool:
    sides = _operands(value, "arith.andi")
    if sides is None:
        return False
    return any(
        _compared(one, v0, v1) in ("eq", "oeq") and _compared(other, i0, i1) in ("slt", "ult")
        for one, other in (sides, sides[::-1])
    )
