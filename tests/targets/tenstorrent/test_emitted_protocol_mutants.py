"""Mutants of the emitted multicast readers, in the C++: reported where they are, or harmless.

The rules are those of the mutants of the IR (`machine/test_protocol_mutants.py`): what is not
reported on a core of the group and at the line of the load has to be in `HARMLESS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from tests.targets.tenstorrent.machine.test_protocol_mutants import Table, program_of
from tests.targets.tenstorrent.mutants import Mutant, instrument
from tests.targets.tenstorrent.test_mutants import selected
from tilewright.dialects.tensix.plan import Plan
from tilewright.targets.tenstorrent.execution import Finding, RunOptions
from tilewright.targets.tenstorrent.program import KernelSource, Program
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

HARMLESS = {
    "noc_async_read_barrier, noc_semaphore_wait": "the sender waits for both",
    "noc_async_write_multicast, noc_semaphore_set": "receivers increment after the flag only",
    "cb_push_back, noc_semaphore_set_multicast": "the push concerns the own compute kernel",
    "cb_push_back, cb_reserve_back": "calls on two circular buffers",
    "cb_reserve_back, noc_semaphore_set": "both precede the increment",
    "noc_semaphore_set, noc_semaphore_set": "stores to two semaphores, before any increment",
    "drop noc_async_write_barrier": "at the end of the kernel",
    "argument 1 of cb_reserve_back": "it waits for more space than it needs",
    "A_y_start for A_y_end": "the rectangles of A are one core high",
    "B_x_start for B_x_end": "the rectangles of B are one core wide",
}
HARMLESS_IF_ORDERED = {
    "noc_async_writes_flushed, noc_semaphore_set_multicast": "the flush concerns the source",
}
HARMLESS_WITH_TWO_FLUSHES = {
    "drop noc_async_writes_flushed": "the flush of the other operand covers both",
    "noc_async_write_multicast, noc_async_writes_flushed": "as if it were dropped",
}
_SOURCE_LINE = re.compile(r"^\s*// \S+:(\d+)$")
_BLOCKED = re.compile(r"^core \((\d+),(\d+)\) (\w+) line (\d+):", re.MULTILINE)
_MOVE = re.compile(r"move (\w+).* after (\w+)\(")


@dataclass(frozen=True)
class Case:
    """A program with all mutants of its readers."""

    program: Program
    plan: Plan
    inputs: Mapping[str, bytes]
    expected: bytes
    mutants: tuple[Mutant, ...]
    sources: Mapping[str, str]
    is_ordered: bool


def case_of(name: str) -> Case:
    artefact, plan, inputs, expected = program_of(name)
    program = artefact.program(with_sources=True)
    kernels: list[KernelSource] = []
    mutants: list[Mutant] = []
    sources: dict[str, str] = {}
    for kernel in program.kernels:
        sources[kernel.name] = kernel.source
        if kernel.name.startswith("reader"):
            text, found = instrument(kernel.name, kernel.source)
            kernels.append(replace(kernel, text=text, path=None))
            mutants += [each for each in found if "noc_async_read_page" not in each.change]
        else:
            kernels.append(kernel)
    program = replace(program, kernels=tuple(kernels))
    is_ordered = artefact.chip.ordered_multicast_flags
    return Case(program, plan, inputs, expected, tuple(mutants), sources, is_ordered)


def kernel_line(source: str, line: int) -> int | None:
    """The line of the tile kernel that a line of an emitted kernel comes from."""
    found = [_SOURCE_LINE.match(each) for each in source.split("\n")[:line]]
    found_lines = [int(each[1]) for each in found if each]
    return found_lines[-1] if found_lines else None


def key_of(mutant: Mutant) -> str:
    move = _MOVE.match(mutant.change)
    if move is not None:
        return ", ".join(sorted([move[1], move[2]]))
    if mutant.change.startswith("drop"):
        return mutant.change.partition("(")[0]
    if mutant.change.startswith("argument"):
        return mutant.change.partition("(")[0]
    return mutant.change.partition(" in ")[0]


def kind_of(mutant: Mutant) -> str:
    first = mutant.change.split(" ")[0]
    kinds = {"drop": "drop", "move": "move", "argument": "count"}
    return kinds.get(first, "semaphore" if first.startswith("sem_") else "rectangle")


def is_harmless(case: Case, mutant: Mutant) -> bool:
    known = {**HARMLESS}
    if case.is_ordered:
        known |= HARMLESS_IF_ORDERED
    if case.is_ordered and mutant.kernel.count("sender") == 2:
        known |= HARMLESS_WITH_TWO_FLUSHES
    return key_of(mutant) in known


def is_right(case: Case, mutant: Mutant, findings: Sequence[Finding]) -> bool:
    """Whether a finding is on a core of the groups of the kernel, at the line of the load."""
    plan = case.plan
    assert plan.multicast is not None
    own = {(each.x, each.y) for each in plan.cores_of(plan.kernel_named(mutant.kernel))}
    groups = [{each.sender, *each.receivers} for each in plan.multicast.groups]
    cores = own.union(*(each for each in groups if each & own))
    line = kernel_line(case.sources[mutant.kernel], mutant.line)
    return any(
        core in cores and kernel_line(case.sources[kernel], at) == line
        for each in findings
        for core, kernel, at in locations(each)
    )


def locations(finding: Finding) -> list[tuple[tuple[int, int], str, int]]:
    """Core, kernel and line of a finding; of a deadlock those of every blocked kernel."""
    found = [
        ((int(x), int(y)), kernel, int(line))
        for x, y, kernel, line in _BLOCKED.findall(finding.message)
    ]
    if finding.core is not None and finding.kernel is not None and finding.line is not None:
        found.append((finding.core, finding.kernel, finding.line))
    return found


def judged(case: Case, mutant: Mutant, seeds: Sequence[int]) -> str:
    is_reported = is_wrong = False
    for seed in seeds:
        options = RunOptions(seed=seed, timeout_seconds=5, max_findings=60)
        result = run(selected(case.program, mutant), case.inputs, options)
        if is_right(case, mutant, result.findings):
            return "reported"
        is_reported |= bool(result.findings)
        is_wrong |= not result.findings and result.buffers["C"] != case.expected
    if is_wrong:
        return "wrong"
    if is_reported:
        return "elsewhere"
    return "harmless" if is_harmless(case, mutant) else "unexplained"


def judge(name: str, seeds: Sequence[int], step: int = 1, table: Table | None = None) -> Table:
    """Run every `step`-th mutant of a program."""
    case, table = case_of(name), table or Table()
    run(selected(case.program, None), case.inputs, RunOptions(seed=1)).raise_for_findings()
    for mutant in case.mutants[::step]:
        outcome = judged(case, mutant, seeds)
        table.rows.setdefault(kind_of(mutant), Counter())[outcome] += 1
        if outcome in ("wrong", "unexplained", "elsewhere"):
            getattr(table, outcome).append(f"{name}: {mutant}")
    return table


@pytest.mark.slow
def test_all_mutants_of_the_emitted_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    try:
        for name in ("two blocks in L1", "blackhole", "one block in L1"):
            judge(name, (1, 2, 3), table=table)
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"mutants were NOT run: {reason}")
    with capsys.disabled():
        share = table.count("reported") / table.required
        print(f"\n{table.text()}\n{share:.1%} of {table.required} reported where they are")
        print("\n".join(table.elsewhere))
    assert table.wrong == []
    assert table.unexplained == []
    assert table.count("reported") >= 0.95 * table.required
