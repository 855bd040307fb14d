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

from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.arith import ConstantOp
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
    PersistentOp,
    PipelineOp,
    ReduceOp,
    RegionOp,
    TransposeOp,
    YieldOp,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.interfaces import has_body
from tilewright.dialects.tile.mixed import Mixed, integers_attr
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import DEPTH, functions
from tilewright.passes.tenstorrent.block_ops import buffer_tiles, identity, staging_buffer
from tilewright.passes.tenstorrent.block_shapes import Axes, axes_of, name_of
from tilewright.passes.tenstorrent.choices import select_instead_of_branches
from tilewright.passes.tenstorrent.element_bodies import elementwise_op
from tilewright.passes.tenstorrent.masks import insert_masks
from tilewright.passes.tenstorrent.positions import EXTENTS, insert_positions
from tilewright.passes.tenstorrent.prepare_operands import prepare_gemm, prepare_reduction
from tilewright.passes.tenstorrent.reports import PARTIAL_BLOCK, NotSupported, reporting


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


def _lower(op: Operation, axes: Axes) -> None:
    if isinstance(op, ParallelOp):
        select_instead_of_branches(op)
        made = elementwise_op(op, axes)
        Rewriter().replace_op(op, made)
        insert_masks(insert_positions(made))
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
            prepare_gemm(op)
        elif isinstance(op, ReduceOp):
            prepare_reduction(op)
    elif isinstance(op, PersistentOp):
        raise NotSupported(
            op,
            "T.Persistent is supported where it is all that a kernel does, with one worker per "
            "block of the grid: use one block per tile, T.Kernel(columns, rows)",
        )
    elif not (has_body(op) or is_removable(op) or isinstance(op, (YieldOp, ScfYieldOp))):
        raise NotSupported(
            op,
            f"'{op.name}' has no counterpart on the Tenstorrent target: use T.copy, T.gemm, "
            "T.reduce and element-wise T.Parallel",
        )


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


def _lower_fill(op: FillOp) -> None:
    target = _whole(op.dst, op)
    if space_of(target.type) is Space.GLOBAL:
        raise NotSupported(
            op, "T.fill of a tensor in global memory: fill an on-chip buffer and copy it"
        )
    made = ElementwiseOp(buffer_tiles(target), [], [], [target])
    made.body.block.add_op(TileYieldOp([op.value]))
    Rewriter().replace_op(op, made, ())


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
