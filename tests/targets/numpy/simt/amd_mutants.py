"""Mutants of kernels for AMD GPUs: matrix instructions, LDS, copies and their waits."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tests.targets.numpy.simt.mutants import Mutate, erase, plain_address
from tilewright.dialects.amd.matrix import MatrixCoreOp
from tilewright.dialects.amd.moves import LoadLdsOp, WaitOp
from tilewright.dialects.arith import AddiOp, ConstantOp, RemuiOp
from tilewright.dialects.simt import names
from tilewright.dialects.simt.moves import LaneOp
from tilewright.dialects.tile.base import integer_attr
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import num_elements


def _shift(op: Operation, position: int, step: int, size: int) -> bool:
    """Add to an index operand, around the end of its buffer; False if that changes nothing."""
    if step % size == 0:
        return False
    index, block = op.operands[position], op.parent
    assert block is not None
    by, around = (ConstantOp(IntegerAttr(each, index.type)) for each in (step, size))
    moved = AddiOp(index, by.results[0])
    wrapped = RemuiOp(moved.results[0], around.results[0])
    block.insert_ops_before([by, around, moved, wrapped], op)
    op.operands[position] = wrapped.results[0]
    return True


def _registers(which: int) -> Mutate:
    """Those of the next instruction, of A, B or C."""

    def mutate(op: Operation) -> bool:
        if not isinstance(op, MatrixCoreOp):
            return False
        size = num_elements((op.a, op.b, op.c)[which].type)
        return _shift(op, 2 * which + 1, op.registers()[which], size)

    return mutate


def _exchange_operands(op: Operation) -> bool:
    """Without exchanging the accumulator's layout as well."""
    if not isinstance(op, MatrixCoreOp) or len(set(op.multiplied_types)) > 1:
        return False
    a, a_index, b, b_index, *rest = op.operands
    op.operands = [b, b_index, a, a_index, *rest]
    return True


def _is_to_shared(op: Operation) -> bool:
    if not isinstance(op, LaneOp):
        return False
    space = space_of(op.dst.type)
    return space is not None and space.is_shared


def _skip_copy(op: Operation) -> bool:
    return _is_to_shared(op) and erase(op.name)(op)


def _next_slot(op: Operation) -> bool:
    """Write to the next slot of a ring of tiles."""
    if not _is_to_shared(op):
        return False
    assert isinstance(op, LaneOp)
    owner = op.dst.owner
    assert isinstance(owner, Operation)
    versions = owner.attributes.get(names.VERSIONS)
    if not isinstance(versions, IntegerAttr):
        return False
    size = num_elements(op.dst.type)
    position = 1 + len(op.src_indices) + 1
    return _shift(op, position, size // versions.value.data, size)


def _leave_more(op: Operation) -> bool:
    if not isinstance(op, WaitOp):
        return False
    op.properties["loads"] = integer_attr(op.loads.value.data + 1)
    return True


def _next_lane(op: Operation) -> bool:
    """A copy to LDS begins one lane's share later."""
    if not isinstance(op, LoadLdsOp):
        return False
    return _shift(op, 2 + len(op.src_indices), op.width, num_elements(op.dst.type))


AMD_MUTATIONS: Mapping[str, Mutate] = {
    "remove a sync": erase("gpu.barrier"),
    "forget to swizzle an address": plain_address,
    "take other registers of A": _registers(0),
    "take other registers of B": _registers(1),
    "take other accumulators": _registers(2),
    "exchange the operands": _exchange_operands,
    "skip an MMA": erase("amd.mfma", "amd.wmma"),
    "skip a copy": _skip_copy,
    "take the next slot": _next_slot,
    "drop a wait": erase("amd.wait"),
    "wait for one copy less": _leave_more,
    "begin one lane later": _next_lane,
}
OF_COPIES = ("drop a wait", "wait for one copy less", "begin one lane later")
"""Mutations of direct copies, which few kernels have."""
