"""`reread-tensor-memory`: columns are read a second time, instead of being held in registers.

    tile.copy %S -> %f                              tile.copy %S -> %f
    tile.reduce max %f -> %m                        tile.reduce max %f -> %m
    ...                                        ->   ...
                                                    tile.copy %S -> %f
    tile.parallel { f[i, j] = exp(f[i, j] - m[i]) } tile.parallel { f[i, j] = exp(f[i, j] - m[i]) }

An element loop that needs the maximum of a row needs the row a second time. Held in registers it
takes as many as it has columns; read again, both halves can be divided into columns. What computed
the fragment is repeated just before the first statement that needs a reduction of it: its copy and
the element loops that changed it since. Nothing may have written in between what they read, and
barriers and asynchronous ops end the search: another thread may write tensor memory after them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.pipelining.dependences import has_unknown_effects
from tilewright.analysis.tensor_memory.chains import (
    chains,
    has_many_registers,
    is_pure,
    segments,
)
from tilewright.dialects.tile import CopyOp, KernelOp, ParallelOp, ReduceOp
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tile.clone_ops import copy_op


@dataclass(frozen=True)
class RereadTensorMemory(Pass):
    """Read tensor memory again before statements that need a result of whole rows."""

    name = "reread-tensor-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            _reread(kernel)


@dataclass(frozen=True)
class _Reading:
    """What is repeated before which statement."""

    ops: tuple[Operation, ...]
    user: Operation


def _reread(kernel: KernelOp) -> None:
    """Read tensor memory again where both halves can be divided into columns."""
    refused: set[Operation] = set()
    while True:
        found = [
            reading
            for fragment, parts in segments(kernel).items()
            if has_many_registers(fragment)
            for part in parts
            if (reading := _reading(fragment, part)) is not None and reading.user not in refused
        ]
        if not found:
            return
        reading = found[0]
        made = _repeat(reading)
        divided = [op for chain in chains(kernel) for op in chain.ops]
        if reading.ops[0] not in divided or made[0] not in divided:
            refused.add(reading.user)
            for op in reversed(made):
                Rewriter().erase(op)


def _reading(fragment: SSAValue, part: list[Operation]) -> _Reading | None:
    """What to repeat for the statements that use one value of a fragment."""
    first = part[0]
    if not isinstance(first, CopyOp):
        return None
    repeated: list[Operation] = [first]
    results: set[SSAValue] = set()
    op = first.next_op
    while op is not None and op is not part[-1].next_op:
        from_results = any(each.base in results for each in reads(op))
        if op in part and from_results:
            return _Reading(tuple(repeated), op) if _is_same(fragment, repeated, op) else None
        changed = {each.base for each in writes(op)}
        if op in part:
            if isinstance(op, ReduceOp):
                results |= changed
            elif fragment in changed:
                if not isinstance(op, ParallelOp) or changed != {fragment}:
                    return None
                repeated.append(op)
        elif from_results:
            results |= changed
        op = op.next_op
    return None


def _is_same(fragment: SSAValue, repeated: list[Operation], user: Operation) -> bool:
    """Whether the statements still compute the same just before `user`."""
    active: list[Operation] = []
    op: Operation | None = repeated[0]
    while op is not None and op is not user:
        if op in repeated:
            active.append(op)
        elif not is_pure(op):
            if has_unknown_effects(op):
                return False
            if any(
                one.may_overlap(other)
                for one in writes(op)
                for each in active
                for other in reads(each)
                if other.base is not fragment
            ):
                return False
        op = op.next_op
    return op is user


def _repeat(reading: _Reading) -> list[Operation]:
    rewriter = Rewriter()
    made: list[Operation] = []
    for op in reading.ops:
        copy = copy_op(op, {})
        rewriter.insert_before(reading.user, copy, op)
        made.append(copy)
    return made
