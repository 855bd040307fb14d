"""`unroll-fragment-loops`: short loops whose index selects elements of fragments are unrolled.

    for s in range(2):                                for i, j in T.Parallel(16, 64):
        for i, j in T.Parallel(16, 64):          ->       S[i, j] = acc[i, j]
            S[i, j] = acc[i + s * 16, j]              for i, j in T.Parallel(16, 64):
                                                          S[i, j] = acc[i + 16, j]

Registers have no run-time index: the owner of an element of a fragment has to be known at compile
time, whether a loop accesses it or a copy of a part of the fragment. With the loop unrolled it is;
otherwise the fragment would be staged through shared memory in every iteration.
`expand-explicit-unroll` unrolls the marked ones: loops of few iterations, and longer ones of
parallel loops alone that together access no more elements than the fragment has. A parallel loop
over the whole fragment would become as much code.

So are short loops that the user unrolls (``T.unroll``) and whose index selects the sub-tile of a
GEMM's operand: ``wgmma`` describes a sub-tile that is known to begin where a swizzle does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import GemmOp, ParallelOp, RegionOp, Space, names, space_of
from tilewright.dialects.tile.mixed import Mixed, known
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.tile.expand_explicit_unroll import EXPLICIT

MAX_TRIP_COUNT = 8
MAX_TRIP_COUNT_OF_PARTS = 128
"""Of a loop that goes through a fragment part by part; bounds the time to compile it."""


@dataclass(frozen=True)
class UnrollFragmentLoops(Pass):
    """Mark short loops over parts of fragments for explicit unrolling."""

    name = "unroll-fragment-loops"

    max_trip_count: int = MAX_TRIP_COUNT
    """Largest trip count that is unrolled whatever the loop contains."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in walk(module):
            if (
                isinstance(loop, ForOp)
                and EXPLICIT not in loop.attributes
                and self._is_unrolled(loop, _trip_count(loop))
            ):
                loop.attributes[EXPLICIT] = UnitAttr()

    def _is_unrolled(self, loop: ForOp, count: int | None) -> bool:
        if count is None or count < 2 or _parallel_around(loop) is not None:
            return False
        index = loop.body.block.args[0]
        accesses = list(_selected_by(index))
        if count <= self.max_trip_count:
            return bool(accesses) or (names.UNROLL in loop.attributes and _selects_operand(index))
        return (
            bool(accesses)
            and count <= MAX_TRIP_COUNT_OF_PARTS
            and _has_parallel_loops_alone(loop)
            and all(_goes_through_once(each, count) for each in accesses)
            and any(_needs_constant(each, loop) for each in accesses)
        )


def _trip_count(loop: ForOp) -> int | None:
    bounds = [known(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)]
    integers = [each for each in bounds if isinstance(each, int)]
    return len(range(*integers)) if len(integers) == len(bounds) else None


def _parallel_around(op: Operation) -> ParallelOp | None:
    """The parallel loop that contains an op: each thread runs the op for its elements."""
    return enclosing(op, ParallelOp)


def _has_parallel_loops_alone(loop: ForOp) -> bool:
    """Whether all that a loop does is in parallel loops, none of them with a loop inside."""
    *own, _end = loop.body.block.ops
    return (
        not loop.init_args
        and all(isinstance(op, ParallelOp) or always_removable(type(op)) for op in own)
        and not any(isinstance(op, ForOp) for op in walk(loop) if op is not loop)
    )


def _goes_through_once(access: LoadOp | StoreOp | RegionOp, count: int) -> bool:
    """Whether `count` runs of the parallel loop access no more elements than the fragment has."""
    loop = _parallel_around(access)
    if loop is None or isinstance(access, RegionOp):
        return False
    extents = [each for each in loop.extents if isinstance(each, int)]
    size = prod(shape_of(access.memref.type))
    return len(extents) == len(loop.extents) and count * prod(extents) <= size


def _needs_constant(access: LoadOp | StoreOp | RegionOp, loop: ForOp) -> bool:
    """Whether one index combines the iterations of `loop` and of the parallel loop.

    A dimension that `loop` alone goes through can be held by one thread as a whole.
    """
    parallel = _parallel_around(access)
    assert parallel is not None and not isinstance(access, RegionOp), "by `_goes_through_once`"
    serial, own = loop.body.block.args[0], set(parallel.body.block.args)
    return any(serial in found and own & found for found in map(_arguments_of, access.indices))


def _arguments_of(value: SSAValue) -> set[SSAValue]:
    """The variables of loops that a value is computed from."""
    pending, seen = [value], {value}
    while pending:
        owner = pending.pop().owner
        new = [each for each in _operands(owner) if each not in seen]
        seen.update(new)
        pending += new
    return {each for each in seen if isinstance(each, BlockArgument)}


def _operands(owner: Operation | Block) -> tuple[SSAValue, ...]:
    return tuple(owner.operands) if isinstance(owner, Operation) else ()


def _selected_by(index: SSAValue) -> Iterator[LoadOp | StoreOp | RegionOp]:
    """The accesses to fragments, and the parts of them, that follow from `index`."""
    for value in _derived_from(index):
        for use in value.uses:
            op = use.operation
            if isinstance(op, RegionOp):
                is_found = space_of(op.base.type) is Space.FRAGMENT
            else:
                is_found = isinstance(op, LoadOp | StoreOp) and _is_fragment_index(op, use.index)
            if is_found:
                yield cast("LoadOp | StoreOp | RegionOp", op)


def _selects_operand(index: SSAValue) -> bool:
    """Whether a GEMM multiplies a sub-tile of shared memory whose offsets depend on `index`."""
    return any(
        isinstance(region := use.operation, RegionOp)
        and any(index in _arguments_of(each) for each in _values(region.offsets[-2:]))
        and any(isinstance(each.operation, GemmOp) for each in region.result.uses)
        for value in _derived_from(index)
        for use in value.uses
    )


def _values(offsets: Sequence[Mixed]) -> list[SSAValue]:
    return [each for each in offsets if isinstance(each, SSAValue)]


def _derived_from(index: SSAValue) -> Iterator[SSAValue]:
    """`index`, and the values that arithmetic makes of it."""
    pending, seen = [index], {index}
    while pending:
        value = pending.pop()
        yield value
        for use in value.uses:
            op = use.operation
            if always_removable(type(op)) and not (op.regions or isinstance(op, LoadOp | RegionOp)):
                new = [each for each in op.results if each not in seen]
                seen.update(new)
                pending += new


def _is_fragment_index(op: LoadOp | StoreOp, position: int) -> bool:
    if space_of(op.memref.type) is not Space.FRAGMENT:
        return False
    return position >= len(op.operands) - len(op.indices)
