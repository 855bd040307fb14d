"""`stage-tensor-memory`: threads move tensor memory to and from registers, nothing else.

    tile.copy %C_tmem -> %C_shared            tile.copy %C_tmem -> %moved
                                      ->      tile.copy %moved -> %C_shared

A copy between tensor memory and another memory, with a conversion, or to a part of a fragment goes
through a fragment of its own; so does a fill. A copy of several matrices is one of each. Single
elements of tensor memory have no address that a thread could use: accesses to them are refused
(TW3055).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, CopyOp, FillOp, RegionOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import part_of

NOT_BY_ELEMENT = "TW3055"


@dataclass(frozen=True)
class StageTensorMemory(Pass):
    """Let copies of tensor memory begin or end in registers."""

    name = "stage-tensor-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, CopyOp):
                for each in _matrices(op):
                    _stage_copy(each)
            elif isinstance(op, FillOp) and _is_tmem(op.dst):
                _stage_fill(op)
            elif isinstance(op, LoadOp | StoreOp) and _is_tmem(op.memref):
                _refuse(op, engine)


def _matrices(op: CopyOp) -> list[CopyOp]:
    """The copies of the matrices that a copy of tensor memory moves; the copy itself, of one."""
    if not (_is_tmem(op.src) or _is_tmem(op.dst)):
        return [op]
    parts = part_of(op.src), part_of(op.dst)
    outer = [part.axes[:-2] for part in parts]
    extents = [
        [part.extents[axis] for axis in axes] for part, axes in zip(parts, outer, strict=True)
    ]
    if not extents[0] or extents[0] != extents[1]:
        return [op]
    code = IndexBuilder(op)
    made: list[CopyOp] = []
    for point in product(*(range(each) for each in extents[0] if isinstance(each, int))):
        regions: list[SSAValue] = []
        for part, axes in zip(parts, outer, strict=True):
            offsets, sizes = list(part.offsets), list(part.extents)
            for axis, index in zip(axes, point, strict=True):
                offsets[axis], sizes[axis] = combined(code, "+", offsets[axis], index), 1
            regions.append(code.add(RegionOp(part.buffer, offsets, sizes)).results[0])
        copy = CopyOp(regions[0], regions[1], attributes=op.attributes)
        code.add(copy)
        made.append(copy)
    code.rewriter.erase(op)
    return made


def _stage_copy(op: CopyOp) -> None:
    if _is_tmem(op.src) and not _is_mate(op.dst, op.src):
        code = IndexBuilder(op)
        middle = _fragment(code, op.src)
        code.add(CopyOp(op.src, middle))
        op.operands[0] = middle
        if _is_tmem(op.dst):
            _stage_copy(op)
    elif _is_tmem(op.dst) and not _is_mate(op.src, op.dst):
        code = IndexBuilder(op)
        middle = _fragment(code, op.dst)
        code.add(CopyOp(op.src, middle))
        op.operands[0] = middle


def _stage_fill(op: FillOp) -> None:
    code = IndexBuilder(op)
    middle = _fragment(code, op.dst)
    code.add(FillOp(middle, op.value))
    code.add(CopyOp(middle, op.dst))
    code.rewriter.erase(op)


def _refuse(op: Operation, engine: DiagnosticEngine) -> None:
    assert isinstance(op, LoadOp | StoreOp)
    owner = base_of(op.memref).owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else "tensor memory"
    engine.error(
        op,
        f"'{name}' is accessed element by element: threads move tensor memory to and from "
        "registers as a whole",
        NOT_BY_ELEMENT,
    ).note(None, f"help: T.copy({name}, fragment) with fragment = T.alloc_fragment(...) first")


def _is_tmem(value: SSAValue) -> bool:
    return space_of(value.type) is Space.TMEM


def _is_mate(value: SSAValue, tmem: SSAValue) -> bool:
    """Whether registers can be moved: a whole fragment with the same elements."""
    same = element_type_of(value.type) == element_type_of(tmem.type)
    is_part = isinstance(value.owner, RegionOp)
    return space_of(value.type) is Space.FRAGMENT and same and not is_part


def _fragment(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """Registers for the elements of a part of tensor memory."""
    shape = [extent for extent in part_of(value).extents if isinstance(extent, int)]
    while len(shape) > 2 and shape[0] == 1:
        del shape[0]
    type = MemRefType(element_type_of(value.type), shape, NoneAttr(), SpaceAttr(Space.FRAGMENT))
    return code.add(AllocOp(type, name="moved", dtype=unsigned_dtype(value))).results[0]
