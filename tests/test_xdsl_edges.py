"""One regression test per known edge of xDSL 0.74 that gives wrong results or rejects valid text.

Each test names the edge. The first group is about silently wrong results, the second about text
that MLIR accepts and stock xDSL does not.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import TensorType, UnknownLoc, i1, i32
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import make_context
from tilewright.ir.dataflow import Analysis, Lattice, solve
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.passes import Pipeline, build_pass, parse_pipeline
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.text.floats import float_from_bits
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

HEADER = "tt.func @f(%a: i32, %b: f32, %c: i1, %p: !tt.ptr<f32>) {\n"


def parse(text, **options):
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "t.mlir", engine, **options)
    engine.raise_if_errors()
    verify(source.module, engine)
    engine.raise_if_errors()
    return source.module


def function(body):
    return parse(f"{HEADER}{body}\ntt.return\n}}")


def printed(body, **options):
    """The lines of a function's body, printed."""
    return [line.strip() for line in print_module(function(body), **options).splitlines()]


def run(body, passes):
    module = function(body)
    engine = DiagnosticEngine()
    Pipeline([build_pass(spec, PASSES) for spec in parse_pipeline(passes)]).run(module, engine)
    engine.raise_if_errors()
    return module


def operations(module, name):
    return [op for op in module.walk() if op.name == name]


# -- silently wrong in stock xDSL --------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "bits"),
    [
        ("f16", 0xFC00),
        ("bf16", 0xFF80),
        ("f32", 0xFF800000),
        ("f64", 0xFFF0000000000000),
        ("f8E5M2", 0xFC),
        ("f32", 0x7FC00000),
        ("f16", 0x3C01),
    ],
)
def test_1_hex_float_in_dense_is_bits(type, bits):
    module = function(f"%x = arith.constant dense<0x{bits:X}> : tensor<1024x{type}>")
    constant = operations(module, "arith.constant")[0]
    scalar = constant.value.scalar
    expected = float_from_bits(bits, scalar.type)
    assert scalar.value.data == expected or (
        expected != expected and scalar.value.data != scalar.value.data
    )
    if bits not in (0x3C01,):
        assert f"dense<0x{bits:X}>" in print_module(module)


@pytest.mark.parametrize(
    "body",
    [
        "%y = arith.addi %x, %a : i32\n%x = arith.addi %a, %a : i32",
        "cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n%x = arith.addi %a, %a : i32\ncf.br ^bb2\n^bb2:\n"
        "%y = arith.addi %x, %a : i32",
    ],
    ids=["same block", "block not dominated"],
)
def test_2_use_before_definition_is_an_error(body):
    with pytest.raises(CompileError, match="operand #0 does not dominate this use"):
        function(body)


@pytest.mark.parametrize("compare", ["arith.cmpi slt, %t, %t", "arith.cmpf olt, %u, %u"])
def test_3_compare_of_tensors_gives_a_tensor(compare):
    setup = "%t = tt.splat %a : i32 -> tensor<128xi32>\n%u = tt.splat %b : f32 -> tensor<128xf32>\n"
    type = "i32" if "cmpi" in compare else "f32"
    module = function(f"{setup}%r = {compare} : tensor<128x{type}>")
    (op,) = operations(module, compare.split()[0])
    assert op.results[0].type == TensorType(i1, [128])


def test_4_no_ssa_name_is_printed_twice():
    names = ["x", "x_1_0", "x_1", "x_0"]
    body = "\n".join(f"%{name} = arith.addi %a, %a : i32" for name in names)
    text = print_module(function(body))
    defined = [
        line.split(" = ")[0].strip() for line in text.splitlines() if " = arith.addi" in line
    ]
    assert len(set(defined)) == len(names)
    parse(text)


def test_5_rewriting_keeps_locations():
    body = '%x = arith.addi %a, %a : i32 loc("k.py":3:4)\n%z = arith.constant 0 : i32 loc("k.py":9:9)\n'
    use = '%y = arith.addi %x, %z : i32 loc("k.py":5:6)\ntt.store %q, %y : !tt.ptr<i32> loc("k.py":7:8)'
    module = run(
        f"%q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>\n{body}{use}", "canonicalize,cse,dce"
    )
    unknown = [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]
    assert unknown == []
    (add,) = operations(module, "arith.addi")
    assert str(add.location) == 'loc("k.py":3:4)'


