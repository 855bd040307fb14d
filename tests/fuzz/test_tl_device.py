"""The runner of `tests.fuzz.tl.device`: workers may die, and nothing but their seed is lost."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.tl import device
from tests.fuzz.tl.device import Answer, Worker, _agree, _classified, attempt, summary

SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    seed, front = json.loads(line)
    print("something that Triton prints", flush=True)
    if seed == 13:
        sys.stderr.write("LLVM ERROR: cannot select\\n")
        os._exit(134)
    if seed == 99:
        time.sleep(60)
    status = "fault" if seed == 7 else "right"
    answer = {"seed": seed, "front": front, "status": status, "detail": str(os.getpid())}
    print("@@" + json.dumps(answer), flush=True)
"""


@pytest.fixture
def worker():
    made = Worker([sys.executable, "-c", SCRIPT], dict(os.environ))
    yield made
    made.close()


def test_a_worker_that_dies_takes_one_seed_with_it(worker: Worker) -> None:
    first = worker.ask(1, "tilewright")
    died = worker.ask(13, "tilewright")
    after = worker.ask(2, "tilewright")
    assert [each.status for each in (first, died, after)] == ["right", "fault", "right"]
    assert "134" in died.detail and "cannot select" in died.detail
    assert first.detail != after.detail, "a new process"


def test_a_fault_of_the_gpu_ends_its_process(worker: Worker) -> None:
    first, fault, after = (worker.ask(seed, "tilewright") for seed in (1, 7, 2))
    assert fault.status == "fault"
    assert first.detail == fault.detail != after.detail


def test_a_worker_that_does_not_answer_is_given_up(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.ask(1, "tilewright")
    monkeypatch.setattr(device, "SECONDS", 0.3)
    start = time.monotonic()
    assert worker.ask(99, "tilewright").status == "fault"
    assert time.monotonic() - start < 10


def test_errors_are_told_apart() -> None:
    assert (
        _classified(RuntimeError("CUDA error: an illegal instruction"), "tilewright")[0] == "fault"
    )
    assert _classified(KeyError("x"), "tilewright")[0] == "internal"
    assert _classified(RuntimeError("PassManager::run failed"), "triton")[0] == "triton"


def test_a_failure_is_tritons_where_its_own_front_end_has_the_same() -> None:
    ours = Answer(1, "tilewright", "wrong", "o1[0] is 3, not 5 (1 differ)")
    assert _agree(ours, Answer(1, "triton", "wrong", ours.detail))
    assert not _agree(ours, Answer(1, "triton", "wrong", "o1[0] is 4, not 5 (1 differ)"))
    assert not _agree(ours, Answer(1, "triton", "right"))
    assert not _agree(Answer(1, "tilewright", "internal"), Answer(1, "triton", "triton"))


def test_the_summary_names_what_is_not_right() -> None:
    answers = [
        Answer(1, "tilewright", "right"),
        Answer(2, "tilewright", "wrong", "o1[0] is 3, not 5"),
    ]
    text = summary(answers, {2: Answer(2, "triton", "right")})
    assert text.splitlines() == [
        "right 1  wrong 1",
        "2: wrong: o1[0] is 3, not 5  [Triton's own front end: right]",
    ]


@pytest.mark.slow
def test_a_seed_is_compiled_without_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip(
        "triton", reason="the machine code is made by Triton, which is not installed"
    )
    answer = attempt(4, "tilewright", tmp_path, only_compile=True)
    assert (answer.status, answer.detail) == ("right", "")
