"""Kernels with constructs that the corpus lacks, against results derived by hand.

The expectations in ``acceptance`` have the corpus' format. Three keys of an instance are our own:
``unknown`` lists accesses whose bounds cannot be known, ``synchronised`` that the overlap is
ordered by atomics, so that it is no race by what the analysis can see, and ``memory`` gives
contents of buffers.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.analysis.pid_address.checks.witnesses import facts_of
from tests.analysis.pid_address.support import parse
from tests.analysis.pid_address.test_corpus import as_expected
from tilewright.analysis.pid_address import analyze
from tilewright.analysis.pid_address.checks import Check, CheckResult, Finding, Settings, run_checks
from tilewright.ir.traversal import walk

DIRECTORY = Path(__file__).parent / "acceptance"
KERNELS = sorted(path.stem for path in DIRECTORY.glob("*.ttir"))
CONSTRUCTS = [
    "scf.while",
    "scf.if",
    "scf.for",
    "cf.cond_br",
    "cf.br",
    "tt.call",
    "tt.int_to_ptr",
    "tt.ptr_to_int",
    "arith.xori",
    "tt.reshape",
    "tt.trans",
    "tt.join",
    "tt.split",
    "tt.cat",
    "tt.gather",
    "tt.histogram",
    "tt.atomic_rmw",
    "tt.atomic_cas",
    "tt.descriptor_load",
    "tt.descriptor_store",
    "tt.descriptor_reduce",
    "tt.descriptor_gather",
    "tt.descriptor_scatter",
    "tt.make_tensor_descriptor",
    "ub.poison",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
    "arith.ceildivsi",
    "arith.floordivsi",
    "math.absi",
    "math.ctlz",
]


@cache
def module_of(name: str) -> ModuleOp:
    return parse((DIRECTORY / f"{name}.ttir").read_text(), f"{name}.ttir")


@cache
def expected_of(name: str) -> dict[str, Any]:
    return json.loads((DIRECTORY / f"{name}.expected.json").read_text())


INSTANCES = [
    (name, instance_index)
    for name in KERNELS
    for instance_index in range(len(expected_of(name)["instances"]))
]


def test_every_construct_occurs() -> None:
    used = {op.name for name in KERNELS for op in walk(module_of(name))}
    assert [name for name in CONSTRUCTS if name not in used] == []


@pytest.mark.parametrize("name", KERNELS)
def test_every_field_of_every_access(name: str) -> None:
    report = analyze(module_of(name))
    expected = expected_of(name)
    assert report.kernel == expected["kernel"]
    assert [as_expected(access) for access in report.accesses] == expected["accesses"]


def findings_of(name: str, instance_index: int) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    instance = expected_of(name)["instances"][instance_index]
    report = analyze(module_of(name), facts_of(instance))
    patterns = {str(access.index): access.pattern.value for access in report.accesses}
    for index, pattern in instance.get("patterns", {}).items():
        assert patterns[index] == pattern
    settings = Settings(memory=instance.get("memory", {}))
    return instance, run_checks(report, ["bounds", "race"], settings)


@pytest.mark.parametrize(("name", "instance_index"), INSTANCES)
def test_bounds_are_as_expected(name: str, instance_index: int) -> None:
    instance, findings = findings_of(name, instance_index)
    found: dict[CheckResult, set[int]] = {verdict: set() for verdict in CheckResult}
    for finding in findings:
        if finding.check is Check.BOUNDS:
            found[finding.verdict].add(finding.accesses[0])
    assert sorted(found[CheckResult.REFUTED]) == instance["oob"]
    assert sorted(found[CheckResult.UNKNOWN]) == instance.get("unknown", [])


@pytest.mark.parametrize(("name", "instance_index"), INSTANCES)
def test_overlap_is_as_expected(name: str, instance_index: int) -> None:
    instance, findings = findings_of(name, instance_index)
    overlaps = [f for f in findings if f.check is Check.RACE and f.witness is not None]
    assert sorted({f.accesses for f in overlaps}) == [tuple(p) for p in instance["overlap"]]
    verdict = CheckResult.UNKNOWN if instance.get("synchronised") else CheckResult.REFUTED
    assert {f.verdict for f in overlaps} <= {verdict}
    assert [f.is_violation for f in overlaps] == [verdict is CheckResult.REFUTED] * len(overlaps)
    open_pairs = [f.accesses for f in findings if _is_open(f)]
    assert {index for pair in open_pairs for index in pair} <= set(instance.get("unknown", []))


def _is_open(finding: Finding) -> bool:
    race = finding.check is Check.RACE and finding.verdict is CheckResult.UNKNOWN
    return race and finding.witness is None
