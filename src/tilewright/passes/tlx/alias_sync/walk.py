"""Follows a task through a kernel: control flow and integers.

Every value is an integer (`analysis.alias_sync.symbolic_ints`), a view of a buffer, or None: a
tensor, a float, anything data-dependent. Ops without effect on memory are integers or None; all
others are in `rules`. An op on buffers without a rule, and a decision that needs a None, ends the
walk with `NotAnalysed`; nothing is skipped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.analysis.alias_sync.argument_search import Bounds, search, trips_of
from tilewright.analysis.alias_sync.machine import Machine
from tilewright.analysis.alias_sync.machine import Operation as Issued
from tilewright.analysis.alias_sync.symbolic_ints import Assumptions, Root, SymbolicInt
from tilewright.analysis.concurrency import Steps, Task
from tilewright.dialects.arith import CmpiOp, ConstantOp
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tt.functions import CallOp, FuncOp
from tilewright.dialects.tt.program import GetNumProgramsOp, GetProgramIdOp
from tilewright.dialects.tt.types import PtrType
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.ir.text.locations import find_name
from tilewright.passes.tlx.alias_sync.kernel import Kernel, NotAnalysed, accesses_buffer, task_name
from tilewright.passes.tlx.alias_sync.views import OutOfBounds, View


@dataclass(frozen=True)
class MmaIssue:
    """A tensor that an in-flight MMA will have written."""

    issued: Issued


Value: TypeAlias = SymbolicInt | View | MmaIssue | None
Rule: TypeAlias = "Callable[[Walk, Operation], Steps | None]"
_WARP = 32
_MAX_TRIPS = (1000, 5, 3)
"""Maximal trip counts of loops, of loops around loops, and of those around them: the first
iteration, the next, and one that uses what they left."""
_MAX_WHILE = 1000
_ARITHMETIC: Mapping[str, str] = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.divsi": "div",
    "arith.divui": "div",
    "arith.remsi": "rem",
    "arith.remui": "rem",
    "arith.floordivsi": "floordiv",
    "arith.ceildivsi": "ceildiv",
    "arith.ceildivui": "ceildiv",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.shli": "shl",
    "arith.shrsi": "shr",
    "arith.shrui": "shr",
    "arith.minsi": "min",
    "arith.minui": "min",
    "arith.maxsi": "max",
    "arith.maxui": "max",
    "tt.addptr": "add",
}
_SAME = frozenset(
    (
        "arith.bitcast",
        "arith.extui",
        "arith.index_cast",
        "arith.index_castui",
        "arith.trunci",
        "tlx.release_layout",
        "tlx.require_layout",
        "ttg.convert_layout",
        "ttng.warp_group_dot_wait",
    )
)
"""Ops that hand their operands on."""
_HANDS_ON = _SAME | {
    "scf.condition",
    "scf.yield",
    "tt.return",
    "ttg.warp_yield",
    "ttng.warp_group_dot",
}
"""Ops that do not read their operands; MMAs follow each other."""


@dataclass
class Run:
    """What the tasks of one run share."""

    kernel: Kernel
    machine: Machine
    integers: Assumptions
    trips: int
    rules: Mapping[str, Rule]
    reached: set[Operation] = field(default_factory=set[Operation])
    unknown: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """What was left out, and where."""
    memories: set[int] = field(default_factory=set[int])
    """Ids of allocations that are registered with the checker."""
    cluster_generations: dict[int, int] = field(default_factory=dict[int, int])
    """By CTA, the generation of the cluster's barrier that it last came to."""
    depends_on_trips: bool = False
    """Whether `trips` decided anything that the choice of arguments had left open."""
    unmet: list[Bounds] = field(default_factory=list[Bounds])
    """Of a plan: loops that could not reach the required trip count."""


def is_integer(type: Attribute) -> bool:
    return isinstance(type, IntegerType | IndexType)


