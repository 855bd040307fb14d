"""Walking IR without recursion.

xDSL's ``Operation.walk`` delegates through three generators per nesting level: every step costs
time in proportion to the depth, and a few hundred levels end in ``RecursionError``. The walks here
keep their own stack.
"""

from collections.abc import Iterator
from typing import cast

from typing_extensions import TypeVar
from xdsl.ir import Block, Operation, SSAValue

from tilewright.ir.text.accessors import append_ops_backwards

OpT = TypeVar("OpT", bound=Operation, default=Operation)


def walk(root: Operation) -> Iterator[Operation]:
    """``root`` and everything inside it, an op before its regions, in textual order.

    The ops of a region are listed when their parent is left, so the op just received may be
    changed freely; an op that is erased before it is reached is still delivered.
    """
    stack = [root]
    pop = stack.pop
    while stack:
        op = pop()
        yield op
        if op.regions:
            append_ops_backwards(op, stack)


def walk_for(root: Operation, *classes: type[OpT]) -> Iterator[OpT]:
    """The ops that ``walk`` finds and that are of one of the classes.

    That is decided once for each class of ops: ``isinstance`` calls Python for abstract classes,
    which all ops have.
    """
    included: dict[type[Operation], bool] = {}
    for op in walk(root):
        cls = type(op)
        is_included = included.get(cls)
        if is_included is None:
            is_included = included[cls] = issubclass(cls, classes)
        if is_included:
            yield cast("OpT", op)  # it is of one of the classes


def ancestors(op: Operation) -> Iterator[Operation]:
    """The ops around ``op``, the innermost first."""
    outer = op.parent_op()
    while outer is not None:
        yield outer
        outer = outer.parent_op()


def enclosing(op: Operation, *classes: type[OpT]) -> OpT | None:
    """The innermost op around ``op`` that is of one of the classes."""
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, classes):
        outer = outer.parent_op()
    return outer


def is_inside(value: SSAValue, block: Block) -> bool:
    """Whether a value is computed in a block or in one that it contains."""
    within = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while within is not None and within is not block:
        outer = within.parent_op()
        within = None if outer is None else outer.parent
    return within is block


def children(op: Operation) -> list[Operation]:
    """The ops directly inside ``op``, in textual order."""
    found: list[Operation] = []
    append_ops_backwards(op, found)
    found.reverse()
    return found


def children_backwards(op: Operation) -> Iterator[Operation]:
    """The ops directly inside ``op``, the last one first, lazily."""
    for region in reversed(op.regions):
        block = region.last_block
        while block is not None:
            child = block.last_op
            while child is not None:
                yield child
                child = child.prev_op
            block = block.prev_block
