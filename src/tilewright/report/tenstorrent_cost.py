"""The bill of a Tenstorrent program for terminals: where the time goes, and what else would cost.

::

    cost: 18569 cycles, 18.6 us at 1 GHz, limited by DRAM (model, not measured)

    cycles by core        cores  reader  compute  writer  alone  elapsed
      (0,0) (1,0) ..          8    8727     1145     561      0     8727

All numbers are those of the cost model. `tilewright compile --explain` prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from tilewright.analysis.tensix_cost import NOTICE
from tilewright.analysis.tensix_cost.parameters import Source, cost_table
from tilewright.analysis.tensix_cost.plan_cost import CoreCost, Cost
from tilewright.dialects.tensix.plan import Plan
from tilewright.dialects.tensix.work import ROLES
from tilewright.targets.tenstorrent.choice import Candidate
from tilewright.targets.tenstorrent.timing import KernelTime, TimedRun

_SHOWN_CORES = 2
_SHOWN_CANDIDATES = 8
_SMALL_SHARE = Fraction(1, 100)


def cost_text(
    plan: Plan,
    cost: Cost,
    run: TimedRun | None = None,
    alternatives: Sequence[Candidate] = (),
) -> str:
    """The bill, the event-driven run and the settings that differ in one value."""
    parts = [total_line(cost), core_table(plan, cost), slowest_text(plan, cost)]
    parts.append(run_text(run) if run is not None else "event-driven run: not made, too long")
    if alternatives:
        parts.append(candidate_table(alternatives))
    parts.append(sources_line(plan))
    return "\n\n".join(parts) + "\n"


def total_line(cost: Cost) -> str:
    """Cycles, time and what limits them."""
    time = float(cost.total) / cost.clock_ghz / 1000
    return (
        f"cost: {cost.cycles} cycles, {time:.1f} us at {cost.clock_ghz:g} GHz, limited by "
        f"{cost.limit} ({NOTICE})"
    )


def core_table(plan: Plan, cost: Cost) -> str:
    """One row for the cores with the same work."""
    names = {each.core_id: f"({each.x},{each.y})" for each in plan.cores.assignments}
    titles = ("cycles by core", "cores", *ROLES, "serial", "elapsed")
    rows: list[tuple[str, ...]] = [titles]
    for core in cost.cores:
        shown = " ".join(names[each] for each in core.cores[:_SHOWN_CORES])
        more = " .." if len(core.cores) > _SHOWN_CORES else ""
        cycles = [*(core.busy(role) for role in ROLES), core.serial, core.elapsed]
        rows.append((f"  {shown}{more}", str(len(core.cores)), *(str(ceil(n)) for n in cycles)))
    return _table(rows)


def slowest_text(plan: Plan, cost: Cost) -> str:
    """Where the time of the slowest core goes."""
    slowest = cost.slowest
    first = next(each for each in plan.cores.assignments if each.core_id == slowest.cores[0])
    return "\n".join(_slowest_rows(f"({first.x},{first.y})", slowest, cost))


def _slowest_rows(name: str, slowest: CoreCost, cost: Cost) -> Iterator[str]:
    yield f"core {name}: share of {cost.cycles} cycles"
    for kernel in slowest.kernels:
        large = [part for part in kernel.parts if part[1] >= _SMALL_SHARE * cost.total]
        listed = sorted(large, key=lambda part: -part[1])
        texts = ", ".join(f"{part} {_percent(cycles / cost.total)}" for part, cycles in listed)
        yield f"  {kernel.role:8} {_percent(kernel.busy / cost.total):>5}  {texts}".rstrip()
    yield f"  DRAM     {_percent(cost.dram / cost.total):>5}  bytes of all cores"


def run_text(run: TimedRun) -> str:
    """Cycles with overlap, and what kernels wait for."""
    last = max(run.kernels, key=lambda each: each.end)
    lines = [f"event-driven run: {run.cycles:.0f} cycles without launch ({NOTICE})"]
    for role in ("reader", "math", "pack", "writer"):
        kernel = next(each for each in run.of(role) if each.core == last.core)
        lines.append(
            f"  {role:8} {_percent(kernel.busy / run.cycles):>5} busy{_stalls(kernel, run)}"
        )
    return "\n".join(lines)


def _stalls(kernel: KernelTime, run: TimedRun) -> str:
    found = sorted(kernel.stalls.items(), key=lambda each: -each[1])
    large = [(name, cycles) for name, cycles in found if cycles >= 0.01 * run.cycles]
    return "".join(f", {_percent(cycles / run.cycles)} waits: {name}" for name, cycles in large)


def candidate_table(candidates: Sequence[Candidate]) -> str:
    """Settings and their cycles, the fastest first."""
    rows: list[tuple[str, ...]] = [("settings", "cycles", "L1 bytes", "limited by")]
    priced = [each for each in candidates if each.plans]
    own = next((position for position, each in enumerate(priced) if not each.settings), 0)
    shown = priced[: max(_SHOWN_CANDIDATES, own + 1)]
    for each in shown:
        total = each.total
        assert total is not None, "a candidate with plans has a cost"
        names = ", ".join(f"{name} {value}" for name, value in each.settings)
        rows.append(
            (
                f"  {names or 'as compiled'}",
                str(ceil(total)),
                str(each.l1_bytes),
                each.limit,
            )
        )
    left = len(candidates) - len(shown)
    table = _table(rows)
    return table if not left else f"{table}\n  {left} more are slower or do not compile"


def sources_line(plan: Plan) -> str:
    """Which numbers of the table are guesses."""
    assumed = [
        name.replace("_", " ")
        for name, each in cost_table(plan.arch).rows()
        if each.source is Source.ASSUMED
    ]
    return f"assumed, not published: {', '.join(assumed)}, SFPU instructions"


def _percent(share: Fraction | float) -> str:
    return f"{float(share):.0%}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    )
