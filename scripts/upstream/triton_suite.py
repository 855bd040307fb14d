"""Triton's own language tests and tutorials, unmodified, under `tilewright.compat`.

    python -m scripts.upstream.triton_suite CHECKOUT [--seed N] [--count N] [--jobs N]
                                            [--device cpu|cuda] [--limit SECONDS] [--details FILE]
                                            [--only PART ...] [--tutorials | --no-tutorials]

Of `python/test/unit/language` a seeded sample of the cases that are marked `interpreter` (those
that Triton itself runs without a GPU) and do not read `asm[...]`; of `python/tutorials` 01 to 11,
with their tensors at the smallest sizes that they define. Each file is a process. The endings:

    passed   the test's own assertions hold; a tutorial came to its end
    skipped  by the test's own condition
    refused  a diagnostic: its code and sentence follow
    failed   an exception that is no diagnostic
    wrong    the test's comparison of numbers failed
    time     not finished within the limit
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.upstream.result import SuiteResult

SUITE = "triton"
TESTS = Path("python/test/unit/language")
TUTORIALS = Path("python/tutorials")
ROOT = Path(__file__).resolve().parents[2]
_PLUGIN = "scripts.upstream.triton_suite"
_RECORDS = "TILEWRIGHT_UPSTREAM_RECORDS"
_CHOSEN = "TILEWRIGHT_UPSTREAM_CHOSEN"
_LIMIT = "TILEWRIGHT_UPSTREAM_LIMIT"
_GRACE = 60.0


@dataclass(frozen=True)
class Ending:
    """How one test or tutorial ended."""

    test: str
    """``test_core.py::test_bin_op[1]``"""
    ending: str
    reason: str = ""
    seconds: float = 0.0


def run(
    checkout: Path,
    seed: int = 0,
    count: int = 3000,
    jobs: int = 1,
    *,
    device: str = "cpu",
    limit: float = 60.0,
) -> SuiteResult:
    """The endings of a sample of the tests, and of the tutorials."""
    names = sample(cases(checkout, device=device), seed, count)
    found = [
        *endings(checkout, names, jobs=jobs, device=device, limit=limit),
        *tutorials(checkout, limit=limit * 10),
    ]
    return summary(checkout, found)


def summary(checkout: Path, found: Sequence[Ending]) -> SuiteResult:
    """Counts by file, and the reasons of everything that did not pass."""
    counts: dict[str, Counter[str]] = {}
    for each in found:
        counts.setdefault(each.test.partition("::")[0], Counter())[each.ending] += 1
    reasons = Counter(f"{e.ending}: {e.reason}" for e in found if e.ending != "passed")
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def cases(checkout: Path, *, device: str = "cpu") -> list[str]:
    """All cases that are judged."""
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) / "records.jsonl"
        directory = checkout / TESTS
        done = _pytest(directory, ["--collect-only"], records, scratch, device=device, timeout=600)
        if not records.exists():
            raise RuntimeError(f"nothing was collected: {done}")
        lines = [json.loads(line) for line in records.read_text().splitlines()]
    return sorted(name for line in lines for name in line.get("planned", ()))


def sample(names: Sequence[str], seed: int, count: int) -> list[str]:
    """`count` of the names, the same ones for the same seed."""
    chosen = random.Random(seed).sample(list(names), min(count, len(names)))
    return sorted(chosen)


def endings(
    checkout: Path, names: Sequence[str], *, jobs: int, device: str, limit: float
) -> tuple[Ending, ...]:
    """Run these cases, one process a file."""
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(name.partition("::")[0], []).append(name)
    # A large file is run in parts: a process that dies takes less with it.
    parts = [
        (file, chosen[start : start + _PART])
        for file, chosen in files.items()
        for start in range(0, len(chosen), _PART)
    ]

    def perform_part(part: tuple[str, list[str]]) -> list[Ending]:
        return _run_part(checkout, part[0], part[1], device, limit)

    found: list[Ending] = []
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(perform_part, parts)
        for (file, _), ended in zip(parts, results, strict=True):
            found.extend(ended)
            sys.stdout.write(f"[{len(found)}/{len(names)}] {file}: {_line(ended)}\n")
            sys.stdout.flush()
    return tuple(found)


_PART = 300


def _run_part(
    checkout: Path, file: str, names: Sequence[str], device: str, limit: float
) -> list[Ending]:
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) / "records.jsonl"
        chosen = Path(scratch) / "chosen.json"
        chosen.write_text(json.dumps(list(names)))
        os.environ[_LIMIT] = str(limit)
        text = _pytest(
            checkout / TESTS / file,
            ["-q"],
            records,
            scratch,
            device=device,
            timeout=_GRACE + limit * max(10, len(names) / 4),
            chosen=chosen,
        )
        found = {name: Ending(name, "time", _last_line(text)) for name in names}
        if records.exists():
            for line in records.read_text().splitlines():
                record = json.loads(line)
                if "test" in record:
                    found[record["test"]] = Ending(**record)
        return list(found.values())


def _pytest(
    path: Path,
    options: Sequence[str],
    records: Path,
    scratch: str,
    *,
    device: str,
    timeout: float,
    chosen: Path | None = None,
) -> str:
    command = [sys.executable, "-m", "tilewright.compat", "-m", "pytest", "--no-header", "--tb=no"]
    command += ["-p", "no:cacheprovider", "-p", _PLUGIN, "-q", f"--device={device}", *options]
    env = {
        **os.environ,
        _RECORDS: str(records),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRITON_HOME": scratch,
        "PYTHONPATH": f"{ROOT}/src:{ROOT}",
        **({} if chosen is None else {_CHOSEN: str(chosen)}),
    }
    try:
        done = subprocess.run(
            [*command, str(path)],
            cwd=scratch,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "the file's limit"
    return done.stdout + done.stderr


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


def _line(found: Sequence[Ending]) -> str:
    counts = Counter(each.ending for each in found)
    return ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))


# -- the plugin, in the process of a file ---------------------------------------------------------


class _TimeLimit(BaseException):
    """A test that ran past the limit; no test catches it."""


def _write(record: Mapping[str, Any]) -> None:
    path = os.environ.get(_RECORDS)
    if path:
        with Path(path).open("a") as stream:
            stream.write(json.dumps(record) + "\n")


def _name(nodeid: str) -> str:
    path = nodeid.replace("\\", "/")
    return path.rpartition(f"{TESTS.as_posix()}/")[2] or path


def _reads_asm(function: Any) -> bool:
    """Whether a test looks at Triton's own texts: ``kernel.asm["ptx"]``, or FileCheck."""
    try:
        text = inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        return False
    return re.search(r"\basm\b\s*(\[|\.)", text) is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only the cases that are judged, and of them the sample."""
    chosen = os.environ.get(_CHOSEN)
    if chosen:
        expected = set(json.loads(Path(chosen).read_text()))
        items[:] = [item for item in items if _name(item.nodeid) in expected]
        return
    judged: dict[Any, bool] = {}
    names: list[str] = []
    for item in items:
        function = getattr(item, "function", None)
        if function not in judged:
            judged[function] = not _reads_asm(function)
        if item.get_closest_marker("interpreter") is not None and judged[function]:
            names.append(_name(item.nodeid))
    _write({"planned": names})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None]:
    def stop(*_: object) -> None:
        raise _TimeLimit

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(float(os.environ.get(_LIMIT, "0"))))
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any]:
    outcome = yield
    report = outcome.get_result()
    if report.when != "call" and report.outcome == "passed":
        return
    ending, reason = report.outcome, ""
    if report.outcome == "skipped":
        ending = "passed" if hasattr(report, "wasxfail") else "skipped"
        reason = _reason_of_skip(report.longrepr)
    elif report.outcome == "failed":
        assert call.excinfo is not None
        ending, reason = judgement(call.excinfo.value)
        if ending == "time":
            call.excinfo.value.__traceback__ = None
    seconds = round(call.stop - call.start, 2)
    _write(asdict(Ending(_name(item.nodeid), ending, reason, seconds)))


def _reason_of_skip(found: object) -> str:
    """pytest's representation of a skip is a file, a line and the reason."""
    parts: Any = found
    return str(parts[2]) if isinstance(found, tuple) else "expected"


