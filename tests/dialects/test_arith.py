"""The text, the checks and the traits of ``arith``; Triton is the judge where it is installed."""

import pytest
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Block
from xdsl.traits import Commutative, ConstantLike, is_side_effect_free, is_speculatable

from tests.dialects.text_support import (
    check_same_as_triton,
    messages,
    parse,
    printed_body,
    returning,
    through_generic_form,
    triton_messages,
)
from tilewright.dialects import arith
from tilewright.dialects.arith import Arith
from tilewright.ir.interfaces import constant_value
from tilewright.ir.text.literals import SplatElementsAttr

ARGUMENTS = ("i32", "f32", "i1", "tensor<4xi32>", "tensor<4xf32>", "tensor<4xi1>", "vector<4xi32>")
NAMES = {type: f"%arg{index}" for index, type in enumerate(ARGUMENTS)}

INTEGER_BINARY = (
    *("addi", "subi", "muli", "shli", "shrsi", "shrui", "divsi", "divui", "ceildivsi"),
    *("ceildivui", "floordivsi", "remsi", "remui", "andi", "ori", "xori"),
    *("maxsi", "maxui", "minsi", "minui"),
)
FLOAT_BINARY = (
    *("addf", "subf", "mulf", "divf", "remf", "maximumf", "maxnumf", "minimumf", "minnumf"),
)
FLOAT_UNARY = ("negf", "flush_denormals")

