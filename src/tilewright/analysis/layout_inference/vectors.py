"""How many neighbouring iterations of a loop one thread should run: what one access can move.

For every access to global or shared memory the last index has to grow by one with the innermost
variable of the loop, and every index before it must not depend on that variable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import Depends, Iterations
from tilewright.analysis.tensors.tensor_geometry import row_strides
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import ParallelOp, Space, space_of
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.traversal import walk

ACCESS_BITS = 128
"""The most that one access of a thread moves."""


def width_of(loop: ParallelOp, shape: Sequence[int], threads: int) -> int:
    """The run of iterations that each thread takes at a time, all threads equally often."""
    width = row_width_of(loop, shape, threads)
    total = int(np.prod(shape))
    while width > 1 and integer_of(loop.coalesced_width) is None and total % (threads * width):
        width //= 2
    return width


def row_width_of(loop: ParallelOp, shape: Sequence[int], threads: int) -> int:
    """The run of iterations that a thread may take at a time, with one for all threads at least."""
    required = integer_of(loop.coalesced_width)
    width = required if required is not None else _widest(loop, shape)
    total = int(np.prod(shape))
    while width > 1 and (shape[-1] % width or (required is None and total < threads * width)):
        width //= 2
    return max(width, 1)


def _widest(loop: ParallelOp, shape: Sequence[int]) -> int:
    """The widest access of any kind that the body can make."""
    iterations = Iterations(loop, shape)
    accesses = [
        op
        for op in walk(loop)
        if isinstance(op, (LoadOp, StoreOp))
        and is_memory(op.memref)
        and is_contiguous(loop, iterations, op.indices)
    ]
    widths = list(map(_lanes, accesses))
    # A loop that converts moves the wide side in several accesses.
    widest = max(widths, default=1)
    stored = [op for op in accesses if isinstance(op, StoreOp) and _is_global(op)]
    if len(stored) == 1 and all(op in stored or not _is_global(op) for op in accesses):
        # Contiguous threads then store contiguous elements: sectors are written as a whole.
        widest = min(widest, _aligned_lanes(stored[0].memref))
    return widest


def _lanes(op: LoadOp | StoreOp) -> int:
    return ACCESS_BITS // max(8, bit_width(element_type_of(op.memref.type)))


def _is_global(op: LoadOp | StoreOp) -> bool:
    return space_of(op.memref.type) is Space.GLOBAL


def _aligned_lanes(tensor: SSAValue) -> int:
    """The widest store that no row of a tensor rules out; strides that are run-time values rule
    out none."""
    widest = ACCESS_BITS // max(8, bit_width(element_type_of(tensor.type)))
    strides = [stride for stride in row_strides(tensor)[:-1] if stride is not None]
    while widest > 1 and any(stride % widest for stride in strides):
        widest //= 2
    return widest


def depends_on(value: SSAValue, variable: SSAValue) -> bool:
    """Whether `value` is computed from `variable`."""
    if value is variable:
        return True
    owner = value.owner
    return isinstance(owner, Operation) and any(
        depends_on(operand, variable) for operand in owner.operands
    )


def is_memory(buffer: SSAValue) -> bool:
    """Whether a buffer is in global or shared memory."""
    space = space_of(buffer.type)
    return space is Space.GLOBAL or (space is not None and space.is_shared)


def is_contiguous(loop: ParallelOp, iterations: Iterations, indices: Sequence[SSAValue]) -> bool:
    """Whether iterations along the innermost variable access contiguous elements."""
    inner = loop.body.block.args[-1]
    *outer, last = indices
    if any(depends_on(index, inner) for index in outer):
        return False
    return grows_by_one(iterations, last, inner)


def grows_by_one(iterations: Iterations, index: SSAValue, inner: SSAValue) -> bool:
    """Whether an index is the innermost variable plus what does not depend on it."""
    if index is inner:
        return True
    owner = index.owner
    if not isinstance(owner, Operation):
        return False
    if owner.name in ("arith.addi", "arith.subi"):
        first, second = owner.operands
        if grows_by_one(iterations, first, inner):
            return not depends_on(second, inner)
        return (
            owner.name == "arith.addi"
            and grows_by_one(iterations, second, inner)
            and not depends_on(first, inner)
        )
    if owner.name in ("arith.index_cast", "arith.index_castui"):
        return grows_by_one(iterations, owner.operands[0], inner)
    try:
        values = iterations.values(index)
    except Depends:
        return False
    if not isinstance(values, np.ndarray):
        return False
    return bool((np.diff(np.broadcast_to(values, iterations.shape), axis=-1) == 1).all())