def test_5_stock_rewriter_still_loses_them():
    """If this fails, xDSL has learned it and `ir.rewrite` may be simplified."""
    from xdsl.dialects.builtin import IntegerAttr

    from tilewright.dialects.arith import ConstantOp

    module = function('%x = arith.addi %a, %a : i32 loc("k.py":3:4)')
    (add,) = operations(module, "arith.addi")
    new = ConstantOp.create(result_types=[i32], properties={"value": IntegerAttr(1, i32)})
    PatternRewriter(add).replace(add, new)
    assert isinstance(new.location, UnknownLoc)


class Parity(Lattice[str]):
    bottom, top = "none", "any"

    def join(self, a, b):
        return a if a == b or b == "none" else b if a == "none" else "any"


class ParityAnalysis(Analysis[str]):
    lattice = Parity()

    def visit(self, op, states):
        if op.name == "arith.constant":
            return ["odd" if op.value.value.data % 2 else "even"]
        if op.name == "arith.addi" and "any" not in states:
            return ["even" if states[0] == states[1] else "odd"]
        return None


def test_6_dataflow_reaches_into_functions_and_regions():
    module = function(
        "%c0 = arith.constant 0 : i32\n%c2 = arith.constant 2 : i32\n"
        "%r = scf.for %i = %c0 to %a step %c2 iter_args(%v = %c0) -> (i32)  : i32 {\n"
        "%n = arith.addi %v, %c2 : i32\nscf.yield %n : i32\n}"
    )
    solution = solve(module, ParityAnalysis())
    (loop,) = operations(module, "scf.for")
    assert solution[loop.results[0]] == "even"


def test_7_filecheck_ignores_var_scope_so_no_test_relies_on_it(tmp_path):
    check = tmp_path / "check"
    check.write_text("// CHECK-LABEL: a\n// CHECK: [[V:x]]\n// CHECK-LABEL: b\n// CHECK: [[V]]\n")
    command = [sys.executable, "-m", "filecheck", str(check), "--enable-var-scope"]
    outcome = subprocess.run(command, input="a\nx\nb\nx\n", text=True, capture_output=True)
    assert outcome.returncode == 0, "filecheck now honours --enable-var-scope; update the notes"
    lit = Path(__file__).parent / "lit"
    assert not [f for f in lit.rglob("*.mlir") if "enable-var-scope" in f.read_text()]


# -- rejected by stock xDSL --------------------------------------------------------------------


def test_alias_used_before_its_definition():
    assert 'loc("k.py":1:2)' in print_module(
        parse('module { } loc(#loc1)\n#loc1 = loc("k.py":1:2)\n'), locations=True
    )


@pytest.mark.parametrize(
    "location",
    [
        'fused<"meta">["f.py":3:4]',
        '"f.py":3:4 to 5:6',
        '"f.py":3:4 to :6',
        "unknown",
        '"x"',
        '"x"("f.py":1:2)',
        'callsite("g"("g.py":1:2) at "f.py":3:4)',
        'fused["f.py":3:4, "g.py":1:2]',
    ],
)
def test_location_forms(location):
    text = "\n".join(printed(f"%x = arith.addi %a, %a : i32 loc({location})", locations=True))
    again = print_module(parse(text), locations=True)
    assert "\n".join(line.strip() for line in again.splitlines()) == text


def test_locations_on_every_kind_of_block_argument():
    text = """tt.func @f(%a: i32 loc("a.py":1:1), %c: i1 loc("a.py":1:2)) {
  ttg.warp_specialize(%a)
  default {
    ttg.warp_yield
  }
  partition0(%x: i32 loc("a.py":2:1)) num_warps(4) {
    ttg.warp_return
  } : (i32) -> ()
  %t = tt.splat %a : i32 -> tensor<128xi32>
  %r = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%l: i32 loc("a.py":3:1), %q: i32 loc("a.py":3:2)):
    tt.reduce.return %l : i32
  }) : (tensor<128xi32>) -> i32
  cf.br ^bb1(%r : i32)
^bb1(%y: i32 loc("a.py":4:1)):
  tt.return
}"""
    module = parse(text)
    places = [
        f"{arg.location.line.data}:{arg.location.column.data}"
        for op in module.walk()
        for region in op.regions
        for block in region.blocks
        for arg in block.args
    ]
    assert sorted(places) == ["1:1", "1:2", "2:1", "3:1", "3:2", "4:1"]
    out = print_module(module, locations=True)
    assert print_module(parse(out), locations=True) == out
    assert out.count('loc("a.py"') >= 6


