"""What is wrong with the regions and layouts of ``tt`` ops; Triton is asked where installed."""

import pytest

from tests.dialects.text_support import messages, triton_messages
from tests.dialects.tt_support import kernel

TENSORS = "ranked tensor of floating-point or integer or ptr values"


def combine(op: str, sources: str, types: str, arguments: str, end: str, properties: str) -> str:
    return (
        f'"tt.{op}"({sources}) <{{{properties}}}> ({{\n^bb0({arguments}):\n  {end}\n}}) : {types}'
    )


AXIS_0 = "axis = 0 : i32"
TWO = "%u: f32, %w: f32"
RETURN = "tt.reduce.return %u : f32"

REGION_FAULTS = [
    (
        combine("reduce", "%f", "(f32) -> f32", TWO, RETURN, AXIS_0),
        f"operand #0 must be variadic of {TENSORS}, but got 'f32'",
    ),
    (
        combine("reduce", "%a", "(tensor<4x8xf32>) -> tensor<4xf32>", TWO, RETURN, AXIS_0),
        "inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'",
    ),
    (
        combine("reduce", "%a", "(tensor<4x8xf32>) -> tensor<8xi32>", TWO, RETURN, AXIS_0),
        "operand types and result types must agree",
    ),
    (
        combine(
            "reduce", "%a", "(tensor<4x8xf32>) -> tensor<8xf32>", TWO, RETURN, "axis = 2 : i32"
        ),
        "axis out of bounds for operand rank 2",
    ),
    (
        combine(
            "reduce",
            "%a, %ai",
            "(tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<8xf32>",
            TWO,
            RETURN,
            AXIS_0,
        ),
        "must have the same number of inputs as outputs",
    ),
    (
        combine(
            "reduce",
            "%a, %v",
            "(tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, f32)",
            TWO,
            RETURN,
            AXIS_0,
        ),
        "requires the same shape for all operands",
    ),
    (
        combine(
            "reduce", "%v, %vi", "(tensor<8xf32>, tensor<8xi32>) -> (f32, i32)", TWO, RETURN, AXIS_0
        ),
        "nested block must take 4 arguments, but given block with 2 arguments",
    ),
    (
        combine("reduce", "%v", "(tensor<8xf32>) -> f32", "%u: f32, %w: i32", RETURN, AXIS_0),
        "type mismatch on combine operation. Expected argument 1 to have type 'f32' but got 'i32'",
    ),
    (
        combine(
            "reduce",
            "%v",
            "(tensor<8xf32>) -> f32",
            TWO,
            "tt.reduce.return %u, %u : f32, f32",
            AXIS_0,
        ),
        "expected combine operation to return 1 values but got 2",
    ),
    (
        combine("reduce", "%v", "(tensor<8xf32>) -> f32", TWO, "tt.reduce.return %i : i32", AXIS_0),
        "type mismatch on combine operation. Expected argument 0 to have type 'f32' but got 'i32'",
    ),
    (
        combine("reduce", "%v", "(tensor<8xf32>) -> f32", TWO, "tt.scan.return %u : f32", AXIS_0),
        "expects parent op 'tt.scan'",
    ),
    (
        combine(
            "reduce", "%v", "(tensor<8xf32>) -> f32", TWO, "cf.br ^bb1\n^bb1:\n" + RETURN, AXIS_0
        ),
        "expects region #0 to have 0 or 1 blocks",
    ),
    (
        '%0 = "tt.reduce"(%v) <{axis = 0 : i32}> ({}) : (tensor<8xf32>) -> f32',
        "region #0 ('combineOp') failed to verify constraint: region with 1 blocks",
    ),
    ("tt.reduce.return %f : f32", "expects parent op 'tt.reduce'"),
    (
        combine(
            "scan", "%v", "(tensor<8xf32>) -> tensor<8xf32>", TWO, "tt.scan.return %u : f32", AXIS_0
        ),
        "requires attribute 'reverse'",
    ),
    (
        combine(
            "scan",
            "%v",
            "(tensor<8xf32>) -> tensor<16xf32>",
            TWO,
            "tt.scan.return %u : f32",
            f"{AXIS_0}, reverse = false",
        ),
        "requires the same shape for all operands and results",
    ),
    (
        combine(
            "scan",
            "%v",
            "(tensor<8xf32>) -> tensor<8xf32>",
            TWO,
            "tt.scan.return %u : f32",
            "axis = 1 : i32, reverse = false",
        ),
        "axis out of bounds for operand rank 1",
    ),
    (
        combine(
            "map_elementwise",
            "%v",
            "(tensor<8xf32>) -> tensor<8xf32>",
            "%u: f32",
            "tt.map_elementwise.return %u : f32",
            "pack = 3 : i32",
        ),
        "Pack must be a power of 2",
    ),
    (
        combine(
            "map_elementwise",
            "%v",
            "(tensor<8xf32>) -> tensor<8xf32>",
            "%u: f32",
            "tt.map_elementwise.return %u : f32",
            "pack = 2 : i32",
        ),
        "region has wrong number of arguments",
    ),
    (
        combine(
            "map_elementwise",
            "%v",
            "(tensor<8xf32>) -> tensor<8xf32>",
            "%u: i32",
            "tt.map_elementwise.return %f : f32",
            "pack = 1 : i32",
        ),
        "argument types did not match",
    ),
    (
        combine(
            "map_elementwise",
            "%v",
            "(tensor<8xf32>) -> tensor<8xi32>",
            "%u: f32",
            "tt.map_elementwise.return %u : f32",
            "pack = 1 : i32",
        ),
        "region return does not match map_elementwise result",
    ),
    (
        combine(
            "map_elementwise",
            "%v",
            "(tensor<8xf32>) -> tensor<8xf32>",
            "%u: f32",
            "tt.store %p, %u : !tt.ptr<f32>\n  tt.map_elementwise.return %u : f32",
            "pack = 1 : i32",
        ),
        "Stores are not supported inside map_elementwise",
    ),
    (
        combine(
            "map_elementwise",
            "%v, %v16",
            "(tensor<8xf32>, tensor<16xf32>) -> tensor<8xf32>",
            TWO,
            "tt.map_elementwise.return %u : f32",
            "pack = 1 : i32",
        ),
        "requires the same shape for all operands and results",
    ),
]


