"""Calls in other processes: values, exceptions, and what becomes of processes."""

from __future__ import annotations

import errno
import math
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import as_completed
from pathlib import Path

import pytest

import tilewright
from tilewright.targets import worker
from tilewright.targets.worker_pool import WorkerFailed, WorkerPool, call_here, is_inline


@pytest.fixture(scope="module")
def pool():
    """Up to two processes."""
    with WorkerPool(2) as found:
        yield found


def test_values_come_from_another_process(pool):
    futures = {pool.submit(math.factorial, number): number for number in (3, 20, 5)}
    found = {futures[each]: each.result() for each in as_completed(futures)}
    assert found == {3: 6, 20: math.factorial(20), 5: 120}
    assert pool.submit(os.getpid).result() != os.getpid()
    assert list(pool.map(operator.add, [1, 2], [10, 20])) == [11, 22]
    assert pool.submit(sorted, [1, 3, 2], reverse=True).result() == [3, 2, 1]


def test_exceptions_are_raised_here_and_cost_no_process(pool):
    first = pool.call(os.getpid).result()
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        pool.call(operator.truediv, 1, 0).result()
    with pytest.raises(FileNotFoundError) as caught:
        pool.submit(os.listdir, "/no/such/directory").result()
    assert caught.value.errno == errno.ENOENT
    assert pool.call(os.getpid).result() == first


# An exception that cannot be read again: its class wants two arguments and passes on one.
_ODD = """
class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one + two)

def failing():
    raise Odd("a", "b")
"""


def test_what_cannot_be_sent_is_reported_with_its_text(tmp_path, monkeypatch):
    (tmp_path / "odd_module.py").write_text(_ODD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    import odd_module  # pyright: ignore[reportMissingImports]

    with WorkerPool(1) as pool:
        with pytest.raises(RuntimeError, match="Odd: ab"):
            pool.call(odd_module.failing).result()
        with pytest.raises(TypeError, match="cannot pickle"):
            pool.call(threading.Lock).result()
        assert pool.call(abs, -1).result() == 1


def test_what_is_written_meanwhile_comes_with_the_reply(pool, capsys):
    assert pool.call(os.write, 2, b"to standard error").output == "to standard error"
    assert pool.call(os.write, 1, b"printed").output == "printed"
    assert pool.call(abs, -1).output == ""
    pool.submit(os.write, 2, b"for the user").result()
    assert capsys.readouterr().err == "for the user"


@pytest.mark.parametrize(
    ("function", "argument", "reason"),
    [
        (signal.raise_signal, signal.SIGSEGV, "exited with SIGSEGV"),
        (os._exit, 3, "exited with code 3"),
        (time.sleep, 100, "timed out after 0.5 s"),
    ],
)
def test_a_process_that_crashes_or_hangs_costs_its_own_call(function, argument, reason):
    with WorkerPool(1, name="compiler", timeout_seconds=0.5) as pool:
        while not pool.call(abs, -1).value:  # started: the limit is for the call
            pass
        (first,) = pool._idle
        reply = pool.call(function, argument)
        assert isinstance(reply.error, WorkerFailed)
        assert str(reply.error) == f"the compiler process {reason}"
        assert reply.error.is_hung == ("timed out" in reason)
        assert first.process.poll() is not None
        assert not pool._idle


def test_one_that_ends_by_itself_before_every_call_is_no_endless_loop(monkeypatch):
    monkeypatch.setattr("tilewright.targets.worker_pool.MODULE", "keyword")  # which ends at once
    with WorkerPool(1) as pool, pytest.raises(WorkerFailed, match="before the first request"):
        pool.call(abs, -1).result()


def test_other_settings_get_another_process():
    settings = ["one"]
    with WorkerPool(1, settings=lambda: settings[0]) as pool:
        first = pool.call(os.getpid).value
        assert pool.call(os.getpid).value == first
        settings[0] = "two"
        assert pool.call(os.getpid).value != first


def test_a_value_may_be_the_last_of_its_process():
    with WorkerPool(1, is_last=lambda value: value == 2) as pool:
        first = pool.call(os.getpid).value
        assert pool.process_ids() == (first,)
        assert pool.call(abs, -1).value == 1
        assert pool.call(os.getpid).value == first
        assert pool.call(abs, -2).value == 2
        assert pool.process_ids() == ()
        assert pool.call(os.getpid).value != first
    assert pool.process_ids() == ()


def test_modules_of_the_caller_are_found_on_request(tmp_path, monkeypatch):
    (tmp_path / "own_module.py").write_text("def seven():\n    return 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_module  # pyright: ignore[reportMissingImports]

    with WorkerPool(1, shares_path=True) as pool:
        assert pool.call(own_module.seven).result() == 7
    with WorkerPool(1) as pool, pytest.raises(ModuleNotFoundError, match="own_module"):
        pool.call(own_module.seven).result()


# Starts a pool with a call in flight, prints the process and is killed.
_KILLED = """
import os, signal, time
from tilewright.targets.worker_pool import WorkerPool
pool = WorkerPool(1)
print(pool.call(os.getpid).value, flush=True)
pool.submit(time.sleep, 1000)
while not pool._busy:
    time.sleep(0.01)
time.sleep(0.2)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_busy_process_ends_when_the_one_that_started_it_is_killed():
    environment = {**os.environ, "PYTHONPATH": str(Path(tilewright.__file__).parents[1])}
    command = [sys.executable, "-c", _KILLED]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and _is_there(int(done.stdout)):
        time.sleep(0.05)
    assert not _is_there(int(done.stdout))


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_leaving_waits_for_calls_and_an_exception_ends_them():
    with WorkerPool(1) as pool:
        done = [pool.submit(abs, -number) for number in range(3)]
    assert [each.result(timeout=0) for each in done] == [0, 1, 2]
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), WorkerPool(1) as pool:
        assert pool.submit(abs, -1).result() == 1
        first, second = pool.submit(time.sleep, 100), pool.submit(time.sleep, 100)
        while not pool._busy:
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.perf_counter() - start < 30
    assert str(first.exception()) == "the worker process was stopped"
    assert second.cancelled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork_the_child_starts_its_own(pool):
    first = pool.call(os.getpid).result()
    child = os.fork()
    if not child:
        os._exit(0 if pool.call(os.getpid).value not in (None, first) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pool.call(os.getpid).result() == first


def test_a_call_in_this_process_has_the_same_reply(monkeypatch):
    assert call_here(os.getpid).result() == os.getpid()
    assert isinstance(call_here(operator.truediv, 1, 0).error, ZeroDivisionError)
    monkeypatch.delenv("TILEWRIGHT_COMPILE", raising=False)
    assert not is_inline()
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "inline")
    assert is_inline()


def test_a_process_without_requests_ends(monkeypatch):
    read, write = os.pipe()
    monkeypatch.setattr(worker, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(worker.sys, "stdin", os.fdopen(read))
    before = os.dup(1)
    start = time.perf_counter()
    try:
        worker.serve()
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(write)
    assert 0.04 < time.perf_counter() - start < 5
