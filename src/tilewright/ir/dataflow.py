"""A sparse forward dataflow solver: one lattice state per SSA value.

A client supplies a ``Lattice`` (how states join) and an ``Analysis`` (what ops do to states). The
solver propagates states along every path of a value, and identifies ops only by their traits
(``ir.interfaces``)::

    operands ──visit──▶ results                  ordinary ops
    edge.operands ──join──▶ edge.inputs          RegionBranch and BranchLike ops
    call arguments ──join──▶ function arguments  CallLike, over all call sites
    return operands ──join──▶ call results

A value has no state until something reaches it; an op is visited when its block can run and all its
operands have one. Code that never runs therefore keeps ``bottom``, and an analysis that evaluates a
branch condition cuts off the other side by ``feasible``.

States only grow, because each new state is joined with the old. Where a value can flow into
itself (the target of a backward edge) ``widen`` is used from the ``widen_after``-th change on, and
a value that has changed ``give_up_after`` times becomes ``top`` for good. So every run ends,
whatever the lattice. The order of work is the textual order of ops: runs repeat exactly, and an
inner loop converges before what follows it is visited.

Parity of integers, for example::

    class Parity(Lattice[str]):
        bottom, top = "none", "any"

        def join(self, a: str, b: str) -> str:
            return a if a == b or b == "none" else b if a == "none" else "any"

    class ParityAnalysis(Analysis[str]):
        lattice = Parity()

        def visit(self, op, states):
            match op:
                case ConstantOp():
                    return ["odd" if value_of(op) % 2 else "even"]
                case AddOp() if "any" not in states:
                    return ["even" if states[0] == states[1] else "odd"]
            return None

    solution = solve(module, ParityAnalysis())
    solution[op.results[0]]
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import CallableOpInterface, ReturnLike

from tilewright.ir.interfaces import (
    CallLike,
    Edge,
    RegionBranch,
    branch_edges,
    function_body,
    returns,
)
from tilewright.ir.symbols import SymbolTables
from tilewright.ir.traversal import walk

S = TypeVar("S")


class Lattice(ABC, Generic[S]):
    """States and their order. States are compared with ``==`` and never changed in place."""

    bottom: S
    """Nothing reaches here; the neutral element of ``join``."""
    top: S
    """Anything may be the case."""

    @abstractmethod
    def join(self, a: S, b: S) -> S:
        """What holds if ``a`` or ``b`` does."""

    def widen(self, old: S, new: S) -> S:
        """A state above ``new`` that can be reached only finitely often; see the module text.

        A lattice of small height needs none.
        """
        return new


class Analysis(ABC, Generic[S]):
    """What ops mean in terms of states."""

    lattice: Lattice[S]

    @abstractmethod
    def visit(self, op: Operation, states: Sequence[S]) -> Sequence[S] | None:
        """The states of the results, given those of the operands; ``None`` if nothing is known.

        Not called for structured ops whose results are forwarded, nor for calls to known functions.
        """

    def entry(self, argument: BlockArgument) -> S:
        """The state of an argument that comes from outside: of a function anyone may call."""
        return self.lattice.top

    def argument(self, op: Operation, argument: BlockArgument, states: Sequence[S]) -> S:
        """The state of a region argument that ``op`` makes itself, as a loop its counter.

        ``states`` are those of the operands of ``op``.
        """
        return self.lattice.top

    def feasible(self, op: Operation, edges: Sequence[Edge], states: Sequence[S]) -> Sequence[Edge]:
        """Those of ``edges`` that control can take from ``op``, given its operands' states.

        ``op`` is a structured op being entered, the terminator of one of its regions, or a branch.
        """
        return edges


class Solution(Generic[S]):
    """The result: ``solution[value]`` is the value's state, bottom where nothing reaches it."""

    def __init__(self, bottom: S, states: dict[SSAValue, S], blocks: set[Block]):
        self._bottom = bottom
        self._states = states
        self._blocks = blocks

    def __getitem__(self, value: SSAValue) -> S:
        return self._states.get(value, self._bottom)

    def __contains__(self, value: SSAValue) -> bool:
        """Whether anything reaches ``value``."""
        return value in self._states

    def is_reachable(self, block: Block) -> bool:
        """Whether control can get to ``block``."""
        return block in self._blocks


