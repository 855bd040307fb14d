"""What the compiler makes is proved; almost every way to break it is caught."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import load, transformed
from tests.passes.pass_support import apply
from tests.passes.tile.barrier_mutants import mutants
from tests.passes.tile.pipelines import module
from tests.passes.tile.test_expand_pipeline import BODIES
from tests.passes.tile.test_specialize_warps import AGAIN, SPECIALISED, specialised
from tilewright.analysis.barriers import FaultKind, all_concurrent_roles, check, traces
from tilewright.dialects.nv import CpAsyncWaitOp
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.check_barriers import CheckBarriers


def reported(kernel: ModuleOp) -> list[Diagnostic]:
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    CheckBarriers().run(kernel, engine)
    return list(engine.diagnostics)


def split(name: str, stages: int, *, again: bool) -> ModuleOp:
    before, after = (AGAIN, "}") if again else ("", "")
    loop = f"%lo to %n num_stages({stages})"
    return specialised(module(SPECIALISED[name], before=before, after=after, loop=loop))


@pytest.mark.parametrize("again", [False, True], ids=["once", "again"])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("name", SPECIALISED)
def test_roles_of_the_compiler_are_proved(name: str, stages: int, again: bool) -> None:
    kernel = split(name, stages, again=again)
    assert not reported(kernel)
    (block,) = (op for op in walk(kernel) if isinstance(op, KernelOp))
    (team,) = all_concurrent_roles(block)
    assert not team.is_custom
    assert max(turns.inner or 0 for turns in team.trip_counts()) == 2 * stages + 1


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("name", BODIES)
def test_pipelines_without_roles_are_proved(name: str, stages: int) -> None:
    kernel = module(BODIES[name], loop=f"%lo to %n num_stages({stages})")
    apply(kernel, "plan-pipeline", "expand-pipeline")
    assert not [each for each in reported(kernel) if each.severity is Severity.ERROR]


@pytest.mark.parametrize("name", ["gemm_relu", "attention", "persistent_gemm"])
def test_roles_of_the_examples_are_proved(name: str) -> None:
    proved = 0

    def changed(kernel: ModuleOp) -> ModuleOp:
        nonlocal proved
        apply(kernel, "canonicalize", "cse", "specialize-warps")
        found = reported(kernel)
        assert not found, [each.message for each in found]
        proved += sum(
            1 for op in walk(kernel) if isinstance(op, KernelOp) for _ in all_concurrent_roles(op)
        )
        return kernel

    transformed(load(name), changed)
    assert proved


def test_questions_that_change_nothing_are_asked_once() -> None:
    tried: list[tuple[int | None, int | None]] = []

    def changed(kernel: ModuleOp) -> ModuleOp:
        apply(kernel, "canonicalize", "cse", "specialize-warps")
        (block,) = (op for op in walk(kernel) if isinstance(op, KernelOp))
        (team,) = all_concurrent_roles(block)
        tried.extend((turns.inner, turns.outer) for turns, _ in traces(team, team.trip_counts()))
        return kernel

    transformed(load("persistent_gemm"), changed)
    # Its inner loop says itself how often it runs; how many tiles there are is open.
    assert tried == [(0, 1), (0, 3)]


def caught(names: list[str], stages: list[int]) -> tuple[list[str], int]:
    """Mutants that were not noticed, and how many there were."""
    missed: list[str] = []
    count = 0
    for name in names:
        for depth in stages:
            for mutant in mutants(split(name, depth, again=False)):
                count += 1
                if not any(each.severity is Severity.ERROR for each in reported(mutant.module)):
                    missed.append(f"{name}, {depth} stages: {mutant.name}")
    return missed, count


def test_broken_barriers_are_caught() -> None:
    missed, count = caught(["gemm", "separate", "guarded"], [2, 3])
    assert count > 100
    assert len(missed) <= 0.05 * count, "\n".join(missed)


@pytest.mark.slow
def test_more_broken_barriers_are_caught() -> None:
    missed, count = caught(list(SPECIALISED), [1, 2, 3, 4])
    assert len(missed) <= 0.05 * count, "\n".join(missed)


def faults_of(kernel: ModuleOp) -> set[FaultKind]:
    (block,) = (op for op in walk(kernel) if isinstance(op, KernelOp))
    (team,) = all_concurrent_roles(block)
    found = (check(members) for _, members in traces(team, team.trip_counts()))
    return {fault.kind for fault in found if fault is not None}


EXPECTED = {
    "drop": {FaultKind.UNORDERED, FaultKind.DEADLOCK, FaultKind.OVERRUN, FaultKind.BYTES},
    "twice the arrivals at": {FaultKind.DEADLOCK},
    "one arrival less at": {FaultKind.COUNT},
    "more bytes in": {FaultKind.BYTES},
    "fewer bytes in": {FaultKind.BYTES},
    "arrive earlier": {FaultKind.UNORDERED},
    "wait later": {FaultKind.UNORDERED},
}


def test_faults_have_the_right_names() -> None:
    seen: set[str] = set()
    for mutant in mutants(split("gemm", 2, again=False)):
        for name, kinds in EXPECTED.items():
            if mutant.name.startswith(name):
                seen.add(name)
                found = faults_of(mutant.module)
                assert found, mutant.name
                assert found <= kinds, mutant.name
    assert seen == set(EXPECTED)


def test_a_wait_that_leaves_too_many_copies_in_flight() -> None:
    kernel = module(BODIES["gemm"], loop="%lo to %n num_stages(3)")
    apply(kernel, "plan-pipeline", "expand-pipeline")
    for op in [op for op in walk(kernel) if isinstance(op, CpAsyncWaitOp)]:
        Rewriter().replace_op(op, CpAsyncWaitOp(op.count + 1))
    (found, *_) = reported(kernel)
    assert found.code == "TW4052"
    assert "data race: nothing orders" in found.message


def test_the_message_names_roles_bytes_and_turns() -> None:
    broken = next(
        each
        for each in mutants(split("gemm", 2, again=False))
        if each.name.startswith("more bytes")
    )
    (found,) = reported(broken.module)
    assert found.code == "TW9010"
    assert found.message == (
        "transaction count mismatch: consumer waits for phase 0 of full_0_0[0], where 528 B are "
        "expected, 512 B completed (with trip count 1)"
    )
