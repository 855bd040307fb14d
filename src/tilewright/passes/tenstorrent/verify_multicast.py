"""Checks of multicast: the groups and semaphores of a plan, and the ops that use them.

groups       sender and rectangle inside the core grid, as many receivers as `num_dests`, and
             all members with the same block count: else a core waits forever
semaphores   ids below the chip's count, each declared once and with one meaning
ops          semaphores that are declared; rectangles and counts, where constant, of a group
protocol     on every core of a group as many multicasts received as the sender sends
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.dialects.tensix.multicast import Core, Multicast, MulticastGroup
from tilewright.dialects.tensix.noc import McastOp, SemIncOp, SemMcastOp, SemOp
from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.types import Role
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.control_flow import ControlFlow, lists_of
from tilewright.passes.tenstorrent.verify_kernels import Problem, argument_values, kernels_on

BAD_MULTICAST = "TW7116"

_NONE = Multicast((), ())


# -- the plan --------------------------------------------------------------------------------------


def group_problems(plan: Plan, chip: ChipSpec) -> Iterator[str]:
    """What is wrong with the multicast groups and semaphores of a plan."""
    multicast = plan.multicast or _NONE
    for each in multicast.groups:
        yield from _rectangle_problems(plan, each)
    yield from _semaphore_problems(multicast, chip)


def _shown(group: MulticastGroup) -> str:
    x, y = group.sender
    return f"multicast of {group.operand} from core ({x}, {y})"


def _rectangle_problems(plan: Plan, group: MulticastGroup) -> Iterator[str]:
    width, height = plan.cores.grid
    x, y = group.sender
    x0, y0, x1, y1 = group.dests
    if not (0 <= x < width and 0 <= y < height):
        yield f"{_shown(group)}: the sender is outside the core grid of {width} x {height}"
        return
    if x0 > x1 or y0 > y1:
        yield (
            f"{_shown(group)}: the rectangle ({x0}, {y0}) to ({x1}, {y1}) is empty; its first "
            "corner has the smaller coordinates"
        )
        return
    if not (x0 >= 0 and x1 < width and y0 >= 0 and y1 < height):
        yield (
            f"{_shown(group)}: the rectangle ({x0}, {y0}) to ({x1}, {y1}) is outside the core grid "
            f"of {width} x {height}"
        )
        return
    receivers = group.receivers
    if not receivers:
        yield f"{_shown(group)}: the rectangle has no core but the sender; a group has a receiver"
    elif group.num_dests != len(receivers):
        yield (
            f"{_shown(group)}: num_dests is {group.num_dests}, the rectangle ({x0}, {y0}) to "
            f"({x1}, {y1}) has {len(receivers)} cores without the sender"
        )
    counts = {(each.x, each.y): each.steps for each in plan.cores.assignments}
    expected = counts.get(group.sender, 0)
    for core in receivers:
        if counts.get(core, 0) != expected:
            yield (
                f"{_shown(group)}: the sender has block count {expected} and core ({core[0]}, "
                f"{core[1]}) has {counts.get(core, 0)}; all members of a group process the same "
                "number of blocks"
            )
            return


def _semaphore_problems(multicast: Multicast, chip: ChipSpec) -> Iterator[str]:
    declared = Counter(each.id for each in multicast.semaphores)
    for index, count in declared.items():
        if not 0 <= index < chip.semaphores:
            yield (
                f"semaphore {index} does not exist: {chip.name} has the ids 0 to "
                f"{chip.semaphores - 1}"
            )
        if count > 1:
            yield f"semaphore {index} is declared {count} times: every id is declared once"
    meanings: dict[int, str] = {}
    for group in multicast.groups:
        for name, index in (("ready_sem", group.ready_sem), ("valid_sem", group.valid_sem)):
            if index not in declared:
                yield f"{_shown(group)}: {name} is {index}, which the plan does not declare"
            meaning = f"{name} of {group.operand}"
            if meanings.setdefault(index, meaning) != meaning:
                yield (
                    f"{_shown(group)}: semaphore {index} is {meaning} and {meanings[index]}; use "
                    "an id for each"
                )


# -- the protocol ----------------------------------------------------------------------------------


def protocol_problems(plan: Plan, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    """Groups of which a member takes part in other multicasts than its sender sends."""
    counts = _TransferCounts(plan, kernels)
    for group in (plan.multicast or _NONE).groups:
        sent = counts.of(group.sender).get((SemMcastOp, group.valid_sem), 0)
        for core in group.receivers:
            received = counts.of(core).get((SemIncOp, group.ready_sem), 0)
            if received != sent or not sent:
                yield Problem(
                    counts.reader(core) or kernels[0],
                    f"{_shown(group)}: the sender sends {sent} times and core ({core[0]}, "
                    f"{core[1]}) is ready {received} times; one of them would wait forever",
                    BAD_MULTICAST,
                )
                return


class _TransferCounts:
    """The executions of ops on semaphores of other cores, by core."""

    def __init__(self, plan: Plan, kernels: Sequence[KernelOp]) -> None:
        self._plan, self._kernels = plan, kernels
        self._cores = {(each.x, each.y): each for each in plan.cores.active}
        self._known: dict[tuple[object, ...], dict[tuple[type[Operation], int], int]] = {}

    def reader(self, core: Core) -> KernelOp | None:
        own = kernels_on(self._plan, self._kernels, self._cores[core])
        return next((each for each in own if each.role is Role.READER), None)

    def of(self, core: Core) -> dict[tuple[type[Operation], int], int]:
        kernel, assignment = self.reader(core), self._cores[core]
        if kernel is None:
            return {}
        key = (kernel, *argument_values(kernel, assignment).values(), assignment.blocks)
        if key not in self._known:
            self._known[key] = self._count(kernel, assignment)
        return self._known[key]

    def _count(self, kernel: KernelOp, core: Assignment) -> dict[tuple[type[Operation], int], int]:
        found: dict[tuple[type[Operation], int], int] = {}

        def visit(op: Operation, times: int) -> None:
            if isinstance(op, (SemMcastOp, SemIncOp)) and isinstance(op.sem.owner, SemOp):
                key = type(op), op.sem.owner.index
                found[key] = found.get(key, 0) + times

        flow = ControlFlow(visit, argument_values(kernel, core), lists_of(core))
        flow.block(kernel.body_block, 1)
        return found


# -- the kernels -----------------------------------------------------------------------------------


def multicast_op_problems(
    plan: Plan, chip: ChipSpec, kernels: Sequence[KernelOp]
) -> Iterator[Problem]:
    """What is wrong with the multicast and semaphore ops of the kernels, each fault once."""
    seen: set[str] = set()
    for each in _op_problems(plan, chip, kernels):
        if each.message not in seen:
            seen.add(each.message)
            yield each


def _op_problems(plan: Plan, chip: ChipSpec, kernels: Sequence[KernelOp]) -> Iterator[Problem]:
    multicast = plan.multicast or _NONE
    declared = {each.id for each in multicast.semaphores}
    for kernel in kernels:
        for op in walk(kernel):
            if isinstance(op, SemOp) and op.index not in declared:
                yield Problem(
                    op,
                    f"semaphore {op.index} in the {kernel.role.value} kernel is not declared by "
                    "the plan",
                    BAD_MULTICAST,
                )
            elif isinstance(op, (McastOp, SemMcastOp)):
                message = _op_problem(op, multicast.groups, chip)
                if message is not None:
                    yield Problem(op, message, BAD_MULTICAST)


def _op_problem(
    op: McastOp | SemMcastOp, groups: Sequence[MulticastGroup], chip: ChipSpec
) -> str | None:
    """Why no group of the plan can be what an op sends to; operands not constant fit any group."""
    if not groups:
        return f"'{op.name}' in a program whose plan has no multicast group"
    x0, y0, x1, y1 = (
        constant_integer(each) for each in (op.x_start, op.y_start, op.x_end, op.y_end)
    )
    if x0 is not None and y0 is not None and x1 is not None and y1 is not None:
        corners = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
        groups = [each for each in groups if _noc_corners(each, chip) == corners]
        if not groups:
            return (
                f"'{op.name}' to the NoC rectangle ({x0}, {y0}) to ({x1}, {y1}), which is not the "
                "rectangle of a group of the plan"
            )
    dests = constant_integer(op.dests)
    expected = sorted({each.num_dests for each in groups})
    if dests is not None and dests not in expected:
        return (
            f"'{op.name}' to {dests} cores; num_dests of the groups of the plan is "
            f"{', '.join(str(each) for each in expected)}"
        )
    return None


def _noc_corners(group: MulticastGroup, chip: ChipSpec) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = group.dests
    return *chip.noc_coordinate(x0, y0), *chip.noc_coordinate(x1, y1)
