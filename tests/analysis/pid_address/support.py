"""Reading kernels for the tests of the address analysis."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.pid_address import AccessProperties, AddressReport, MemoryOp, analyze
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source

CORPUS = Path(__file__).parents[2] / "corpus" / "ttir"
FIXTURES = Path(__file__).parent / "kernels"


def parse(text: str, name: str = "kernel.ttir") -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, name, engine)
    assert source is not None, [diagnostic.message for diagnostic in engine.diagnostics]
    return source.module


@cache
def corpus_module(name: str) -> ModuleOp:
    return parse((CORPUS / f"{name}.ttir").read_text(), f"{name}.ttir")


@cache
def fixture_module(name: str) -> ModuleOp:
    return parse((FIXTURES / f"{name}.ttir").read_text(), f"{name}.ttir")


def expectation(name: str) -> dict[str, Any]:
    return json.loads((CORPUS / f"{name}.expected.json").read_text())


def report_of(text: str, facts: AccessProperties | None = None) -> AddressReport:
    return analyze(parse(text), facts)


def only_access(text: str, facts: AccessProperties | None = None) -> MemoryOp:
    [access] = report_of(text, facts).accesses
    return access


def lines_of(report: AddressReport) -> list[str]:
    return str(report).splitlines()
