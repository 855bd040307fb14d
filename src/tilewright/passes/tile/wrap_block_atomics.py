"""Let one thread make the atomic updates that a block makes once.

    %old = tile.atomic add %n[0], %one   ->   %cell = tile.alloc : memref<1xi32, #shared>
                                              tile.parallel (%u) in (1) {
                                                %v = tile.atomic add %n[0], %one
                                                memref.store %v, %cell[%u] }
                                              %old = memref.load %cell[0]

Outside of parallel loops every thread of a GPU runs the code of a block. That changes nothing for
arithmetic, loads and stores of equal values; an atomic update of one element would be made by each
of them. Its result goes through shared memory, so that all threads decide alike.

An update that releases is made after all threads of the block have written what it publishes; what
threads read after one that acquires, they read after it. Code that names threads is not changed: it
selects the threads that update something.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.threads.thread_dependence import is_block_code
from tilewright.analysis.threads.uniformity import comes_together
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, AtomicOp, ParallelOp, Space, SpaceAttr
from tilewright.dialects.tile.attributes import TargetAttr
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.names import TARGET
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.tile.index_builder import IndexBuilder

NOT_FOR_ALL = "TW4076"
"""The result of an atomic, or its order, is for threads that are not known to reach it."""
_ACQUIRES = ("acquire", "consume", "acq_rel", "seq_cst")
_RELEASES = ("release", "acq_rel", "seq_cst")


@dataclass(frozen=True)
class WrapBlockAtomics(Pass):
    """Put atomic updates that a block makes once into a parallel loop of one iteration."""

    name = "wrap-block-atomics"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.ops:
            if isinstance(function, FuncOp) and _has_threads(function):
                for op in list(walk(function)):
                    if isinstance(op, AtomicOp) and op.is_element and is_block_code(op):
                        _wrap(op, engine)


def _has_threads(function: FuncOp) -> bool:
    """Whether all threads of a block run its code: on GPUs."""
    target = function.attributes.get(TARGET)
    return not isinstance(target, TargetAttr) or target.data.kind != "tenstorrent"


def _wrap(op: AtomicOp, engine: DiagnosticEngine) -> None:
    order = op.order
    is_used = op.previous is not None and any(True for _ in op.previous.uses)
    is_ordered = order in (*_ACQUIRES, *_RELEASES)
    if (is_used or is_ordered) and not _is_reached(op, engine, is_ordered=is_ordered):
        return
    code = IndexBuilder(op)
    cell = _cell(code, op) if is_used else None
    if order in _RELEASES:
        code.add(SyncOp("block"))
    loop = ParallelOp([1])
    code.add(loop)
    body, here = code.inside(loop.body.block), loop.body.block.args[0]
    made = op.of_element(op.dst, list(op.indices))
    body.add(made)
    results: list[SSAValue] = list(made.results)
    if cell is not None and made.previous is not None:
        body.add(StoreOp(made.previous, cell, [here]))
        results = [code.add(LoadOp(cell, [code.index(0)])).results[0]]
    elif order in _ACQUIRES:
        code.add(SyncOp("block"))
    if op.previous is not None:
        results[0].name_hint = op.previous.name_hint
    if is_used:
        code.rewriter.replace_op(op, [], results)
    else:
        code.rewriter.erase(op)


def _cell(code: IndexBuilder, op: AtomicOp) -> SSAValue:
    """A cell of shared memory for the result."""
    type = MemRefType(element_type_of(op.dst.type), (1,), NoneAttr(), SpaceAttr(Space.SHARED))
    name = (op.previous.name_hint if op.previous is not None else None) or "previous"
    return code.add(AllocOp(type, name=f"{name}_broadcast")).results[0]


def _is_reached(op: AtomicOp, engine: DiagnosticEngine, *, is_ordered: bool) -> bool:
    """Whether all threads reach an atomic, so that they can wait for each other there."""
    if is_ordered and enclosing(op, WsOp) is not None:
        reason = "its memory order is for all threads of the block, and only one role reaches it"
        fix = "let one thread of the role make the update, after a barrier of the role"
    elif not comes_together(op, atomics_differ=False):
        reason = "not all threads of the block are known to reach it"
        fix = "move it out of the branch or loop, or let one thread make it: if tx == 0"
    else:
        return True
    what = "memory order" if is_ordered else "result"
    diagnostic = engine.error(
        op, f"atomic {op.kind.data} with a {what} in code of the block: {reason}", NOT_FOR_ALL
    )
    diagnostic.note(None, f"help: {fix}")
    return False
