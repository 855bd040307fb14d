"""`narrow-fragments`: rows of tensor memory are held in registers as what is stored of them.

    tile.copy %C -> %f         (128 x 256 x f32)      for each 64 columns:
    nv.mbarrier.arrive %free                            tile.copy %C[:, c] -> %g   (128 x 64 x f32)
    tile.copy %f[:, 0:64] -> %S           (bf16)  ->    tile.copy %g -> %h0        (bf16)
    ...                                               nv.mbarrier.arrive %free
                                                      tile.copy %h0 -> %S; ...

An epilogue that reads all of an accumulator before it stores the first part lets the next GEMM
begin early. Its rows take as many registers as they have columns: 256, more than a thread has. If
every use of a fragment converts it to one narrower type, the conversion may as well come first, and
halves them. There is a fragment for each part that is stored. Fragments that
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
from tilewright.dialects.tile import AllocOp, CopyOp, RegionOp, Space, SpaceAttr, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.tile_regions import matrix_axes, part_of
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


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

    @property
    def element(self) -> AnyFloat:
        (element,) = {element_type_of(op.dst.type) for op in self.stores}
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
    for op in _users(alloc.result):
        if not isinstance(op, CopyOp) or op.fill is not None:
            return None
        (fills if op.dst is alloc.result else stores).append(op)
    if not fills or not stores or not all(map(_is_fill, fills)):
        return None
    width = _width(shape[1], stores)
    narrow = {element_type_of(op.dst.type) for op in stores}
    if width is None or len(narrow) != 1 or not all(map(_is_shorter, stores)):
        return None
    return _Uses(fills, stores, width)


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
