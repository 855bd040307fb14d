"""Kernels for `tlx-check-alias-sync`: those of `examples/tlx` as they are traced, and text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tlx_examples import load
from tests.examples.tlx_mutants import KINDS, Mutant
from tests.examples.tlx_mutants import _mutants as mutants_in
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.ir.text import parse_source
from tilewright.passes.tlx.check_alias_sync import CheckAliasSync
from tilewright.targets.numpy import kernel as numpy_kernels
from tilewright.targets.numpy.api import RunReport

TEXT = Path(__file__).parents[2] / "lit" / "tlx" / "check-alias-sync.mlir"


class _Still:
    """A kernel that does nothing when it is launched."""

    def launch(self, *_: Any) -> RunReport:
        return RunReport()


@cache
def traced(name: str) -> tuple[ModuleOp, ...]:
    """The kernels of an example, as they come out of the frontend; they are not run."""
    seen: list[ModuleOp] = []

    def keep(module: ModuleOp, *_: Any, **__: Any) -> Any:
        seen.append(module)
        return _Still()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_kernels, "compile_module", keep)
        load(name).example(np.random.default_rng(0))
    return tuple(seen)


@cache
def mutants(name: str) -> tuple[Mutant, ...]:
    return tuple(mutants_in(name, traced(name)))


def mutated(mutant: Mutant) -> ModuleOp:
    module = traced(mutant.example)[mutant.kernel].clone()
    KINDS[mutant.kind](mutant.op_in(module))
    return module


def module_of(text: str) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    engine.raise_if_errors()
    assert source is not None
    return source.module


def kernel_text(name: str) -> str:
    """The module of the text test with a function of this name."""
    parts = TEXT.read_text().split("// -----")
    return next(part for part in parts if f"@{name}(" in part)


def check(module: ModuleOp, options: CheckAliasSync | None = None) -> list[Diagnostic]:
    engine = DiagnosticEngine()
    (options or CheckAliasSync()).run(module, engine)
    return engine.diagnostics


def warnings(module: ModuleOp) -> list[Diagnostic]:
    return [each for each in check(module) if each.severity is Severity.WARNING]


def told(module: ModuleOp, options: CheckAliasSync | None = None) -> list[str]:
    """Everything that is said about a module, without places."""
    return [f"{each.code} {each.message}" for each in check(module, options)]
