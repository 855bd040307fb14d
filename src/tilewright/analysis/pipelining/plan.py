"""A schedule of a pipelined loop, and the check that it computes what the serial loop does.

Statement `x` of iteration ``i`` runs at step ``i + stage(x)``, among the statements of a step in
the order of ``order(x)``. So for a dependence of `b` on `a`:

* within an iteration:          ``(stage a, order a) < (stage b, order b)``
* from iteration to iteration:  `a` of iteration ``i`` before `b` of iteration ``i + 1``:
  ``stage a < stage b + 1``, or equal and ``order a < order b``

Loop-carried dependences through a renamable buffer vanish if it has enough versions: the one that
iteration ``i`` fills is filled again by iteration ``i + versions``, after its last use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.dialects.tile import AllocOp, PipelinePlanAttr
from tilewright.dialects.tile.attributes import PlannedPipeline

CARRIED = "TW4043"


@dataclass(frozen=True)
class Refusal:
    """Why a schedule is rejected: the code, the message, and the ops concerned.

    The message speaks of the last op as "this statement"; a note names each of the ops.
    """

    code: str
    message: str
    ops: tuple[Operation, ...] = ()
    notes: tuple[str, str] = ("the other statement is here", "this statement")
    help: str | None = None


@dataclass(frozen=True)
class PipelinePlan:
    """When the statements of a loop run, and how many versions its buffers need."""

    ops: tuple[Operation, ...]
    stage: tuple[int, ...]
    order: tuple[int, ...]
    is_async: tuple[bool, ...]
    """Statements that may still be in flight while later ones run."""
    versions: Mapping[SSAValue, int]
    """Buffers that have more than one version."""
    left: tuple[Refusal, ...] = ()
    """Why copies do not run ahead: their buffers have one version."""
    rotating: tuple[SSAValue, ...] = ()
    """Buffers with a version more than the schedule needs: a GEMM of the step before may still read
    it."""

    @property
    def depth(self) -> int:
        """How many steps an iteration takes beyond the first."""
        return max(self.stage, default=0)

    def attribute(self, dependences: Dependences) -> PipelinePlanAttr:
        groups = tuple(0 if each else -1 for each in self.is_async)
        return PipelinePlanAttr(
            PlannedPipeline(
                self.stage,
                self.order,
                groups if any(self.is_async) else (),
                tuple(self.versions.get(buffer, 1) for buffer in dependences.written),
            )
        )

    def __str__(self) -> str:
        rows = [("stage", "order", "statement")]
        for op, stage, order, goes_on in zip(
            self.ops, self.stage, self.order, self.is_async, strict=True
        ):
            rows.append((str(stage), str(order), op.name + (" (async)" if goes_on else "")))
        lines = [f"{stage:>5} {order:>5}  {name}" for stage, order, name in rows]
        for buffer, count in self.versions.items():
            owner = buffer.owner
            name = owner.buffer_name if isinstance(owner, AllocOp) else "buffer"
            lines.append(f"{name}: {count} versions")
        return "\n".join(lines)


def versions_of(
    dependences: Dependences, stage: tuple[int, ...], order: tuple[int, ...]
) -> dict[SSAValue, int]:
    """How many versions each renamable buffer needs so that iterations do not interfere."""
    found: dict[SSAValue, int] = {}
    for buffer, filler in dependences.renamable.items():
        needed = 1
        for user in dependences.accessors(buffer):
            distance = stage[user] - stage[filler]
            is_before = order[user] < order[filler]
            needed = max(needed, distance + (0 if is_before and distance > 0 else 1))
        if needed > 1:
            found[buffer] = needed
    return found


def check_plan(
    dependences: Dependences, stage: tuple[int, ...], order: tuple[int, ...]
) -> Refusal | None:
    """The first dependence that a schedule violates."""
    ops = dependences.ops
    when = list(zip(stage, order, strict=True))
    for first in range(len(ops)):
        for user in sorted(dependences.results_used[first]):
            if not _are_together(first, user, stage, order):
                return Refusal(
                    "TW4044",
                    "schedule separates a value from its use: both statements must be in the same "
                    "stage, with no statement of another stage in between",
                    (ops[first], ops[user]),
                )
        for second in range(first + 1, len(ops)):
            for buffer in dependences.conflicts(first, second):
                if when[first] > when[second]:
                    return _backwards((ops[first], ops[second]), when[first], when[second], buffer)
                is_free = buffer is not None and buffer in dependences.renamable
                if not is_free and _runs_too_late(when[second], when[first]):
                    return _violates_carried(dependences, first, second, buffer)
    return None


def _are_together(first: int, second: int, stage: tuple[int, ...], order: tuple[int, ...]) -> bool:
    """Whether only statements of one stage run from the one to the other."""
    between = (n for n, position in enumerate(order) if order[first] <= position <= order[second])
    return all(stage[statement] == stage[first] for statement in between)


def _runs_too_late(late: tuple[int, int], early: tuple[int, int]) -> bool:
    """Whether `early` of the next iteration runs before `late` of this one."""
    return (late[0], late[1]) > (early[0] + 1, early[1])


def _backwards(
    ops: tuple[Operation, Operation],
    first: tuple[int, int],
    second: tuple[int, int],
    buffer: SSAValue | None,
) -> Refusal:
    minimum = f"stage {first[0]}" if second[0] < first[0] else f"order {first[1] + 1}"
    return Refusal(
        "TW4042",
        f"schedule runs this statement before one that it depends on{_through(buffer)}: stage "
        f"{second[0]}, order {second[1]}, but the other one has stage {first[0]}, order {first[1]}",
        ops,
        (f"the other statement: stage {first[0]}, order {first[1]}", "this statement"),
        f"give this statement at least {minimum}, or the other one less",
    )


def _violates_carried(
    dependences: Dependences, first: int, second: int, buffer: SSAValue | None
) -> Refusal:
    ops = (dependences.ops[first], dependences.ops[second])
    if buffer is None:
        return _crosses(ops, dependences.orders[second])
    return Refusal(
        CARRIED,
        f"schedule violates a loop-carried dependence{_through(buffer)}: the next iteration runs "
        "the other statement before this iteration runs this one, and "
        f"{dependences.why_not_renamable(buffer)}, so it cannot be multi-buffered",
        ops,
        help="let each iteration fill a buffer that only the loop uses, or give both statements "
        "the same stage",
    )


def _crosses(ops: tuple[Operation, Operation], is_second: bool) -> Refusal:
    fixed, moved = reversed(ops) if is_second else ops
    return Refusal(
        CARRIED,
        "a statement that orders all memory accesses (a barrier, an asynchronous operation, "
        "output or foreign code) keeps another one from running an iteration ahead of it",
        (moved, fixed),
        ("the statement that would run ahead", "no statement moves across this one"),
        "remove a barrier that only protects the loop's own buffers: pipelining synchronises them",
    )


def _through(buffer: SSAValue | None) -> str:
    if buffer is None:
        return ""
    owner = buffer.owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else buffer.name_hint
    return f" through {name}" if name else ""
