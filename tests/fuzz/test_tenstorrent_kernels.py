"""Random `T` kernels on the simulated Tenstorrent target agree with the NumPy target.

A kernel that the target cannot execute is refused with a code of TW70xx or TW71xx; few may be. A
failing seed is shown, and shrunk, by ``python -m tests.fuzz.tenstorrent --seeds SEED --shrink``.
"""

from __future__ import annotations

import pytest

from tests.fuzz.tenstorrent.generator import generate
from tests.fuzz.tenstorrent.judging import Judge, difference, expected, traced

WHOLE, BATCH = 1_000, 50
SAMPLE = range(3, WHOLE, 100)
REFUSED_SHARE = 0.05


@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(seed: int) -> None:
    verdict = Judge(source_every=0)(seed)
    assert verdict.outcome == "right", f"{verdict.reason}\n{generate(seed).source}"


@pytest.mark.parametrize("seed", (500_031, 500_037))
def test_sample_with_residency(seed: int) -> None:
    verdict = Judge(source_every=0, residency="on", multicast="auto")(seed)
    assert verdict.outcome == "right", f"{verdict.reason}\n{generate(seed).source}"
    assert verdict.notes["retained"]


@pytest.mark.parametrize("seed", (70_005, 70_008))
def test_sample_with_multicast(seed: int) -> None:
    verdict = Judge(source_every=0, residency="auto", multicast="on")(seed)
    assert verdict.outcome == "right", f"{verdict.reason}\n{generate(seed).source}"
    assert verdict.notes["groups"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
@pytest.mark.parametrize("multicast", ("off", "auto", "on"))
def test_all_with_residency(first: int, multicast: str) -> None:
    judge = Judge(source_every=5, residency="on", multicast=multicast)
    verdicts = {seed: judge(seed) for seed in range(first, first + BATCH)}
    assert {n: each for n, each in verdicts.items() if each.outcome not in _ACCEPTED} == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
def test_all(first: int) -> None:
    judge = Judge(source_every=1)
    verdicts = {seed: judge(seed) for seed in range(first, first + BATCH)}
    failed = {seed: each for seed, each in verdicts.items() if each.outcome not in _ACCEPTED}
    assert failed == {}
    refused = [each for each in verdicts.values() if each.outcome == "refused"]
    assert len(refused) <= max(3, REFUSED_SHARE * BATCH)


_ACCEPTED = ("right", "refused")


def test_a_kernel_comes_from_its_seed_alone() -> None:
    assert generate(5) == generate(5)
    assert len({generate(seed).source for seed in range(20)}) == 20


def test_a_wrong_value_is_noticed() -> None:
    case = generate(12)
    arrays = expected(case, traced(case))
    for name, known in case.outputs.items():
        other = arrays[name].copy()
        assert difference(other, arrays[name], known) == ""
        other.flat[0] += 2 * known.error + 1
        assert difference(other, arrays[name], known)
