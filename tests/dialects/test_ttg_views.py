"""Views of buffers: text and checks."""

import pytest
from xdsl.traits import is_side_effect_free

from tests.dialects.ttg_support import (
    attribute,
    module_text,
    objections,
    op_named,
    parse,
    printed,
    verify_in_place_of,
)
from tilewright.dialects import ttg
from tilewright.dialects.ttg.views import transposed
from tilewright.ir.text import print_module

M = "!ttg.memdesc<128xi32, #s, #smem, mutable>"
N = "!ttg.memdesc<32x32xf32, #s2, #smem, mutable>"
K = "!ttg.memdesc<3x32x32xf32, #s2, #smem, mutable>"
HALF = "!ttg.memdesc<32x16xf32, #s2, #smem, mutable, 32x32>"
PART = "!ttg.memdesc<3x16x32xf32, #s2, #smem, mutable, 3x32x32>"
SOME = "!ttg.memdesc<2x32x32xf32, #s2, #smem, mutable, 3x32x32>"
PADDED = "!ttg.memdesc<32x32xf32, #pad, #smem, mutable>"

SAME_TEXT = [
    f"%0 = ttg.memdesc_index %k[%i] : {K} -> {N}",
    f"%0 = ttg.memdesc_index %k[%i] {{async_task_id = array<i32: 0>}} : {K} -> {N}",
    f"%0 = ttg.memdesc_index %some[%i] : {SOME} -> {N}",
    "%0 = ttg.memdesc_index %bars[%i] : !ttg.memdesc<3xi64, #s, #smem, mutable> -> !ttg.memdesc<1xi64, #s, #smem, mutable>",
    f"%0 = ttg.memdesc_subslice %n[0, 16] : {N} -> {HALF}",
    f"%0 = ttg.memdesc_subslice %k[1, 0, 0] : {K} -> {SOME}",
    f"%0 = ttg.memdesc_subslice %n[0, 0] : {N} -> {N}",
    f"%0 = ttg.memdesc_subslice %padded[16, 0] : {PADDED} -> !ttg.memdesc<16x32xf32, #pad, #smem, mutable, 32x32>",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> {HALF}",
    f"%0 = ttg.memdesc_subview %k[%i, %i, %i] : {K} -> {N}",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1, 0>}} : {N} -> !ttg.memdesc<32x32xf32, #s2t, #smem, mutable>",
    f"%0 = ttg.memdesc_reshape %n : {N} -> !ttg.memdesc<1024xf32, #s, #smem, mutable>",
    f"%0 = ttg.memdesc_reinterpret %n : {N} -> !ttg.memdesc<32x64xf16, #s2, #smem, mutable>",
    f"%0 = ttg.memdesc_reinterpret %n : {N} -> !ttg.memdesc<16x32xf32, #s2, #smem, mutable>",
    f"%0 = ttg.memdesc_reinterpret %some : {SOME} -> !ttg.memdesc<32x64xf32, #s2, #smem, mutable>",
    # The mark of a view whose gaps nobody else's data is in.
    f"%0 = ttg.memdesc_reinterpret %padded {{tlx.storage_alias_view}} : {PADDED} -> !ttg.memdesc<32x32xf32, #pad8, #smem, mutable>",
]


@pytest.mark.parametrize("body", SAME_TEXT)
def test_text_comes_back(body: str):
    assert printed(body) == body


@pytest.mark.parametrize("body", SAME_TEXT)
def test_views_touch_nothing(body: str):
    module = parse(module_text(body))
    op = op_named(module, body.removeprefix("%0 = ").split(" ")[0])
    assert is_side_effect_free(op)
    assert print_module(parse(print_module(module, generic=True))) == print_module(module)


def test_space_before_offsets():
    assert printed(f"%0 = ttg.memdesc_subslice %n [0, 16] : {N} -> {HALF}") == SAME_TEXT[4]


