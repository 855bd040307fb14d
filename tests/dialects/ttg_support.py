"""IR around a few lines of ``ttg`` text: parse, verify, print, and what was objected to."""

import re

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import ParseError, VerifyException

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import flavour_named, parse_source, print_module
from tilewright.ir.text.aliases import join
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.verify import verify

CONTEXT = make_context()

# Layouts and values of the test functions. `b` lies in registers, `s` and the like in shared memory.
ALIASES = """\
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2 = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = [1, 0]}>
#b2t = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#s2 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#s2v = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#s2t = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#pad = #ttg.padded_shared<[4:+4] {order = [1, 0], shape = [32, 32]}>
#pad8 = #ttg.padded_shared<[8:+4] {order = [1, 0], shape = [32, 32]}>
#parts = #ttg.partitioned_shared<{numPartitions = 2, numGroups = 2, partitionDim = 0, partitionLayout = #s2}>
#smem = #ttg.shared_memory
"""

ARGUMENTS = {
    "i": "i32",
    "j": "i64",
    "p": "i1",
    "t": "tensor<128xi32, #b>",
    "tp": "tensor<128xi1, #b>",
    "ptrs": "tensor<128x!tt.ptr<i32>, #b>",
    "x": "tensor<32x32xf32, #b2>",
    "h": "tensor<32x32xf16, #b2>",
    "z": "tensor<32x32xi32, #b2>",
    "zt": "tensor<32x32xi32, #b2t>",
    "bytes": "tensor<32x32xi8, #b2>",
    "m": "!ttg.memdesc<128xi32, #s, #smem, mutable>",
    "fixed": "!ttg.memdesc<128xi32, #s, #smem>",
    "pm": "!ttg.memdesc<128x!tt.ptr<i32>, #s, #smem, mutable>",
    "n": "!ttg.memdesc<32x32xf32, #s2, #smem, mutable>",
    "k": "!ttg.memdesc<3x32x32xf32, #s2, #smem, mutable>",
    "bars": "!ttg.memdesc<3xi64, #s, #smem, mutable>",
    "bar": "!ttg.memdesc<1xi64, #s, #smem, mutable>",
    "part": "!ttg.memdesc<3x16x32xf32, #s2, #smem, mutable, 3x32x32>",
    "some": "!ttg.memdesc<2x32x32xf32, #s2, #smem, mutable, 3x32x32>",
    "deep": "!ttg.memdesc<3x32x32xf32, #s2, #smem, mutable, 2x3x32x32>",
    "padded": "!ttg.memdesc<32x32xf32, #pad, #smem, mutable>",
    "padded_part": "!ttg.memdesc<16x32xf32, #pad, #smem, mutable, 32x32>",
    "parted": "!ttg.memdesc<128x32xf32, #parts, #smem, mutable>",
    "token": "!ttg.async.token",
}

HEADER = (
    'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, '
    '"ttg.threads-per-warp" = 32 : i32} {'
)


def module_text(body: str, *, aliases: str = ALIASES, header: str = HEADER) -> str:
    """A module with one function that has the values named in `body` as arguments."""
    used = set(re.findall(r"%(\w+)", body))
    defined = set(re.findall(r"%(\w+)(?::\d+)? = ", body))
    arguments = ", ".join(
        f"%{name}: {type}" for name, type in ARGUMENTS.items() if name in used - defined
    )
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{aliases}{header}\n  tt.func @f({arguments}) {{\n{lines}    tt.return\n  }}\n}}\n"


def parse(text: str) -> Operation:
    """The module of `text`, verified."""
    engine = DiagnosticEngine()
    source = parse_source(CONTEXT, text, "test.mlir", engine)
    engine.raise_if_errors()
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


def objections(text: str) -> list[str]:
    """The messages that `text` leads to, without the names of ops."""
    engine = DiagnosticEngine()
    source = parse_source(CONTEXT, text, "test.mlir", engine)
    if source is not None:
        verify(source.module, engine)
    return [re.sub(r"^'[\w.]+' op ", "", each.message) for each in engine.diagnostics]


def body_of(text: str) -> str:
    """The lines of the function of a printed module."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if "tt.func" in line)
    end = next(n for n, line in enumerate(lines) if line == "    tt.return")
    return "\n".join(line.removeprefix("    ") for line in lines[start + 1 : end])


def printed(body: str, flavour: str = "triton-3.9", **options) -> str:
    """`body` parsed and printed, with the names and the aliases of the input."""
    module = parse(module_text(body))
    text = print_module(module, flavour=flavour_named(flavour), **options)
    assert print_module(parse(text), flavour=flavour_named(flavour), **options) == text
    return with_own_aliases(text)


def with_own_aliases(text: str) -> str:
    """The body of a printed module, its aliases replaced by those of this file."""
    own = dict(line.split(" = ", 1)[::-1] for line in ALIASES.splitlines())
    body = body_of(text)
    definitions = re.findall(r"^(#\w+) = (.*)$", text, re.MULTILINE)
    spelled = {alias: "@" + str(number) for number, (alias, _) in enumerate(definitions)}
    for alias, mark in spelled.items():
        body = re.sub(rf"{alias}(?!\w)", mark, body)
        definitions = [(a, re.sub(rf"{alias}(?!\w)", mark, d)) for a, d in definitions]
    for alias, definition in definitions:
        for other, mark in spelled.items():
            known = own.get(next(d for a, d in definitions if a == other))
            definition = definition.replace(mark, known or mark)
        body = re.sub(rf"{spelled[alias]}(?!\d)", own[definition], body)
    return body


def op_named(module: Operation, name: str) -> Operation:
    return next(op for op in module.walk() if op.name == name)


def verify_in_place_of(op: Operation, *built: Operation) -> None:
    """Put ops built by hand in front of `op`, and verify everything."""
    op.parent.insert_ops_before(built, op)
    engine = DiagnosticEngine()
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    verify(top, engine)
    engine.raise_if_errors()


def attribute(text: str) -> Attribute:
    return IRParser(CONTEXT, text, "test.mlir").parse_attribute()


def text_of(attribute: Attribute, flavour: str = "triton-3.9") -> str:
    """The text of an attribute without aliases."""
    printer = IRPrinter(flavour=flavour_named(flavour))
    printer.print_attribute(attribute)
    return join(printer._out)


def fault(text: str) -> str:
    """Why an attribute or type cannot be read."""
    try:
        IRParser(CONTEXT, text, "test.mlir").parse_attribute()
    except ParseError as error:
        return error.msg
    except VerifyException as error:
        return str(error)
    raise AssertionError(f"no objection to {text}")
