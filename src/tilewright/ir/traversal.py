"""Walking IR without recursion.

xDSL's ``Operation.walk`` delegates through three generators per nesting level: every step costs
time in proportion to the depth, and a few hundred levels end in ``RecursionError``. The walks here
keep their own stack.
"""

from collections.abc import Iterator

from xdsl.ir import Operation


def walk(root: Operation) -> Iterator[Operation]:
    """``root`` and everything inside it, an op before its regions, in textual order.

    The ops of a region are listed when their parent is left, so the op just received may be
    changed freely; an op that is erased before its turn is still delivered.
    """
    stack = [root]
    while stack:
        op = stack.pop()
        yield op
        if op.regions:
            stack.extend(reversed(children(op)))


def children(op: Operation) -> list[Operation]:
    """The ops directly inside ``op``, in textual order."""
    return [child for region in op.regions for block in region.blocks for child in block.ops]
