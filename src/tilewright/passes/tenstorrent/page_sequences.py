"""Which pages every core loads in which iteration, followed through the program of a core.

A load is described by the positions that it reads, iteration of the loop over blocks by iteration,
each with the indices of the loops inside:

    core (0, 0), A:  iteration 0: ((0,), (0, 0)) ((1,), (0, 32)) ...   iteration 1: ...

Two cores whose descriptions of a load are equal read the same pages, at the same points of the same
program. What an iteration reads depends on few values that are computed before its inner loops, and
is followed once for each combination of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.interfaces import constant_value
from tilewright.passes.tenstorrent.block_shapes import region_shape
from tilewright.passes.tenstorrent.control_flow import ControlFlow, can_evaluate

PageSequence: TypeAlias = tuple[int, ...]
"""What a core reads in each of its iterations; equal ids are equal descriptions."""
_Loop = ForOp | MatmulKLoopOp
_Reads: TypeAlias = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""Indices of the inner loops and offsets of each execution."""


class NotKnown(Exception):
    """What a load reads depends on a value that the compiler does not know."""


def block_loop(program: CoreProgramOp) -> ForOp:
    """The loop over the blocks of a core."""
    (loop,) = [op for op in program.body_block.ops if isinstance(op, ForOp)]
    return loop


@dataclass
class _Load:
    """One load, and what decides where it reads."""

    offsets: tuple[Mixed, ...]
    nest: list[tuple[_Loop | IfOp, Block]]
    """Loops and branches around it, inside the loop over blocks, the outermost first."""
    inputs: tuple[SSAValue, ...]
    """Values from outside the nest on which everything depends."""
    known: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])

    def reads(self, values: Sequence[int]) -> _Reads:
        start = dict(zip(self.inputs, values, strict=True))
        return tuple(self._follow(0, start, ()))

    def _follow(
        self, depth: int, values: Mapping[SSAValue, int], indices: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        flow = ControlFlow(_ignore, dict(values))
        if depth == len(self.nest):
            yield (
                indices,
                tuple(each if isinstance(each, int) else flow.value(each) for each in self.offsets),
            )
            return
        op, block = self.nest[depth]
        if isinstance(op, IfOp):
            taken = op.regions[0 if flow.value(op.operands[0]) else 1]
            if taken.blocks and taken.block is block:
                yield from self._follow(depth + 1, values, indices)
            return
        lower, upper, step = (
            flow.value(each) for each in (op.lower_bound, op.upper_bound, op.step)
        )
        for index in range(lower, upper, step):
            inner = {**values, block.args[0]: index}
            yield from self._follow(depth + 1, inner, (*indices, index))


def _ignore(op: Operation, times: int) -> None:
    pass


def _load(program: CoreProgramOp, loop: ForOp, op: CopyOp) -> _Load:
    nest: list[tuple[_Loop | IfOp, Block]] = []
    block = op.parent
    while block is not None and block is not loop.body.block:
        around = block.parent_op()
        if not isinstance(around, (ForOp, MatmulKLoopOp, IfOp)):
            raise NotKnown  # outside the loop over blocks, or in an op of another kind
        nest.insert(0, (around, block))
        block = around.parent
    _, offsets, _ = region_shape(op.src)
    roots: list[SSAValue] = [each for each in offsets if isinstance(each, SSAValue)]
    for around, _ in nest:
        bounds = [around.operands[0]] if isinstance(around, IfOp) else [*around.operands[:3]]
        roots += bounds
    return _Load(offsets, nest, tuple(_inputs(roots, program, loop, nest)))


def _inputs(
    roots: Sequence[SSAValue],
    program: CoreProgramOp,
    loop: ForOp,
    nest: Sequence[tuple[_Loop | IfOp, Block]],
) -> Iterator[SSAValue]:
    """The values from outside the nest that `roots` depend on, each once.

    Raises:
        NotKnown: if one of them cannot be evaluated.
    """
    indices = [block.args[0] for op, block in nest if not isinstance(op, IfOp)]
    for value, is_inside in _slice(roots, nest, indices):
        if not is_inside:
            _require_known(value, program, loop)
            yield value


def _slice(
    roots: Sequence[SSAValue],
    nest: Sequence[tuple[_Loop | IfOp, Block]],
    indices: Sequence[SSAValue],
) -> Iterator[tuple[SSAValue, bool]]:
    """What `roots` are computed from inside the nest, and the first values outside it."""
    seen: set[SSAValue] = set()
    pending = list(reversed(roots))
    while pending:
        value = pending.pop()
        if value in seen or constant_value(value) is not None or value in indices:
            continue
        seen.add(value)
        owner = value.owner
        is_inside = isinstance(owner, Operation) and any(op.is_ancestor(owner) for op, _ in nest)
        if is_inside and isinstance(owner, Operation):
            if not can_evaluate(owner):
                raise NotKnown
            pending.extend(reversed(owner.operands))
        yield value, is_inside


def _require_known(value: SSAValue, program: CoreProgramOp, loop: ForOp) -> None:
    """Whether a value before the inner loops follows from the arguments of the core."""
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        each = pending.pop()
        if each in seen or constant_value(each) is not None:
            continue
        seen.add(each)
        owner = each.owner
        if isinstance(owner, Operation):
            if not can_evaluate(owner):
                raise NotKnown
            pending.extend(owner.operands)
        elif owner not in (program.body_block, loop.body.block):
            raise NotKnown


class PageSequences:
    """The pages of all loads of a program, on all cores."""

    def __init__(self, program: CoreProgramOp, loads: Sequence[CopyOp]) -> None:
        self._program = program
        self._loop = block_loop(program)
        self._loads: dict[CopyOp, _Load] = {}
        self._ids: dict[_Reads, int] = {}
        self._counts: dict[int, int] = {}
        for op in loads:
            try:
                self._loads[op] = _load(program, self._loop, op)
            except NotKnown:
                continue

    @property
    def loads(self) -> tuple[CopyOp, ...]:
        """The loads whose pages are known."""
        return tuple(self._loads)

    def executions(self, sequence: PageSequence) -> int:
        """The executions of a load with this description."""
        return sum(self._counts[index] for index in sequence)

    def of_core(self, core: Assignment) -> dict[CopyOp, PageSequence]:
        """What a core reads, load by load."""
        values = [core.words[name] for name in self._program.argument_names]
        arguments = dict(zip(self._program.body_block.args, values, strict=True))
        found: dict[CopyOp, list[int]] = {op: [] for op in self._loads}
        outside = ControlFlow(_ignore, {**arguments})
        lower, upper, step = (
            outside.value(each)
            for each in (self._loop.lower_bound, self._loop.upper_bound, self._loop.step)
        )
        for iteration in range(lower, upper, step):
            flow = ControlFlow(_ignore, {**arguments, self._loop.body.block.args[0]: iteration})
            for op, load in self._loads.items():
                inputs = tuple(flow.value(each) for each in load.inputs)
                index = load.known.get(inputs)
                if index is None:
                    index = load.known[inputs] = self._id(load.reads(inputs))
                found[op].append(index)
        return {op: tuple(ids) for op, ids in found.items()}

    def _id(self, reads: _Reads) -> int:
        index = self._ids.setdefault(reads, len(self._ids))
        self._counts[index] = len(reads)
        return index
