"""What the printer decides: names, aliases, locations, dictionaries, dense constants."""

from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.text.flavour import Flavour
from tilewright.ir.text.names import sanitize

PLAIN = Flavour("plain", (3, 9), names_from_locations=False)


@irdl_attr_definition
class RedAttr(ParametrizedAttribute):
    name = "t.red"
    ASM_ALIAS: ClassVar[str] = "red"


@irdl_attr_definition
class OverAttr(ParametrizedAttribute):
    name = "t.over"
    ASM_ALIAS: ClassVar[str] = "blue"
    inner: Attribute


def parse(text, **options):
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(Dialect("t", [], [RedAttr, OverAttr]))
    engine = DiagnosticEngine()
    source = parse_source(context, text, "t.mlir", engine, **options)
    engine.raise_if_errors()
    return source


def lines(text, **options):
    source = parse(text, keep_names=options.pop("keep_names", True))
    return print_module(source.module, resources=source.resources, **options).splitlines()


def test_results_of_one_op_share_a_name():
    assert lines('%x:2 = "a"() : () -> (i32, i32)\n"b"(%x#1) : (i32) -> ()')[1:-1] == [
        '  %x:2 = "a"() : () -> (i32, i32)',
        '  "b"(%x#1) : (i32) -> ()',
    ]


def test_names_are_unique_even_if_hints_look_like_suffixes():
    text = "\n".join(f'%{n} = "a"() : () -> i32' for n in ("x", "x_1_0", "x_1", "x_0"))
    names = [line.split()[0] for line in lines(text)[1:-1]]
    assert len(set(names)) == 4


def test_conflicts_share_one_counter():
    region = '"r"() ({ %x = "a"() : () -> i32\n %y = "a"() : () -> i32 }) : () -> ()'
    text = f'%x = "a"() : () -> i32\n%y = "a"() : () -> i32\n{region}'
    names = [
        line.split()[0] for line in lines(text.replace('"r"', '"builtin.module"')) if '"a"' in line
    ]
    assert names == ["%x", "%y", "%x_0", "%y_1"]


def test_dropped_names_are_numbered():
    assert lines('%foo = "a"() : () -> i32', keep_names=False)[1] == '  %0 = "a"() : () -> i32'


def test_entry_arguments_and_later_blocks():
    text = """"f"() ({
^bb0(%a: i32, %b: f32):
  "br"()[^bb1] : () -> ()
^bb1(%c: i32):
  "br"()[^bb1] : () -> ()
}) : () -> ()"""
    assert lines(text, keep_names=False)[1:-1] == [
        '  "f"() ({',
        "  ^bb0(%arg0: i32, %arg1: f32):",
        '    "br"()[^bb1] : () -> ()',
        "  ^bb1(%0: i32):  // 2 preds: ^bb0, ^bb1",
        '    "br"()[^bb1] : () -> ()',
        "  }) : () -> ()",
    ]


def test_names_from_locations():
    assert lines('%0 = "a"() : () -> i32 loc(callsite(unknown at "acc"("k.py":1:2)))')[1] == (
        '  %acc = "a"() : () -> i32'
    )
    assert lines('%0 = "a"() : () -> i32 loc("acc")', flavour=PLAIN, keep_names=False)[1] == (
        '  %0 = "a"() : () -> i32'
    )


@pytest.mark.parametrize(
    ("name", "legal"),
    [("a b", "a_b"), ("1x", "_1x"), ("x+y", "x2By"), ("é", "_C3A9"), ("a.b", "a.b")],
)
def test_sanitize(name, legal):
    assert sanitize(name) == legal


def test_aliases_are_numbered_by_depth_then_stem_then_first_use():
    text = """"a"() {k = #t.over<#t.red>, z = #t.red} : () -> ()
"b"() {k = #t.over<#t.over<#t.red>>} : () -> ()"""
    assert lines(text)[:3] == ["#red = #t.red", "#blue = #t.over<#red>", "#blue1 = #t.over<#blue>"]


LOCATED = """"a"() : () -> () loc(#loc1)
"r"() ({
^bb0(%x: i32 loc("x"(#loc2))):
}) : () -> () loc(fused<"m">[#loc1, "n"])
"c"() : () -> () loc("f.py":1:2 to 3:4)
"d"() : () -> () loc("f.py":1:2 to :4)
"e"() : () -> () loc(callsite(#loc1 at unknown))
#loc1 = loc("a.py":1:2)
#loc2 = loc("b.py":3:4)
"""


def test_locations_needed_by_arguments_come_first_and_the_rest_last():
    assert lines(LOCATED, locations=True) == [
        '#loc3 = loc("b.py":3:4)',
        '#loc8 = loc("x"(#loc3))',
        "module {",
        '  "a"() : () -> () loc(#loc1)',
        '  "r"() ({',
        '  ^bb0(%x: i32 loc("x"(#loc3))):',
        "  }) : () -> () loc(#loc7)",
        '  "c"() : () -> () loc(#loc4)',
        '  "d"() : () -> () loc(#loc5)',
        '  "e"() : () -> () loc(#loc9)',
        "} loc(#loc)",
        '#loc = loc("t.mlir":0:0)',
        '#loc1 = loc("a.py":1:2)',
        '#loc2 = loc("n")',
        '#loc4 = loc("f.py":1:2 to 3:4)',
        '#loc5 = loc("f.py":1:2 to :4)',
        "#loc6 = loc(unknown)",
        '#loc7 = loc(fused<"m">[#loc1, #loc2])',
        "#loc9 = loc(callsite(#loc1 at #loc6))",
    ]


