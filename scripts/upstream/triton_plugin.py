"""The part of `triton_suite` that is in the process of a test file: a plugin of pytest.

It selects the cases, stops a test after the limit, and writes a line of JSON for every file that
was collected, every test that begins and every test that ends. A fault on a GPU makes everything
after it in the same process fail, so the process ends there and the suite begins a new one.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.upstream.result import STAND_INS

TESTS = Path("python/test/unit/language")
RECORDS = "TILEWRIGHT_UPSTREAM_RECORDS"
CHOSEN = "TILEWRIGHT_UPSTREAM_CHOSEN"
LIMIT = "TILEWRIGHT_UPSTREAM_LIMIT"
_GPU_LOST = 75
"""Exit code of a process whose GPU context is of no use any more."""


@dataclass(frozen=True)
class Ending:
    """How one test or tutorial ended."""

    test: str
    """``test_core.py::test_bin_op[1]``"""
    ending: str
    reason: str = ""
    seconds: float = 0.0


class TimeLimit(BaseException):
    """A test that ran past the limit; no test catches it."""


def write(record: Mapping[str, Any]) -> None:
    """Add a line to the records."""
    path = os.environ.get(RECORDS)
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


def pytest_configure() -> None:
    """Packages that the files import and that are not installed have stand-ins."""
    sys.path.append(str(STAND_INS))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Files that cannot be imported, with the reason."""
    if report.outcome == "failed":
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        reason = lines[-1][1:].strip() if lines else str(report.longrepr)[-200:]
        write({"file": _name(report.nodeid), "refused": reason[:200]})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only the cases that are judged, and of them the sample."""
    chosen = os.environ.get(CHOSEN)
    if chosen:
        expected = set(json.loads(Path(chosen).read_text()))
        items[:] = [item for item in items if _name(item.nodeid) in expected]
        return
    judged: dict[Any, bool] = {}
    files: dict[str, list[str]] = {}
    for item in items:
        function = getattr(item, "function", None)
        if function not in judged:
            judged[function] = not _reads_asm(function)
        name = _name(item.nodeid)
        names = files.setdefault(name.partition("::")[0], [])
        if item.get_closest_marker("interpreter") is not None and judged[function]:
            names.append(name)
    for file, names in files.items():
        write({"file": file, "planned": names})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None]:
    def stop(*_: object) -> None:
        raise TimeLimit

    write({"begins": _name(item.nodeid)})
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(float(os.environ.get(LIMIT, "0"))))
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
    write(asdict(Ending(_name(item.nodeid), ending, reason, seconds)))
    if report.outcome == "failed" and _is_gpu_lost():
        os._exit(_GPU_LOST)


def _is_gpu_lost() -> bool:
    """Whether a fault has made the GPU of this process unusable."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def _reason_of_skip(found: object) -> str:
    """pytest's representation of a skip is a file, a line and the reason."""
    parts: Any = found
    return str(parts[2]) if isinstance(found, tuple) else "expected"


_COMPARISON = re.compile(r"[Nn]ot equal|not close|Mismatch|allclose")


def judgement(error: BaseException) -> tuple[str, str]:
    """The ending that an exception means, and its sentence."""
    if isinstance(error, TimeLimit):
        return "time", "the test's limit"
    text = " ".join(str(error).split())
    code = re.search(r"error\[(TW\d+)\]", text)
    if code is not None:
        return "refused", f"{code[1]}: {text.partition(code[0])[2][:160].strip(': ')}"
    kind = type(error).__name__
    if "does not offer" in text:
        return "refused", text[:160]
    if isinstance(error, ModuleNotFoundError) and error.name:
        return "package absent", error.name.partition(".")[0]
    if kind == "AssertionError" and _COMPARISON.search(text):
        return "wrong", text[:160]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return "failed", f"{kind}{where}: {text[:160]}"
