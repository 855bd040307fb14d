"""Real kernels: the plan needs no more than Triton's own, keeps every value, and Triton builds it."""

from dataclasses import replace
from itertools import combinations

import pytest

pytest.importorskip("triton", reason="the kernels are compiled by Triton, which is not installed")

from tests.dumps.generate import dump
from tests.passes.merging.dumps import CHOSEN, Row, all_names, is_finished, known_cases, rows
from tests.passes.pass_support import parse
from tests.sampling import every
from tilewright.analysis.buffer_liveness import BufferLiveness
from tilewright.ir.rewrite import Rewriter
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import plan_buffers
from tilewright.passes.merging.groups import groups_of
from tilewright.passes.merging.rewrite import merge
from tilewright.passes.merging.trace import MORE_RUNS, check_module

BUILT = ("gemm_two_products.sm90", "attention_descriptors.sm90", "norm_chain.sm80")
"""Machine code takes a second each; the others are built in the long run."""


def check(row: Row, *, is_built: bool) -> None:
    assert row.ours <= row.triton, row
    assert row.faults == 0
    assert row.touches > 0
    assert row.merged
    assert row.ours < row.apart
    assert row.after <= row.before, "Triton needs no more for the merged module"
    assert bool(row.cubin) is is_built


@pytest.mark.parametrize("name", every(2, CHOSEN))
def test_the_plan_needs_no_more_than_tritons(name: str):
    (row,) = rows([name], with_build=name in BUILT)
    check(row, is_built=name in BUILT)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_triton_builds_the_merged_module(name: str):
    (row,) = rows([name])
    check(row, is_built=True)


@pytest.mark.slow
def test_every_dump():
    done = list(rows(all_names(), every=True))
    assert len(done) > 100
    assert [row.name for row in done if not row.is_good] == []
    assert all(row.cubin for row in done if row.merged and is_finished(row.name))


# -- mutations -------------------------------------------------------------------------------------


def mutants(text: str):
    """Modules in which one buffer was taken to be needed at its first, its last or no point.

    With each whether buffers lie over each other that must not.
    """
    count = sum(
        not buffer.is_barrier
        for function in BufferLiveness(parse(text)).functions.values()
        for buffer in function.buffers
    )
    for number in range(count):
        for kind in ("first", "last", "none"):
            module = parse(text)
            ((op, function),) = BufferLiveness(module).functions.items()
            buffers = list(function.buffers)
            data = [n for n, buffer in enumerate(buffers) if not buffer.is_barrier]
            old = buffers[data[number]]
            start, end = old.spans[0][0], old.spans[-1][1]
            spans = {"first": ((start, start + 1),), "last": ((end - 1, end),), "none": ()}[kind]
            buffers[data[number]] = replace(old, spans=spans, partition=None)
            plan = plan_buffers(op, function, buffers)
            groups = [group for memory in Memory for group in groups_of(plan, memory)]
            is_wrong = any(
                plan.overlap(one, two) and function.conflict(one.op, two.op) is not None
                for group in groups
                for one, two in combinations(group.members, 2)
            )
            merge(plan, groups, Rewriter())
            yield module, is_wrong


def check_mutants(name: str) -> None:
    kernel, _, target = name.rpartition(".")
    found = list(mutants(dump(known_cases()[kernel], target)["ttgir"]))
    assert any(is_wrong for _, is_wrong in found)
    for module, is_wrong in found:
        assert bool(check_module(module, MORE_RUNS).faults) is is_wrong


@pytest.mark.parametrize("name", ("gemm_two_products.sm90", "gemm_host_descriptors.sm90"))
def test_a_shrunk_life_is_noticed(name: str):
    check_mutants(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    (
        "gemm_loop_unroll.sm80",
        "attention_descriptors.sm90",
        "norm_chain.sm90",
        "gemm_persistent_flat.sm90",
        "gemm_host_descriptors_specialized_64.sm100",
        "gemm_persistent_specialized_halves.sm90",
    ),
)
def test_more_shrunk_lives_are_noticed(name: str):
    check_mutants(name)