def solve(
    root: Operation, analysis: Analysis[S], *, widen_after: int = 3, give_up_after: int = 100
) -> Solution[S]:
    """Run ``analysis`` over a module or function that was verified.

    Functions that can be called from outside start from ``Analysis.entry``; a private function
    that is called inside ``root`` starts from its call sites.
    """
    solver = _Solver(root, analysis, widen_after, give_up_after)
    solver.run()
    return Solution(analysis.lattice.bottom, solver.states, solver.reached)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the traits of one op class mean to the solver."""

    branch: RegionBranch | None
    call: CallLike | None
    is_function: bool
    is_return: bool


class _CallGraph:
    """The call graph inside ``root``."""

    def __init__(self, root: Operation, calls: Iterable[tuple[Operation, CallLike]]):
        symbols = SymbolTables()
        self._callee: dict[Operation, Operation] = {}
        self._callees: dict[Operation | None, dict[Operation, None]] = {}
        self._caller: dict[Operation, Operation | None] = {}
        for call, trait in calls:
            symbol = trait.callee(call)
            callee = None if symbol is None else symbols.lookup(call, symbol)
            if callee is None or function_body(callee) is None or not root.is_ancestor(callee):
                continue
            caller = _enclosing_function(call)
            self._callee[call] = callee
            self._caller[call] = caller
            self._callees.setdefault(caller, {})[callee] = None
        self._called = set(self._callee.values())

    def callee(self, call: Operation) -> Operation | None:
        """The function whose body a call runs, ``None`` if that cannot be seen."""
        return self._callee.get(call)

    def is_called(self, function: Operation) -> bool:
        return function in self._called

    def is_recursive(self, call: Operation) -> bool:
        """Whether the function called may call the caller in turn."""
        caller = self._caller[call]
        pending, seen = [self._callee[call]], {self._callee[call]}
        while pending:
            function = pending.pop()
            if function is caller:
                return True
            fresh = [f for f in self._callees.get(function, ()) if f not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return False


class _Solver(Generic[S]):
    def __init__(
        self, root: Operation, analysis: Analysis[S], widen_after: int, give_up_after: int
    ):
        self.states: dict[SSAValue, S] = {}
        self.reached: set[Block] = set()
        self._root = root
        self._analysis = analysis
        self._lattice = analysis.lattice
        self._widen_after = widen_after
        self._give_up_after = give_up_after
        self._changes: dict[SSAValue, int] = {}
        self._kinds: dict[type[Operation], _Kind] = {}
        self._ops = list(walk(root))
        self._index_of = {op: index for index, op in enumerate(self._ops)}
        self._queue: list[int] = []
        self._queued: set[int] = set()
        # Ops to look at again when a value changes that is not among their operands.
        self._watchers: dict[SSAValue, dict[Operation, None]] = {}
        # Inputs that a structured op makes itself, once an edge has reached them.
        self._computed: dict[Operation, dict[SSAValue, None]] = {}
        calls = [(op, call) for op in self._ops if (call := self._kind(op).call) is not None]
        self._calls = _CallGraph(root, calls)
        self._call_sites: dict[Operation, dict[Operation, bool]] = {}
        """For each function the calls that reach it so far, and whether they are recursive."""

    def run(self) -> None:
        if self._root.parent is not None:
            self._seed_outer_values()
        self._push(self._root)
        while self._queue:
            index = heappop(self._queue)
            self._queued.discard(index)
            self._visit(self._ops[index])

    def _seed_outer_values(self) -> None:
        """Nothing is known of values that are defined around the root."""
        for op in self._ops:
            for operand in op.operands:
                owner = operand.owner if op is not self._root else None
                if isinstance(owner, Block):
                    owner = owner.parent_op()
                if owner not in self._index_of:
                    self.states[operand] = self._lattice.top

    # The worklist.

    def _push(self, op: Operation) -> None:
        index = self._index_of.get(op)
        if index is not None and index not in self._queued:
            self._queued.add(index)
            heappush(self._queue, index)

    def _reach(self, block: Block | None) -> None:
        if block is None or block in self.reached:
            return
        self.reached.add(block)
        for op in block.ops:
            self._push(op)

    def _update(self, value: SSAValue, state: S, *, widen: bool = False) -> None:
        """Join ``state`` into the value's own, and see to it that this ends."""
        if value not in self.states:
            self._set(value, state)
            return
        changes = self._changes.get(value, 0) + 1
        if changes > self._give_up_after:
            return
        old = self.states[value]
        new = self._lattice.join(old, state)
        if new == old:
            return
        if changes == self._give_up_after:
            new = self._lattice.top
        elif widen and changes >= self._widen_after:
            new = self._lattice.widen(old, new)
        self._changes[value] = changes
        self._set(value, new)

    def _set(self, value: SSAValue, state: S) -> None:
        self.states[value] = state
        for use in value.uses:
            self._push(use.operation)
        for op in self._watchers.get(value, ()):
            self._push(op)

    def _states_of(self, values: Iterable[SSAValue]) -> list[S] | None:
        """The states of ``values``, ``None`` while one of them is not reached."""
        states = self.states
        try:
            return [states[value] for value in values]
        except KeyError:
            return None

    # Ops.

    def _kind(self, op: Operation) -> _Kind:
        cls = type(op)
        kind = self._kinds.get(cls)
        if kind is None:
            kind = self._kinds[cls] = _Kind(
                branch=cls.get_trait(RegionBranch),
                call=cls.get_trait(CallLike),
                is_function=cls.get_trait(CallableOpInterface) is not None,
                is_return=cls.get_trait(ReturnLike) is not None,
            )
        return kind

    def _visit(self, op: Operation) -> None:
        if op is not self._root and op.parent not in self.reached:
            return
        states = self._states_of(op.operands)
        if states is None:
            return
        kind = self._kind(op)
        if kind.is_function:
            self._enter_function(op)
        elif kind.branch is not None:
            edges = kind.branch.successors(op, op)
            self._follow(op, self._analysis.feasible(op, edges, states), op)
            self._compute(op)
        elif kind.call is not None:
            self._call(op, kind.call.arguments(op))
        else:
            self._enter_regions(op, states)
            self._set_results(op, states)
        if op.next_op is None and op is not self._root:
            self._leave_block(op, kind, states)

    def _set_results(self, op: Operation, states: Sequence[S]) -> None:
        if not op.results:
            return
        results = self._analysis.visit(op, states)
        if results is None:
            results = [self._lattice.top] * len(op.results)
        for result, state in zip(op.results, results, strict=True):
            self._update(result, state)

    def _enter_regions(self, op: Operation, states: Sequence[S]) -> None:
        """Regions of an op without a region interface: they may run, with any arguments."""
        for region in op.regions:
            block = region.first_block
            self._reach(block)
            for arg in () if block is None else block.args:
                self._update(arg, self._analysis.argument(op, arg, states))

    # Control flow.

    def _leave_block(self, op: Operation, kind: _Kind, states: Sequence[S]) -> None:
        """Follow a terminator."""
        if op.successors:
            edges = branch_edges(op)
            self._follow(op, self._analysis.feasible(op, edges, states), None)
            return
        parent, region = op.parent_op(), op.parent_region()
        if parent is None or region is None:
            return
        outer = self._kind(parent)
        if outer.branch is not None:
            edges = [e for e in outer.branch.successors(parent, region) if e.source is op]
            self._follow(op, self._analysis.feasible(op, edges, states), parent)
        elif outer.is_function and kind.is_return:
            for call, recursive in self._call_sites.get(parent, {}).items():
                for result, state in zip(call.results, states, strict=True):
                    self._update(result, state, widen=recursive)

    def _follow(self, source: Operation, edges: Iterable[Edge], op: Operation | None) -> None:
        """Take ``edges`` that leave ``source``; ``op`` is the structured op they belong to."""
        own = set(source.operands)
        for edge in edges:
            target = edge.target
            if not isinstance(target, Operation):
                self._reach(target.first_block if isinstance(target, Region) else target)
            backward = self._is_backward(edge, op)
            for value, into in zip(edge.operands, edge.inputs, strict=True):
                if value not in own:
                    self._watchers.setdefault(value, {})[source] = None
                if value in self.states:
                    self._update(into, self.states[value], widen=backward)
            if op is None:
                for into in edge.unknown:
                    self._update(into, self._lattice.top)
            elif edge.unknown:
                inputs = self._computed.setdefault(op, {})
                if not inputs.keys() >= set(edge.unknown):
                    inputs.update(dict.fromkeys(edge.unknown))
                    self._compute(op)

    def _compute(self, op: Operation) -> None:
        """Update the inputs that ``op`` computes itself."""
        states = self._states_of(op.operands)
        inputs = self._computed.get(op)
        if states is None or not inputs:
            return
        for value in inputs:
            if isinstance(value, BlockArgument):
                self._update(value, self._analysis.argument(op, value, states))
        if not inputs.keys().isdisjoint(op.results):
            self._set_results(op, states)

    def _is_backward(self, edge: Edge, op: Operation | None) -> bool:
        """Whether an edge goes against the textual order, as one in every cycle must."""
        if isinstance(edge.target, Block):
            first = edge.target.first_op
            return first is not None and self._index_of[first] <= self._index_of[edge.source]
        region = edge.source.parent_region()
        if not isinstance(edge.target, Region) or op is None or region is None:
            return False
        if edge.source is op or region.parent is not op:
            return False
        return op.get_region_index(edge.target) <= op.get_region_index(region)

    # Functions.

    def _enter_function(self, op: Operation) -> None:
        body = function_body(op)
        visibility = op.get_attr_or_prop("sym_visibility")
        private = isinstance(visibility, StringAttr) and visibility.data == "private"
        if body is None or body.first_block is None:
            return
        if op is not self._root and private and self._calls.is_called(op):
            return
        self._reach(body.first_block)
        for arg in body.first_block.args:
            self._update(arg, self._analysis.entry(arg))

    def _call(self, op: Operation, arguments: Sequence[SSAValue]) -> None:
        function = self._calls.callee(op)
        body = None if function is None else function_body(function)
        if function is None or body is None or body.first_block is None:
            for result in op.results:
                self._update(result, self._lattice.top)
            return
        sites = self._call_sites.setdefault(function, {})
        if op not in sites:
            sites[op] = self._calls.is_recursive(op)
            for end in returns(function):
                self._push(end)
        self._reach(body.first_block)
        for value, arg in zip(arguments, body.first_block.args, strict=True):
            if value in self.states:
                self._update(arg, self.states[value], widen=sites[op])


def _enclosing_function(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and parent.get_trait(CallableOpInterface) is None:
        parent = parent.parent_op()
    return parent
