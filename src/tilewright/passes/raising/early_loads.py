"""Vectors that an iteration reads are loaded before its first GEMM.

    q = load ...; S = dot(q, k)              q = load ...; d = load row statistics
    P = exp(S); dP = dot(v, g)       ->      S = dot(q, k); P = exp(S); dP = dot(v, g)
    d = load row statistics                  dS = P * (dP - d)
    dS = P * (dP - d)

Where the user has the load, a GEMM has just been waited for, and the tensor cores wait for memory.
A vector takes few registers. What computes the address moves along, if it depends on nothing else
in the iteration. Only loops that write no memory: nothing else could change what is read.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tilewright.analysis.raising.kinds import EFFECTS, STRUCTURAL, WRITES, Gemm, is_elementwise
from tilewright.analysis.raising.values import is_vector_load
from tilewright.dialects.scf import ForOp
from tilewright.ir.traversal import walk

_PURE = frozenset(("arith.constant", "tt.make_range", "tt.get_program_id", "tt.get_num_programs"))


def load_vectors_early(module: ModuleOp) -> None:
    """Move the loads of vectors in loops with GEMMs to before the first one."""
    for loop in list(walk(module)):
        if isinstance(loop, ForOp):
            block = loop.body.block
            first = next((op for op in block.ops if isinstance(op, Gemm)), None)
            if first is not None and not _writes(loop):
                for op in list(block.ops):
                    if is_vector_load(op) and first.is_before_in_block(op):
                        _move(op, first, block)


def _writes(loop: ForOp) -> bool:
    return any(op.name in WRITES or op.name in EFFECTS for op in walk(loop))


def _move(load: Operation, first: Operation, block: Block) -> None:
    """Move a load and what it depends on, in order, if that is addresses only."""
    moved: dict[Operation, None] = {}
    work = [load]
    while work:
        op = work.pop()
        if op in moved or op.parent is not block or not first.is_before_in_block(op):
            continue
        if op is not load and not _is_address(op):
            return
        moved[op] = None
        work += [each.owner for each in op.operands if isinstance(each.owner, Operation)]
    for op in [each for each in block.ops if each in moved]:
        op.detach()
        block.insert_op_before(op, first)


def _is_address(op: Operation) -> bool:
    return not op.regions and (
        op.name in _PURE or op.name in STRUCTURAL or op.name == "tt.addptr" or is_elementwise(op)
    )
