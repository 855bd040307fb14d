"""One op per constant, at the top of its function.

Constants that fold out of ops, and those that are there already, are gathered at the start of the
first block of the isolated op around them (a function, a partition). There they dominate every use,
and equal ones are merged; the first keeps its location. The placement is MLIR's, because tests
written for it compare text: a constant that follows other gathered ones stays where it is, any
other goes to the very front.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike, IsolatedFromAbove

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.folding.constants import (
    integer_width,
    is_integer_attr,
    scalar_value,
    splat,
    wrap,
)
from tilewright.ir.attribute_ids import AttributeIds
from tilewright.ir.interfaces import constant_value
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_Key: TypeAlias = tuple[str, int, int]


class ConstantPool:
    """The gathered constants of a module."""

    def __init__(self) -> None:
        self._known: dict[Block, dict[_Key, Operation]] = {}
        self._gathered: dict[int, Operation] = {}
        self._attribute_ids = AttributeIds()
        self._integers: dict[int, tuple[Attribute, int | None]] = {}
        """By the identity of the attribute, which is held so that it stays taken."""

    def _key(self, name: str, value: Attribute, type: Attribute) -> _Key:
        return name, self._attribute_ids.of(value), self._attribute_ids.of(type)

    def value(self, operand: SSAValue) -> Attribute | None:
        """The constant that defines an operand."""
        if not isinstance(operand, OpResult):
            return None
        op = operand.op
        if op.__class__ is ConstantOp:
            return op.properties["value"]
        return constant_value(operand) if is_constant_class(type(op)) else None

    def integer(self, operand: SSAValue) -> int | None:
        """The signed value of an operand that is a scalar integer constant."""
        value = self.value(operand)
        if value is None:
            return None
        known = self._integers.get(id(value))
        if known is None:
            integer = scalar_value(value) if is_integer_attr(value) else None
            known = value, integer if isinstance(integer, int) else None
            self._integers[id(value)] = known
        return known[1]

    def gather(self, root: Operation, rewriter: Rewriter) -> None:
        """Move the constants that are there to the top of their functions, merging equal ones."""
        for op in list(walk(root)):
            if is_constant_class(type(op)) and len(op.results) == 1:
                self._adopt(op, rewriter)

    def _adopt(self, op: Operation, rewriter: Rewriter) -> None:
        value = self.value(op.results[0])
        block = op.parent
        if value is None or block is None:
            return
        home = self._home(block)
        known = self._known.setdefault(home, {})
        first = known.setdefault(self._key(op.name, value, op.results[0].type), op)
        if first is not op:
            rewriter.replace_all_uses(op.results[0], first.results[0])
            rewriter.erase(op)
            return
        previous = op.prev_op
        is_gathered = block is home and (previous is None or id(previous) in self._gathered)
        if not is_gathered:
            rewriter.move(op, InsertPoint.at_start(home))
        self._gathered[id(op)] = op

    def get(
        self, value: Attribute, type: Attribute, user: Operation, rewriter: Rewriter
    ) -> SSAValue | None:
        """The gathered constant for ``user``, made if there is none yet and it can be."""
        block = user.parent
        if block is None:
            return None
        home = self._home(block)
        known = self._known.setdefault(home, {})
        key = self._key(ConstantOp.name, value, type)
        op = known.get(key)
        if op is None or op.parent is not home:
            op = ConstantOp.create(result_types=(type,), properties={"value": value})
            known[key] = self._gathered[id(op)] = op
            rewriter.insert(op, InsertPoint.at_start(home), user)
        return op.results[0]

    def get_integer(
        self, integer: int, type: Attribute, user: Operation, rewriter: Rewriter
    ) -> SSAValue | None:
        """The gathered constant of a scalar integer type, the number wrapped into its range."""
        width = integer_width(type)
        value = None if width is None else splat(wrap(integer, width), type)
        return None if value is None else self.get(value, type, user, rewriter)

    def _home(self, block: Block) -> Block:
        """The first block of the region around ``block`` that belongs to an isolated op."""
        while True:
            region = block.parent
            owner = None if region is None else region.parent
            outer = None if owner is None or _isolates(type(owner)) else owner.parent
            if outer is None:
                return block if region is None else region.first_block or block
            block = outer


@cache
def _isolates(cls: type[Operation]) -> bool:
    return issubclass(cls, UnregisteredOp) or cls.get_trait(IsolatedFromAbove) is not None


@cache
def is_constant_class(cls: type[Operation]) -> bool:
    """Whether ops of this class are constants."""
    return cls.get_trait(ConstantLike) is not None
