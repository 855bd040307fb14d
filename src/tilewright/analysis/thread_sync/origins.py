"""Where the indices of an access come from: may they be too large in a run with assumed arguments?

A run has to choose a block and integer arguments. A kernel with `s[bx + i]` is launched with few
blocks; a run of the last of a thousand would access memory past the end of the intended row, in the
next row or in another slot of a ring buffer, and report conflicts that never occur. So with values
that no caller may pass, accesses that depend on them are left out; another run, with small values,
checks those. Elements of tensors are the extreme case: the assumed ones grow with their index, and
nothing guarantees that a tensor may contain them.
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
    """The source of an assumed value."""

    BLOCK = auto()
    """The block index."""
    GRID = auto()
    """The grid size: with `T.use_swizzle` even the second block works far away."""
    CALLER = auto()
    """Arguments of the kernel."""
    TENSOR = auto()
    """Elements of tensors."""


# A loop variable grows with both bounds of its loop: `for k in range(bx): s[k]`.


def origins_of(values: Iterable[SSAValue]) -> frozenset[Origin]:
    """The origins that values grow with; a remainder or a comparison grows with nothing."""
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
    """Values that a value grows with."""
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
