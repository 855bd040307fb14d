"""Express what a kernel computes with ops on blocks of tiles.

    tile.parallel (i, j) { y[i, j] = exp(x[i, j]) }   ->   tensix.elementwise ins(x) outs(y)
    tile.fill %acc, %zero                             ->   tensix.elementwise ins() outs(acc)
    tile.copy %acc -> %y           (on the chip)      ->   tensix.elementwise ins(acc) outs(y)
    tile.copy %acc(f32) -> %C(bf16)  (to DRAM)        ->   tensix.elementwise, tile.copy
    tile.pipeline num_stages(3)                       ->   scf.for {tt.depth = 3}

``tile.gemm``, ``tile.reduce``, ``tile.transpose`` and copies from and to DRAM stay: later passes
lower them as they are. An op without a counterpart is an error that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.arith import CmpiOp, ConstantOp, SelectOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tensix.formats import format_of
from tilewright.dialects.tile import (
    AllocOp,
    AssumeOp,
    CopyOp,
    FillOp,
    GemmOp,
    KernelOp,
    ParallelOp,
    PipelineOp,
    ReduceOp,
    RegionOp,
    TransposeOp,
    YieldOp,
    buffer_type,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Integers, Mixed, integers, integers_attr
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import DEPTH, functions
from tilewright.passes.tenstorrent.block_shapes import Axes, axes_of, name_of
from tilewright.passes.tenstorrent.buffer_uses import alloc_of
from tilewright.passes.tenstorrent.choices import select_instead_of_branches
from tilewright.passes.tenstorrent.element_bodies import elementwise_op, tiles_of
from tilewright.passes.tenstorrent.masks import EXTENTS, insert_masks
from tilewright.passes.tenstorrent.reports import PARTIAL_BLOCK, NotSupported, reporting

LOWEST = -3.0e38
"""The neutral element of a maximum, finite in every format."""


@dataclass(frozen=True)
class TensorizeTt(Pass):
    """Lower tile ops to ops on blocks of tiles."""

    name = "tensorize-tt"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            axes = axes_of(function)
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                with reporting(engine):
                    _tensorize(function, kernel, axes)


def _tensorize(function: FuncOp, kernel: KernelOp, axes: Axes) -> None:
    for op in list(walk(kernel)):
        if isinstance(op, AllocOp):
            _set_extents(op, axes)
    for op in list(walk(kernel)):
        if op.parent is None or any(isinstance(each, ParallelOp) for each in _around(op, kernel)):
            continue
        _lower(op, axes)


def _around(op: Operation, kernel: KernelOp) -> list[Operation]:
    found: list[Operation] = []
    parent = op.parent_op()
    while parent is not None and parent is not kernel:
        found.append(parent)
        parent = parent.parent_op()
    return found


def _set_extents(op: AllocOp, axes: Axes) -> None:
    if space_of(op.result.type) is Space.GLOBAL:
        raise NotSupported(op, "a buffer in global memory inside the kernel is not supported")
    if format_of(element_type_of(op.result.type)) is None:
        raise NotSupported(
            op,
            f"'{op.buffer_name}' has elements of type '{element_type_of(op.result.type)}', which "
            "has no tile format: use bfloat16, float16, float32 or int32",
            "TW7118",
        )
    if len(axes.of_buffer(op.result)) > 2:
        raise NotSupported(
            op,
            f"'{op.buffer_name}' has more than 2 dimensions of several elements: use one buffer "
            "per matrix",
            PARTIAL_BLOCK,
        )
    rows, columns = axes.extents(op.result)
    op.attributes[EXTENTS] = integers_attr((rows, columns))


def extents_of(buffer: SSAValue) -> tuple[int, int]:
    """Rows and columns of an on-chip buffer, in elements."""
    owner = buffer.owner
    assert isinstance(owner, AllocOp), buffer
    rows, columns = integers(cast("Integers", owner.attributes[EXTENTS]))
    return rows, columns


def buffer_tiles(buffer: SSAValue) -> tuple[int, int]:
    """Rows and columns of an on-chip buffer, in tiles."""
    return tiles_of(extents_of(buffer))


def _lower(op: Operation, axes: Axes) -> None:
    if isinstance(op, ParallelOp):
        select_instead_of_branches(op)
        made = elementwise_op(op, axes)
        Rewriter().replace_op(op, made)
        insert_masks(made)
    elif isinstance(op, FillOp):
        _lower_fill(op)
    elif isinstance(op, CopyOp):
        _lower_copy(op)
    elif isinstance(op, PipelineOp):
        _lower_pipeline(op)
    elif isinstance(op, AssumeOp):
        Rewriter().erase(op)
    elif isinstance(op, (GemmOp, ReduceOp, TransposeOp)):
        for operand in op.operands:
            if operand.type != IndexType() and isinstance(operand.owner, RegionOp):
                _whole(operand, op)
        if isinstance(op, GemmOp):
            _prepare_gemm(op)
        elif isinstance(op, ReduceOp):
            _mask_reduction(op)
    elif not (op.regions or is_removable(op) or isinstance(op, (YieldOp, ScfYieldOp))):
        raise NotSupported(
            op,
            f"'{op.name}' has no counterpart on the Tenstorrent target: use T.copy, T.gemm, "
            "T.reduce and element-wise T.Parallel",
        )


def _prepare_gemm(op: GemmOp) -> None:
    """Transpose A in a buffer of its own: the unpacker transposes tiles of B only."""
    if op.clear_if is not None:
        raise NotSupported(
            op, "clear_accum as a run-time value is not supported: clear with T.clear"
        )
    if op.transpose_a is None:
        return
    rows, columns = extents_of(op.a)
    source = alloc_of(op.a)
    element = element_type_of(op.a.type)
    made = AllocOp(
        buffer_type(element, (columns, rows), Space.SHARED), name=f"{source.buffer_name}_t"
    )
    made.attributes[EXTENTS] = integers_attr((columns, rows))
    rewriter = Rewriter()
    rewriter.insert_after(source, made, op)
    rewriter.insert_before(op, TransposeOp(op.a, made.result))
    op.operands[0] = made.result
    op.transpose_a = None


def _mask_reduction(op: ReduceOp) -> None:
    """Replace what follows the last element of a partly filled tile by the neutral element."""
    rows, columns = extents_of(op.src)
    across = reduces_columns(op.src, op.dst)
    extent = columns if across else rows
    if extent % 32 == 0 or op.kind.data not in ("sum", "max"):
        return
    source = op.src
    masked = staging_buffer(op, source, element_type_of(source.type), alloc_of(source).buffer_name)
    made = ElementwiseOp(buffer_tiles(source), [source], ["tile"], [masked])
    index = made.indices[1 if across else 0]
    element = element_type_of(source.type)
    bound = ConstantOp.of(extent, IndexType())
    inside = CmpiOp("slt", index, bound)
    neutral = ConstantOp.of(0.0 if op.kind.data == "sum" else LOWEST, element)
    chosen = SelectOp(inside, made.elements[0], neutral)
    made.body.block.add_ops([bound, inside, neutral, chosen, TileYieldOp([chosen.results[0]])])
    Rewriter().insert_before(op, made)
    insert_masks(made)
    op.operands[0] = masked


def reduces_columns(source: SSAValue, target: SSAValue) -> bool:
    """Whether a reduction runs along the columns of tiles, so that rows remain."""
    rows, columns = extents_of(source)
    remaining = extents_of(target)
    if remaining == (rows, 1) and rows > 1:
        return True
    if remaining == (1, columns) and columns > 1:
        return False
    return columns > 1


def _whole(value: SSAValue, op: Operation) -> SSAValue:
    """The on-chip buffer of a side; an error if it is a part of one."""
    owner = value.owner
    if not isinstance(owner, RegionOp):
        return value
    if tuple(owner.extents) != tuple(shape_of(owner.base.type)):
        raise NotSupported(
            op,
            f"a part of '{name_of(owner.base)}' is accessed: on-chip buffers are copied, filled "
            "and computed as a whole; use one buffer per part",
            PARTIAL_BLOCK,
        )
    return owner.base


def identity(op: Operation, source: SSAValue, target: SSAValue) -> ElementwiseOp:
    """An element-wise op that copies a buffer, converting its elements."""
    made = ElementwiseOp(buffer_tiles(target), [source], ["tile"], [target])
    made.body.block.add_op(TileYieldOp([made.elements[0]]))
    return made


def _lower_fill(op: FillOp) -> None:
    target = _whole(op.dst, op)
    if space_of(target.type) is Space.GLOBAL:
        raise NotSupported(
            op, "T.fill of a tensor in global memory: fill an on-chip buffer and copy it"
        )
    made = ElementwiseOp(buffer_tiles(target), [], [], [target])
    made.body.block.add_op(TileYieldOp([op.value]))
    Rewriter().replace_op(op, made, ())


def zero_fill(buffer: SSAValue) -> ElementwiseOp:
    """An element-wise op that sets a buffer to zero."""
    made = ElementwiseOp(buffer_tiles(buffer), [], [], [buffer])
    zero = ConstantOp.of(0.0, element_type_of(buffer.type))
    made.body.block.add_ops([zero, TileYieldOp([zero.results[0]])])
    return made


def _lower_copy(op: CopyOp) -> None:
    from_dram = space_of(op.src.type) is Space.GLOBAL
    to_dram = space_of(op.dst.type) is Space.GLOBAL
    if from_dram and to_dram:
        raise NotSupported(
            op, "a copy between two tensors in DRAM: copy through a T.alloc_shared buffer"
        )
    if not from_dram and not to_dram:
        made = identity(op, _whole(op.src, op), _whole(op.dst, op))
        Rewriter().replace_op(op, made, ())
        return
    buffer = _whole(op.dst if from_dram else op.src, op)
    tensor = op.src if from_dram else op.dst
    element = element_type_of(tensor.type)
    if element == element_type_of(buffer.type):
        return
    staged = staging_buffer(op, buffer, element, name_of(base_of(tensor)))
    rewriter = Rewriter()
    if from_dram:
        rewriter.replace_op(op, [CopyOp(tensor, staged), identity(op, staged, buffer)], ())
    else:
        rewriter.replace_op(op, [identity(op, buffer, staged), CopyOp(staged, tensor)], ())


def staging_buffer(op: Operation, like: SSAValue, element: Attribute, name: str) -> SSAValue:
    """A new buffer of the shape of `like`, allocated at the start of the kernel."""
    owner = like.owner
    assert isinstance(owner, AllocOp)
    made = AllocOp(buffer_type(element, shape_of(like.type), Space.SHARED), name=f"{name}_tile")
    made.attributes[EXTENTS] = owner.attributes[EXTENTS]
    Rewriter().insert_after(owner, made, op)
    return made.result


def _lower_pipeline(op: PipelineOp) -> None:
    rewriter = Rewriter()
    lower, upper, step = (_index(rewriter, op, bound) for bound in (op.lower, op.upper, 1))
    region = op.body
    block = region.block
    end = block.last_op
    assert end is not None
    block.erase_op(end)
    block.add_op(ScfYieldOp())
    op.regions[0].detach_block(block)
    made = ForOp(lower, upper, step, [], Region(block))
    made.attributes[DEPTH] = IntegerAttr(max(2, op.stages), i64)
    rewriter.replace_op(op, made, ())


def _index(rewriter: Rewriter, op: Operation, value: Mixed) -> SSAValue:
    if isinstance(value, SSAValue):
        return value
    constant = ConstantOp.of(value, IndexType())
    rewriter.insert(constant, InsertPoint.before(op), op)
    return constant.results[0]
