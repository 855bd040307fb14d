"""Work that is handed out: merged by key, repeated where its process died, resumed from a log."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.runtime.executors.items import WORK
from tilewright.runtime.executors.gather import WorkFailed, gathered, journal, merged
from tilewright.runtime.executors.journal import Journal
from tilewright.runtime.executors.pools import ExecutorLost, pool_of, where_of
from tilewright.runtime.executors.work import Work, version_of

ROOT = Path(__file__).resolve().parents[3]
VALUES = [{"n": n} for n in range(12)]


def results(values, where=None, **options):
    work = Work.of(options.pop("function", WORK))
    settings = {each: options.pop(each) for each in ("patience_s", "is_apart") if each in options}
    with journal(options.pop("log", None)) as log, pool_of(where, **settings) as pool:
        return merged(gathered(work, values, pool=pool, log=log, **options), work, values)


def told(outcomes):
    return [each.result for each in outcomes]


def test_results_are_the_same_in_every_executor_and_in_the_order_of_the_values():
    here = results(VALUES)
    assert [each.value["square"] for each in here] == [n * n for n in range(12)]
    assert here[0].value["pair"] == [1, 2]  # as JSON has it, wherever it ran
    assert told(results(VALUES, 2)) == told(here)
    with ProcessPoolExecutor(2) as foreign:
        assert told(results(VALUES, foreign, is_apart=False)) == told(here)


def test_equal_values_are_done_once(tmp_path):
    file = tmp_path / "calls"
    values = [{"n": n % 3, "file": str(file)} for n in range(9)]
    function = "tests.runtime.executors.items:counted"
    assert [each.value for each in results(values, function=function)] == [0, 1, 2] * 3
    assert sorted(file.read_text().split()) == ["0", "1", "2"]


def test_what_dies_is_tried_again_and_what_always_dies_is_reported(tmp_path):
    values = [
        *VALUES,
        {"n": 20, "ends": "killed"},
        {"n": 21, "ends": "killed", "once": str(tmp_path / "once")},
        {"n": 22, "ends": "raised"},
        {"n": 23, "ends": "silent"},
    ]
    log = tmp_path / "log.jsonl"
    *rest, killed, once, raised, silent = results(values, 2, patience_s=3, tries=2, log=log)
    assert [each.status for each in rest] == ["done"] * 12
    assert (killed.status, killed.tries) == ("died", 2)
    assert str(killed) == "died in 2 tries: the worker process exited with SIGKILL"
    assert (once.status, once.value["square"], once.tries) == ("done", 441, 2)
    assert (raised.status, raised.reason, raised.tries) == (
        "raised",
        "ValueError: an odd number",
        1,
    )
    assert (silent.status, silent.reason, silent.tries) == (
        "hung",
        "the worker process timed out after 3 s",
        2,
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["value"]["n"] for line in lines if "retried" in line) == [20, 21, 23]
    # What died is tried again by the next run; what raised is not.
    known = Journal(log).known
    assert len(known) == 14
    assert killed.key not in known
    assert known[raised.key].reason == "ValueError: an odd number"


def test_a_spoiled_process_is_not_used_again():
    function = "tests.runtime.executors.items:process"
    values = [{"n": n} for n in (1, 0, 2, 3)]
    before, spoiled, *after = results(values, 1, function=function)
    assert (spoiled.status, spoiled.reason) == ("raised", "Spoiled: the GPU is gone")
    assert after[0].value == after[1].value != before.value


def test_a_foreign_worker_outlives_its_items():
    """Items have a process of their own on workers that are not ours."""
    values = [*VALUES[:4], {"n": 5, "ends": "killed"}, {"n": 6, "ends": "silent"}]
    with ProcessPoolExecutor(1) as foreign:
        outcomes = results(values, foreign, patience_s=4, tries=1)
        assert [each.status for each in outcomes] == ["done"] * 4 + ["died", "hung"]
        assert foreign.submit(abs, -1).result() == 1


def test_a_broken_pool_costs_the_item_that_broke_it():
    """Nobody knows who broke it: each suspect is tried alone in a new one."""
    values = [*VALUES, {"n": 30, "ends": "killed"}]
    outcomes = results(values, lambda: ProcessPoolExecutor(2), is_apart=False, tries=2)
    assert [each.status for each in outcomes] == ["done"] * 12 + ["lost"]
    assert outcomes[-1].reason.startswith("BrokenProcessPool: ")
    with ProcessPoolExecutor(2) as foreign, pytest.raises(ExecutorLost) as lost:
        results(values, foreign, is_apart=False)
    assert "cannot be made anew: pass a function that makes the executor" in str(lost.value)


class Once(Executor):
    """Breaks whenever it is given a second item."""

    def __init__(self):
        self.count = 0

    def submit(self, fn, /, *args, **kwargs):
        self.count += 1
        if self.count > 1:
            raise BrokenExecutor("full")
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_breaks_all_the_time_ends_the_run():
    with pytest.raises(ExecutorLost, match="Once broke 4 times: BrokenExecutor: full"):
        results(VALUES, Once, is_apart=False)
    assert told(results(VALUES[:4], Once, is_apart=False)) == told(results(VALUES[:4]))


def test_workers_with_other_sources_are_refused(monkeypatch):
    other = Work(WORK, "0" * 64)
    with (
        pool_of(1) as pool,
        pytest.raises(WorkFailed, match=r"has other sources of tests\.runtime"),
    ):
        list(gathered(other, VALUES, pool=pool))


def test_the_key_of_an_item_is_its_value_and_its_sources(tmp_path, monkeypatch):
    work = Work.of(WORK)
    assert work.item({"a": 1, "b": 2}).key == work.item({"b": 2, "a": 1}).key
    assert work.item({"a": 1}).key != work.item({"a": 2}).key
    assert work.item({"a": 1}).key != Work(WORK, "0" * 64).item({"a": 1}).key
    monkeypatch.syspath_prepend(tmp_path)
    versions = []
    for text in ("x = 1\n", "x = 2\n"):
        (tmp_path / "someones.py").write_text(text)
        version_of.cache_clear()
        versions.append(version_of("someones:x"))
    assert versions[0] != versions[1]
    with pytest.raises(ModuleNotFoundError, match="no module 'nobodys'"):
        version_of("nobodys:x")


def test_a_log_is_resumed_even_where_it_was_cut_off(tmp_path):
    log = tmp_path / "log.jsonl"
    first = results(VALUES[:6], log=log)
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])  # the last line was being written
    again = results(VALUES, log=log)
    assert told(again[:6]) == told(first)
    lines = log.read_text().splitlines()
    assert len(lines) == 6 + 1 + 6
    assert len(Journal(log).known) == 12
    assert told(results(VALUES, log=log)) == told(again)
    assert len(log.read_text().splitlines()) == 13  # nothing was done twice


def test_ctrl_c_keeps_what_is_done(tmp_path):
    log = tmp_path / "log.jsonl"
    program = f"""