class Walk:
    """One task."""

    def __init__(self, run: Run, rank: int, env: dict[SSAValue, Value]) -> None:
        self.run = run
        self.rank = rank
        self.env = env
        self.first_thread = 0
        self.looked = 0
        """The count of its queries for more work."""
        self.task: Task

    # -- values ------------------------------------------------------------------------------

    def integer(self, value: SSAValue) -> SymbolicInt | None:
        found = self.env.get(value)
        return None if isinstance(found, View | MmaIssue) else found

    def decided(self, op: Operation, value: SSAValue, what: str) -> int:
        """A number that decides what happens."""
        integer = self.integer(value)
        found = None if integer is None else self.run.integers.value_or_default(integer)
        if found is None:
            raise NotAnalysed(op, f"{what} is data-dependent")
        return found

    def holds(self, op: Operation, value: SSAValue | None) -> bool:
        """Whether a predicate, true without one, holds."""
        return value is None or bool(self.decided(op, value, "a predicate") & 1)

    def view(self, op: Operation, value: SSAValue) -> View:
        found = self.env.get(value)
        if not isinstance(found, View):
            raise NotAnalysed(op, "unknown buffer")
        return found

    def position(self, op: Operation) -> int:
        return self.run.kernel.positions.of(op)

    # -- ops ---------------------------------------------------------------------------------

    def block(self, block: Block) -> Steps:
        for op in block.ops:
            yield from self.op(op)

    def op(self, op: Operation) -> Steps:
        run = self.run
        control = _CONTROL.get(op.name)
        if control is not None:
            yield from control(self, op)
            return
        if run.integers.is_plan:
            self._compute(op)
            return
        if op.name not in _HANDS_ON:
            self._look_at(op)
        rule = run.rules.get(op.name)
        if rule is None:
            self._compute(op)
            return
        run.reached.add(op)
        try:
            steps = rule(self, op)
            if steps is not None:
                yield from steps
        except OutOfBounds as problem:
            raise NotAnalysed(op, str(problem)) from None

    def _look_at(self, op: Operation) -> None:
        """An op uses its operands: none may be the result of an in-flight MMA."""
        for operand in op.operands:
            found = self.env.get(operand)
            if isinstance(found, MmaIssue):
                self.run.machine.used(self.task, found.issued, self.position(op))

    def _compute(self, op: Operation) -> None:
        """An op that has no effect: a number, or unknown."""
        if op.name in _SAME:
            for result, operand in zip(op.results, op.operands, strict=False):
                self.env[result] = self.env.get(operand)
            return
        for result in op.results:
            self.env[result] = None
        compute = _INTEGER_RULES.get(op.name)
        if compute is not None and op.results:
            if is_integer(op.results[0].type) or isinstance(op.results[0].type, PtrType):
                self.env[op.results[0]] = compute(self, op)
            return
        if accesses_buffer(op) and op.name not in _HANDS_ON and not self.run.integers.is_plan:
            raise NotAnalysed(op, f"'{op.name}' is not modelled")

    def operands(self, op: Operation) -> list[SymbolicInt] | None:
        found = [self.integer(value) for value in op.operands]
        return None if any(each is None for each in found) else [n for n in found if n is not None]

    # -- control flow ------------------------------------------------------------------------

    def carry(self, targets: Sequence[SSAValue], values: Sequence[Value]) -> None:
        self.env.update(zip(targets, values, strict=True))

    def values(self, operands: Sequence[SSAValue]) -> list[Value]:
        return [self.env.get(value) for value in operands]

    def skip(self, op: Operation, reason: str) -> None:
        """Leave out an op that nothing else depends on."""
        if op in self.run.kernel.matters:
            raise NotAnalysed(op, reason)
        for result in op.results:
            self.env[result] = None


# Numbers.


def _constant(walk: Walk, op: Operation) -> SymbolicInt | None:
    assert isinstance(op, ConstantOp)
    value = op.value
    if not isinstance(value, IntegerAttr):
        return None
    is_bool = isinstance(value.type, IntegerType) and value.type.width.data == 1
    return value.value.data & 1 if is_bool else value.value.data


def _arithmetic(walk: Walk, op: Operation) -> SymbolicInt | None:
    found = walk.operands(op)
    return None if found is None else walk.run.integers.make(_ARITHMETIC[op.name], *found)


def _compare(walk: Walk, op: Operation) -> SymbolicInt | None:
    assert isinstance(op, CmpiOp)
    found = walk.operands(op)
    predicate = op.predicate_name
    name = predicate if predicate in ("eq", "ne") else predicate[1:]
    return None if found is None else walk.run.integers.make(name, *found)


def _sign_extended(walk: Walk, op: Operation) -> SymbolicInt | None:
    """All ones, which is -1, of a true bit."""
    found, type = walk.integer(op.operands[0]), op.operands[0].type
    if found is None or not isinstance(type, IntegerType) or type.width.data > 1:
        return found
    return walk.run.integers.make("sub", 0, found)


def _select(walk: Walk, op: Operation) -> SymbolicInt | None:
    found = walk.operands(op)
    return None if found is None else walk.run.integers.make("select", *found)


def _program_id(walk: Walk, op: Operation) -> SymbolicInt | None:
    assert isinstance(op, GetProgramIdOp)
    if op.dimension == 0 and walk.run.kernel.cluster_size > 1:
        return walk.rank  # CTAs of a cluster follow each other; this is the first cluster
    return Root("program", op.dimension)


def _programs(walk: Walk, op: Operation) -> SymbolicInt | None:
    assert isinstance(op, GetNumProgramsOp)
    return Root("programs", op.dimension)


