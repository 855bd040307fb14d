"""Problems captured from kernels: proved with a compiler's effort, and lower than others get."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tilewright.memory.planner import plan_problem
from tilewright.memory.planner.check import PlanViolation, check_offsets


def benchmark(name: str) -> ModuleType:
    """A file of the benchmarks, by path: other packages are called `benchmarks` too."""
    path = Path(__file__).parents[3] / "benchmarks" / f"{name}.py"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS = benchmark("planner_instances")
RIVALS = benchmark("planner_rivals")


def test_every_instance_is_proved():
    found = KERNELS.instances()
    assert len(found) == 500
    assert all(KERNELS.FEWEST <= len(one.problem.blocks) <= KERNELS.MOST for one in found)
    assert {b.align for one in found for b in one.problem.blocks} >= {16, 128, 1024}
    assert [one.name for one in found if not plan_problem(one.problem).optimal] == []


def test_instances_are_the_same_every_time():
    assert KERNELS.instances(150) == KERNELS.instances(150)


@pytest.mark.parametrize("rival", ["first_fit_by_size", "online_best_fit"])
def test_rivals_make_valid_plans_that_are_never_lower(rival: str):
    for one in KERNELS.instances(200):
        blocks = one.problem.blocks
        if any(block.region is not None for block in blocks):
            continue
        offsets = getattr(RIVALS, rival)(blocks)
        faults = {violation.fault for violation in check_offsets(one.problem, offsets)}
        assert faults <= {PlanViolation.OVER_CAPACITY}
        assert RIVALS.height(blocks, offsets) >= plan_problem(one.problem).height("smem")


def test_captured_kernels_are_whole():
    kernels = KERNELS.captured()
    assert len(kernels) > 80
    assert all(block.size > 0 and block.align > 0 for k in kernels.values() for block in k)
