"""Pointer and descriptor types, cache policies and the questions of ``type_utils``."""

import pytest
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.utils.exceptions import VerifyException

from tests.dialects.text_support import messages, parse
from tilewright.dialects import type_utils
from tilewright.dialects.tt import CachePolicy, CachePolicyAttr, PtrType, TensorDescType
from tilewright.dialects.tt.types import address_space_of, block_pointee, pointer_like

LAYOUT = StringAttr("a layout")
UI8 = IntegerType(8, Signedness.UNSIGNED)


# Pointers.


def test_pointer():
    pointer = PtrType.get(f16)
    assert (pointer.pointee, pointer.address_space, pointer.is_block_pointer) == (
        f16,
        "global",
        False,
    )
    assert PtrType.get(f16, 1) == pointer == PtrType.get(f16, "global")
    assert PtrType.get(f16, 3).address_space == "3"
    assert PtrType.get(f16, "constant") != pointer
    assert str(pointer) == "!tt.ptr<f16>"
    assert str(PtrType.get(i8, 3)) == "!tt.ptr<i8, 3>"


@pytest.mark.parametrize(
    "pointee", [IndexType(), VectorType(f32, [2]), FunctionType.from_lists([], []), LAYOUT]
)
def test_pointer_to_nothing_storable(pointee):
    with pytest.raises(VerifyException, match="must point to integer or floating-point types"):
        PtrType.get(pointee)


def test_address_spaces_are_known():
    with pytest.raises(VerifyException, match="invalid pointer address space 'foo'"):
        PtrType.get(f32, "foo")
    assert messages('tt.func private @f(!tt.ptr<f32, "foo">)') == [
        "invalid pointer address space 'foo'"
    ]


def test_pointers_and_tensors_of_them():
    pointers = TensorType(PtrType.get(f32, 3), [4, 8], LAYOUT)
    assert address_space_of(pointers) == "3"
    assert address_space_of(f32) == "global"
    assert pointer_like(TensorType(f32, [4], LAYOUT)) == TensorType(PtrType.get(f32), [4], LAYOUT)
    assert pointer_like(i32) == PtrType.get(i32)


def test_block_pointee():
    block = TensorType(f16, [4, 8])
    assert block_pointee(PtrType.get(block)) == block
    assert PtrType.get(block).is_block_pointer
    assert block_pointee(PtrType.get(f16)) is None
    assert block_pointee(TensorType(PtrType.get(f16), [4])) is None


# Descriptors.


def test_descriptor():
    descriptor = TensorDescType.get((8, 64), UI8, LAYOUT)
    assert descriptor.shape == (8, 64) == descriptor.get_shape()
    assert (descriptor.element_type, descriptor.signless_element_type) == (UI8, i8)
    assert descriptor.encoding == LAYOUT
    assert descriptor.block_type == TensorType(i8, [8, 64], LAYOUT)
    assert descriptor.get_num_dims() == 2
    assert TensorDescType.get((8,), f16).encoding is None


def test_descriptor_of_a_scalar():
    (function,) = parse("tt.func private @f(!tt.tensordesc<f32>)").body.block.ops
    assert function.function_type.inputs.data[0] == TensorDescType.get((), f32)


@pytest.mark.parametrize("written", ["!tt.tensordesc<?xf32>", "!tt.tensordesc<tensor<4x?xf32>>"])
def test_descriptor_has_a_static_shape(written: str):
    assert messages(f"tt.func private @f({written})") == ["expected static shape"]


# Cache policies.


def test_cache_policy():
    policy = CachePolicyAttr.get("ca")
    assert (policy.cache_modifier, policy.eviction_policy) == ("ca", "evict_normal")
    assert isinstance(policy, CachePolicy)
    assert not isinstance(FloatAttr(1.0, f32), CachePolicy)
    assert str(policy) == "#tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>"


@pytest.mark.parametrize("words", [("xx",), ("ca", "xx")])
def test_cache_policy_of_unknown_words(words):
    with pytest.raises(VerifyException, match="expected one of"):
        CachePolicyAttr.get(*words)


