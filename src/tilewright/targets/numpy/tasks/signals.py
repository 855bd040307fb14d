"""Which tasks signal which barriers, from the IR: the tasks that could resolve a deadlock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng.barriers import WaitBarrierOp
from tilewright.dialects.ttng.signals import signalled
from tilewright.ir.diagnostics.position import resolve
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.tasks.support.cluster import Signal
from tilewright.targets.numpy.tasks.unit import source_of


def signals_of(
    module: ModuleOp, names: Callable[[SSAValue], str | None], source_id: Callable[[Operation], int]
) -> dict[str, list[Signal]]:
    """By the name of the allocation, the ops that signal its barriers."""
    found: dict[str, list[Signal]] = {}
    for op in walk(module):
        for barrier in signalled(op):
            name = names(source_of(barrier))
            if name is not None:
                found.setdefault(name, []).append(Signal(_task_of(op), op.name, source_id(op)))
    return found


def waiters_of(module: ModuleOp, names: Callable[[SSAValue], str | None]) -> dict[str, list[str]]:
    """By the name of the allocation, the tasks that have a wait for one of its barriers."""
    found: dict[str, list[str]] = {}
    for op in walk(module):
        name = names(source_of(op.alloc)) if isinstance(op, WaitBarrierOp) else None
        if name is not None and _task_of(op) not in found.setdefault(name, []):
            found[name].append(_task_of(op))
    return found


def bodies_of(module: ModuleOp) -> dict[str, str]:
    """By the name of a partition, the source line where its body begins, if that is unique."""
    specialised = [op for op in walk(module) if isinstance(op, WarpSpecializeOp)]
    if len(specialised) != 1:
        return {}
    found: dict[str, str] = {}
    around = resolve(specialised[0].location).primary
    for index, region in enumerate(specialised[0].partitions):
        positions = (resolve(op.location).primary for op in region.walk())
        lines = [
            each.line
            for each in positions
            if each is not None
            and around is not None
            and each.file == around.file
            and each.line > around.line
        ]
        if around is not None and lines:
            found[f"partition{index}"] = f"{PurePath(around.file).name}:{min(lines)}"
    return found


def _task_of(op: Operation) -> str:
    """The task that an op is in."""
    for child, parent in _up(op):
        if parent.name == "ttg.warp_specialize":
            return "default"
        if parent.name == "ttg.warp_specialize.partitions":
            region = child.parent_region()
            return f"partition{list(parent.regions).index(region) if region else 0}"
    return "default"


def _up(op: Operation) -> Iterator[tuple[Operation, Operation]]:
    parent = op.parent_op()
    while parent is not None:
        yield op, parent
        op, parent = parent, parent.parent_op()
