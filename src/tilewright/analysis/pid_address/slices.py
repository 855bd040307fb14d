"""Where an address comes from: the values that it is computed from, across regions and calls."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tilewright.analysis.pid_address.scope import Machine, Path, Site
from tilewright.dialects.tt import (
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    FuncOp,
    StoreOp,
)
from tilewright.dialects.ttng import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
)
from tilewright.ir.interfaces import CallLike, Point, RegionBranch, branch_edges, returns

ValueOnPath = tuple[Path, SSAValue]


def backward_slice(
    machine: Machine, site: Site, seen: set[ValueOnPath] | None = None
) -> list[ValueOnPath]:
    """Everything that the address and mask of an access are computed from.

    With `seen`, only what is not in it yet; it grows by what is found, so that the slices of many
    accesses together cost no more than the code they are in.
    """
    seen = set() if seen is None else seen
    work: list[ValueOnPath] = [(site.path, value) for value in _operands(site.operation)]
    found: list[ValueOnPath] = []
    while work:
        item = work.pop()
        if item in seen:
            continue
        seen.add(item)
        found.append(item)
        work.extend(_sources(machine, *item))
    return found


def _operands(op: Operation) -> list[SSAValue]:
    """The operands that determine the address of an access, not the data it writes."""
    match op:
        case StoreOp():
            return [op.ptr] if op.mask is None else [op.ptr, op.mask]
        case DescriptorStoreOp() | DescriptorReduceOp():
            return [op.desc, *op.indices]
        case DescriptorScatterOp():
            return [op.desc, op.x_offsets, op.y_offset]
        case AsyncTMACopyGlobalToLocalOp():
            return [op.desc, *op.coord, op.pred]
        case AsyncTMACopyLocalToGlobalOp() | AsyncTMAReduceOp():
            return [op.desc, *op.coord]
        case AsyncTMAGatherOp():
            return [op.desc, op.x_offsets, op.y_offset, op.pred]
        case AsyncTMAScatterOp():
            return [op.desc, op.x_offsets, op.y_offset]
        case _ if op.name.startswith("tt.atomic"):
            mask = getattr(op, "mask", None)
            return [op.operands[0], *([mask] if isinstance(mask, SSAValue) else [])]
        case _:
            return list(op.operands)


def _sources(machine: Machine, path: Path, value: SSAValue) -> Iterator[ValueOnPath]:
    if isinstance(value, OpResult):
        yield from _sources_of_result(machine, path, value)
    elif isinstance(value, BlockArgument):
        yield from _sources_of_argument(machine, path, value)


def _sources_of_result(machine: Machine, path: Path, value: OpResult) -> Iterator[ValueOnPath]:
    op = value.op
    call = op.get_trait(CallLike)
    if call is not None:
        yield from ((path, argument) for argument in call.arguments(op))
        for inner, (site, caller) in machine.calls.items():
            if site is op and caller == path:
                yield from _returned(machine, inner, op, value.index)
        return
    branch = op.get_trait(RegionBranch)
    if branch is None or not op.regions:
        yield from ((path, operand) for operand in op.operands)
        return
    yield from ((path, one) for one in _forwarded(op, branch, value))


def _returned(machine: Machine, path: Path, call: Operation, index: int) -> Iterator[ValueOnPath]:
    trait = call.get_trait(CallLike)
    symbol = None if trait is None else trait.callee(call)
    function = None if symbol is None else machine.symbols.lookup(call, symbol)
    if function is not None:
        yield from ((path, end.operands[index]) for end in returns(function))


def _sources_of_argument(
    machine: Machine, path: Path, value: BlockArgument
) -> Iterator[ValueOnPath]:
    block = value.owner
    parent = block.parent_op()
    region = block.parent
    if parent is None or region is None:
        return
    if block is not region.first_block:
        yield from ((path, one) for one in _jumped(block, value))
    elif isinstance(parent, FuncOp):
        if path:
            call, caller = machine.calls[path]
            trait = call.get_trait(CallLike)
            if trait is not None:
                yield (caller, trait.arguments(call)[value.index])
    else:
        branch = parent.get_trait(RegionBranch)
        found = [] if branch is None else list(_forwarded(parent, branch, value))
        # An induction variable is made by the loop, from its bounds.
        yield from ((path, one) for one in found or list(parent.operands[:3]))


def _forwarded(op: Operation, branch: RegionBranch, value: SSAValue) -> Iterator[SSAValue]:
    points: list[Point] = [op, *op.regions]
    for point in points:
        for edge in branch.successors(op, point):
            for source, into in zip(edge.operands, edge.inputs, strict=True):
                if into is value:
                    yield source


def _jumped(block: Block, value: BlockArgument) -> Iterator[SSAValue]:
    region = block.parent
    assert region is not None
    for other in region.blocks:
        last = other.last_op
        if last is None or block not in last.successors:
            continue
        for edge in branch_edges(last):
            for source, into in zip(edge.operands, edge.inputs, strict=True):
                if into is value:
                    yield source
