"""Which GEMMs use the result of another one, and how: the second one of attention, for example.

    tile.gemm %Q, %K -> %S              S flows to P: a loop reads and writes the same positions
    tile.parallel { %P[i, j] = f(%S[i, j]) }
    tile.gemm %P, %V -> %O              P is operand A of a later GEMM

The layouts of such GEMMs can be chosen so that no element leaves its thread.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.exchange import is_exchange
from tilewright.dialects.arith import AddiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    CopyOp,
    GemmOp,
    KernelOp,
    ParallelOp,
    ReduceOp,
    Space,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk


def kernel_around(op: Operation) -> KernelOp:
    """The kernel that an op is in."""
    current: Operation | None = op
    while not isinstance(current, KernelOp):
        assert current is not None, "an op outside of a kernel"
        current = current.parent_op()
    return current


class GemmChains:
    """The fragments of a kernel that get the elements of others, position by position."""

    def __init__(self, kernel: KernelOp) -> None:
        self.gemms = [op for op in walk(kernel) if isinstance(op, GemmOp)]
        self._targets: dict[SSAValue, list[SSAValue]] = {}
        self._staged: dict[SSAValue, list[SSAValue]] = {}
        """The same, also through shared memory."""
        self._reduced: set[SSAValue] = set()
        self._parts: dict[SSAValue, set[int]] = {}
        for op in walk(kernel):
            if isinstance(op, ParallelOp):
                self._look_at(op)
            elif isinstance(op, CopyOp) and is_exchange(op):
                self._link(base_of(op.src), base_of(op.dst))
            elif isinstance(op, ReduceOp) and op.axis == len(shape_of(op.src.type)) - 1:
                self._reduced.add(base_of(op.src))

    def _look_at(self, loop: ParallelOp) -> None:
        accesses = [each for each in walk(loop) if isinstance(each, (LoadOp, StoreOp))]
        for each in accesses:
            if space_of(each.memref.type) is Space.FRAGMENT:
                self._parts.setdefault(base_of(each.memref), set()).update(_parts(loop, each))
        held = [each for each in accesses if space_of(each.memref.type) is not Space.GLOBAL]
        for store in held:
            for load in held:
                if not isinstance(store, StoreOp) or not isinstance(load, LoadOp):
                    continue
                source, target = base_of(load.memref), base_of(store.memref)
                if source is target or tuple(load.indices) != tuple(store.indices):
                    continue
                self._link(source, target)

    def _link(self, source: SSAValue, target: SSAValue) -> None:
        self._staged.setdefault(source, []).append(target)
        if all(space_of(each.type) is Space.FRAGMENT for each in (source, target)):
            self._targets.setdefault(source, []).append(target)

    def reached_from(self, fragment: SSAValue, *, staged: bool = False) -> list[SSAValue]:
        """The fragment, and all that get its elements; `staged`: also through shared memory."""
        found, targets = [fragment], self._staged if staged else self._targets
        for each in found:
            found += [target for target in targets.get(each, ()) if target not in found]
        return found

    def is_operand(self, op: GemmOp, *, transposed: bool) -> bool:
        """Whether the result of `op` is an operand of a GEMM: its A, or (`transposed`) its B.

        A that is transposed counts as B, and the other way round.
        """
        reached = set(self.reached_from(base_of(op.c)))
        return any(
            (is_a != (turned is not None)) != transposed and base_of(operand) in reached
            for other in self.gemms
            for operand, turned, is_a in (
                (other.a, other.transpose_a, True),
                (other.b, other.transpose_b, False),
            )
        )

    def comes_from_gemm(self, fragment: SSAValue, *, staged: bool = False) -> bool:
        """Whether a fragment has elements of some accumulator."""
        return any(
            fragment in self.reached_from(base_of(each.c), staged=staged) for each in self.gemms
        )

    def is_linked(self, op: GemmOp) -> bool:
        """Whether the GEMM uses, in registers, the result of another one, or gives it its own."""
        return (
            self.is_operand(op, transposed=False)
            or self.is_operand(op, transposed=True)
            or any(self.comes_from_gemm(base_of(each)) for each in (op.a, op.b))
        )

    def axes_in_parts(self, op: GemmOp) -> frozenset[int]:
        """Dimensions of which loops access only a part of the result at once."""
        return frozenset(self._parts.get(base_of(op.c), ()))

    def is_reduced_along_rows(self, op: GemmOp) -> bool:
        """Whether rows of the result are reduced."""
        return any(each in self._reduced for each in self.reached_from(base_of(op.c)))


def _parts(loop: ParallelOp, access: LoadOp | StoreOp) -> list[int]:
    """Dimensions along which a loop accesses neighbouring elements, but not all there are."""
    extents: dict[SSAValue, Mixed] = dict(zip(loop.body.block.args, loop.extents, strict=True))
    found: list[int] = []
    for axis, (index, size) in enumerate(
        zip(access.indices, shape_of(access.memref.type), strict=True)
    ):
        used = index.owner.operands if isinstance(index.owner, AddiOp) else (index,)
        walked = [extents[each] for each in used if each in extents]
        if len(walked) == 1 and walked[0] != size:
            found.append(axis)
    return found
