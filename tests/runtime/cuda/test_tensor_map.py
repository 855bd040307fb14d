"""Tensor maps: what the driver is told, and what is refused before it is asked."""

import pytest

from tilewright.runtime.cuda.errors import CudaError
from tilewright.runtime.cuda.tensor_map import box_of, cuda_type_of, encode


def make(address=0x4000, **changes):
    given = {
        "cuda_type": 6,
        "element_bytes": 2,
        "shape": (300, 128),
        "strides": (128, 1),
        "box": (64, 64),
        "swizzle_bytes": 128,
        **changes,
    }
    return encode(address, **given)


@pytest.mark.parametrize(
    ("block", "element_bytes", "swizzle", "expected"),
    [
        ((64, 128), 2, 128, (64, 64)),
        ((64, 128), 2, 0, (64, 128)),
        ((64, 32), 2, 64, (64, 32)),
        ((128, 256), 1, 128, (128, 128)),
        ((512, 16), 4, 64, (256, 16)),
        ((1024,), 4, 0, (256,)),
        ((1, 1, 64, 64), 2, 128, (1, 1, 64, 64)),
    ],
)
def test_one_copy_moves_a_row_of_the_swizzle_and_256_elements(
    block, element_bytes, swizzle, expected
):
    assert box_of(block, element_bytes, swizzle) == expected


def test_dimensions_go_to_the_driver_innermost_first(cuda):
    make(
        shape=(2, 3, 5, 64),
        strides=(1024, 320, 64, 1),
        box=(1, 2, 4, 32),
        swizzle_bytes=64,
        padding="nan",
        element_strides=(1, 1, 2, 1),
    )
    assert cuda.maps == [
        {
            "type": 6,
            "rank": 4,
            "address": 0x4000,
            "shape": [64, 5, 3, 2],
            "strides": [128, 640, 2048],
            "box": [32, 4, 2, 1],
            "steps": [1, 2, 1, 1],
            "interleave": 0,
            "swizzle": 2,
            "promotion": 2,
            "fill": 1,
        }
    ]


@pytest.mark.parametrize(("swizzle", "number"), [(0, 0), (32, 1), (64, 2), (128, 3)])
def test_swizzles_have_the_drivers_numbers(cuda, swizzle, number):
    make(box=(64, 16), swizzle_bytes=swizzle)
    assert cuda.maps[0]["swizzle"] == number


def test_vectors_have_no_strides(cuda):
    make(shape=(1000,), strides=(1,), box=(256,), swizzle_bytes=0)
    assert (cuda.maps[0]["rank"], cuda.maps[0]["strides"]) == (1, [])


def test_elements_of_four_bits_count_twice(cuda):
    make(
        cuda_type=14,
        element_bytes=1,
        shape=(64, 128),
        strides=(128, 1),
        box=(64, 128),
        fp4_padded=True,
    )
    assert cuda.maps[0]["type"] == 14
    assert cuda.maps[0]["shape"] == [256, 64]
    assert cuda.maps[0]["strides"] == [128]


def test_equal_maps_are_made_once(cuda):
    assert make() is make()
    assert make() != make(0x8000)
    assert make(padding="nan") != make()
    assert len(cuda.maps) == 3


def test_types_have_the_drivers_numbers():
    driver = pytest.importorskip("cuda.bindings.driver")
    kinds = driver.CUtensorMapDataType
    prefix = "CU_TENSOR_MAP_DATA_TYPE_"
    expected = {
        **dict.fromkeys(("i8", "u8", "fp8e4nv", "fp8e5", "f8E4M3FN", "f8E5M2"), "UINT8"),
        "i16": "UINT16",
        "u16": "UINT16",
        "i32": "INT32",
        "u32": "UINT32",
        "i64": "INT64",
        "u64": "UINT64",
        "fp16": "FLOAT16",
        "f16": "FLOAT16",
        "bf16": "BFLOAT16",
        "fp32": "FLOAT32",
        "f64": "FLOAT64",
    }
    assert {name: cuda_type_of(name) for name in expected} == {
        name: int(getattr(kinds, prefix + kind)) for name, kind in expected.items()
    }
    assert int(kinds.CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B) == 14
    with pytest.raises(ValueError, match="tensor maps do not support element type complex64"):
        cuda_type_of("complex64")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"address": 0x4008}, "the address 0x4008 of a tensor map must be a multiple of 16"),
        ({"address": 0x4010, "fp4_padded": True}, "must be a multiple of 32"),
        (
            {"strides": (100, 1), "shape": (300, 100)},
            "stride 100 of dimension 0 is 200 bytes, not a multiple of 16 below "
            "2^40: pad the rows to 104 elements",
        ),
        ({"strides": (2**39, 1)}, "is 1099511627776 bytes"),
        (
            {"strides": (128, 2)},
            "the last dimension of a tensor map must be contiguous, its stride",
        ),
        (
            {"box": (64, 512), "swizzle_bytes": 0},
            "dimension 1 of the block is 512, a TMA box has 1 to 256",
        ),
        ({"box": (0, 64)}, "dimension 0 of the block is 0"),
        (
            {"box": (64, 12)},
            "a row of the TMA box has 24 bytes (12 elements of 2 bytes), not a multiple of "
            "16: make the last dimension of the block a multiple of 8",
        ),
        ({"box": (64, 128)}, "a row of the TMA box has 256 bytes, more than its 128-byte swizzle"),
        ({"swizzle_bytes": 96}, "swizzle_bytes must be one of 0, 32, 64, 128, got 96"),
        ({"shape": (0, 128)}, "dimension 0 of the tensor has 0 elements"),
        ({"shape": (1,) * 6}, "a tensor map has 1 to 5 dimensions, got 6"),
        ({"shape": ()}, "a tensor map has 1 to 5 dimensions, got 0"),
        ({"box": (64,)}, "box (64,) of a tensor map must have one entry for each of the 2"),
        ({"element_strides": (9, 1)}, "element stride 9 of dimension 0"),
        ({"padding": "inf"}, "padding must be 'zero' or 'nan', got 'inf'"),
        (
            {"padding": "nan", "cuda_type": 3, "element_bytes": 4, "box": (64, 32)},
            "padding 'nan' requires floating-point elements",
        ),
    ],
)
def test_what_the_driver_would_refuse_is_refused_with_a_reason(cuda, changes, message):
    with pytest.raises(ValueError) as caught:
        make(**changes)
    assert message in str(caught.value)
    assert cuda.maps == []


def test_a_refusal_of_the_driver_shows_what_was_asked_for(cuda):
    cuda.fail["cuTensorMapEncodeTiled"] = 1
    with pytest.raises(CudaError) as caught:
        make(shape=(301, 128))
    assert "in cuTensorMapEncodeTiled: invalid argument" in str(caught.value)
    assert "shape=(301, 128), strides=(128, 1), box=(64, 64), swizzle_bytes=128" in str(
        caught.value
    )
