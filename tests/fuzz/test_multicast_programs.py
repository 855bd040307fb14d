"""Random GEMMs with multicast: right results, predicted traffic, no finding under any schedule.

A failing seed is repeated by ``python -m tests.fuzz.multicast --seeds SEED``; all 200 of them in
16 processes by ``--count 200 --jobs 16``.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.multicast.cases import case_of
from tests.fuzz.multicast.judging import Judge, compiled, traffic_problem

WHOLE, BATCH = 200, 10
SAMPLE = (4, 16, 35)


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int) -> None:
    verdict = Judge(source_every=0, schedules=3)(seed)
    assert verdict.outcome == "right", f"{verdict.reason}\n{case_of(seed)}"
    assert verdict.notes["groups"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
def test_all(first: int) -> None:
    judge = Judge(source_every=5)
    verdicts = {seed: judge(seed) for seed in range(first, first + BATCH)}
    assert {n: each for n, each in verdicts.items() if each.outcome != "right"} == {}


def test_cases_cover_what_they_name() -> None:
    """Most cases multicast, some have ghost steps; all policies, orders, targets occur."""
    cases = [case_of(seed) for seed in range(WHOLE)]
    for name, count in (
        ("policy", 3),
        ("order", 6),
        ("target", 2),
        ("residency", 3),
        ("batches", 3),
    ):
        assert len({getattr(each, name) for each in cases}) == count
    assert case_of(5) == case_of(5)
    assert len(set(cases)) == WHOLE


def test_traffic_that_was_not_predicted_is_noticed() -> None:
    artefact = compiled(case_of(SAMPLE[0]))
    counted = artefact.plan.traffic
    assert traffic_problem(artefact, counted) == ""
    for name in ("dram_page_reads", "dram_page_writes", "multicast_pages"):
        other = replace(counted, **{name: getattr(counted, name) + 1})
        assert name in traffic_problem(artefact, other)
