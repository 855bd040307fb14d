"""The verdict on a case: results, traffic and findings under many schedules."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from tests.fuzz.device.pool import Verdict
from tests.fuzz.multicast.cases import Case, case_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.targets.tenstorrent.artefact import Artefact, Executor, artefact_of
from tilewright.targets.tenstorrent.execution import ExecutionError, RunOptions


@dataclass(frozen=True)
class Judge:
    """Judges seeds; each `source_every`-th runs from its sources as well."""

    source_every: int = 10
    schedules: int = 20

    def __call__(self, seed: int) -> Verdict:
        return self.of_case(case_of(seed))

    def of_case(self, case: Case) -> Verdict:
        try:
            return self._judged(case)
        except ExecutionError as error:
            return Verdict("wrong", f"sanitizer: {error}"[:600])
        except Exception as error:  # any exception is a finding, and must not end the others
            where = traceback.format_exc().splitlines()[-3:-1]
            return Verdict("crash", f"{type(error).__name__}: {error} {' '.join(where)}"[:600])

    def _judged(self, case: Case) -> Verdict:
        artefact = compiled(case)
        runs = [(seed, Executor.IR) for seed in range(self.schedules)]
        if self.source_every and case.seed % self.source_every == 0:
            runs += [(seed, Executor.SOURCE) for seed in (1, 2)]
        a, b, expected = case.arrays()
        for seed, executor in runs:
            run = artefact.run({"A": a, "B": b}, RunOptions(seed=seed), executor)
            label = f"{executor.value} executor, schedule {seed}"
            if run.arrays["C"].tobytes() != expected.tobytes():
                return Verdict("wrong", f"{label}: other values than NumPy")
            problem = traffic_problem(artefact, run.result.traffic)
            if problem:
                return Verdict("wrong", f"{label}: {problem}")
        plan = artefact.plan
        groups = () if plan.multicast is None else plan.multicast.groups
        ghosts = sum(any(each.ghosts) for each in plan.cores.active)
        return Verdict("right", notes={"groups": len(groups), "ghosts": ghosts})


def compiled(case: Case) -> Artefact:
    """The program of a case; verify-tt is part of the pipeline."""
    engine = DiagnosticEngine()
    module = case.module()
    TenstorrentPipeline(**case.options).run(module, engine)
    engine.raise_if_errors()
    return artefact_of(module)


def traffic_problem(artefact: Artefact, counted: object) -> str:
    planned = artefact.plan.traffic
    for name in ("dram_page_reads", "dram_page_writes", "multicast_pages"):
        if getattr(counted, name) != getattr(planned, name):
            return f"{name}: {getattr(counted, name)} counted, {getattr(planned, name)} planned"
    return ""
