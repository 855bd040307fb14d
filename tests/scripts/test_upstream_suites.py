"""One command for all suites, and the page that is made of its record."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from scripts import upstream_suites
from scripts.upstream import pool, record, tilelang_tests
from scripts.upstream.result import SuiteResult
from scripts.upstream.triton_suite import parts

DOCS = Path(__file__).parents[2] / "docs"


def _entry(rows: dict[str, dict[str, int]], **reasons: int) -> record.Entry:
    found = tuple((group, Counter(counts)) for group, counts in rows.items())
    result = SuiteResult("a suite", Path("/nowhere"), found, Counter(reasons))
    return record.entry(
        result, project="Triton", chosen="all", date="2026-11-18", seconds=3, ours="c0ffee" * 7
    )


def test_the_page_is_what_the_record_gives() -> None:
    found = record.read(DOCS / "compatibility.json")
    assert {"triton tests", "tlx lit", "tlx tutorials"} <= found.keys()
    assert (DOCS / "compatibility.md").read_text() == record.document(found)
    assert "compatibility.md" in (DOCS / "index.md").read_text()


def test_the_record_names_commits_and_no_paths_of_a_machine() -> None:
    text = (DOCS / "compatibility.json").read_text()
    found = record.read(DOCS / "compatibility.json")
    assert all(re.fullmatch("[0-9a-f]{40}", each["commit"]) for each in found.values())
    assert not re.search(r"/(tmp|work|root|home)/", text)


def test_every_suite_of_the_record_is_counted_whole() -> None:
    for name, each in record.read(DOCS / "compatibility.json").items():
        cases = sum(sum(counts.values()) for counts in each["rows"].values())
        counts = record.columns(name, each)
        assert sum(counts.values()) == cases > 0
        assert min(counts.values()) >= 0


def test_failures_with_a_diagnostic_are_refusals() -> None:
    rows = {"language": {"passed": 5, "failed": 4, "out of scope": 1}}
    reasons = {"failed: refused TW1: x": 2, "failed: missing: y": 1, "failed: ours KeyError": 1}
    found = _entry(rows, **reasons)
    counts = record.columns("tilelang tests", found)
    assert (counts["runs"], counts["refused"], counts["faults"]) == (5, 3, 1)
    assert counts["not judged"] == 1


def test_lit_files_that_fail_need_a_pass() -> None:
    found = _entry({"ops": {"passed": 3, "failed": 2}}, **{"a.mlir: needs x": 2})
    counts = record.columns("tlx lit", found)
    assert (counts["runs"], counts["refused"], counts["faults"]) == (3, 2, 0)


def test_reasons_have_no_paths_and_are_merged() -> None:
    found = _entry(
        {"a": {"refused": 3}}, **{"refused: /scratch/x1/k.py:3": 1, "refused: /scratch/y/k.py:3": 2}
    )
    assert found["reasons"] == {"refused: k.py:3": 3}


def test_a_page() -> None:
    text = record.document(
        {"a suite": _entry({"f.py": {"ran": 2, "fault": 1}}, **{"fault: a<b": 1})}
    )
    assert "| a suite | Triton unknown | c0ffeec0ff | 3 | 2 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |" in text
    assert "| `f.py` | 1 | 2 |" in text
    assert r"| 1 | fault: a\<b |" in text


def test_a_directory_that_is_no_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upstream_suites.main(["--tlx", str(tmp_path)]) == 2
    assert f"{tmp_path} is no checkout of TLX: it has no folder" in capsys.readouterr().err
    assert upstream_suites.main([]) == 2
    assert upstream_suites.main(["--add", str(tmp_path / "none.json")]) == 2


def _checkout(root: Path) -> Path:
    for name in ("test/TLX", "third_party/tlx/tutorials"):
        (root / name).mkdir(parents=True)
    run = "// RUN: triton-opt %s | FileCheck %s\n"
    (root / "test/TLX/ops.mlir").write_text(f"{run}// CHECK: module\n")
    (root / "test/TLX/ops-more.mlir").write_text(f"{run}// CHECK: no such thing\n")
    return root


def test_a_suite_is_run_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, page = tmp_path / "record.json", tmp_path / "page.md"
    kept.write_text(json.dumps({"before": _entry({"x": {"ran": 1}})}))
    command = ["--tlx", str(_checkout(tmp_path)), "--only", "tlx lit"]
    assert upstream_suites.main([*command, "--json", str(kept), "--markdown", str(page)]) == 0
    found = record.read(kept)
    assert found["tlx lit"]["rows"] == {"ops": {"failed": 1, "passed": 1}}
    assert "before" in found
    assert "== tlx lit: all" in capsys.readouterr().out
    assert "| `ops` | 1 | 1 |" in page.read_text()


def test_details_of_a_run_before(tmp_path: Path) -> None:
    details = tmp_path / "details.tsv"
    details.write_text(
        "right\thopper_gemm_ws\t1.0\t\nreported\tblackwell_gemm_ws\t2.0\tTW6107: unwritten\n"
    )
    kept = tmp_path / "record.json"
    command = ["--tlx", str(_checkout(tmp_path)), "--json", str(kept), "--run-at", "abc"]
    assert upstream_suites.main([*command, "--details", f"tlx tutorials={details}"]) == 0
    (found,) = record.read(kept).values()
    assert found["ours"] == "abc"
    assert found["rows"] == {"cuda:100": {"reported": 1}, "cuda:90": {"right": 1}}
    assert upstream_suites.main([*command, "--details", f"tlx lit={details}"]) == 2


def test_check_ends_with_a_status_for_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "record.json"
    record.write(kept, {"a suite": _entry({"f.py": {"ran": 2}})})
    assert upstream_suites.main(["--add", str(kept), "--check"]) == 0
    record.write(kept, {"a suite": _entry({"f.py": {"ran": 2, "wrong": 1}})})
    assert upstream_suites.main(["--add", str(kept), "--check"]) == 1
    assert "a suite: faults" in capsys.readouterr().err


def test_an_interrupt_keeps_what_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "stopped", threading.Event())
    done: list[int] = []

    def perform(item: int) -> int:
        if item == 2:
            raise KeyboardInterrupt
        if item > 2:
            pool.stopped.wait(10)
            time.sleep(0.02)
        done.append(item)
        return item

    assert list(pool.in_parallel(1, perform, range(100)))[:2] == [0, 1]
    assert pool.stopped.is_set()
    assert len(done) < 100
    assert list(pool.in_parallel(1, perform, [5])) == []


def test_parts_of_files_are_spread_over_jobs() -> None:
    names = [f"a.py::t[{n}]" for n in range(100)] + ["b.py::t"]
    assert parts(names, 1) == [("a.py", names[:100]), ("b.py", ["b.py::t"])]
    found = parts(names, 2)
    assert sorted(name for _, part in found for name in part) == sorted(names)
    assert [len(part) for _, part in found] == [17, 17, 17, 17, 16, 16, 1]


def test_the_interface_of_the_other_suites() -> None:
    ended = tilelang_tests.Ending("language/test_x.py::test_y", "failed", "missing: z")
    result = tilelang_tests.summary(Path(), [ended])
    assert record.columns(tilelang_tests.SUITE, _entry(dict(result.rows), **result.reasons))[
        "refused"
    ]
