"""Let one core read what several need, and send it to the others.

    tile.copy %A[...] -> %a   ->   tile.copy %A[...] -> %a {tt.multicast = "A"}

    tt.multicast_groups = [{operand = "A", axis = "x", sender = [0, 0], dests = [1, 0, 7, 0],
                            num_dests = 7, ready_sem = 0, valid_sem = 1, pages_per_step = 1}, ...]

Any load may be shared, not only those of a GEMM: what the cores read is followed in their program,
and cores of a rectangle that read the same pages in the same iterations become a group. The kernels
change in `split-tt-kernels`: readers become senders and receivers, with two semaphores an operand.
Results do not change, and neither does any kernel but the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.multicast import MulticastGroup, groups_data
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import (
    MULTICAST,
    MULTICAST_GROUPS,
    SCHEDULE,
    SYNC_BARRIERS,
    chip_of,
    functions,
    get,
    put,
)
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.infer_tt_schedule import assignments_of
from tilewright.passes.tenstorrent.multicast_groups import (
    LoadedPages,
    SharedLoad,
    groups_of_load,
    operand_names,
)

DISSOLVED = "TW7090"


def multicast_mode(function: FuncOp) -> str:
    """``off``, ``on`` or ``auto``."""
    schedule: dict[str, Any] = get(function, SCHEDULE) or {}
    return schedule.get("multicast", "off")


@dataclass(frozen=True)
class GroupMulticast(Pass):
    """Find the cores that load the same pages, and give each group of them a sender."""

    name = "group-multicast"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            if multicast_mode(function) == "off":
                continue
            for program in [op for op in walk(function) if isinstance(op, CoreProgramOp)]:
                _group(function, program, engine)


def _group(function: FuncOp, program: CoreProgramOp, engine: DiagnosticEngine) -> None:
    found = LoadedPages(program, assignments_of(function))
    shared = found.shared()
    _explain_unshared(function, found, shared, engine)
    pairs = chip_of(function).semaphores // 2
    chosen = sorted(shared, key=lambda each: -each.saved_pages)[:pairs]
    groups: list[MulticastGroup] = []
    chosen = [each for each in shared if each in chosen]
    for index, (each, operand) in enumerate(zip(chosen, operand_names(chosen), strict=True)):
        each.load.attributes[MULTICAST] = StringAttr(operand)
        groups += groups_of_load(each, operand, 2 * index, 2 * index + 1)
    for each in shared:
        if each not in chosen:
            engine.remark(
                each.load,
                f"'{name_of(base_of(each.load.src))}' is not multicast: {len(shared)} loads are "
                f"shared, and {chip_of(function).name} has semaphores for {pairs}",
                DISSOLVED,
            )
    put(function, MULTICAST_GROUPS, groups_data(groups))
    # All synchronisation is in the protocol of a group.
    put(function, SYNC_BARRIERS, [])


def _explain_unshared(
    function: FuncOp,
    found: LoadedPages,
    shared: tuple[SharedLoad, ...],
    engine: DiagnosticEngine,
) -> None:
    """Why a load of a program with multicast is not multicast."""
    if multicast_mode(function) != "on":
        return
    for load in found.loads:
        if any(each.load is load for each in shared):
            continue
        smallest, largest = found.executions(load)
        reason = (
            f"a core loads it {smallest} to {largest} times, all cores of a group equally often"
            if smallest < largest
            else "no two cores of a rectangle read the same pages of it in the same iterations"
        )
        name = name_of(base_of(load.src))
        engine.remark(load, f"'{name}' is not multicast: {reason}", DISSOLVED)
