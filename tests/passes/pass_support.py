"""Running passes on text."""

import re
from pathlib import Path
from textwrap import dedent

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

CORPUS = sorted((Path(__file__).parents[1] / "corpus" / "ttir").glob("*.ttir"))


def parse(text: str, *, allow_unregistered: bool = False) -> ModuleOp:
    engine = DiagnosticEngine()
    context = make_context(allow_unregistered=allow_unregistered)
    source = parse_source(context, dedent(text), "test.mlir", engine)
    engine.raise_if_errors()
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


def apply(module: ModuleOp, *passes: str) -> ModuleOp:
    """Run passes, verifying after each."""
    engine = DiagnosticEngine()
    for name in passes:
        PASSES[name]()().run(module, engine)
        verify(module, engine)
        engine.raise_if_errors()
    return module


def run(text: str, *passes: str, locations: bool = False) -> str:
    return print_module(apply(parse(text), *passes), locations=locations)


def ops(text: str) -> list[str]:
    """The names of the ops in printed text, in order, without functions and their returns."""
    names = re.findall(r"^\s*(?:%\S+ = )?\"?([a-z_]+\.[a-z_.]+)", text, re.MULTILINE)
    return [name for name in names if name not in ("tt.func", "tt.return")]
