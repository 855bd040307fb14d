"""Loops whose GEMM may run into the next iteration, and the operands that need two versions for it.

    for k { wait full; unpack packed[s] -> O[k mod 2]; gemm A[s], O[k mod 2], C }

While the tensor cores work on iteration `k`, the consumers of the loop write what the GEMM of
iteration `k + 1` reads. Operands that the producer copies have slots; an operand that the consumers
write themselves (dequantised weights) gets two versions, if every iteration fills it before the
GEMM reads it and nothing accesses it afterwards. A third one is not needed: before the consumers
write version ``k mod 2`` again, they have waited for the GEMM of iteration `k`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pipelining import Dependences
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.compute import GemmOp
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.ir.traversal import children
from tilewright.passes.tile.warps.candidates import Candidate

VERSIONS = 2
"""Of an operand that the consumers write."""


@dataclass(frozen=True)
class Deferral:
    """A GEMM that may run into the next iteration."""

    gemm: GemmOp
    copied: tuple[SSAValue, ...]
    """Operands that the producer copies."""
    rotating: tuple[SSAValue, ...]
    """Operands that the consumers write."""


def deferral_of(candidate: Candidate) -> Deferral | None:
    """How the loop's only GEMM may run into the next iteration: nothing else of the loop accesses
    its result, or writes its operands after it."""
    ops = children(candidate.loop)
    gemms = [op for op in ops if isinstance(op, GemmOp)]
    if len(gemms) != 1:
        return None
    (gemm,) = gemms
    buffers = {buffer for group in candidate.groups for buffer in group.buffers}
    issued = {issue.copy.op for group in candidate.groups for issue in group.issues}
    result, operands = base_of(gemm.c), dict.fromkeys((base_of(gemm.a), base_of(gemm.b)))
    written: set[SSAValue] = set()
    for op in ops:
        if op is gemm or op in issued:
            continue
        accessed = {region.base for region in (*writes(op), *reads(op))}
        if result in accessed:
            return None
        written |= {region.base for region in writes(op)}
    copied = tuple(each for each in operands if each in buffers)
    rotating = tuple(each for each in operands if each in written)
    if not copied or any(not _rotates(each, gemm, candidate) for each in rotating):
        return None
    return Deferral(gemm, copied, rotating)


def _rotates(buffer: SSAValue, gemm: Operation, candidate: Candidate) -> bool:
    """Whether every iteration fills an operand, and no op accesses it after the GEMM."""
    dependences = Dependences(candidate.loop)
    last = dependences.positions.get(gemm)
    if last is None or buffer not in dependences.renamable:
        return False
    return all(each <= last for each in dependences.accessors(buffer))
