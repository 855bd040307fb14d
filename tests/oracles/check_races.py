"""`check-races`: a few blocks of every kernel run on NumPy, with all checks.

The last of the checkers (docs/design/concurrency.md#reference-execution): it runs the IR
that is printed as CUDA, is independent of the passes that made it, and finds missing barriers,
waits and fences, wrong parities and byte counts, accesses out of bounds or misaligned, and MMA
results that are read too early. Tensors hold small random values, integers are zero, and dynamic
extents are set to `extent`.

It costs about as much as a few blocks do on NumPy, tens of milliseconds each for small tiles, so it
runs on request and not on every compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt.api import FaultKind, SimtFault, SimtOptions
from tilewright.targets.numpy.simt.launch import SimtProgram, compile_simt
from tilewright.targets.numpy.simt.scalars import type_of

_BY_THE_CALLER: tuple[FaultKind, ...] = ("assertion", "endless", "shape")
"""Faults that made-up arguments can cause; they are not errors of the compiler."""


@dataclass(frozen=True)
class CheckRaces(Pass):
    """Run a few blocks and report what is out of order."""

    name = "check-races"

    blocks: int = 2
    """Of each kernel, spread over its grid."""
    schedules: int = 2
    """Orders of events."""
    extent: int = 96
    """The value used for a dynamic extent."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        program = compile_simt(module)
        options = SimtOptions(blocks=self.blocks, schedules=self.schedules)
        try:
            program.launch(made_up(program, self.extent), options)
        except SimtFault as fault:
            if fault.kind not in _BY_THE_CALLER:
                engine.emit(fault.diagnostic)


def made_up(program: SimtProgram, extent: int) -> Sequence[Any]:
    """Arguments for the host function."""
    random = np.random.default_rng(0)
    return [_value(each, extent, random) for each in program.host.body.block.args]


def _value(argument: SSAValue, extent: int, random: np.random.Generator) -> Any:
    dtype = type_of(argument).dtype
    if not isinstance(argument.type, MemRefType):
        return dtype.type(1)
    sizes = shape_of(argument.type)
    shape = tuple(extent if size == DYNAMIC_INDEX else size for size in sizes)
    if dtype.kind in "iub":
        return Buffer(argument.name_hint or "argument", np.zeros(shape, dtype))
    values = random.integers(-4, 5, shape) / 4
    return Buffer(argument.name_hint or "argument", values.astype(dtype))
