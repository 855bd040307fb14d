"""The verdict on the kernel of a seed: both executors against the NumPy target."""

from __future__ import annotations

import linecache
import re
import traceback
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.fuzz.device.pool import Verdict
from tests.fuzz.tenstorrent.generator import Case, generate
from tests.fuzz.tenstorrent.values import Known
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.tenstorrent.fix_arguments import described, is_fixed
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import compile_tile_module
from tilewright.targets.tenstorrent.artefact import Artefact, Executor, artefact_of
from tilewright.targets.tenstorrent.execution import ExecutionError, RunOptions

HONEST = re.compile(r"TW70\d\d|TW7105|TW7110|TW7118")
"""Codes of what the chip cannot do; the others of verify-tt are faults of the compiler."""


@dataclass(frozen=True)
class Judge:
    """Judges seeds; each `source_every`-th runs from its sources as well."""

    source_every: int = 10
    schedules: int = 2
    residency: str = "off"
    """With ``auto`` or ``on`` results also have to be those of a program without, bit for bit."""
    multicast: str = "off"

    def __call__(self, seed: int) -> Verdict:
        return self.of_case(generate(seed))

    def of_case(self, case: Case) -> Verdict:
        """The verdict on a kernel."""
        try:
            return self._judged(case)
        except ExecutionError as error:
            return Verdict("wrong", f"sanitizer: {error}"[:600])
        except Exception as error:  # any exception is a finding, and must not end the others
            where = traceback.format_exc().splitlines()[-3:-1]
            return Verdict("crash", f"{type(error).__name__}: {error} {' '.join(where)}"[:600])

    def _judged(self, case: Case) -> Verdict:
        prim_func = traced(case)
        arrays = expected(case, prim_func)
        artefact = compiled(case, prim_func, self.residency, self.multicast)
        if isinstance(artefact, Verdict):
            return artefact
        plain = compiled(case, prim_func) if self._changes_traffic() else artefact
        assert isinstance(plain, Artefact), "the same kernel"
        bits = plain.run(case.arrays(), RunOptions()).arrays if plain is not artefact else {}
        found: list[tuple[str, dict[str, Any]]] = []
        for seed in range(self.schedules):
            run = artefact.run(case.arrays(), RunOptions(seed=seed))
            found.append((f"IR executor, schedule {seed}", dict(run.arrays)))
            changed = [name for name in bits if bits[name].tobytes() != run.arrays[name].tobytes()]
            if changed:
                return Verdict("wrong", f"{changed[0]} has other bits than without it")
            traffic, planned = run.result.traffic, artefact.plan.traffic
            counted = traffic.dram_page_reads, traffic.dram_page_writes, traffic.multicast_pages
            if counted != (
                planned.dram_page_reads,
                planned.dram_page_writes,
                planned.multicast_pages,
            ):
                return Verdict("wrong", f"traffic: counted {counted}, planned {planned}")
        if self.source_every and case.seed % self.source_every == 0:
            run = artefact.run(case.arrays(), RunOptions(seed=1), Executor.SOURCE)
            found.append(("source executor", dict(run.arrays)))
        for label, results in found:
            for name, array in results.items():
                wrong = difference(array, arrays[name], case.outputs[name])
                if wrong:
                    return Verdict("wrong", f"{label}: {name}{wrong}")
        residency = artefact.plan.residency
        retained = 0 if residency is None else len(residency.panels)
        multicast = artefact.plan.multicast
        groups = 0 if multicast is None else len(multicast.groups)
        return Verdict("right", notes={"retained": retained, "groups": groups})

    def _changes_traffic(self) -> bool:
        return self.residency != "off" or self.multicast != "off"


def traced(case: Case) -> PrimFunc:
    name = f"<tenstorrent seed {case.seed}>"
    lines = case.source.splitlines(keepends=True)
    linecache.cache[name] = (len(case.source), None, lines, name)
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(case.source, name, "exec"), namespace)
    return namespace["kernel"]


def expected(case: Case, prim_func: PrimFunc) -> dict[str, Any]:
    """The arguments after a run on the NumPy target."""
    arrays = case.arrays()
    buffers = [Buffer(name, array) for name, array in arrays.items()]
    scalars = [each.value for each in case.scalars]
    with np.errstate(all="ignore"):
        compile_tile_module(prim_func.module.clone()).launch([*buffers, *scalars])
    return arrays


def compiled(
    case: Case, prim_func: PrimFunc, residency: str = "off", multicast: str = "off"
) -> Artefact | Verdict:
    """The program for the simulated chip, or why there is none."""
    engine = DiagnosticEngine()
    module = prim_func.module.clone()
    values = {each.name: each.value for each in case.scalars}
    known = {name: str(value) for name, value in values.items()}
    if case.rows is not None:
        starts = case.rows.values
        known = {case.rows.name: f"{len(starts)}:{','.join(map(str, starts))}", **known}
    arguments = prim_func.func.body.block.args[len(case.tensors) :]
    fixed = [name for name, each in zip(known, arguments, strict=True) if is_fixed(each)]
    pipeline = TenstorrentPipeline(
        "tenstorrent:sim",
        cores=case.cores,
        policy="" if multicast == "on" else case.policy,
        order=case.order,
        residency=residency,
        multicast=multicast,
        values=described({name: known[name] for name in fixed}),
    )
    try:
        pipeline.run(module, engine)
        engine.raise_if_errors()
    except CompileError:
        errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
        codes = [each.code or "no code" for each in errors]
        dishonest = [each for each in errors if not HONEST.fullmatch(each.code or "")]
        chosen = (dishonest or errors)[0]
        kind = re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", chosen.message.splitlines()[0]))
        outcome = "crash" if dishonest else "refused"
        notes: dict[str, object] = {"code": codes[0], "kind": kind}
        return Verdict(outcome, f"{chosen.code}: {chosen.message}", notes=notes)
    return replace(artefact_of(module), scalars=values)


def difference(found: Any, exact: Any, known: Known) -> str:
    """The first element that differs by more than rounding explains."""
    actual, required = found.astype(np.float64), exact.astype(np.float64)
    allowed = 0.0 if known.is_exact else 2 * known.error + 1e-5
    same = (np.abs(actual - required) <= allowed) | (np.isnan(actual) & np.isnan(required))
    if same.all():
        return ""
    position = tuple(int(each) for each in np.argwhere(~same)[0])
    return (
        f"{list(position)} is {actual[position]}, not {required[position]} (error up to {allowed:.2g} "
        f"expected; {int((~same).sum())} of {same.size} differ)"
    )