def judgement(error: BaseException) -> tuple[str, str]:
    """The ending that an exception means, and its sentence."""
    if isinstance(error, _TimeLimit):
        return "time", "the test's limit"
    text = " ".join(str(error).split())
    code = re.search(r"error\[(TW\d+)\]", text)
    if code is not None:
        return "refused", f"{code[1]}: {text.partition(code[0])[2][:160].strip(': ')}"
    kind = type(error).__name__
    if "does not offer" in text:
        return "refused", text[:160]
    if kind == "AssertionError" and re.search(r"[Nn]ot equal|not close|Mismatch|allclose", text):
        return "wrong", text[:160]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return "failed", f"{kind}{where}: {text[:160]}"


# -- tutorials ------------------------------------------------------------------------------------


def tutorials(checkout: Path, *, limit: float, only: Sequence[str] = ()) -> Iterator[Ending]:
    """Run the tutorials 01 to 11, one process each."""
    for path in sorted((checkout / TUTORIALS).glob("[01][0-9]-*.py")):
        if only and not any(part in path.name for part in only):
            continue
        ended = _tutorial(path, limit)
        sys.stdout.write(f"{ended.test}: {ended.ending} ({ended.seconds:.0f} s) {ended.reason}\n")
        sys.stdout.flush()
        yield ended


