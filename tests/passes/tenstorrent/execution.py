"""Compile a kernel for the simulated chip and run it in the IR executor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tensix import HostPlanOp, KernelOp
from tilewright.dialects.tensix.chips import chip_named
from tilewright.dialects.tensix.plan import Plan
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.verify import verify
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.targets.tenstorrent.arrays import array_of, pages_of
from tilewright.targets.tenstorrent.execution import RunOptions, RunResult
from tilewright.targets.tenstorrent.launch import program_of
from tilewright.targets.tenstorrent.machine.run import run_kernels


@dataclass(frozen=True)
class Outcome:
    """The outputs of a run, its plan and what the executor reports."""

    outputs: list[Any]
    plan: Plan
    result: RunResult


def compiled(module: ModuleOp, **options: Any) -> tuple[ModuleOp, Plan]:
    """The kernels of a module, and their plan; every pass leaves valid IR."""
    module = module.clone()
    engine = DiagnosticEngine()
    given: dict[str, Any] = {"target": "tenstorrent:sim", **options}
    for each in TenstorrentPipeline(**given).passes():
        each.run(module, engine)
        engine.raise_if_errors()
        verify(module, engine)
        engine.raise_if_errors()
    plan = next(op for op in module.ops if isinstance(op, HostPlanOp))
    return module, Plan.from_attr(plan.plan)


def executed(
    module: ModuleOp, arrays: Sequence[Any], *, seeds: Sequence[int] = (0,), **options: Any
) -> Outcome:
    """Run a kernel under some schedules; no sanitizer reports, and the traffic is as predicted."""
    module, plan = compiled(module, **options)
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
    chip = str(options.get("target", "tenstorrent:sim")).partition(":")[2]
    program = program_of(plan, chip_named(chip))
    program.verify()
    inputs = {
        each.name: pages_of(np.asarray(arrays[each.arg]), each).tobytes()
        for each in plan.tensors
        if each.role != "output"
    }
    outcomes: list[Outcome] = []
    for seed in seeds:
        result = run_kernels(program, kernels, inputs, RunOptions(seed=seed)).raise_for_findings()
        counted, predicted = result.traffic, plan.traffic
        assert counted.dram_page_reads == predicted.dram_page_reads
        assert counted.dram_page_writes == predicted.dram_page_writes
        assert counted.multicast_pages == predicted.multicast_pages
        outputs = [
            array_of(result.buffers[each.name], each)
            for each in plan.tensors
            if each.role != "input"
        ]
        outcomes.append(Outcome(outputs, plan, result))
    for other in outcomes[1:]:
        for one, two in zip(outcomes[0].outputs, other.outputs, strict=True):
            assert one.tobytes() == two.tobytes(), "the result depends on the schedule"
    return outcomes[0]


def relative_error(actual: Any, expected: Any) -> float:
    """The Frobenius norm of the difference, relative to that of the expected array."""
    difference = actual.astype(np.float64) - expected
    return float(np.linalg.norm(difference) / max(np.linalg.norm(expected), 1e-30))


BF16_BOUND = 2**-6
