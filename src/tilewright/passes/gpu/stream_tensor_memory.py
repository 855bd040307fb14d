"""`stream-tensor-memory`: wide results leave tensor memory some columns at a time.

    tile.copy %C -> %f  (128 x 256)                 for each 32 columns:
    tile.parallel (i, j) { S[i, j] = f[i, j] }  ->    tile.copy %C[:, c] -> %g  (128 x 32)
                                                      tile.parallel (i, j) { S[i, c + j] = g[i, j] }

A thread holds a row of tensor memory, so a fragment of 256 columns takes all of its registers.
Where fragments only pass values on from a copy to element loops, copies and reductions of rows,
statement by statement (`tilewright.analysis.tensor_memory.chains`), the statements are divided
into columns and run one part after the other, and a part needs a fraction of the registers. Where
a result of a whole row is needed first, as in a softmax, `reread-tensor-memory` reads the columns
a second time.

It is done for copies by 128 threads of at least 128 registers each.

ptxas loads columns as early as it can, all of them before the first is reduced where nothing is
stored in between. With ``rolled``, for kernels that spill, a chain is the body of a loop over the
columns instead, unless other fragments are divided with it: registers have no addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, NoneAttr, i64
from xdsl.ir import Block, Region, SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.tensor_memory.chains import COLUMNS, Chain, chains, divided_in
from tilewright.analysis.tensor_memory.column_fragments import column_fragments, together
from tilewright.dialects.arith import AddiOp, ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, YieldOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    ParallelOp,
    ReduceOp,
    RegionOp,
    Space,
    SpaceAttr,
    names,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import matrix_axes, part_of


@dataclass(frozen=True)
class StreamTensorMemory(Pass):
    """Divide copies from tensor memory, and what follows from them, into columns."""

    name = "stream-tensor-memory"

    rolled: bool = False
    """Whether chains are loops over the columns, which stay loops."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            found = chains(kernel)
            loops = column_fragments(kernel, divided_in(found))
            partners = together({each for chain in found for each in chain.partners}, loops)
            width = COLUMNS // 2 if partners else COLUMNS  # beside registers that are always there
            parts = {each: _parts_of(each, width) for each in _in_order(partners)}
            rest = [op for each in parts for op in loops[each]]
            for chain in found:
                if self.rolled and not chain.partners:
                    _roll(chain, width)
                else:
                    _stream(chain, parts, width)
                rest = [op for op in rest if op not in chain.ops]
            for op in dict.fromkeys(rest):
                _divide(op, parts, width)
            for each in parts:
                assert isinstance(each.owner, AllocOp)
                Rewriter().erase(each.owner)


def _in_order(fragments: set[SSAValue]) -> list[SSAValue]:
    return sorted(fragments, key=lambda each: str(each.name_hint))


def _parts_of(fragment: SSAValue, width: int) -> list[SSAValue]:
    """A fragment for each few columns."""
    assert isinstance(fragment.owner, AllocOp)
    code = IndexBuilder(fragment.owner)
    columns = shape_of(fragment.type)[1]
    return [_part_of(code, fragment, width) for _ in range(0, columns, width)]


def _part_of(code: IndexBuilder, fragment: SSAValue, width: int) -> SSAValue:
    owner = fragment.owner
    assert isinstance(owner, AllocOp)
    type = MemRefType(
        element_type_of(fragment.type),
        (shape_of(fragment.type)[0], width),
        NoneAttr(),
        SpaceAttr(Space.FRAGMENT),
    )
    dtype = owner.dtype.data if owner.dtype else None
    return code.add(AllocOp(type, name=owner.buffer_name, dtype=dtype)).results[0]


def _divide(op: ParallelOp, parts: Mapping[SSAValue, list[SSAValue]], width: int) -> None:
    """An element loop of fragments that have been divided."""
    code = IndexBuilder(op)
    columns = op.extents[1]
    assert isinstance(columns, int)
    for index, start in enumerate(range(0, columns, width)):
        loop_part(code, op, {each: values[index] for each, values in parts.items()}, start, width)
    code.rewriter.erase(op)


def _stream(chain: Chain, parts: Mapping[SSAValue, list[SSAValue]], width: int) -> None:
    code = IndexBuilder(chain.ops[-1])
    columns = shape_of(next(iter(chain.fragments)).type)[1]
    for index, start in enumerate(range(0, columns, width)):
        values = {each: part[index] for each, part in parts.items()}
        _chain_part(code, chain, values, start, width)
    _end(code, chain)