# Lines as MLIR prints them. The result's name is what an op without a name of its own gets.
LINES = [
    *(f"%0 = arith.{op} %arg0, %arg0 : i32" for op in INTEGER_BINARY),
    *(f"%0 = arith.{op} %arg3, %arg3 : tensor<4xi32>" for op in INTEGER_BINARY),
    *(f"%0 = arith.{op} %arg6, %arg6 : vector<4xi32>" for op in INTEGER_BINARY),
    *(f"%0 = arith.{op} %arg1, %arg1 : f32" for op in FLOAT_BINARY),
    *(f"%0 = arith.{op} %arg4, %arg4 fastmath<fast> : tensor<4xf32>" for op in FLOAT_BINARY),
    *(f"%0 = arith.{op} %arg1 : f32" for op in FLOAT_UNARY),
    *(f"%0 = arith.{op} %arg4 fastmath<nnan> {{a}} : tensor<4xf32>" for op in FLOAT_UNARY),
    *(
        f"%0 = arith.{op} %arg0, %arg0 overflow<{flags}> : i32"
        for op in ("addi", "subi", "muli", "shli")
        for flags in ("nsw", "nuw", "nsw, nuw")
    ),
    *(
        f"%0 = arith.{op} %arg0, %arg0 exact {{a = 1 : i32}} : i32"
        for op in ("divsi", "divui", "shrsi", "shrui")
    ),
    *(
        f"%0 = arith.{op} %arg1, %arg1 {mode} : f32"
        for op in ("addf", "subf", "mulf", "divf")
        for mode in arith.ROUNDING_MODES
    ),
    "%0 = arith.addf %arg1, %arg1 to_nearest_even fastmath<reassoc,contract> {a} : f32",
    "%0 = arith.addi %arg0, %arg0 {async_task_id = array<i32: 1>, b} : i32",
    *(f"%0 = arith.cmpi {p}, %arg0, %arg0 : i32" for p in arith.CMPI_PREDICATES),
    "%0 = arith.cmpi slt, %arg3, %arg3 {a} : tensor<4xi32>",
    "%0 = arith.cmpi ult, %arg6, %arg6 : vector<4xi32>",
    *(f"%0 = arith.cmpf {p}, %arg1, %arg1 : f32" for p in arith.CMPF_PREDICATES),
    "%0 = arith.cmpf olt, %arg4, %arg4 fastmath<nnan,ninf> {a} : tensor<4xf32>",
    "%0 = arith.select %arg2, %arg0, %arg0 : i32",
    "%0 = arith.select %arg2, %arg4, %arg4 {a} : tensor<4xf32>",
    "%0 = arith.select %arg5, %arg4, %arg4 : tensor<4xi1>, tensor<4xf32>",
    "%sum, %overflow = arith.addui_extended %arg0, %arg0 : i32, i1",
    "%sum, %overflow = arith.addui_extended %arg3, %arg3 : tensor<4xi32>, tensor<4xi1>",
    "%diff, %borrow = arith.subui_extended %arg0, %arg0 {a} : i32, i1",
    "%low, %high = arith.mulsi_extended %arg0, %arg0 : i32",
    "%low, %high = arith.mului_extended %arg3, %arg3 : tensor<4xi32>",
    "%0 = arith.extsi %arg0 : i32 to i64",
    "%0 = arith.extsi %arg3 {a} : tensor<4xi32> to tensor<4xi64>",
    "%0 = arith.extsi %arg6 : vector<4xi32> to vector<4xi64>",
    "%0 = arith.extui %arg0 : i32 to i64",
    "%0 = arith.extui %arg0 nneg {a} : i32 to i64",
    "%0 = arith.trunci %arg0 : i32 to i8",
    "%0 = arith.trunci %arg3 overflow<nsw> {a} : tensor<4xi32> to tensor<4xi16>",
    "%0 = arith.extf %arg1 : f32 to f64",
    "%0 = arith.extf %arg4 fastmath<none> : tensor<4xf32> to tensor<4xf64>",
    "%0 = arith.truncf %arg1 : f32 to bf16",
    "%0 = arith.truncf %arg4 toward_zero fastmath<fast> {a} : tensor<4xf32> to tensor<4xf16>",
    "%0 = arith.sitofp %arg0 : i32 to f32",
    "%0 = arith.sitofp %arg3 : tensor<4xi32> to tensor<4xf32>",
    "%0 = arith.uitofp %arg0 nneg : i32 to f16",
    "%0 = arith.fptosi %arg1 : f32 to i8",
    "%0 = arith.fptoui %arg4 {a} : tensor<4xf32> to tensor<4xi64>",
    "%0 = arith.bitcast %arg1 : f32 to i32",
    "%0 = arith.bitcast %arg4 : tensor<4xf32> to tensor<4xi32>",
    "%0 = arith.index_cast %arg0 : i32 to index",
    "%0 = arith.index_cast %arg3 : tensor<4xi32> to tensor<4xindex>",
    "%0 = arith.index_castui %arg0 nneg : i32 to index",
    "%true = arith.constant true",
    "%false = arith.constant false",
    "%c4_i32 = arith.constant 4 : i32",
    "%c-1_i64 = arith.constant -1 : i64",
    "%c-9223372036854775808_i64 = arith.constant -9223372036854775808 : i64",
    "%c7 = arith.constant 7 : index",
    "%c1_i8 = arith.constant {a = 1 : i32} 1 : i8",
    "%cst = arith.constant 1.500000e+00 : f32",
    "%cst = arith.constant -0.000000e+00 : bf16",
    "%cst = arith.constant 0xFF800000 : f32",
    "%cst = arith.constant dense<0xFF800000> : tensor<128xf32>",
    "%cst = arith.constant dense<0.000000e+00> : tensor<16x32xf16>",
    "%cst = arith.constant dense<true> : tensor<4xi1>",
    "%cst = arith.constant dense<[true, false]> : tensor<2xi1>",
    "%cst = arith.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>",
    "%cst = arith.constant dense<1> : vector<4xi32>",
    "%cst = arith.constant dense<1.000000e+00> : vector<[4]xf32>",
]

