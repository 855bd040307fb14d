"""`split-operands`: operands of GEMMs that are filled in parts along K, sequentially.

    copy %A[...] -> %As                      copy %A[... first half of K] -> %As
    gemm %As, %Bs -> %C               ->     gemm %As, %Bs[first half] -> %C
                                             copy %A[... second half of K] -> %As
                                             gemm %As, %Bs[second half] -> %C

Tiles for the shared memory of other GPUs may exceed the 64 KiB of a block. A buffer that is filled
from a tensor and is an operand of GEMMs, and nothing else, needs only as much as one GEMM reads at
once (`operand_parts`). Its copies move to the GEMMs, which may be in a loop inside, and every GEMM
has copies of its own: what two of them read along different dimensions is in two buffers, which
need not exist at the same time. The tensor is read again for each.

Those copies do not overlap with computation, so the pass is off (``parts=1``) unless a kernel does
not fit otherwise; a remark names the buffers (TW7551). It has two forms:

pipelined
    Operands that GEMMs read along one dimension get so many parts. The loop around the GEMMs stays
    pipelined, for its other copies.
not pipelined
    Operands that take more than the given fraction of shared memory get parts that do not, also
    those that are read along both dimensions, or go with a fragment. As every iteration waits for
    these copies, others are issued together with them, and buffers may overlap within an iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, CopyOp, GemmOp, RegionOp, Space, SpaceAttr
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.amd.operand_parts import (
    Operand,
    Read,
    SplitGemm,
    innermost_pipeline,
    k_axis,
    matrix_axes,
    plan_equal_parts,
    plan_small_parts,
)
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import TileRegion, part_of

SPLIT = "TW7551"


@dataclass(frozen=True)
class SplitOperands(Pass):
    """Fill operands of GEMMs in parts along K."""

    name = "split-operands"

    parts: int = 1
    """How many; not pipelined: a part takes at most 1 / parts of shared memory, if K can be divided
    so far."""
    pipelined: bool = True
    """Whether loops stay pipelined."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if self.parts == 1:
            return
        for kernel in kernels(module):
            chip = amd_chip_of(kernel)
            if chip is None:
                continue
            if self.pipelined:
                plan = plan_equal_parts(kernel, self.parts)
            else:
                plan = plan_small_parts(kernel, chip.lds_bytes // self.parts)
            buffers = _Buffers()
            for gemm in plan.gemms:
                _report(gemm, engine)
                loop = innermost_pipeline(gemm.op)
                if loop is not None and not self.pipelined:
                    loop.num_stages = IntegerAttr(0, loop.num_stages.type)
                _split(gemm, buffers)
            for operand in plan.operands:
                _erase(operand)


@dataclass(frozen=True)
class _Buffers:
    """The buffers for one part of each operand."""

    made: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, tuple[int, ...]], SSAValue]
    )

    def of(self, operand: Operand, shape: tuple[int, ...]) -> SSAValue:
        """A buffer of this shape, one for all GEMMs that read an operand so."""
        key = operand.alloc.result, shape
        if key not in self.made:
            others = sum(buffer is operand.alloc.result for buffer, _ in self.made)
            self.made[key] = _allocated(operand.alloc, shape, f"_{others + 1}" if others else "")
        return self.made[key]


def _allocated(old: AllocOp, shape: tuple[int, ...], suffix: str) -> SSAValue:
    element = element_type_of(old.result.type)
    type = MemRefType(element, shape, NoneAttr(), SpaceAttr(Space.SHARED))
    alloc = AllocOp(type, name=f"{old.buffer_name}{suffix}", dtype=unsigned_dtype(old.result))
    made = IndexBuilder(old).add(alloc).results[0]
    hint = old.result.name_hint
    made.name_hint = None if hint is None else f"{hint}{suffix}"
    return made