from tests.runtime.executors.test_gather import results
results([{{"n": n, "seconds": 0.05}} for n in range(400)], 2, log={str(log)!r})
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )  # fmt: skip
    while not log.exists() or log.read_bytes().count(b"\n") < 5:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    done = len(Journal(log).known)
    assert 5 <= done < 400
    assert f"interrupted: {done} of 400 items are done; their results are in {log}" in errors
    assert process.returncode != 0
    work = Work.of(WORK)
    values = [{"n": n, "seconds": 0.05} for n in range(done + 3)]
    with journal(log) as kept, pool_of(None) as pool:
        first = [item.value["n"] for item, _ in gathered(work, values, pool=pool, log=kept)]
    assert sorted(first) == list(range(done + 3))
    assert len(Journal(log).known) == done + 3


def test_where_work_goes_is_said_once():
    assert where_of(None, None) is None
    assert where_of(4, None) == 4
    assert where_of(None, "tcp://a:1") == "tcp://a:1"
    with pytest.raises(ValueError, match="--jobs and --cluster exclude each other"):
        where_of(4, "tcp://a:1")
    with pytest.raises(ValueError, match="1 or more, got 0"):
        where_of(0, None)
    with pytest.raises(TypeError, match="expected an executor"), pool_of(3.5):
        pass
