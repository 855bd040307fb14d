"""The table of device tests: what becomes of each test is counted, and nothing is lost."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.device.suite import Outcome, read, run, shard_of, table

RESULTS = """<testsuites><testsuite>
<testcase classname="tests.device.test_a" name="test_x[1]" time="2.5"/>
<testcase classname="tests.device.test_a" name="test_x[2]" time="0.5">
<failure message="assert 1 == 2&#10;more">text</failure></testcase>
<testcase classname="tests.device.test_b" name="test_y" time="0.0">
<skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""


def test_tests_of_a_kernel_stay_together() -> None:
    shards = shard_of(["a", "b", "a", "c", "b", "d"], 2)
    assert shards == [0, 1, 0, 0, 1, 1]
    assert shard_of(["a", "a"], 5) == [0, 0]


def test_results_are_counted(tmp_path: Path) -> None:
    (tmp_path / "0.xml").write_text(RESULTS)
    outcomes: dict[str, Outcome] = defaultdict(Outcome)
    read(tmp_path / "0.xml", outcomes)
    assert dict(outcomes["test_a"].counts) == {"passed": 1, "failed": 1}
    assert dict(outcomes["test_b"].counts) == {"skipped": 1}
    text = table(outcomes)
    assert "| test_a | 1 | 1 | 0 | 3 | test_x[1] 2.5 s |" in text
    assert "FAILED test_a::test_x[2]: assert 1 == 2" in text
    assert "skipped 1: no GPU" in text


def test_what_does_not_end_is_ended(tmp_path: Path) -> None:
    (unfinished,) = run(["tests/device/test_raised_texts.py"], 1, 0.0, tmp_path)
    assert isinstance(unfinished, str)
    assert not (tmp_path / "0.xml").exists()
