"""Warnings about storage that buffers share, for kernels that are only run or compiled.

`tilewright memory` and the passes that lower storage aliasing report what a plan wastes: a member
of a group with more buffers than its peers (TW5054), a buffer in no group (TW5053). `check` and
`compile` have the same warnings, at the same lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.cli.languages import has_specs
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.runtime.addresses import named_module
from tilewright.runtime.memory_maps.plans import Unlimited, allocations

if TYPE_CHECKING:
    from tilewright.runtime.pointer.compiled import CompiledKernel


def storage_warnings(compiled: CompiledKernel) -> list[Diagnostic]:
    """The warnings about the storage of a kernel as it is written."""
    if not has_specs(compiled.module):
        return []
    engine = DiagnosticEngine()
    allocations(named_module(compiled), Unlimited(), engine)
    return [each for each in engine.diagnostics if each.severity is Severity.WARNING]
