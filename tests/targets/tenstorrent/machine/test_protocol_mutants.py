"""Mutants of the multicast protocol: reported with the cores and the line concerned, or harmless.

Each reader of a multicast GEMM is changed in one op. A mutant is harmless if its change commutes,
which `HARMLESS` lists with the reason; every other one has to be reported, on a core of the group
and at the line of the load. A mutant that is not reported may not change the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
from xdsl.ir import Operation

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.targets.tenstorrent.machine.protocol_mutations import ProtocolMutant, protocol_mutants
from tilewright.dialects.tensix.plan import Plan
from tilewright.ir.diagnostics import resolve
from tilewright.targets.tenstorrent.arrays import pages_of
from tilewright.targets.tenstorrent.artefact import Artefact, artefact_of
from tilewright.targets.tenstorrent.execution import Finding, RunOptions
from tilewright.targets.tenstorrent.machine import run_kernels

PROGRAMS = {
    "two blocks in L1": (lambda: gemm(96, 192, 64), {}),
    "blackhole": (lambda: gemm(96, 192, 64), {"target": "tenstorrent:blackhole"}),
    "one block in L1": (lambda: gemm(768, 768, 32, (128, 128, 32)), {}),
    "ghost steps": (lambda: gemm(96, 160, 64), {}),
}
HARMLESS = {
    "sem_set, sem_set": "stores to two semaphores, before any increment",
    "read barrier, sem_wait": "the sender waits for its reads and its receivers, in either order",
    "mcast, sem_set": "receivers increment again only after the flag, which follows both",
    "cb_push, sem_mcast": "the push concerns the compute kernel of the sender only",
    "cb_push, cb_reserve": "calls on two circular buffers",
    "cb_reserve, sem_set": "a receiver reserves and invalidates before it increments",
    "atomic barrier, write barrier": "at the end of the kernel",
    "write barrier drop": "at the end of the kernel, where all transfers are performed anyway",
    "atomic barrier drop": "as for writes",
    "scf.for, write barrier": "as if it were dropped",
    "atomic barrier, scf.for": "as if it were dropped",
    "cb_reserve pages + 1": "it waits for more space than it needs",
}
HARMLESS_IF_ORDERED = {
    "flush barrier, sem_mcast": "the flush concerns the source, not the flag",
}
"""On chips where data and flags arrive in order."""
HARMLESS_WITH_TWO_FLUSHES = {
    "flush barrier drop": "the flush of the other operand covers both",
    "flush barrier, mcast": "as if it were dropped",
}
"""On these chips, in kernels that send both operands."""


@dataclass
class Table:
    """Mutants by kind and outcome."""

    rows: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    wrong: list[str] = field(default_factory=list[str])
    unexplained: list[str] = field(default_factory=list[str])
    elsewhere: list[str] = field(default_factory=list[str])

    def count(self, outcome: str) -> int:
        return sum(row[outcome] for row in self.rows.values())

    @property
    def required(self) -> int:
        """Mutants that are not harmless."""
        return sum(sum(row.values()) - row["harmless"] for row in self.rows.values())

    def text(self) -> str:
        columns = ("reported", "elsewhere", "harmless", "unexplained", "wrong")
        lines = [f"{'change':<12}" + "".join(f"{each:>13}" for each in columns)]
        for kind, row in sorted(self.rows.items()):
            lines.append(f"{kind:<12}" + "".join(f"{row[each]:>13}" for each in columns))
        return "\n".join(lines)


def _line(op: Operation) -> int:
    position = resolve(op.location).primary
    assert position is not None
    return position.line


@cache
def program_of(name: str) -> tuple[Artefact, Plan, dict[str, bytes], bytes]:
    make, options = PROGRAMS[name]
    module, plan = compiled(make(), cores="3x3", multicast="on", **options)
    draw = np.random.default_rng(0)
    inputs = {
        each.name: pages_of(draw.integers(-2, 3, each.shape).astype(np.float32), each).tobytes()
        for each in plan.tensors
        if each.role == "input"
    }
    artefact = artefact_of(module)
    result = run_kernels(artefact.program(), artefact.kernels, inputs).raise_for_findings()
    return artefact, plan, inputs, result.buffers["C"]


def _explained(mutant: ProtocolMutant, *, is_ordered: bool) -> bool:
    """Whether a mutant is in the lists."""
    key = f"{mutant.op} {mutant.change}"
    if mutant.exchanged is not None:
        key = ", ".join(sorted([mutant.op, mutant.exchanged]))
    known = {**HARMLESS}
    if is_ordered:
        known |= HARMLESS_IF_ORDERED
    if is_ordered and mutant.kernel.count("sender") == 2:
        known |= HARMLESS_WITH_TWO_FLUSHES
    return key in known


def _cores_concerned(plan: Plan, mutant: ProtocolMutant) -> set[tuple[int, int]]:
    """The cores of the kernel, and those of its groups."""
    assert plan.multicast is not None
    own = {(each.x, each.y) for each in plan.cores_of(plan.kernel_named(mutant.kernel))}
    groups = [{each.sender, *each.receivers} for each in plan.multicast.groups]
    return own.union(*(each for each in groups if each & own))


def _is_right(plan: Plan, mutant: ProtocolMutant, findings: Sequence[Finding]) -> bool:
    lines = {_line(mutant.original)}
    cores = _cores_concerned(plan, mutant)
    return any(each.line in lines and each.core in cores for each in findings)


def _judged(name: str, mutant: ProtocolMutant, seeds: Sequence[int]) -> str:
    artefact, plan, inputs, expected = program_of(name)
    is_reported = is_wrong = False
    for seed in seeds:
        options = RunOptions(seed=seed, max_findings=60)
        result = run_kernels(artefact.program(), mutant.kernels, inputs, options)
        if _is_right(plan, mutant, result.findings):
            return "reported"
        is_reported |= bool(result.findings)
        is_wrong |= not result.findings and result.buffers["C"] != expected
    if is_wrong:
        return "wrong"
    if is_reported:
        return "elsewhere"
    is_ordered = artefact.chip.ordered_multicast_flags
    return "harmless" if _explained(mutant, is_ordered=is_ordered) else "unexplained"


def judge(name: str, seeds: Sequence[int], step: int = 1, table: Table | None = None) -> Table:
    """Run every `step`-th mutant of a program."""
    table = table or Table()
    for position, mutant in enumerate(protocol_mutants(program_of(name)[0].kernels)):
        if position % step:
            continue
        outcome = _judged(name, mutant, seeds)
        table.rows.setdefault(mutant.kind, Counter())[outcome] += 1
        if outcome in ("wrong", "unexplained", "elsewhere"):
            getattr(table, outcome).append(f"{name}: {mutant}")
    return table


def check(table: Table) -> None:
    assert table.wrong == []
    assert table.unexplained == []
    assert table.count("reported") >= 0.95 * table.required, table.elsewhere


def test_a_sample_of_mutants_of_the_protocol() -> None:
    check(judge("two blocks in L1", (0, 1), step=15))


def test_an_invalidation_after_the_increment_is_reported_under_every_schedule() -> None:
    artefact, _, inputs, _ = program_of("two blocks in L1")
    found = [
        each
        for each in protocol_mutants(artefact.kernels)
        if {each.op, each.exchanged} == {"sem_set", "sem_inc"}
    ]
    assert found
    for mutant in found[::4]:
        for seed in range(3):
            result = run_kernels(
                artefact.program(), mutant.kernels, inputs, RunOptions(seed=seed, max_findings=60)
            )
            assert "TW7222" in {each.check.code for each in result.findings}


def test_a_flush_that_is_missing_with_one_block_in_l1_is_reported() -> None:
    artefact, _, inputs, _ = program_of("one block in L1")
    found = [
        each
        for each in protocol_mutants(artefact.kernels)
        if (each.op, each.change) == ("flush barrier", "drop") and each.kernel.count("sender") == 1
    ]
    assert len(found) == 2
    for mutant in found:
        result = run_kernels(artefact.program(), mutant.kernels, inputs, RunOptions(seed=1))
        assert "TW7212" in {each.check.code for each in result.findings}


@pytest.mark.slow
def test_all_mutants_of_the_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    for name in PROGRAMS:
        judge(name, range(4), table=table)
    with capsys.disabled():
        share = table.count("reported") / table.required
        print(f"\n{table.text()}\n{share:.1%} of {table.required} reported where they are")
        print("\n".join(table.elsewhere))
    check(table)
