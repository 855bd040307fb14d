"""`place-shared-memory`: every shared buffer of a kernel gets an offset in one arena.

Buffers with disjoint live ranges may overlap (docs/design/passes.md#shared-memory-arena); the
planner of `memory.planner` computes the offsets, and its independent checker verifies them.
`analysis.shared_lifetimes` computes live ranges; barriers are always live. Buffers of a
storage-alias spec stay at the offsets of `plan-storage-alias`, and are placed as one.

Arrays of their own (`amd.own_array`) follow the arena and share no bytes. If that is too much, they
become part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from tilewright.analysis.lifetimes.shared_lifetimes import lifetimes
from tilewright.dialects.amd import names as amd_names
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, StorageAliasSpecOp
from tilewright.ir.codes.shared import OVERLAPPING_BUFFERS
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.memory.planner import Block, Problem, Space, plan_problem
from tilewright.memory.planner.check import check_offsets
from tilewright.passes.gpu.arch import arch_name
from tilewright.passes.gpu.shared_memory_report import SmallerTiles, report_too_large
from tilewright.passes.gpu.shared_sizes import alignment_of, bytes_of, limit_of, versions_of

REUSED_WITHIN_ITERATION = "TW5016"
"""Buffers overlap within a loop iteration, as they would not fit otherwise."""
NOT_APART = "TW7505"
"""Targets of direct copies that are not arrays of their own."""
_OWN_ALIGNMENT = 1024
"""Of arrays of their own in bytes, as they are declared."""
_MAX_HALVINGS = 12
"""Of buffers in turn, until a kernel fits."""
_MAX_SHOWN = 4
"""Pairs of buffers that a remark lists."""
MISALIGNED = "TW5014"
"""A buffer whose place in shared storage its layout cannot have."""


@dataclass(frozen=True)
class PlaceSharedMemory(Pass):
    """Give shared buffers their addresses."""

    name = "place-shared-memory"
    old_options = {"in-turns": "reuse-within-iteration"}

    share: bool = True
    """Whether buffers that are never needed together may share bytes."""
    reuse_within_iteration: bool = False
    """Whether they may within a loop iteration even if they fit without."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                self._assign_offsets(function, engine)

    def _assign_offsets(self, function: FuncOp, engine: DiagnosticEngine) -> None:
        allocs = [
            op
            for op in walk(function)
            if isinstance(op, AllocOp) and (op.space.is_shared or op.space.is_barrier)
        ]
        if not allocs:
            function.attributes[simt_names.SHARED_BYTES] = IntegerAttr(0, i64)
            return
        own = [op for op in allocs if amd_names.OWN_ARRAY in op.attributes]
        allocs = [op for op in allocs if op not in own]
        if own and self._place_apart(function, allocs, own, engine):
            return
        allocs += own
        parts = _parts(allocs)
        if not _check_alignment(parts, engine):
            return
        plan = _planned(parts, lifetimes(function) if self.share else {})
        limit = limit_of(function)
        if self.share and (self.reuse_within_iteration or plan.bytes > limit):
            plan = _reused_within_iteration(function, plan, engine)
        for fault in plan.faults():
            engine.error(
                function,
                f"internal compiler error: overlapping shared buffers: {fault}",
                OVERLAPPING_BUFFERS,
            )
            return
        placed = [
            op
            for index, part in enumerate(parts)
            for op in part.assign_offsets(plan.start(index), index)
        ]
        function.attributes[simt_names.SHARED_BYTES] = IntegerAttr(plan.bytes, i64)
        if plan.bytes > limit:
            report_too_large(
                function,
                placed,
                plan.bytes,
                plan.with_stages,
                plan.with_smaller_tiles(limit),
                engine,
            )

    def _place_apart(
        self,
        function: FuncOp,
        allocs: Sequence[AllocOp],
        own: Sequence[AllocOp],
        engine: DiagnosticEngine,
    ) -> bool:
        """Place arrays of their own after the arena; False if they do not fit there."""
        parts = _parts(allocs)
        if not _check_alignment(parts, engine):
            return True
        end, plan = 0, None
        if parts:
            plan = _planned(parts, lifetimes(function) if self.share else {})
            end = -(-plan.bytes // _OWN_ALIGNMENT) * _OWN_ALIGNMENT
        total = end + sum(-(-bytes_of(op) // _OWN_ALIGNMENT) * _OWN_ALIGNMENT for op in own)
        limit = limit_of(function)
        if total > limit or (plan is not None and list(plan.faults())):
            for op in own:
                del op.attributes[amd_names.OWN_ARRAY]
            engine.remark(
                function,
                "direct copies to shared memory overlap less with computation: arrays of their "
                f"own need {total} B together with other buffers, {limit} B available on "
                f"{arch_name(function)}",
                NOT_APART,
            ).note(None, "help: use smaller tiles or fewer stages")
            return False
        for index, part in enumerate(parts):
            assert plan is not None
            part.assign_offsets(plan.start(index), index)
        for op in own:
            op.properties["offset"] = IntegerAttr(end, i64)
            end += -(-bytes_of(op) // _OWN_ALIGNMENT) * _OWN_ALIGNMENT
        function.attributes[simt_names.SHARED_BYTES] = IntegerAttr(end, i64)
        return True


def _reused_within_iteration(function: FuncOp, plan: _Plan, engine: DiagnosticEngine) -> _Plan:
    """The plan that reuses bytes within an iteration, if it is smaller.

    That costs barriers in every iteration, so it is done only if a kernel does not fit otherwise.
    """
    closer = _planned(plan.parts, lifetimes(function, reuse_within_iteration=True))
    if closer.bytes >= plan.bytes:
        return plan
    limit = limit_of(function)
    if closer.bytes <= limit:
        remark = engine.remark(
            function,
            "shared memory is reused within a loop iteration, at the cost of barriers: "
            f"{closer.bytes} B instead of {plan.bytes} B ({limit} B available on "
            f"{arch_name(function)})",
            REUSED_WITHIN_ITERATION,
        )
        for first, second in _new_overlaps(plan, closer)[:_MAX_SHOWN]:
            remark.note(first, f"'{first.buffer_name}' overlaps '{second.buffer_name}'")
        remark.note(
            None,
            "help: no change is required; to avoid the barriers, use smaller tiles or fewer "
            f"stages, so that all buffers together need at most {limit} B",
        )
    return closer


def _new_overlaps(plan: _Plan, closer: _Plan) -> list[tuple[AllocOp, AllocOp]]:
    """Buffers that overlap in `closer` and do not in `plan`."""
    pairs = combinations(range(len(plan.parts)), 2)
    return [
        (plan.parts[one].allocs[0], plan.parts[other].allocs[0])
        for one, other in pairs
        if closer.overlap(one, other) and not plan.overlap(one, other)
    ]


# -- the plan ----------------------------------------------------------------------------------


Times = Mapping[SSAValue, tuple[int, int]]


@dataclass(frozen=True)
class _Plan:
    """Where parts begin, and why that is so."""

    parts: Sequence[_Part]
    times: Times
    problem: Problem
    offsets: Mapping[str, int]

    @property
    def bytes(self) -> int:
        return max(self.offsets[block.id] + block.size for block in self.problem.blocks)

    def start(self, index: int) -> int:
        return self.offsets[str(index)]

    def overlap(self, one: int, other: int) -> bool:
        """Whether two parts have bytes in common."""
        first, second = self.start(one), self.start(other)
        return first < second + self.parts[other].bytes and second < first + self.parts[one].bytes

    def faults(self) -> Sequence[object]:
        return list(check_offsets(self.problem, self.offsets))

    def with_stages(self, stages: int) -> int:
        """How many bytes it would be with at most so many stages of a pipeline."""
        return _planned(self.parts, self.times, stages).bytes

    def with_smaller_tiles(self, limit: int) -> SmallerTiles | None:
        """Buffers that fit if they are halved, once or more; None if hardly any change helps."""
        halved = dict.fromkeys(
            (index for index, part in enumerate(self.parts) if _is_tile(part)), 0
        )
        for _ in range(_MAX_HALVINGS if halved else 0):
            tried = {
                each: _planned(self.parts, self.times, halved={**halved, each: times + 1}).bytes
                for each, times in halved.items()
            }
            sizes = {each: self.parts[each].bytes >> times for each, times in halved.items()}
            best = min(halved, key=lambda each: (tried[each], -sizes[each]))
            halved[best] += 1
            if tried[best] <= limit:
                found = {
                    self.parts[each].allocs[0].buffer_name: (
                        self.parts[each].bytes,
                        self.parts[each].bytes >> times,
                    )
                    for each, times in halved.items()
                    if times
                }
                return SmallerTiles(found, tried[best])
        return None


def _is_tile(part: _Part) -> bool:
    """Whether a part is a buffer whose size the user chooses."""
    return part.spec is None and not part.allocs[0].space.is_barrier


def _planned(
    parts: Sequence[_Part],
    times: Times,
    stages: int | None = None,
    halved: Mapping[int, int] | None = None,
) -> _Plan:
    end = max((stop for _, stop in times.values()), default=0) + 1
    halved = halved or {}
    blocks = tuple(
        Block(
            str(index),
            (part.bytes if stages is None else part.bytes_with(stages)) >> halved.get(index, 0),
            max(alignment_of(op) for op in part.allocs),
            live=(_needed(part, times, end),),
        )
        for index, part in enumerate(parts)
    )
    problem = Problem((Space("smem"),), blocks)
    offsets = {each: int(offset) for each, offset in plan_problem(problem).offsets.items()}
    return _Plan(parts, times, problem, offsets)


# -- what is placed ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A buffer, or all those of one storage-alias spec."""

    allocs: tuple[AllocOp, ...]
    spec: StorageAliasSpecOp | None = None

    @property
    def bytes(self) -> int:
        return max(_inside(op) + bytes_of(op) for op in self.allocs)

    def bytes_with(self, stages: int) -> int:
        """What it would take with at most so many stages of a pipeline; a spec stays as it is."""
        versions = versions_of(self.allocs[0])
        if self.spec is not None or versions <= stages:
            return self.bytes
        return self.bytes // versions * stages

    def assign_offsets(self, start: int, index: int) -> list[AllocOp]:
        """Set the offsets of the buffers of part `index`, and return the new ops."""
        if self.spec is None:
            (op,) = self.allocs
            op.properties["offset"] = IntegerAttr(start, i64)
            return [op]
        placed = [_on_its_own(op, start + _inside(op)) for op in self.allocs]
        for op in placed:
            op.attributes[simt_names.STORAGE] = IntegerAttr(index, i64)
        Rewriter.erase_op(self.spec)
        return placed


def _check_alignment(parts: Sequence[_Part], engine: DiagnosticEngine) -> bool:
    """Whether buffers of a spec are aligned as their layouts require; the user ordered them."""
    wrong = [op for part in parts for op in part.allocs if _inside(op) % alignment_of(op)]
    for op in wrong:
        diagnostic = engine.error(
            op,
            f"misaligned alias: '{op.buffer_name}' is at byte {_inside(op)} of its shared "
            f"storage, its swizzle requires a multiple of {alignment_of(op)} B",
            MISALIGNED,
        )
        diagnostic.note(
            None, "help: make it the first element of its reuse_group, which is at byte 0"
        )
    return not wrong


def _on_its_own(op: AllocOp, offset: int) -> AllocOp:
    """The same buffer, without its spec."""
    new = AllocOp(op.type, name=op.buffer_name, offset=offset)
    new.attributes.update(op.attributes)
    new.location = op.location
    new.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, new)
    return new


def _inside(op: AllocOp) -> int:
    """Where a buffer begins in the bytes of its spec."""
    return 0 if op.alias is None else op.offset_bytes or 0


def _parts(allocs: Sequence[AllocOp]) -> list[_Part]:
    parts = [_Part((op,)) for op in allocs if op.alias is None]
    specs = {op.alias.owner: None for op in allocs if op.alias is not None}
    for spec in specs:
        assert isinstance(spec, StorageAliasSpecOp)
        shared = tuple(op for op in allocs if op.alias is spec.result)
        parts.append(_Part(shared, spec))
    return parts


def _is_always_live(op: AllocOp) -> bool:
    return op.space.is_barrier or nv_names.TMEM_ADDRESS in op.attributes


def _needed(part: _Part, times: Times, end: int) -> tuple[int, int]:
    """From the first moment at which one of its buffers is needed, to the last."""
    if any(_is_always_live(op) or op.result not in times for op in part.allocs):
        return 0, end
    spans = [times[op.result] for op in part.allocs]
    return min(first for first, _ in spans), max(last for _, last in spans)
