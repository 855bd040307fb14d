"""The verdict on the kernel of a seed: compiled for one of the chips, run thread by thread."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.device.pool import Verdict
from tests.fuzz.device.tile import FAMILIES, template
from tests.fuzz.tile.generator import Case, generate
from tests.fuzz.tile.running import Arrays, differences, expected, launched, traced
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.layouts.hardware.amd_chips import CHIPS, chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

FALSE_REPORT = re.compile(r"TW9|TW303|TW405|TW408|TW61")
"""Codes of races, of broken barriers and of the compiler's own errors: these kernels have none."""
_SEEDS = 7
"""Of schedules; every one has another order of events."""


@dataclass(frozen=True)
class Judge:
    """Judges seeds; each is compiled for one of the chips in turn, or for all of them."""

    chips: tuple[str, ...] = tuple(CHIPS)
    schedules: int = 2
    all_chips: bool = False
    family: str = "both"
    """`plain`, `wide`, `stores`, `hashes`, or `both`: seeds take the first two one after the other."""
    leave_out: tuple[str, ...] = ()
    """Passes that are left out: then kernels must fail."""
    change: Callable[[ModuleOp], None] | None = None
    """What is done to modules at thread level, likewise."""

    def chips_of(self, seed: int) -> tuple[str, ...]:
        if self.all_chips:
            return self.chips
        return (self.chips[seed // len(FAMILIES) % len(self.chips)],)

    def __call__(self, seed: int) -> Verdict:
        return self.of_case(generate(seed, self.family_of(seed)))

    def family_of(self, seed: int) -> str:
        return FAMILIES[seed % len(FAMILIES)] if self.family == "both" else self.family

    def of_case(self, case: Case) -> Verdict:
        """The first verdict that is not `right`, or the last."""
        verdict = Verdict("refused", "no chip")
        for chip in self.chips_of(case.seed):
            verdict = self._on(case, chip)
            if verdict.outcome not in ("right", "refused"):
                break
        return verdict

    def _on(self, case: Case, chip: str) -> Verdict:
        notes: dict[str, object] = {"chip": chip}
        try:
            module = compiled(case, chip, self.leave_out)
            if isinstance(module, Verdict):
                return module
            if self.change is not None:
                self.change(module)
            wrong = self._run(case, chip, module)
        except SimtFault as error:
            return Verdict("report", f"{chip}: {error}"[:1500], notes=notes)
        except Exception as error:  # any exception is a finding, and must not end the others
            where = " ".join(traceback.format_exc().splitlines()[-3:-1])
            return Verdict(
                "internal", f"{chip}: {type(error).__name__}: {error} {where}"[:1500], notes=notes
            )
        return Verdict("wrong" if wrong else "right", f"{chip}: {'; '.join(wrong)}", notes=notes)

    def _run(self, case: Case, chip: str, module: ModuleOp) -> list[str]:
        """All schedules: threads in lockstep first, then every wave on its own."""
        required = expected(case)
        if not case.only_threads:
            # The reference of the seed, and the NumPy target's tile level.
            wrong = differences(launched(case, traced(case).module), required, bitwise=False)
            if wrong:
                return [f"tile level: {each}" for each in wrong]
        program = compile_simt(module)
        for schedule in range(self.schedules):
            arrays: Arrays = case.arrays()
            unit = chip_named(chip).wave if schedule % 2 else None
            options = SimtOptions(seed=(case.seed + schedule) % _SEEDS, unit=unit)
            program.launch([Buffer(name, array) for name, array in arrays.items()], options)
            wrong = differences(arrays, required, bitwise=False)
            if wrong:
                return [f"schedule {schedule}: {each}" for each in wrong]
        return []


def compiled(case: Case, chip: str, leave_out: tuple[str, ...] = ()) -> ModuleOp | Verdict:
    """The module at thread level, or why there is none."""
    module, engine = traced(case).module.clone(), DiagnosticEngine()
    AmdPipeline(target=f"hip:{chip}", leave_out=leave_out).run(module, engine)
    if not engine.error_count:
        verify(module, engine)
    errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
    if not errors:
        foreign = sorted({op.name for op in walk(module) if op.name.startswith("nv.")})
        if not foreign:
            return module
        return Verdict("internal", f"{chip}: ops of NVIDIA's are left: {', '.join(foreign)}")
    false = [each for each in errors if FALSE_REPORT.match(each.code or "TW9")]
    first = (false or errors)[0]
    notes: dict[str, object] = {
        "chip": chip,
        "code": first.code or "no code",
        "kind": template(first.message),
    }
    outcome = "internal" if false else "refused"
    return Verdict(outcome, f"{chip}: {first.code}: {first.message}", notes=notes)
