"""Seeds are judged in processes that may die: what becomes of the others of their chunk."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.fuzz.device.__main__ import main, summarised, table
from tests.fuzz.device.pool import Verdict, judged
from tests.fuzz.device.tile import TileJudge

SEEDS = range(240)
DIES, FAULTS, HANGS = 7, 130, 133


def judge(seed: int) -> Verdict:
    if seed == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == HANGS:
        time.sleep(60)
    if seed == FAULTS:
        return Verdict("fault", "an illegal instruction was encountered")
    return Verdict("right")


def test_a_process_that_dies_takes_one_seed_with_it() -> None:
    found = dict(judged(judge, SEEDS, jobs=2, patience_s=2))
    assert sorted(found) == list(SEEDS)
    outcomes = {seed: each.outcome for seed, each in found.items() if each.outcome != "right"}
    assert outcomes == {DIES: "died", FAULTS: "fault", HANGS: "hang"}
    assert found[DIES].reason == f"exit status {-signal.SIGKILL}"


def test_after_the_deadline_seeds_are_left_out() -> None:
    def slow(seed: int) -> Verdict:
        time.sleep(0.2)
        return Verdict("right")

    found = dict(judged(slow, SEEDS, jobs=2, deadline=time.monotonic() + 1))
    assert 0 < len(found) < len(SEEDS)


def test_refusals_are_counted_by_reason() -> None:
    notes: dict[str, object] = {"form": "hopper", "code": "TW3003", "kind": "M is N"}
    verdicts = {seed: Verdict("refused", "TW3003: M is 8", notes=notes) for seed in range(3)}
    verdicts[3] = Verdict("wrong", "O0[0] is 1, not 2", notes={"form": "ampere"})
    summary = summarised(verdicts, range(4), 1.2)
    assert summary["refusals"] == {"TW3003 M is N": 3}
    assert summary["outcomes"] == {"refused": 3, "wrong": 1}
    assert "      3 TW3003 M is N" in table(summary)


def test_a_kernel_is_compiled_for_every_form() -> None:
    outcomes = {TileJudge((form,), "plain", runs=False)(3).outcome for form in TileJudge().forms}
    assert outcomes == {"right"}


def test_without_a_gpu_nothing_is_said_to_have_run(capsys: pytest.CaptureFixture[str]) -> None:
    if os.path.exists("/dev/nvidiactl"):  # noqa: PTH110
        pytest.skip("there is a GPU here")
    assert main(["--count", "1"]) == 2
    assert "no GPU here" in capsys.readouterr().err


def test_seeds_that_are_no_numbers_are_an_error_without_a_traceback(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--seeds", "abc", "--compile-only"])
    assert ended.value.code == 2
    assert "--seeds: 'abc': seeds are numbers, as in 7,12,40" in capsys.readouterr().err
