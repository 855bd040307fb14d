"""`narrow-fragments`: rows of tensor memory are held in registers as what is stored of them.

    tile.copy %C -> %f         (128 x 256 x f32)      for each 64 columns:
    nv.mbarrier.arrive %free                            tile.copy %C[:, c] -> %g   (128 x 64 x f32)
    tile.copy %f[:, 0:64] -> %S           (bf16)  ->    tile.copy %g -> %h0        (bf16)
    ...                                               nv.mbarrier.arrive %free
                                                      tile.copy %h0 -> %S; ...

An epilogue that reads all of an accumulator before it stores the first part lets the next GEMM
begin early. Its rows take as many registers as they have columns: 256, more than a thread has. If
every use of a fragment converts it to one narrower type, the conversion may as well come first, and
halves them. There is a fragment for each part that is stored, and a loop over all columns of a
converted copy becomes one for each part. Fragments that
`stream-tensor-memory` divides into columns are left as they are: those are used whole, with nothing
in between that another thread may wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import AnyFloat, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import GROUP, kernels, threads_of
from tilewright.analysis.layout_inference.tensor_memory import LANES, is_move
from tilewright.analysis.pipelining.dependences import has_unknown_effects
from tilewright.analysis.tensor_memory.chains import COLUMNS, has_many_registers, is_pure
from tilewright.analysis.tensor_memory.column_fragments import element_fragments, element_loop
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    ParallelOp,
    RegionOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.stream_tensor_memory import loop_part
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import matrix_axes, part_of


@dataclass(frozen=True)
class NarrowFragments(Pass):
    """Convert columns of tensor memory as they are read, where all uses convert them."""

    name = "narrow-fragments"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            for op in list(walk(kernel)):
                if isinstance(op, AllocOp) and op.space is Space.FRAGMENT and op.layout is None:
                    uses = _uses(op)
                    if uses is not None and uses.are_held():
                        _narrow(op, uses)


@dataclass(frozen=True)
class _Uses:
    """Copies that fill a fragment, and those that convert it or a part of it."""

    fills: Sequence[CopyOp]
    stores: Sequence[CopyOp]
    width: int
    """Columns of the parts that all stores consist of."""
    casts: Mapping[CopyOp, Sequence[ParallelOp]]
    """Copies to another fragment, and the loops that access its elements."""

    @property
    def element(self) -> AnyFloat:
        (element,) = {element_type_of(op.dst.type) for op in (*self.stores, *self.casts)}
        assert isinstance(element, AnyFloat)
        return element

    def are_held(self) -> bool:
        """Whether a row has to be in registers as a whole."""
        return any(isinstance(op.src.owner, RegionOp) for op in self.stores) or any(
            self._is_interrupted(op) for op in self.fills
        )

    def _is_interrupted(self, fill: CopyOp) -> bool:
        """Whether something that orders others comes between a fill and the last store."""
        left: list[Operation] = [op for op in self.stores if op.parent is fill.parent]
        op = fill.next_op
        while op is not None and left and op not in self.fills:
            if op in left:
                left.remove(op)
            elif not is_pure(op) and has_unknown_effects(op):
                return True
            op = op.next_op
        return False


def _uses(alloc: AllocOp) -> _Uses | None:
    """The uses of a wide fragment, if it is only converted to one narrower type."""
    shape, element = shape_of(alloc.result.type), element_type_of(alloc.result.type)
    if len(shape) != 2 or shape[0] != LANES or not isinstance(element, AnyFloat):
        return None
    if not has_many_registers(alloc.result):
        return None
    fills: list[CopyOp] = []
    stores: list[CopyOp] = []
    casts: dict[CopyOp, Sequence[ParallelOp]] = {}
    for op in _users(alloc.result):
        if not isinstance(op, CopyOp) or op.fill is not None:
            return None
        if op.dst is alloc.result:
            fills.append(op)
        elif (loops := _loops(op)) is not None:
            casts[op] = loops
        else:
            stores.append(op)
    if not fills or not stores or not all(map(_is_fill, fills)):
        return None
    if any(_is_refilled(op, loop, fills) for op, loops in casts.items() for loop in loops):
        return None
    width = _width(shape[1], stores)
    narrow = {element_type_of(op.dst.type) for op in (*stores, *casts)}
    if width is None or len(narrow) != 1 or not all(map(_is_shorter, stores)):
        return None
    return _Uses(fills, stores, width, casts)


def _loops(op: CopyOp) -> Sequence[ParallelOp] | None:
    """The loops that read what a copy converts to another fragment; None if it is no such copy."""
    owner = op.dst.owner
    if not isinstance(owner, AllocOp) or owner.space is not Space.FRAGMENT or owner.layout:
        return None
    if isinstance(op.src.owner, RegionOp) or shape_of(op.src.type) != shape_of(op.dst.type):
        return None
    users = [use.operation for use in op.dst.uses if use.operation is not op]
    loops = [element_loop(each, op.dst) for each in users if isinstance(each, LoadOp)]
    found = list(dict.fromkeys(each for each in loops if each is not None))
    is_read_only = len(loops) == len(users) and all(each is not None for each in loops)
    return found if is_read_only and all(element_fragments(e) == [op.dst] for e in found) else None


def _is_refilled(op: CopyOp, loop: ParallelOp, fills: Sequence[CopyOp]) -> bool:
    """Whether the source of a copy may have been filled again when a loop reads the result."""
    following = op.next_op
    while following is not None and following is not loop:
        if any(each in fills for each in following.walk()):
            return True
        following = following.next_op
    return following is None


def _users(fragment: SSAValue) -> list[Operation]:
    """The ops that use a fragment or a part of it."""
    found: list[Operation] = []
    for use in fragment.uses:
        parts = use.operation.results if isinstance(use.operation, RegionOp) else ()
        found += [other.operation for part in parts for other in part.uses]
        if not parts:
            found.append(use.operation)
    return list(dict.fromkeys(found))


def _is_fill(op: CopyOp) -> bool:
    """Whether 128 threads copy whole rows of tensor memory."""
    return is_move(op) and space_of(op.src.type) is Space.TMEM and threads_of(op).count == GROUP


def _is_shorter(op: CopyOp) -> bool:
    """Whether a copy converts to a type of fewer bits, in memory that all threads see."""
    source, target = element_type_of(op.src.type), element_type_of(op.dst.type)
    space = space_of(op.dst.type)
    is_seen = space is Space.GLOBAL or (space is not None and space.is_shared)
    return is_seen and isinstance(target, AnyFloat) and bit_width(target) < bit_width(source)


def _width(columns: int, stores: Sequence[CopyOp]) -> int | None:
    """Columns of parts such that each store takes whole ones; None if there are none."""
    found = columns if any(isinstance(op.src.owner, RegionOp) for op in stores) else COLUMNS
    for op in stores:
        source, target = part_of(op.src), part_of(op.dst)
        (row, column), (rows, size) = source.offsets, source.extents
        if row != 0 or rows != LANES or not isinstance(column, int) or not isinstance(size, int):
            return None
        if [target.extents[axis] for axis in matrix_axes(target)] != [rows, size]:
            return None
        found = gcd(found, column, size)
    return found if found % COLUMNS == 0 else None


def _narrow(alloc: AllocOp, uses: _Uses) -> None:
    columns, code = shape_of(alloc.result.type)[1], IndexBuilder(alloc)
    parts = {
        start: code.add(AllocOp(_fragment(uses.element, uses.width), name=alloc.buffer_name))
        for start in range(0, columns, uses.width)
    }
    narrow = {start: op.results[0] for start, op in parts.items()}
    for op in uses.stores:
        _store(op, narrow, uses.width)
    for op, loops in uses.casts.items():
        _read(op, loops, narrow, uses.width)
    for op in uses.fills:
        _fill(op, narrow, uses.width)
    for use in list(alloc.result.uses):
        code.rewriter.erase(use.operation)
    code.rewriter.erase(alloc)


def _fill(op: CopyOp, narrow: Mapping[int, SSAValue], width: int) -> None:
    """Read the columns of a part, and convert them."""
    code = IndexBuilder(op)
    for start, part in narrow.items():
        wide = code.add(AllocOp(_fragment(element_type_of(op.dst.type), width), name="columns"))
        code.add(CopyOp(_columns(code, op.src, start, width), wide.results[0]))
        code.add(CopyOp(wide.results[0], part))
    code.rewriter.erase(op)


def _store(op: CopyOp, narrow: Mapping[int, SSAValue], width: int) -> None:
    """Store each part of what a copy stores."""
    source, code = part_of(op.src), IndexBuilder(op)
    first, size = source.offsets[1], source.extents[1]
    assert isinstance(first, int) and isinstance(size, int), "by `_width`"
    for start in range(0, size, width):
        target = op.dst if size == width else _columns(code, op.dst, start, width)
        made = CopyOp(narrow[first + start], target)
        made.attributes.update(op.attributes)
        made.properties.update(
            {key: value for key, value in op.properties.items() if key not in made.properties}
        )
        code.add(made)
    code.rewriter.erase(op)


def _read(
    op: CopyOp, loops: Sequence[ParallelOp], narrow: Mapping[int, SSAValue], width: int
) -> None:
    """Let loops read the parts instead of a fragment with all columns."""
    for loop in loops:
        code = IndexBuilder(loop)
        for start, part in narrow.items():
            loop_part(code, loop, {op.dst: part}, start, width)
        code.rewriter.erase(loop)
    owner = op.dst.owner
    assert isinstance(owner, AllocOp), "by `_loops`"
    IndexBuilder(op).rewriter.erase(op)
    IndexBuilder(owner).rewriter.erase(owner)


def _columns(code: IndexBuilder, matrix: SSAValue, start: int, width: int) -> SSAValue:
    """Some columns of a matrix, or of a part of a buffer."""
    part = part_of(matrix)
    axis = matrix_axes(part)[1]
    offsets, extents = list(part.offsets), list(part.extents)
    offsets[axis] = combined(code, "+", offsets[axis], start)
    extents[axis] = width
    return code.add(RegionOp(part.buffer, offsets, extents)).results[0]


def _fragment(element: Attribute, width: int) -> MemRefType:
    return MemRefType(element, (LANES, width), NoneAttr(), SpaceAttr(Space.FRAGMENT))
