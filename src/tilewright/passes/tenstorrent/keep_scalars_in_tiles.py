"""Keep scalars that come from tiles in tiles of one element.

    m = total[0] / n                            for u in T.Parallel(1):
    for i in T.Parallel(512):             ->        m[u] = total[u] / n
        y[i] = x[i] - m                         for i in T.Parallel(512):
                                                    y[i] = x[i] - m[0]

The processors of a core that run loops and compute addresses do not see what is in a tile, and the
FPU computes on tiles. So scalar code between element-wise loops becomes element-wise loops over one
element; a loop that uses its result broadcasts it. Consecutive scalar ops share a loop.

Floats that a loop carries are in such tiles as well (`carried_scalars`). A scalar that decides
about control flow or an address is reported where it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.formats import format_of
from tilewright.dialects.tile import AllocOp, FillOp, KernelOp, ParallelOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.carried_scalars import carry_in_tiles
from tilewright.passes.tenstorrent.reports import DATA_DEPENDENT, NotSupported, reporting
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder

_ON_CHIP = (Space.FRAGMENT, Space.SHARED)


@dataclass(frozen=True)
class KeepScalarsInTiles(Pass):
    """Compute scalars that come from tiles by element-wise loops over one element."""

    name = "keep-scalars-in-tiles"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                _keep(kernel)
                with reporting(engine):
                    _refuse_others(kernel)


@dataclass
class _Run:
    """Consecutive scalar ops of a block: one loop."""

    ops: list[Operation] = field(default_factory=list[Operation])


def _keep(kernel: KernelOp) -> None:
    for loop in [op for op in _outside_of_loops(kernel) if isinstance(op, ForOp)]:
        carry_in_tiles(loop, kernel)
    scalars = _scalars(kernel)
    buffers = _Buffers(kernel)
    for run in [run for block in _blocks(kernel) for run in _runs(block, scalars)]:
        buffers.write(run)
    for op in reversed(scalars):
        Rewriter().erase(op)


def _refuse_others(kernel: KernelOp) -> None:
    for op in _outside_of_loops(kernel):
        if _is_element(op) and any(op.results[0].uses):
            assert isinstance(op, LoadOp)
            raise NotSupported(
                op,
                f"a value of '{name_of(op.memref)}' decides about control flow or addresses: loop "
                "bounds, conditions and offsets may depend on arguments and indices only",
                DATA_DEPENDENT,
            )


# -- which scalars ---------------------------------------------------------------------------------


def _scalars(kernel: KernelOp) -> list[Operation]:
    """The ops outside of element-wise loops whose result comes from a tile, in order.

    Nothing of what depends on a value that has another use than these is among them.
    """
    found = {op for op in _outside_of_loops(kernel) if _is_element(op)}
    for op in _outside_of_loops(kernel):
        if any(operand.owner in found for operand in op.operands) and _is_scalar_op(op):
            found.add(op)
    while refused := [op for op in found if not _has_right_uses(op, found)]:
        found.difference_update(refused)
        found = {op for op in found if _is_element(op) or _comes_from(op, found)}
    return [op for op in _outside_of_loops(kernel) if op in found]


def _outside_of_loops(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for each in block.ops:
                yield each
                if not isinstance(each, ParallelOp):
                    yield from _outside_of_loops(each)


def _is_element(op: Operation) -> bool:
    """Whether an op loads the one element of a buffer on the chip."""
    if not isinstance(op, LoadOp) or space_of(op.memref.type) not in _ON_CHIP:
        return False
    return all(extent == 1 for extent in shape_of(op.memref.type)) and _has_format(op.result.type)


def _is_scalar_op(op: Operation) -> bool:
    is_plain = len(op.results) == 1 and not op.regions and is_removable(op)
    return is_plain and not isinstance(op, LoadOp) and _is_scalar(op.results[0].type)


def _is_scalar(type: Attribute) -> bool:
    return isinstance(type, AnyFloat | IntegerType)


def _has_format(type: Attribute) -> bool:
    """Whether a tile can hold a value."""
    return _is_scalar(type) and format_of(type) is not None


def _comes_from(op: Operation, found: set[Operation]) -> bool:
    return any(operand.owner in found for operand in op.operands)


def _has_right_uses(op: Operation, found: set[Operation]) -> bool:
    """Whether a value is used by scalar ops, by element-wise loops, and as a fill only.

    A value that no tile can hold, such as a condition, is used by its own loop.
    """
    for use in op.results[0].uses:
        user = use.operation
        if user in found:
            continue
        is_read = isinstance(user, FillOp) or enclosing(user, ParallelOp) is not None
        if not is_read or not _has_format(op.results[0].type):
            return False
    return True


# -- one loop for consecutive ops ------------------------------------------------------------------


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for each in block.ops:
                if not isinstance(each, ParallelOp):
                    yield from _blocks(each)


def _runs(block: Block, scalars: Sequence[Operation]) -> Iterator[_Run]:
    run = _Run()
    for op in block.ops:
        if op in scalars:
            run.ops.append(op)
        elif run.ops and not (is_removable(op) and not op.regions):
            yield run
            run = _Run()
    if run.ops:
        yield run


class _Buffers:
    """The buffers of one element, by the value that each holds."""

    def __init__(self, kernel: KernelOp) -> None:
        self.kernel = kernel
        self.held: dict[SSAValue, SSAValue] = {}

    def write(self, run: _Run) -> None:
        """Put the ops of a run into a loop after the last of them."""
        last = run.ops[-1]
        loop = ParallelOp((1,))
        Rewriter().insert_after(last, loop, last)
        (index,) = loop.arguments
        code = IndexBuilder(last).inside(loop.body.block)
        values: dict[SSAValue, SSAValue] = {}
        for op in run.ops:
            for operand in op.operands:
                if operand in self.held and operand not in values:
                    values[operand] = code.add(LoadOp(self.held[operand], [index])).results[0]
            if isinstance(op, LoadOp):
                made = LoadOp(op.memref, [index] * len(op.indices))
                values[op.result] = code.add(made).results[0]
            else:
                code.add(copy_op(op, values))
        for op in run.ops:
            if any(use.operation not in run.ops for use in op.results[0].uses):
                buffer = self._buffer(op)
                code.add(StoreOp(values[op.results[0]], buffer, [index]))
                _use_in_loops(op.results[0], buffer)

    def _buffer(self, op: Operation) -> SSAValue:
        value = op.results[0]
        name = value.name_hint or "scalar"
        alloc = AllocOp(buffer_type(value.type, (1,), Space.FRAGMENT), name=name)
        first = self.kernel.body_block.first_op
        assert first is not None
        Rewriter().insert_before(first, alloc, op)
        self.held[value] = alloc.result
        return alloc.result


def _use_in_loops(value: SSAValue, buffer: SSAValue) -> None:
    """Let element-wise loops and fills read a value from its buffer."""
    users = list(dict.fromkeys(use.operation for use in value.uses))
    for op in [user for user in users if isinstance(user, FillOp)]:
        _fill_by_loop(op, buffer)
    loops = [enclosing(user, ParallelOp) for user in users if not isinstance(user, FillOp)]
    for loop in dict.fromkeys(loops):
        if loop is not None:
            _replace_in(loop, value, buffer)


def _replace_in(loop: ParallelOp, value: SSAValue, buffer: SSAValue) -> None:
    first = loop.body_block.first_op
    assert first is not None
    code = IndexBuilder(first)
    zero = code.add(ConstantOp.of(0, IndexType())).results[0]
    held = code.add(LoadOp(buffer, [zero])).results[0]
    for use in list(value.uses):
        if enclosing(use.operation, ParallelOp) is loop:
            use.operation.operands[use.index] = held


def _fill_by_loop(op: FillOp, buffer: SSAValue) -> None:
    shape = shape_of(op.dst.type)
    loop = ParallelOp(shape)
    code = IndexBuilder(op).inside(loop.body.block)
    zero = code.add(ConstantOp.of(0, IndexType())).results[0]
    held = code.add(LoadOp(buffer, [zero])).results[0]
    code.add(StoreOp(held, op.dst, loop.arguments))
    Rewriter().replace_op(op, loop, ())
