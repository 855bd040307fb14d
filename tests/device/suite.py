"""Device tests in several processes, with a table at the end.

    python -m tests.device.suite [--jobs 12] [--seconds 150] [FILE ...]

Most of their time is compiling, so that one GPU serves many processes. Each takes some of the tests:
those of one kernel (the parameter `name`) stay together, since they share its machine code. After
the given time what still runs is ended, and counted as not finished. Without FILE: the tests of raised
kernels and of operators. The exit code is 1 unless all passed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "tests/device/test_raised_kernels.py",
    "tests/device/test_raised_texts.py",
    "tests/device/test_raised_tasks.py",
    "tests/device/test_operator_values.py",
)
SHARD = "TILEWRIGHT_TEST_SHARD"
"""`2/12`: the tests that a process takes (`conftest`)."""


@dataclass
class Outcome:
    """What became of the tests of one file."""

    counts: Counter[str] = field(default_factory=Counter[str])
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    failures: list[str] = field(default_factory=list[str])
    reasons: Counter[str] = field(default_factory=Counter[str])


def shard_of(groups: list[object], jobs: int) -> list[int]:
    """The process of each test, by what it belongs to: groups in turn, in order of appearance."""
    places = {group: index for index, group in enumerate(dict.fromkeys(groups))}
    return [places[group] % jobs for group in groups]


def read(path: Path, outcomes: dict[str, Outcome]) -> None:
    """Add the results of one process."""
    for case in ElementTree.parse(path).iter("testcase"):
        name, seconds = case.get("name", ""), float(case.get("time", 0))
        module = (case.get("classname") or name).rpartition(".")[2]
        outcome = outcomes[module]
        outcome.seconds += seconds
        outcome.slowest = max(outcome.slowest, (seconds, name))
        ended = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
        kind = "passed" if ended is None else "skipped" if ended.tag == "skipped" else "failed"
        outcome.counts[kind] += 1
        message = "" if ended is None else ended.get("message", "").partition("\n")[0][:160]
        if kind == "failed":
            outcome.failures.append(f"{module}::{name}: {message}")
        elif kind == "skipped":
            outcome.reasons[message[:100]] += 1


def table(outcomes: dict[str, Outcome]) -> str:
    head = "| file | passed | failed | skipped | seconds, all processes | slowest |"
    lines = [head, "|" + "---|" * 6]
    for module, each in sorted(outcomes.items()):
        counts = " | ".join(str(each.counts[kind]) for kind in ("passed", "failed", "skipped"))
        seconds, name = each.slowest
        lines.append(f"| {module} | {counts} | {each.seconds:.0f} | {name} {seconds:.1f} s |")
    for each in outcomes.values():
        lines += [f"skipped {count}: {reason}" for reason, count in each.reasons.items()]
        lines += [f"FAILED {failure}" for failure in each.failures]
    return "\n".join(lines)


def run(files: list[str], jobs: int, seconds: float, folder: Path) -> list[str]:
    """Start all processes, wait, and name what did not come to an end."""
    processes: list[tuple[subprocess.Popen[bytes], Path]] = []
    for index in range(jobs):
        log = folder / f"{index}.log"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m"]
        command += ["device and not slow", f"--junitxml={folder / f'{index}.xml'}", *files]
        environment = {**os.environ, SHARD: f"{index}/{jobs}"}
        with log.open("wb") as out:
            started = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env=environment)
        processes.append((started, log))
    end = time.monotonic() + seconds
    unfinished: list[str] = []
    for process, log in processes:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            unfinished.append(log.read_text(errors="replace")[-400:])
    return unfinished


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=[*FILES])
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=150)
    options = parser.parse_args()
    outcomes: dict[str, Outcome] = defaultdict(Outcome)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="device-suite-") as name:
        folder = Path(name)
        unfinished = run(options.files, options.jobs, options.seconds, folder)
        without = [each for each in folder.glob("*.log") if not each.with_suffix(".xml").exists()]
        for each in sorted(folder.glob("*.xml")):
            read(each, outcomes)
        broken = [each.read_text(errors="replace")[-400:] for each in without]
    print(table(outcomes))
    for each in {*unfinished, *broken}:
        print(f"NOT FINISHED: ...{each}")
    print(f"{time.monotonic() - begin:.0f} s in {options.jobs} processes")
    failed = sum(each.counts["failed"] for each in outcomes.values())
    passed = sum(each.counts["passed"] for each in outcomes.values())
    return int(bool(failed or unfinished or broken or not passed))


if __name__ == "__main__":
    sys.exit(main())
