"""Memory descriptors and tokens."""

import pytest
from xdsl.dialects.builtin import f16, f32

from tests.dialects.ttg_support import attribute, fault, text_of
from tilewright.dialects import ttg
from tilewright.dialects.ttg.types import SHARED_MEMORY
from tilewright.dialects.type_utils import element_type_of, rank_of, shape_of

S1 = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
S2 = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
SMEM = "#ttg.shared_memory"
PADDED = "#ttg.padded_shared<[4:+4] {order = [1, 0], shape = [4, 4]}>"
LINEAR = "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 0]]}, alignment = 16>"


def nvmma(width: int, bits: int, rest: str = "") -> str:
    return f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, elementBitWidth = {bits}{rest}}}>"


@pytest.mark.parametrize(
    "text",
    [
        f"!ttg.memdesc<128xi32, {S1}, {SMEM}>",
        f"!ttg.memdesc<3x64x32xf16, {S2}, {SMEM}, mutable>",
        f"!ttg.memdesc<16x32xf16, {S2}, {SMEM}, mutable, 4x64x32>",
        f"!ttg.memdesc<16x32xf16, {S2}, {SMEM}, 64x32>",
        f"!ttg.memdesc<3xi64, {S1}, {SMEM}, mutable>",
        f"!ttg.memdesc<8x!tt.ptr<f32>, {S1}, {SMEM}, mutable>",
        f"!ttg.memdesc<4x4xf16, {PADDED}, {SMEM}, mutable, 3x4x4>",
        "!ttg.async.token",
    ],
)
def test_text_comes_back(text: str):
    found = attribute(text)
    assert text_of(found) == text
    assert type(found).new(found.parameters) == found


def test_fields():
    type = attribute(f"!ttg.memdesc<2x16x32xf16, {S2}, {SMEM}, mutable, 3x64x32>")
    assert isinstance(type, ttg.MemDescType)
    assert type.shape == (2, 16, 32)
    assert type.alloc_shape == (3, 64, 32)
    assert type.element_type == f16
    assert type.encoding == attribute(S2)
    assert type.memory_space == SHARED_MEMORY
    assert type.mutable
    assert type.is_subview
    assert type.is_pipelined
    assert (type.rank, type.layout_rank) == (3, 2)


def test_questions_about_types_have_answers():
    type = attribute(f"!ttg.memdesc<16x32xf16, {S2}, {SMEM}>")
    assert (element_type_of(type), shape_of(type), rank_of(type)) == (f16, (16, 32), 2)
    assert not type.mutable
    assert not type.is_subview
    assert not type.is_pipelined


def test_the_allocation_is_the_view_by_default():
    layout = attribute(S1)
    type = ttg.MemDescType((8,), f32, layout, SHARED_MEMORY)
    assert type.alloc_shape == (8,)
    assert type == ttg.MemDescType((8,), f32, layout, SHARED_MEMORY, False, (8,))
    assert type != ttg.MemDescType((8,), f32, layout, SHARED_MEMORY, True)


def test_derived_types():
    type = attribute(f"!ttg.memdesc<16x32xf16, {S2}, {SMEM}, mutable>")
    assert type.with_shape((8, 32), (16, 32)) == attribute(
        f"!ttg.memdesc<8x32xf16, {S2}, {SMEM}, mutable, 16x32>"
    )
    assert type.with_encoding(attribute(nvmma(32, 16))).encoding == attribute(nvmma(32, 16))