SMALL_FLOATS = ("f8E8M0FNU", "f4E2M1FN", "bf16", "f32", "f16")
SMALL_FLOAT_LINES = [
    "%0 = arith.convertf %arg2 : bf16 to f16",
    "%0 = arith.convertf %arg2 to_nearest_away fastmath<fast> {a} : bf16 to f16",
    "%0 = arith.scaling_extf %arg1, %arg0 : f4E2M1FN, f8E8M0FNU to f32",
    "%0 = arith.scaling_extf %arg1, %arg0 fastmath<fast> {a} : f4E2M1FN, f8E8M0FNU to f16",
    "%0 = arith.scaling_truncf %arg3, %arg0 : f32, f8E8M0FNU to f4E2M1FN",
    "%0 = arith.scaling_truncf %arg3, %arg0 downward fastmath<nsz> : f32, f8E8M0FNU to f4E2M1FN",
]

CASES = [(line, ARGUMENTS) for line in LINES] + [(line, SMALL_FLOATS) for line in SMALL_FLOAT_LINES]


@pytest.mark.parametrize(("line", "types"), CASES)
def test_line_comes_back(line: str, types: tuple[str, ...]):
    text = returning(line, *types)
    assert printed_body(text) == [line]
    assert through_generic_form(text) == [line]


def test_triton_prints_every_line_the_same():
    check_same_as_triton(returning("\n".join(_renamed(LINES)), *ARGUMENTS))
    check_same_as_triton(returning("\n".join(_renamed(SMALL_FLOAT_LINES)), *SMALL_FLOATS))


def _renamed(lines: list[str]) -> list[str]:
    """The lines with result names that do not collide."""
    out: list[str] = []
    for index, line in enumerate(lines):
        results, _, rest = line.partition(" = ")
        count = results.count("%")
        out.append(f"%r{index}{f':{count}' if count > 1 else ''} = {rest}")
    return out


def test_every_op_has_a_line():
    shown = {line.partition(" = ")[2].split()[0] for line, _ in CASES}
    assert {op.name for op in Arith.operations} == shown


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ('%0 = arith.cmpi "slt", %arg0, %arg0 : i32', "%0 = arith.cmpi slt, %arg0, %arg0 : i32"),
        (
            "%0 = arith.addi %arg0, %arg0 overflow<nuw,nsw> : i32",
            "%0 = arith.addi %arg0, %arg0 overflow<nsw, nuw> : i32",
        ),
        (
            "%0 = arith.addi %arg0, %arg0 overflow<none> : i32",
            "%0 = arith.addi %arg0, %arg0 : i32",
        ),
        (
            "%0 = arith.addi %arg0, %arg0 {overflowFlags = #arith.overflow<nsw>} : i32",
            "%0 = arith.addi %arg0, %arg0 overflow<nsw> : i32",
        ),
        (
            "%0 = arith.addf %arg1, %arg1 fastmath<afn, reassoc,nnan,ninf,nsz,arcp,contract> : f32",
            "%0 = arith.addf %arg1, %arg1 fastmath<fast> : f32",
        ),
        (
            "%0 = arith.negf %arg1 {x = #arith.fastmath<ninf,nnan>, y = #arith.overflow<nuw,nsw>} : f32",
            "%0 = arith.negf %arg1 {x = #arith.fastmath<nnan,ninf>, y = #arith.overflow<nsw, nuw>} : f32",
        ),
        (
            "%0 = arith.truncf %arg1 {roundingmode = 4 : i32} : f32 to f16",
            "%0 = arith.truncf %arg1 to_nearest_away : f32 to f16",
        ),
        (
            "%0 = arith.divui %arg0, %arg0 {isExact} : i32",
            "%0 = arith.divui %arg0, %arg0 exact : i32",
        ),
        (
            "%0 = arith.extui %arg0 {nonNeg} : i32 to i64",
            "%0 = arith.extui %arg0 nneg : i32 to i64",
        ),
        (
            "%0 = arith.select %arg2, %arg0, %arg0 : i1, i32",
            "%0 = arith.select %arg2, %arg0, %arg0 : i32",
        ),
        (
            '%0 = "arith.addi"(%arg0, %arg0) : (i32, i32) -> i32',
            "%0 = arith.addi %arg0, %arg0 : i32",
        ),
        ("%0 = arith.constant 255 : i8", "%c-1_i8 = arith.constant -1 : i8"),
        ("%0 = arith.constant 1 : i1", "%true = arith.constant true"),
        (
            "%0 = arith.constant dense<1> : tensor<4xi1>",
            "%cst = arith.constant dense<true> : tensor<4xi1>",
        ),
    ],
)
def test_other_spelling(written: str, printed: str):
    text = returning(written, *ARGUMENTS)
    assert printed_body(text) == [printed]
    check_same_as_triton(text)


