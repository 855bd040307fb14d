"""Where the indices of an access come from: may they be too great in a run that is made up?

A run has to choose a block and numbers of the caller. An author who writes `s[bx + i]` knows that
there are few blocks; a run of the last of a thousand would go on behind the row that is meant, into
the next one or into another slot of a ring, and meet accesses there that it never meets. So with
numbers that no caller may give, accesses that follow them are left out; another run, with small
numbers, looks at those. Elements of tensors are the extreme case: the ones chosen grow with their
index, and nothing says that a tensor may hold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.thread_sync.values import is_arithmetic
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile.types import Space, space_of
from tilewright.ir.interfaces import constant_value


class Origin(Enum):
    """What a run chooses."""

    BLOCK = auto()
    """The number of the block."""
    GRID = auto()
    """How many blocks there are: with `T.use_swizzle` even the second one works far away."""
    CALLER = auto()
    """Arguments of the kernel."""
    TENSOR = auto()
    """Elements of tensors."""


# A loop variable grows with both bounds of its loop: `for k in range(bx): s[k]`.


def origins_of(values: Iterable[SSAValue]) -> frozenset[Origin]:
    """What values grow with; a remainder or a comparison grows with nothing."""
    found: set[Origin] = set()
    known: set[SSAValue] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value in known:
            continue
        known.add(value)
        origin = _origin(value)
        if origin is not None:
            found.add(origin)
        work.extend(_grows_with(value))
    return frozenset(found)


_IDS = {"gpu.block_id": Origin.BLOCK, "gpu.grid_dim": Origin.GRID}


def _origin(value: SSAValue) -> Origin | None:
    owner = value.owner
    if isinstance(value, BlockArgument):
        return Origin.CALLER if isinstance(value.owner.parent_op(), FuncOp) else None
    assert isinstance(owner, Operation)
    if owner.name in _IDS:
        return _IDS[owner.name]
    is_load = owner.name == "memref.load" and space_of(owner.operands[0].type) is Space.GLOBAL
    return Origin.TENSOR if is_load else None


def _grows_with(value: SSAValue) -> list[SSAValue]:
    """Values whose size decides about the size of a value."""
    if isinstance(value, BlockArgument):
        loop = value.owner.parent_op()
        if loop is None or loop.name != "scf.for":
            return []
        return list(loop.operands[:2]) if value.index == 0 else [loop.operands[2 + value.index]]
    op = value.owner
    assert isinstance(op, Operation)
    if not is_arithmetic(op) or op.name == "arith.cmpi":
        return []
    if op.name in ("arith.remui", "arith.remsi") and constant_value(op.operands[1]) is not None:
        return []
    return list(op.operands[1:] if op.name == "arith.select" else op.operands)
