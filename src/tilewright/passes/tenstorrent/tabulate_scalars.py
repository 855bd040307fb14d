"""Replace scalars that depend on data of the host by tables over the blocks.

    row = first_row[group] + (by - first_tile[group]) * 64   ->   row = [0, 64, 70, 71][by]
    if mask[by, bx, k]: ...                                  ->   if [1, 0, 0, 1, ...][by * 2 + k]

Which blocks a core copies is part of its program. Integers that are loaded from a tensor with known
contents (`fix-arguments`), or from a variable, decide about loops, branches and addresses: they are
computed for every block and iteration, and their tables are compiled into the kernels. What
computed them is removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from tilewright.dialects.arith import AddiOp, CmpiOp, ConstantOp, IndexCastOp, MuliOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tensix.tables import TableOp
from tilewright.dialects.tile import AllocOp, KernelOp, ParallelOp, PipelineOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.fix_arguments import contents_of
from tilewright.passes.tenstorrent.reports import UNBOUNDED, NotSupported, reporting
from tilewright.passes.tenstorrent.scalar_code import Coordinates, ScalarCode, TooLong

MAX_ENTRIES = 4096
"""Of a table, in the code of a kernel."""


@dataclass(frozen=True)
class TabulateScalars(Pass):
    """Compute scalars that depend on known data for every block."""

    name = "tabulate-scalars"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                with reporting(engine):
                    _tabulate(function, kernel)


def _tabulate(function: FuncOp, kernel: KernelOp) -> None:
    contents = contents_of(function)
    cells = frozenset(_cells(kernel))
    roots = [
        op.result
        for op in walk(kernel)
        if isinstance(op, LoadOp) and (op.memref in contents or op.memref in cells)
    ]
    grid = [extent for extent in kernel.grid if isinstance(extent, int)]
    if not roots or len(grid) < len(kernel.grid):
        return
    required = [each for each in _dependent(roots) if _is_decisive(each, kernel)]
    code = ScalarCode(kernel, contents, cells, frozenset(required))
    try:
        code.run(grid)
    except TooLong:
        raise NotSupported(
            kernel,
            "the scalar code of all blocks takes too long to run at compile time: use fewer "
            "blocks or shorter loops",
            UNBOUNDED,
        ) from None
    for value in required:
        _replace(value, code.found.get(value), kernel)
    _clean(kernel, cells)
    canonicalize(function)  # branches that a mask never or always takes
    for op in [op for op in walk(function) if isinstance(op, AllocOp)]:
        if not op.result.uses:
            Rewriter().erase(op)


def _cells(kernel: KernelOp) -> Iterator[SSAValue]:
    """The integer variables of the kernel."""
    for op in walk(kernel):
        if isinstance(op, AllocOp) and space_of(op.result.type) in (Space.VAR, Space.LOCAL):
            users = [use.operation for use in op.result.uses]
            is_integer = isinstance(element_type_of(op.result.type), (IntegerType, IndexType))
            if is_integer and all(isinstance(each, (LoadOp, StoreOp)) for each in users):
                yield op.result


# -- what has to be known --------------------------------------------------------------------------


def _dependent(roots: Sequence[SSAValue]) -> list[OpResult]:
    """The integers that depend on some loads, in the order in which they are found."""
    found: dict[SSAValue, None] = {}
    pending: list[SSAValue] = list(roots)
    while pending:
        value = pending.pop(0)
        if value in found:
            continue
        found[value] = None
        for use in value.uses:
            op = use.operation
            if isinstance(op, ScfYieldOp):
                parent = op.parent_op()
                pending += [] if parent is None else parent.results
            elif isinstance(op, (ForOp, IfOp)) or (is_removable(op) and not op.regions):
                pending += op.results
    return [
        each
        for each in found
        if isinstance(each, OpResult) and isinstance(each.type, (IntegerType, IndexType))
    ]


def _is_decisive(value: SSAValue, kernel: KernelOp) -> bool:
    """Whether something else than scalar code outside of element-wise loops uses a value."""
    owner = value.owner
    assert isinstance(owner, Operation)
    if enclosing(owner, ParallelOp) is not None:
        return False
    for use in value.uses:
        op = use.operation
        if enclosing(op, ParallelOp) is not None:
            return True
        is_scalar = is_removable(op) and not op.regions
        is_stored = isinstance(op, StoreOp) and use.index == 0
        if not (is_scalar or is_stored or isinstance(op, (ScfYieldOp, LoadOp))):
            return True
        if is_scalar and not isinstance(op.results[0].type, (IntegerType, IndexType)):
            return True  # a region, or a conversion to a float
    return False


# -- tables ----------------------------------------------------------------------------------------


def _replace(value: OpResult, known: Mapping[Coordinates, int] | None, kernel: KernelOp) -> None:
    """Replace a value by a constant or a table."""
    if not known:
        return  # it never runs, or depends on something else; a later pass reports it
    indices = _indices_at(value.op, kernel)
    needed = needed_coordinates(known, len(indices))
    rewriter = Rewriter()
    made = lookup(known, [indices[each] for each in needed], needed)
    made += _converted(made[-1].results[0], value.type)
    op = value.op
    for each in reversed(made):
        rewriter.insert_after(op, each, op)
    made[-1].results[0].name_hint = value.name_hint
    rewriter.replace_all_uses(value, made[-1].results[0])


def lookup(
    known: Mapping[Coordinates, int], indices: Sequence[SSAValue], needed: Sequence[int]
) -> list[Operation]:
    """The ops that look a value up by some of the coordinates; a constant if by none."""
    reduced = {tuple(at[each] for each in needed): value for at, value in known.items()}
    if not needed:
        return [ConstantOp.of(next(iter(reduced.values())), IndexType())]
    extents = [1 + max(at[each] for at in reduced) for each in range(len(needed))]
    if prod(extents) > MAX_ENTRIES:
        raise NotSupported(
            _owner(indices[0]),
            f"a scalar that depends on data has {prod(extents)} values, one for each block and "
            f"iteration, and a table of a kernel at most {MAX_ENTRIES}: use larger blocks",
            UNBOUNDED,
        )
    filler = next(iter(reduced.values()))
    entries = [reduced.get(at, filler) for at in product(*(range(each) for each in extents))]
    made: list[Operation] = []
    position = indices[0]
    for index, extent in zip(indices[1:], extents[1:], strict=True):
        width = ConstantOp.of(extent, IndexType())
        scaled = MuliOp(position, width.results[0])
        total = AddiOp(scaled.results[0], index)
        made += [width, scaled, total]
        position = total.results[0]
    return [*made, TableOp(entries, position)]


def _owner(value: SSAValue) -> Operation:
    owner = value.owner
    found = owner if isinstance(owner, Operation) else owner.parent_op()
    assert found is not None
    return found


def _indices_at(op: Operation, kernel: KernelOp) -> list[SSAValue]:
    """Block indices and the indices of the loops around an op."""
    loops: list[SSAValue] = []
    parent = op.parent_op()
    while parent is not None and parent is not kernel:
        if isinstance(parent, (ForOp, PipelineOp)):
            loops.append(parent.regions[0].block.args[0])
        parent = parent.parent_op()
    return [*kernel.body_block.args, *reversed(loops)]


def needed_coordinates(known: Mapping[Coordinates, int], count: int) -> list[int]:
    """The coordinates that a value depends on."""
    needed = list(range(count))
    for each in range(count):
        fewer = [other for other in needed if other != each]
        seen: dict[Coordinates, int] = {}
        if all(
            seen.setdefault(tuple(at[n] for n in fewer), value) == value
            for at, value in known.items()
        ):
            needed = fewer
    return needed


def _converted(value: SSAValue, type: Attribute) -> list[Operation]:
    if isinstance(type, IndexType):
        return []
    if isinstance(type, IntegerType) and type.width.data == 1:
        zero = ConstantOp.of(0, IndexType())
        return [zero, CmpiOp("ne", value, zero.results[0])]
    return [IndexCastOp(value, type)]


# -- what is left ----------------------------------------------------------------------------------


def _clean(kernel: KernelOp, cells: frozenset[SSAValue]) -> None:
    """Erase scalar code whose results are not used any more."""
    rewriter = Rewriter()
    changed = True
    while changed:
        changed = False
        for op in reversed(list(walk(kernel))):
            if op.parent is not None and op is not kernel and _is_dead(op, cells):
                rewriter.erase(op)
                changed = True


def _is_dead(op: Operation, cells: frozenset[SSAValue]) -> bool:
    if any(result.uses for result in op.results):
        return False
    if isinstance(op, StoreOp):
        loads = [use.operation for use in op.memref.uses if isinstance(use.operation, LoadOp)]
        return op.memref in cells and not loads
    if isinstance(op, AllocOp):
        return op.result in cells
    if isinstance(op, (ForOp, IfOp)):
        return all(
            is_removable(each) or isinstance(each, ScfYieldOp)
            for each in walk(op)
            if each is not op
        )
    return (is_removable(op) or isinstance(op, LoadOp)) and not op.regions and bool(op.results)