# Names.


def test_names_repeat_with_a_suffix():
    lines = [
        "%a = arith.constant 1 : i32",
        "%b = arith.constant 1 : i32",
        "%c = arith.constant 2.0 : f32",
    ]
    text = returning("\n".join(lines))
    assert [line.split()[0] for line in printed_body(text)] == ["%c1_i32", "%c1_i32_0", "%cst"]


def test_names_of_several_results_come_from_the_location():
    text = returning(
        '%a:2 = arith.addui_extended %arg0, %arg0 : i32, i1 loc("x")\n'
        '%b:2 = arith.addui_extended %arg0, %arg0 : i32, i1 loc("x")\n'
        '%c = arith.constant 3 : i32 loc(fused["y", "z"("f":1:2)])',
        "i32",
    )
    check_same_as_triton(text)


# Faults.

FAULTS = [
    (
        '%0 = "arith.addi"(%arg0, %arg1) : (i32, f32) -> i32',
        "operand #1 must be signless-non-zero-bitwidth-integer-like, but got 'f32'",
    ),
    (
        '%0 = "arith.addi"(%arg0, %arg2) : (i32, i1) -> i32',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "arith.addi"(%arg0, %arg0) : (i32, i32) -> i64',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "arith.addi"(%arg0, %arg3) : (i32, tensor<4xi32>) -> i32',
        "requires the same type for all operands and results",
    ),
    ('%0 = "arith.addi"(%arg0) : (i32) -> i32', "expected 2 operands, but found 1"),
    ('%0:2 = "arith.addi"(%arg0, %arg0) : (i32, i32) -> (i32, i32)', "requires one result"),
    (
        '%0 = "arith.addf"(%arg0, %arg0) : (i32, i32) -> i32',
        "operand #0 must be floating-point-like, but got 'i32'",
    ),
    (
        '%0 = "arith.negf"(%arg1) : (f32) -> f64',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "arith.addf"(%arg1, %arg1) {roundingmode = 9 : i32} : (f32, f32) -> f32',
        "attribute 'roundingmode' failed to satisfy constraint: Floating point rounding mode",
    ),
    (
        '%0 = "arith.cmpi"(%arg0, %arg0) <{predicate = 2 : i64}> : (i32, i32) -> i32',
        "result #0 must be bool-like, but got 'i32'",
    ),
    (
        '%0 = "arith.cmpi"(%arg0, %arg2) <{predicate = 2 : i64}> : (i32, i1) -> i1',
        "requires all operands to have the same type",
    ),
    (
        '%0 = "arith.cmpi"(%arg3, %arg3) <{predicate = 2 : i64}> : (tensor<4xi32>, tensor<4xi32>) -> i1',
        "failed to verify that result type has i1 element type and same shape as operands",
    ),
    ('%0 = "arith.cmpi"(%arg0, %arg0) : (i32, i32) -> i1', "requires attribute 'predicate'"),
    (
        '%0 = "arith.cmpf"(%arg0, %arg0) <{predicate = 2 : i64}> : (i32, i32) -> i1',
        "operand #0 must be floating-point-like, but got 'i32'",
    ),
    (
        "%0 = arith.select %arg5, %arg1, %arg1 : tensor<4xi1>, f32",
        "failed to verify that condition is signless i1 or has matching shape",
    ),
    (
        "%0 = arith.select %arg0, %arg4, %arg4 : i32, tensor<4xf32>",
        "operand #0 must be bool-like, but got 'i32'",
    ),
    (
        '%0 = "arith.select"(%arg2, %arg0, %arg1) : (i1, i32, f32) -> i32',
        "failed to verify that all of {true_value, false_value, result} have same type",
    ),
    (
        "%0 = arith.select %arg5, %arg6, %arg6 : tensor<4xi1>, vector<4xi32>",
        "all non-scalar operands/results must have the same shape and base type",
    ),
    (
        '%0:2 = "arith.addui_extended"(%arg0, %arg0) : (i32, i32) -> (i32, i32)',
        "result #1 must be bool-like, but got 'i32'",
    ),
    (
        '%0:2 = "arith.addui_extended"(%arg0, %arg0) : (i32, i32) -> (i64, i1)',
        "failed to verify that all of {lhs, rhs, sum} have same type",
    ),
    (
        '%0:2 = "arith.addui_extended"(%arg3, %arg3) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, i1)',
        "if an operand is non-scalar, then all results must be non-scalar",
    ),
    (
        '%0:2 = "arith.subui_extended"(%arg0, %arg0) : (i32, i32) -> (i64, i1)',
        "failed to verify that all of {lhs, rhs, diff} have same type",
    ),
    (
        '%0:2 = "arith.mulsi_extended"(%arg0, %arg0) : (i32, i32) -> (i32, i64)',
        "failed to verify that all of {lhs, rhs, low, high} have same type",
    ),
    (
        "%0 = arith.extsi %arg0 : i32 to i16",
        "operand type 'i32' and result type 'i16' are cast incompatible",
    ),
    (
        "%0 = arith.extui %arg0 : i32 to i32",
        "operand type 'i32' and result type 'i32' are cast incompatible",
    ),
    (
        "%0 = arith.trunci %arg0 : i32 to i64",
        "operand type 'i32' and result type 'i64' are cast incompatible",
    ),
    (
        "%0 = arith.extf %arg1 : f32 to f16",
        "operand type 'f32' and result type 'f16' are cast incompatible",
    ),
    (
        "%0 = arith.truncf %arg1 : f32 to f64",
        "operand type 'f32' and result type 'f64' are cast incompatible",
    ),
    (
        "%0 = arith.convertf %arg1 : f32 to f32",
        "operand type 'f32' and result type 'f32' are cast incompatible",
    ),
    (
        "%0 = arith.bitcast %arg0 : i32 to f64",
        "operand type 'i32' and result type 'f64' are cast incompatible",
    ),
    (
        "%0 = arith.index_cast %arg0 : i32 to i64",
        "operand type 'i32' and result type 'i64' are cast incompatible",
    ),
    (
        "%0 = arith.extsi %arg1 : f32 to i64",
        "operand #0 must be signless-fixed-width-integer-like, but got 'f32'",
    ),
    (
        "%0 = arith.sitofp %arg0 : i32 to i32",
        "result #0 must be floating-point-like, but got 'i32'",
    ),
    (
        "%0 = arith.fptosi %arg0 : i32 to i32",
        "operand #0 must be floating-point-like, but got 'i32'",
    ),
    (
        "%0 = arith.index_cast %arg0 : i32 to f32",
        "result #0 must be signless-non-zero-bitwidth-integer-like or memref of signless-integer, but got 'f32'",
    ),
    (
        "%0 = arith.bitcast %arg0 : i32 to index",
        "result #0 must be non-zero-bitwidth-signless-integer-or-float-like or memref of non-zero-bitwidth signless integer or float, but got 'index'",
    ),
    (
        "%0 = arith.extsi %arg3 : tensor<4xi32> to i64",
        "failed to verify that input and output have the same tensor dimensions",
    ),
    (
        "%0 = arith.extsi %arg3 : tensor<4xi32> to tensor<8xi64>",
        "failed to verify that input and output have the same tensor dimensions",
    ),
    (
        "%0 = arith.extsi %arg6 : vector<4xi32> to vector<8xi64>",
        "requires the same shape for all operands and results",
    ),
    (
        "%0 = arith.scaling_extf %arg1, %arg1 : f32, f32 to f32",
        "operand types 'f32', 'f32' and result type 'f32' are cast incompatible",
    ),
    (
        "%0 = arith.scaling_truncf %arg1, %arg1 : f32, f32 to f64",
        "operand types 'f32', 'f32' and result type 'f64' are cast incompatible",
    ),
    (
        "%0 = arith.scaling_extf %arg1, %arg4 : f32, tensor<4xf32> to f64",
        "if an operand is non-scalar, then there must be at least one non-scalar result",
    ),
    ("%0 = arith.constant 5 : si32", "integer return type must be signless"),
    (
        '%0 = "arith.constant"() <{value = 1 : i32}> : () -> i64',
        "failed to verify that all of {value, result} have same type",
    ),
    ('%0 = "arith.constant"() : () -> i32', "requires attribute 'value'"),
    (
        "%0 = arith.constant dense<[1, 2, 3, 4]> : vector<[4]xi32>",
        "initializing scalable vectors with elements attribute is not supported unless it's a vector splat",
    ),
]


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_fault(line: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(line, *ARGUMENTS)
    name = next(word for word in line.replace('"', " ").split() if word.startswith("arith."))
    expected = f"'{name.partition('(')[0]}' op {message}"
    assert messages(text) == [expected]
    assert triton_messages(text, capfd) == [expected]


LAYOUT = (
    "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '%0 = "arith.addf"(%arg1, %arg0) : (tensor<4xf32, #e>, tensor<4xf32>) -> tensor<4xf32, #e>',
            "'arith.addf' op requires the same encoding for all operands and results",
        ),
        (
            "%0 = arith.extf %arg1 : tensor<4xf32, #e> to tensor<4xf64>",
            f"'arith.extf' op operand type 'tensor<4xf32, {LAYOUT}>' and result type "
            "'tensor<4xf64>' are cast incompatible",
        ),
        (
            "%0 = arith.select %arg2, %arg1, %arg1 : tensor<4xi1>, tensor<4xf32, #e>",
            "'arith.select' op expected condition type to have the same shape as the result type, "
            f"expected 'tensor<4xi1, {LAYOUT}>', but got 'tensor<4xi1>'",
        ),
    ],
)
def test_layouts_must_agree(line: str, message: str, capfd: pytest.CaptureFixture[str]):
    types = ("tensor<4xf32>", "tensor<4xf32, #e>", "tensor<4xi1>")
    text = f"#e = {LAYOUT}\n" + returning(line, *types)
    assert messages(text) == [message]
    assert triton_messages(text, capfd) == [message]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = arith.constant [1]", "invalid kind of attribute specified"),
        (
            "%0 = arith.cmpi foo, %arg0, %arg0 : i32",
            "expected one of: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge; found 'foo'",
        ),
        (
            '%0 = arith.cmpi "foo", %arg0, %arg0 : i32',
            "expected one of: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge; found 'foo'",
        ),
        (
            "%0 = arith.addi %arg0, %arg0 : i64",
            "use of value '%arg0' expects different type than prior uses: 'i64' vs 'i32'",
        ),
    ],
)
def test_text_that_cannot_be_read(line: str, message: str):
    assert messages(returning(line, *ARGUMENTS)) == [message]


