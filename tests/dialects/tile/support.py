"""IR around a few lines of ``tile`` text: parse, verify, print, and what was objected to."""

import re
from collections.abc import Sequence

from xdsl.ir import Operation

from tilewright.dialects import make_context
from tilewright.dialects.tile import KernelOp
from tilewright.dialects.tile.bodies import YieldOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.verify import verify

CONTEXT = make_context()

SPACES = (
    "global",
    "shared",
    "shared_static",
    "fragment",
    "local",
    "var",
    "barrier",
    "cluster_barrier",
    "tmem",
    "descriptor",
)
ALIASES = "".join(f"#{space} = #tile.space<{space}>\n" for space in SPACES)

# Buffers of the test functions, by name.
ARGUMENTS = {
    "i": "index",
    "j": "index",
    "n": "index",
    "x": "f32",
    "h": "f16",
    "w": "i32",
    "p": "i1",
    "A": "memref<256x128xf16, #global>",
    "B": "memref<?x?xf16, #global>",
    "img": "memref<1x32x32x64xf16, #global>",
    "Q": "memref<2x256x8x64xf16, #global>",
    "As": "memref<64x32xf16, #shared>",
    "Bs": "memref<32x64xf16, #shared>",
    "Bt": "memref<64x32xf16, #shared>",
    "Vs": "memref<3x64x32xf16, #shared>",
    "Cf": "memref<64x64xf32, #fragment>",
    "Cg": "memref<64x64xf32, #global>",
    "Cs": "memref<64x64xf32, #shared>",
    "Ch": "memref<64x64xf16, #fragment>",
    "rows": "memref<64xf32, #fragment>",
    "col": "memref<64x1xf32, #fragment>",
    "ints": "memref<64xi32, #fragment>",
    "loc": "memref<4xf32, #local>",
    "var": "memref<1xi32, #var>",
    "bars": "memref<2x!nv.mbarrier, #barrier>",
    "q8": "memref<64x32xf8E4M3FN, #shared>",
    "ptr": "!tile.ptr<f16>",
    "address": "i64",
    "spec": "!tile.storage_alias_spec<shared>",
    "group": "!tile.reuse_group<shared>",
    "St": "memref<4x8xf16, strided<[16, 1]>, #global>",
    "RA": "!tile.region<64x32xf16, #global>",
    "RQ": "!tile.region<1x64x1x32xf16, #global>",
    "RN": "!tile.region<?x32xf16, #global>",
}


def module_text(body: str) -> str:
    """A module with one function that has the values named in `body` as arguments."""
    used = set(re.findall(r"%(\w+)", body))
    defined = set(re.findall(r"%(\w+)(?::\d+)? = ", body))
    arguments = ", ".join(
        f"%{name}: {type}" for name, type in ARGUMENTS.items() if name in used - defined
    )
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return f"{ALIASES}module {{\n  func.func @f({arguments}) {{\n{lines}    func.return\n  }}\n}}\n"


def parse(text: str) -> Operation:
    """The module of `text`, verified."""
    engine = DiagnosticEngine()
    source = parse_source(CONTEXT, text, "test.mlir", engine)
    engine.raise_if_errors()
    assert source is not None
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


def printed(body: str) -> str:
    """`body` after it was read and written."""
    lines = print_module(parse(module_text(body))).splitlines()
    start = next(at for at, line in enumerate(lines) if "func.func" in line)
    return "\n".join(line[4:] for line in lines[start + 1 : -3])


def objections(body: str) -> list[str]:
    """What is wrong with `body`."""
    engine = DiagnosticEngine()
    source = parse_source(CONTEXT, module_text(body), "test.mlir", engine)
    if source is not None:
        verify(source.module, engine)
    return [diagnostic.message for diagnostic in engine.diagnostics]


def objections_to(op: Operation) -> list[str]:
    """What is wrong with `op` and the ops inside it."""
    engine = DiagnosticEngine()
    verify(op, engine)
    return [diagnostic.message for diagnostic in engine.diagnostics]


def ops_named(body: str, name: str) -> list[Operation]:
    """The ops of that name in `body`."""
    return [op for op in parse(module_text(body)).walk() if op.name == name]


def op_named(body: str, name: str) -> Operation:
    """The only op of that name in `body`."""
    (found,) = ops_named(body, name)
    return found


def fill(kernel: KernelOp, ops: Sequence[Operation]) -> None:
    """Put `ops` into the body of `kernel`."""
    last = kernel.body_block.last_op
    assert isinstance(last, YieldOp)
    kernel.body_block.insert_ops_before(ops, last)
