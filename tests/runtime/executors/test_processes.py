"""Processes that may die: what becomes of the call, and of those after it."""

import os
import signal
import time

import pytest

from tests.runtime.executors.items import square
from tilewright.runtime.executors.processes import processes, status_of
from tilewright.targets.worker_pool import WorkerFailed


def test_a_call_that_kills_its_process_is_the_only_one_that_fails():
    with processes(2) as executor:
        futures = [executor.submit(square, {"n": n}) for n in range(6)]
        killed = executor.submit(square, {"n": 6, "ends": "killed"})
        exited = executor.submit(square, {"n": 7, "ends": "exited"})
        futures += [executor.submit(square, {"n": n}) for n in range(8, 14)]
        assert [each.result()["square"] for each in futures] == [
            n * n for n in range(14) if n not in (6, 7)
        ]
        with pytest.raises(WorkerFailed, match="the worker process exited with SIGKILL"):
            killed.result()
        with pytest.raises(WorkerFailed, match="the worker process exited with code 3"):
            exited.result()


def test_a_silent_process_is_ended_and_replaced():
    with processes(1, patience_s=4) as executor:
        assert executor.submit(os.getpid).result() != os.getpid()
        silent = executor.submit(square, {"n": 1, "ends": "silent"})
        after = executor.submit(square, {"n": 3})
        begun = time.monotonic()
        with pytest.raises(WorkerFailed, match="the worker process timed out after 4 s") as hung:
            silent.result()
        assert status_of(hung.value) == "hung"
        assert 3 < time.monotonic() - begun < 30
        assert after.result()["square"] == 9


def test_what_a_call_raises_arrives_and_the_process_stays():
    with processes(1) as executor:
        first = executor.submit(os.getpid).result()
        with pytest.raises(ValueError, match="an odd number"):
            executor.submit(square, {"n": 1, "ends": "raised"}).result()
        assert executor.submit(os.getpid).result() == first


def test_a_process_that_died_between_two_calls_costs_none():
    with processes(1) as executor:
        first = executor.submit(os.getpid).result()
        os.kill(first, signal.SIGKILL)
        time.sleep(0.2)
        assert executor.submit(square, {"n": 5}).result()["square"] == 25
        assert executor.submit(os.getpid).result() != first


def test_a_call_that_cannot_be_sent_is_the_error_of_its_future():
    with processes(1) as executor:
        unsendable = executor.submit(lambda: 1)
        after = executor.submit(square, {"n": 2})
        assert "lambda" in str(unsendable.exception())
        assert after.result()["square"] == 4


def test_no_processes_are_left_and_no_calls_taken():
    executor = processes(2)
    assert executor.submit(os.getpid).result() in executor.process_ids()
    executor.shutdown()
    assert executor.process_ids() == ()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(os.getpid)
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        processes(0)
