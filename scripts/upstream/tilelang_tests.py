"""TileLang's own tests (`testing/python`), unmodified, under `tilewright.compat` with pytest.

    python -m scripts.upstream.tilelang_tests CHECKOUT [--only PART ...] [--sample N --seed S]
                                              [--jobs N] [--limit SECONDS] [--details FILE]

Each file is a process: `python -m tilewright.compat -m pytest FILE`, with this module as a plugin
that stops a test after `--limit` seconds and writes how it ended. The endings:

    passed        the test's own assertions hold
    failed        with a class: the exception, and whether a diagnostic, a missing name or a fault
    out of scope  named in `OUT_OF_SCOPE`, with the reason; those are not run
    text          it compares our code with the text of TileLang's own: nothing about its meaning
    skipped       by the test's own mark: another GPU, a package that is not installed
    time          not finished within the limit
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from scripts.upstream.result import SuiteResult, sampled, write_json
from scripts.upstream.tilelang_known import KNOWN, OUT_OF_SCOPE, TARGETS
from scripts.upstream.warm import SETTINGS, Job, Warm, serve
from tilewright.compat.finder import TARGET_VARIABLE

SUITE = "tilelang tests"
_MODULE = "scripts.upstream.tilelang_tests"
DIRECTORY = Path("testing/python")
ROOT = Path(__file__).resolve().parents[2]
_RECORDS = "TILEWRIGHT_UPSTREAM_RECORDS"
_LIMIT = "TILEWRIGHT_UPSTREAM_LIMIT"
_FILE_LIMIT_TESTS = 20
"""A file may take as long as this many of its tests that run to the limit."""

_OUR_CODE = re.compile(r"NumPy code of the kernel|__launch_bounds__|namespace tw ")
"""What the code of a kernel contains, in the message of an assertion about it."""


@dataclass(frozen=True)
class Ending:
    """How one test ended."""

    test: str
    """``language/test_x.py::test_y[1]``"""
    ending: str
    reason: str = ""
    seconds: float = 0.0


def run(
    checkout: Path, *, jobs: int = 1, only: Sequence[str] = (), limit: float = 60.0
) -> SuiteResult:
    """The endings of all tests, by directory."""
    return summary(checkout, endings(checkout, jobs=jobs, only=only, limit=limit))


def summary(checkout: Path, found: Sequence[Ending]) -> SuiteResult:
    """Counts by directory, and the reasons of everything that did not pass."""
    counts: dict[str, Counter[str]] = {}
    for each in found:
        group = each.test.partition("::")[0].rpartition("/")[0]
        counts.setdefault(group, Counter())[each.ending] += 1
    reasons = Counter(_told(each) for each in found if each.ending != "passed")
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def _told(ended: Ending) -> str:
    """What the summary says of a test that did not pass: the listed reason, where there is one."""
    if ended.ending == "text":
        return "text: compared with the text of TileLang's CUDA"
    listed = known(ended.test) if ended.ending == "failed" else ""
    return f"failed: listed: {listed}" if listed else f"{ended.ending}: {ended.reason}"


def endings(
    checkout: Path,
    *,
    jobs: int,
    only: Sequence[str],
    limit: float,
    sample: int | None = None,
    seed: int = 0,
    details: Path | None = None,
) -> tuple[Ending, ...]:
    """Run the files that `only` names (parts of paths; all of them without), or a sample.

    How each test ended is added to `details` after its file.
    """
    directory = (checkout / DIRECTORY).resolve()
    names = [str(path.relative_to(directory)) for path in sorted(directory.rglob("test_*.py"))]
    chosen = [name for name in names if not only or any(part in name for part in only)]
    chosen = sampled(chosen, sample, seed)
    found: list[Ending] = []

    local = threading.local()

    def run_file(name: str) -> list[Ending]:
        target = next((gpu for pattern, gpu in TARGETS.items() if fnmatch(name, pattern)), "")
        warm: dict[str, Warm] = local.__dict__.setdefault("warm", {})
        if target not in warm:
            env = {**SETTINGS, TARGET_VARIABLE: target} if target else SETTINGS
            warm[target] = servers.enter_context(Warm(_MODULE, env))
        return _run_file(warm[target], directory, name, limit)

    with ExitStack() as servers, ThreadPoolExecutor(jobs) as pool:
        for count, ended in enumerate(pool.map(run_file, chosen), 1):
            found.extend(ended)
            if details is not None:
                with details.open("a") as stream:
                    stream.writelines(map(_row, ended))
            counts = Counter(each.ending for each in ended)
            line = ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))
            sys.stdout.write(f"[{count}/{len(chosen)}] {chosen[count - 1]}: {line}\n")
            sys.stdout.flush()
    return tuple(found)


def known(test: str) -> str:
    """Why a failure of `test` is expected; empty where it is not."""
    bare, file = test.partition("[")[0], test.partition("::")[0]
    for pattern, reason in KNOWN.items():
        if fnmatch(bare, pattern) or fnmatch(file, pattern):
            return reason
    return ""


def _row(ended: Ending) -> str:
    return f"{ended.ending}\t{ended.test}\t{ended.seconds}\t{ended.reason}\n"


def out_of_scope(test: str) -> str | None:
    """Why `test` (with its file) is not judged, where it is not."""
    bare = test.partition("[")[0]
    for pattern, reason in OUT_OF_SCOPE.items():
        if fnmatch(bare, pattern) or fnmatch(test.partition("::")[0], pattern):
            return reason
    return None


def _perform(job: Job) -> None:
    """One file, in a process of its own."""
    from tilewright.compat.script import run_module

    run_module("pytest", job["arguments"])


def _serve() -> None:
    """What most files import, once for all of them."""
    from tilewright.compat import install

    install()
    with suppress(ImportError):
        importlib.import_module("torch")
    importlib.import_module("tilelang").jit  # noqa: B018
    serve(_perform)


def _run_file(warm: Warm, directory: Path, name: str, limit: float) -> list[Ending]:
    reason = out_of_scope(name)
    if reason is not None:
        return [Ending(f"{name}::*", "out of scope", reason)] * _tests_in(directory / name)
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) / "records.jsonl"
        arguments = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", _MODULE]
        arguments += ["--tb=no", "-o", "addopts=", f"--rootdir={directory}", str(directory / name)]
        env = {
            _RECORDS: str(records),
            _LIMIT: str(limit),
            "TILELANG_CACHE_DIR": f"{scratch}/cache",
        }
        ended, text = warm.run(
            {"arguments": arguments},
            directory=scratch,
            env=env,
            limit=limit * _FILE_LIMIT_TESTS,
        )
        text = text if ended else "the file's limit"
        return list(_read(name, records, text))


def _tests_in(path: Path) -> int:
    return max(1, len(re.findall(r"^\s*def test_", path.read_text(), re.M)))


def _read(name: str, records: Path, text: str) -> Iterator[Ending]:
    planned: dict[str, Ending | None] = {}
    if records.exists():
        for line in records.read_text().splitlines():
            record = json.loads(line)
            if "planned" in record:
                planned.update(dict.fromkeys(record["planned"]))
            else:
                planned[record["test"]] = Ending(**record)
    for test, ended in planned.items():
        reason = out_of_scope(test)
        if reason is not None:
            yield Ending(test, "out of scope", reason)
        elif ended is None:
            yield Ending(test, "time", _last_line(text))
        else:
            yield ended
    if not planned:
        yield Ending(f"{name}::*", "failed", f"file: {_last_line(text)}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


# -- the plugin, in the process of a file ----------------------------------------------------------


class _TimeLimit(BaseException):
    """A test that ran past the limit; no test catches it."""


def _write(record: Mapping[str, Any]) -> None:
    with Path(os.environ[_RECORDS]).open("a") as stream:
        stream.write(json.dumps(record) + "\n")


def _name(nodeid: str) -> str:
    path = nodeid.replace("\\", "/")
    return path.partition(f"{DIRECTORY.as_posix()}/")[2] or path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that are not judged are not run."""
    _write({"planned": [_name(item.nodeid) for item in items]})
    items[:] = [item for item in items if out_of_scope(_name(item.nodeid)) is None]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, None, None]:
    def stop(*_: object) -> None:
        raise _TimeLimit

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(float(os.environ[_LIMIT])))
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if report.when != "call" and report.outcome == "passed":
        return
    seconds = round(call.stop - call.start, 2)
    ending, reason = report.outcome, ""
    if report.outcome == "skipped":
        ending = "passed" if hasattr(report, "wasxfail") else "skipped"
        reason = _skip_reason(report.longrepr)
    elif report.outcome == "failed":
        assert call.excinfo is not None
        if call.excinfo.errisinstance(_TimeLimit):
            call.excinfo.value.__traceback__ = None
            ending, reason = "time", "the test's limit"
        else:
            reason = _failure(call.excinfo)
            ending = "text" if reason.startswith("text") else ending
    _write({"test": _name(item.nodeid), "ending": ending, "reason": reason, "seconds": seconds})


