"""The solver against naive iteration on random programs.

States are sets of residues modulo 4, so no widening is needed and the answers must be equal.
"""

import operator
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tests.ir.flow_ops import (
    BranchOp,
    ConditionalBranchOp,
    ForOp,
    IfOp,
    WhileOp,
    all_values,
)
from tests.ir.intervals import value_of
from tilewright.ir.dataflow import Analysis, Lattice, solve
from tilewright.ir.interfaces import Edge

MODULUS = 4
RESIDUES = frozenset(range(MODULUS))
Residues = frozenset[int]
OPERATORS = {
    arith.AddiOp: operator.add,
    arith.MuliOp: operator.mul,
    arith.SubiOp: operator.sub,
}


def transfer(op: Operation, states: Sequence[Residues]) -> list[Residues]:
    if isinstance(op, arith.ConstantOp):
        return [frozenset({value_of(op) % MODULUS})]
    function = OPERATORS[type(op)]
    return [frozenset(function(a, b) % MODULUS for a in states[0] for b in states[1])]


class ResidueLattice(Lattice[Residues]):
    bottom, top = frozenset(), RESIDUES

    def join(self, a: Residues, b: Residues) -> Residues:
        return a | b


class ResidueAnalysis(Analysis[Residues]):
    lattice = ResidueLattice()

    def visit(self, op: Operation, states: Sequence[Residues]) -> Sequence[Residues]:
        return transfer(op, states)

    def feasible(
        self, op: Operation, edges: Sequence[Edge], states: Sequence[Residues]
    ) -> Sequence[Edge]:
        if op.name not in ("scf.if", "cf.cond_br", "scf.condition"):
            return edges
        taken = {bool(x) for x in states[0]}
        return [e for e, when in zip(edges, (True, False), strict=True) if when in taken]


