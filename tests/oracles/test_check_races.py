"""The checker finds nothing in what the compiler makes, and something in what it should not."""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import NAMES
from tests.oracles.check_races import CheckRaces
from tests.targets.numpy.simt.mutants import mutants_of, subjects
from tilewright.ir.diagnostics import DiagnosticEngine


@cache
def modules(name: str) -> list[ModuleOp]:
    return [subject.module for subject in subjects(name)]


def found_in(module: ModuleOp) -> list[str]:
    engine = DiagnosticEngine()
    CheckRaces().run(module, engine)
    return [f"{each.code}: {each.message}" for each in engine.diagnostics]


@pytest.mark.parametrize("name", ["gemm_relu", "dynamic_shapes"])
def test_nothing_is_wrong(name: str) -> None:
    for module in modules(name):
        assert found_in(module) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_any_example(name: str) -> None:
    for module in modules(name):
        assert found_in(module) == []


def test_a_barrier_that_was_removed_is_missed() -> None:
    (module,) = modules("gemm_relu")
    removed = [each for each in mutants_of(module) if each.mutation == "remove a sync"]
    found = [found_in(each.apply(module)) for each in removed]
    assert any("and nothing orders it after" in text for texts in found for text in texts)
    assert all(text.startswith("TW6108") for texts in found for text in texts)


def test_the_message_names_the_source_line() -> None:
    (module,) = modules("gemm_relu")
    halved = next(e for e in mutants_of(module) if e.mutation == "halve expected bytes")
    engine = DiagnosticEngine()
    CheckRaces().run(halved.apply(module), engine)
    (diagnostic,) = engine.diagnostics
    assert "gemm_relu.py" in str(diagnostic.trail.primary)
