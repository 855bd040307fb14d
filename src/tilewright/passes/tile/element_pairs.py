"""Which elements share a byte, and loops that store both of them in one iteration.

    tile.parallel (%i, %j) in (32, 64) {            tile.parallel (%i, %p) in (32, 32) {
      %v = ... %j                                     %v0 = ... 2 * %p
      memref.store %v, %C[%i, %j]           ->        %v1 = ... 2 * %p + 1
    }                                                 memref.store %v0, %C[%i, 2 * %p]
                                                      memref.store %v1, %C[%i, 2 * %p + 1] }

Elements of 4 bits with the numbers 2p and 2p + 1 along the last dimension are the lower and the
upper half of byte p. Threads that store one of them each would overwrite the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tile import ParallelOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


@dataclass(frozen=True)
class Halved:
    """An index by the byte that it is in."""

    byte: Mixed
    parity: int | None
    """0 for the lower half, 1 for the upper one; None if that is not known."""


def halved(code: IndexBuilder, index: Mixed) -> Halved:
    """Where the element with an index is; ops are made where `code` makes them."""
    if isinstance(index, int):
        return Halved(index // 2, index % 2)
    known = constant_value(index)
    if isinstance(known, IntegerAttr):
        return Halved(known.value.data // 2, known.value.data % 2)
    owner = index.owner
    if isinstance(owner, arith.MuliOp):
        for one, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            factor = constant_value(one)
            if isinstance(factor, IntegerAttr) and factor.value.data % 2 == 0:
                return Halved(combined(code, "*", factor.value.data // 2, other), 0)
    if isinstance(owner, arith.AddiOp) and parity(owner.lhs) is not None is not parity(owner.rhs):
        left, right = halved(code, owner.lhs), halved(code, owner.rhs)
        assert left.parity is not None and right.parity is not None
        byte = combined(code, "+", left.byte, right.byte)
        if left.parity & right.parity:
            byte = combined(code, "+", byte, 1)
        return Halved(byte, left.parity ^ right.parity)
    return Halved(combined(code, "floordiv", index, 2), None)


def parity(index: Mixed) -> int | None:
    """Whether an index is even (0) or odd (1), if that is known."""
    if isinstance(index, int):
        return index % 2
    known = constant_value(index)
    if isinstance(known, IntegerAttr):
        return known.value.data % 2
    owner = index.owner
    if isinstance(owner, arith.MuliOp):
        return 0 if 0 in (parity(owner.lhs), parity(owner.rhs)) else None
    if isinstance(owner, arith.AddiOp | arith.SubiOp):
        left, right = parity(owner.lhs), parity(owner.rhs)
        return None if left is None or right is None else left ^ right
    return None


# -- loops -----------------------------------------------------------------------------------------


def split_loops(root: Operation, is_packed: Callable[[StoreOp], bool]) -> dict[StoreOp, StoreOp]:
    """Let iterations store whole bytes; for each store of an upper half that of the lower one."""
    pairs: dict[StoreOp, StoreOp] = {}
    for loop in list(walk(root)):
        if not isinstance(loop, ParallelOp | ForOp):
            continue
        stores = [op for op in walk(loop) if isinstance(op, StoreOp) and is_packed(op)]
        stores = [op for op in stores if op not in pairs and op not in pairs.values()]
        if not stores:
            continue
        variable = next((v for v in loop.body.block.args if _is_divisible(loop, v, stores)), None)
        if variable is not None:
            pairs.update(_split(loop, variable, stores))
    return pairs


def _is_divisible(loop: ParallelOp | ForOp, variable: SSAValue, stores: Sequence[StoreOp]) -> bool:
    """Whether consecutive values of a variable are the halves of a byte in all stores."""
    if isinstance(loop, ParallelOp):
        assert isinstance(variable, BlockArgument)
        extent = loop.extents[variable.index]
        if loop.layout is not None or not isinstance(extent, int) or extent % 2:
            return False
    else:
        bounds = [constant_value(e) for e in (loop.lower_bound, loop.upper_bound, loop.step)]
        known = [each.value.data for each in bounds if isinstance(each, IntegerAttr)]
        if len(known) < len(bounds) or known[0] % 2 or known[1] % 2 or known[2] != 1:
            return False
        if loop.results or any(op.parent is not loop.body.block for op in stores):
            return False
    depending = _depending(loop, variable)
    return all(
        _is_step(op.indices[-1], variable) and not depending.intersection(op.indices[:-1])
        for op in stores
    )


def _is_step(index: SSAValue, variable: SSAValue) -> bool:
    """Whether an index is the variable plus an even integer."""
    if index is variable:
        return True
    owner = index.owner
    if not isinstance(owner, arith.AddiOp):
        return False
    return any(
        _is_step(one, variable) and parity(other) == 0
        for one, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs))
    )


def _depending(loop: Operation, variable: SSAValue) -> set[SSAValue]:
    """The values in a loop that are computed from a variable."""
    found = {variable}
    for op in walk(loop):
        if op is not loop and found.intersection(op.operands):
            found.update(op.results)
            found.update(arg for region in op.regions for b in region.blocks for arg in b.args)
    return found


def _split(
    loop: ParallelOp | ForOp, variable: SSAValue, stores: Sequence[StoreOp]
) -> dict[StoreOp, StoreOp]:
    code = IndexBuilder(loop)
    old = loop.body.block
    arguments = list(old.args)
    made: ParallelOp | ForOp
    if isinstance(loop, ParallelOp):
        assert isinstance(variable, BlockArgument)
        extents = list(loop.extents)
        extent = extents[variable.index]
        assert isinstance(extent, int), "by `_is_divisible`"
        extents[variable.index] = extent // 2
        width = loop.coalesced_width
        made = ParallelOp(
            extents,
            coalesced_width=None if width is None else max(1, width.value.data // 2),
            attributes=loop.attributes,
        )
    else:
        bounds = [constant_value(each) for each in (loop.lower_bound, loop.upper_bound)]
        first, last = (each.value.data for each in bounds if isinstance(each, IntegerAttr))
        body = Block(arg_types=[variable.type])
        body.add_op(ScfYieldOp())
        made = ForOp(code.index(first // 2), code.index(last // 2), code.index(1), [], Region(body))
        made.attributes.update(loop.attributes)
    code.add(made)
    for before, after in zip(arguments, made.body.block.args, strict=True):
        after.name_hint, after.location = before.name_hint, before.location
    inside = code.inside(made.body.block)
    step: SSAValue = made.body.block.args[next(n for n, a in enumerate(arguments) if a is variable)]
    twins: list[dict[StoreOp, StoreOp]] = []
    double = inside.add(arith.MuliOp(step, inside.index(2))).results[0]
    for half in (0, 1):
        position = inside.add(arith.AddiOp(double, inside.index(1))).results[0] if half else double
        values: dict[SSAValue, SSAValue] = dict(
            zip(arguments, made.body.block.args, strict=True)
        )  # fmt: skip
        values[variable] = position
        copies: dict[StoreOp, StoreOp] = {}
        for op in list(old.ops)[:-1]:
            copy = copy_op(op, values)
            inside.add(copy)
            for one, other in zip(op.walk(), copy.walk(), strict=True):
                if one in stores:
                    assert isinstance(one, StoreOp) and isinstance(other, StoreOp)
                    copies[one] = other
        twins.append(copies)
    code.rewriter.erase(loop)
    lower, upper = twins
    return {upper[op]: lower[op] for op in stores if upper[op].parent is made.body.block}
