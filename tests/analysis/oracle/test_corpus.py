"""Real kernels: every claim about every access, for the launches of their expectations."""

from __future__ import annotations

import pytest

from tests.analysis.oracle.corpus import FIXTURE_NAMES, NAMES, corpus_trials, fixture_trial
from tests.sampling import every, only

QUICK = tuple(name for name in FIXTURE_NAMES if name != "grouped_gemm")
"""Those whose programs take fewer than some hundred iterations."""


def test_the_corpus_is_complete() -> None:
    assert len(NAMES) == 11


@pytest.mark.parametrize("name", every(2, NAMES))
def test_no_execution_refutes_a_claim(name: str) -> None:
    for number, trial in enumerate(corpus_trials(name)):
        assert all(recording is not None for recording in trial.recordings)
        refuted = list(trial.all_refuted(modes=("given",) if number else ("open", "given")))
        assert not refuted, "\n".join(map(str, refuted))


@pytest.mark.parametrize("name", only(QUICK, FIXTURE_NAMES))
def test_no_execution_refutes_a_claim_about_other_kernels(name: str) -> None:
    trial = fixture_trial(name, count=2)
    assert trial.honest
    refuted = list(trial.all_refuted(given=1))
    assert not refuted, "\n".join(map(str, refuted))


@pytest.mark.parametrize("name", NAMES)
def test_bounds_and_races_of_an_instance_are_those_that_execution_finds(name: str) -> None:
    """The expectation names accesses that leave their buffers and pairs that meet: so do runs."""
    from tests.analysis.oracle.witnessed import meeting_pairs, outside
    from tests.analysis.pid_address.support import expectation

    for trial, instance in zip(corpus_trials(name), expectation(name)["instances"], strict=True):
        recording = trial.recordings[0]
        assert recording is not None
        assert outside(trial.module, recording, trial.buffers) == instance["oob"]
        assert meeting_pairs(trial.module, recording) == [tuple(p) for p in instance["overlap"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", (*NAMES, *FIXTURE_NAMES))
def test_no_execution_refutes_a_claim_in_any_mode(name: str) -> None:
    trials = list(corpus_trials(name)) if name in NAMES else [fixture_trial(name, 1, 6)]
    for trial in trials:
        refuted = list(trial.all_refuted())
        assert not refuted, "\n".join(map(str, refuted))
