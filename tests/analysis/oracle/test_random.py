"""Random kernels: no execution refutes a claim of the analysis."""

from __future__ import annotations

import pytest

from tests.analysis.oracle.kernels import random_kernel
from tests.analysis.oracle.trials import Trial

SAMPLE = 8
VARIED = 60
MANY = 600


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_no_execution_refutes_a_claim(seed: int) -> None:
    trial = Trial.of(random_kernel(seed))
    assert trial.honest, "no launch of this kernel has a meaning"
    refuted = list(trial.all_refuted(modes=("open", "given"), given=1))
    assert not refuted, "\n".join(map(str, refuted))


def test_kernels_are_the_same_for_the_same_seed() -> None:
    first, again = random_kernel(11), random_kernel(11)
    assert first == again
    assert first.text != random_kernel(12).text


def test_the_sample_has_what_real_kernels_have() -> None:
    texts = [random_kernel(seed).text for seed in range(VARIED)]
    constructs = (
        "get_program_id x", "get_program_id y", "get_program_id z", "get_num_programs",
        "make_range", "expand_dims", "broadcast", "splat", "reshape", "trans", "tt.join",
        "addi", "subi", "muli", "divsi", "remsi", "divui", "andi", "ori", "xori", "shli", "shrsi",
        "minsi", "maxsi", "select", "cmpi", "extsi", "trunci", "scf.if", "scf.for", "scf.while",
        "iter_args", "cf.cond_br", "cf.br", "tt.call", "int_to_ptr", "make_tensor_descriptor",
        "make_tensor_ptr", "tt.advance", "tt.load", "tt.store", "llvm.intr.assume",
    )  # fmt: skip
    missing = [word for word in constructs if not any(word in text for text in texts)]
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, MANY, 25))
def test_no_execution_refutes_a_claim_about_many_kernels(start: int) -> None:
    for seed in range(start, start + 25):
        refuted = list(Trial.of(random_kernel(seed)).all_refuted())
        assert not refuted, f"seed {seed}\n" + "\n".join(map(str, refuted))
