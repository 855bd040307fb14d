"""Support for tests of GPU dialects: one op at a time, in a module that gives it operands.

``Bench`` holds the attribute aliases and the function arguments that ops of a test file use. Its
aliases are those the printer chooses, so that what is printed can be compared with what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text.flavour import DEFAULT, Flavour
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import print_module
from tilewright.ir.verify import verify


def parse(text: str) -> ModuleOp:
    return IRParser(make_context(), text, "test.mlir").parse_module()


def errors_in(module: ModuleOp) -> list[str]:
    """What verification has to say."""
    engine = DiagnosticEngine()
    verify(module, engine)
    return [diagnostic.message for diagnostic in engine.diagnostics]


@dataclass(frozen=True)
class Bench:
    """A module with one function, into which ops are put."""

    aliases: str
    arguments: Mapping[str, str]
    attributes: Mapping[str, str] = field(default_factory=dict)

    def text(self, body: str, **attributes: str) -> str:
        merged = {**self.attributes, **attributes}
        shown = ", ".join(f'"{name}" = {value}' for name, value in merged.items())
        arguments = ", ".join(f"{name}: {type}" for name, type in self.arguments.items())
        return (
            f"{self.aliases}\nmodule attributes {{{shown}}} {{\n  tt.func @f({arguments}) {{\n"
            f"{body}\n    tt.return\n  }}\n}}\n"
        )

    def module(self, body: str, **attributes: str) -> ModuleOp:
        return parse(self.text(body, **attributes))

    def printed(self, body: str, flavour: Flavour = DEFAULT, *, generic: bool = False) -> str:
        """`body` after reading, verifying and writing it."""
        module = self.module(body)
        assert errors_in(module) == []
        text = print_module(module, flavour=flavour, generic=generic)
        if generic:
            again = parse(text)
            assert errors_in(again) == []
            text = print_module(again, flavour=flavour)
        lines = text.split("\n")
        start = next(i for i, line in enumerate(lines) if line.startswith("  tt.func")) + 1
        end = next(i for i, line in enumerate(lines) if line == "    tt.return")
        return "\n".join(line.strip() for line in lines[start:end])

    def errors(self, body: str, **attributes: str) -> list[str]:
        return errors_in(self.module(body, **attributes))