REFUSED = {
    f"%0 = ttg.memdesc_index %k[%i] : {K} -> !ttg.memdesc<32x32xf16, #s2, #smem, mutable>": "result element type must match desc element type",
    f"%0 = ttg.memdesc_index %k[%i] : {K} -> !ttg.memdesc<32x32xf32, #s2v, #smem, mutable>": "src and result must have the same encoding",
    f"%0 = ttg.memdesc_index %k[%i] : {K} -> {K}": "result rank must be input rank - 1",
    f"%0 = ttg.memdesc_index %m[%i] : {M} -> !ttg.memdesc<2xi32, #s, #smem, mutable>": "result rank must be input rank - 1",
    f"%0 = ttg.memdesc_index %k[%i] : {K} -> !ttg.memdesc<32x16xf32, #s2, #smem, mutable>": "result shape must equal to srcShape[1:]",
    f"%0 = ttg.memdesc_index %k[%i] : {K} -> !ttg.memdesc<32x32xf32, #s2, #smem, mutable, 3x32x32>": "alloc shape must match shape for the result",
    f"%0 = ttg.memdesc_index %part[%i] : {PART} -> !ttg.memdesc<16x32xf32, #s2, #smem, mutable>": "We only support memdesc_index of a multibuffer-prefix subview",
    f"%0 = ttg.memdesc_index %deep[%i] : !ttg.memdesc<3x32x32xf32, #s2, #smem, mutable, 2x3x32x32> -> {N}": "We don't allow taking memdesc_index of a memdesc_index",
    f"%0 = ttg.memdesc_subslice %n[0, 0] : {N} -> !ttg.memdesc<32x16xf16, #s2, #smem, mutable, 32x32>": "result element type must match desc element type",
    f"%0 = ttg.memdesc_subslice %n[0, 0] : {N} -> !ttg.memdesc<32x16xf32, #s2v, #smem, mutable, 32x32>": "src and result must have the same encoding",
    f"%0 = ttg.memdesc_subslice %n[0] : {N} -> {HALF}": "offsets must have the same rank as input",
    f"%0 = ttg.memdesc_subslice %n[0, 0] : {N} -> !ttg.memdesc<1x32x16xf32, #s2, #smem, mutable, 32x32x32>": "result rank must equal to input rank",
    f"%0 = ttg.memdesc_subslice %n[0, 0] : {N} -> !ttg.memdesc<32x16xf32, #s2, #smem, mutable>": "source and result must have the same allocation shape",
    f"%0 = ttg.memdesc_subslice %n[16, 0] : {N} -> {HALF}": "A non zero offset found in a dimension that is not being split",
    f"%0 = ttg.memdesc_subslice %n[0, 16] : {N} -> {N}": "A non zero offset found in a dimension that is not being split",
    f"%0 = ttg.memdesc_subslice %n[0, 8] : {N} -> {HALF}": "The split offset may not touch the tile",
    f"%0 = ttg.memdesc_subslice %n[0, 32] : {N} -> {HALF}": "The split offset may not exceed the source shape",
    f"%0 = ttg.memdesc_subslice %n[0, -16] : {N} -> {HALF}": "The split offset may not exceed the source shape",
    f"%0 = ttg.memdesc_subslice %k[2, 0, 0] : {K} -> {SOME}": "The split offset may not exceed the source shape",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> !ttg.memdesc<32x16xf16, #s2, #smem, mutable, 32x32>": "result element type must match descriptor element type",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i] : {N} -> {HALF}": "offsets must have the same rank as the source",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> !ttg.memdesc<1x32x16xf32, #s2, #smem, mutable, 32x32x32>": "result rank must match the source rank",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> !ttg.memdesc<32x16xf32, #s2, #smem, mutable>": "result must preserve the source allocation shape",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> !ttg.memdesc<32x16xf32, #s2, #smem, 32x32>": "source and result must have the same mutability",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> !ttg.memdesc<32x16xf32, #s2v, #smem, mutable, 32x32>": "source and result must have the same encoding",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%i, %i] : {N} -> {N}": "dynamic subslice must narrow at least one dimension",
    "%0 = ttg.memdesc_dynamic_subslice %parted[%i, %i] : !ttg.memdesc<128x32xf32, #parts, #smem, mutable> -> "
    "!ttg.memdesc<64x32xf32, #parts, #smem, mutable, 128x32>": "dynamic subslices do not support partitioned shared encodings",
    f"%0 = ttg.memdesc_dynamic_subslice %n[%j, %i] : {N} -> {HALF}": "expects different type than prior uses: 'i32' vs 'i64'",
    f"%0 = ttg.memdesc_subview %k[%i, %i, %i] : {K} -> !ttg.memdesc<32x32xf16, #s2, #smem, mutable>": "result element type must match desc element type",
    f"%0 = ttg.memdesc_subview %k[%i] : {K} -> {N}": "offsets must have the same rank as input",
    f"%0 = ttg.memdesc_subview %n[%i, %i] : {N} -> {K}": "result rank must be less than or equal to input rank",
    f"%0 = ttg.memdesc_subview %n[%i, %i] : {N} -> !ttg.memdesc<32x64xf32, #s2, #smem, mutable>": "result shape cannot be larger than input shape at dimension 1",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1>}} : {N} -> {N}": "order must have the same size as the rank of the operand and result",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1, 1>}} : {N} -> {N}": "order must be a permutation",
    f"%0 = ttg.memdesc_trans %n : {N} -> {N}": "requires attribute 'order'",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1, 0>}} : {N} -> {N}": "inferred type(s) '!ttg.memdesc<32x32xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>, #ttg.shared_memory, mutable>' are incompatible with return type(s) of operation",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1, 0>}} : {N} -> !ttg.memdesc<32x16xf32, #s2t, #smem, mutable>": "inferred type(s) '!ttg.memdesc<32x32xf32",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1, 0>}} : {N} -> !ttg.memdesc<32x32xf32, #s2t, #smem>": "inferred type(s) '!ttg.memdesc<32x32xf32",
    f"%0 = ttg.memdesc_trans %n {{order = array<i32: 1, 0>}} : {N} -> !ttg.memdesc<32x32xf16, #s2t, #smem, mutable>": "requires the same element type for all operands and results",
    f"%0 = ttg.memdesc_reshape %n : {N} -> !ttg.memdesc<512xf32, #s, #smem, mutable>": "number of src and dst elements of reshape must be the same",
    f"%0 = ttg.memdesc_reshape %n : {N} -> !ttg.memdesc<1024xf16, #s, #smem, mutable>": "requires the same element type for all operands and results",
    f"%0 = ttg.memdesc_reshape %part : {PART} -> !ttg.memdesc<3x512xf32, #s, #smem, mutable>": "NYI: memdesc_reshape of memdesc_subslice",
    f"%0 = ttg.memdesc_reshape %n : {N} -> !ttg.memdesc<1024xf32, #s, #smem>": "inferred type(s) '!ttg.memdesc<1024xf32",
    f"%0 = ttg.memdesc_reinterpret %n : {N} -> !ttg.memdesc<32x32xf32, #s2, #smem>": "source and result must have the same mutability",
    f"%0 = ttg.memdesc_reinterpret %n : {N} -> !ttg.memdesc<32x32xf32, #s2, #ttng.shared_cluster_memory, mutable>": "source and result must have the same memory space",
    f"%0 = ttg.memdesc_reinterpret %n : {N} -> !ttg.memdesc<64x32xf32, #s2, #smem, mutable>": "result shared-memory footprint (8192 bytes) exceeds the source view (4096 bytes)",
    f"%0 = ttg.memdesc_reinterpret %n : {N} -> {HALF}": "result must not be a subview",
    f"%0 = ttg.memdesc_reinterpret %padded : {PADDED} -> {N}": "cannot reinterpret between padded and non-padded layouts",
    f"%0 = ttg.memdesc_reinterpret %padded : {PADDED} -> !ttg.memdesc<32x32xf32, #pad8, #smem, mutable>": "cannot reinterpret with different padding pattern",
    f"%0 = ttg.memdesc_reinterpret %padded_part : !ttg.memdesc<16x32xf32, #pad, #smem, mutable, 32x32> -> {PADDED}": "cannot reinterpret a padded source subview",
    "%0 = ttg.memdesc_reinterpret %parted : !ttg.memdesc<128x32xf32, #parts, #smem, mutable> -> "
    "!ttg.memdesc<128x32xi32, #parts, #smem, mutable>": "cannot reinterpret partitioned shared layouts",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str):
    (message,) = objections(module_text(body))
    assert REFUSED[body] in message