class ProgramBuilder:
    """Random structured programs; every choice is drawn from hypothesis."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.budget = 14

    def pick(self, values: list[SSAValue]) -> SSAValue:
        return values[self.draw(st.integers(0, len(values) - 1))]

    def statements(
        self, ints: list[SSAValue], bools: list[SSAValue], depth: int
    ) -> tuple[list[Operation], list[SSAValue], list[SSAValue]]:
        """Ops, and what is visible behind them."""
        ops: list[Operation] = []
        ints, bools = list(ints), list(bools)
        for _ in range(self.draw(st.integers(1, 4))):
            kinds = ["int", "bool", "math", "math", "if", "for", "while"]
            kind = self.draw(st.sampled_from(kinds if depth and self.budget > 0 else kinds[:3]))
            self.budget -= 1
            match kind:
                case "int":
                    number = self.draw(st.integers(0, MODULUS - 1))
                    op = arith.ConstantOp.from_int_and_width(number, i32)
                    ints.append(op.result)
                case "bool":
                    op = arith.ConstantOp.from_int_and_width(self.draw(st.integers(0, 1)), i1)
                    bools.append(op.result)
                case "math":
                    cls = self.draw(st.sampled_from(list(OPERATORS)))
                    op = cls(self.pick(ints), self.pick(ints))
                    ints.append(op.result)
                case "if":
                    op = IfOp(
                        self.pick(bools),
                        [i32],
                        self.region([], ints, bools, depth),
                        self.region([], ints, bools, depth),
                    )
                    ints.extend(op.results)
                case "for":
                    bound = arith.ConstantOp.from_int_and_width(0, i32)
                    ops.append(bound)
                    inits = [self.pick(ints)]
                    body = self.region([i32, i32], ints, bools, depth)
                    op = ForOp(bound, bound, bound, inits, body)
                    ints.extend(op.results)
                case _:
                    inits = [self.pick(ints)]
                    before = self.region([i32], ints, bools, depth, condition=True)
                    after = self.region([i32], ints, bools, depth)
                    op = WhileOp(inits, [i32], before, after)
                    ints.extend(op.results)
            ops.append(op)
        return ops, ints, bools

    def region(
        self,
        arg_types: list[object],
        ints: list[SSAValue],
        bools: list[SSAValue],
        depth: int,
        condition: bool = False,
    ) -> Region:
        block = Block(arg_types=arg_types)
        ops, ints, bools = self.statements([*ints, *block.args], bools, depth - 1)
        block.add_ops(ops)
        result = self.pick(ints)
        end = scf.ConditionOp(self.pick(bools), result) if condition else scf.YieldOp(result)
        block.add_op(end)
        return Region(block)


@st.composite
def programs(draw: st.DrawFn) -> ModuleOp:
    block = Block(arg_types=[i32, i1])
    x, c = block.args
    ops, _, _ = ProgramBuilder(draw).statements([x], [c], 3)
    block.add_ops([*ops, func.ReturnOp()])
    return ModuleOp([func.FuncOp("f", ([i32, i1], []), Region(block))])


class NaiveInterpreter:
    """Runs a structured program on sets of residues by recursion; loops until nothing changes.

    Knows ``scf`` by name and nothing of edges. ``None`` is the state of what is not reached.
    """

    def __init__(self) -> None:
        self.env: dict[SSAValue, Residues] = {}

    def give(self, value: SSAValue, state: Residues | None) -> bool:
        if state is None:
            return False
        old = self.env.get(value)
        self.env[value] = state if old is None else old | state
        return self.env[value] != old

    def states(self, values: Sequence[SSAValue]) -> list[Residues] | None:
        found = [self.env.get(value) for value in values]
        return None if None in found else [s for s in found if s is not None]

    def block(self, block: Block) -> list[Residues] | None:
        """Run a block; the states of what its terminator hands on."""
        for op in block.ops:
            states = self.states(op.operands)
            if states is None:
                continue
            match op:
                case IfOp():
                    self.branch(op, states)
                case ForOp():
                    self.loop(op, states)
                case WhileOp():
                    self.repeat(op, states)
                case _ if op.results:
                    self.give(op.results[0], transfer(op, states)[0])
                case _:
                    return states
        return None

    def branch(self, op: IfOp, states: list[Residues]) -> None:
        for region, when in zip(op.regions, (True, False), strict=True):
            if when in {bool(x) for x in states[0]}:
                result = self.block(region.block)
                self.give(op.results[0], result and result[0])

    def loop(self, op: ForOp, states: list[Residues]) -> None:
        counter, carried = op.body.block.args
        self.give(counter, RESIDUES)
        self.give(carried, states[3])
        self.give(op.results[0], states[3])
        while (result := self.block(op.body.block)) is not None:
            self.give(op.results[0], result[0])
            if not self.give(carried, result[0]):
                return

    def repeat(self, op: WhileOp, states: list[Residues]) -> None:
        before, after = op.before_region.block, op.after_region.block
        self.give(before.args[0], states[0])
        changed = True
        while changed:
            condition = self.block(before)
            if condition is None:
                return
            taken = {bool(x) for x in condition[0]}
            changed = False
            if False in taken:
                self.give(op.results[0], condition[1])
            if True in taken:
                self.give(after.args[0], condition[1])
                result = self.block(after)
                changed = result is not None and self.give(before.args[0], result[0])


@given(programs())
def test_solver_matches_a_naive_interpreter(module: ModuleOp):
    module.verify()
    solution = solve(module, ResidueAnalysis())
    naive = NaiveInterpreter()
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    for arg in function.body.block.args:
        naive.give(arg, RESIDUES)
    naive.block(function.body.block)
    for value in all_values(module):
        assert (value in solution) == (value in naive.env), value
        assert solution[value] == naive.env.get(value, frozenset()), value


@given(programs())
def test_runs_repeat_exactly(module: ModuleOp):
    def trace() -> list[tuple[str, tuple[Residues, ...]]]:
        visited: list[tuple[str, tuple[Residues, ...]]] = []

        class Traced(ResidueAnalysis):
            def visit(self, op: Operation, states: Sequence[Residues]) -> Sequence[Residues]:
                visited.append((op.name, tuple(states)))
                return super().visit(op, states)

        solve(module, Traced())
        return visited

    assert trace() == trace()


@st.composite
def flow_graphs(draw: st.DrawFn) -> ModuleOp:
    """A function of up to five blocks, each with an argument, an op and random jumps."""
    count = draw(st.integers(2, 5))
    blocks = [Block(arg_types=[i32, i1] if n == 0 else [i32]) for n in range(count)]
    x, c = blocks[0].args
    for block in blocks:
        number = arith.ConstantOp.from_int_and_width(draw(st.integers(0, 3)), i32)
        mine = block.args[0]
        cls = draw(st.sampled_from(list(OPERATORS)))
        math = cls(mine, draw(st.sampled_from([x, number.result, mine])))
        flag = arith.ConstantOp.from_int_and_width(draw(st.integers(0, 1)), i1)
        condition = draw(st.sampled_from([c, flag.result]))
        block.add_ops([number, math, flag])
        value = draw(st.sampled_from([mine, math.result, number.result]))
        targets = draw(st.lists(st.sampled_from(blocks[1:]), max_size=2))
        match targets:
            case []:
                block.add_op(func.ReturnOp())
            case [target]:
                block.add_op(BranchOp(target, value))
            case _:
                left, right = targets
                block.add_op(ConditionalBranchOp(condition, left, [value], right, [math.result]))
    return ModuleOp([func.FuncOp("f", ([i32, i1], []), Region(blocks))])


def naive_blocks(function: func.FuncOp) -> dict[SSAValue, Residues]:
    """All blocks over and over, until a round changes nothing."""
    env: dict[SSAValue, Residues] = {}
    first = function.body.blocks[0]
    reached = {first}
    for arg in first.args:
        env[arg] = RESIDUES
    before = None
    while before != (env, reached):
        before = (dict(env), set(reached))
        for block in function.body.blocks:
            if block not in reached:
                continue
            for op in block.ops:
                if op.results:
                    env[op.results[0]] = transfer(op, [env[v] for v in op.operands])[0]
                    continue
                jumps: list[tuple[Block, SSAValue]] = []
                if isinstance(op, BranchOp):
                    jumps = [(op.successors[0], op.operands[0])]
                elif isinstance(op, ConditionalBranchOp):
                    jumps = [(op.successors[n], op.operands[n + 1]) for n in (0, 1)]
                    taken = {bool(x) for x in env[op.operands[0]]}
                    jumps = [
                        j for j, when in zip(jumps, (True, False), strict=True) if when in taken
                    ]
                for target, value in jumps:
                    reached.add(target)
                    env[target.args[0]] = env.get(target.args[0], frozenset()) | env[value]
    return env


@given(flow_graphs())
def test_solver_matches_naive_iteration_over_blocks(module: ModuleOp):
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    solution = solve(module, ResidueAnalysis())
    expected = naive_blocks(function)
    for value in all_values(module):
        assert (value in solution) == (value in expected), value
        assert solution[value] == expected.get(value, frozenset()), value
