"""Expand planned loops into prologue, steady loop and epilogue.

With `n` iterations and stages 0 to `S`, step `t` runs every statement of stage `s` for iteration
``t - s``, as far as it exists:

    t = 0 .. S-1        prologue, peeled
    t = S .. n-1        a loop in which every statement runs
    t = n .. n+S-1      epilogue, peeled

If `n` may be smaller than `S`, the peeled steps test whether their iterations exist; a step that
the prologue has done already is left out of the epilogue. Buffers with several versions get a new
first dimension, and iteration `i` works in slot ``i mod versions``. Asynchronous copies of a step
form a group; a statement that needs the data of an iteration waits until no more groups are in
flight than were committed since. Values that a statement computes with are computed again there.

The epilogue repeats the body `S` times, and assemblers that mix these copies with each other run
out of registers. With `predicate_epilogue`, where stages are 0 and `S` only, the loop runs to
``n+S-1`` and tests whether stage 0 has an iteration left: less code, for a branch in every
iteration.

Versions of a buffer marked `tile.separate_versions` are buffers of their own, `%As_0` and `%As_1`:
the loop is unrolled by their number, so that every access names one. Iterations that are left over
follow the loop. If the trip count is a run-time value, the loop has all of them and tests which
exist; copies to such buffers are predicated then (`tile.predicated`), so that it is always known
how many have been started.

A loop without a plan becomes an ``scf.for``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pipelining import Dependences, versions_of
from tilewright.analysis.pipelining.moves_ahead import asynchronous_part
from tilewright.analysis.tensors.outside_values import has_zeros, tensor_of
from tilewright.dialects.arith import AddiOp, CmpiOp
from tilewright.dialects.nv import CpAsyncCommitOp, CpAsyncWaitOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    ParallelOp,
    PipelineOp,
    SlotOp,
    names,
)
from tilewright.dialects.tile.attributes import PlannedPipeline
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.version_buffers import (
    drop_unused,
    separate_versions,
    version_buffer,
)


@dataclass(frozen=True)
class ExpandPipeline(Pass):
    """Expand the schedules of pipelined loops."""

    name = "expand-pipeline"
    old_options = {"rolled": "predicate-epilogue"}

    predicate_epilogue: bool = False
    """Predicate the epilogue inside the loop, instead of peeling it."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        while (loop := _outermost(module)) is not None:
            if loop.plan is None:
                make_serial(loop)
            else:
                _Expansion(loop, loop.plan.data, predicate_epilogue=self.predicate_epilogue).run()


def _outermost(module: ModuleOp) -> PipelineOp | None:
    """The first loop with no other around it: to the plan of an outer one, an inner one is a
    statement, and is copied like any other.
    """
    return next((op for op in walk(module) if isinstance(op, PipelineOp)), None)


def make_serial(loop: PipelineOp) -> None:
    """Replace a pipelined loop by one whose iterations run sequentially."""
    code = IndexBuilder(loop)
    step, lower, upper = code.index(1), code.index(loop.lower), code.index(loop.upper)
    serial = ForOp(lower, upper, step)
    body = serial.body.block
    body.args[0].name_hint = loop.induction_variable.name_hint
    code.add(serial)
    end = body.last_op
    assert end is not None  # a new loop without results is ended already
    loop.induction_variable.replace_all_uses_with(body.args[0])
    for op in list(loop.body_block.ops)[:-1]:
        op.detach()
        body.insert_op_before(op, end)
    code.rewriter.erase(loop)


@dataclass(frozen=True)
class _Step:
    """One step of the schedule."""

    code: IndexBuilder
    iteration: Mixed
    """The iteration that stage 0 is at, counted from 0."""
    stages: range
    """Stages that have an iteration in this step."""
    trip_count: SSAValue | None = None
    """The trip count, if the iterations of this step may not exist."""
    head: int = 0
    """The newest group that this step's commit makes, relative to `iteration`."""
    commits: bool = True
    more: SSAValue | None = None
    """Whether there is an iteration left for stage 0, if that must be tested."""
    residue: int | None = None
    """The remainder of `iteration` by the number of versions, in an unrolled loop."""
    last: SSAValue | None = None
    """Whether there is an iteration for the last stage, if that must be tested."""