def test_predicate_that_does_not_exist():
    a = Block(arg_types=[i32]).args[0]
    op = arith.CmpiOp("eq", a, a)
    op.properties["predicate"] = IntegerAttr(12, i64)
    with pytest.raises(Exception, match="allowed 64-bit signless integer cases: 0, 1, 2, 3, 4"):
        op.verify()


def test_unknown_extents_agree_with_known_ones():
    text = returning(
        '%0 = "arith.addf"(%arg0, %arg1) : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>',
        "tensor<?xf32>",
        "tensor<4xf32>",
    )
    assert messages(text) == []
    check_same_as_triton(text)


# Construction.


def values(*types):
    return Block(arg_types=types).args


def test_constants():
    assert arith.ConstantOp(IntegerAttr(4, i32)).result.type == i32
    assert arith.ConstantOp.of(2, f32).value == FloatAttr(2.0, f32)
    tensor = TensorType(i1, [4])
    splat = arith.ConstantOp.of(True, tensor)
    assert splat.value == SplatElementsAttr.get(True, tensor)
    assert splat.result.type == tensor
    assert constant_value(splat.result) == splat.value
    assert splat.get_trait(ConstantLike) is not None


def test_integers_in_constants():
    def integers(text: str):
        module = parse(returning(f"%0 = arith.constant {text}"))
        op = next(op for op in module.walk() if isinstance(op, arith.ConstantOp))
        return arith.integers_in(op.value)

    assert integers("-3 : i8") == (-3,)
    assert integers("dense<7> : tensor<2x2xi32>") == (7, 7, 7, 7)
    assert integers("dense<[1, 2]> : tensor<2xi32>") == [1, 2]
    assert integers("1.0 : f32") is None
    assert integers("dense<1.0> : tensor<2xf32>") is None
    assert integers("dense<[1.0, 2.0]> : tensor<2xf32>") is None