def _skip_reason(where: Any) -> str:
    """Of a skip, pytest has file, line and sentence; of an expected failure, a text."""
    return str(where[2]) if isinstance(where, Sequence) and len(where) == 3 else "expected"


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.outcome == "failed":
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        message = lines[-1][1:].strip() if lines else _last_line(str(report.longrepr))
        name = _name(report.nodeid)
        _write({"test": f"{name}::*", "ending": "failed", "reason": f"collect: {message[:200]}"})
    elif report.outcome == "skipped":
        _write({"test": f"{_name(report.nodeid)}::*", "ending": "skipped", "reason": "its file"})


def _failure(info: pytest.ExceptionInfo[BaseException]) -> str:
    """The class of a failure, and its sentence."""
    text = " ".join(str(info.value).split())
    code = re.search(r"error\[(TW\d+)\]", text)
    if code is not None:
        kind = "fault" if code[1].startswith("TW90") else "refused"
        return f"{kind} {code[1]}: {text.partition(code[0])[2][:160].strip(': ')}"
    if "does not offer" in text or re.search(r"\bT has no attribute|T\.\w+ is not supported", text):
        return f"missing: {text[:160]}"
    if "DID NOT RAISE" in text:
        return f"raises: {text[:120]}"
    if info.type is AssertionError and _OUR_CODE.search(text):
        return f"text: {text[:60]}"
    last = info.traceback[-1]
    where = Path(str(last.path))
    kind = info.type.__name__
    if "tilewright" in where.parts:
        inside = where.relative_to(ROOT) if where.is_relative_to(ROOT) else where
        return f"ours {kind} at {inside.name}:{last.lineno + 1}: {text[:140]}"
    if kind == "AssertionError" and ("not close" in text or "Mismatched" in text):
        return f"values: {text[:120]}"
    return f"{kind}: {text[:160]}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[], help="parts of paths")
    parser.add_argument("--sample", type=int, help="so many of the files, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a test")
    parser.add_argument("--details", type=Path, help="write every test's ending to this file")
    parser.add_argument("--json", type=Path, help="write the result, with all failures, there")
    given = parser.parse_args(arguments)
    if given.serve:
        _serve()
        return 0
    start = time.monotonic()
    if given.details is not None:
        given.details.write_text("")
    found = endings(
        given.checkout,
        jobs=given.jobs,
        only=given.only,
        limit=given.limit,
        sample=given.sample,
        seed=given.seed,
        details=given.details,
    )
    result = summary(given.checkout, found)
    if given.json is not None:
        failures = [
            {"test": e.test, "ending": e.ending, "reason": e.reason, "known": known(e.test)}
            for e in found
            if e.ending in ("failed", "text", "time")
        ]
        write_json(given.json, result, failures)
    for group, counts in result.rows:
        line = ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))
        sys.stdout.write(f"{group}: {line}\n")
    for reason, count in result.reasons.most_common(40):
        sys.stdout.write(f"{count:5} {reason}\n")
    totals = Counter[str]()
    for _, counts in result.rows:
        totals.update(counts)
    line = ", ".join(f"{n} {ending}" for ending, n in sorted(totals.items()))
    sys.stdout.write(f"all: {line}; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