def _report(gemm: SplitGemm, engine: DiagnosticEngine) -> None:
    remark = engine.remark(
        gemm.op,
        f"{gemm}, sequentially: the whole does not fit into shared memory; these copies do not "
        "overlap with computation",
        SPLIT,
    )
    for operand in (each for each in gemm.operands if each.is_read_again):
        remark.note(
            operand.copy,
            f"'{operand.alloc.buffer_name}' is read from global memory again each time that a "
            "GEMM uses it",
        )
    remark.note(None, "help: no change is required; use a smaller tile along K for faster code")


def _split(gemm: SplitGemm, buffers: _Buffers) -> None:
    op = gemm.op
    code = IndexBuilder(op)
    for part in range(gemm.parts):
        a, b = (_operand(code, gemm, index, part, buffers) for index in (0, 1))
        code.add(_part(op, a, b, is_first=part == 0)).location = op.location
    code.rewriter.erase(op)


def _operand(
    code: IndexBuilder, gemm: SplitGemm, index: int, part: int, buffers: _Buffers
) -> SSAValue:
    """A part of A (0) or B (1): filled here, or of what is there as a whole."""
    read, axis = gemm.reads[index], k_axis(gemm.op, index)
    if read is None:
        whole = part_of(gemm.op.operands[index])
        return _region(code, whole, matrix_axes(whole)[axis], part, gemm.parts)
    extents = list(read.extents)
    extents[axis] //= gemm.parts
    buffer = buffers.of(read.operand, tuple(extents))
    is_filled = index == 1 and read == gemm.reads[0] and axis == k_axis(gemm.op, 0)
    if not is_filled:
        _fill(code, read, buffer, axis, part * extents[axis])
    return buffer


def _part(op: GemmOp, a: SSAValue, b: SSAValue, *, is_first: bool) -> GemmOp:
    """The same GEMM of other operands, which adds to its result except for the first part."""
    return GemmOp(
        a,
        b,
        op.c,
        transpose_a=op.transpose_a is not None,
        transpose_b=op.transpose_b is not None,
        clear=is_first and op.clear is not None,
        clear_if=op.clear_if if is_first else None,
        policy=op.policy.data,
        k_pack=op.k_pack.value.data,
        asynchronous=op.asynchronous is not None,
        precision=None if op.precision is None else op.precision.data,
        attributes=op.attributes,
    )


def _fill(code: IndexBuilder, read: Read, buffer: SSAValue, axis: int, along_k: int) -> None:
    """Copy what a GEMM reads, from an index along K on, as far as the buffer goes."""
    whole, copy = read.operand.source, read.operand.copy
    offsets, extents = list(whole.offsets), list(whole.extents)
    for index, at in enumerate(whole.axes):
        first = read.offsets[index] + (along_k if index == axis else 0)
        offsets[at] = combined(code, "+", offsets[at], first)
        extents[at] = shape_of(buffer.type)[index]
    source = code.add(RegionOp(whole.buffer, offsets, extents)).results[0]
    policy = None if copy.eviction_policy is None else copy.eviction_policy.data
    part = CopyOp(
        source, buffer, fill=copy.fill, eviction_policy=policy, attributes=copy.attributes
    )
    code.add(part).location = copy.location


def _region(code: IndexBuilder, whole: TileRegion, axis: int, part: int, parts: int) -> SSAValue:
    """One of several parts of a region along a dimension."""
    extents, offsets = list(whole.extents), list(whole.offsets)
    extent = extents[axis]
    assert isinstance(extent, int), "tiles have constant extents"
    extents[axis] = extent // parts
    offsets[axis] = combined(code, "+", offsets[axis], part * (extent // parts))
    return code.add(RegionOp(whole.buffer, offsets, extents)).results[0]


def _erase(operand: Operand) -> None:
    """The copy and the buffer, which no GEMM reads any more."""
    regions = [use.operation for use in operand.alloc.result.uses]
    dead = [op for op in regions if isinstance(op, RegionOp)]
    for op in (*dead, operand.copy, operand.alloc):
        op.detach()
        op.erase()