def test_results_take_the_type_of_the_operands():
    vector = VectorType(i32, [4])
    a, t, x = values(vector, TensorType(f32, [8]), i32)
    flags = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])
    add = arith.AddiOp(a, a, flags)
    assert add.result.type is vector
    assert add.overflow_flags == flags
    assert arith.DivsiOp(a, a, is_exact=True).is_exact == UnitAttr()
    assert arith.DivsiOp(a, a).is_exact is None
    assert arith.RemsiOp(add, a).result.type is vector
    assert arith.CmpiOp("slt", a, a).result.type == VectorType(i1, [4])
    assert arith.CmpiOp("slt", a, a).predicate_name == "slt"
    assert arith.CmpfOp("une", t, t).result.type == TensorType(i1, [8])
    assert arith.CmpfOp("une", t, t).predicate_name == "une"
    assert arith.AddfOp(t, t, rounding_mode="upward").rounding_mode == IntegerAttr(2, i32)
    assert arith.AddfOp(t, t).rounding_mode is None
    assert arith.NegfOp(t).result.type is t.type
    assert arith.MaxnumfOp(t, t).fastmath == arith.NO_FAST_MATH
    assert [r.type for r in arith.AdduiExtendedOp(x, x).results] == [i32, i1]
    assert [r.type for r in arith.SubuiExtendedOp(x, x).results] == [i32, i1]
    assert [r.type for r in arith.MulsiExtendedOp(x, x).results] == [i32, i32]
    assert arith.SelectOp(arith.ConstantOp.of(1, i1), t, t).result.type is t.type
    assert arith.TrunciOp(x, i16).result.type == i16
    assert arith.ExtsiOp(x, i64).result.type == i64
    assert arith.TruncfOp(t, f16, rounding_mode="downward").rounding_mode == IntegerAttr(1, i32)


