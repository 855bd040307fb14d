"""Proof by enumeration that merged buffers keep their contents, found without the plan.

A function is run with small integers for its arguments: integers are computed, tensors are not,
loops make a few iterations, data-dependent branches are taken or not. Each run is a trace of reads
and writes with addresses, which ``shadow`` checks. Several runs differ in the integers, in the
minimal trip count of a loop and in the branches that unknown conditions take.

Nothing is taken from the liveness analysis but the effects of single ops on their operands.
Asynchronous work completes by the rules of the hardware: groups in order, barriers by the wait for
that very element. The partitions of ``warp_specialize`` run sequentially, waits in one for work of
another are counted when all have run, and address ranges used in two of them must not overlap.

What cannot be followed is reported: jumps between blocks, and runs that get too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.analysis.buffer_liveness import AllocationOp, Engine, operand_effects
from tilewright.analysis.buffer_liveness.op_effects import engine_of, signals
from tilewright.dialects.folding import fold
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.copies import AsyncCommitGroupOp, AsyncWaitOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp, MemDescReinterpretOp, MemDescSubsliceOp
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng import (
    BarrierExpectOp,
    InvalBarrierOp,
    TCGen5CommitOp,
    TMAStoreTokenWaitOp,
    TMAStoreWaitOp,
    WaitBarrierOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk
from tilewright.memory import Memory
from tilewright.memory.targets import TMEM_COLUMN_BITS
from tilewright.passes.merging.rewrite import BUFFER
from tilewright.passes.merging.shadow import AddressRange, MergeFinding, Shadow, Work
from tilewright.passes.tlx.storage_alias.buffers import memory_of, span_bits

_LONGEST = 20_000
"""Ops of one run; more are not followed."""

_MAX_TRIPS = 16
_SIZE_BITS = 32


@dataclass(frozen=True)
class Run:
    """Assumptions of a run: integer arguments, minimal trip counts, unknown branches."""

    arguments: tuple[int, ...]
    min_trips: int
    branch: bool


RUNS = (
    Run((192,), 2, True),
    Run((192,), 2, False),
    Run((64,), 3, True),
    Run((64,), 0, False),
    Run((320,), 1, True),
)
"""Enough for every compilation."""

MORE_RUNS = (
    *RUNS,
    *(
        Run(arguments, 0, branch)
        for arguments in ((3072, 3072, 128), (3072, 128, 3072), (128, 3072, 3072), (1600, 64))
        for branch in (True, False)
    ),
)
"""Persistent kernels come to their second tile, whatever the order of their arguments."""


@dataclass(frozen=True)
class TraceResult:
    """What all runs together found; `unknown` ops are where one could not be followed."""

    faults: tuple[MergeFinding, ...]
    unknown: tuple[Operation, ...] = ()
    buffers: int = 0
    accesses: int = 0


class _TooLong(Exception):
    """A run reached its limit, or something that is not followed."""

    def __init__(self, op: Operation) -> None:
        super().__init__(op.name)
        self.op = op


Value = Attribute | AddressRange | None


def check_module(module: ModuleOp, runs: Sequence[Run] = RUNS) -> TraceResult:
    """Run every function of `module` and report the values that were lost."""
    faults: dict[tuple[Operation, str], MergeFinding] = {}
    unknown: dict[Operation, None] = {}
    access_count = 0
    for op in walk(module):
        if not isinstance(op, FuncOp) or op.is_declaration:
            continue
        for run in runs:
            trace = _Trace(run)
            try:
                trace.function(op)
            except _TooLong as stop:
                unknown[stop.op] = None
            access_count += trace.access_count
            for fault in trace.shadow.faults.values():
                faults.setdefault((fault.op, fault.message), fault)
    merged = sum(BUFFER in op.attributes for op in walk(module))
    return TraceResult(tuple(faults.values()), tuple(unknown), merged, access_count)


@dataclass
class _Trace:
    """One run of one function."""

    run: Run
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    shadow: Shadow = field(default_factory=Shadow)
    access_count: int = 0
    steps: int = 0
    serial: int = 0
    committed: int = 0
    partition: Region | None = None
    armed: dict[tuple[Operation, int | None], int] = field(
        default_factory=dict[tuple[Operation, int | None], int]
    )
    waited: dict[tuple[Operation, int | None], int] = field(
        default_factory=dict[tuple[Operation, int | None], int]
    )
    seen: list[tuple[AddressRange, Operation]] = field(
        default_factory=list[tuple[AddressRange, Operation]]
    )

    # -- control ---------------------------------------------------------------------------------

    def function(self, op: FuncOp) -> None:
        body = op.regions[0]
        if len(body.blocks) != 1:
            raise _TooLong(op)
        arguments = cycle(self.run.arguments)
        for argument in body.blocks[0].args:
            type = argument.type
            # A flag is not a size: it goes the way of unknown conditions.
            if isinstance(type, IntegerType) and type.bitwidth >= _SIZE_BITS:
                self.values[argument] = IntegerAttr(next(arguments), type)
        self.block(body.blocks[0])

    def block(self, block: Block) -> list[Value]:
        """Run the ops of `block`; returns the operands of its terminator."""
        last: list[Value] = []
        for op in block.ops:
            self.steps += 1
            if self.steps > _LONGEST:
                raise _TooLong(op)
            last = [self.value(operand) for operand in op.operands]
            self.op(op)
        return last

    def region(self, region: Region, arguments: Sequence[Value]) -> list[Value]:
        if len(region.blocks) != 1:
            assert region.parent is not None, "a region belongs to an op"
            raise _TooLong(region.parent)
        block = region.blocks[0]
        for argument, value in zip(block.args, arguments, strict=True):
            self.values[argument] = value
        return self.block(block)

    def op(self, op: Operation) -> None:
        match op:
            case ForOp():
                self.loop(op)
            case WhileOp():
                self.while_loop(op)
            case IfOp():
                self.branch(op)
            case WarpSpecializeOp():
                self.specialized(op)
            case _:
                self.wait(op)
                self.results(op)
                self.effects(op)

    def value(self, value: SSAValue) -> Value:
        return self.values.get(value)

    def integer(self, value: SSAValue) -> int | None:
        known = self.value(value)
        return known.value.data if isinstance(known, IntegerAttr) else None

    def loop(self, op: ForOp) -> None:
        low, high, step = map(self.integer, (op.lower_bound, op.upper_bound, op.step))
        known = low is not None and high is not None and step is not None and step > 0
        min_trips = self.run.min_trips
        if known:
            assert low is not None and high is not None and step is not None
            min_trips = max(-(-(high - low) // step), min_trips)
        carried = [self.value(init) for init in op.init_args]
        for iteration in range(min(min_trips, _MAX_TRIPS)):
            now = None
            if low is not None and step is not None:
                now = _integer(low + iteration * step, op.lower_bound.type)
            carried = self.region(op.body, [now, *carried])
        for result, value in zip(op.results, carried, strict=True):
            self.values[result] = value

    def while_loop(self, op: WhileOp) -> None:
        before, after = op.regions
        carried = [self.value(operand) for operand in op.operands]
        for iteration in range(self.run.min_trips + 1):
            handed = self.region(before, carried)
            goes_on, carried = _truth(handed[0]), handed[1:]
            if goes_on is False or iteration == self.run.min_trips:
                break
            carried = self.region(after, carried)
        for result, value in zip(op.results, carried, strict=True):
            self.values[result] = value

    def branch(self, op: IfOp) -> None:
        taken = _truth(self.value(op.operands[0]))
        if taken is None:
            taken = self.run.branch
        region = op.regions[0 if taken else 1]
        results = self.region(region, []) if region.blocks else []
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = value

    def specialized(self, op: WarpSpecializeOp) -> None:
        outside, self.seen = self.seen, []
        parts: list[list[tuple[AddressRange, Operation]]] = []
        yielded = self.region(op.default_region, [])
        parts.append(self.seen)
        captures = [self.value(SSAValue.get(value)) for value in op.captures]
        for region in op.partitions:
            self.seen, self.partition = [], region
            self.region(region, captures)
            parts.append(self.seen)
        self.partition = None
        for index, part in enumerate(parts):
            for other in parts[index + 1 :]:
                for one in part:
                    for two in other:
                        self.shadow.collide(one, two)
        self.seen = outside
        self.shadow.work = [work for work in self.shadow.work if not self._was_counted(work)]
        for result, value in zip(op.results, yielded, strict=True):
            self.values[result] = value

    def _was_counted(self, work: Work) -> bool:
        """Whether as many waits for its barrier have run as there were phases up to its own."""
        return any(
            self.waited.get((root, element), 0) >= phase for root, element, phase in work.barriers
        )

    # -- values ----------------------------------------------------------------------------------

    def results(self, op: Operation) -> None:
        if isinstance(op, AllocationOp):
            size = _extent(memdesc(op.result.type))
            self.values[op.result] = AddressRange(op, 0, size, op)
            return
        if isinstance(op, WarpGroupDotWaitOp):
            for operand, result in zip(op.operands, op.results, strict=True):
                self.values[result] = self.value(operand)
            return
        if op.results and isinstance(op.results[0].type, MemDescType):
            self.values[op.results[0]] = self.view(op)
            return
        for result, value in zip(op.results, self.folded(op), strict=False):
            self.values[result] = value

    def folded(self, op: Operation) -> Iterator[Value]:
        if op.name == "tt.get_program_id":
            yield _integer(0, op.results[0].type)
            return
        if not op.operands:
            for result in op.results:
                yield constant_value(result)
            return
        known = [self.value(operand) for operand in op.operands]
        constants = [value if isinstance(value, Attribute) else None for value in known]
        for each in fold(op, constants) or ():
            yield each if isinstance(each, Attribute) else self.value(each)

    def view(self, op: Operation) -> AddressRange | None:
        source = self.value(op.operands[0]) if op.operands else None
        if not isinstance(source, AddressRange):
            return None
        type = memdesc(op.results[0].type)
        size = _extent(type)
        where = source
        if isinstance(op, MemDescIndexOp):
            index = self.integer(op.index)
            where = source if index is None else source.within(index * size, size)
            if index is None and source.end - source.start > size:
                where = AddressRange(source.root, source.start, source.end, source.buffer, False)
        elif isinstance(op, MemDescSubsliceOp) and type.is_pipelined:
            row = size // type.shape[0]
            where = source.within(integers(op.offsets)[0] * row, size)
        elif isinstance(op, MemDescReinterpretOp):
            where = source.within(0, size, exact=source.exact)
        if BUFFER in op.attributes:
            where = AddressRange(where.root, where.start, where.end, op)
        return where

    # -- memory ----------------------------------------------------------------------------------

    def effects(self, op: Operation) -> None:
        self.serial += 1
        barriers = tuple(self.signalled(op))
        if isinstance(op, BarrierExpectOp):
            self._arm(op.alloc)
        if isinstance(op, AsyncCommitGroupOp):
            self.committed += 1
            self.shadow.work = [
                _grouped(work, self.committed) if work.partition is self.partition else work
                for work in self.shadow.work
            ]
        if isinstance(op, TCGen5CommitOp) or engine_of(op) is Engine.TENSOR_CORE:
            self.shadow.work = [
                _with_barriers(work, barriers) if self._is_ours(work, Engine.TENSOR_CORE) else work
                for work in self.shadow.work
            ]
        predicate: object = getattr(op, "pred", None)
        if isinstance(predicate, SSAValue) and self._is_off(predicate):
            return
        for effect in operand_effects(op):
            where = self.value(effect.value)
            if not isinstance(where, AddressRange):
                continue
            self.access_count += 1
            self.seen.append((where, op))
            if effect.reads:
                self.shadow.read(where, op)
            if effect.writes:
                self.shadow.write(where, op)
            if effect.engine not in (Engine.NOW, Engine.UNKNOWN):
                serial = -1 if effect.engine is Engine.CP_ASYNC else self.serial
                work = Work(where, op, effect.engine, serial, barriers, self.partition)
                self.shadow.work.append(work)

    def signalled(self, op: Operation) -> Iterator[tuple[Operation, int | None, int]]:
        """The barriers that will report the work of `op`, with the phase that does."""
        is_new = isinstance(op, TCGen5CommitOp) or engine_of(op) is Engine.TENSOR_CORE
        for signal in signals(op):
            element = self.element(signal.barrier)
            if element is None:
                continue
            if is_new:
                self._arm(signal.barrier)
            yield (*element, self.armed.get(element, 0))

    def element(self, barrier: SSAValue) -> tuple[Operation, int | None] | None:
        where = self.value(barrier)
        if not isinstance(where, AddressRange):
            return None
        return where.root, where.start if where.exact else None

    def _arm(self, barrier: SSAValue) -> None:
        element = self.element(barrier)
        if element is not None:
            self.armed[element] = self.armed.get(element, 0) + 1

    def wait(self, op: Operation) -> None:
        match op:
            case WaitBarrierOp() | InvalBarrierOp():
                if not (isinstance(op, WaitBarrierOp) and self._is_off(op.pred)):
                    self._reported(op.alloc)
            case WarpGroupDotWaitOp() | TMAStoreWaitOp():
                is_store = isinstance(op, TMAStoreWaitOp)
                engine = Engine.TMA_STORE if is_store else Engine.WGMMA
                self._finish(engine, op.pendings.value.data)
            case WarpGroupDotOp() if engine_of(op) is Engine.NOW:
                self._finish(Engine.WGMMA, 0)
            case AsyncWaitOp():
                left = self.committed - op.num.value.data
                self.shadow.work = [
                    work
                    for work in self.shadow.work
                    if not (self._is_ours(work, Engine.CP_ASYNC) and 0 <= work.serial <= left)
                ]
            case TMAStoreTokenWaitOp():
                source = op.token.owner
                self.shadow.work = [work for work in self.shadow.work if work.op is not source]
            case _:
                return

    def _is_ours(self, work: Work, engine: Engine) -> bool:
        """Whether the threads at hand have started it: groups and commits are of one's own."""
        return work.engine is engine and work.partition is self.partition

    def _is_off(self, predicate: SSAValue | None) -> bool:
        return predicate is not None and _truth(self.value(predicate)) is False

    def _finish(self, engine: Engine, left: int) -> None:
        """Let all but the last `left` groups end: each op is a group of its own."""
        own = [work for work in self.shadow.work if self._is_ours(work, engine)]
        serials = sorted({work.serial for work in own})
        retained = serials[len(serials) - left :] if left else []
        self.shadow.work = [
            work
            for work in self.shadow.work
            if not self._is_ours(work, engine) or work.serial in retained
        ]

    def _reported(self, barrier: SSAValue) -> None:
        element = self.element(barrier)
        if element is None:
            return
        self.waited[element] = self.waited.get(element, 0) + 1
        root, start = element
        self.shadow.work = [
            work
            for work in self.shadow.work
            if not any(
                other is root and (start is None or at is None or at == start)
                for other, at, _ in work.barriers
            )
        ]


def _integer(integer: int, type: Attribute) -> Value:
    return IntegerAttr(integer, type) if isinstance(type, IntegerType | IndexType) else None


def _extent(type: MemDescType) -> int:
    """Addresses of a view: bytes of shared memory, columns of tensor memory."""
    bits = span_bits(type)
    return bits // 8 if memory_of(type) is Memory.SMEM else -(-bits // TMEM_COLUMN_BITS)


def _truth(value: Value) -> bool | None:
    return value.value.data != 0 if isinstance(value, IntegerAttr) else None


def _grouped(work: Work, group: int) -> Work:
    """The copies since the last commit belong to `group`."""
    if work.engine is not Engine.CP_ASYNC or work.serial >= 0:
        return work
    return replace(work, serial=group)


def _with_barriers(work: Work, barriers: tuple[tuple[Operation, int | None, int], ...]) -> Work:
    return replace(work, barriers=(*work.barriers, *barriers))
