"""Cycles of one counted operation, by the unit that is busy with it.

The closed form adds them up, the event-driven run performs them in order: both use the
same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tilewright.analysis.tensix_cost.formulas import (
    fpu_cycles,
    matmul_cycles,
    multicast_cycles,
    pack_cycles,
    sfpu_cycles,
    single_matmul_cycles,
    unpack_cycles,
)
from tilewright.analysis.tensix_cost.parameters import CostTable
from tilewright.dialects.tensix.work import OpWork

FPU_KINDS = ("binary", "bcast", "reduce", "copy", "transpose")


@dataclass(frozen=True)
class OpCycles:
    """Cycles of one execution on each unit."""

    part: str
    """The line of a bill that it belongs to."""
    issue: Fraction = Fraction(0)
    """Of the processor that executes the call; of FPU, SFPU or the NoC where it waits for them."""
    unpack: Fraction = Fraction(0)
    """Of the unpackers, which run beside FPU and SFPU."""
    pack: Fraction = Fraction(0)
    """Of the packer, which runs beside both."""


def op_cycles(table: CostTable, fidelity: str, work: OpWork) -> OpCycles:
    """The cycles of one execution of `work`.

    Raises:
        ValueError: if the kind is unknown.
    """
    kind, detail, size_bytes = work.kind, work.detail, sum(work.tile_bytes)
    if kind == "matmul_tile":
        in0, in1 = work.tile_bytes
        return OpCycles("matrix", single_matmul_cycles(table, fidelity, (in0, in1)))
    if kind == "matmul_block":
        rows, columns = subblock_of(work)
        in0, in1 = work.tile_bytes
        one = matmul_cycles(table, fidelity, (rows, columns), (in0, in1))
        return OpCycles("matrix", rows * columns * one)
    if kind in FPU_KINDS:
        busy = fpu_cycles(table, kind, detail, fidelity)
        return OpCycles("vector FPU", busy, unpack_cycles(table, size_bytes))
    if kind == "sfpu":
        return OpCycles("SFPU", sfpu_cycles(table, detail))
    if kind == "pack":
        return OpCycles("pack", pack=pack_cycles(table, size_bytes))
    if kind == "noc_read":
        return OpCycles("NoC reads", size_bytes / table.read_rate.value)
    if kind == "noc_write":
        return OpCycles("NoC writes", size_bytes / table.write_rate.value)
    if kind == "mcast":
        return OpCycles("multicast", multicast_cycles(table, size_bytes))
    return OpCycles(*_call(table, kind, detail))


def _call(table: CostTable, kind: str, detail: str) -> tuple[str, Fraction]:
    if kind == "noc_barrier":
        if detail == "read":
            return "NoC latency", table.read_latency.value
        return "NoC latency", table.write_latency.value if detail == "write" else Fraction(0)
    if kind == "semaphore":
        remote = detail in ("inc", "mcast")
        return "semaphores", table.semaphore_call.value if remote else table.cb_call.value
    if kind == "fill_page":
        return "constant tiles", table.fill_page.value
    if kind == "cb":
        return "CB calls", table.cb_call.value
    if kind == "init":
        return "init calls", table.init_call.value
    raise ValueError(f"no cost for operations of kind '{kind}'")


def subblock_of(work: OpWork) -> tuple[int, int]:
    """Rows and columns of a ``matmul_block``."""
    rows, _, columns = work.detail.partition("x")
    return int(rows), int(columns)
