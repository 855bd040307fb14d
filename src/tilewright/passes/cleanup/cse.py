"""Common subexpression elimination: of two ops that compute the same, keep the first.

Ops are the same when class, operands, attributes, result types and regions are. Only ops without
effects are merged; reads are not, since a write may come between them. Operands of commutative ops
count in any order. An op replaces another only where it dominates it, which scopes keep track of::

    function body            a table of its own, since nothing is visible from outside
      block                  what is added while in the block is forgotten at its end
        region of an op      sees the table of the block around it
        dominated block      sees the table of its dominator

The remaining op keeps its location; if that is unknown it takes the other's.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, UnknownLoc, UnregisteredOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import Commutative, IsolatedFromAbove, IsTerminator, MemoryEffect, NoMemoryEffect

from tilewright.ir.attribute_ids import AttributeIds
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.dominance import DominatorTree
from tilewright.ir.effects import (
    always_removable,
    is_pure,
    is_removable,
    never_pure,
    never_removable,
)
from tilewright.ir.interfaces import GraphRegions
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text.accessors import operands_of
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class Cse(Pass):
    """Merge ops without effects that compute the same."""

    name = "cse"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        eliminate_common_subexpressions(module, Rewriter())


def eliminate_common_subexpressions(root: Operation, rewriter: Rewriter) -> None:
    """Merge equal ops inside ``root`` and drop dead ones in the same walk."""
    _Eliminator(rewriter).run(root)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the traits of an op class mean here."""

    may_merge: bool
    always_pure: bool
    never_dead: bool
    always_removable: bool
    commutative: bool
    isolated: bool
    ordered: bool
    """The ops of its regions run in textual order, so one may stand for a later one."""


@cache
def _kind_of(cls: type[Operation]) -> _Kind:
    effects = cls.get_traits_of_type(MemoryEffect)
    unregistered = issubclass(cls, UnregisteredOp)
    return _Kind(
        may_merge=bool(effects) and cls.get_trait(IsTerminator) is None and not never_pure(cls),
        always_pure=all(isinstance(trait, NoMemoryEffect) for trait in effects),
        never_dead=never_removable(cls),
        always_removable=always_removable(cls),
        commutative=cls.get_trait(Commutative) is not None,
        isolated=unregistered or cls.get_trait(IsolatedFromAbove) is not None,
        ordered=not unregistered
        and not issubclass(cls, ModuleOp)
        and cls.get_trait(GraphRegions) is None,
    )


Key: TypeAlias = tuple[Hashable, ...]


@dataclass(slots=True)
class _Table:
    """Ops by what they compute, for the blocks of one isolated op."""

    known: dict[Key, Operation] = field(default_factory=dict[Key, Operation])
    added: list[Key] = field(default_factory=list[Key])


Steps: TypeAlias = Iterator["Steps"]
"""Work that yields the work to do first; IR may be nested deeper than Python's stack."""


class _Eliminator:
    def __init__(self, rewriter: Rewriter):
        self._rewriter = rewriter
        self._attribute_ids = AttributeIds()
        self._table = _Table()

    def run(self, root: Operation) -> None:
        stack = [self._regions(root)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)

    def _regions(self, op: Operation) -> Steps:
        kind = _kind_of(type(op))
        outer = self._table
        if kind.isolated:
            self._table = _Table()
        for region in op.regions:
            if region.first_block is None:
                continue
            if kind.ordered:
                yield self._blocks(region.first_block, _dominated_blocks(region))
            else:
                yield self._unordered(region)
        self._table = outer

    def _unordered(self, region: Region) -> Steps:
        for block in region.blocks:
            for op in list(block.ops):
                if op.regions:
                    yield self._regions(op)

    def _blocks(self, block: Block, dominated: Mapping[Block, Sequence[Block]]) -> Steps:
        table = self._table
        mark = len(table.added)
        for op in list(block.ops):
            if op.regions:
                yield self._regions(op)
            self._merge(op)
        for child in dominated.get(block, ()):
            yield self._blocks(child, dominated)
        for key in table.added[mark:]:
            del table.known[key]
        del table.added[mark:]

    def _merge(self, op: Operation) -> None:
        kind = _kind_of(type(op))
        if self._is_dead(op, kind):
            self._rewriter.erase(op)
            return
        if not kind.may_merge or not (kind.always_pure or is_pure(op)):
            return
        key = self._key(op, kind)
        if key is None:
            return
        first = self._table.known.setdefault(key, op)
        if first is op:
            self._table.added.append(key)
            return
        if isinstance(first.location, UnknownLoc):
            first.location = op.location
        self._rewriter.replace_op(op, (), first.results)

    def _is_dead(self, op: Operation, kind: _Kind) -> bool:
        if kind.never_dead:
            return False
        for result in op.results:
            if result.first_use is not None:
                return False
        return kind.always_removable or is_removable(op)

    def _key(self, op: Operation, kind: _Kind) -> Key | None:
        operands = [id(operand) for operand in operands_of(op)]
        if kind.commutative:
            operands.sort()
        regions = self._regions_key(op) if op.regions else ()
        return None if regions is None else (*self._head(op, operands), regions)

    def _head(self, op: Operation, operands: Sequence[int]) -> Key:
        """All about an op but its regions, with numbers for the operands."""
        return (type(op), len(operands), *operands, *self._attribute_ids.of_op(op))

    def _regions_key(self, op: Operation) -> Key | None:
        """The ops inside ``op``, with numbers below zero for values made there."""
        local: dict[int, int] = {}
        parts: list[Hashable] = []
        for inner in walk(op):
            if inner is not op:
                operands = [local.get(id(operand), id(operand)) for operand in inner.operands]
                parts.append(self._head(inner, operands))
                for result in inner.results:
                    local[id(result)] = ~len(local)
            for region in inner.regions:
                block = region.first_block
                if block is not region.last_block:
                    return None
                if block is None:
                    parts.append(None)
                    continue
                parts.append(
                    (len(block.ops), *[self._attribute_ids.of(a.type) for a in block.args])
                )
                for arg in block.args:
                    local[id(arg)] = ~len(local)
        return tuple(parts)


def _dominated_blocks(region: Region) -> Mapping[Block, Sequence[Block]]:
    """The blocks that each block of a region dominates directly, in textual order."""
    if region.first_block is region.last_block:
        return {}
    tree = DominatorTree(region)
    dominated: dict[Block, list[Block]] = {}
    for block in region.blocks:
        parent = tree.immediate_dominator(block)
        if parent is not None:
            dominated.setdefault(parent, []).append(block)
    return dominated
