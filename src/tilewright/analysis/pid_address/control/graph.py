"""Regions with several blocks: early returns, and the loops that unstructured code makes.

Without cycles, blocks are evaluated in topological order: a block is reached if one of its
predecessors is and its jump goes there, and block arguments are selections by the edges.

In a cycle nothing is solved: its block arguments are opaque. The blocks are evaluated twice, first
to learn what the arguments depend on. Values of the cycle depend on an iteration counter; the
condition under which a cycle is left is opaque.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.affine import Formula
from tilewright.analysis.pid_address.control.blocks import Exit, leave, run_block
from tilewright.analysis.pid_address.control.joins import joined, merged_guard
from tilewright.analysis.pid_address.report import Loop
from tilewright.analysis.pid_address.scope import MAX_FORMULA, Scope
from tilewright.analysis.pid_address.values import Value, basis_of, deps_of
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.cf import BranchOp, CondBranchOp, SwitchOp
from tilewright.ir.dominance import DominatorTree, successors_of
from tilewright.ir.interfaces import branch_edges

CYCLE = "while"
"""How a loop that has no induction variable is named."""


@dataclass(frozen=True)
class _Way:
    """One jump to a block."""

    source: Scope
    condition: Formula
    basis: int
    values: tuple[Value, ...]

    @property
    def guard(self) -> Formula:
        return self.source.guard & self.condition


def run_graph(scope: Scope, region: Region) -> list[Exit]:
    """Evaluate the blocks of a region whose entry arguments are set."""
    entry = region.first_block
    assert entry is not None
    order = _reverse_postorder(entry)
    cycles = _cyclic_blocks(order)
    run = _Run(scope, region, order, cycles)
    if not cycles:
        return run.evaluate({})
    placeholders: dict[SSAValue, int] = {
        argument: scope.atoms.placeholder_mask()
        for block in order
        if block in cycles
        for argument in block.args
    }
    run.evaluate(placeholders)
    return run.evaluate(run.closure(placeholders))


class _Run:
    """The evaluation of one region."""

    def __init__(
        self, scope: Scope, region: Region, order: Sequence[Block], cycles: frozenset[Block]
    ) -> None:
        self._scope = scope
        self._tree = DominatorTree(region)
        self._order = order
        self._cycles = cycles
        self._loop = self._make_loop() if cycles else None
        self._ways: dict[Block, list[_Way]] = {}
        self._ends: dict[Block, Scope] = {}

    def _make_loop(self) -> Loop:
        enclosing = [loop.counter.name for loop in self._scope.loops]
        counter = self._scope.atoms.counter(CYCLE, None, enclosing).atom
        assert counter is not None
        return Loop(CYCLE, counter, None)

    def evaluate(self, opaque: Mapping[SSAValue, int]) -> list[Exit]:
        """Evaluate all blocks; `opaque` gives the dependencies of arguments in cycles."""
        self._ways, self._ends = {}, {}
        exits: list[Exit] = []
        for block in self._order:
            scope = self._enter(block)
            for index, argument in enumerate(block.args):
                if argument in opaque:
                    mask = opaque[argument] | self._cycle_mask()
                    scope.set(argument, scope.unknown(argument, mask | scope.atoms.carried))
                elif block in self._ways:
                    ways = [
                        (way.guard, way.basis | way.source.basis, way.values[index])
                        for way in self._ways[block]
                    ]
                    scope.set(argument, joined(scope, argument, ways))
            end = self._ends[block] = run_block(scope, block)
            if successors_of(block):
                self._jump(end, block)
            else:
                exits.append(leave(end, block))
        return exits

    def _enter(self, block: Block) -> Scope:
        """The scope at the start of a block, from those of its predecessors so far."""
        ways = self._ways.get(block, [])
        above = self._tree.immediate_dominator(block)
        if above is None or not ways:
            scope = self._scope
        elif len(ways) == 1:
            scope = ways[0].source.under(ways[0].condition, ways[0].basis)
        else:
            scope = self._ends[above]
            guard = self._limited(scope, block, merged_guard(scope, [way.guard for way in ways]))
            if guard is not scope.guard:
                ctx = scope.ctx.assume(scope.ctx.known(guard))
                scope = replace(scope, guard=guard, ctx=ctx, basis=_joined_basis(ways))
        return self._around(scope, block)

    def _limited(self, scope: Scope, block: Block, guard: Formula) -> Formula:
        """The condition of a block, or an opaque one if too many ways lead there."""
        first = block.first_op
        if first is None or scope.machine.formula_size(guard) <= MAX_FORMULA:
            return guard
        name = f"reaches:{scope.machine.position(first)}"
        return scope.atoms.predicate("@".join((name, *scope.path)), guard.deps_mask, ())

    def _around(self, scope: Scope, block: Block) -> Scope:
        """`scope` inside the cycle, or out of it again."""
        loop = self._loop
        if loop is None or (block in self._cycles) == (loop in scope.loops):
            return scope
        if block in self._cycles:
            return replace(scope, loops=(*scope.loops, loop))
        return replace(scope, loops=tuple(one for one in scope.loops if one is not loop))

    def _cycle_mask(self) -> int:
        return 0 if self._loop is None else self._loop.counter.deps_mask

    def _jump(self, end: Scope, block: Block) -> None:
        last = block.last_op
        assert last is not None
        for edge, condition in zip(branch_edges(last), _conditions(end, last), strict=True):
            target = edge.target
            assert isinstance(target, Block)
            leaves = block in self._cycles and target not in self._cycles
            if leaves and condition.truth is None:
                condition = self._exit_condition(end, last, condition)
            values = tuple(end.get(value) for value in edge.operands)
            way = _Way(end, condition, _condition_basis(end, last), values)
            self._ways.setdefault(target, []).append(way)

    def _exit_condition(self, end: Scope, last: Operation, condition: Formula) -> Formula:
        mask = condition.deps_mask & ~self._cycle_mask()
        name = f"leaves:{end.machine.position(last)}"
        return end.atoms.predicate("@".join((name, *end.path)), mask, ())

    def closure(self, placeholders: Mapping[SSAValue, int]) -> dict[SSAValue, int]:
        """What arguments in cycles depend on, after an evaluation with placeholders."""
        direct: dict[SSAValue, int] = {}
        for block in self._cycles:
            for index, argument in enumerate(block.args):
                mask = 0
                for way in self._ways.get(block, ()):
                    mask |= deps_of(way.values[index]) | way.condition.deps_mask
                direct[argument] = mask
        return _closed(direct, placeholders)


def _closed(direct: Mapping[SSAValue, int], bits: Mapping[SSAValue, int]) -> dict[SSAValue, int]:
    closed = dict(direct)
    own = 0
    for bit in bits.values():
        own |= bit
    for _ in bits:
        for argument, mask in closed.items():
            for other, bit in bits.items():
                if mask & bit:
                    mask |= closed[other]
            closed[argument] = mask
    return {argument: mask & ~own for argument, mask in closed.items()}


def _joined_basis(ways: Sequence[_Way]) -> int:
    basis = 0
    for way in ways:
        basis |= way.basis | way.source.basis
    return basis


def _condition_basis(scope: Scope, last: Operation) -> int:
    if not isinstance(last, CondBranchOp | SwitchOp):
        return 0
    return basis_of(scope.get(last.operands[0]))


def _conditions(scope: Scope, last: Operation) -> list[Formula]:
    """The condition of each successor."""
    match last:
        case BranchOp():
            return [scope.space.true]
        case CondBranchOp():
            formula = scope.formula(last.condition).formula
            return [formula, ~formula]
        case SwitchOp():
            flag = scope.integer(last.flag)
            values = integers_in(last.case_values) or ()
            cases = [scope.ctx.compare("=", flag.expr, value) for value in values]
            default = scope.space.true
            for case in cases:
                default = default & ~case
            return [default, *cases]
        case _:
            return [
                scope.space.predicate(f"jump:{scope.machine.position(last)}:{index}")
                for index in range(len(last.successors))
            ]


def _reverse_postorder(entry: Block) -> list[Block]:
    seen = {entry}
    order: list[Block] = []
    stack = [(entry, iter(successors_of(entry)))]
    while stack:
        block, successors = stack[-1]
        following = next((one for one in successors if one not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors_of(following))))
    return order[::-1]


def _cyclic_blocks(order: Sequence[Block]) -> frozenset[Block]:
    """The blocks from which control can come back."""
    reach: dict[Block, set[Block]] = {block: set(successors_of(block)) for block in order}
    if not any(
        order.index(target) <= at for at, block in enumerate(order) for target in reach[block]
    ):
        return frozenset()
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            wider = reach[block].union(*(reach[one] for one in reach[block]))
            if len(wider) > len(reach[block]):
                reach[block] = wider
                changed = True
    return frozenset(block for block in order if block in reach[block])
