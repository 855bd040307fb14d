"""The verdict on a random `T` kernel: compile it in one of the forms, run it, compare with NumPy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.fuzz.device.memory import OnDevice
from tests.fuzz.device.pool import Verdict
from tests.fuzz.tile.generator import Case, generate
from tests.fuzz.tile.running import differences, expected, traced
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.cuda.errors import CudaError
from tilewright.runtime.tile.device import DeviceProgram
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module

FORMS: dict[str, GpuPipeline] = {
    "hopper": GpuPipeline(),
    "hopper-no-roles": GpuPipeline(warp_specialize=False),
    # Lowered as for an A100; the machine code is made for the GPU that is there.
    "ampere": GpuPipeline(target="cuda:sm_80", wgmma=False),
}
ARCH = "sm_90a"
FAMILIES = ("plain", "wide")
"""What seeds take in turn."""
ALL_FAMILIES = (*FAMILIES, "stores", "hashes")
HOPPER = ("hopper", "hopper-no-roles")
"""Forms in which a kernel may name TMA and clusters itself."""
OWN = "TW9"
"""How codes of internal compiler errors begin."""


@dataclass(frozen=True)
class TileJudge:
    """Judges seeds; each takes one of the forms in turn, or all take the same."""

    forms: tuple[str, ...] = tuple(FORMS)
    family: str = "both"
    """`plain`, `wide`, `stores`, `hashes`, or `both`: seeds take the first two one after the other."""
    runs: bool = True
    """Without a GPU kernels are compiled only."""

    def form_of(self, seed: int) -> str:
        return self.forms[seed % len(self.forms)]

    def family_of(self, seed: int) -> str:
        return FAMILIES[seed % len(FAMILIES)] if self.family == "both" else self.family

    def __call__(self, seed: int) -> Verdict:
        form = self.form_of(seed)
        try:
            case = generate(seed, self.family_of(seed))
            if case.only_hopper and form not in HOPPER:
                form = HOPPER[seed % len(HOPPER)]
            program = _compiled(case, form)
            if isinstance(program, Verdict):
                return program
            if not self.runs:
                return Verdict("right", notes={"form": form})
            wrong = _run(case, program)
        except CudaError as error:
            return Verdict("fault", str(error), notes={"form": form})
        except Exception as error:  # any exception is a finding, and must not end the others
            return Verdict("internal", f"{type(error).__name__}: {error}", notes={"form": form})
        if wrong:
            return Verdict("wrong", "; ".join(wrong), notes={"form": form})
        return Verdict("right", notes={"form": form})


def _compiled(case: Case, form: str) -> Program | Verdict:
    engine = DiagnosticEngine()
    try:
        return compile_module(traced(case).module, ARCH, engine=engine, pipeline=FORMS[form])
    except CompileError as error:
        errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
        first = next((each for each in errors if (each.code or "").startswith(OWN)), None)
        chosen = first or (errors[0] if errors else None)
        code = (chosen.code if chosen else None) or "no code"
        text = chosen.message if chosen else str(error)
        notes: dict[str, object] = {"form": form, "code": code, "kind": template(text)}
        return Verdict("internal" if first else "refused", f"{code}: {text}", notes=notes)


def template(message: str) -> str:
    """A message without its names and numbers, to count alike ones."""
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", message.splitlines()[0]))


def _run(case: Case, program: Program) -> list[str]:
    memory = OnDevice(case.arrays())
    DeviceProgram(program)(memory.arguments())
    found, outside = memory.read()
    memory.free()
    return outside + differences(found, expected(case), bitwise=False)
