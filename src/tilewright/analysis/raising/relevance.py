"""Ops that no address, mask or loop bound depends on: the address analysis leaves them out.

A kernel that sorts or draws random integers computes much that looks like an address and is none.
"""

from __future__ import annotations

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.raising.kinds import MEMORY
from tilewright.dialects.tt import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicRMWOp,
    AtomicStoreOp,
    DescriptorReduceOp,
    DescriptorStoreOp,
    FuncOp,
    LoadOp,
    ReduceOp,
    ScanOp,
    StoreOp,
)
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.traversal import walk


def irrelevant_ops(function: FuncOp) -> frozenset[Operation]:
    """Ops on tensors, without regions, that do not reach an address."""
    needed = _needed(function)
    return frozenset(
        op
        for op in walk(function)
        if op.results
        and not op.regions
        and op.name not in MEMORY
        and not op.name.startswith("tt.atomic")
        and all(is_tensor(result.type) for result in op.results)
        and not any(result in needed for result in op.results)
    )


def _roots(op: Operation) -> list[SSAValue]:
    """What decides which memory an op accesses, or whether."""
    match op:
        case LoadOp() | StoreOp() | AtomicRMWOp() | AtomicLoadOp() | AtomicStoreOp():
            return [op.ptr] if op.mask is None else [op.ptr, op.mask]
        case AtomicCASOp():
            return [op.ptr]
        case DescriptorStoreOp() | DescriptorReduceOp():
            return [op.desc, *op.indices]
        case _:
            is_other = op.name in MEMORY or op.name.startswith(("tt.atomic", "llvm.intr"))
            return list(op.operands) if is_other else []


def _needed(function: FuncOp) -> set[SSAValue]:
    work: list[SSAValue] = []
    for op in walk(function):
        if isinstance(op.parent_op(), ReduceOp | ScanOp):
            continue  # scalars of a combiner are elements
        work += _roots(op)
        work += [operand for operand in op.operands if not is_tensor(operand.type)]
    found: set[SSAValue] = set()
    while work:
        value = work.pop()
        if value in found:
            continue
        found.add(value)
        work += _sources(value)
    return found


def _sources(value: SSAValue) -> list[SSAValue]:
    """What a value is computed from; for values of loops and branches, all that is forwarded."""
    if isinstance(value, BlockArgument):
        owner = value.block.parent_op()
    else:
        owner = value.owner
        assert isinstance(owner, Operation)
    if owner is None or isinstance(owner, FuncOp):
        return []
    ends = [block.last_op for region in owner.regions for block in region.blocks]
    return [*owner.operands, *(each for end in ends if end is not None for each in end.operands)]
