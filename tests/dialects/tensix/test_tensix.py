"""Values of the Tensix level in Python: types, formats, keys, plain data."""

import pytest
from xdsl.dialects.builtin import bf16, f16, f32, f64, i32

from tilewright.dialects.tensix import CBType, Format, InitKey, InitOp, KernelOp, format_of
from tilewright.dialects.tensix.formats import element_offset
from tilewright.dialects.tensix.functions import INIT_BUFFERS, INIT_KINDS
from tilewright.dialects.tensix.json_attr import attribute_of, json_of


def test_a_page_is_one_tile():
    type = CBType(8, "bf16")
    assert (type.pages, type.page_bytes, type.total_bytes) == (8, 2048, 16384)
    assert type.format is Format.BF16
    assert str(type) == "!tensix.cb<8 x 2048, bf16>"


@pytest.mark.parametrize(
    ("element", "expected"),
    [(bf16, "bf16"), (f32, "f32"), (f16, "f16"), (i32, "i32"), (f64, None)],
)
def test_formats_of_element_types(element, expected):
    found = format_of(element)
    assert (None if found is None else found.value) == expected


def test_offsets_are_a_permutation_in_face_order():
    offsets = [element_offset(row, column) for row in range(32) for column in range(32)]
    assert sorted(offsets) == list(range(1024))
    assert [element_offset(*at) for at in ((0, 16), (16, 0), (16, 16), (1, 0), (31, 31))] == [
        256,
        512,
        768,
        16,
        1023,
    ]


@pytest.mark.parametrize(
    ("wide", "full", "tiles"),
    [(False, False, 8), (True, False, 4), (False, True, 16), (True, True, 8)],
)
def test_capacity_of_dst(wide, full, tiles):
    kernel = KernelOp("k", "compute", fp32_dest_acc=wide, dst_full_sync=full)
    assert kernel.dst_tiles == tiles


def test_an_init_has_the_key_it_was_made_of():
    key = InitKey("unary", "exp")
    assert InitOp(key).key == key
    assert str(InitKey("bcast", "mul", "col")) == "bcast mul col"
    assert set(INIT_BUFFERS) <= set(INIT_KINDS)


def test_plain_data_survives_as_attributes():
    value = {"a": [1, "x", None, True], "b": {"c": 2}, "d": False}
    assert json_of(attribute_of(value)) == value
    with pytest.raises(ValueError, match="not plain data"):
        json_of(bf16)