@pytest.mark.parametrize("op", list(Arith.operations), ids=lambda op: op.name)
def test_built_ops_verify(op):
    """Every class can be built by position from operands, and what is built is sound."""
    a, x, h, c = values(i32, f32, f16, i1)
    made = {
        "arith.constant": lambda: arith.ConstantOp.of(1, i32),
        "arith.cmpi": lambda: arith.CmpiOp("eq", a, a),
        "arith.cmpf": lambda: arith.CmpfOp("oeq", x, x),
        "arith.select": lambda: arith.SelectOp(c, a, a),
        "arith.extsi": lambda: arith.ExtsiOp(a, i64),
        "arith.extui": lambda: arith.ExtuiOp(a, i64),
        "arith.trunci": lambda: arith.TrunciOp(a, i8),
        "arith.extf": lambda: arith.ExtfOp(x, f64),
        "arith.truncf": lambda: arith.TruncfOp(x, f16),
        "arith.convertf": lambda: arith.ConvertfOp(h, bf16),
        "arith.sitofp": lambda: arith.SitofpOp(a, f32),
        "arith.uitofp": lambda: arith.UitofpOp(a, f32),
        "arith.fptosi": lambda: arith.FptosiOp(x, i32),
        "arith.fptoui": lambda: arith.FptouiOp(x, i32),
        "arith.bitcast": lambda: arith.BitcastOp(x, i32),
        "arith.index_cast": lambda: arith.IndexCastOp(a, IndexType()),
        "arith.index_castui": lambda: arith.IndexCastuiOp(a, IndexType()),
        "arith.scaling_extf": lambda: arith.ScalingExtfOp(h, h, f32),
        "arith.scaling_truncf": lambda: arith.ScalingTruncfOp(x, h, f16),
    }
    if op.name in made:
        built = made[op.name]()
    elif issubclass(op, arith.FloatUnaryOp):
        built = op(x)
    elif issubclass(op, (arith.FloatBinaryOp, arith.RoundedBinaryOp)):
        built = op(x, x)
    else:
        built = op(a, a)
    assert isinstance(built, op)
    built.verify()


