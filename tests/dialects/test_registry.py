"""Dialects are found by name, loaded when first met, and missing ones are errors in the text."""

import subprocess
import sys

import pytest
from xdsl.ir import Dialect

from tests.dialects.text_support import messages
from tilewright.dialects import DIALECTS, make_context
from tilewright.ir.text import print_module
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser

OURS = ("arith", "cf", "gpu", "llvm", "math", "scf", "ub")


def loaded_by(statements: str) -> set[str]:
    """The dialects imported in a fresh interpreter after it has run `statements`."""
    program = (
        f"{statements}\nimport sys\n"
        "print(*{n.split('.')[2] for n in sys.modules if n.startswith('tilewright.dialects.')})"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split()) & set(DIALECTS)


def test_context_loads_nothing():
    assert loaded_by("from tilewright.dialects import make_context\nmake_context()") == set()


def test_dialects_load_when_they_are_met():
    program = (
        "from tilewright.dialects import make_context\n"
        "from tilewright.ir.text.parser import IRParser\n"
        "IRParser(make_context(), '{text}').parse_module()"
    )
    assert loaded_by(program.format(text="%0 = ub.poison : i32")) == {"ub"}
    assert loaded_by(program.format(text='"ub.unreachable"() : () -> ()')) == {"ub"}
    assert "llvm" in loaded_by(
        program.format(
            text="%0 = ub.poison {{a = !llvm.ptr}} : i32".replace("{{", "{").replace("}}", "}")
        )
    )


@pytest.mark.parametrize("name", list(DIALECTS))
def test_entry_is_the_dialect_of_that_name(name: str):
    dialect = DIALECTS[name]()
    assert isinstance(dialect, Dialect)
    assert dialect.name == name
    assert all(op.name.startswith(f"{name}.") for op in dialect.operations)


@pytest.mark.parametrize("name", OURS)
def test_every_format_compiles(name: str):
    compiled = [op.format().elements for op in DIALECTS[name]().operations if issubclass(op, AsmOp)]
    assert all(elements for elements in compiled)
    assert compiled


def test_contexts_are_independent():
    first, second = make_context(), make_context()
    IRParser(first, "%0 = ub.poison : i32").parse_module()
    assert [dialect.name for dialect in second.loaded_dialects] == ["builtin"]
    assert {dialect.name for dialect in first.loaded_dialects} == {"builtin", "ub"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.op", "unknown operation 'nowhere.op': there is no dialect 'nowhere'"),
        (
            '"nowhere.op"() : () -> ()',
            "unknown operation 'nowhere.op': there is no dialect 'nowhere'",
        ),
        (
            "arith.nothing %a : i32",
            "unknown operation 'arith.nothing'",
        ),
        ("%0 = ub.poison : !nowhere.type", "unknown type '!nowhere.type'"),
        (
            "%0 = ub.poison {a = #nowhere.attribute<1>} : i32",
            "unknown attribute '#nowhere.attribute'",
        ),
    ],
)
def test_unknown_names_are_errors_in_the_text(text: str, message: str):
    assert messages(text) == [message]


def test_unregistered_ops_can_be_allowed():
    context = make_context(allow_unregistered=True)
    module = IRParser(context, '%0 = "nowhere.op"() {a} : () -> i32').parse_module()
    assert '%0 = "nowhere.op"() {a} : () -> i32' in print_module(module)
