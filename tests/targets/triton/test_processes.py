"""Triton in processes: used again, replaced when they are gone, and harmless when they die."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import pytest

from tilewright.targets import worker, worker_pool
from tilewright.targets.triton import adapter, processes
from tilewright.targets.triton.adapter import BuildOptions, TritonRefused
from tilewright.targets.triton.installation import TritonMissing
from tilewright.targets.triton.ptxas import PtxasFailed

from .support import SCALE

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")


@pytest.fixture(autouse=True)
def no_helpers():
    """Each test begins and ends without one."""
    close_all()
    yield
    close_all()


def close_all() -> None:
    processes._pool.end_idle()


def build(tmp_path, text: str = SCALE):
    return processes.build(text, "short", BuildOptions(90), tmp_path / "kernel.mlir")


def test_a_helper_stays_for_the_next_job(tmp_path):
    first, output = build(tmp_path)
    assert first.name == "scale"
    assert output.diagnostics == ()
    (helper,) = processes._pool._idle
    build(tmp_path)
    assert processes._pool._idle == [helper]
    assert helper.process.poll() is None


def test_other_settings_get_another_helper(tmp_path, monkeypatch):
    build(tmp_path)
    (first,) = processes._pool._idle
    monkeypatch.setenv("TRITON_SOME_SETTING", "1")
    build(tmp_path)
    (second,) = processes._pool._idle
    assert first is not second
    assert first.process.poll() == 0


def test_a_helper_that_was_killed_meanwhile_is_replaced(tmp_path):
    build(tmp_path)
    (first,) = processes._pool._idle
    first.process.kill()
    first.process.wait()
    assert build(tmp_path)[0].name == "scale"
    assert processes._pool._idle[0] is not first


def test_a_helper_that_ends_of_its_own_accord_costs_nothing(tmp_path, monkeypatch):
    """As if its patience ran out between the question whether it lives and the request."""
    build(tmp_path)
    (first,) = processes._pool._idle
    assert first.process.stdin is not None
    os.kill(first.process.pid, signal.SIGSTOP)
    first.process.stdin.close()  # it will read the end, and go
    os.kill(first.process.pid, signal.SIGCONT)
    first.process.wait()
    monkeypatch.setattr(worker_pool._Worker, "is_usable", lambda self, settings: True)
    first.process.stdin = (tmp_path / "sink").open("wb")
    assert build(tmp_path)[0].name == "scale"


def test_a_helper_that_dies_at_work_is_told(tmp_path):
    build(tmp_path)
    (helper,) = processes._pool._idle
    os.kill(helper.process.pid, signal.SIGSTOP)

    def kill() -> None:
        time.sleep(0.2)
        helper.process.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(processes.Failed, match="the compiler process: it exited with SIGKILL"):
        build(tmp_path)
    thread.join()
    assert processes._pool._idle == []


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (TritonRefused("llir", "no"), TritonRefused("llir", "no")),
        (PtxasFailed("bad"), PtxasFailed("bad")),
        (TritonMissing("install it"), TritonMissing("install it")),
        (AttributeError("no add_x"), TritonRefused("driver", "AttributeError: no add_x")),
    ],
)
def test_whatever_goes_wrong_reaches_the_caller(raised, expected, monkeypatch):
    def failing(*_):
        raise raised

    monkeypatch.setattr(adapter, "build", failing)
    request = pickle.dumps((processes.build_here, ("", "short", None, None), {}))
    value, error = pickle.loads(worker.reply_to(request))
    assert value is None
    assert type(error) is type(expected)
    assert error.args == expected.args


def test_what_is_printed_and_what_is_wrong_come_apart(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "scale")
    build(tmp_path)
    assert "IR Dump Before" in capfd.readouterr().err
    monkeypatch.delenv("MLIR_ENABLE_DUMP")
    with pytest.raises(processes.Failed) as caught:
        build(tmp_path, SCALE.replace("tt.splat %n", "tt.splatter %n"))
    assert caught.value.stage == "stage parse"
    (error,) = caught.value.output.diagnostics
    assert error.message == "custom op 'tt.splatter' is unknown"


def test_a_refusal_in_the_process_itself_escaped_as_another_exception(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "inline")
    with pytest.raises(processes.Failed, match="stage parse"):
        build(tmp_path, "this is no IR")
