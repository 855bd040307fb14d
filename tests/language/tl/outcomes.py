"""What both front ends make of many small expressions.

A `Batch` is a kernel's worth of expressions over the same operands. Triton compiles it twice: once
tolerantly, where each statement may fail on its own, which tells the type of every result or why
there is none; and once with the good statements only, which gives the text. Ours traces the good
statements, and evaluates every expression by itself for its type or its error.

Texts are compared as they are, unused constants included: the sequence of ops is the same.
"""

import contextlib
import difflib
import io
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triton.compiler import code_generator
from triton.compiler.errors import CompilationError
from xdsl.ir import Block

import tilewright.language.tl as tl
from tests.language.tl.against_triton import our_module, triton_source
from tilewright.frontend.builder import Builder, using
from tilewright.ir.text import DEFAULT, print_module
from tilewright.language.tl.arguments import scalar_type
from tilewright.language.tl.bitwise import logical_and, logical_not, logical_or
from tilewright.language.tl.tensor import tensor

# The only target with all the 8-bit floats that MLIR has types for.
TARGET = ("hip", "gfx942")
BLOCK = 16

_NUMBERED = replace(DEFAULT, names_from_locations=False)


@dataclass(frozen=True)
class Case:
    """An expression; `plain` says the same without `and`, `or` and `not`, which need a kernel."""

    text: str
    plain: str = ""


@dataclass(frozen=True)
class Batch:
    """Expressions over parameters of the given types; `prologue` names what is made of them."""

    parameters: Mapping[str, str]
    prologue: Sequence[str]
    cases: Sequence[Case]

    def source(self, cases: Sequence[Case]) -> str:
        lines = [*self.prologue, *(f"r{i} = {case.text}" for i, case in enumerate(cases))]
        body = "".join(f"    {line}\n" for line in lines)
        return f"@jit\ndef kernel({', '.join(self.parameters)}):\n{body}"


@dataclass(frozen=True)
class Refused:
    """An expression that has no result, and why."""

    message: str


Outcome = str | Refused


# Triton's.


@contextlib.contextmanager
def _tolerant(outcomes: dict[str, Outcome]) -> Iterator[None]:
    """Let Triton's code generator go on after a statement that fails, and note what each gives."""

    def visit(self: Any, statements: Any) -> None:
        for statement in statements:
            name = statement.targets[0].id
            try:
                self.visit(statement)
            except CompilationError as error:
                outcomes[name] = Refused(str(error.__cause__ or error.error_message))
            else:
                outcomes[name] = str(self.lscope[name].type)

    original = code_generator.CodeGenerator.visit_compound_statement
    code_generator.CodeGenerator.visit_compound_statement = visit
    try:
        yield
    finally:
        code_generator.CodeGenerator.visit_compound_statement = original


def triton_outcomes(batch: Batch) -> list[Outcome]:
    found: dict[str, Outcome] = {}
    source = batch.source(batch.cases)
    # What a failing statement left behind may not verify: then the module is printed.
    with (
        _tolerant(found),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(RuntimeError),
    ):
        triton_source(source, batch.parameters, {}, TARGET)
    return [found[f"r{i}"] for i in range(len(batch.cases))]


# Ours.


def our_outcomes(batch: Batch) -> list[Outcome]:
    block = Block(arg_types=[scalar_type(text).to_ir() for text in batch.parameters.values()])
    names: dict[str, Any] = {
        "tl": tl,
        "logical_and": logical_and,
        "logical_or": logical_or,
        "logical_not": logical_not,
    }
    for name, text, argument in zip(
        batch.parameters, batch.parameters.values(), block.args, strict=True
    ):
        names[name] = tensor(argument, scalar_type(text))
    with using(Builder(block)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(batch.prologue), names)
        return [_evaluated(case, names) for case in batch.cases]


def _evaluated(case: Case, names: dict[str, Any]) -> Outcome:
    try:
        result = eval(case.plain or case.text, names)
    except (TypeError, ValueError) as error:
        return Refused(str(error))
    return _type_of(result)


def _type_of(result: object) -> str:
    if isinstance(result, tuple):
        return f"[{','.join(_type_of(part) for part in result)}]"
    assert isinstance(result, tensor)
    return str(result.type)


# Both.


def _difference(expected: str, found: str) -> str:
    lines = difflib.unified_diff(
        expected.splitlines(), found.splitlines(), "triton", "ours", n=1, lineterm=""
    )
    return "\n".join(itertools.islice(lines, 40))


# Messages that tell about Triton's insides; ours say what is wrong.
_INSIDES = ("'pointer_type' object", "Did you forget", "get_int", "get_uint")
_TELLING = 12


def _agree(expected: Outcome, found: Outcome) -> bool:
    """The same type, or refused in words that begin alike; ours go on to say what to do."""
    if isinstance(expected, str) or isinstance(found, str):
        return expected == found
    message = re.sub(r"^\w+\(['\"]", "", expected.message)
    if not message or message.startswith(_INSIDES):
        return True
    return message[:_TELLING] == found.message[:_TELLING]


def check(batch: Batch) -> tuple[int, int]:
    """Assert that both make the same of a batch; how many expressions were good, and not."""
    expected, found = triton_outcomes(batch), our_outcomes(batch)
    wrong = [
        f"{case.text}: expected {left}, found {right}"
        for case, left, right in zip(batch.cases, expected, found, strict=True)
        if not _agree(left, right)
    ]
    assert not wrong, f"{batch.parameters}\n" + "\n".join(wrong)
    good = [case for case, each in zip(batch.cases, expected, strict=True) if isinstance(each, str)]
    check_text(batch.source(good), batch.parameters)
    return len(good), len(batch.cases) - len(good)


def check_text(
    source: str, parameters: Mapping[str, str], constants: Mapping[str, Any] | None = None
) -> str:
    """Assert that both give the same text, to the last unused constant; returns it."""
    found = our_module(source, parameters, constants or {}, TARGET)
    ours = print_module(found, flavour=_NUMBERED)
    theirs = triton_source(source, parameters, constants or {}, TARGET)
    assert not (difference := _difference(theirs, ours)), difference
    return ours
