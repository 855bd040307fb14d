"""The checker of layout plans finds what is wrong in a plan that was right before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.passes.gpu.features import FEATURES
from tilewright.analysis.layout_inference.check import check
from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.layout_inference.solver import Solver
from tilewright.analysis.layout_inference.table import Table
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline

NAMES = ("heads_of_96", "reductions_of_odd_sizes", "a_reducer", "columns_of_176")


def planned(name: str) -> tuple[Any, LayoutPlan]:
    """A kernel before `infer-layouts`, and the plan for it."""
    engine = DiagnosticEngine()
    module = FEATURES[name].func.module.clone()
    for each in GpuPipeline().passes():
        if each.name == "infer-layouts":
            break
        each.run(module, engine)
    (kernel,) = kernels(module)
    plan = Solver(kernel, engine, 90).solve()
    engine.raise_if_errors()
    assert plan is not None
    return kernel, plan


def moved(table: Table, rng: np.random.Generator) -> Table:
    """One element in the threads of another."""
    owners = table.owners.copy()
    flat = owners.reshape(-1, table.replicas)
    one, other = rng.choice(len(flat), 2, replace=False)
    flat[one] = flat[other]
    return Table(owners, table.registers)


def swapped(table: Table, rng: np.random.Generator) -> Table:
    """Two elements in each other's threads."""
    owners = table.owners.copy()
    flat = owners.reshape(-1, table.replicas)
    pairs = [tuple(rng.choice(len(flat), 2, replace=False)) for _ in range(50)]
    one, other = next((a, b) for a, b in pairs if (flat[a] != flat[b]).any())
    flat[[one, other]] = flat[[other, one]]
    return Table(owners, table.registers)


def crowded(table: Table, rng: np.random.Generator) -> Table:
    """Two elements of a thread in one register."""
    registers = table.registers.copy()
    flat, owners = registers.reshape(-1), table.owners.reshape(registers.size, -1)
    first = int(rng.integers(len(flat)))
    same = np.flatnonzero((owners == owners[first]).all(axis=1) & (flat != flat[first]))
    flat[first] = flat[same[0]]
    return Table(table.owners, registers)


def beyond(table: Table, rng: np.random.Generator) -> Table:
    """A thread that there is not."""
    owners = table.owners.copy()
    owners.reshape(-1)[int(rng.integers(owners.size))] = 4096
    return Table(owners, table.registers)


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_right(name: str) -> None:
    kernel, plan = planned(name)
    assert check(kernel, plan) is None


@pytest.mark.parametrize("change", [moved, swapped, crowded, beyond])
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_fragment_is_found(name: str, change: Any) -> None:
    kernel, plan = planned(name)
    rng = np.random.default_rng(3)
    tried = caught = 0
    for buffer, table in plan.fragments.items():
        if table.registers.size < 2 or (change is crowded and table.num_registers < 2):
            continue
        if change is not beyond and len(np.unique(table.owners)) == table.replicas:
            continue  # all threads own everything: there is no other thread to move it to
        tried += 1
        fragments = {**plan.fragments, buffer: change(table, rng)}
        caught += check(kernel, replace(plan, fragments=fragments)) is not None
    assert tried > 0
    assert caught == tried


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_loop_is_found(name: str) -> None:
    kernel, plan = planned(name)
    rng = np.random.default_rng(4)
    for loop, table in plan.loops.items():
        loops = {**plan.loops, loop: beyond(table, rng)}
        problem = check(kernel, replace(plan, loops=loops))
        assert problem is not None
    lacking = {
        loop: table for loop, table in plan.loops.items() if loop is not next(iter(plan.loops))
    }
    assert check(kernel, replace(plan, loops=lacking)) == "no threads assigned to a loop"


def test_a_swizzle_that_maps_two_elements_to_one_location_is_found() -> None:
    kernel, plan = planned("columns_of_176")
    (first, swizzle), *_ = plan.shared.items()

    class Broken:
        width = swizzle.width

        def attribute(self, outer: tuple[int, ...]) -> Any:
            found = swizzle.attribute(outer)

            class Map:
                def evaluate(self, *points: Any) -> Any:
                    *rest, last = found.data.evaluate(*points)
                    return (*rest, np.asarray(last) // 2)

            class Attribute:
                data = Map()

            return Attribute()

    shared = {**plan.shared, first: Broken()}
    assert "two elements map to the same location" in str(
        check(kernel, replace(plan, shared=shared))
    )
