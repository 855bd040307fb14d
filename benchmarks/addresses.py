"""Cost and coverage of the address analysis: real kernels, growth up to 10,000 ops, unknowns.

    make bench
    python benchmarks/addresses.py [--rounds N] [--check] [--unknown]

Times are the processor's, best of N rounds. The first table has one row per kernel of the corpus:
the analysis alone, without and with the arguments of its largest launch, then all six checks on
top of each. The second has generated kernels of growing size; the time per op has to stay what it
is. `--check` makes the exit code 1 above 100 ms for an analysis, above 2 s with all checks, or when
ops of the largest kernel take more than three times as long as those of the smallest.

`--unknown` lists instead what the analysis cannot answer about the corpus and about every launch of
`examples/tl`, with the reason, and what share of the accesses that is. An address that is read from
memory nobody can tell, nor what a lock protects; it is listed, and not counted as a weakness.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.pid_address import (
    AccessProperties,
    AddressReport,
    MemoryOp,
    Pattern,
    Reason,
    analyze,
)
from tilewright.analysis.pid_address.checks import (
    ALL_CHECKS,
    Check,
    CheckResult,
    Finding,
    Settings,
    run_checks,
)
from tilewright.cli.analyze_inputs import run_script
from tilewright.cli.analyze_options import options_of as parse_options
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.ir.traversal import walk

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "corpus" / "ttir"
EXAMPLES = ROOT / "examples" / "tl"
ANALYSIS_LIMIT_S, CHECKS_LIMIT_S, GROWTH_LIMIT = 0.100, 2.0, 3.0
CLAIMS = (Check.BOUNDS, Check.RACE, Check.OVERFLOW)
BEYOND = ("loaded from memory", "nothing is known about", "not modelled")
"""In the message of a claim that rests on what memory holds, or on locks."""
SIZES = (100, 300, 1000, 3000, 10_000)


def module_of(text: str, name: str) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, name, engine)
    if source is None:
        raise SystemExit(f"{name}: {engine.diagnostics[0].message}")
    return source.module


@dataclass(frozen=True)
class Launch:
    """A kernel and what is known about one of its launches."""

    name: str
    module: Operation
    facts: AccessProperties
    function: str | None = None
    settings: Settings = field(default_factory=Settings)

    def report(self) -> AddressReport:
        return analyze(self.module, self.facts, function=self.function)

    def findings(self, checks: tuple[Check, ...] = ALL_CHECKS) -> tuple[Finding, ...]:
        return run_checks(self.report(), checks, self.settings)


def corpus_launches() -> Iterator[Launch]:
    """Every kernel of the corpus, first with nothing known, then with each set of arguments."""
    for path in sorted(CORPUS.glob("*.ttir")):
        module = module_of(path.read_text(), path.name)
        yield Launch(path.stem, module, AccessProperties())
        expected: dict[str, Any] = json.loads(
            path.with_name(f"{path.stem}.expected.json").read_text()
        )
        for instance in expected["instances"]:
            facts = AccessProperties(
                tuple(instance["grid"]), instance["args"], instance["buffer_bytes"]
            )
            settings = Settings(memory=instance.get("memory", {}))
            yield Launch(path.stem, module, facts, settings=settings)


def example_launches() -> Iterator[Launch]:
    """Every kind of launch that the examples make, which means running them."""
    for path in sorted(EXAMPLES.glob("*.py")):
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
            script = run_script(parse_options([str(path)]))
        if script.code or not script.inputs:
            raise SystemExit(f"{path.name} ended with {script.code} and no launch to analyse")
        for each in script.inputs:
            yield Launch(path.stem, each.root, each.properties, each.function)


# Unknowns.


@dataclass(frozen=True)
class Unknown:
    """Something that was asked and not answered."""

    launch: str
    what: str
    reason: str
    nobody_knows: bool
    """Whether it lies in memory or between programs, so that a person could not tell either."""

    def __str__(self) -> str:
        note = " (not to be known)" if self.nobody_knows else ""
        return f"{self.launch}: {self.what}: {self.reason}{note}"


def unknown_accesses(name: str, report: AddressReport) -> Iterator[Unknown]:
    """Accesses without a class, or that may or may not coalesce."""
    for access in report.accesses:
        if access.pattern is Pattern.UNKNOWN:
            in_memory = access.reason is Reason.DATA_DEPENDENT
            yield Unknown(name, access.name, f"pattern, {access.reason}", in_memory)
        elif access.coalesced is None:
            yield Unknown(name, access.name, f"coalesced, {_lanes(access)}", False)


def _lanes(access: MemoryOp) -> str:
    strides = ", ".join("?" if s is None else str(s) for s in access.lane_strides)
    return f"lanes {strides} bytes apart"


def unknown_claims(name: str, findings: tuple[Finding, ...]) -> Iterator[Unknown]:
    for finding in findings:
        if finding.check in CLAIMS and finding.verdict is CheckResult.UNKNOWN:
            beyond = any(words in finding.message for words in BEYOND)
            yield Unknown(name, finding.check, finding.message, beyond)


@dataclass
class Tally:
    asked: int = 0
    weak: int = 0
    not_to_be_known: int = 0

    def add(self, asked: int, unknown: list[Unknown]) -> None:
        self.asked += asked
        self.not_to_be_known += sum(each.nobody_knows for each in unknown)
        self.weak += sum(not each.nobody_knows for each in unknown)

    @property
    def rate(self) -> float:
        """The share of what a person could answer."""
        answerable = self.asked - self.not_to_be_known
        return self.weak / answerable if answerable else 0.0

    def __str__(self) -> str:
        return (
            f"{self.weak} of {self.asked - self.not_to_be_known} unknown, {100 * self.rate:.1f}%; "
            f"{self.not_to_be_known} more are not to be known"
        )


def survey(say: Callable[[str], None] = print, step: int = 1) -> tuple[Tally, Tally]:
    """What is unknown about accesses, and about claims of launches with arguments and grid.

    Of the launches each `step`-th is looked at.
    """
    accesses, claims = Tally(), Tally()
    for launch in (*corpus_launches(), *example_launches())[::step]:
        report = launch.report()
        found = list(unknown_accesses(launch.name, report))
        accesses.add(len(report.accesses), found)
        if launch.facts.grid is not None:
            findings = run_checks(report, CLAIMS, launch.settings)
            asked = sum(finding.check in CLAIMS for finding in findings)
            open_claims = list(unknown_claims(launch.name, findings))
            claims.add(asked, open_claims)
            found += open_claims
        for each in found:
            say(str(each))
    say(f"accesses: {accesses}")
    say(f"bounds, race and overflow of launches: {claims}")
    return accesses, claims


# Times.


def best(rounds: int, work: Callable[[], object]) -> float:
    """Seconds of the processor, for the fastest of some rounds."""
    times: list[float] = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def corpus_table(rounds: int) -> bool:
    """Print the table; whether all limits are kept."""
    print(f"{'':20} {'analysis, ms':>20} {'with all checks, ms':>22}")
    print(f"{'kernel':20} {'open':>10} {'launch':>9} {'open':>12} {'launch':>9}")
    good = True
    by_name: dict[str, list[Launch]] = {}
    for launch in corpus_launches():
        by_name.setdefault(launch.name, []).append(launch)
    for name, (open_launch, *instances) in by_name.items():
        row = [
            best(rounds, open_launch.report),
            max(best(rounds, each.report) for each in instances),
            best(rounds, open_launch.findings),
            max(best(rounds, each.findings) for each in instances),
        ]
        print(f"{name:20} " + "{:10.1f} {:9.1f} {:12.1f} {:9.1f}".format(*(1e3 * t for t in row)))
        good &= max(row[:2]) < ANALYSIS_LIMIT_S and max(row[2:]) < CHECKS_LIMIT_S
    return good


def straight(ops: int) -> str:
    """One access after the other, each a little further on."""
    lines = [
        "tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %s: i32) {",
        "%pid = tt.get_program_id x : i32",
        "%c = arith.constant 64 : i32",
        "%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>",
        "%b = arith.muli %pid, %c : i32",
        "%bs = tt.splat %b : i32 -> tensor<64xi32>",
        "%o0 = arith.addi %bs, %r : tensor<64xi32>",
        "%ns = tt.splat %n : i32 -> tensor<64xi32>",
        "%xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>",
        "%cs = tt.splat %s : i32 -> tensor<64xi32>",
    ]
    for i in range(ops // 5):
        lines += [
            f"%o{i + 1} = arith.addi %o{i}, %cs : tensor<64xi32>",
            f"%m{i} = arith.cmpi slt, %o{i + 1}, %ns : tensor<64xi32>",
            f"%p{i} = tt.addptr %xs, %o{i + 1} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>",
            f"%v{i} = tt.load %p{i}, %m{i} : tensor<64x!tt.ptr<f32>>",
            f"%w{i} = arith.addf %v{i}, %v{i} : tensor<64xf32>",
        ]
    return "\n".join([*lines, "tt.return", "}"])


def loops(ops: int) -> str:
    """Loop after loop, each with carried pointers."""
    lines = [
        "tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %s: i32) {",
        "%pid = tt.get_program_id x : i32",
        "%c0 = arith.constant 0 : i32",
        "%c1 = arith.constant 1 : i32",
        "%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>",
        "%b = arith.muli %pid, %s : i32",
        "%q = tt.addptr %x, %b : !tt.ptr<f32>, i32",
        "%ss = tt.splat %s : i32 -> tensor<64xi32>",
        "%xs = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>",
        "%p = tt.addptr %xs, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>",
    ]
    type = "tensor<64x!tt.ptr<f32>>"
    for i in range(ops // 5):
        lines += [
            f"%e{i} = scf.for %i{i} = %c0 to %n step %c1 "
            f"iter_args(%a{i} = %p) -> ({type}) : i32 {{",
            f"%v{i} = tt.load %a{i} : {type}",
            f"%w{i} = arith.addf %v{i}, %v{i} : tensor<64xf32>",
            f"%n{i} = tt.addptr %a{i}, %ss : {type}, tensor<64xi32>",
            f"scf.yield %n{i} : {type}",
            "}",
        ]
    return "\n".join([*lines, "tt.return", "}"])


def choices(ops: int) -> str:
    """Conditions, one inside the other and after one another, that move an offset."""
    lines = [
        "tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {",
        "%pid = tt.get_program_id x : i32",
    ]
    for i in range(ops // 8):
        lines += [
            f"%k{i} = arith.constant {i} : i32",
            f"%c{i} = arith.cmpi slt, %pid, %k{i} : i32",
            f"%o{i} = scf.if %c{i} -> (i32) {{",
            f"%j{i} = arith.addi %pid, %k{i} : i32",
            f"scf.yield %j{i} : i32",
            "} else {",
            "scf.yield %pid : i32",
            "}",
            f"%p{i} = tt.addptr %x, %o{i} : !tt.ptr<f32>, i32",
            f"%v{i} = tt.load %p{i} : !tt.ptr<f32>",
        ]
    return "\n".join([*lines, "tt.return", "}"])


SHAPES: dict[str, Callable[[int], str]] = {
    "straight": straight,
    "loops": loops,
    "choices": choices,
}


def growth_table(rounds: int) -> bool:
    """Print microseconds per op; whether it stays within the limit."""
    print(f"{'us per op':20} " + " ".join(f"{size:>9,}" for size in SIZES) + "   ops")
    good = True
    for name, shape in SHAPES.items():
        row: list[float] = []
        for size in SIZES:
            module = module_of(shape(size), name)
            ops = sum(1 for _ in walk(module))
            turns = rounds if size < SIZES[-1] else 1
            row.append(1e6 * best(turns, lambda m=module: analyze(m)) / ops)
        print(f"{name:20} " + " ".join(f"{each:9.0f}" for each in row))
        good &= row[-1] < GROWTH_LIMIT * row[0]
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit code 1 above the limits")
    parser.add_argument("--unknown", action="store_true", help="list what has no answer")
    options = parser.parse_args()
    if options.unknown:
        survey()
        return 0
    print("address analysis, processor time")
    good = corpus_table(options.rounds)
    print()
    good &= growth_table(options.rounds)
    if not good:
        print("a limit is exceeded", file=sys.stderr)
    return 1 if options.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
