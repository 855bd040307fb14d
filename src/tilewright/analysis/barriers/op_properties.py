"""Properties of the ops of concurrent roles, computed once and used in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.barriers.concurrent_roles import ConcurrentRoles, is_essential
from tilewright.analysis.barriers.constant_eval import Rule, rule_of
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
)
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import PersistentOp, PipelineOp, Space, space_of
from tilewright.dialects.tile.access import AccessedRegion, base_of
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.ir.traversal import walk

BarrierUser: TypeAlias = (
    MBarrierWaitOp | MBarrierArriveOp | MBarrierArriveExpectTxOp | MBarrierExpectTxOp
)


@dataclass(frozen=True, slots=True)
class Computation:
    """An op that computes integers, and does nothing else."""

    rule: Rule
    operands: tuple[SSAValue, ...]
    results: list[SSAValue]


class OpProperties:
    """Properties of the ops of concurrent roles."""

    def __init__(self, roles: ConcurrentRoles) -> None:
        self.roles = roles
        self.explicit = {
            base_of(op.barrier)
            for op in walk(roles.kernel)
            if isinstance(op, MBarrierExpectTxOp | MBarrierArriveExpectTxOp)
        }
        self._essential: dict[Operation, bool] = {}
        self._inner: dict[Operation, bool] = {}
        self._regions: dict[Operation, list[tuple[AccessedRegion, bool]]] = {}
        self._integers: dict[Operation, list[SSAValue]] = {}
        self._rules: dict[Operation, Rule] = {}
        self._elements: dict[Operation, tuple[SSAValue, Space | None, Sequence[SSAValue]]] = {}
        self._barriers: dict[Operation, tuple[SSAValue, SSAValue]] = {}
        self._steps: dict[Block, list[Operation | Computation]] = {}

    def steps(self, block: Block) -> list[Operation | Computation]:
        """The ops of a block; arithmetic, which most of them are, ready to be evaluated."""
        found = self._steps.get(block)
        if found is None:
            found = self._steps[block] = []
            for op in block.ops:
                if op.regions or not op.name.startswith("arith."):
                    found.append(op)
                elif results := self.integers(op):
                    found.append(Computation(self.rule(op), tuple(op.operands), results))
        return found

    def integers(self, op: Operation) -> list[SSAValue]:
        """The results that are integers."""
        found = self._integers.get(op)
        if found is None:
            found = self._integers[op] = [
                each for each in op.results if isinstance(each.type, IndexType | IntegerType)
            ]
        return found

    def element(self, op: LoadOp | StoreOp) -> tuple[SSAValue, Space | None, Sequence[SSAValue]]:
        """The buffer of an access, its space, and the indices."""
        found = self._elements.get(op)
        if found is None:
            base = base_of(op.memref)
            found = self._elements[op] = base, space_of(base.type), tuple(op.indices)
        return found

    def barrier(self, op: BarrierUser) -> tuple[SSAValue, SSAValue]:
        """The array of the barrier that an op uses, and the index in it."""
        found = self._barriers.get(op)
        if found is None:
            found = self._barriers[op] = base_of(op.barrier), op.index
        return found

    def rule(self, op: Operation) -> Rule:
        found = self._rules.get(op)
        if found is None:
            found = self._rules[op] = rule_of(op)
        return found

    def is_essential(self, op: Operation) -> bool:
        found = self._essential.get(op)
        if found is None:
            found = self._essential[op] = is_essential(op)
        return found

    def is_innermost(self, op: Operation) -> bool:
        """Whether no loop in `op` has barriers in it."""
        if op not in self._inner:
            self._inner[op] = not any(
                isinstance(each, ForOp | PipelineOp | PersistentOp) and self.is_essential(each)
                for each in walk(op)
                if each is not op
            )
        return self._inner[op]

    def has_barriers(self, op: Operation) -> bool:
        """Whether roles synchronise in `op`, as they do in loops that were split."""
        return any(each.name.startswith("nv.mbarrier.") for each in walk(op))

    def regions(self, op: Operation) -> list[tuple[AccessedRegion, bool]]:
        """Memory visible to other roles that `op` accesses."""
        found = self._regions.get(op)
        if found is None:
            found = [(region, False) for region in reads(op)]
            found += [(region, True) for region in writes(op)]
            found = self._regions[op] = [each for each in found if _is_common(each[0])]
        return found


def _is_common(region: AccessedRegion) -> bool:
    space = region.space
    return space is not None and (space.is_shared or space in (Space.TMEM, Space.GLOBAL))
