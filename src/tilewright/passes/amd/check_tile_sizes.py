"""`check-tile-sizes`: an early end for forms of a kernel that cannot fit into shared memory.

    tile.pipeline { copy ... -> %As;  copy ... -> %Bs;  gemm %As, %Bs -> %C }      As + Bs <= LDS

What a block needs is known exactly once layouts are chosen and buffers placed, which is most of the
work of all passes. The buffers that one pipelined loop accesses never overlap: iterations are
interleaved, so each of them is live throughout. What they take together, in one version, is a lower
bound, and known before. A kernel that exceeds shared memory is tried in several forms
(`targets.hip.compile`); this pass ends most of those that fail. It is off for the form that the
user requested, whose error lists all buffers.

A loop of few iterations may not remain a loop, and is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.access import LooksThrough, base_of
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.gpu.shared_sizes import bytes_of

_LOOPS = (ForOp, PersistentOp, PipelineOp)
_FEW = 4
"""Iterations: two of them run before the loop or after it, and a single one is no loop."""


@dataclass(frozen=True)
class CheckTileSizes(Pass):
    """Report pipelined loops whose buffers exceed shared memory in any order."""

    name = "check-tile-sizes"

    enabled: bool = False
    """Whether they are reported."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if not self.enabled:
            return
        for kernel in kernels(module):
            for loop in walk(kernel):
                if isinstance(loop, PipelineOp):
                    _check(loop, engine)


def _check(loop: PipelineOp, engine: DiagnosticEngine) -> None:
    chip, needed = amd_chip_of(loop), min_bytes(loop)
    if chip is not None and needed > chip.lds_bytes:
        engine.error(
            loop,
            f"shared memory exceeded: at least {needed} B needed in this loop, {chip.lds_bytes} B "
            f"available per block on {chip}",
            SHARED_MEMORY_EXCEEDED,
        )


def min_bytes(loop: PipelineOp) -> int:
    """The least that the shared buffers of a pipelined loop take; 0 if it may not be one."""
    if loop.stages == 0 or _may_be_short(loop):
        return 0
    buffers: dict[SSAValue, AllocOp] = {}
    for op in walk(loop):
        if isinstance(op, LooksThrough) or _loop_around(op) is not loop:
            continue
        for value in op.operands:
            owner = base_of(value).owner
            if isinstance(owner, AllocOp) and owner.space.is_shared and owner.alias is None:
                buffers[owner.result] = owner
    return sum(bytes_of(op) for op in buffers.values() if not loop.is_ancestor(op))


def _may_be_short(loop: PipelineOp) -> bool:
    lower, upper = loop.lower, loop.upper
    return isinstance(lower, int) and isinstance(upper, int) and upper - lower < _FEW


def _loop_around(op: Operation) -> Operation | None:
    """The innermost loop that an op is in."""
    return enclosing(op, *_LOOPS)