def _tutorial(path: Path, limit: float) -> Ending:
    name = f"tutorials::{path.name}"
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        env = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{ROOT}/src:{ROOT}",
            "MPLBACKEND": "agg",
            "TILEWRIGHT_BENCH_SECONDS": "0",  # a report stops after its first row
        }
        command = [sys.executable, "-m", _PLUGIN, str(path), "--perform", str(record)]
        command += ["--limit", str(limit)]
        start = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=scratch,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=limit + _GRACE,
                check=False,
            )
            last = _last_line(done.stdout)
        except subprocess.TimeoutExpired:
            last = "limit"
        seconds = time.monotonic() - start
        if not record.exists():
            return Ending(name, "time", last, seconds)
        ending, reason = json.loads(record.read_text())
        return Ending(name, ending, reason, seconds)


def perform(path: Path, record: Path, limit: float) -> None:
    """Run one tutorial in this process and write how it ended."""
    from tilewright.compat.finder import install

    def stop(*_: object) -> None:
        raise _TimeLimit

    install()
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(limit))
    sys.argv = [str(path)]
    sys.path[0] = str(path.parent)
    ended = ("passed", "")
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as left:
        if left.code not in (None, 0):
            ended = ("failed", f"exit code {left.code}")
    except BaseException as error:
        signal.alarm(0)
        traceback.print_exc()
        ended = judgement(error)
    signal.alarm(0)
    record.write_text(json.dumps(ended))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a test")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--details", type=Path, help="write every ending to this file")
    parser.add_argument("--tutorials", action=argparse.BooleanOptionalAction, default=None)
    parser.add_argument("--perform", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.perform is not None:
        perform(given.checkout, given.perform, given.limit)
        return 0
    start = time.monotonic()
    found: list[Ending] = []
    if given.tutorials is not True:
        every = cases(given.checkout, device=given.device)
        sys.stdout.write(f"{len(every)} cases are judged\n")
        names = [n for n in every if not given.only or any(part in n for part in given.only)]
        chosen = sample(names, given.seed, given.count)
        found += endings(
            given.checkout, chosen, jobs=given.jobs, device=given.device, limit=given.limit
        )
    if given.tutorials is not False:
        found += tutorials(given.checkout, limit=given.limit * 10, only=given.only)
    if given.details is not None:
        rows = (f"{e.ending}\t{e.test}\t{e.seconds}\t{e.reason}\n" for e in found)
        given.details.write_text("".join(rows))
    result = summary(given.checkout, found)
    for group, counts in result.rows:
        line = ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))
        sys.stdout.write(f"{group}: {line}\n")
    for reason, count in result.reasons.most_common(60):
        sys.stdout.write(f"{count:5} {reason}\n")
    sys.stdout.write(f"all: {_line(found)}; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