def test_isolated_region_has_its_own_names():
    body = """%x = arith.addi %a, %a : i32
ttg.warp_specialize(%x)
default {
  ttg.warp_yield
}
partition0(%x: i32) num_warps(4) {
  %y = arith.addi %x, %x : i32
  ttg.warp_return
} : (i32) -> ()"""
    assert len(operations(function(body), "arith.addi")) == 2


def test_isolated_region_sees_nothing_from_outside():
    body = """ttg.warp_specialize()
default {
  ttg.warp_yield
}
partition0() num_warps(4) {
  %y = arith.addi %a, %a : i32
  ttg.warp_return
} : () -> ()"""
    with pytest.raises(CompileError, match="use of undeclared SSA value name '%a'"):
        function(body)


def test_scf_for_unsigned():
    body = "scf.for unsigned %i = %a to %a step %a  : i32 {\n}"
    assert any(line.startswith("scf.for unsigned") for line in printed(body))


def test_external_resources():
    text = 'module {\n}\n\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: "x"\n    }\n  }\n#-}\n'
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "t.mlir", engine)
    assert "mlir_reproducer" in print_module(source.module, resources=source.resources)


@pytest.mark.parametrize(
    "body",
    [
        "%x = arith.truncf %b to_nearest_even : f32 to bf16",
        "%x = arith.remf %b, %b : f32",
        "%s = arith.truncf %b : f32 to f8E8M0FNU\n%h = arith.truncf %b : f32 to f8E5M2\n"
        "%x = arith.scaling_extf %h, %s : f8E5M2, f8E8M0FNU to f32",
        "%s = arith.truncf %b : f32 to f8E8M0FNU\n"
        "%x = arith.scaling_truncf %b, %s : f32, f8E8M0FNU to f8E5M2",
    ],
)
def test_arith_forms(body):
    lines = printed(body)
    for line in body.splitlines():
        assert any(
            found.split(" = ")[-1] == line.split(" = ")[-1].replace("%x", found.split(" = ")[0])
            for found in lines
        )


def test_scf_while_with_locations():
    body = """%r = scf.while (%i = %a) : (i32) -> i32 {
  %k = arith.cmpi slt, %i, %a : i32
  scf.condition(%k) %i : i32
} do {
^bb0(%j: i32 loc("w.py":1:2)):
  scf.yield %j : i32
} loc("w.py":3:4)"""
    text = print_module(function(body), locations=True)
    assert print_module(parse(text), locations=True) == text
    (loop,) = operations(parse(text), "scf.while")
    assert str(loop.location) == 'loc("w.py":3:4)'


@pytest.mark.parametrize(
    "line",
    [
        "arith.select %m, %t, %t : tensor<8xi1>, tensor<8xi32>",
        "arith.extsi %t : tensor<8xi32> to tensor<8xi64>",
        "arith.extui %t : tensor<8xi32> to tensor<8xi64>",
        "arith.trunci %t : tensor<8xi32> to tensor<8xi8>",
        "arith.sitofp %t : tensor<8xi32> to tensor<8xf32>",
        "arith.uitofp %t : tensor<8xi32> to tensor<8xf32>",
        "arith.fptosi %u : tensor<8xf32> to tensor<8xi32>",
        "arith.fptoui %u : tensor<8xf32> to tensor<8xi32>",
    ],
)
def test_tensor_forms_of_arith(line):
    setup = (
        "%t = tt.splat %a : i32 -> tensor<8xi32>\n%u = tt.splat %b : f32 -> tensor<8xf32>\n"
        "%m = tt.splat %c : i1 -> tensor<8xi1>\n"
    )
    found = [out.split(" = ")[-1] for out in printed(f"{setup}%r = {line}")]
    assert line in found


@pytest.mark.parametrize(("operation", "bits"), [("addf", "0x7F800000"), ("mulf", "0x7F800000")])
def test_folding_a_float_overflow_gives_infinity(operation, bits):
    body = (
        "%x = arith.constant 3.0e38 : f32\n%y = arith.constant 3.0e38 : f32\n"
        f"%r = arith.{operation} %x, %y : f32\ntt.store %p, %r : !tt.ptr<f32>"
    )
    assert f"arith.constant {bits} : f32" in print_module(run(body, "canonicalize"))


def test_verifier_that_raises_a_plain_exception_is_a_diagnostic():
    """Stock `scf.while` raises `Exception`; the verifier must survive any of them."""
    text = f'{HEADER}%r:2 = "scf.while"(%a) ({{}}, {{}}) : (i32) -> (i32, i32)\ntt.return\n}}'
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "t.mlir", engine)
    assert source is None or not verify(source.module, engine)
    assert engine.has_errors
