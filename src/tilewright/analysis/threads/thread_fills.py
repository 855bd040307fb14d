"""Loops in which the threads of a block together write every element of a buffer.

    for i in T.serial(8):                       tx in [0, 256), i in [0, 8), v in [0, 8):
        for v in T.vectorized(8):               index takes all values in [0, 128 * 128)
            index = i * 256 * 8 + tx * 8 + v
            weights[index // 128, index % 128] = local[v]

The elements that each store writes are computed for all threads and iterations. Only stores that
every thread makes in every iteration count: not those in branches, in loops whose trip count is not
a constant, or of threads in roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.integers.index_values import IndexValues, Undefined, Values
from tilewright.dialects.gpu import Dimension, ThreadIdOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import KernelOp, PersistentOp, PipelineOp
from tilewright.dialects.type_utils import num_elements, shape_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

_AROUND = (ForOp, PersistentOp, PipelineOp)
"""Loops around the loop, which all threads run alike."""
_MAX_POINTS = 1 << 20
"""Stores that are computed."""


def threads_fill(loop: ForOp, buffer: SSAValue) -> bool:
    """Whether the threads certainly write every element of `buffer` when they run `loop`."""
    threads = _threads_around(loop)
    if threads is None:
        return False
    missing = np.ones(num_elements(buffer.type), dtype=bool)
    for op in walk(loop):
        if isinstance(op, StoreOp) and op.memref is buffer:
            for element in _elements(op, loop, threads):
                missing[element] = False
    return not missing.any()


def _threads_around(loop: ForOp) -> int | None:
    """The threads of the block, if all of them run the loop and differ in one index."""
    around = loop.parent_op()
    while isinstance(around, _AROUND):
        around = around.parent_op()
    if not isinstance(around, KernelOp):
        return None
    extents = around.thread_extents
    return extents[0] if extents is not None and prod(extents[1:]) == 1 else None


def _elements(store: StoreOp, loop: ForOp, threads: int) -> Iterator[Values]:
    """The elements that a store certainly writes, as an array; none if they are not known."""
    given = _iterations(store, loop)
    if given is None:
        return
    indices = list(store.indices)
    values = IndexValues()
    leaves = dict.fromkeys(leaf for each in indices for leaf in values.leaves(each))
    for leaf in leaves:
        if _is_thread_index(leaf):
            given[leaf] = range(threads)
    if any(leaf not in given for leaf in leaves):
        return
    extents = [len(given[leaf]) for leaf in leaves]
    if prod(extents) > _MAX_POINTS or not all(map(len, given.values())):
        return
    grids = np.meshgrid(*(np.asarray(given[leaf]) for leaf in leaves), indexing="ij", sparse=True)
    try:
        found = values.evaluate_all(indices, dict(zip(leaves, grids, strict=True)))
    except Undefined:
        return
    shape = shape_of(store.memref.type)
    if all(
        ((each >= 0) & (each < extent)).all() for each, extent in zip(found, shape, strict=True)
    ):
        yield np.ravel_multi_index(np.broadcast_arrays(*found), shape)


def _iterations(store: StoreOp, loop: ForOp) -> dict[SSAValue, range] | None:
    """The values of the indices of the loops around a store, if they are constants."""
    found: dict[SSAValue, range] = {}
    around: Operation | None = store.parent_op()
    while isinstance(around, ForOp):
        bounds = [constant_value(v) for v in (around.lower_bound, around.upper_bound, around.step)]
        integers = [each.value.data for each in bounds if isinstance(each, IntegerAttr)]
        if len(integers) != len(bounds) or integers[2] < 1:
            return None
        found[around.body.block.args[0]] = range(*integers)
        if around is loop:
            return found
        around = around.parent_op()
    return None


def _is_thread_index(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, ThreadIdOp) and owner.dimension.data is Dimension.X
