"""`stage-copies`: copies from global to shared memory go through registers, in two steps.

    tile.pipeline { copy %A[...] -> %As;        tile.pipeline { copy %A[...] -> %As_staged;
                    gemm }                 ->                   copy %As_staged -> %As;
                                                                gemm }

Most of these GPUs have no copy that fills shared memory 16 bytes a lane while the threads go on;
where there is one, `choose-direct-copies` has chosen what it is for. A load into registers does go
on until its registers are used, so it is enough to put other work between the two steps:
`plan-staging` schedules the loads of an iteration before the GEMMs of the iteration before, and the
writes to shared memory after them.

The pass chooses the layout of the registers (`analysis.layout_inference.staging`): 16 bytes along
the tensor's contiguous axis. If shared memory holds the tile along the other axis, as matrix
instructions read operands, the second step transposes: a thread holds several rows of its columns
and writes each column as a vector. Such a copy is split outside of pipelined loops, too. A tile
that is stored both ways (`duplicate-operands`) is loaded once.

A tile that does not divide evenly among the threads stays one copy, which threads make element by
element where it stands; a remark gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.amd_storage import COLUMNS, contiguous_axes
from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.analysis.layout_inference.staging import (
    ACCESS_BYTES,
    Staging,
    direct,
    transposed,
)
from tilewright.analysis.threads.thread_dependence import begins_by_thread
from tilewright.dialects.amd import names
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    KernelOp,
    ParallelOp,
    PipelineOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.memory.units import element_bytes
from tilewright.passes.gpu.conversions import copied
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.naming import buffer_name

NOT_STAGED = "TW7500"
STAGING = "amd.staging"
"""Attribute of a fragment that a copy goes through."""


@dataclass(frozen=True)
class StageCopies(Pass):
    """Split copies from global to shared memory into a load and a store."""

    name = "stage-copies"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            if amd_chip_of(kernel) is not None:
                _stage_all(kernel, engine)


def _stage_all(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    axes = contiguous_axes(kernel)
    for op in list(walk(kernel)):
        if not isinstance(op, CopyOp) or op.parent is None or not is_fill(op):
            continue
        if names.DIRECT in op.attributes:
            continue
        is_across = axes.get(op.dst) == COLUMNS
        if not is_across and _stage_with_next(op, axes):
            continue
        if not is_across and not is_pipelined(op):
            continue
        found = _layouts(op, is_across=is_across)
        if isinstance(found, Staging):
            _split(op, found)
        else:
            text = f"copy to '{buffer_name(op.dst)}' not staged: {found}"
            remark = engine.remark(op, text, NOT_STAGED)
            remark.note(None, f"help: {_suggest_fix(op)}")


def _stage_with_next(op: CopyOp, axes: Mapping[SSAValue, int]) -> bool:
    """Stage a copy together with the next one, if that is the same to a transposed buffer."""
    second = op.next_op
    if not isinstance(second, CopyOp) or second.src is not op.src or not is_fill(second):
        return False
    if second.fill is not op.fill:
        return False
    if axes.get(second.dst) != COLUMNS:
        return False
    found = _layouts(second, is_across=True)
    if not isinstance(found, Staging) or found.store is None:
        return False
    code = IndexBuilder(op)
    fragment = _load(code, op, found)
    code.add(CopyOp(fragment, op.dst))
    _store(code, fragment, second.dst, found)
    for each in (op, second):
        code.rewriter.erase(each)
    return True


def is_fill(op: CopyOp) -> bool:
    """Whether a copy fills a whole shared buffer from a tensor."""
    space = space_of(op.dst.type)
    return (
        space_of(op.src.type) is Space.GLOBAL
        and space is not None
        and space.is_shared
        and isinstance(op.dst.owner, AllocOp)
    )


def is_pipelined(op: Operation) -> bool:
    """Whether an op belongs to a loop whose statements the compiler schedules."""
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, PipelineOp):
        if isinstance(outer, KernelOp | ParallelOp):
            return False
        outer = outer.parent_op()
    return outer is not None and outer.stages > 0 and outer.manual_stage is None


def _layouts(op: CopyOp, *, is_across: bool) -> Staging | str:
    """The layouts of both steps, or why there are none."""
    if begins_by_thread(op.src) or begins_by_thread(op.dst):
        return "each thread copies a part of its own"
    if op.coalesced_width is not None or op.loop_layout is not None:
        return "the user chose the threads of its elements"
    shape, threads = shape_of(op.dst.type), threads_of(op).count
    size = _element_bytes(op)
    found = transposed(shape, threads, size) if is_across else direct(shape, threads, size)
    if found is None:
        extents = " x ".join(map(str, shape))
        return f"{extents} elements do not divide evenly among {threads} threads"
    return found


def _suggest_fix(op: CopyOp) -> str:
    threads, size = threads_of(op).count, _element_bytes(op)
    return (
        f"use tiles of a multiple of {threads * ACCESS_BYTES // size} elements ({threads} threads "
        f"x {ACCESS_BYTES} B), and T.copy without coalesced_width or loop_layout"
    )


def _element_bytes(op: CopyOp) -> int:
    return element_bytes(bit_width(element_type_of(op.src.type)))


def _split(op: CopyOp, staging: Staging) -> None:
    code = IndexBuilder(op)
    fragment = _load(code, op, staging)
    if staging.store is None:
        code.add(CopyOp(fragment, op.dst))
    else:
        _store(code, fragment, op.dst, staging)
    code.rewriter.erase(op)


def _load(code: IndexBuilder, op: CopyOp, staging: Staging) -> SSAValue:
    """The first step: the tile in registers."""
    fragment = _fragment(op, staging)
    policy = None if op.eviction_policy is None else op.eviction_policy.data
    code.add(CopyOp(op.src, fragment, fill=op.fill, eviction_policy=policy))
    return fragment


def _fragment(op: CopyOp, staging: Staging) -> SSAValue:
    """Registers for the tile, allocated beside its shared buffer."""
    beside = op.dst.owner
    assert isinstance(beside, AllocOp)
    element = element_type_of(op.src.type)
    shape = shape_of(op.dst.type)
    type = MemRefType(element, shape, NoneAttr(), SpaceAttr(Space.FRAGMENT))
    name = f"{buffer_name(op.dst)}_staged"
    made = AllocOp(
        type, name=name, layout=staging.fragment.attribute(), dtype=unsigned_dtype(op.src)
    )
    made.attributes[STAGING] = UnitAttr()
    IndexBuilder(beside).add(made)
    made.result.name_hint = name
    return made.result


def _store(code: IndexBuilder, fragment: SSAValue, target: SSAValue, staging: Staging) -> None:
    """The second step, with the dimensions in the order of shared memory."""
    assert staging.store is not None
    loop = ParallelOp(list(reversed(shape_of(target.type))), layout=staging.store.attribute())
    code.add(loop)
    body = code.inside(loop.body.block)
    position = list(reversed(loop.body.block.args))
    loaded = body.add(LoadOp(fragment, position)).results[0]
    body.add(StoreOp(copied(body, loaded, fragment, target), target, position))
