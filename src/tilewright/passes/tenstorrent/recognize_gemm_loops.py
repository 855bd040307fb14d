"""Recognise GEMMs that are written as loops.

    for i, j in T.Parallel(64, 64):
        for k in T.serial(32):                        ->   tile.gemm %A, %B -> %C
            C[i, j] += A[i, k] * B[k, j]

Accepted is exactly this: a perfect nest of three loops, parallel or serial, with one store
``C[i, j] = C[i, j] + X * Y`` (operands in any order), where X depends on i and k and Y on k and j,
each index alone in a dimension, over all of the buffers. k must not index C: without a
contraction index the loop would be an element-wise accumulation. Names play no role.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import AddfOp, ExtfOp, MulfOp, TruncfOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tile import AssumeOp, GemmOp, ParallelOp, YieldOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.reports import NotSupported, reporting


@dataclass(frozen=True)
class RecognizeGemmLoops(Pass):
    """Replace loop nests that are GEMMs by ``tile.gemm``."""

    name = "recognize-gemm-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for op in list(walk(function)):
                if isinstance(op, (ForOp, ParallelOp)) and op.parent is not None:
                    with reporting(engine):
                        _recognize(op)


@dataclass(frozen=True)
class _Nest:
    """The indices of a perfect nest with their extents, and the innermost block."""

    extents: dict[SSAValue, int]
    block: Block


def _recognize(op: ForOp | ParallelOp) -> None:
    nest = _nest(op)
    if nest is None or len(nest.extents) != 3:
        return
    store = _only_store(nest.block)
    if store is None:
        return
    operands = _multiply_add(store)
    if operands is None:
        if _has_serial_loop_inside(op):
            raise NotSupported(
                store,
                f"the loops around '{name_of(store.memref)}' are not a GEMM: the store is not "
                "C[i, j] = C[i, j] + X * Y; use T.gemm, or an element-wise T.Parallel",
            )
        return
    gemm = _gemm(store, *operands, nest)
    Rewriter().replace_op(op, gemm, ())


def _nest(op: ForOp | ParallelOp) -> _Nest | None:
    """The perfect nest that starts with `op`."""
    extents: dict[SSAValue, int] = {}
    current: Operation = op
    while True:
        if isinstance(current, ParallelOp):
            for index, extent in zip(current.arguments, current.extents, strict=True):
                if not isinstance(extent, int):
                    return None
                extents[index] = extent
            block = current.body_block
        elif isinstance(current, ForOp) and not current.results:
            lower, upper, step = (
                constant_integer(each)
                for each in (current.lower_bound, current.upper_bound, current.step)
            )
            if lower != 0 or upper is None or step != 1:
                return None
            extents[current.body.block.args[0]] = upper
            block = current.body.block
        else:
            return None
        inner = [each for each in block.ops if each.regions]
        if not inner:
            return _Nest(extents, block)
        others = [each for each in block.ops if each is not inner[0] and not _is_neutral(each)]
        if len(inner) > 1 or others:
            return None
        current = inner[0]


def _is_neutral(op: Operation) -> bool:
    return isinstance(op, (YieldOp, ScfYieldOp, AssumeOp)) or (
        is_removable(op) and not isinstance(op, LoadOp)
    )


def _has_serial_loop_inside(op: ForOp | ParallelOp) -> bool:
    return isinstance(op, ParallelOp) and any(isinstance(each, ForOp) for each in walk(op))


def _only_store(block: Block) -> StoreOp | None:
    stores = [op for op in block.ops if isinstance(op, StoreOp)]
    if len(stores) != 1 or space_of(stores[0].memref.type) is Space.GLOBAL:
        return None
    return stores[0]


def _multiply_add(store: StoreOp) -> tuple[LoadOp, LoadOp] | None:
    """The loads X and Y of ``C[..] = C[..] + X * Y``."""
    total = _uncast(store.value)
    if not isinstance(total, AddfOp):
        return None
    for old, scaled in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        accumulator, factor = _uncast(old), _uncast(scaled)
        if not isinstance(accumulator, LoadOp) or not isinstance(factor, MulfOp):
            continue
        is_same = accumulator.memref is store.memref and list(accumulator.indices) == list(
            store.indices
        )
        left, right = _uncast(factor.lhs), _uncast(factor.rhs)
        if is_same and isinstance(left, LoadOp) and isinstance(right, LoadOp):
            return left, right
    return None


def _uncast(value: SSAValue) -> Operation | None:
    """The op that computes a value, before conversions between floats."""
    op = value.owner
    while isinstance(op, (ExtfOp, TruncfOp)):
        op = op.operands[0].owner
    return op if isinstance(op, Operation) else None


def _gemm(store: StoreOp, left: LoadOp, right: LoadOp, nest: _Nest) -> GemmOp:
    """The GEMM of a multiply-add nest; `NotSupported` with the condition that fails."""
    rows, columns = _two_indices(store, store.memref, list(store.indices), nest)
    contraction = next(each for each in nest.extents if each not in (rows, columns))
    pairs = [list(each.indices) for each in (left, right)]
    if not all(any(index is contraction for index in each) for each in pairs):
        raise NotSupported(
            store,
            f"the loops around '{name_of(store.memref)}' accumulate element by element, which is "
            "not a GEMM: no index runs over both factors and not over the result",
        )
    if any(index is rows for index in pairs[1]) or any(index is columns for index in pairs[0]):
        left, right = right, left
    a = _two_indices(left, left.memref, list(left.indices), nest)
    b = _two_indices(right, right.memref, list(right.indices), nest)
    if {*a} != {rows, contraction} or {*b} != {contraction, columns}:
        raise NotSupported(
            store,
            f"the loops around '{name_of(store.memref)}' are not a GEMM: the factors have to be "
            "indexed by row and contraction index, and by contraction index and column",
        )
    if space_of(store.memref.type) is not Space.FRAGMENT:
        raise NotSupported(
            store, f"the accumulator '{name_of(store.memref)}' is in shared memory: use a fragment"
        )
    if element_type_of(left.memref.type) != element_type_of(right.memref.type):
        raise NotSupported(
            store, "the factors of a GEMM have different element types: convert one with T.copy"
        )
    return GemmOp(
        left.memref,
        right.memref,
        store.memref,
        transpose_a=a[0] is contraction,
        transpose_b=b[1] is contraction,
    )


def _two_indices(
    op: Operation, buffer: SSAValue, indices: list[SSAValue], nest: _Nest
) -> tuple[SSAValue, SSAValue]:
    """The two loop indices of an access, which cover the whole buffer."""
    if len(indices) != 2 or any(index not in nest.extents for index in indices):
        raise NotSupported(
            op,
            f"'{name_of(buffer)}' is not indexed by two loop indices: in a GEMM every factor is a "
            "matrix; use T.gemm",
        )
    shape = tuple(shape_of(buffer.type))
    extents = tuple(nest.extents[index] for index in indices)
    if shape != extents or indices[0] is indices[1]:
        raise NotSupported(
            op,
            f"the loops cover {extents[0]}x{extents[1]} elements of '{name_of(buffer)}', which has "
            f"{shape[0]}x{shape[1]}: use the whole buffer",
        )
    return indices[0], indices[1]