def test_transposed_type():
    type = attribute(
        "!ttg.memdesc<16x32xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 64, elementBitWidth = 16}>, "
        "#ttg.shared_memory, mutable, 2x64x32>"
    )
    result = transposed(type, (1, 0), type.encoding)
    assert (result.shape, result.alloc_shape) == ((32, 16), (2, 32, 64))
    assert result.encoding.transposed


def test_a_row_can_be_transposed_as_it_is():
    layout = attribute(
        "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    )
    type = attribute(f"!ttg.memdesc<1x32xf16, {layout}, #ttg.shared_memory>")
    assert transposed(type, (1, 0), layout).encoding == layout


def test_built_by_hand():
    module = parse(module_text(SAME_TEXT[0]))
    op = op_named(module, "ttg.memdesc_index")
    buffers, index = op.operands
    buffer = op.results[0].type
    assert isinstance(buffer, ttg.MemDescType)
    half = buffer.with_shape((16, 32), buffer.shape)
    one = ttg.MemDescIndexOp(buffers, index, buffer)
    slice = ttg.MemDescSubsliceOp(one, (16, 0), half)
    verify_in_place_of(
        op,
        one,
        slice,
        ttg.MemDescDynamicSubsliceOp(one, (index, index), half),
        ttg.MemDescSubviewOp(buffers, (index, index, index), buffer),
        ttg.MemDescTransOp(one, (0, 1), buffer),
        ttg.MemDescReshapeOp(one, buffer),
        ttg.MemDescReinterpretOp(one, buffer),
    )
    assert list(slice.offsets.get_values()) == [16, 0]
