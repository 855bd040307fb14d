"""A Tenstorrent program for terminals: cores with their blocks, L1 of a core, traffic.

::

    gemm on wormhole_b0: 100 blocks of 1 x 1 tiles on 56 of 56 cores, contiguous, row_major

    first and last block of each core
      y\\x      0      1      2
        0   0..1   2..3   4..5

The map of L1 is the one of `tilewright memory`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.dialects.tensix.plan import Assignment, Plan
from tilewright.dialects.tensix.residency import Residency
from tilewright.memory.map import MemoryMap
from tilewright.report import memory_text
from tilewright.targets.tenstorrent.execution import Traffic

TRAFFIC = (
    ("DRAM page reads", "dram_page_reads"),
    ("DRAM page writes", "dram_page_writes"),
    ("multicast pages", "multicast_pages"),
)
"""What a plan predicts and a run counts: titles and fields."""

SHARD_TRAFFIC = (("L1 page reads", "l1_page_reads"), ("L1 page writes", "l1_page_writes"))
"""The same of tensors in L1, over the NoC."""


def traffic_titles(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The titles and fields that a plan has something for."""
    has_shards = any(each.shards is not None for each in plan.tensors)
    return (*TRAFFIC, *(SHARD_TRAFFIC if has_shards else ()))


def program_text(plan: Plan, memory: MemoryMap, counted: Traffic | None = None) -> str:
    """All of it; without a run there is no counted traffic."""
    parts = (
        cores_line(plan),
        core_map(plan),
        multicasts(plan),
        memory_text.render([memory]),
        residency(plan.residency),
        traffic(plan, counted),
    )
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def cores_line(plan: Plan) -> str:
    """How blocks are assigned to cores, in one line."""
    return (
        f"{plan.kernel} on {plan.arch}: {plan.grid.total_tiles} blocks of {plan.block_tiles[0]} x "
        f"{plan.block_tiles[1]} tiles on {len(plan.cores.active)} of {plan.cores.num_cores} cores, "
        f"{plan.schedule.policy}, {plan.schedule.order}"
    )


def core_map(plan: Plan) -> str:
    """The logical core grid; rows of cores without a block are left out."""
    return "\n".join(_core_rows(plan))


def _core_rows(plan: Plan) -> Iterator[str]:
    step = plan.cores.num_cores if plan.schedule.policy == "strided" else 1
    columns, rows = plan.cores.grid
    cells = {(core.x, core.y): blocks_of(core, step) for core in plan.cores.assignments}
    width = max(map(len, cells.values()))
    active = {core.y for core in plan.cores.active}
    yield "first and last block of each core"
    yield "  y\\x " + " ".join(str(x).rjust(width) for x in range(columns))
    for y in range(rows):
        if y in active:
            row = " ".join(cells.get((x, y), "").rjust(width) for x in range(columns))
            yield f"{y:5} {row}".rstrip()
    idle = rows - len(active)
    if idle:
        yield f"      {idle} rows of cores have no block"


def blocks_of(core: Assignment, step: int) -> str:
    """``4..7``, in the order of ids; ``-`` without a block."""
    if not core.count:
        return "-"
    if core.rect is not None:
        return f"{core.count} blocks"
    if core.count == 1:
        return str(core.start_tile)
    return f"{core.start_tile}..{core.start_tile + (core.count - 1) * step}"


def multicasts(plan: Plan) -> str:
    """The operands that some cores read for others; empty if each reads for itself."""
    if plan.multicast is None:
        return ""
    found: dict[tuple[str, str, int, int], int] = {}
    for each in plan.multicast.groups:
        key = each.operand, each.axis, each.num_dests + 1, each.pages_per_step
        found[key] = found.get(key, 0) + 1
    lines = ["multicast"]
    for (operand, axis, cores, pages), count in found.items():
        lines.append(
            f"  {operand}: {count} x {cores} cores along {axis}, {pages} page"
            f"{'' if pages == 1 else 's'} a step"
        )
    steps = sum(each.steps for each in plan.cores.active)
    if steps > plan.grid.total_tiles:
        lines.append(f"  {steps - plan.grid.total_tiles} of {steps} steps are ghost steps")
    return "\n".join(lines)


def residency(found: Residency | None) -> str:
    """What stays in L1 from one block of a core to the next; empty with residency off."""
    return "" if found is None else "\n".join(_residency_rows(found))


def _residency_rows(found: Residency) -> Iterator[str]:
    yield f"residency {found.mode}: what consecutive blocks of a core read in common"
    for panel in found.panels:
        when = f"while {', '.join(panel.axes)} stays" if panel.axes else "for all blocks"
        yield (
            f"  {panel.buffer} ({panel.tensor}) stays {when}: {panel.pages} pages, loaded "
            f"{panel.loads} times for {panel.blocks} blocks, {panel.saved_page_reads} page reads "
            "saved"
        )
    for each in found.streamed:
        yield f"  {each.buffer} ({each.tensor}) is loaded in every block: {each.reason}"
    if not found.panels and not found.streamed:
        yield "  nothing: every load depends on more than block indices and loops of constant size"


def traffic(plan: Plan, counted: Traffic | None = None) -> str:
    """Pages as the plan predicts them and as the run counted them."""
    return "\n".join(_traffic_rows(plan, counted))


def _traffic_rows(plan: Plan, counted: Traffic | None) -> Iterator[str]:
    yield f"{'pages':18} {'plan':>8} {'run':>8}"
    for title, name in traffic_titles(plan):
        seen = "not run" if counted is None else str(getattr(counted, name))
        yield f"{title:18} {getattr(plan.traffic, name):8} {seen:>8}"
    if counted is not None:
        yield bytes_line(counted)


def bytes_line(counted: Traffic) -> str:
    """The bytes that a run transferred."""
    return (
        f"bytes: {counted.dram_read_bytes} read from DRAM, {counted.dram_write_bytes} written, "
        f"{counted.noc_bytes} between cores"
    )
