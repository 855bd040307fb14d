"""Let the scheduler move the statements of a guarded body individually.

    scf.if %c { copy; gemm }   ->   scf.if %c { copy }  scf.if %c { gemm }

Only inside ``tile.pipeline``, and only for an ``if`` without ``else`` and without results. The
condition is a value, so nothing in the body can change it; one that loads memory was evaluated
once, before it. Pure ops of the body are copied to every statement that uses them. A body in which
one statement yields a value to another that cannot be computed again stays whole. ``merge_guards``
joins what is still adjacent after scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import PipelineOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op


@dataclass(frozen=True)
class SplitGuards(Pass):
    """Split guarded bodies in pipelined loops into one guard per statement."""

    name = "split-guards"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in list(walk(module)):
            if isinstance(loop, PipelineOp):
                for op in list(loop.body_block.ops):
                    if isinstance(op, IfOp):
                        _split(op)


def _split(guard: IfOp) -> None:
    if guard.results or guard.has_else:
        return
    ops = list(guard.regions[0].block.ops)[:-1]
    statements = [op for op in ops if not _is_pure(op)]
    if len(statements) < 2 or any(map(_hands_on, statements)):
        return
    rewriter = Rewriter()
    for statement in statements:
        part = IfOp(guard.operands[0], ())
        part.location = guard.location
        rewriter.insert_before(guard, part)
        _fill(part, [*_needed(statement, ops), statement])
        _split(part)
    rewriter.erase(guard)


def _is_pure(op: Operation) -> bool:
    return always_removable(type(op)) and not op.regions


def _hands_on(op: Operation) -> bool:
    """Whether a value that `op` makes is used: it cannot be made again for another guard."""
    return any(result.first_use is not None for result in op.results)


def _needed(statement: Operation, ops: list[Operation]) -> list[Operation]:
    """The pure ops of the body that `statement` computes with, in their order."""
    needed: set[Operation] = set()
    required = {value for op in walk(statement) for value in op.operands}
    for op in reversed(ops):
        if _is_pure(op) and any(result in required for result in op.results):
            needed.add(op)
            required.update(op.operands)
    return [op for op in ops if op in needed]


def _fill(part: IfOp, ops: list[Operation]) -> None:
    block = part.regions[0].block
    end = block.last_op
    values: dict[SSAValue, SSAValue] = {}
    for op in ops:
        copy = copy_op(op, values)
        if end is None:
            block.add_op(copy)
        else:
            block.insert_op_before(copy, end)
