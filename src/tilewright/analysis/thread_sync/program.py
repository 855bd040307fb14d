"""A kernel as Python functions, reduced to what matters for synchronisation.

A rule specifies the integers that an op needs, and its effect. Needed are the ops that synchronise
or access shared memory, the integers they use, their definitions, and the loops and branches around
them; the rest (the arithmetic of tiles, tensors, registers) is not compiled. Pure ops are placed at
the level of their operands, so that loop-invariant values are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tilewright.analysis.concurrency import Steps
from tilewright.analysis.thread_sync.arena import Arena
from tilewright.analysis.thread_sync.faults import NotAnalysedError
from tilewright.analysis.thread_sync.origins import Origin
from tilewright.analysis.thread_sync.registers import use_registers
from tilewright.analysis.thread_sync.state import Frame
from tilewright.analysis.thread_sync.values import Value, constant_of, function_of, is_arithmetic
from tilewright.dialects.nv.matrix import (
    MatrixMoveOp,
    MmaOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
)
from tilewright.dialects.nv.tensor_memory import Tcgen05LdOp
from tilewright.dialects.simt.moves import LaneOp
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.types import Space, space_of
from tilewright.ir.traversal import walk

Act: TypeAlias = Callable[[Frame], None]
Process: TypeAlias = Callable[[Frame], Steps]

_ASYNC = WgmmaOp | WgmmaFenceOperandOp | Tcgen05LdOp
"""Ops with rules of their own for the registers that they use."""
_ENDS = ("scf.yield", "scf.condition", "func.return", "tile.yield")


@dataclass(frozen=True)
class Blocking:
    """An op that may wait."""

    process: Process


@dataclass(frozen=True)
class CompiledCode:
    """The ops of a block, and the values it yields."""

    steps: Sequence[Act | Blocking]
    results: Sequence[int]

    @property
    def may_wait(self) -> bool:
        return any(isinstance(each, Blocking) for each in self.steps)

    def run(self, frame: Frame) -> None:
        for each in self.steps:
            assert not isinstance(each, Blocking)
            each(frame)

    def process(self, frame: Frame) -> Steps:
        for each in self.steps:
            if isinstance(each, Blocking):
                yield from each.process(frame)
            else:
                each(frame)


@dataclass(frozen=True)
class Rule:
    """How an op is compiled."""

    uses: Callable[[Operation], Iterable[SSAValue]]
    make: Callable[[Compiler, Operation], Act | Blocking | None]
    applies: Callable[[Operation], bool] = lambda op: True


@dataclass(eq=False)
class Compiler:
    """Compiles one kernel."""

    rules: Mapping[str, Rule]
    arena: Arena
    slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    constants: dict[int, Value] = field(default_factory=dict[int, Value])
    needed: set[SSAValue] = field(default_factory=set[SSAValue])
    effects: set[Operation] = field(default_factory=set[Operation])
    """Ops that are compiled, and the loops and branches around them."""
    mma_registers: set[SSAValue] = field(default_factory=set[SSAValue])
    """Registers used by asynchronous MMAs."""
    touching: set[Operation] = field(default_factory=set[Operation])
    """Ops that use those, and the loops and branches around them."""
    followed: set[Origin] = field(default_factory=set[Origin])
    """The origins of indices of shared memory."""
    levels: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    lists: list[list[Act | Blocking]] = field(default_factory=list[list[Act | Blocking]])

    # -- what matters --------------------------------------------------------------------------

    def choose(self, function: Operation) -> None:
        """Find the ops and values that are needed."""
        work: list[SSAValue] = []
        for op in walk(function):
            if isinstance(op, WgmmaOp):
                self.mma_registers.add(op.acc)
                if op.a_index is not None:
                    self.mma_registers.add(op.a)
            elif isinstance(op, Tcgen05LdOp):
                self.mma_registers.add(op.registers_buffer)
            rule = self.rules.get(op.name)
            if rule is None and isinstance(op, BarrierOp):
                raise NotAnalysedError(op, f"the effect of {op.name} is unknown")
            if rule is not None and not op.regions and rule.applies(op):
                self._take(op, work)
        while work:
            value = work.pop()
            if value not in self.needed:
                self.needed.add(value)
                self._trace(value, work)
        for buffer in self.mma_registers:
            for use in buffer.uses:
                op: Operation | None = use.operation
                while op is not None and op not in self.touching:
                    self.touching.add(op)
                    op = op.parent_op()

    def _take(self, op: Operation, work: list[SSAValue]) -> None:
        """An op is needed."""
        if op in self.effects:
            return
        self.effects.add(op)
        work.extend(self.rules[op.name].uses(op))
        parent = op.parent_op()
        if parent is not None and parent.name in self.rules:
            self._take(parent, work)

    def _trace(self, value: SSAValue, work: list[SSAValue]) -> None:
        """The definition of an integer."""
        if isinstance(value, BlockArgument):
            op = value.owner.parent_op()
            if op is not None and op.name in ("scf.for", "scf.while"):
                work.extend(_carried(op, value))
            return
        assert isinstance(value, OpResult)
        op = value.op
        if is_arithmetic(op):
            work.extend(op.operands)
        elif op.name in ("scf.for", "scf.while", "scf.if"):
            self._take(op, work)
            work.extend(_carried(op, value))
        elif op.name == "memref.load":
            if space_of(op.operands[0].type) is Space.GLOBAL:
                self._take(op, work)
            elif _is_counter(op.operands[0]):
                self._take(op, work)
                for use in op.operands[0].uses:
                    if use.operation.name == "memref.store":
                        self._take(use.operation, work)
        elif op.name in self.rules:
            self._take(op, work)

    # -- code ----------------------------------------------------------------------------------

    def slot(self, value: SSAValue) -> int:
        """The environment slot of a value."""
        return self.slots.setdefault(value, len(self.slots))

    def all_slots(self, values: Iterable[SSAValue]) -> list[int]:
        return [self.slot(each) for each in values]

    def code(self, block: Block) -> CompiledCode:
        """The ops of a block, as one more level than those around it."""
        level = len(self.lists)
        self.lists.append([])
        for argument in block.args:
            self.levels[argument] = level
        for op in block.ops:
            if op.name not in _ENDS:
                self._compile(op, level)
        end = block.last_op
        operands = [] if end is None or end.name not in _ENDS else list(end.operands)
        return CompiledCode(self.lists.pop(), self.all_slots(operands))

    def _compile(self, op: Operation, level: int) -> None:
        if op in self.effects:
            made = self.rules[op.name].make(self, op)
            for result in op.results:
                self.levels[result] = level
            if made is not None:
                self.lists[level].append(made)
            if not op.regions:
                self._access_registers(op, level)
            return
        if op.name == "arith.constant":
            self.constants[self.slot(op.results[0])] = constant_of(op)
            self.levels[op.results[0]] = 0
            return
        if any(result in self.needed for result in op.results):
            self._compile_pure(op)
        self._access_registers(op, level)

    def _compile_pure(self, op: Operation) -> None:
        level = max((self.levels.get(each, 0) for each in op.operands), default=0)
        for result in op.results:
            self.levels[result] = level
        function = function_of(op)
        if function is None:
            return
        target, slots = self.slot(op.results[0]), self.all_slots(op.operands)
        if len(slots) == 2:
            self.lists[level].append(_binary(target, slots[0], slots[1], function))
            return

        def act(frame: Frame) -> None:
            env = frame.env
            values = [env[each] for each in slots]
            env[target] = None if any(each is None for each in values) else function(*values)

        self.lists[level].append(act)

    def _access_registers(self, op: Operation, level: int) -> None:
        """Registers of MMAs that an op, or an op nested in it, reads and writes."""
        if op not in self.touching:
            return
        read: dict[SSAValue, Operation] = {}
        written: dict[SSAValue, Operation] = {}
        for each in walk(op):
            if each in self.touching and not isinstance(each, _ASYNC):
                for operand in each.operands:
                    if operand in self.mma_registers:
                        (written if _writes(each, operand) else read).setdefault(operand, each)
        if read or written:
            self.lists[level].append(lambda frame: use_registers(frame, read, written))


def _binary(target: int, one: int, other: int, function: Callable[..., Value]) -> Act:
    def act(frame: Frame) -> None:
        env = frame.env
        a, b = env[one], env[other]
        env[target] = None if a is None or b is None else function(a, b)

    return act


def _is_counter(buffer: SSAValue) -> bool:
    """Whether registers are only loaded and stored, so that their values can be tracked."""
    return space_of(buffer.type) in (Space.LOCAL, Space.VAR) and all(
        use.operation.name in ("memref.load", "memref.store") for use in buffer.uses
    )


def _writes(op: Operation, buffer: SSAValue) -> bool:
    """Whether an op writes the registers that it uses."""
    if isinstance(op, LaneOp | MatrixMoveOp):
        return op.dst is buffer
    if isinstance(op, MmaOp):
        return op.c is buffer
    return op.name == "memref.store"


def _carried(op: Operation, value: SSAValue) -> list[SSAValue]:
    """The possible sources of a value that a loop or a branch yields."""
    found: list[SSAValue] = []
    ends = [region.block.last_op for region in op.regions if region.blocks]
    if op.name == "scf.if":
        assert isinstance(value, OpResult)
        return [end.operands[value.index] for end in ends if end is not None]
    if op.name == "scf.while":
        for end in ends:
            found.extend(() if end is None else end.operands)
        return [*found, *op.operands]
    assert isinstance(value, OpResult | BlockArgument)
    position = value.index if isinstance(value, OpResult) else value.index - 1
    if position < 0:
        return list(op.operands[:3])
    found.append(op.operands[3 + position])
    for end in ends:
        if end is not None:
            found.append(end.operands[position])
    return found
