"""`split-operands`: operands of GEMMs that are filled in parts along K, sequentially.

    copy %A[...] -> %As                      copy %A[... first half of K] -> %As
    gemm %As, %Bs -> %C               ->     gemm %As, %Bs[first half] -> %C
                                             copy %A[... second half of K] -> %As
                                             gemm %As, %Bs[second half] -> %C

Tiles for the shared memory of other GPUs may exceed the 64 KiB of a block. A buffer that is filled
from a tensor and is an operand of GEMMs, and nothing else, needs only as much as one GEMM reads;
its copies move to the GEMMs, which may be in a loop inside. Those copies no longer overlap with
computation, so the pass is off (``parts=1``) unless a kernel does not fit otherwise; a remark names
the buffers (TW7551).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.amd_gemms import READ_BITS
from tilewright.analysis.layout_inference.amd_storage import COLUMNS, axis_of_k, is_free
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    GemmOp,
    KernelOp,
    RegionOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.expressions import combined
from tilewright.passes.gpu.tile_regions import TileRegion, part_of
from tilewright.passes.tile.index_builder import IndexBuilder

SPLIT = "TW7551"
_OPERANDS = ((0, True), (1, False))
"""The operands of a GEMM by their index, and whether they are A."""
_GROUPS = 4
"""The most groups of lanes that K is divided among (`layouts.hardware.matrix_core`)."""


@dataclass(frozen=True)
class SplitOperands(Pass):
    """Fill operands of GEMMs in parts along K."""

    name = "split-operands"

    parts: int = 1
    """In how many parts."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if self.parts == 1:
            return
        for kernel in kernels(module):
            if amd_chip_of(kernel) is not None:
                _Kernel(kernel, self.parts, engine).run()


@dataclass(frozen=True)
class _Operand:
    """A shared buffer that is filled in parts."""

    alloc: AllocOp
    copy: CopyOp
    axis: int
    """Of the buffer: K."""
    source: TileRegion
    source_axis: int

    @property
    def size(self) -> int:
        return shape_of(self.alloc.result.type)[self.axis]


