"""Limits of work: hard questions end, the same way on every machine."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.analysis.affine import evaluate
from tilewright.analysis.pid_address import AddressReport
from tilewright.analysis.pid_address.checks import CheckResult, Settings, run_checks
from tilewright.analysis.pid_address.checks.settings import Effort

LONGEST = 20.0
"""Seconds for what takes one: the machine may be busy."""


@tw.jit
def persistent_tiles(c_ptr, M, N, STRIDE, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [STRIDE, 1], [BM, BN])
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        row, column = tl.swizzle2d(tile // tiles_n, tile % tiles_n, tiles_m, tiles_n, GROUP)
        c.store([row * BM, column * BN], tl.zeros((BM, BN), tl.float16))


@pytest.mark.parametrize(
    ("columns", "stride", "programs", "verdict"),
    [
        (400, 384, 5, CheckResult.REFUTED),
        (400, 392, 5, CheckResult.REFUTED),
        (400, 400, 5, CheckResult.PROVED),
        (264, 256, 13, CheckResult.REFUTED),
    ],
)
def test_rows_that_overlap_in_a_persistent_kernel_end_soon(
    columns: int, stride: int, programs: int, verdict: CheckResult
) -> None:
    c = np.zeros((512, 512), np.float16)
    started = time.monotonic()
    report = tw.analyze(
        persistent_tiles,
        (c, 512, columns, stride),
        grid=(programs,),
        check=["race"],
        BM=64,
        BN=64,
        GROUP=4,
    )
    assert time.monotonic() - started < LONGEST
    [finding] = report.findings
    assert finding.verdict is verdict
    if finding.witness is not None:
        [store] = report.accesses
        first, second = finding.witness.points
        assert first.program != second.program
        offsets = [
            evaluate(
                store.offset,
                {
                    "pid0": point.program[0],
                    "it(%tile)": point.counters[0][1],
                    "lane0": point.lanes[0],
                    "lane1": point.lanes[1],
                },
            )
            for point in (first, second)
        ]
        assert offsets == [finding.witness.address] * 2


@tw.jit
def scattered(p, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    offsets = (pid * BLOCK + (lanes * (pid % 77) * (pid % 13)) % BLOCK) * (pid % 7) % n
    tl.store(p + offsets, 1.0)


def scattered_report() -> AddressReport:
    x = np.zeros(16, np.float32)
    return tw.analyze(scattered, (x, 1 << 26), grid=(1 << 12,), BLOCK=256)


def test_too_much_to_enumerate_is_reported() -> None:
    few = Settings(work=1000, solver_steps=0)
    [finding] = run_checks(scattered_report(), ["race"], few)
    assert finding.verdict is CheckResult.UNKNOWN
    assert "comparing all programs takes more than 1000 steps" in finding.message


def test_the_same_limits_give_the_same_results() -> None:
    settings = Settings(solver_steps=200_000)
    first, second = (run_checks(scattered_report(), ["race"], settings) for _ in range(2))
    assert first == second


def test_work_is_used_up() -> None:
    effort = Effort(Settings(work=10))
    assert effort.take(6)
    assert not effort.take(5)
    assert effort.take(4)