REFUSED = {
    f"!ttg.memdesc<i32, {S2}, {SMEM}>": "rank 0 memdesc is not allowed",
    f"!ttg.memdesc<8xi4, {S1}, {SMEM}>": "element type bit width must be 1 or at least 8; got 4",
    f"!ttg.memdesc<8xi1, {S1}, {SMEM}>": "shared-memory element type bit width must be a multiple of 8; got 1",
    f"!ttg.memdesc<4x0xi32, {S2}, {SMEM}, mutable, 4x4>": "shape has 0 dimension",
    f"!ttg.memdesc<2x4xi32, {S2}, {SMEM}, mutable, 0x4>": "alloc shape has 0 dimension",
    f"!ttg.memdesc<4x4xi32, {S2}, {SMEM}, mutable, 4>": "alloc shape must have at least as many dimensions as shape",
    f"!ttg.memdesc<4x3xi32, {S2}, {SMEM}, mutable, 4x4>": "shape must have power-of-2 and non-zero dimensions; got 4, 3",
    f"!ttg.memdesc<2x2xi32, {S2}, {SMEM}, mutable, 4x3>": "alloc shape must have power-of-2 and non-zero dimensions; got 4, 3",
    f"!ttg.memdesc<8x4xi32, {S2}, {SMEM}, mutable, 4x4>": "shape must be less than or equal to allocShape. shape = 8, 4, allocShape = 4, 4",
    f"!ttg.memdesc<4x4xi32, {SMEM}, {SMEM}>": "#ttg.shared_memory is not a valid encoding",
    f"!ttg.memdesc<4x4xi32, {S2}, {S2}>": "memorySpace must be SharedMemorySpace for shared encoding. Got #ttg.swizzled_shared",
    f"!ttg.memdesc<4xi32, {S2}, {SMEM}>": "rank must be equal to or one less than the shape size. Got 2 and 1",
    f"!ttg.memdesc<4x4x4x4xf32, {PADDED}, {SMEM}>": "rank must be equal to or one less than the shape size. Got 2 and 4",
    f"!ttg.memdesc<2x4xf32, {PADDED}, {SMEM}>": "Mismatch in expected shape for dimension 0. Expected: 2, got: 4",
    f"!ttg.memdesc<4x8xf32, {LINEAR}, {SMEM}>": "Mismatch in expected shape for dimension 1. Expected: 8, got: 4",
    f"!ttg.memdesc<8x8xf16, {nvmma(128, 16)}, {SMEM}>": "block shape along the contiguous dimension 1 is too small for the swizzle byte size 128 in an NVMMASharedLayout, got 8 but expected at least 64",
    f"!ttg.memdesc<16x64xf16, {nvmma(64, 16, ', transposed = true')}, {SMEM}>": "block shape along the contiguous dimension 0 is too small for the swizzle byte size 64 in an NVMMASharedLayout, got 16 but expected at least 32",
    f"!ttg.memdesc<8x32xi8, {nvmma(128, 8, ', fp4Padded = true')}, {SMEM}>": "block shape along the contiguous dimension 1 is too small for the swizzle byte size 128 in an NVMMASharedLayout, got 64 but expected at least 128",
    f"!ttg.memdesc<8x64xf16, {nvmma(128, 16, ', CGALayout = [[0, 1]]')}, {SMEM}>": "got 32 but expected at least 64",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str):
    assert REFUSED[text] in fault(text)


@pytest.mark.parametrize(
    "text",
    [
        f"!ttg.memdesc<8x64xf16, {nvmma(128, 16)}, {SMEM}>",
        f"!ttg.memdesc<3x8x64xf16, {nvmma(128, 16)}, {SMEM}>",
        f"!ttg.memdesc<8x64xi8, {nvmma(128, 8, ', fp4Padded = true')}, {SMEM}>",
        f"!ttg.memdesc<8x4xf16, {nvmma(0, 16)}, {SMEM}>",
        f"!ttg.memdesc<8x128xf16, {nvmma(128, 16, ', CGALayout = [[0, 1]]')}, {SMEM}>",
        f"!ttg.memdesc<8x64xf16, {nvmma(128, 16, ', CGALayout = [[1, 0]]')}, {SMEM}>",
    ],
)
def test_swizzled_rows_that_fit(text: str):
    assert attribute(text).shape[-1] in (4, 64, 128)
