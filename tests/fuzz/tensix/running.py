"""Runs a random kernel for the Tenstorrent target, and says where it differs from NumPy."""

from __future__ import annotations

import linecache
from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.tensix.generator import Case
from tests.passes.tenstorrent.execution import compiled
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of
from tilewright.targets.tenstorrent.execution import RunOptions

DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16}
BOUND = 2**-5
"""Relative error, in the Frobenius norm: intermediate results are not rounded to bfloat16."""


def traced(case: Case) -> ModuleOp:
    name = f"<tensix kernel of seed {case.seed}>"
    linecache.cache[name] = (len(case.source), None, case.source.splitlines(keepends=True), name)
    namespace: dict[str, object] = {"__name__": "generated"}
    exec(compile(case.source, name, "exec"), namespace)
    return namespace["kernel"].module  # type: ignore[attr-defined]


def arguments(case: Case) -> dict[str, np.ndarray]:
    arrays = case.arrays()
    found = {name: arrays[name].astype(DTYPES[dtype]) for name, _, dtype in case.tensors}
    for name, array in found.items():
        if name.startswith("Y"):
            array[...] = 0
    return found


def differences(case: Case, executors: Sequence[Executor] = (Executor.IR,)) -> list[str]:
    """Where the kernel differs from the NumPy target, or from the predicted traffic."""
    module = traced(case)
    expected = arguments(case)
    buffers = [Buffer(name, array) for name, array in expected.items()]
    compile_tile_module(module.clone()).launch(buffers, TileOptions())
    lowered, plan = compiled(module, cores=case.cores)
    artefact = artefact_of(lowered)
    found: list[str] = []
    for executor in executors:
        run = artefact.run(arguments(case), RunOptions(seed=case.seed), executor)
        counted = run.result.traffic.dram_page_reads, run.result.traffic.dram_page_writes
        predicted = plan.traffic.dram_page_reads, plan.traffic.dram_page_writes
        if counted != predicted:
            found.append(f"{executor.value}: traffic {counted}, predicted {predicted}")
        for name, array in run.arrays.items():
            error = _error(array, expected[name])
            if not error < BOUND:
                found.append(f"{executor.value}: {name} differs by {error:.1e}")
    return found


def _error(actual: np.ndarray, expected: np.ndarray) -> float:
    exact = expected.astype(np.float64)
    norm = np.linalg.norm(actual.astype(np.float64) - exact)
    return float(norm / max(np.linalg.norm(exact), 1e-9))
