"""`stream-tensor-memory`: wide results leave tensor memory some columns at a time.

    tile.copy %C -> %f  (128 x 256)                 for each 32 columns:
    tile.parallel (i, j) { S[i, j] = f[i, j] }  ->    tile.copy %C[:, c] -> %g  (128 x 32)
                                                      tile.parallel (i, j) { S[i, c + j] = g[i, j] }

A thread holds a row of tensor memory, so a fragment of 256 columns takes all of its registers.
Where fragments only pass values on from a copy to element loops and copies, statement by statement,
the statements are divided into columns and run one part after the other, and a part needs a
fraction of the registers. A statement in between that has nothing to do with them comes first.

It is done for copies by 128 threads of at least 128 registers each. Fragments must not be used
otherwise, and loops must access them element by element; other fragments by row only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.analysis.layout_inference.scopes import GROUP, kernels, threads_of
from tilewright.analysis.pipelining.dependences import has_unknown_effects
from tilewright.analysis.tensor_memory import is_move
from tilewright.dialects.arith import AddiOp, ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    KernelOp,
    ParallelOp,
    RegionOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.expressions import combined
from tilewright.passes.gpu.tile_regions import matrix_axes, part_of
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder

_COLUMNS = 32
"""Of one part."""
_MANY_REGISTERS = 128


@dataclass(frozen=True)
class StreamTensorMemory(Pass):
    """Divide copies from tensor memory, and what follows from them, into columns."""

    name = "stream-tensor-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            for chain in list(_chains(kernel)):
                _stream(chain)


@dataclass
class _Chain:
    """Statements of one block, in order, and the fragments that only they use in between."""

    ops: list[Operation]
    fragments: set[SSAValue] = field(default_factory=set[SSAValue])


def _chains(kernel: KernelOp) -> Iterator[_Chain]:
    if not any(is_move(op) for op in walk(kernel)):
        return
    segments: dict[SSAValue, list[list[Operation]]] = {}
    for op in walk(kernel):
        if not isinstance(op, AllocOp) or op.space is not Space.FRAGMENT or op.layout is not None:
            continue
        if len(shape_of(op.result.type)) == 2:
            found = _segments(op.result, kernel)
            if found is not None:
                segments[op.result] = found
    chain_of: dict[Operation, _Chain] = {}
    for fragment, parts in segments.items():
        for part in parts:
            joined = _Chain(list(part), {fragment})
            for op in part:
                other = chain_of.get(op)
                if other is not None and other is not joined:
                    joined.ops += [each for each in other.ops if each not in joined.ops]
                    joined.fragments |= other.fragments
            for op in joined.ops:
                chain_of[op] = joined
    seen: list[_Chain] = []
    for chain in chain_of.values():
        if not any(chain is each for each in seen):
            seen.append(chain)
            if _is_possible(chain):
                yield chain


def _segments(fragment: SSAValue, kernel: KernelOp) -> list[list[Operation]] | None:
    """The statements that use a fragment, divided where it is written anew.

    None if a value may outlive its statements.
    """
    users = list(dict.fromkeys(_statement(use.operation) for use in fragment.uses))
    if not users or any(each is None for each in users):
        return None
    ordered = [op for op in walk(kernel) if op in users]
    found: list[list[Operation]] = []
    for op in ordered:
        if _fills(op, fragment):
            found.append([op])
        elif not found or found[-1][0].parent is not op.parent:
            return None
        else:
            found[-1].append(op)
    return found


def _statement(op: Operation) -> Operation | None:
    """The copy or element loop that an op is, or is in."""
    if isinstance(op, CopyOp):
        return op if is_move(op) else None
    current: Operation | None = op
    while current is not None and not isinstance(current, ParallelOp):
        current = current.parent_op()
    if not isinstance(op, LoadOp | StoreOp):
        return None
    return current


def _fills(op: Operation, fragment: SSAValue) -> bool:
    """Whether a statement writes all of a fragment and reads nothing of it."""
    if isinstance(op, CopyOp):
        return op.dst is fragment
    assert isinstance(op, ParallelOp)
    loads = any(isinstance(each, LoadOp) and each.memref is fragment for each in walk(op))
    stores = [
        each for each in op.body.block.ops if isinstance(each, StoreOp) and each.memref is fragment
    ]
    return (
        not loads
        and bool(stores)
        and op.extents == shape_of(fragment.type)
        and all(tuple(each.indices) == tuple(op.body.block.args) for each in stores)
    )


def _is_possible(chain: _Chain) -> bool:
    shapes = {shape_of(each.type) for each in chain.fragments}
    block = chain.ops[0].parent
    if len(shapes) != 1 or block is None or any(op.parent is not block for op in chain.ops):
        return False
    (shape,) = shapes
    positions = {op: index for index, op in enumerate(block.ops)}
    chain.ops.sort(key=lambda op: positions[op])
    first = chain.ops[0]
    if len(shape) != 2 or shape[1] % _COLUMNS or threads_of(first).count != GROUP:
        return False
    bits = max(bit_width(element_type_of(each.type)) for each in chain.fragments)
    is_load = any(isinstance(op, CopyOp) and op.dst in chain.fragments for op in chain.ops)
    if not is_load or shape[0] * shape[1] * bits // (32 * GROUP) < _MANY_REGISTERS:
        return False
    return all(_is_divisible(op, chain, shape) for op in chain.ops) and _come_together(chain, block)


def _is_divisible(op: Operation, chain: _Chain, shape: tuple[int, ...]) -> bool:
    if isinstance(op, CopyOp):
        return True
    assert isinstance(op, ParallelOp)
    if op.extents != shape or op.layout is not None:
        return False
    arguments = tuple(op.body.block.args)
    for each in walk(op):
        if isinstance(each, ParallelOp | CopyOp) and each is not op:
            return False
        if not isinstance(each, LoadOp | StoreOp):
            continue
        if each.memref in chain.fragments:
            if tuple(each.indices) != arguments:
                return False
        elif space_of(each.memref.type) is Space.FRAGMENT and any(
            index is not arguments[0] for index in each.indices
        ):
            return False
    return True


def _come_together(chain: _Chain, block: Block) -> bool:
    """Whether the statements may all run where the last of them is."""
    first, last = chain.ops[0], chain.ops[-1]
    moving: list[Operation] = []
    op: Operation | None = first
    while op is not None and op is not last:
        if op in chain.ops:
            moving.append(op)
        elif not _may_pass(op, moving):
            return False
        op = op.next_op
    return op is last


def _may_pass(op: Operation, moving: list[Operation]) -> bool:
    """Whether statements may run after `op` instead of before."""
    if isinstance(op, AllocOp | RegionOp) or (not op.regions and is_side_effect_free(op)):
        return True
    if has_unknown_effects(op):
        return False
    accessed, written = [*reads(op), *writes(op)], writes(op)
    for each in moving:
        other, changed = [*reads(each), *writes(each)], writes(each)
        if any(a.may_overlap(b) for a in written for b in other):
            return False
        if any(a.may_overlap(b) for a in accessed for b in changed):
            return False
    return True


def _stream(chain: _Chain) -> None:
    last = chain.ops[-1]
    code = IndexBuilder(last)
    (rows, columns) = shape_of(next(iter(chain.fragments)).type)
    names = {each: each.owner for each in chain.fragments}
    for start in range(0, columns, _COLUMNS):
        values: dict[SSAValue, SSAValue] = {}
        for fragment in sorted(chain.fragments, key=lambda each: str(each.name_hint)):
            owner = names[fragment]
            assert isinstance(owner, AllocOp)
            type = MemRefType(
                element_type_of(fragment.type),
                (rows, _COLUMNS),
                NoneAttr(),
                SpaceAttr(Space.FRAGMENT),
            )
            dtype = owner.dtype.data if owner.dtype else None
            alloc = AllocOp(type, name=owner.buffer_name, dtype=dtype)
            values[fragment] = code.add(alloc).results[0]
        for op in chain.ops:
            if isinstance(op, CopyOp):
                _copy_part(code, op, values, start)
            else:
                assert isinstance(op, ParallelOp)
                _loop_part(code, op, values, start)
    for op in chain.ops:
        code.rewriter.erase(op)


def _copy_part(
    code: IndexBuilder, op: CopyOp, values: dict[SSAValue, SSAValue], start: int
) -> None:
    is_load = base_of(op.dst) in values
    part = part_of(op.src if is_load else op.dst)
    offsets, extents = list(part.offsets), list(part.extents)
    column = matrix_axes(part)[1]
    offsets[column] = combined(code, "+", offsets[column], start)
    extents[column] = _COLUMNS
    region = code.add(RegionOp(part.buffer, offsets, extents)).results[0]
    if is_load:
        code.add(CopyOp(region, values[base_of(op.dst)]))
    else:
        code.add(CopyOp(values[base_of(op.src)], region))


def _loop_part(
    code: IndexBuilder, op: ParallelOp, values: dict[SSAValue, SSAValue], start: int
) -> None:
    """The iterations of some columns, which count from `start`, and of fragments from 0."""
    known = dict(values)
    copy = copy_op(op, known)
    assert isinstance(copy, ParallelOp)
    rows = op.extents[0]
    made = ParallelOp([rows, _COLUMNS], copy.detach_region(copy.body))
    made.properties.update(
        {key: value for key, value in op.properties.items() if key != "static_extents"}
    )
    made.attributes.update(op.attributes)
    code.add(made)
    if not start:
        return
    block = made.body.block
    column, first = block.args[1], block.first_op
    assert first is not None
    offset = ConstantOp.of(start, IndexType())
    moved = AddiOp(column, offset.results[0])
    uses = [use for use in column.uses if use.operation is not moved]
    fragments = set(values.values())
    for use in uses:
        user = use.operation
        if isinstance(user, LoadOp | StoreOp) and user.memref in fragments:
            continue
        user.operands[use.index] = moved.results[0]
    for each in (offset, moved):
        each.location = op.location
        block.insert_op_before(each, first)
