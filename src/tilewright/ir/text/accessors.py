"""Operands, results, regions and inner ops of an op, read directly.

``op.lhs`` is a descriptor of xDSL that makes a view of all operands to index it, through six calls
of Python. Passes read tens of thousands of operands per kernel, which is a twentieth of the time to
compile one. The descriptors keep their classes and their results; only the way there is shorter:

    BeforeVariadicSingleAccessor    a tuple of the op, and an index that is known
    other accessors                 their own index, of the tuple instead of the view
    a value of several              the tuple's own method; a slice of them is a tuple, too
    segment sizes                   decoded from their bytes once for each distinct attribute

Blocks are linked lists; here their links are followed without a call for each op.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from struct import unpack
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, OpOperands, SSAValue, SSAValues
from xdsl.irdl.operations import (
    BaseAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    VarIRConstruct,
)

_OPERAND, _RESULT, _REGION = VarIRConstruct.OPERAND, VarIRConstruct.RESULT, VarIRConstruct.REGION
_item: Any = tuple[Any, ...].__getitem__


def read_accessors_directly() -> None:
    """Replace how the accessors of xDSL read an op."""
    SSAValues.__getitem__ = _item
    OpOperands.__setitem__ = _set_operand
    BeforeVariadicSingleAccessor.__get__ = _single
    BaseAccessor.__get__ = _indexed
    BaseAttrAccessor.__get__ = _in_segment


def _set_operand(self: OpOperands, idx: int, operand: SSAValue) -> None:
    op = self._op
    operands, use = list(op._operands), op._operand_uses[idx]
    operands[idx].remove_use(use)
    operand.add_use(use)
    operands[idx] = operand
    op._operands = SSAValues(operands)


operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""The operands of an op as they are now, without the view of them that `op.operands` makes."""


def _all(op: Operation, construct: VarIRConstruct) -> tuple[Any, ...]:
    if construct is _OPERAND:
        return op._operands
    if construct is _RESULT:
        return op.results
    return op.regions if construct is _REGION else op._successors


def _single(self: BeforeVariadicSingleAccessor, obj: Operation, objtype: type | None = None) -> Any:
    construct = self.construct
    if construct is _OPERAND:
        return _item(obj._operands, self.idx)
    return _item(_all(obj, construct), self.idx)


def _indexed(self: BaseAccessor, obj: Operation, objtype: type | None = None) -> Any:
    return _values(self.index(_all(obj, self.construct)))


def _in_segment(self: BaseAttrAccessor, obj: Operation, objtype: type | None = None) -> Any:
    sizes = cast("DenseArrayBase[Any]", self.option.container(obj)[self.option.attribute_name])
    is_usual = sizes.elt_type is i32 or sizes.elt_type == i32  # the verifier rejects others
    values = _decoded(sizes.data.data) if is_usual else sizes.get_values()
    return _values(self.index(values, _all(obj, self.construct)))


def _values(found: Any) -> Any:
    """A slice with the methods that xDSL's sequences of values have."""
    return SSAValues(found) if found.__class__ is tuple else found


def append_ops_backwards(op: Operation, to: list[Operation]) -> None:
    """Append the ops directly inside ``op``, the last one first."""
    append = to.append
    for region in reversed(op.regions):
        block = region._last_block
        while block is not None:
            child = block._last_op
            while child is not None:
                append(child)
                child = child._prev_op
            block = block._prev_block


@lru_cache(maxsize=1024)
def _decoded(sizes: bytes) -> tuple[int, ...]:
    """Segment sizes of 32 bits."""
    return unpack(f"<{len(sizes) // 4}i", sizes)