def _load(walk: Walk, op: Operation) -> SymbolicInt | None:
    """A 32-bit word of global memory: constant, as tasks only read sizes there."""
    address = walk.integer(op.operands[0])
    return None if address is None else Root("data", ("loaded", address))


_INTEGER_RULES: Mapping[str, Callable[[Walk, Operation], SymbolicInt | None]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.extsi": _sign_extended,
    "arith.select": _select,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _programs,
    "tt.load": _load,
    "nvg.cluster_id": lambda walk, op: walk.rank,
    "ttng.cluster_size_1d": lambda walk, op: walk.run.kernel.cluster_size,
    "gpu.thread_id": lambda walk, op: walk.first_thread,
}


# Control flow.


def _for(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, ForOp)
    integers = walk.run.integers
    bounds = [walk.integer(each) for each in (op.lower_bound, op.upper_bound, op.step)]
    low, high, step = bounds
    if op not in walk.run.kernel.matters and not any(is_integer(each.type) for each in op.results):
        walk.skip(op, "")
        return
    if low is None or high is None or step is None:
        walk.skip(op, "the trip count is data-dependent")
        return
    level = min(walk.run.kernel.levels(op), len(_MAX_TRIPS)) - 1
    required = min(walk.run.trips, _MAX_TRIPS[level])
    trips = 1  # of a plan: each loop is visited once
    if integers.is_plan:
        _choose(walk.run, (low, high, step), required)
    else:
        walk.run.depends_on_trips |= any(integers.value(each) is None for each in (low, high, step))
        trips = integers.trip_count(low, high, step, required)
    if trips is None:
        raise NotAnalysed(op, "the loop step is not positive")
    carried = walk.values(op.init_args)
    end = op.body_block.last_op
    assert end is not None
    for iteration in range(trips):
        offset = integers.make("mul", step, iteration)
        first = None if offset is None else integers.make("add", low, offset)
        walk.carry(op.body_block.args, [first, *carried])
        yield from walk.block(op.body_block)
        carried = walk.values(end.operands)
    walk.carry(op.results, carried)


def _choose(run: Run, bounds: Bounds, required: int) -> None:
    """Choose arguments for a loop: solved for if that works, otherwise by trying some.

    A loop that cannot reach the required trip count is left to those that come later.
    """
    integers = run.integers
    solved = Assumptions(dict(integers.known), is_persistent=integers.is_persistent)
    trips = solved.trip_count(*bounds, required)
    integers.is_persistent |= solved.is_persistent
    is_solved = trips == required and trips_of(solved, bounds) in (None, required)
    if is_solved and all(trips_of(solved, each) for each in run.unmet):
        integers.trip_count(*bounds, required)
        return
    found = search(integers, bounds, required, run.unmet)
    if found is not None:
        integers.known.update(found)
    elif is_solved:
        integers.trip_count(*bounds, required)
    else:
        run.unmet.append(bounds)


def _while(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WhileOp)
    if op not in walk.run.kernel.matters:
        walk.skip(op, "")
        return
    before, after = op.before_region.block, op.after_region.block
    carried = walk.values(op.inits)
    for _ in range(_MAX_WHILE):
        walk.carry(before.args, carried)
        yield from walk.block(before)
        condition = before.last_op
        assert condition is not None
        passed = walk.values(condition.operands[1:])
        if not walk.decided(op, condition.operands[0], "the condition of a while loop") & 1:
            walk.carry(op.results, passed)
            return
        walk.carry(after.args, passed)
        yield from walk.block(after)
        end = after.last_op
        assert end is not None
        carried = walk.values(end.operands)
    raise NotAnalysed(op, f"the loop does not exit within {_MAX_WHILE} iterations")


def _if(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, IfOp)
    if op not in walk.run.kernel.matters and not any(is_integer(each.type) for each in op.results):
        walk.skip(op, "")
        return
    if walk.run.integers.is_plan:
        for region in op.regions:
            for block in region.blocks:
                yield from walk.block(block)
    condition = walk.integer(op.operands[0])
    found = None if condition is None else walk.run.integers.value_or_default(condition)
    if found is None:
        walk.skip(op, "the condition is data-dependent")
        return
    region = op.regions[0 if found & 1 else 1]
    if not region.blocks:
        return
    yield from walk.block(region.block)
    end = region.block.last_op
    assert end is not None
    walk.carry(op.results, walk.values(end.operands))


def _call(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, CallOp)
    callee = walk.run.kernel.functions.get(op.callee.root_reference.data)
    if callee is None or (op not in walk.run.kernel.matters and len(callee.body.blocks) != 1):
        walk.skip(op, "the called function has no body in this module")
        return
    block = only_block(op, callee.body)
    walk.carry(block.args, walk.values(op.operands))
    yield from walk.block(block)
    end = block.last_op
    assert end is not None
    walk.carry(op.results, walk.values(end.operands))


