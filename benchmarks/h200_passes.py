"""What single passes are worth on a Hopper GPU: every workload with one of them left out.

    python benchmarks/h200_passes.py [--only PART,...] [--passes NAME,...] [--rounds N]
                                     [--within SECONDS] [--check] [--markdown FILE] [--json FILE]
                                     [--list]

The workloads are those of `benchmarks/workloads.py`, and the GEMMs, attention and streams of
`benchmarks/h200.py`, each in its fastest configuration. Its kernels are compiled as they are and
without each pass, in parallel; results are checked, then the forms whose code differs take turns.
A number is the speed without a pass, of the speed with it: below 1 is what the pass is worth. The
kernel with all passes takes a second turn in each round: the difference is the noise. With
`--within` no workload is begun later than that, and the names of those left are printed.

What is faster without a pass by half a percent is measured again, with more rounds. `--check` makes
the exit code 1 when a workload is faster by more than 1 % without a pass, or a result is wrong. It
needs torch and a Hopper GPU. docs/benchmarks.md holds the latest table.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder: `benchmarks.h200` is the package beside this file

if TYPE_CHECKING:
    from benchmarks.h200.measure import Candidate, Row
    from benchmarks.workloads.ablation import Ablation
    from benchmarks.workloads.switches import Switchboard
    from benchmarks.workloads.workload import Prepared, Workload
    from tilewright.runtime.tile.kernel import CompiledTileKernel

PASSES = (
    "version-roles",
    "raise-copy-loops",
    "unroll-fragment-loops",
    "split-guards",
    "narrow-guarded-loops",
    "fold-clears",
    "select-tma-stores",
    "join-wgmma-groups",
    "overlap-wgmma",
    "sink-wgmma-waits",
    "stagger-wgmma-waits",
    "divide-unsigned",
    "vectorize-loops",
    "sink-store-waits",
    "choose-occupancy",
    "set-warp-registers",
    "unswitch-loops",
    "unroll-loops",
    "merge-guards",
    "use-warp-index",
    "prefetch-tensor-maps",
    "hoist-guarded-indices",
    "hoist-loads",
    "split-addresses",
    "chain-wgmma",
    "shorten-steps",
)
"""What can be left out: the kernel is right without it."""
FAMILIES = ("streams", "decode", "gemms", "attention", "recurrent", "forward")
FIRST_ROUNDS, SECOND_ROUNDS = 3, 25
DOUBTFUL, LIMIT = 1.005, 1.01
"""Speeds without a pass: from the first on it is measured again, the second is too much."""


_AGAIN = "all passes, again"


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def all_workloads() -> Iterator[Workload]:
    from importlib import import_module

    for family in FAMILIES:
        yield from import_module(f"benchmarks.workloads.{family}").workloads(None)


@dataclass
class Subject:
    """A workload, with the kernels of its fastest configuration."""

    workload: Workload
    prepared: Prepared
    row: Row
    candidates: Sequence[Candidate]
    """Ours."""
    kernels: list[CompiledTileKernel] = field(default_factory=list["CompiledTileKernel"])
    noise: float = 0.0
    """How far two medians of the same kernel are apart, as a part of one."""

    @property
    def name(self) -> str:
        return f"{self.workload.family}, {self.workload.shape}"


def prepared_subjects(chosen: Sequence[Workload]) -> list[Subject]:
    import torch

    from benchmarks.h200.measure import Row

    found: list[Subject] = []
    for workload in chosen:
        torch.manual_seed(0)
        try:
            prepared = workload.prepare()
        except Exception as problem:
            log(f"{workload.family}, {workload.shape}: {type(problem).__name__}: {problem}")
            continue
        own = [each for each in prepared.candidates if each.is_ours]
        row = Row(workload.family, workload.shape, workload.flops)
        found.append(Subject(workload, prepared, row, own))
        torch.cuda.empty_cache()
    return found


def keep_fastest(board: Switchboard, subject: Subject) -> None:
    """Leave the fastest configuration that is right, with its kernels."""
    from benchmarks.h200.measure import check, measure

    given = subject.prepared
    right = check(subject.row, subject.candidates, given.expected, given.tolerance)
    if len(right) > 1:
        measure(subject.row, right, FIRST_ROUNDS, clean=True)
        right = [min(right, key=lambda each: subject.row.milliseconds[each.name])]
    subject.candidates = right
    subject.row.milliseconds.clear()
    with board.recording() as kernels:
        for candidate in right:
            candidate.call()
    subject.kernels = kernels


def time_without(
    board: Switchboard, subject: Subject, ablated: Ablation, rounds: int
) -> dict[str, float]:
    """Speeds without passes, of the speed with all; 1 where the code is the same."""
    from benchmarks.h200.measure import Candidate, Row, check, measure
    from benchmarks.workloads.switches import WHOLE

    call = subject.candidates[0].call
    done = ablated.finish(subject.kernels)
    subject.row.failures |= done.failed

    def without(name: str) -> Candidate:
        def variant() -> Any:
            with board.without(name):
                return call()

        return Candidate(name, variant)

    given = subject.prepared
    variants = [without(x) for x in done.changed if x not in done.failed]
    right = check(subject.row, [without(WHOLE), *variants], given.expected, given.tolerance)
    if not right:
        return {}
    measure(subject.row, [*right, Candidate(_AGAIN, call)], rounds, clean=True)
    subject.noise = abs((subject.row.ratio(_AGAIN, WHOLE) or 0.0) - 1)
    speeds = {each.name: subject.row.ratio(each.name, WHOLE) or 0.0 for each in right[1:]}
    doubtful = [each for each in right[1:] if speeds[each.name] > DOUBTFUL]
    if doubtful:
        again = Row("again", subject.name, 0.0)
        measure(again, [right[0], *doubtful], max(rounds, SECOND_ROUNDS), clean=True)
        speeds |= {each.name: again.ratio(each.name, WHOLE) or 0.0 for each in doubtful}
    return speeds


# -- tables ---------------------------------------------------------------------------------------


def table_of(found: Sequence[tuple[Subject, dict[str, float]]], passes: Sequence[str]) -> str:
    """A line for each workload: the passes that change its code, by what they are worth."""
    from benchmarks.h200.measure import table
    from benchmarks.workloads.switches import WHOLE

    lines: list[list[str]] = []
    for subject, speeds in found:
        time = subject.row.milliseconds.get(WHOLE)
        shown = sorted((speed, name) for name, speed in speeds.items())
        cells = [f"{name} {speed:.3f}" for speed, name in shown if abs(speed - 1) >= 0.0035]
        rest = len(shown) - len(cells)
        cells += [f"{rest} within 0.3 %"] if rest else []
        failures = [f"{name}: {why[:60]}" for name, why in subject.row.failures.items()]
        lines.append(
            [subject.name, f"{1e3 * time:.1f}" if time else "", ", ".join([*cells, *failures])]
        )
    return table(["workload", "us", "speed without a pass, of the speed with it"], lines)


def summary_of(found: Sequence[tuple[Subject, dict[str, float]]], passes: Sequence[str]) -> str:
    """A line for each pass: how many workloads it changes, and what it is worth there."""
    from benchmarks.h200.measure import geometric_mean, table

    lines: list[list[str]] = []
    for name in passes:
        speeds = {subject.name: each[name] for subject, each in found if each.get(name)}
        if not speeds:
            lines.append([name, "0", "", "", ""])
            continue
        most, least = min(speeds, key=speeds.__getitem__), max(speeds, key=speeds.__getitem__)
        lines.append(
            [
                name,
                str(len(speeds)),
                f"{geometric_mean(1 / each for each in speeds.values()):.3f}",
                f"{1 / speeds[most]:.3f} ({most})",
                f"{1 / speeds[least]:.3f} ({least})",
            ]
        )
    head = ["pass", "changes", "speed with it, of without: mean", "most", "least"]
    return table(head, lines)


def problems_of(found: Sequence[tuple[Subject, dict[str, float]]]) -> list[str]:
    """What `--check` refuses."""
    listed: list[str] = []
    for subject, speeds in found:
        listed += [f"{subject.name}, {name}: {why}" for name, why in subject.row.failures.items()]
        listed += [
            f"{subject.name} is {speed - 1:.1%} faster without {name}"
            for name, speed in speeds.items()
            if speed > LIMIT
        ]
    return listed


def noise_of(found: Sequence[tuple[Subject, dict[str, float]]]) -> str:
    """How much two measurements of the same kernel differ."""
    noises = sorted((subject.noise, subject.name) for subject, _ in found)
    if not noises:
        return "nothing was timed"
    middle, (most, name) = noises[len(noises) // 2][0], noises[-1]
    return f"noise: the same kernel again differs by {middle:.2%} (median), {most:.2%} ({name})"


def run(
    chosen: Sequence[Workload], passes: Sequence[str], rounds: int, within: float = math.inf
) -> Any:
    """Everything, with the time that each step takes on standard error."""
    from benchmarks.workloads.ablation import ablation
    from benchmarks.workloads.ahead import compile_calls, installed_board

    start = perf_counter()

    def took(what: str) -> None:
        log(f"{perf_counter() - start:6.1f} s: {what}")

    board = installed_board()
    with ablation(board, passes) as ablated:
        subjects = prepared_subjects(chosen)
        took(f"{len(subjects)} workloads are prepared")
        compile_calls(board, [x.call for each in subjects for x in each.candidates], log)
        took("all configurations are compiled")
        for subject in subjects:
            keep_fastest(board, subject)
            for kernel in subject.kernels:
                ablated.start(kernel)
        took("the fastest configurations are known")
        subjects = [each for each in subjects if each.candidates]
        for subject in subjects:  # nothing is timed while other processes compile
            ablated.finish(subject.kernels)
        took("they are compiled without each pass")
        found: list[tuple[Subject, dict[str, float]]] = []
        for subject in subjects:
            if perf_counter() - start > within:
                log(f"not timed: {subject.name}")
                continue
            found.append((subject, time_without(board, subject, ablated, rounds)))
        took("all is timed")
    return found


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="parts of names of workloads, with commas")
    parser.add_argument("--passes", default=",".join(PASSES), help="which passes, with commas")
    parser.add_argument("--rounds", type=int, default=9, help="how often each is timed (9)")
    parser.add_argument(
        "--within", type=float, default=math.inf, help="seconds after which no workload is begun"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a pass costs over 1 %%")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    parser.add_argument("--list", action="store_true", help="show the workloads and stop")
    options = parser.parse_args(words)
    try:
        import torch
    except ImportError:
        sys.exit("torch is not installed: this benchmark needs it and a Hopper GPU")
    parts = [part for part in options.only.split(",") if part]
    chosen = [
        each
        for each in all_workloads()
        if not parts or any(part in f"{each.family} {each.shape}" for part in parts)
    ]
    if options.list:
        print("\n".join(f"{each.family} {each.shape}" for each in chosen))
        return 0
    if not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device: this benchmark needs a Hopper GPU")
    passes = [each for each in options.passes.split(",") if each]
    found = run(chosen, passes, options.rounds, options.within)
    text = f"{summary_of(found, passes)}\n\n{noise_of(found)}\n\n{table_of(found, passes)}"
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.json:
        listed = [
            {"workload": subject.name, "ms": subject.row.milliseconds, "without": speeds}
            for subject, speeds in found
        ]
        options.json.write_text(json.dumps(listed, indent=1) + "\n")
    problems = problems_of(found)
    for each in problems:
        print(f"check: {each}")
    return int(options.check and bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