@dataclass
class _Group:
    """Statements of one stage that run sequentially."""

    stage: int
    is_predicated: bool
    """Whether its copies are started even if their iteration does not exist."""
    code: IndexBuilder
    values: dict[SSAValue, SSAValue]


class _Expansion:
    """The expansion of one loop."""

    def __init__(
        self, loop: PipelineOp, plan: PlannedPipeline, *, predicate_epilogue: bool
    ) -> None:
        self.loop = loop
        self.dependences = Dependences(loop)
        self.ops = self.dependences.ops
        self.stage = plan.stage
        self.sequence = sorted(range(len(self.ops)), key=lambda position: plan.order[position])
        self.is_async = [group >= 0 for group in plan.async_group] or [False] * len(self.ops)
        self.depth = max(plan.stage, default=0)
        self.predicate_epilogue = predicate_epilogue and set(plan.stage) <= {0, self.depth}
        self.versions = self._versions(plan)
        self.rings: dict[SSAValue, SSAValue] = {}
        self.separate: dict[SSAValue, tuple[SSAValue, ...]] = {}
        """Versions that are buffers of their own."""
        self.lower, self.upper = loop.lower, loop.upper
        self.unrolled = max((self.versions[each] for each in self._apart()), default=1)
        if self.unrolled > 1 and not (isinstance(self.lower, int) and isinstance(self.upper, int)):
            self.predicate_epilogue = True

    def _versions(self, plan: PlannedPipeline) -> dict[SSAValue, int]:
        """As planned: loops that were expanded already may look like other users of a buffer."""
        if not plan.versions:
            return versions_of(self.dependences, plan.stage, plan.order)
        counts = zip(self.dependences.written, plan.versions, strict=True)
        return {buffer: count for buffer, count in counts if count > 1}

    def _apart(self) -> list[SSAValue]:
        """Buffers whose versions are buffers of their own."""
        return [
            buffer
            for buffer in self.versions
            if isinstance(buffer.owner, AllocOp)
            and names.SEPARATE_VERSIONS in buffer.owner.attributes
        ]

    def run(self) -> None:
        code = IndexBuilder(self.loop)
        depth = self.depth
        for buffer, count in self.versions.items():
            if buffer in self._apart():
                self.separate[buffer] = separate_versions(buffer, count, code.rewriter)
            else:
                self.rings[buffer] = version_buffer(buffer, count, code.rewriter)
                _keep_rotating(buffer, self.rings[buffer])
        trip_count = self._trip_count(code)
        for index in range(depth):
            self._emit(self._prologue(code, index, trip_count))
        if self.unrolled == 1:
            self._steady(code, trip_count)
        elif self.predicate_epilogue:
            self._unrolled_to_the_end(code)
        else:
            assert isinstance(trip_count, int)
            self._unrolled(code, trip_count)
        if not self.predicate_epilogue:
            for index in range(depth):
                self._epilogue(code, index, trip_count)
        code.rewriter.erase(self.loop)
        for buffer in (*self.rings, *self.separate):
            drop_unused(buffer, code.rewriter)

    def _trip_count(self, code: IndexBuilder) -> Mixed:
        """The trip count of the loop."""
        if self.lower == 0:
            return self.upper
        if isinstance(self.upper, int) and isinstance(self.lower, int):
            return self.upper - self.lower
        return code.minus(self.upper, self.lower)

    # -- steps -------------------------------------------------------------------------------

    def _prologue(self, code: IndexBuilder, index: int, trip_count: Mixed) -> _Step:
        if isinstance(trip_count, SSAValue):
            return _Step(code, index, range(index + 1), trip_count)
        if self.predicate_epilogue:
            return _Step(code, index, range(1 if index < trip_count else 0))
        return _Step(code, index, range(max(0, index - trip_count + 1), index + 1))

    def _steady(self, code: IndexBuilder, trip_count: Mixed) -> None:
        if isinstance(trip_count, int) and trip_count <= (
            0 if self.predicate_epilogue else self.depth
        ):
            return
        start = code.index(code.plus(self.lower, self.depth))
        end = code.plus(self.upper, self.depth if self.predicate_epilogue else 0)
        loop = ForOp(start, code.index(end), code.index(1))
        block = loop.body.block
        block.args[0].name_hint = self.loop.induction_variable.name_hint
        code.add(loop)
        inside = code.inside(block)
        iteration = inside.minus(block.args[0], self.lower)
        more = None
        if self.predicate_epilogue:
            more = inside.add(CmpiOp("slt", block.args[0], inside.index(self.upper))).results[0]
        self._emit(_Step(inside, iteration, range(self.depth + 1), more=more))

    def _unrolled(self, code: IndexBuilder, trip_count: int) -> None:
        """The steps of `_steady`: one for each version in a loop, the last ones after it."""
        depth, by = self.depth, self.unrolled
        end = depth
        if trip_count - depth >= 2 * by:
            end = trip_count - (trip_count - depth) % by
            start, upper = code.plus(self.lower, depth), code.plus(self.lower, end)
            loop = ForOp(code.index(start), code.index(upper), code.index(by))
            block = loop.body.block
            block.args[0].name_hint = self.loop.induction_variable.name_hint
            code.add(loop)
            inside = code.inside(block)
            first = inside.minus(block.args[0], self.lower)
            for offset in range(by):
                iteration = inside.plus(first, offset)
                residue = (depth + offset) % by
                self._emit(_Step(inside, iteration, range(depth + 1), residue=residue))
        for iteration in range(end, trip_count):
            self._emit(_Step(code, iteration, range(depth + 1)))

    def _unrolled_to_the_end(self, code: IndexBuilder) -> None:
        """All steps after the prologue in a loop: those that do not exist are tested."""
        depth, by = self.depth, self.unrolled
        start, end = code.plus(self.lower, depth), code.index(code.plus(self.upper, depth))
        loop = ForOp(code.index(start), end, code.index(by))
        block = loop.body.block
        block.args[0].name_hint = self.loop.induction_variable.name_hint
        code.add(loop)
        inside = code.inside(block)
        for offset in range(by):
            index = inside.index(inside.plus(block.args[0], offset))
            iteration = inside.minus(index, self.lower)
            more = inside.add(CmpiOp("slt", index, inside.index(self.upper))).results[0]
            last = inside.add(CmpiOp("slt", index, end)).results[0] if offset else None
            residue = (depth + offset) % by
            self._emit(
                _Step(inside, iteration, range(depth + 1), more=more, last=last, residue=residue)
            )

    def _epilogue(self, code: IndexBuilder, index: int, trip_count: Mixed) -> None:
        """Step ``trip_count + index``, unless it was part of the prologue."""
        stages, head = range(index + 1, self.depth + 1), -1 - index
        if isinstance(trip_count, int):
            step = trip_count + index
            if step >= self.depth:
                self._emit(_Step(code, step, stages, head=head, commits=False))
            return
        guard = IfOp(code.at_least(trip_count, self.depth - index))
        code.add(guard)
        inside = code.inside(guard.regions[0].block)
        iteration = inside.plus(trip_count, index)
        self._emit(_Step(inside, iteration, stages, head=head, commits=False))

    # -- statements --------------------------------------------------------------------------

    def _emit(self, step: _Step) -> None:
        """The statements of a step, in the order of the plan."""
        group: _Group | None = None
        uncommitted = sum(self.is_async) if step.commits else 0
        ready: int | None = None
        for position in self.sequence:
            stage = self.stage[position]
            if stage not in step.stages:
                continue
            is_predicated = self._is_predicated(position)
            if group is None or (group.stage, group.is_predicated) != (stage, is_predicated):
                group = self._group(step, stage, is_predicated=is_predicated)
            if self._needs_group(position) and (ready is None or -stage > ready):
                ready = -stage
                head = step.head - (1 if uncommitted else 0)
                # Where an iteration may not exist, its copies may not have been committed either.
                in_flight = 0 if step.trip_count is not None else head - ready
                group.code.add(CpAsyncWaitOp(in_flight))
            self._statement(group, position)
            if self.is_async[position]:
                uncommitted -= 1
                if uncommitted == 0:
                    (step.code if self.predicate_epilogue else group.code).add(CpAsyncCommitOp())
        if self.predicate_epilogue and uncommitted:
            step.code.add(CpAsyncCommitOp())  # of nothing: waits count groups

    def _is_predicated(self, position: int) -> bool:
        """Whether a statement is a copy that is started in any case, and may read nothing."""
        written = self.dependences.writes[position]
        return isinstance(self.ops[position], CopyOp) and any(
            region.base in self.separate for region in written
        )

    def _group(self, step: _Step, stage: int, *, is_predicated: bool) -> _Group:
        code = step.code
        exists = step.more if stage == 0 else step.last
        if step.trip_count is not None:
            assert isinstance(step.iteration, int)  # only the prologue tests it
            exists = code.at_least(step.trip_count, step.iteration - stage + 1)
        if exists is not None:
            guard = IfOp(exists)
            if is_predicated:
                guard.attributes[names.PREDICATED] = UnitAttr()
            code.add(guard)
            code = code.inside(guard.regions[0].block)
        values: dict[SSAValue, SSAValue] = {}
        iteration = code.plus(step.iteration, -stage)
        values[self.loop.induction_variable] = code.index(self._index(code, iteration))
        for buffer, ring in self.rings.items():
            known = self._known_slot(step, stage, self.versions[buffer])
            slot = code.index(
                code.modulo(iteration, self.versions[buffer]) if known is None else known
            )
            values[buffer] = code.add(SlotOp(ring, slot)).results[0]
        for buffer, versions in self.separate.items():
            known = self._known_slot(step, stage, len(versions))
            assert known is not None
            values[buffer] = versions[known]
        return _Group(stage, is_predicated, code, values)

    def _known_slot(self, step: _Step, stage: int, versions: int) -> int | None:
        """The version of a buffer that a stage works in, if it is the same in all iterations."""
        if isinstance(step.iteration, int):
            return (step.iteration - stage) % versions
        if step.residue is not None and self.unrolled % versions == 0:
            return (step.residue - stage) % versions
        return None

    def _index(self, code: IndexBuilder, iteration: Mixed) -> Mixed:
        """The loop's own index in an iteration."""
        if isinstance(self.lower, int):
            return code.plus(iteration, self.lower)
        return code.add(AddiOp(code.index(iteration), self.lower)).results[0]

    def _needs_group(self, position: int) -> bool:
        """Whether a statement accesses what asynchronous copies of its iteration write."""
        if self.stage[position] == 0:
            return False
        copied = {
            region.base
            for other, goes_on in enumerate(self.is_async)
            if goes_on
            for region in self.dependences.writes[other]
        }
        return any(region.base in copied for region in self.dependences.accesses(position))

    def _statement(self, group: _Group, position: int) -> None:
        op, values = self.ops[position], group.values
        for needed in self._needed(op, values):
            group.code.add(copy_op(needed, values))
        copied = group.code.add(copy_op(op, values))
        if self.is_async[position]:
            _make_asynchronous(copied)

    def _needed(self, op: Operation, values: dict[SSAValue, SSAValue]) -> Sequence[Operation]:
        """The ops of the body that `op` computes with and that are not there yet, in order."""
        body = list(self.loop.body_block.ops)
        required = set(_operands(op))
        found: list[Operation] = []
        for each in reversed(body[: body.index(op)]):
            if each in self.dependences.positions:
                continue
            if any(result in required and result not in values for result in each.results):
                found.append(each)
                required.update(_operands(each))
        return found[::-1]


def _keep_rotating(buffer: SSAValue, ring: SSAValue) -> None:
    if isinstance(buffer.owner, AllocOp) and isinstance(ring.owner, AllocOp):
        for name in {names.ROTATING} & buffer.owner.attributes.keys():
            ring.owner.attributes[name] = UnitAttr()


def _operands(op: Operation) -> Iterator[SSAValue]:
    for each in walk(op):
        yield from each.operands


def _make_asynchronous(statement: Operation) -> None:
    """Let the copy of a statement be in flight when its threads go on."""
    op = asynchronous_part(statement)
    assert op is not None  # planned so
    if isinstance(op, ParallelOp):
        op.attributes[names.ASYNCHRONOUS] = UnitAttr()
        return
    code = IndexBuilder(op)
    made = AsyncCopyOp(op.src, op.dst, zeros=not has_zeros(tensor_of(op.src)))
    for name in ("coalesced_width", "eviction_policy"):
        if name in op.properties:
            made.properties[name] = op.properties[name]
    code.add(made)
    made.location = op.location
    code.rewriter.erase(op)