@pytest.mark.parametrize(("body", "message"), REGION_FAULTS)
def test_message(body: str, message: str):
    found = messages(kernel(body))
    assert [each for each in found if message in each] != [], found


@pytest.mark.parametrize(("body", "message"), REGION_FAULTS)
def test_triton_says_the_same(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    found = triton_messages(kernel(body), capfd)
    assert [each for each in found if message in each] != [], found


BLOCKED = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
OTHER = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"

LAYOUT_FAULTS = [
    (
        "%0 = tt.dot %u, %e, %u : tensor<16x16xf32> * tensor<16x16xf32, #b> -> tensor<16x16xf32>",
        "mismatching encoding between A and B operands",
    ),
    (
        "%0 = tt.reshape %e : tensor<16x16xf32, #b> -> tensor<256xf32>",
        "Op requires that either (a) src and dst both have encodings, or (b) neither does.",
    ),
    (
        "%0 = tt.cat %e, %e : tensor<16x16xf32, #b> -> tensor<512xf32>",
        "requires that either (a) operands and result all have encodings, or (b) none do.",
    ),
    (
        "%0 = tt.join %e, %e : tensor<16x16xf32, #b> -> tensor<16x16x2xf32>",
        "result encoding must be specified",
    ),
    (
        "%0 = tt.gather %e[%i] {axis = 0 : i32} : (tensor<16x16xf32, #b>, tensor<16x16xi32>) -> tensor<16x16xf32, #b>",
        "indices and output encodings must match",
    ),
    (
        '"tt.reduce"(%e) <{axis = 1 : i32}> ({\n^bb0(%x: f32, %y: f32):\n  tt.reduce.return %x : f32\n}) : (tensor<16x16xf32, #b>) -> tensor<16xf32, #ttg.slice<{dim = 0, parent = #b}>>',
        "are incompatible with return type(s) of operation 'tensor<16xf32, #ttg.slice<{dim = 0,",
    ),
    (
        "%0 = tt.bitcast %e : tensor<16x16xf32, #b> -> tensor<16x16xi32, #o>",
        "requires the same encoding for all operands and results",
    ),
]


def with_layouts(body: str) -> str:
    return f"""\
#b = {BLOCKED}
#o = {OTHER}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func @f(%u: tensor<16x16xf32>, %e: tensor<16x16xf32, #b>, %i: tensor<16x16xi32>) {{
    {body}
    tt.return
  }}
}}
"""


@pytest.mark.parametrize(("body", "message"), LAYOUT_FAULTS)
def test_message_about_layouts(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    found = messages(with_layouts(body))
    assert [each for each in found if message in each] != [], found
    found = triton_messages(with_layouts(body), capfd)
    assert [each for each in found if message in each] != [], found