class _Kernel:
    """The operands of one kernel."""

    def __init__(self, kernel: KernelOp, parts: int, engine: DiagnosticEngine) -> None:
        self.kernel, self.parts, self.engine = kernel, parts, engine
        self.written = {region.base for op in walk(kernel) for region in writes(op)}

    def run(self) -> None:
        found: dict[SSAValue, _Operand] = {
            op.result: operand
            for op in list(walk(self.kernel))
            if isinstance(op, AllocOp) and (operand := self._operand(op)) is not None
        }
        gemms = [op for op in walk(self.kernel) if isinstance(op, GemmOp)]
        for op in gemms:  # the other operand must be something of which a part can be read
            for value in (op.a, op.b):
                if space_of(value.type) is Space.FRAGMENT:
                    for other in (op.a, op.b):
                        found.pop(other, None)
        smaller = {buffer: self._smaller(each) for buffer, each in found.items()}
        for op in gemms:
            if op.a in found or op.b in found:
                self._split(op, found, smaller)
        for each in found.values():
            for op in (each.copy, each.alloc):
                op.detach()
                op.erase()

    def _operand(self, op: AllocOp) -> _Operand | None:
        """How a buffer is filled, if by one copy, and GEMMs alone read it along one dimension."""
        users = [use.operation for use in op.result.uses]
        copies = [each for each in users if isinstance(each, CopyOp)]
        gemms = [each for each in users if isinstance(each, GemmOp)]
        if not gemms or len(copies) != 1 or len(copies) + len(gemms) != len(users):
            return None
        (copy,) = copies
        if op.alias is not None or not is_free(op.result) or len(shape_of(op.result.type)) != 2:
            return None
        axes = {
            axis_of_k(gemm, is_a=is_a)
            for gemm in gemms
            for index, is_a in _OPERANDS
            if gemm.operands[index] is op.result
        }
        if len(axes) != 1 or copy.dst is not op.result or not _is_plain(copy):
            return None
        if not all(_comes_before(copy, gemm) for gemm in gemms):
            return None
        source = part_of(copy.src)
        if source.buffer in self.written or [source.extents[axis] for axis in source.axes] != list(
            shape_of(op.result.type)
        ):
            return None
        axis = 0 if axes.pop() == COLUMNS else 1
        found = _Operand(op, copy, axis, source, source.axes[axis])
        bits = bit_width(element_type_of(op.result.type))
        return found if found.size * bits % (self.parts * READ_BITS * _GROUPS) == 0 else None

    def _smaller(self, operand: _Operand) -> SSAValue:
        """The buffer for one part."""
        old = operand.alloc
        shape = list(shape_of(old.result.type))
        shape[operand.axis] //= self.parts
        type = MemRefType(
            element_type_of(old.result.type), shape, NoneAttr(), SpaceAttr(Space.SHARED)
        )
        dtype = None if old.dtype is None else old.dtype.data
        made = IndexBuilder(old).add(AllocOp(type, name=old.buffer_name, dtype=dtype)).results[0]
        made.name_hint = old.result.name_hint
        return made

    def _split(
        self, op: GemmOp, found: dict[SSAValue, _Operand], smaller: dict[SSAValue, SSAValue]
    ) -> None:
        code = IndexBuilder(op)
        names = [f"'{found[each].alloc.buffer_name}'" for each in (op.a, op.b) if each in found]
        self.engine.remark(
            op,
            f"{' and '.join(names)} filled in {self.parts} parts along K, sequentially: "
            "the whole does not fit into shared memory; these copies do not overlap with "
            "computation",
            SPLIT,
        ).note(None, "help: no change is required; use a smaller tile along K for faster code")
        for part in range(self.parts):
            operands: list[SSAValue] = []
            for value, (_, is_a) in zip((op.a, op.b), _OPERANDS, strict=True):
                operand = found.get(value)
                if operand is not None:
                    _fill(code, operand, smaller[value], part, self.parts)
                    operands.append(smaller[value])
                else:
                    axis = 0 if axis_of_k(op, is_a=is_a) == COLUMNS else 1
                    operands.append(_region(code, part_of(value), axis, part, self.parts))
            again = op.clone()
            again.operands[0], again.operands[1] = operands
            if part:
                again.properties.pop("clear", None)
                if again.clear_if is not None:
                    again = _accumulating(again)
            code.add(again).location = op.location
        code.rewriter.erase(op)


def _accumulating(op: GemmOp) -> GemmOp:
    """The same without a condition under which it overwrites its result."""
    return GemmOp(
        op.a,
        op.b,
        op.c,
        transpose_a=op.transpose_a is not None,
        transpose_b=op.transpose_b is not None,
        policy=op.policy.data,
        k_pack=op.k_pack.value.data,
        attributes=op.attributes,
    )


def _fill(code: IndexBuilder, operand: _Operand, buffer: SSAValue, part: int, parts: int) -> None:
    source = _region(code, operand.source, operand.source_axis, part, parts)
    policy = operand.copy.eviction_policy
    copy = CopyOp(
        source,
        buffer,
        fill=operand.copy.fill,
        eviction_policy=None if policy is None else policy.data,
    )
    code.add(copy).location = operand.copy.location


def _region(code: IndexBuilder, whole: TileRegion, axis: int, part: int, parts: int) -> SSAValue:
    """One of several parts of a region along a dimension."""
    extents, offsets = list(whole.extents), list(whole.offsets)
    extent = extents[axis]
    assert isinstance(extent, int), "tiles have constant extents"
    extents[axis] = extent // parts
    offsets[axis] = combined(code, "+", offsets[axis], part * (extent // parts))
    return code.add(RegionOp(whole.buffer, offsets, extents)).results[0]


def _is_plain(op: CopyOp) -> bool:
    """Whether a copy fills a buffer from a tensor, as the compiler likes."""
    return (
        space_of(op.src.type) is Space.GLOBAL
        and op.coalesced_width is None
        and op.loop_layout is None
    )


def _comes_before(op: Operation, user: Operation) -> bool:
    """Whether an op runs before another one, each time that runs."""
    outer: Operation | None = user
    while outer is not None and outer.parent is not op.parent:
        outer = outer.parent_op()
    return outer is not None and op.is_before_in_block(outer)