def _roll(chain: Chain, width: int) -> None:
    """The statements of a chain for some columns, in a loop."""
    code = IndexBuilder(chain.ops[-1])
    columns = shape_of(next(iter(chain.fragments)).type)[1]
    start = 0
    if any(isinstance(op, ReduceOp) and op.clear for op in chain.ops):
        _chain_part(code, chain, {}, 0, width)  # which clears what the others add to
        start = width
    body = Block(arg_types=[IndexType()])
    body.add_op(YieldOp())
    bounds = [code.index(each) for each in (start, columns, width)]
    loop = ForOp(bounds[0], bounds[1], bounds[2], [], Region(body))
    loop.attributes[names.UNROLL_FACTOR] = IntegerAttr(1, i64)
    code.add(loop)
    _chain_part(code.inside(body), chain, {}, body.args[0], width)
    _end(code, chain)


def _chain_part(
    code: IndexBuilder, chain: Chain, others: Mapping[SSAValue, SSAValue], start: Mixed, width: int
) -> None:
    """Some columns of the statements of a chain, in fragments of their own."""
    values = dict(others)
    for fragment in _in_order(chain.fragments):
        values[fragment] = _part_of(code, fragment, width)
    for op in chain.ops:
        if isinstance(op, CopyOp):
            _copy_part(code, op, values, start, width)
        elif isinstance(op, ReduceOp):
            _reduce_part(code, op, values, start)
        else:
            assert isinstance(op, ParallelOp)
            loop_part(code, op, values, start, width)


def _end(code: IndexBuilder, chain: Chain) -> None:
    """Move what needs the whole chain to after its parts, and drop the chain."""
    last = chain.ops[-1]
    block = last.parent
    assert block is not None
    for op in chain.delayed:
        op.detach()
        block.insert_op_before(op, last)
    for op in chain.ops:
        code.rewriter.erase(op)


def _copy_part(
    code: IndexBuilder, op: CopyOp, values: dict[SSAValue, SSAValue], start: Mixed, width: int
) -> None:
    is_load = base_of(op.dst) in values
    part = part_of(op.src if is_load else op.dst)
    offsets, extents = list(part.offsets), list(part.extents)
    column = matrix_axes(part)[1]
    offsets[column] = combined(code, "+", offsets[column], start)
    extents[column] = width
    region = code.add(RegionOp(part.buffer, offsets, extents)).results[0]
    if is_load:
        code.add(CopyOp(region, values[base_of(op.dst)]))
    else:
        code.add(CopyOp(values[base_of(op.src)], region))


def _reduce_part(
    code: IndexBuilder, op: ReduceOp, values: dict[SSAValue, SSAValue], start: Mixed
) -> None:
    """The columns of a row that follow are combined with those before."""
    made = ReduceOp(
        values[op.src],
        op.dst,
        op.kind.data,
        op.axis,
        clear=op.clear and start == 0,
        nan_propagate=op.nan_propagate is not None,
        attributes=op.attributes,
    )
    code.add(made)


def loop_part(
    code: IndexBuilder, op: ParallelOp, values: dict[SSAValue, SSAValue], start: Mixed, width: int
) -> None:
    """The iterations of some columns, which count from `start`, and of fragments from 0."""
    known = dict(values)
    copy = copy_op(op, known)
    assert isinstance(copy, ParallelOp)
    rows = op.extents[0]
    made = ParallelOp([rows, width], copy.detach_region(copy.body))
    made.properties.update(
        {key: value for key, value in op.properties.items() if key != "static_extents"}
    )
    made.attributes.update(op.attributes)
    code.add(made)
    if start == 0:
        return
    block = made.body.block
    column, first = block.args[1], block.first_op
    assert first is not None
    known_start = [ConstantOp.of(start, IndexType())] if isinstance(start, int) else []
    moved = AddiOp(column, start if isinstance(start, SSAValue) else known_start[0].results[0])
    fragments = set(values.values())
    uses = [
        use
        for use in column.uses
        if use.operation is not moved
        and not (isinstance(use.operation, LoadOp | StoreOp) and use.operation.memref in fragments)
    ]
    if not uses:
        return
    for use in uses:
        use.operation.operands[use.index] = moved.results[0]
    for each in (*known_start, moved):
        each.location = op.location
        block.insert_op_before(each, first)