# Traits.


def test_commutative_ops():
    commutative = {
        op.name.removeprefix("arith.") for op in Arith.operations if op.has_trait(Commutative)
    }
    assert commutative == {
        *("addi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui"),
        *("addf", "mulf", "maximumf", "maxnumf", "minimumf", "minnumf"),
        *("addui_extended", "mulsi_extended", "mului_extended"),
    }


def divide(op, divisor):
    a = values(i32)[0]
    return op(a, arith.ConstantOp.of(divisor, i32))


@pytest.mark.parametrize("op", [arith.DivsiOp, arith.DivuiOp, arith.CeildivsiOp, arith.CeildivuiOp])
def test_division_is_free_of_effects_but_not_speculated(op):
    a = values(i32)[0]
    assert is_side_effect_free(op(a, a))
    assert not is_speculatable(op(a, a))
    assert is_speculatable(divide(op, 8))
    assert not is_speculatable(divide(op, 0))


def test_minus_one_overflows_in_signed_division_only():
    assert not is_speculatable(divide(arith.DivsiOp, -1))
    assert not is_speculatable(divide(arith.CeildivsiOp, -1))
    assert is_speculatable(divide(arith.DivuiOp, -1))


def test_divisor_of_many_elements():
    tensor = TensorType(i32, [2])
    a = values(tensor)[0]
    assert is_speculatable(arith.DivsiOp(a, arith.ConstantOp.of(3, tensor)))
    assert not is_speculatable(arith.DivsiOp(a, arith.ConstantOp.of(0, tensor)))
    module = parse(
        returning(
            "%0 = arith.constant dense<[1, 0]> : tensor<2xi32>\n"
            "%1 = arith.divsi %0, %0 : tensor<2xi32>\n"
            "%2 = arith.constant dense<[1, 2]> : tensor<2xi32>\n"
            "%3 = arith.divsi %0, %2 : tensor<2xi32>"
        )
    )
    divisions = [op for op in module.walk() if isinstance(op, arith.DivsiOp)]
    assert [is_speculatable(op) for op in divisions] == [False, True]


def test_all_other_ops_are_pure():
    divisions = {"arith.divsi", "arith.divui", "arith.ceildivsi", "arith.ceildivui"}
    a, x = values(i32, f32)
    for op in Arith.operations:
        if op.name in divisions:
            continue
        instance = op.create(operands=[a, x])
        assert is_side_effect_free(instance) and is_speculatable(instance), op.name
