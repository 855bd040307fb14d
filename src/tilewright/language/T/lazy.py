"""Values that are computed only if they are needed: arms of a choice, right sides of ``and``.

Python evaluates all arguments of ``T.if_then_else`` before the call. The ops of an arm are the last
ones that were emitted, and nothing was written to memory since; `moved_copy` takes copies of those
that read memory, with what they need, into the region that runs only if the arm is taken. What is
left without a use is removed when the kernel is complete.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile.regions import RegionOp, ViewOp
from tilewright.frontend.builder import current
from tilewright.language.T.expressions import emit
from tilewright.language.T.session import trace
from tilewright.language.T.stock import LoadOp

_FREE = ("arith.", "math.")


def is_pure(op: Operation) -> bool:
    """Whether executing `op` has no effect but its results, wherever that happens."""
    if isinstance(op, IfOp):
        return all(is_pure(inner) for region in op.regions for inner in _inner(region))
    return op.name.startswith(_FREE) or isinstance(op, (RegionOp, ViewOp, YieldOp))


def only_reads(op: Operation) -> bool:
    """Whether `op` may be repeated as long as nothing is written."""
    if isinstance(op, IfOp):
        return all(only_reads(inner) for region in op.regions for inner in _inner(region))
    return is_pure(op) or isinstance(op, LoadOp) or op.name == "memref.dim"


def _inner(region: Region) -> list[Operation]:
    return list(region.block.ops) if region.blocks else []


def recent(block: Block) -> set[Operation]:
    """The ops at the end of `block` after the last one that does more than read."""
    found: set[Operation] = set()
    op = block.last_op
    while op is not None and only_reads(op):
        found.add(op)
        op = op.prev_op
    return found


def _needed(value: SSAValue, candidates: set[Operation]) -> list[Operation]:
    """The ops among `candidates` that compute `value`, in order."""
    needed: set[Operation] = set()
    work = [value]
    named = trace().bound
    while work:
        each = work.pop()
        owner = each.owner if isinstance(each, OpResult) else None
        if each in named:
            continue
        if isinstance(owner, Operation) and owner in candidates and owner not in needed:
            needed.add(owner)
            work += _used(owner)
    if not needed:
        return []
    block = next(iter(needed)).parent_block()
    assert block is not None
    return [op for op in block.ops if op in needed]


def _used(op: Operation) -> list[SSAValue]:
    """What `op` and the ops inside it take."""
    return [operand for inner in op.walk() for operand in inner.operands]


def reads_memory(value: SSAValue, candidates: set[Operation]) -> bool:
    return any(not is_pure(op) for op in _needed(value, candidates))


def moved_copy(value: SSAValue, candidates: set[Operation], block: Block) -> SSAValue:
    """Copy what computes `value` to the end of `block`; the value there."""
    mapping: dict[SSAValue, SSAValue] = {}
    for op in _needed(value, candidates):
        copied = op.clone(mapping)
        copied.location = op.location
        for inner, original in zip(copied.walk(), op.walk(), strict=True):
            inner.location = original.location
        block.add_op(copied)
    return mapping.get(value, value)


def choose(condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
    """``condition ? then : otherwise``; an arm that reads memory runs only if it is taken."""
    candidates = recent(current().block)
    if not any(reads_memory(arm, candidates) for arm in (then, otherwise)):
        return emit(arith.SelectOp(condition, then, otherwise))
    blocks = Block(), Block()
    location = current().location()
    for block, arm in zip(blocks, (then, otherwise), strict=True):
        end = YieldOp([moved_copy(arm, candidates, block)])
        end.location = location
        block.add_op(end)
    return emit(IfOp(condition, [then.type], *map(Region, blocks)))


def remove_unused(block: Block) -> None:
    """Remove what has no user and no effect, in `block` and in the regions inside it."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                remove_unused(inner)
        if op.results and only_reads(op) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