# type_utils.

TENSOR = TensorType(f16, [4, 8], LAYOUT)


def test_is_tensor():
    assert type_utils.is_tensor(TENSOR)
    assert not type_utils.is_tensor(VectorType(f16, [4]))
    assert not type_utils.is_tensor(f16)


@pytest.mark.parametrize(
    ("type", "element", "shape"),
    [
        (f32, f32, ()),
        (TENSOR, f16, (4, 8)),
        (TensorType(f32, []), f32, ()),
        (VectorType(i32, [4]), i32, (4,)),
        (MemRefType(bf16, [2, 3]), bf16, (2, 3)),
        (TensorDescType.get((8, 64), f16), f16, (8, 64)),
        (PtrType.get(f32), PtrType.get(f32), ()),
    ],
)
def test_element_and_shape(type, element, shape):
    assert type_utils.element_type_of(type) == element
    assert type_utils.shape_of(type) == shape
    assert type_utils.rank_of(type) == len(shape)


def test_num_elements():
    assert type_utils.num_elements(TENSOR) == 32
    assert type_utils.num_elements(f32) == 1
    assert type_utils.num_elements(TensorType(f32, [4, 0])) == 0


def test_encoding():
    assert type_utils.encoding_of(TENSOR) == LAYOUT
    assert type_utils.encoding_of(TensorType(f16, [4])) is None
    assert type_utils.encoding_of(f16) is None


def test_derived_types():
    assert type_utils.with_element_type(TENSOR, i32) == TensorType(i32, [4, 8], LAYOUT)
    assert type_utils.with_element_type(f16, i32) == i32
    assert type_utils.with_shape(TENSOR, [32]) == TensorType(f16, [32])
    assert type_utils.with_shape(f16, [2], LAYOUT) == TensorType(f16, [2], LAYOUT)
    assert type_utils.with_encoding(TENSOR, None) == TensorType(f16, [4, 8])
    assert type_utils.tensor_of(f16, (4, 8), LAYOUT) == TENSOR


def test_i1_like():
    assert type_utils.i1_like(TENSOR) == TensorType(i1, [4, 8], LAYOUT)
    assert type_utils.i1_like(f32) == i1
    assert type_utils.i1_like(TENSOR) is type_utils.i1_like(TENSOR)


def test_pointee_type():
    assert type_utils.pointee_type(PtrType.get(f32)) == f32
    pointers = TensorType(PtrType.get(f32), [4, 8], LAYOUT)
    assert type_utils.pointee_type(pointers) == TensorType(f32, [4, 8], LAYOUT)
    assert type_utils.pointee_type(PtrType.get(TENSOR)) == TENSOR
    for type in (f32, TENSOR):
        with pytest.raises(TypeError, match="neither a pointer nor a tensor of pointers"):
            type_utils.pointee_type(type)


@pytest.mark.parametrize(
    ("type", "bits"),
    [(i1, 1), (UI8, 8), (f64, 64), (Float8E4M3FNType(), 8), (TENSOR, 16), (PtrType.get(i8), 64)],
)
def test_bit_width(type, bits):
    assert type_utils.bit_width(type) == bits


def test_bit_width_that_is_not_fixed():
    with pytest.raises(TypeError, match="'index' depends on the target"):
        type_utils.bit_width(IndexType())
    with pytest.raises(TypeError, match="is not defined"):
        type_utils.bit_width(FunctionType.from_lists([], []))


def test_is_int_or_float():
    assert all(map(type_utils.is_int_or_float, (i64, UI8, bf16)))
    assert not any(map(type_utils.is_int_or_float, (IndexType(), TENSOR, PtrType.get(i8))))


def test_many_types_do_not_fill_the_memory_of_derived_ones():
    """More types than are remembered: what is forgotten is made again, and is equal."""
    types = [TensorType(f16, [extent]) for extent in range(1, 5000)]
    first = type_utils.i1_like(types[0])
    masks = [type_utils.i1_like(type) for type in types]
    assert masks[4000] == TensorType(i1, [4001])
    assert type_utils.i1_like(types[0]) == first
