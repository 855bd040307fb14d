"""Types: what they know and how they are written, the same as Triton's."""

import copy
import pickle

import pytest
from xdsl.dialects.builtin import Float32Type, IntegerType

import tilewright.language.tl as tl
from tilewright.dialects.tt import PtrType
from tilewright.dialects.type_utils import tensor_of
from tilewright.language.tl.dtypes import ScalarKind, get_int_dtype, named_dtype

triton_language = pytest.importorskip("triton.language", reason="compared with Triton's types")
core = triton_language.core

SCALARS = [
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float8e5",
    "float8e5b16",
    "float8e4nv",
    "float8e4b8",
    "float8e4b15",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]

QUESTIONS = [
    name
    for name in dir(core.dtype)
    if name.startswith("is_") and name not in ("is_dtype", "is_void")
]
FACTS = [
    "name", "primitive_bitwidth", "itemsize", "int_bitwidth", "fp_mantissa_width", "exponent_bias",
    "cache_key_part",
]  # fmt: skip
METHODS = ["codegen_name", "mangle", "get_int_max_value", "get_int_min_value"]


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_know_what_tritons_know(name: str) -> None:
    ours, theirs = getattr(tl, name), getattr(triton_language, name)
    assert len(QUESTIONS) > 25
    for question in QUESTIONS:
        assert getattr(ours, question)() == getattr(theirs, question)(), question
    for fact in FACTS:
        assert getattr(ours, fact, None) == getattr(theirs, fact, None), fact
    for method in METHODS:
        if "int" in method and not theirs.is_int():
            continue
        assert getattr(ours, method)() == getattr(theirs, method)(), method
    assert str(ours) == str(theirs)
    assert repr(ours) == repr(theirs).replace("triton.language", "tl")
    assert ours.kind().value == theirs.kind().value
    if theirs.is_int():
        assert ours.int_signedness.name == theirs.int_signedness.name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (tl.pointer_type(tl.float32), core.pointer_type(core.float32)),
        (tl.pointer_type(tl.int8, const=True), core.pointer_type(core.int8, const=True)),
        (tl.block_type(tl.float32, [64]), core.block_type(core.float32, [64])),
        (tl.block_type(tl.int1, (4, 8)), core.block_type(core.int1, [4, 8])),
        (
            tl.block_type(tl.pointer_type(tl.bfloat16), [2, 2]),
            core.block_type(core.pointer_type(core.bfloat16), [2, 2]),
        ),
    ],
)
def test_pointers_and_blocks_are_written_as_tritons(ours: tl.dtype, theirs: object) -> None:
    assert str(ours) == str(theirs)
    assert repr(ours) == repr(theirs)
    assert ours.mangle() == theirs.mangle()
    assert ours.is_ptr() == theirs.is_ptr()
    assert ours.is_block() == theirs.is_block()
    assert ours.is_const() == theirs.is_const()


def test_types_of_the_ir() -> None:
    assert tl.uint16.to_ir() == IntegerType(16)
    assert tl.pointer_type(tl.float32).to_ir() == PtrType.get(Float32Type())
    assert tl.pointer_type(tl.float32, const=True).to_ir() == PtrType.get(Float32Type(), "constant")
    assert tl.block_type(tl.uint8, [2, 4]).to_ir() == tensor_of(IntegerType(8), [2, 4])
    with pytest.raises(TypeError, match="no value can have type void"):
        tl.void.to_ir()


def test_equal_types_are_equal_and_hash_alike() -> None:
    assert tl.dtype("fp32") == tl.float32
    assert tl.float32 == tl.constexpr(tl.float32)
    assert tl.int32 != tl.uint32
    assert tl.pointer_type(tl.int32) == tl.pi32_t
    assert tl.pointer_type(tl.int32, const=True) != tl.pi32_t
    assert tl.block_type(tl.int32, [4]) == tl.block_type(tl.int32, (4,))
    assert tl.block_type(tl.int32, [4]) != tl.block_type(tl.int32, [8])
    assert tl.block_type(tl.int32, [4]) != tl.int32
    different = {
        tl.int32,
        tl.dtype("int32"),
        tl.pi32_t,
        tl.pointer_type(tl.int32),
        tl.block_type(tl.int32, [4]),
    }
    assert len(different) == 3


