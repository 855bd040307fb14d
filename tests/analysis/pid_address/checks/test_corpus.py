"""Launches of real kernels: bounds and overlap as expected, by every procedure that decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.pid_address.checks.witnesses import confirm, facts_of, reader
from tests.analysis.pid_address.support import CORPUS, corpus_module, expectation
from tilewright.analysis.pid_address import AccessKind, AddressReport, analyze
from tilewright.analysis.pid_address.checks import (
    Check,
    CheckResult,
    Finding,
    Settings,
    overlap,
    presburger,
    run_checks,
)
from tilewright.analysis.pid_address.checks import bounds as bounds_check
from tilewright.analysis.pid_address.checks.enumeration import NotEnumerable
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.ownership import Ownership
from tilewright.analysis.pid_address.checks.settings import Effort

KERNELS = sorted(path.name.removesuffix(".expected.json") for path in CORPUS.glob("*.json"))
INSTANCES = [
    (name, instance_index)
    for name in KERNELS
    for instance_index in range(len(expectation(name)["instances"]))
]
# How the loads of the corpus that feed addresses index their buffers.
READS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "%ids_12": ("ids_ptr", lambda lane, pid: 16 * pid + lane),
    "%v_7": ("x_ptr", lambda lane, pid: 512 * pid + lane),
}


def launched(name: str, instance_index: int) -> tuple[AddressReport, dict[str, Any], Settings]:
    instance = expectation(name)["instances"][instance_index]
    report = analyze(corpus_module(name), facts_of(instance))
    return report, instance, Settings(memory=instance.get("memory", {}))


def reads_of(instance: dict[str, Any]) -> dict[str, Callable[..., int]]:
    memory = instance.get("memory", {})
    return {
        value: reader(memory[buffer], index)
        for value, (buffer, index) in READS.items()
        if buffer in memory
    }


def refuted(findings: tuple[Finding, ...], check: Check) -> list[Finding]:
    return [f for f in findings if f.check is check and f.verdict is CheckResult.REFUTED]


@pytest.mark.parametrize(("name", "instance_index"), INSTANCES)
def test_bounds_and_overlap_are_as_expected(name: str, instance_index: int) -> None:
    report, instance, settings = launched(name, instance_index)
    findings = run_checks(report, ["bounds", "race"], settings)
    outside = {f.accesses[0] for f in refuted(findings, Check.BOUNDS)}
    assert sorted(outside) == instance["oob"]
    conflict = {f.accesses for f in refuted(findings, Check.RACE)}
    assert sorted(map(list, conflict)) == instance["overlap"]
    assert not [f for f in findings if f.verdict is CheckResult.UNKNOWN]
    assert not [f for f in findings if f.condition is not None]


@pytest.mark.parametrize(("name", "instance_index"), INSTANCES)
def test_every_witness_is_confirmed_by_the_formulas(name: str, instance_index: int) -> None:
    report, instance, settings = launched(name, instance_index)
    for finding in run_checks(report, ["bounds", "race", "overflow"], settings):
        if finding.verdict is CheckResult.REFUTED and finding.check is not Check.LANES:
            confirm(report, finding, reads_of(instance))


@pytest.mark.parametrize(("name", "instance_index"), INSTANCES)
def test_enumeration_and_integer_sets_agree_on_bounds(name: str, instance_index: int) -> None:
    report, instance, settings = launched(name, instance_index)
    launch = Launch(report, settings)
    for access in report.accesses:
        size = instance["buffer_bytes"][access.base.removeprefix("%")]
        e = access.elem_bytes
        values = launch.enumeration(access).first_where(
            lambda chunk, e=e, size=size: (chunk.offset < 0) | (chunk.offset + e > size)
        )
        if values is not None:
            assert access.index in instance["oob"]
        question = bounds_check.leaves(launch, access, launch.space().const(size))
        result = presburger.decide(question, Effort(settings))
        if result.possible is None:
            assert access.pattern.value == "UNKNOWN"
        else:
            assert result.possible == (values is not None)


@pytest.mark.parametrize(("name", "instance_index"), INSTANCES)
def test_enumeration_and_integer_sets_agree_on_overlap(name: str, instance_index: int) -> None:
    report, instance, settings = launched(name, instance_index)
    launch = Launch(report, settings)
    for store in report.accesses:
        if store.kind is not AccessKind.STORE:
            continue
        conflict = Ownership([launch.enumeration(store, every_program=True)]).conflict(0, 0)
        assert (conflict is not None) == ([store.index, store.index] in instance["overlap"])
        result = presburger.decide(overlap.common_byte(launch, store, store), Effort(settings))
        assert result.possible == (conflict is not None)
        if conflict is not None:
            assert conflict.first != conflict.second


def test_without_its_memory_a_gather_is_unknown_and_a_masked_histogram_is_not() -> None:
    report, _, _ = launched("embedding_gather", 1)
    [finding] = [f for f in run_checks(report, ["bounds"]) if f.accesses == (1,)]
    assert finding.verdict is CheckResult.UNKNOWN
    assert "loaded from memory" in finding.message
    report, _, _ = launched("histogram_atomic", 0)
    assert {f.verdict for f in run_checks(report, ["bounds"])} == {CheckResult.PROVED}


def test_an_open_grid_is_not_enumerated() -> None:
    launch = Launch(analyze(corpus_module("vector_add")), Settings())
    with pytest.raises(NotEnumerable, match="not given"):
        launch.enumeration(launch.report.accesses[0])


def test_the_budget_of_points_is_observed() -> None:
    report, _, _ = launched("vector_add", 0)
    launch = Launch(report, Settings(budget=1000))
    with pytest.raises(NotEnumerable, match="5120 points exceed the budget of 1000"):
        launch.enumeration(report.accesses[0])


def test_beyond_the_budget_a_sample_refutes_but_does_not_prove() -> None:
    report, _, settings = launched("embedding_gather", 0)
    few = Settings(budget=100, memory=settings.memory)
    [found] = [f for f in run_checks(report, ["bounds"], few) if f.accesses == (1,)]
    assert found.verdict is CheckResult.UNKNOWN
    assert "of its 12288 points was checked" in found.message
    facts = facts_of(expectation("embedding_gather")["instances"][0])
    small = analyze(corpus_module("embedding_gather"), replace(facts, buffers={"table_ptr": 8}))
    [found] = [f for f in run_checks(small, ["bounds"], few) if f.accesses == (1,)]
    assert found.verdict is CheckResult.REFUTED