def only_block(op: Operation, region: Region) -> Block:
    if len(region.blocks) != 1:
        raise NotAnalysed(op, "unstructured control flow is not supported; use if and else")
    return region.blocks[0]


def _specialize(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WarpSpecializeOp)
    run, main = walk.run, walk.task
    tasks: list[Task] = []
    first = main.threads
    for index, region in enumerate(op.partitions):
        block = only_block(op, region)
        captures: dict[SSAValue, Value] = {}
        captures.update(zip(block.args, walk.values(op.partition_op.operands), strict=True))
        threads = op.num_partition_warps[index] * _WARP
        tasks.append(_start(walk, main, block, captures, index, threads, first))
        first += threads
    block = only_block(op, op.default_region)
    yield from walk.block(block)
    end = block.last_op
    assert end is not None
    walk.carry(op.results, walk.values(end.operands))
    yield from run.machine.join(main, tasks, walk.position(op))


def _start(
    walk: Walk,
    main: Task,
    block: Block,
    captures: dict[SSAValue, Value],
    index: int,
    threads: int,
    first: int,
) -> Task:
    child = Walk(walk.run, walk.rank, captures)
    child.first_thread = first

    def body(task: Task) -> Steps:
        child.task = task
        yield None
        yield from child.block(block)

    name = named(walk.run, walk.rank, index + 1)
    return walk.run.machine.spawn(name, threads, body, main, cta=walk.rank)


def named(run: Run, rank: int, integer: int) -> str:
    """A task; with its CTA where there are several."""
    name = task_name(integer)
    return name if run.kernel.cluster_size == 1 else f"CTA {rank} {name}"


_CONTROL: Mapping[str, Callable[[Walk, Operation], Steps]] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "tt.call": _call,
    "ttg.warp_specialize": _specialize,
}


def start(run: Run) -> None:
    """Start the CTAs of a cluster."""
    kernel = run.kernel
    block = only_block(kernel.function, kernel.function.body)
    for rank in range(kernel.cluster_size):
        walk = Walk(run, rank, _arguments(kernel.function))
        run.machine.spawn(
            named(run, rank, 0), kernel.num_warps * _WARP, _body(walk, block), cta=rank
        )


def plan(
    kernel: Kernel, trips: int, rules: Mapping[str, Rule], given: Mapping[Root, int]
) -> Assumptions:
    """Arguments with which loops run `trips` times, as far as they can all be had.

    A wait may need an integer before the loop that decides it is reached, so loops are solved
    first: every task is walked once, with no effect but these choices.
    """
    integers = Assumptions(dict(given), is_plan=True)
    run = Run(kernel, Machine(kernel.possible), integers, trips, rules)
    start(run)
    for task in run.machine.tasks:  # grows while tasks start others
        try:
            for _ in task.steps:
                pass
        except NotAnalysed:
            continue  # reported when it matters
    return Assumptions(_possible(integers.known))


def _possible(known: dict[Root, int]) -> dict[Root, int]:
    """No program has a number that the grid does not have."""
    for root, integer in list(known.items()):
        if root.kind == "program":
            count = Root("programs", root.key)
            known[count] = max(known.get(count, 1), integer + 1)
    return known


def _body(walk: Walk, block: Block) -> Callable[[Task], Steps]:
    kernel = walk.run.kernel
    last_init = kernel.last_init()
    synchronise = walk.run.rules["ttng.cluster_barrier"]

    def body(task: Task) -> Steps:
        walk.task = task
        yield None
        for op in block.ops:
            yield from walk.op(op)
            if op is last_init and not walk.run.integers.is_plan:
                yield from synchronise(walk, op) or ()
        if kernel.ends_together and not walk.run.integers.is_plan:
            yield from synchronise(walk, kernel.function) or ()
        walk.run.machine.leave(task)

    return body


def argument_names(function: FuncOp) -> dict[str, Root]:
    """The integers among the arguments, by their source names."""
    found: dict[str, Root] = {}
    for argument in function.body.blocks[0].args:
        name = argument.name_hint or find_name(argument.location)
        if name and is_integer(argument.type):
            found.setdefault(name, Root("argument", argument.index))
    return found


def _arguments(function: FuncOp) -> dict[SSAValue, Value]:
    found: dict[SSAValue, Value] = {}
    for argument in function.body.blocks[0].args:
        if is_integer(argument.type):
            found[argument] = Root("argument", argument.index)
        elif isinstance(argument.type, PtrType):
            found[argument] = Root("data", ("pointer", argument.index))
    return found