def test_there_is_one_object_for_each_scalar() -> None:
    assert tl.dtype("fp32") is tl.float32
    assert tl.dtype(name="int8") is tl.int8
    assert named_dtype("bf16") is tl.bfloat16
    assert tl.pointer_type(tl.dtype("fp16")).element_ty is tl.float16
    assert copy.deepcopy(tl.uint16) is tl.uint16
    assert pickle.loads(pickle.dumps(tl.float8e5)) is tl.float8e5
    block = tl.block_type(tl.int64, [4])
    assert pickle.loads(pickle.dumps(block)) == block


def test_made_of_others() -> None:
    block = tl.block_type(tl.float32, [4, 8])
    assert block.scalar == tl.float32
    assert (block.shape, block.numel, block.nbytes) == ((4, 8), 32, 128)
    assert block.get_block_shapes() == (4, 8)
    assert block.with_element_ty(tl.int1) == tl.block_type(tl.int1, [4, 8])
    assert tl.float32.with_element_ty(tl.int1) == tl.int1
    assert (tl.float32.shape, tl.float32.numel) == ((), 1)
    pair = tl.tuple_type([tl.int32, tl.float16])
    assert str(pair) == str(core.tuple_type([core.int32, core.float16]))
    named = tl.tuple_type([tl.int32, tl.float16], ["x", "y"])
    assert str(named) == str(core.tuple_type([core.int32, core.float16], ["x", "y"]))
    assert list(pair) == [tl.int32, tl.float16]
    assert pair[1] == tl.float16


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ([3], ValueError, "Shape element 0 must be a power of 2, but is 3; use 4 and a mask"),
        ([4, 0], ValueError, "Shape element 1 must be a power of 2, but is 0"),
        ([4, 1.0], TypeError, r"Shape element 1 must have type `constexpr\[int\]`, got `float`"),
        ([2**11, 2**10], ValueError, r"numel \(2097152\) exceeds triton maximum tensor numel"),
        ([], TypeError, "0d block_type is forbidden"),
    ],
)
def test_shapes_that_no_block_has(shape: list[int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tl.block_type(tl.int32, shape)


def test_questions_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="unknown scalar type 'fp31'; expected one of int1, int8"):
        tl.dtype("fp31")
    with pytest.raises(TypeError, match="element_ty has type `int`; expected `dtype`"):
        tl.pointer_type(32)
    with pytest.raises(TypeError, match="pointer<int32> is not a scalar type"):
        tl.pi32_t.kind()
    with pytest.raises(AttributeError, match="fp32 has no int_bitwidth: it is not an integer type"):
        _ = tl.float32.int_bitwidth
    with pytest.raises(AttributeError, match="int8 has no exponent_bias"):
        _ = tl.int8.exponent_bias
    assert not tl.dtype.is_dtype("fp31")
    assert tl.dtype.is_dtype("void")
    assert tl.void.is_void()
    assert tl.bfloat16.kind() is ScalarKind.FLOATING


def test_names_in_signatures() -> None:
    tys = triton_language.str_to_ty
    for name in [
        "i1",
        "i8",
        "i16",
        "i32",
        "i64",
        "u1",
        "u8",
        "u16",
        "u32",
        "u64",
        "B",
        "fp8e4nv",
        "fp8e5",
        "fp16",
        "bf16",
        "fp32",
        "fp64",
    ]:
        assert str(named_dtype(name)) == str(tys(name, None))
    with pytest.raises(ValueError, match="unknown scalar type 'i7'"):
        named_dtype("i7")
    assert get_int_dtype(1, True) == tl.int1
    assert get_int_dtype(16, False) == tl.uint16
    with pytest.raises(ValueError, match="Unsupported bitwidth 7 and signedness True"):
        get_int_dtype(7, True)
