"""Fault injection: every wrong plan is found by the checker, by the traffic or by the bits."""

from __future__ import annotations

import functools
import random
from collections import Counter

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tests.passes.raising.launches import NAMES, example_launches
from tests.passes.raising.levels import Launch, assert_same, on_pointers, on_tiles
from tests.passes.raising.mutations import Mutation, mutations, plan_of
from tests.passes.raising.traffic import Traffic, traffic_on_pointers, traffic_on_tiles
from tilewright.analysis.raising.check import check_boxes
from tilewright.analysis.raising.plan import RaisePlan
from tilewright.passes.raising.function import GRID, raise_function
from tilewright.passes.tile.raise_to_tile import RaisedKernel, clean
from tilewright.targets.numpy.tile import TileFault

RAISED = tuple(name for name in NAMES if name not in ("grouped_gemm", "top_k"))
"""Sorting networks of `top_k` have thousands of values: left out for their time."""
FEW = ("matmul", "softmax")
SAMPLE = 2


@functools.cache
def _launches(name: str) -> list[tuple[str, Launch]]:
    return example_launches(name)


@functools.cache
def _expected(name: str, index: int) -> tuple[list, Traffic]:
    _, launch = _launches(name)[index]
    return on_pointers(launch)[0], traffic_on_pointers(launch)


@functools.cache
def _mutations(name: str, index: int) -> list[Mutation]:
    _, launch = _launches(name)[index]
    return list(mutations(launch.text, launch))


def _kernel(plan: RaisePlan) -> RaisedKernel:
    module = ModuleOp([raise_function(plan)])
    clean(module)
    module.verify()
    names = [argument.name_hint or "" for argument in plan.function.body.block.args]
    name = plan.function.sym_name.data
    return RaisedKernel(module, name, 4, 3, tuple(names), GRID, (), (), plan)


def found_by(name: str, index: int, mutation: Mutation) -> list[str]:
    """Which checks find a wrong plan."""
    _, launch = _launches(name)[index]
    expected, traffic = _expected(name, index)
    plan = mutation.apply(plan_of(launch.text))
    found = ["checker"] if check_boxes(plan) else []
    try:
        kernel = _kernel(plan)
        if traffic.differences(traffic_on_tiles(kernel, launch)):
            found.append("traffic")
        assert_same(expected, on_tiles(kernel, launch)[0])
    except AssertionError:
        found.append("bits")
    except (TileFault, VerifyException, ValueError, KeyError, IndexError):
        found.append("fault")
    return found


def _cases(name: str) -> list[tuple[int, Mutation]]:
    return [
        (index, each) for index in range(len(_launches(name))) for each in _mutations(name, index)
    ]


@pytest.mark.parametrize("name", FEW)
def test_a_sample_is_found(name: str) -> None:
    cases = _cases(name)
    kinds = sorted({each.kind for _, each in cases})
    draw = random.Random(name)
    chosen = [draw.choice([case for case in cases if case[1].kind == kind]) for kind in kinds]
    chosen += draw.sample(cases, SAMPLE)
    silent = [str(each) for index, each in chosen if not found_by(name, index, each)]
    assert silent == []


@pytest.mark.slow
def test_all_are_found() -> None:
    total: Counter[str] = Counter()
    checks: Counter[str] = Counter()
    silent: list[str] = []
    for name in RAISED:
        for index, mutation in _cases(name):
            found = found_by(name, index, mutation)
            total[mutation.kind] += 1
            checks.update(found)
            if not found:
                silent.append(f"{name} {index}: {mutation}")
    print(dict(total), dict(checks))
    assert silent == []
    assert sum(total.values()) >= 200
    assert set(total) >= {"shift", "origin", "mask", "axes", "fill", "store", "update", "sharing"}
