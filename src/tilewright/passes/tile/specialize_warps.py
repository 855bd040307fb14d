"""Split a block into a role that issues copies and roles that compute.

    tile.pipeline %k = 0 to %n num_stages(3) { copy A -> As; copy B -> Bs; gemm As, Bs, C } ; store
      ->
    tile.ws
    role "producer" threads(0 to 128)   { for %k { wait empty; expect bytes; A -> As; B -> Bs } }
    role "consumer" threads(128 to 384) { for %k { wait full; gemm; arrive at empty } ; store }

The user's threads become the consumers, 128 more issue the copies. Buffers become rings of
``num_stages`` slots, or more where a GEMM is deferred (`warps/slots.py`), with a pair of barriers
for each slot and each group of copies that arrives together. The kernel's declarations, and what
can be computed from arguments, stay before the roles; everything else of its body belongs to the
consumers, but for copies before the loops that the producer can issue as well
(`warps/prologue.py`).

A loop that cannot be split is left to `plan_pipeline`, and a remark gives the reason (TW4020), as
for a copy that the consumers have to do themselves (TW4021).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.copies.copy_instructions import Starts
from tilewright.dialects.arith import ConstantOp, SubiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import KernelOp, PipelineOp, Role, TargetAttr, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.bind_target import TARGET
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.warps.candidates import (
    COMPUTED,
    Candidate,
    candidate,
    kernel_obstacle,
)
from tilewright.passes.tile.warps.prologue import early_copies, open_barriers, wait_for
from tilewright.passes.tile.warps.roles import (
    Producer,
    consume,
    counters_of,
    open_channels,
    stays_outside,
)
from tilewright.passes.tile.warps.slots import slots_of

NOT_APPLIED, LEFT = "TW4020", "TW4021"
WARP_GROUP = 128
"""Threads that share a tensor core's instruction, and the producer's number of threads."""


@dataclass(frozen=True)
class SpecializeWarps(Pass):
    """Let extra warps issue the copies of pipelined loops."""

    name = "specialize-warps"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in [op for op in walk(module) if isinstance(op, KernelOp)]:
            _specialize(kernel, engine)


def _specialize(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    loops = [op for op in walk(kernel) if isinstance(op, PipelineOp) and op.stages]
    if not loops:
        return
    obstacle = _target_obstacle(kernel) or kernel_obstacle(kernel)
    chosen: list[Candidate] = []
    starts = Starts(kernel.parent_op() or kernel)
    for loop in loops:
        found = obstacle or candidate(loop, kernel, starts)
        if isinstance(found, Candidate):
            chosen.append(found)
            for copy, reason in found.left:
                engine.remark(
                    copy,
                    f"copy not moved to the producer warp: {reason}; the consumer warps "
                    "perform it without TMA",
                    LEFT,
                )
        else:
            remark = engine.remark(
                loop,
                f"warp specialisation not applied: {found}; all warps both copy and compute",
                NOT_APPLIED,
            )
            if found.endswith(COMPUTED):
                remark.note(
                    None,
                    "help: this costs time only; a producer warp can use constants, arguments, "
                    "block and loop indices, and tensors that the kernel only reads",
                )
    if chosen:
        _split(kernel, chosen, starts)


def _target_obstacle(kernel: KernelOp) -> str | None:
    function = kernel.parent_op()
    bound = function.attributes.get(TARGET) if isinstance(function, FuncOp) else None
    if not isinstance(bound, TargetAttr) or bound.data.kind == "numpy":
        return None
    arch = bound.data.arch or ""
    digits = "".join(letter for letter in arch.removeprefix("sm_") if letter.isdigit())
    if bound.data.kind == "cuda" and digits and int(digits) >= 90:
        return None
    return f"{bound.data} has no TMA"


def _split(kernel: KernelOp, chosen: list[Candidate], starts: Starts) -> None:
    consumers = kernel.num_threads or 0
    block = kernel.body_block
    body = list(block.ops)[:-1]
    outside: set[Operation] = set()
    for op in body:
        if stays_outside(op, outside):
            outside.add(op)
    inside = [op for op in body if op not in outside]
    early = early_copies(kernel, inside, chosen, starts)
    roles = WsOp(
        [
            Role("producer", ((0, WARP_GROUP),)),
            Role("consumer", ((WARP_GROUP, WARP_GROUP + consumers),)),
        ]
    )
    last = block.last_op
    assert last is not None  # the body of a kernel is ended
    Rewriter().insert_before(last, roles, chosen[0].loop)
    slots = slots_of(chosen, kernel, WARP_GROUP)
    channels = open_channels(chosen, slots, WARP_GROUP, consumers, roles)
    barriers = open_barriers(early, roles)
    Producer(channels, roles.regions[0].block, barriers).build(inside, chosen[0].loop)
    consumer = roles.regions[1].block
    code = IndexBuilder(chosen[0].loop, consumer)
    counters = counters_of(channels, code)
    end = consumer.last_op
    assert end is not None  # a new body is ended already
    for op in inside:
        op.detach()
        consumer.insert_op_before(op, end)
    wait_for(barriers)
    for channel in channels:
        consume(channel, counters[channel.loop])
    _renumber_threads(roles)
    kernel.set_threads([WARP_GROUP + consumers])


def _renumber_threads(roles: WsOp) -> None:
    """Consumers count their threads from 0, as the user did."""
    for op in list(walk(roles)):
        if op.name != "gpu.thread_id":
            continue
        first = ConstantOp.of(WARP_GROUP, IndexType())
        own = SubiOp(op.results[0], first)
        users = [use for use in op.results[0].uses if use.operation is not own]
        for use in users:
            use.operation.operands[use.index] = own.results[0]
        Rewriter().insert_after(op, [first, own])
