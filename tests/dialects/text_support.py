"""Reading and writing small texts, and asking Triton for its opinion of the same text.

Text tests of a dialect come in pairs. The first compares with what the test says and needs nothing;
the second compares with what Triton's own parser, printer and verifier say, where it is installed.
"""

import re
from dataclasses import replace

import pytest

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.text.flavour import TRITON_3_9
from tilewright.ir.verify import verify

# The name under which Triton reads a text; it shows in locations.
FILE = "kernel.mlir"
PLAIN = replace(TRITON_3_9, names_from_locations=False)


def function(body: str, *types: str) -> str:
    """A function around `body`, with arguments ``%arg0``, ``%arg1`` and so on."""
    arguments = ", ".join(f"%arg{index}: {type}" for index, type in enumerate(types))
    return f"tt.func @f({arguments}) {{\n{body}\n}}\n"


def returning(body: str, *types: str) -> str:
    """`function` for a body that does not end in a terminator."""
    return function(f"{body}\n  tt.return", *types)


def parse(text: str):
    """The verified module; any fault is raised."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, FILE, engine, keep_names=False)
    engine.raise_if_errors()
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


def messages(text: str) -> list[str]:
    """What is wrong with `text`."""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, FILE, engine, keep_names=False)
    if source is not None:
        verify(source.module, engine)
    return [diagnostic.message for diagnostic in engine.diagnostics]


def body_of(printed: str) -> list[str]:
    """The lines of the only function of a printed module, less its terminator."""
    lines = [line[4:] for line in printed.splitlines()[2:-2]]
    return [line for line in lines if line != "tt.return"]


def printed_body(text: str, **options) -> list[str]:
    return body_of(print_module(parse(text), flavour=PLAIN, **options))


def through_generic_form(text: str) -> list[str]:
    """The body of `text`, written in generic form and read again."""
    generic = print_module(parse(text), generic=True, flavour=PLAIN)
    assert '"tt.func"' in generic
    return printed_body(generic)


def check_same_as_triton(text: str) -> None:
    """Triton prints `text` as we do, locations and names included."""
    pytest.importorskip("triton")
    from tests.dumps.consumer import canonical_text

    assert print_module(parse(text), locations=True) == canonical_text(text)


def triton_messages(text: str, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The errors Triton reports for `text`, without their positions."""
    pytest.importorskip("triton")
    from tests.dumps.consumer import canonical_text

    capfd.readouterr()
    with pytest.raises(RuntimeError):
        canonical_text(text)
    return re.findall(r"error: (.*)", capfd.readouterr().err)