def test_printed_locations_parse_to_the_same_locations():
    once = "\n".join(lines(LOCATED, locations=True))
    assert "\n".join(lines(once, locations=True)) == once


def test_ops_without_location_get_their_place_in_the_file():
    source = parse('\n\n  "a"() : () -> ()', line_offset=10)
    op = source.module.body.block.first_op
    assert str(op.location) == 'loc("t.mlir":13:3)'


def test_explicit_unknown_stays_unknown():
    source = parse('"a"() : () -> () loc(unknown)')
    assert str(source.module.body.block.first_op.location) == "loc(unknown)"


def test_dictionaries_are_sorted():
    assert lines('"a"() {c = 1 : i32, a, "b.x" = 2 : i32} : () -> ()')[1] == (
        '  "a"() {a, b.x = 2 : i32, c = 1 : i32} : () -> ()'
    )


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("dense<0xFF800000> : tensor<4xf32>", "dense<0xFF800000> : tensor<4xf32>"),
        ("dense<0x7FC00000> : tensor<4xf32>", "dense<0x7FC00000> : tensor<4xf32>"),
        ("dense<[1, 1]> : tensor<2xi32>", "dense<1> : tensor<2xi32>"),
        ("dense<[1, 2]> : tensor<2xi32>", "dense<[1, 2]> : tensor<2xi32>"),
        (
            "dense<[0x3F800000, 2.0]> : tensor<2xf32>",
            "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>",
        ),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>"),
        ('dense<"0x0100000002000000"> : tensor<2xi32>', "dense<[1, 2]> : tensor<2xi32>"),
        ("dense<true> : tensor<8xi1>", "dense<true> : tensor<8xi1>"),
        (
            "dense<[-0.0, 0.0]> : tensor<2xf32>",
            "dense<[-0.000000e+00, 0.000000e+00]> : tensor<2xf32>",
        ),
        ("dense<> : tensor<0xf32>", "dense<> : tensor<0xf32>"),
        ("dense<4294967295> : tensor<2xi32>", "dense<-1> : tensor<2xi32>"),
    ],
)
def test_dense(written, printed):
    assert (
        lines(f'"a"() {{v = {written}}} : () -> ()')[1] == f'  "a"() {{v = {printed}}} : () -> ()'
    )


def test_large_dense_prints_as_bytes():
    values = ", ".join(map(str, range(101)))
    text = lines(f'"a"() {{v = dense<[{values}]> : tensor<101xi8>}} : () -> ()')[1]
    assert 'dense<"0x000102' in text
    assert lines(text)[1] == text


def test_splat_costs_one_scalar():
    source = parse('"a"() {v = dense<0.0> : tensor<4096x4096xf32>} : () -> ()')
    attribute = source.module.body.block.first_op.attributes["v"]
    assert attribute.name == "builtin.dense_splat"


def test_resources_are_kept():
    text = '{-# external_resources: { x: { y: "#-}" } } #-}'
    assert lines(f'"a"() : () -> ()\n{text}')[-1] == text


def test_str_of_an_op_is_its_text():
    module = parse('%x = "a"() : () -> i32').module
    assert str(module) == 'module {\n  %x = "a"() : () -> i32\n}'
    assert str(module.body.block.first_op) == '%x = "a"() : () -> i32'


@pytest.mark.parametrize(
    "literal",
    [
        "0x7FFF : f16",
        "0x7D01 : f16",
        "0xFFC1 : bf16",
        "0x7F800001 : f32",
        "0x7FF0000000000001 : f64",
        "0x7D : f8E5M2",
        "0xFF : f8E4M3FN",
    ],
)
def test_nan_keeps_its_bits(literal):
    assert (
        lines(f'"a"() {{v = {literal}}} : () -> ()')[1] == f'  "a"() {{v = {literal}}} : () -> ()'
    )


def test_shared_parts_of_locations_are_visited_once():
    """26 levels of two: a visit per share would be 67 million."""
    chain = "\n".join(f"#l{i + 1} = loc(callsite(#l{i} at #l{i}))" for i in range(26))
    text = f'"a"() : () -> () loc(#l26)\n#l0 = loc("a.py":1:1)\n{chain}\n'
    assert lines(text, locations=True)[-1].startswith("#loc27 = loc(callsite(#loc26 at")


def test_a_location_as_value_is_not_the_location_of_the_op():
    source = parse('"a"() {v = loc(unknown)} : () -> ()')
    assert str(source.module.body.block.first_op.location) == 'loc("t.mlir":1:1)'


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("3.5e38 : f32", "0x7F800000 : f32"),
        ("dense<1.0e10> : tensor<2xf16>", "dense<0x7C00> : tensor<2xf16>"),
    ],
)
def test_too_large_is_infinity(written, printed):
    assert (
        lines(f'"a"() {{v = {written}}} : () -> ()')[1] == f'  "a"() {{v = {printed}}} : () -> ()'
    )


@pytest.mark.parametrize("literal", ["5 : f32", "dense<[1, 2]> : tensor<2xf32>"])
def test_integer_is_no_float(literal):
    with pytest.raises(CompileError, match="unexpected decimal integer literal"):
        parse(f'"a"() {{v = {literal}}} : () -> ()')
